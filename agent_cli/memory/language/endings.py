"""Sentences that say that something is over: "I no longer live in Wels", "I stopped smoking", "tea instead of coffee".

The words that say so are cut, so that what was true is left: "I live in Wels". Which facts it ends is decided in
memory/facts/endings.py.
"""

import re

from agent_cli.memory.language import date_phrases, languages, terms, triples
from agent_cli.memory.language.claims import MAX_LENGTH, Triple
from agent_cli.text import Pattern
from agent_cli.values import frozen


@frozen
class Ending:
    over: str  # what was true, as far as the sentence says it
    instead: str = ""  # the sentence, or the value, that is true from now on
    of: frozenset[str] | None = None  # predicates of the facts that have it as their object; None: all of their words


def _pattern(words: str) -> Pattern:
    return Pattern(words, re.IGNORECASE)


_SELF = languages.alternatives("SELF")
_ABOUT_PERSON = _pattern(rf"\b(?:{_SELF}|{languages.alternatives('POSSESSIVE')})\b")
_DOUBT = _pattern(rf"\b{languages.alternatives('DOUBT')}\b|\?")
_NO_LONGER = _pattern(rf"\b{languages.alternatives('NO_LONGER')}\b")
_NEGATED = _pattern(rf"\b{languages.alternatives('NEGATED')}\b|n['’]t\b")
_STOPPED = _pattern(rf"\b{languages.alternatives('STOPPED')}\b")
_SOLD = _pattern(rf"\b{languages.alternatives('SOLD')}\b")
_THINGS = frozenset(("drives", "owns", "has"))
_LEFT = _pattern(rf"\b{languages.alternatives('LEFT')}\b")
_SWITCHED = [_pattern(rf"\b{language.SWITCHED}\b") for language in languages.ALL]
_INSTEAD = languages.alternatives("INSTEAD")
_AFTER = _pattern(rf"(?P<new>.+?),? {_INSTEAD} (?P<old>.+)")
_BEFORE = _pattern(rf"{_INSTEAD} (?P<old>\S+?(?: \S+?)??),? (?P<new>(?:\S+ )?{_SELF}\b.+)")
_LAST_PART = Pattern(r"(?P<new>.+), (?P<old>(?:\S+ ){0,5}\S+)")
_CLAUSE = _pattern(rf"\b(?:{_SELF}|{languages.alternatives('VERB')}|{languages.alternatives('FINITE_VERB')})\b")
_OPINION = _pattern(rf"\b(?:{_SELF}) (?:\S+ )?{languages.alternatives('OPINION')}\b")


def parse(statement: str) -> Ending | None:
    """What a sentence says is over; None when it says nothing of the kind, or not for sure."""
    if len(statement) > MAX_LENGTH or is_doubtful(statement):
        return None
    sentence = date_phrases.without(" ".join(statement.split()).strip(" .!"), times=True)
    if replaced := _BEFORE.fullmatch(sentence) or _AFTER.fullmatch(sentence):
        return Ending(replaced["old"], replaced["new"])
    for pattern in _SWITCHED:
        if switched := pattern.search(sentence):
            return Ending(switched["old"], switched["new"])
    part = _LAST_PART.fullmatch(sentence)
    if part and _NO_LONGER.search(part["old"]) and not (_CLAUSE.search(part["old"]) or _NO_LONGER.search(part["new"])):
        return Ending(_cut(part["old"]), part["new"])  # "I parked on level 5, no longer on level 3"
    if _NO_LONGER.search(sentence):
        left = _cut(date_phrases.without_future(sentence, statement))
        return None if _OPINION.search(left) else Ending(left)
    for pattern, of in ((_STOPPED, None), (_LEFT, triples.DATED), (_SOLD, _THINGS)):
        if pattern.search(sentence):
            return Ending(" ".join(pattern.sub(" ", sentence).split()), of=of)
    return None


def _cut(negated: str) -> str:
    """What a negated sentence says was true."""
    return " ".join(_NEGATED.sub(" ", negated).split())


def is_doubtful(statement: str) -> bool:
    """Whether a sentence asks or supposes: then none of its clauses is sure."""
    return bool(_DOUBT.search(date_phrases.without_future(statement, statement)))


def is_about_person(statement: str) -> bool:
    return bool(_ABOUT_PERSON.search(statement))


def covers(ending: Ending, statement: str, triple: Triple, stems: dict[str, str]) -> bool:
    """Whether a fact says what is over. `stems`: the stem of each word, case folded."""
    over = terms.content_words(ending.over)
    if terms.is_negated(statement) or not any(word not in terms.STOP_WORDS for word in over):
        return False
    if ending.of is not None:
        known = terms.content_words(triple.object)
        named = _same(over, known, stems) or (ending.of is _THINGS and all(_among(word, known, stems) for word in over))
        return triple.predicate in ending.of and named
    known = terms.content_words(statement)
    if not all(_among(word, known, stems) for word in over):
        return False
    new = [word for word in terms.content_words(ending.instead) if word not in over]
    return not ending.instead or any(_among(word, known, stems) for word in new)


def _same(words: list[str], others: list[str], stems: dict[str, str]) -> bool:
    return len(words) == len(others) and all(_among(word, others, stems) for word in words)


def _among(word: str, others: list[str], stems: dict[str, str]) -> bool:
    return any(_is_form(word, other, stems) for other in others)


def _is_form(word: str, other: str, stems: dict[str, str]) -> bool:
    """Whether two words are forms of one: the same stem, or the same beginning up to two letters."""
    shorter = min(len(word), len(other))
    beginning = shorter - (2 if shorter > 6 else 1)
    same = stems.get(word, word) == stems.get(other, other)
    return same or (shorter > 4 and word[:beginning] == other[:beginning])
