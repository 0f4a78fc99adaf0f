"""Locates the words for time in a sentence.

By patterns, in English and German. An ambiguous word counts only in a context that makes it a time: "at 9" not before a
noun, "morning" only after a day; "the weekly report" does not repeat, and "Friday's party" is no date.
"""

import re
from functools import cache
from itertools import pairwise

from agent_cli.errors import UsageError
from agent_cli.memory.dates import recurrence, time_range
from agent_cli.memory.language import date_phrases, languages
from agent_cli.values import frozen

PARTS = {
    "morning": 9,
    "früh": 8,
    "morgen": 9,
    "vormittag": 10,
    "afternoon": 15,
    "nachmittag": 15,
    "evening": 18,
    "abend": 18,
    "night": 20,
    "nacht": 20,
    "tonight": 20,
}
HOURS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "eins": 1,
    "ein": 1,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
    "zehn": 10,
    "elf": 11,
    "zwölf": 12,
}
_TOPIC = languages.pattern("<TIME_AS_TOPIC>")
_LIKENESS = 0.86  # "wensday" has 0.88 to Wednesday, and "Feiertag" 0.8 to "Freitag"
POINTS = {"noon": 12, "midday": 12, "mittag": 12, "mittags": 12, "midnight": 0, "mitternacht": 0}


