"""Contradictions between what the person types and known facts: shown below the reply, and adopted on request.

Found by rules alone, without a model: a typed sentence, outside quotations and code, that a rule parses into a triple
with a single-valued predicate, or that says that something is over (adoption.py). Statements that are merely
similar are left to the review.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import capture
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import languages, statements, terms, triples
from agent_cli.memory.language.triples import Claim, Triple, is_fact
from agent_cli.memory.proposals import REJECTED, MemoryContext
from agent_cli.messages import Part
from agent_cli.values import frozen

_COMMAND = "/update"
_HABIT = languages.pattern(  # "I use emacs now", "jetzt verwende ich emacs"
    r"(?:<NOW>,? )?(?:(?=\S+ (?:<NOW> )?(?P<verb><HABIT>)\b)<SELF> (?:<NOW> )?<HABIT>|(?P<inverted><HABIT>) <SELF>)"
    r"(?: <NOW>)? (?P<what>.+?)(?:,? <NOW>)?"
)
_NOW = languages.pattern(r"\b<NOW>\b")
_MAX_SHOWN = 80  # characters of a fact


@frozen
class Contradiction:
    claim: Claim
    known: Fact | None  # None: the sentence says that something is over, and no fact says that it was true
    answer: str = ""  # what /update does
    is_choice: bool = False  # whether the sentence may mean this fact or another

    def message(self, *, at_keyboard: bool = True) -> str:
        if self.known is None:
            return f"“{text.one_line(self.claim.statement, _MAX_SHOWN)}” ends no fact: none is known that says so"
        words = f"{self.known.handle} says “{facts.name(self.known, _MAX_SHOWN)}”"
        command = f"{_COMMAND} {self.known.handle}" if self.is_choice else _COMMAND
        where = "" if at_keyboard else " in `agent -c`"
        return f"{words} · {command}{where} {self.answer}{' in its place' if self.is_choice else ''}"


def find(memory: MemoryContext, session: int, message: int, parts: Sequence[Part]) -> list[Contradiction]:
    """The sentences of a message that contradict accepted facts which hold in this place and session, or end them."""
    found, now = list[Contradiction](), memory.time()
    captured = [each.quote for each in capture.capture(parts)]
    for quote in capture.typed_sentences(parts):
        if any(each in quote or quote in each for each in captured):
            continue
        if not (statements.states_something(quote) and is_fact(quote)):
            continue  # the rules that parse need not be compiled for a greeting or a question: 0.2 s
        whole = quote.rstrip(" .!")
        clauses = [] if triples.is_doubtful(whole) else statements.clauses(whole)
        for words in ([whole], clauses):
            claims = [adoption.claim(each, "typed", now, quote=quote, message=message) for each in words]
            if some := [each for claim in claims for each in _against(memory, session, claim)]:
                found += some
                break
        else:
            if any(triples.is_about_person(each) and triples.parse_ending(each) for each in (whole, *clauses)):
                found.append(Contradiction(adoption.claim(whole, "typed", now, quote=quote, message=message), None))
    return found


def chosen(found: Sequence[Contradiction], handles: str) -> list[Contradiction]:
    """Those with these handles, or all that need no choice. Raises UsageError where a choice is needed."""
    known = [each for each in found if each.known]
    wanted = [each for each in known if (each.known.handle in handles.split() if handles else not each.is_choice)]  # type: ignore[union-attr]
    if known and not wanted:
        commands = " or ".join(dict.fromkeys(f"{_COMMAND} {each.known.handle}" for each in known if each.known))
        raise UsageError(f"say which fact is meant: {commands}")
    return wanted


def _against(memory: MemoryContext, session: int, claim: Claim) -> list[Contradiction]:
    """What a claim contradicts or ends."""
    over = adoption.ended_by(memory, claim.statement, session)
    if known := over or _other_values(memory, session, claim):
        answer = _answer(adoption.as_ending(memory, claim, over))
        return [
            Contradiction(replace(claim, place=each.place, session=each.session_id), each, answer) for each in known
        ]
    made = _replaceable(memory, claim, session)
    return [
        Contradiction(replace(each, place=known.place, session=known.session_id), known, _answer(each), len(made) > 1)
        for known, each in made
    ]


def _replaceable(memory: MemoryContext, claim: Claim, session: int) -> list[tuple[Fact, Claim]]:
    """Each fact with the same verb, and the claim in its place, where the sentence says that it is so now."""
    said = _HABIT.fullmatch(claim.statement.rstrip(" .!"))
    single_valued = memory.single_valued
    if said is None or not _NOW.search(claim.statement) or (claim.triple and claim.triple.predicate in single_valued):
        return []
    made, verb = [], memory.db.tokens(said["verb"] or said["inverted"])
    for each in adoption.open_here(memory, session):
        known = _HABIT.fullmatch(each.statement)
        if known is None or memory.db.tokens(known["verb"] or known["inverted"]) != verb:
            continue
        if not set(terms.content_words(said["what"])) <= set(terms.content_words(known["what"])):
            triple = Triple(each.subject, each.predicate, said["what"]) if each.predicate in single_valued else None
            made.append((each, replace(claim, operation="update", target=each.id, triple=triple)))
    return sorted(made, key=lambda one: one[0].id)


def _answer(claim: Claim) -> str:
    what = "ends it" if claim.operation == "delete" else "keeps what you just said"
    since = claim.valid_from
    return f"{what} ({clock.format_day(clock.utc(since), clock.offset(since))})" if since else what


def accept(memory: MemoryContext, found: Sequence[Contradiction]) -> list[str]:
    """Add the claims as facts and end those they contradict, for a person at the prompt; a receipt for each."""
    claims = {(each.claim.statement, each.claim.place): each.claim for each in found if each.known}
    with memory.changing() as memory:
        adopted = [adoption.add(memory, each) for each in claims.values()]
        return [adoption.receipt(each, memory.time(), at_prompt=True) for each in adopted]


def _other_values(memory: MemoryContext, session: int, claim: Claim) -> list[Fact]:
    """Facts that hold here and give another value to a single-valued predicate; none where that was rejected before."""
    triple, owner = claim.triple, memory.scope.owner
    if triple is None or triple.predicate not in memory.single_valued:
        return []
    if any(
        each.state == REJECTED and terms.is_similar(each.statement, claim.statement)
        for each in facts.similar(memory.db, owner, claim.statement)
    ):
        return []
    matter, now = triples.forms(triple.predicate, memory.single_valued), memory.time()
    return [
        known
        for known in facts.accepted_values(memory.db, owner, triple.subject, matter)
        if known.is_open(now)
        and known.place in ("", memory.scope.place)
        and known.session_id in (None, session)
        and known.object.casefold() != triple.object.casefold()
        and not terms.is_similar(known.statement, claim.statement)
    ]
