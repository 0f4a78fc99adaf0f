"""What a message says against accepted facts, and what `/update` does about it: another value, an end, a correction.
Found by rules, without a model; shown below the answer, and adopted only on request."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import capture
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import languages, spans, statements, terms, triples
from agent_cli.memory.language.triples import Claim, Triple, is_fact
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Part
from agent_cli.values import frozen

_VERB_FIRST = languages.pattern(r"^(\S+) (<SELF>)\b")  # "jetzt nehme ich" without "jetzt"
_VERB_BEFORE_IT = languages.pattern(r"^(\S+) (<IT>)\b")  # "jetzt kostet es" without "jetzt"
_HABIT = languages.pattern(r"<SELF> (?P<verb><HABIT>) (?P<what>.+)")
_NOW = languages.pattern(r"\b<NOW>\b")
_CORRECTION = languages.pattern(
    r"(?:[^,.!:;–—]{1,20}[,.!:;–—]+ )?(?:(?P<sure><I_MEANT>)|<REVISED>)[,:]? (?:<THAT> )?(?P<meant>.+)"
)
_MEANT_OTHERWISE = languages.pattern(
    r"<DENIED> (?P<mistaken>.+?)(?:,? <RATHER>|,) (?P<meant>.+)|(?P<first>.+?),? <DENIED> (?P<second>.+)"
)
_ARTICLE = languages.pattern(r"^<BEFORE_DATE> (?=\d)")  # "I meant the 13th"
_NAMES = re.compile(r"[^\W\d_a-zäöü][\w.-]++(?: [^\W\d_a-zäöü][\w.-]++){1,5}")
_RECENT = timedelta(minutes=10)  # since a fact was learned to which "I meant Turin" may refer
_DAYTIME = languages.pattern(r"^(<SELF> \S+) (<DAYTIME>) (.+)")  # "ich nehme morgens 50 mg"
_LAST = r"\1 \3 \2"  # "ich nehme 50 mg morgens"
_COMMAND = "/update"


@frozen
class Contradiction:
    claim: Claim
    known: Fact | None  # None: the sentence says that something is over, and no fact says just that
    answer: str = ""  # what /update does; without a fact, what the sentence does
    is_choice: bool = False  # whether the sentence may mean this fact or another

    def message(self, *, at_keyboard: bool = True) -> str:
        if self.known is None:
            said = f"“{text.one_line(self.claim.statement)}”"
            return f"{said} {self.answer}" if self.answer else f"no fact was found that {said} ends"
        command, instead = (f"{_COMMAND} {self.known.handle}", " in its place") if self.is_choice else (_COMMAND, "")
        where = "" if at_keyboard else " in `agent -c`"
        return f"{self.known.handle} says “{facts.name(self.known)}” · {command}{where} {self.answer}{instead}"


def of_message(memory: MemoryContext, session: int, message: int, parts: Sequence[Part]) -> list[Contradiction]:
    """The sentences of a message that contradict accepted facts which hold in this place and session, or end them."""
    found, now = list[Contradiction](), memory.time()
    captured = [each.quote for each in capture.capture(parts)]
    for quote in _stated(parts):
        if any(each in quote or quote in each for each in captured):
            continue
        whole = quote.rstrip(" .!")
        if correction := _CORRECTION.fullmatch(whole):
            whole = _VERB_FIRST.sub(r"\2 \1", statements.main_clause(correction["meant"]))
            if corrected := _corrected(memory, session, whole, sure=bool(correction["sure"])):
                true, known = corrected
                made = _in_place_of(known, true, now, quote, message)
                found.append(Contradiction(made, known, _answer(replace(made, statement=whole), made)))
                continue
        clauses = () if triples.is_doubtful(whole) else tuple(statements.clauses(whole))
        for words in dict.fromkeys([(whole,), clauses]):
            claims = [adoption.claim(each, "typed", now, quote=quote, message=message) for each in words]
            if some := [each for claim in claims for each in _against(memory, session, claim)]:
                found += some
                break
        else:
            personal = filter(triples.is_about_person, (whole, *clauses))
            if any(_touches(memory, session, ending.over) for ending in map(triples.parse_ending, personal) if ending):
                found.append(Contradiction(adoption.claim(whole, "typed", now, quote=quote, message=message), None))
    return found


def _touches(memory: MemoryContext, session: int, over: str) -> bool:
    """Whether a fact has a word of what is over; else the sentence ends none: "I left my keys at home"."""
    words = {word for word in terms.content_words(over) if word not in terms.STOP_WORDS}
    stems = set(memory.db.tokens(" ".join(words)))
    return any(stems & {*memory.db.tokens(each.statement)} for each in adoption.open_here(memory, session))


def instead_of(memory: MemoryContext, known: Fact, message: int, parts: Sequence[Part]) -> Contradiction:
    """The one typed statement of a message, in the place of an open fact that the person names. Raises UsageError."""
    said, now = _stated(parts), memory.time()
    if len(said) != 1 or not known.is_open(now):
        raise UsageError(f"your last message is not one statement that can take the place of {known.handle}")
    return Contradiction(_in_place_of(known, said[0].rstrip(" .!"), now, said[0], message), known)


def _stated(parts: Sequence[Part]) -> list[str]:
    """The typed sentences that may be facts. For a greeting or a question no rule that parses need be compiled."""
    return [each for each in capture.typed_sentences(parts) if statements.states_something(each) and is_fact(each)]


def _in_place_of(known: Fact, words: str, now: datetime, quote: str, message: int) -> Claim:
    """What is claimed by these words in the place of a known fact, where that one holds."""
    where: dict[str, Any] = {"place": known.place, "session": known.session_id, "target": known.id}
    return adoption.claim(words, "typed", now, quote=quote, message=message, operation="update", **where)


def _against(memory: MemoryContext, session: int, claim: Claim) -> list[Contradiction]:
    """What a claim contradicts or ends."""
    over, parts = adoption.ended_by(memory, claim)
    ends, adopted = over or adoption.other_values(memory, session, claim), adoption.as_ending(memory, claim, over)
    found = [(known, claim, _answer(claim, adopted)) for known in ends]
    found = found or [(known, made, _answer(claim, made)) for known, made in _replaceable(memory, claim, session)]
    if parts and not found:
        return [Contradiction(claim, None, f"ends a part of {facts.format_names(parts)}, which stays")]
    is_choice = not ends and len(found) > 1
    return [
        Contradiction(replace(stated, place=known.place, session=known.session_id), known, answer, is_choice)
        for known, stated, answer in found
    ]


def _corrected(memory: MemoryContext, session: int, meant: str, *, sure: bool) -> tuple[str, Fact] | None:
    """What is true, and the newest fact that says otherwise: that of "Eva lives in Turin" or of "Turin, not Milan".
    `sure`: it was said that this was meant; else it may be one of several values, as in "actually, I like tea"."""
    mistaken, both = "", _MEANT_OTHERWISE.fullmatch(meant)
    recent = clock.utc(memory.time() - _RECENT)
    if both and (both["meant"] or not triples.parse(meant)):
        meant, mistaken = both["meant"] or both["first"], both["mistaken"] or both["second"]
    triple = triples.parse(meant)
    is_single = bool(triple and triple.predicate in memory.single_valued)
    for each in adoption.open_here(memory, session):
        if triple and (sure or is_single) and (each.subject, each.predicate) == (triple.subject, triple.predicate):
            return None if each.object.casefold() == triple.object.casefold() else (meant, each)
        if triple is None and mistaken and mistaken in each.statement:
            return each.statement.replace(mistaken, meant, 1), each
        true = terms.with_values(each.statement, _ARTICLE.sub("", meant))
        is_recent = sure and each.learned_at > recent and meant not in each.statement
        if is_recent and _NAMES.fullmatch(f"{each.object} {meant}"):
            true = re.sub(rf"(?<!\w){re.escape(each.object)}(?!\w)", lambda _: meant, each.statement)
        if true and not mistaken:
            return true, each
    return None


def _replaceable(memory: MemoryContext, claim: Claim, session: int) -> list[tuple[Fact, Claim]]:
    """The facts with other values, else with the same verb, and the claim in the place of each, if it says "now"."""
    if not _NOW.search(claim.statement):
        return []
    timeless = spans.without(_NOW.sub("", claim.statement.rstrip(" .!")), times=False)
    typed, single = _VERB_FIRST.sub(r"\2 \1", timeless), memory.single_valued
    said, brief = _DAYTIME.sub(_LAST, typed), _DAYTIME.sub(r"\1 \3", typed)
    habit = None if claim.triple and claim.triple.predicate in single else _HABIT.fullmatch(said)
    valued, habits, made = list[tuple[Fact, Claim]](), list[tuple[Fact, Claim]](), replace(claim, operation="update")
    for each in reversed(adoption.open_here(memory, session)):
        known = habit and _HABIT.fullmatch(each.statement)
        changed = terms.with_values(_DAYTIME.sub(_LAST, each.statement), said)
        if changed or (brief != said and terms.with_values(each.statement, brief)):
            changed = changed or typed
            true = _VERB_BEFORE_IT.sub(r"\2 \1", spans.without(changed, times=False))
            valued.append((each, replace(made, target=each.id, statement=true, triple=triples.parse(true))))
        elif habit and known and memory.db.tokens(habit["verb"]) == memory.db.tokens(known["verb"]):
            triple = Triple(each.subject, each.predicate, habit["what"]) if each.predicate in single else None
            if not set(terms.content_words(habit["what"])) <= set(terms.content_words(known["what"])):
                habits.append((each, replace(made, target=each.id, triple=triple)))
    return valued or habits


def _answer(stated: Claim, becomes: Claim) -> str:
    words = "what you just said" if becomes.statement == stated.statement else f"“{text.one_line(becomes.statement)}”"
    what, since = "ends it" if becomes.operation == "delete" else f"keeps {words}", becomes.valid_from
    return f"{what} ({clock.format_day(clock.utc(since), clock.offset(since))})" if since else what


def accept(memory: MemoryContext, found: Sequence[Contradiction], handles: str = "") -> list[str]:
    """Adopt what contradicts these facts, or all that need no choice; a receipt for each. Raises UsageError."""
    known = [(each, each.known.handle) for each in found if each.known]
    chosen = [each for each, handle in known if (handle in handles.split() if handles else not each.is_choice)]
    if known and not chosen:
        commands = " or ".join(dict.fromkeys(f"{_COMMAND} {handle}" for _, handle in known))
        raise UsageError(f"say which fact is meant: {commands}")
    claims = {(each.claim.statement, each.claim.place): each.claim for each in chosen}
    with memory.changing() as memory:
        adopted = [adoption.add(memory, each) for each in claims.values()]
        return [adoption.receipt(memory, each, at_prompt=True) for each in adopted]