@frozen
class TimeWords:
    """The matches in a sentence, by kind."""

    repeating: re.Match[str] | None
    duration: re.Match[str] | None
    day: re.Match[str] | None
    point: re.Match[str] | None
    part: re.Match[str] | None

    @property
    def day_part(self) -> str:
        """The part of the day or ""; "tonight" names both a day and its part."""
        if self.part:
            return self.part["part"].casefold()
        return "tonight" if self.day and (self.day["today"] or "").casefold() == "tonight" else ""

    @property
    def matches(self) -> list[re.Match[str]]:
        found = (self.repeating, self.duration, self.day, self.point, self.part)
        return sorted((each for each in found if each), key=lambda each: each.start())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """The patterns of duration, day, point and part; compiled when first needed."""
    hours = "|".join(HOURS)
    number = (
        rf"(?:\d{{1,4}}|an?|{hours})\s+and\s+a\s+half|anderthalb|eineinhalb"
        rf"|\d{{1,4}}(?:\.\d)?|half\s+an?|einer\s+halben|{'|'.join(date_phrases.NUMBERS)}|{hours}|zwanzig|twenty|couple\s+of"
    )
    units = (
        r"seconds?|secs?|sekunden?|minutes?|minuten?|mins?|hours?|hrs?|h|stunden?|std|days?|tage?n?|weeks?|wochen?"
        r"|months?|monate?n?|years?|jahre?n?"
    )
    day, short = recurrence.day_pattern(), recurrence.short_day_pattern()
    months = "|".join(
        f"{name}|{name.split('|')[0][:3]}\\.?|{name.split('|')[-1][:3]}\\.?" for name in date_phrases.MONTHS
    )
    coming = r"(?:next|this|coming|(?:de[nmr]\s+)?(?:nächste|kommende|diese)[nrsm]?)"
    on, nth = r"(?:(?:on|by|until|till|bis|am|den)\s+)?(?:the\s+)?", r"(?:st|nd|rd|th|\.)"
    clock = (
        r"\d{1,2}:\d\d(?::\d\d)?(?:\s?(?:am|pm|uhr|h)\b)?"
        rf"|(?:{hours})\s(?:uhr|o['’]clock)(?!\w)"
        r"|\d{1,2}(?:\.\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.|uhr(?:\s\d\d)?|o['’]clock)(?!\w)"
    )
    spoken = rf"(?:half\s+past|quarter\s+(?:past|to)|halb|viertel\s+(?:nach|vor))\s+(?:\d{{1,2}}|{hours})\b"
    points = f"{spoken}|{clock}|{'|'.join(POINTS)}"
    part = "|".join(PARTS)
    patterns = (
        rf"""(?<![\w-])in\s+(?:about\s+|etwa\s+|ca\.?\s+)?(?:a\s+)?(?P<n>{number})\s*(?P<unit>{units})
               (?:\s+(?:and|und)\s+(?:a\s+half|(?:{number})\s*(?:{units})))?(?![\w-])
           | (?<![\w-])(?P<n3>{number})\s*(?P<unit3>{units})\s+from\s+now\b""",
        rf"""(?<![\w-])(?:
             {on}(?P<iso>\d{{4}}-\d\d?-\d\d?)(?:T(?=\d))?
           | {on}(?P<numbers>\d{{1,2}}\.\s?\d{{1,2}}\.(?:\s?\d{{4}})?|\d{{1,2}}/\d{{1,2}}(?:/\d{{4}})?)
           | {on}(?P<date>\d{{1,2}}{nth}?\s+(?:of\s+)?(?:{months})(?:,?\s+\d{{4}})?
                 |(?:{months})\s+\d{{1,2}}{nth}?(?:,?\s+\d{{4}})?)
           | (?:on|by|am|until)\s+(?:the\s+)?(?P<only>\d{{1,2}}){nth}(?:\s+of\s+(?:the|this)\s+month)?
             (?!\.?\d|\s*[a-zäöü]+\s+\d{{4}})
           | (?P<after>(?:the\s+)?day\s+after\s+tomorrow|übermorgen)
           | (?P<today>today|heute|tonight)
           | (?P<tomorrow>tom+or+ow|tmrw|(?<!am\ )(?<!guten\ )morgen(?!s))
           | (?P<past>{languages.alternatives("PAST_TIME")})
           | {on}(?P<next>{coming}\s+)?(?P<day>{day})(?P<week>\s+next\s+week|\s+nächste\s+woche)?
           | (?:(?:on|by|am)\s+(?:{coming}\s+)?|{coming}\s+)(?P<short>{short})\.?
           | (?P<abbreviated>{short})\.?(?=,?\s+(?:at\s+|um\s+)?(?:{points}))
           | (?P<period>(?:next|(?:im\s+)?nächste[ns]?)\s+(?:week|month|year|woche|monat|jahr))
           | (?:(?:on|at|am)\s+)?(?:the\s+|this\s+|{coming}\s+)?(?P<weekend>weekend|wochenende)
           )(?:(?<=\dT)|(?!['’]|[\w-]))
           | (?<![\w-])(?P<this>this)(?=\s+(?:morning|afternoon|evening|night))""",
        rf"""(?<![\w:./-])(?:(?:at|um|by|@|until|bis|gegen|zu)\s*)?(?P<point>{points})(?![\w:/-])
           | (?<![\w-])(?:at|um|@)\s*(?P<bare>\d{{1,2}}(?:\.\d\d)?|{hours})(?![\w:/-]|\.\d)
           | (?<![^\s,\x00])(?P<alone>\d|[01]\d|2[0-3])(?=[\s.;!?)]*$)""",
        rf"(?<![\w-])(?:(?:in\s+the|this|at|am|in\s+der|zu)\s+)?(?P<part>{part})s?(?![\w'’-])",
    )
    return tuple(re.compile(each, re.IGNORECASE | re.VERBOSE) for each in patterns)


def locate(sentence: str) -> TimeWords:
    """The last match of each kind; none overlapping. Raises UsageError for two times joined by "and"."""
    left = sentence = _correct_day_names(sentence)
    taken: list[re.Match[str]] = []
    duration, day, point, part = _patterns()
    found: dict[str, re.Match[str] | None] = {}
    for kind, pattern in (("repeating", recurrence.pattern()), ("duration", duration), ("day", day)):
        fits = [each for each in pattern.finditer(left) if _is_date_words(kind, each, sentence)] if not taken else []
        fits.sort(key=lambda each: kind != "day" or not each["past"])  # a day to come, where one is named too
        found[kind] = fits[-1] if fits else None
        taken += fits[-1:]
        left = _blank_out(left, found[kind])
    for kind, pattern in (("part", part), ("point", point)):
        fits = [each for each in pattern.finditer(left) if _is_time_of_day(kind, each, sentence, taken)]
        _refuse_two_times(fits, sentence)
        found[kind] = fits[-1] if fits else None
        taken += fits[-1:]
        left = _blank_out(left, found[kind])
    return TimeWords(**found)


