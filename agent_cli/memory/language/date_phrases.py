"""Phrases with a date in a sentence: "since 2020", "until the end of March", "from 3 to 10 May", "ab Jänner".

What they say is evaluated in memory/dates/validity.py. "On 3 May" may be the date of a birthday or an appointment, so a
phrase that only names a time (`AT`) is told apart from those that say from when or until when something is true.
"""

import re

from agent_cli.memory.language import languages
from agent_cli.text import Pattern

MONTHS, SEASONS, UNITS = languages.ordered("MONTHS"), languages.ordered("SEASONS"), languages.ordered("UNITS")
NUMBERS = {word: number for language in languages.ALL for word, number in language.NUMBERS.items()}

_WORD, _DIGIT = Pattern(r"\w+"), Pattern(r"\d")
_YEAR = r"(?:19|20)\d\d"
_MONTH, _SEASON = f"(?:{'|'.join(MONTHS)})", f"(?:{'|'.join(SEASONS)})"
_WORDS = {name: languages.alternatives(name) for name in ("SINCE", "FROM", "TO", "UNTIL", "AT", "ONWARDS", "DURATION")}
_ORDINAL = languages.alternatives("ORDINAL")
_PARTS = (
    rf"(?:(?:(?P<early>{languages.alternatives('EARLY')})|(?P<middle>{languages.alternatives('MIDDLE')})"
    rf"|(?P<late>{languages.alternatives('LATE')}))[ -])?"
    rf"(?:{languages.alternatives('PART_OF_DAY')} )?(?:{languages.alternatives('BEFORE_DATE')} )?"
    rf"(?:(?P<iso>\d{{4}}-\d\d(?:-\d\d)?)|(?P<numeric>\d{{1,2}}\.\d{{1,2}}\.(?:{_YEAR}|\d\d(?!\d))?)"
    rf"|(?P<day>\d{{1,2}}){_ORDINAL} (?P<month>{_MONTH})(?:,? (?P<year>{_YEAR}))?"
    rf"|(?P<month2>{_MONTH})(?: (?P<day2>\d{{1,2}})(?!\d){_ORDINAL})?(?:,? (?P<year2>{_YEAR}))?"
    rf"|(?P<season>{_SEASON})(?:,? (?P<year3>{_YEAR}))?|(?P<year4>{_YEAR}))"
)
DATE = re.sub(r"\?P<\w+>", "?:", _PARTS)
PARTS = Pattern(_PARTS, re.IGNORECASE)
"""The parts of a date, as named groups."""

_ENDS = tuple(name for names in (*MONTHS, *SEASONS) for name in names.split("|"))
_STARTS = tuple(name.removesuffix("s?").removesuffix(r"\w*") for names in UNITS for name in names.split("|"))


def _may_hold(text: str) -> bool:
    """Whether a text may hold a phrase: in each is a digit, a word that ends as a month or season does, or one that
    begins as a unit does. ("Today" and "email" do not: there the large pattern need not be compiled.)"""
    if _DIGIT.search(text):
        return True
    return any(word.startswith(_STARTS) or word.endswith(_ENDS) for word in _WORD.findall(text.lower()))


_OPENINGS = {"since": "SINCE", "until": "UNTIL", "from": "FROM", "at": "AT"}  # in front of a single date
_PHRASES = (  # a date takes a thousand characters, and a millisecond to compile: it stands here as rarely as may be
    rf"(?P<range>{_WORDS['FROM']} (?P<first>{DATE}|\d{{1,2}}\.?) ?{_WORDS['TO']} ?(?P<last>{DATE}))"
    rf"|(?P<duration>{_WORDS['DURATION']} (?P<n>\d{{1,3}}|{'|'.join(NUMBERS)}) "
    rf"(?:{'|'.join(f'(?P<unit{n}>{unit})' for n, unit in enumerate(UNITS))}))"
    rf"|(?:{'|'.join(f'(?P<{kind}>{_WORDS[name]})' for kind, name in _OPENINGS.items())}) (?P<date>{DATE})"
    rf"(?(from)(?: {_WORDS['ONWARDS']})?)"
)
PHRASE = Pattern(rf"(?<![\w-])(?:{_PHRASES})(?![\w-])", re.IGNORECASE, hint=_may_hold)
"""A phrase with a date; one of the groups named in `_KINDS` is set, the others are its dates."""
_KINDS = ("range", "duration", *_OPENINGS)

_NOW = languages.alternatives("NOW")
TIME_WORDS = rf"(?:{_NOW}|{languages.alternatives('LATELY')})"
"""Words for a time that are no date."""
_EDGE_NOW = Pattern(rf"^{_NOW},? (?=\S+ \S)|,? {_NOW}$", re.IGNORECASE)
_FUTURE_AUXILIARY = Pattern(languages.alternatives("FUTURE_AUXILIARY"), re.IGNORECASE)
_EDGE = Pattern(rf"^{TIME_WORDS},? (?=\S+ \S)|,? {TIME_WORDS}$", re.IGNORECASE)


def without_future(sentence: str, statement: str) -> str:
    """The sentence without "will" and "going to", if the statement has a date: a plan with a date is certain."""
    if _FUTURE_AUXILIARY.search(sentence) and PHRASE.search(statement):
        return _FUTURE_AUXILIARY.sub("", sentence)
    return sentence


def kind(phrase: re.Match[str]) -> str:
    """Range, since, duration, until, from or at."""
    return next(name for name in _KINDS if phrase[name])


def without(sentence: str, *, times: bool) -> str:
    """The sentence without the phrases that say from when or until when, and without "now" at its ends.

    `times`: also without those that only name a time.
    """

    def cut(phrase: re.Match[str]) -> str:
        return " " if times or kind(phrase) != "at" else phrase[0]

    left, edge = " ".join(PHRASE.sub(cut, sentence).split()).strip(" ,"), _EDGE if times else _EDGE_NOW
    while (shorter := edge.sub("", left)) != left:
        left = shorter
    return re.sub(r" ,", ",", left)
