"""What is known of a claim: the facts that say the same, and those that it says are over.

A claim that repeats a fact is no new one. "I no longer live in Wels", "I drink tea instead of coffee" or "ich rauche
nicht mehr" end facts, found by rules: by their triple, or because a fact about the person has all the words.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import datetime

from agent_cli.memory.dates import validity
from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import SUPERSEDED, Fact
from agent_cli.memory.language import languages, statements, terms, triples
from agent_cli.memory.language.triples import Claim, Ending, Triple
from agent_cli.memory.scope import Scope
from agent_cli.store.db import Database
from agent_cli.text import Pattern

_READ = 2000  # facts at most that are compared
_VERB = Pattern(  # "I use", "trinke ich jetzt"
    rf"^(?:{languages.alternatives('SELF')} \S+|\S+ {languages.alternatives('SELF')}) "
    rf"(?:{languages.alternatives('NOW')} )?",
    re.IGNORECASE,
)
_BY_PERSON = Pattern(rf"{languages.alternatives('SELF')}\b", re.IGNORECASE)
_HABIT = languages.pattern(  # "I use emacs now", "jetzt verwende ich emacs"
    r"(?:<NOW>,? )?(?:(?=\S+ (?:<NOW> )?(?P<verb><HABIT>)\b)<SELF> (?:<NOW> )?<HABIT>|(?P<inverted><HABIT>) <SELF>)"
    r"(?: <NOW>)? (?P<what>.+?)(?:,? <NOW>)?"
)
_NOW = languages.pattern(r"\b<NOW>\b")


def repeated_by(db: Database, scope: Scope, claim: Claim) -> list[Fact]:
    """Facts that state the same as the claim, in the same scope."""
    found = {each.id: each for each in _in_words(db, scope, claim)}
    if claim.triple:
        for each in facts.accepted_values(db, scope.owner, claim.triple.subject, [claim.triple.predicate]):
            if each.object.casefold() == claim.triple.object.casefold():
                found[each.id] = each
    return [
        each
        for each in found.values()
        if (each.place, each.session_id, each.operation, each.target_id)
        == (claim.place, claim.session, claim.operation, claim.target)
        or (claim.operation == "insert" and each.operation == "update" and each.place == claim.place)
    ]


def earlier_ending(db: Database, scope: Scope, claim: Claim) -> Fact | None:
    """The same sentence, if it has ended a fact before."""
    same = _in_words(db, scope, claim)
    return next((each for each in same if (each.operation, each.state) == ("delete", SUPERSEDED)), None)


def _in_words(db: Database, scope: Scope, claim: Claim) -> list[Fact]:
    found = facts.similar(db, scope.owner, claim.statement)
    return [each for each in found if terms.is_similar(each.statement, claim.statement)]


def ended_by(
    db: Database, scope: Scope, statement: str, now: datetime, single_valued: Set[str], session: int | None = None
) -> list[Fact]:
    """The facts that hold here, now or in the future, and are over by this sentence; none when it ends nothing."""
    ending = triples.parse_ending(statement)
    if ending is None:
        return []
    held = facts.listing(db, scope.owner, _READ, not_over=now, place=scope.place)
    about_person = triples.is_about_person(statement)
    return [
        each
        for each in held
        if each.session_id in (None, session)
        and (_says_exactly(each, ending, single_valued) or (about_person and _says_in_words(db, each, ending)))
    ]


def with_target(
    db: Database, scope: Scope, claim: Claim, now: datetime, single_valued: Set[str]
) -> tuple[Claim, list[Fact]]:
    """The claim with the first of the facts that its sentence says are over as its target, and all of these."""
    if claim.operation != "insert":
        return claim, [facts.get(db, claim.target, scope.owner)] if claim.target else []
    over = ended_by(db, scope, claim.statement, now, single_valued, claim.session)
    return as_ending(claim, over, now, single_valued), over


def separate(statement: str) -> list[str]:
    """The clauses of a statement where each is understood alone, as in "I sold the car, I take the bus now"."""
    parts = statements.clauses(statement)
    understood = all(triples.parse(each) or triples.parse_ending(each) for each in parts)
    return parts if len(parts) > 1 and understood else [statement]


def replaceable(
    db: Database, scope: Scope, claim: Claim, now: datetime, single_valued: Set[str], session: int
) -> list[Claim]:
    """The claim in the place of each fact with the same verb, where the sentence says that it is so now."""
    said = _HABIT.fullmatch(claim.statement.rstrip(" .!"))
    if said is None or not _NOW.search(claim.statement) or (claim.triple and claim.triple.predicate in single_valued):
        return []
    made = []
    for each in facts.listing(db, scope.owner, _READ, not_over=now, place=scope.place):
        known = _HABIT.fullmatch(each.statement)
        if known is None or each.session_id not in (None, session) or _verb(db, known) != _verb(db, said):
            continue
        if not set(terms.content_words(said["what"])) <= set(terms.content_words(known["what"])):
            triple = Triple(each.subject, each.predicate, said["what"]) if each.predicate in single_valued else None
            made.append(replace(claim, operation="update", target=each.id, triple=triple))
    return sorted(made, key=lambda each: each.target or 0)


def _verb(db: Database, habit: re.Match[str]) -> list[str]:
    return db.tokens(habit["verb"] or habit["inverted"])


def as_ending(made: Claim, over: Sequence[Fact], now: datetime, single_valued: Set[str]) -> Claim:
    """The claim of a sentence that ends these facts: it deletes them, or is in their place."""
    ending = triples.parse_ending(made.statement)
    if ending is None or not over:
        return made
    first = over[0]
    if ending.instead:
        return replace(made, operation="update", target=first.id, triple=_new_value(ending, first, single_valued))
    since = validity.find(made.statement, now, begins=True).since
    return replace(made, operation="delete", target=first.id, triple=None, valid_from=since, valid_to=None)


def _new_value(ending: Ending, known: Fact, single_valued: Set[str]) -> Triple | None:
    """The triple of what is true instead; for "I use emacs instead of vim" that of the editor it replaces."""
    parsed = triples.parse(ending.instead)
    if parsed or known.predicate not in single_valued:
        return parsed
    return Triple(known.subject, known.predicate, _VERB.sub("", ending.instead, count=1))


def _says_exactly(fact: Fact, ending: Ending, single_valued: Set[str]) -> bool:
    """Whether the triple of a fact is what is over; of "emacs instead of vim" the editor, and not a drink one likes."""
    if ending.instead:
        return fact.predicate in single_valued and ending.over.casefold() == fact.object.casefold()
    parsed = triples.parse(ending.over)
    return parsed is not None and _folded(parsed) == _folded(Triple(fact.subject, fact.predicate, fact.object))


def _folded(triple: Triple) -> tuple[str, str, str]:
    return triple.subject.casefold(), triple.predicate, triple.object.casefold()


def _says_in_words(db: Database, fact: Fact, ending: Ending) -> bool:
    """Whether a fact about the person has all the words of what is over, in any form."""
    if not (fact.subject == triples.PERSON or (not fact.subject and _BY_PERSON.match(fact.statement))):
        return False
    words = [*terms.content_words(f"{ending.over} {ending.instead}"), *terms.content_words(fact.statement)]
    stems = {word: " ".join(tokens) for word, tokens in zip(words, db.tokens_of(words), strict=True)}
    return triples.covers(ending, fact.statement, Triple(fact.subject, fact.predicate, fact.object), stems)