def _is_date_words(kind: str, match: re.Match[str], sentence: str) -> bool:
    """An adverb such as "weekly" counts only at either end of the sentence or before a time.

    A past time counts beside a time of day and at the end, unless it says what the sentence is about; it is refused
    later."""
    before, after = sentence[: match.start()].strip(), sentence[match.end() :].strip()
    if kind == "day" and match["past"]:
        beside = re.match(r",?\s*(?:(?:at|um|@)\s*)?(?:\d|noon|mid)", after, re.IGNORECASE)
        at_end = re.fullmatch(rf"(?:{'|'.join(PARTS)})?[\s.!]*", after, re.IGNORECASE)
        if at_end and not _TOPIC.search(before):
            return True
        return bool(beside or re.search(r"\d\s?(?:[ap]m|uhr|h)?$", before, re.IGNORECASE))
    if kind != "repeating" or not match["adverb"]:
        return True
    return not after or not after[0].isalpha() or bool(re.match(r"(?:at|um|on|am)\b", after)) or not match.start()


def _is_time_of_day(kind: str, match: re.Match[str], sentence: str, taken: list[re.Match[str]]) -> bool:
    """Whether a match is a time in its context: "at 9" not before a noun, "evening" not as a noun."""
    before, after = sentence[: match.start()].rstrip(" ,"), sentence[match.end() :].lstrip(" ,")
    beside = len(before) in {each.end() for each in taken} or len(sentence) - len(after) in {e.start() for e in taken}
    if kind == "part":
        return beside or " " in match[0].strip() or match[0].casefold() == "tonight"
    if match["alone"]:  # "tomorrow 9": right after a day
        return any(len(before) == each.end() for each in taken if "unit3" not in each.groupdict())
    return bool(match["point"]) or beside or not after or after[0] in ".;!?)"


def _refuse_two_times(fits: list[re.Match[str]], sentence: str) -> None:
    for one, other in pairwise(fits):
        if re.fullmatch(r"\s*(?:and|und|&|,)\s*", sentence[one.end() : other.start()], re.IGNORECASE):
            raise UsageError(f"“{sentence[one.start() : other.end()].strip()}” are two times: write one task for each")


def _correct_day_names(sentence: str) -> str:
    """Corrects weekdays with transposed letters; the length stays the same. Raises UsageError for other mistakes."""
    names = [name for names in time_range.DAYS for name in names.split("|")]
    days = {(name[0], *sorted(name)): name for name in names}

    def right(match: re.Match[str]) -> str:
        word = match[0].lower()
        day = days.get((word[0], *sorted(word)), word)
        if day == word and word.endswith(("day", "tag")) and (meant := _mistyped(word, names)):
            raise UsageError(f"“{match[0]}” is no day of the week; did you mean {meant}?")
        return match[0] if day == word else day

    return re.sub(r"\w{6,10}", right, sentence)


def _mistyped(word: str, names: list[str]) -> str:
    """The day that is meant by a word such as "wensday"; empty for a day, and for words such as "holiday"."""
    from difflib import SequenceMatcher  # rarely needed: 2 ms

    likeness, name = max((SequenceMatcher(None, word, each).ratio(), each) for each in names)
    return name if _LIKENESS <= likeness < 1 else ""


def _blank_out(words: str, match: re.Match[str] | None) -> str:
    return words if match is None else f"{words[: match.start()]}{chr(0) * len(match[0])}{words[match.end() :]}"
