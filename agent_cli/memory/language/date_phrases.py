"""Phrases with a date in a sentence: "since 2020", "until the end of March", "from 3 to 10 May", "ab Jänner".

What they say is evaluated in memory/dates/validity.py. "On 3 May" may be the date of a birthday or an appointment, so a
phrase that only names a time (`AT`) is told apart from those that say from when or until when something is true.
"""

import re

from agent_cli.memory.language import languages
from agent_cli.text import Pattern

MONTHS, SEASONS, UNITS = languages.ordered("MONTHS"), languages.ordered("SEASONS"), languages.ordered("UNITS")
NUMBERS = {word: number for language in languages.ALL for word, number in language.NUMBERS.items()}

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

_NAMES = (  # each phrase contains one of them
    *"0123456789",
    *(name for names in (*MONTHS, *SEASONS) for name in names.split("|")),
    *(name.removesuffix("s?").removesuffix(r"\w*") for names in UNITS for name in names.split("|")),
)
_PHRASES = {
    "range": rf"{_WORDS['FROM']} (?P<first>{DATE}|\d{{1,2}}\.?) ?{_WORDS['TO']} ?(?P<last>{DATE})",
    "since": rf"{_WORDS['SINCE']} (?P<since>{DATE})",
    "duration": rf"{_WORDS['DURATION']} (?P<n>\d{{1,3}}|{'|'.join(NUMBERS)}) "
    rf"(?:{'|'.join(f'(?P<unit{n}>{unit})' for n, unit in enumerate(UNITS))})",
    "until": rf"{_WORDS['UNTIL']} (?P<until>{DATE})",
    "from": rf"{_WORDS['FROM']} (?P<start>{DATE})(?: {_WORDS['ONWARDS']})?",
    "at": rf"{_WORDS['AT']} (?P<at>{DATE})",
}
PHRASE = Pattern(
    rf"(?<![\w-])(?:{'|'.join(f'(?P<{name}_>{words})' for name, words in _PHRASES.items())})(?![\w-])",
    re.IGNORECASE,
    _NAMES,
)
"""A phrase with a date; the group `KIND_` is the kind of the phrase, the others are its dates."""

_NOW = languages.alternatives("NOW")
TIME_WORDS = rf"(?:{_NOW}|{languages.alternatives('LATELY')})"
"""Words for a time that are no date."""
_EDGE_NOW = Pattern(rf"^{_NOW},? (?=\S+ \S)|,? {_NOW}$", re.IGNORECASE)
_FUTURE_AUXILIARY = Pattern(languages.alternatives("FUTURE_AUXILIARY"), re.IGNORECASE)
_EDGE = Pattern(rf"^{TIME_WORDS},? (?=\S+ \S)|,? {TIME_WORDS}$", re.IGNORECASE)


def without_future(sentence: str, statement: str) -> str:
    """The sentence without "will" and "going to", if the statement has a date: a plan with a date is certain."""
    return _FUTURE_AUXILIARY.sub("", sentence) if PHRASE.search(statement) else sentence


def kind(phrase: re.Match[str]) -> str:
    """Range, since, duration, until, from or at."""
    return next(name for name in _PHRASES if phrase[f"{name}_"])


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
