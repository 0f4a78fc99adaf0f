"""Finds the words for time in a sentence, and leaves all others alone.

By patterns, in English and German. A word counts only beside those that make it a time: "at 9" is none before a noun,
"morning" is one behind a day, the weekly report is one report, and Friday's party need not be on it.
"""

import re
from functools import cache

from agent_cli.memory import recurrence, when
from agent_cli.values import frozen

PARTS = {
    "morning": 9, "früh": 8, "morgen": 9, "vormittag": 10, "afternoon": 15, "nachmittag": 15, "evening": 18,
    "abend": 18, "night": 20, "nacht": 20, "tonight": 20,
}  # fmt: skip
POINTS = {"noon": 12, "midday": 12, "mittag": 12, "mittags": 12, "midnight": 0, "mitternacht": 0}


@frozen
class Found:
    """What of a sentence tells the time: places in it, by kind."""

    every: re.Match[str] | None
    lasting: re.Match[str] | None
    day: re.Match[str] | None
    point: re.Match[str] | None
    part: re.Match[str] | None

    @property
    def spoken(self) -> str:
        """The part of the day; "tonight" is a day and a part of it."""
        if self.part:
            return self.part["part"].casefold()
        return "tonight" if self.day and (self.day["today"] or "").casefold() == "tonight" else ""

    @property
    def all(self) -> list[re.Match[str]]:
        found = (self.every, self.lasting, self.day, self.point, self.part)
        return sorted((each for each in found if each), key=lambda each: each.start())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """Lasting, day, point, part: compiled when a time is first looked for."""
    number = (
        rf"\d{{1,4}}(?:\.\d)?|half\s+an?|einer\s+halben|{'|'.join(when.NUMBERS)}|zehn|ten|zwanzig|twenty|couple\s+of"
    )
    units = (
        r"seconds?|secs?|sekunden?|minutes?|minuten?|mins?|hours?|hrs?|stunden?|std|days?|tage?n?|weeks?|wochen?"
        r"|months?|monate?n?|years?|jahre?n?"
    )
    day, short = recurrence.names(), recurrence.short_names()
    months = "|".join(f"{name}|{name.split('|')[0][:3]}\\.?|{name.split('|')[-1][:3]}\\.?" for name in when.MONTHS)
    next_ = r"(?:next|this|coming|(?:de[nmr]\s+)?(?:nächste|kommende|diese)[nrsm]?)"
    on, nth = r"(?:(?:on|by|until|till|bis|am|den)\s+)?(?:the\s+)?", r"(?:st|nd|rd|th|\.)"
    clock = (
        r"\d{1,2}:\d\d(?::\d\d)?(?:\s?(?:am|pm|uhr|h)\b)?"
        r"|\d{1,2}(?:\.\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.|uhr(?:\s\d\d)?|o['’]clock)(?!\w)"
    )
    spoken = r"(?:half\s+past|quarter\s+(?:past|to)|halb|viertel\s+(?:nach|vor))\s+\d{1,2}"
    points = f"{spoken}|{clock}|{'|'.join(POINTS)}"
    part = "|".join(PARTS)
    patterns = (
        rf"""(?<![\w-])in\s+(?:about\s+|etwa\s+|ca\.?\s+)?(?:a\s+)?(?P<n>{number})\s*(?P<unit>{units})
               (?:\s+(?:and|und)\s+(?:{number})\s*(?:{units}))?(?![\w-])
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
           | (?P<tomorrow>tomorrow|(?<!am\ )(?<!guten\ )morgen(?!s))
           | {on}(?P<next>{next_}\s+)?(?P<day>{day})(?P<week>\s+next\s+week|\s+nächste\s+woche)?
           | (?:(?:on|by|am)\s+(?:{next_}\s+)?|{next_}\s+)(?P<short>{short})\.?
           | (?P<abbreviated>{short})\.?(?=,?\s+(?:at\s+|um\s+)?(?:{points}))
           | (?P<period>(?:next|(?:im\s+)?nächste[ns]?)\s+(?:week|month|year|woche|monat|jahr))
           | (?:(?:on|at|am)\s+)?(?:the\s+|this\s+|{next_}\s+)?(?P<weekend>weekend|wochenende)
           )(?!['’]|[\w-])
           | (?<![\w-])(?P<this>this)(?=\s+(?:morning|afternoon|evening|night))""",
        rf"""(?<![\w:./-])(?:(?:at|um|by|@|until|bis|gegen|zu)\s*)?(?P<point>{points})(?![\w:/-])
           | (?<![\w-])(?:at|um|@)\s*(?P<bare>\d{{1,2}}(?:\.\d\d)?)(?![\w:/-]|\.\d)""",
        rf"(?<![\w-])(?:(?:in\s+the|this|at|am|in\s+der|zu)\s+)?(?P<part>{part})s?(?![\w'’-])",
    )
    return tuple(re.compile(each, re.IGNORECASE | re.VERBOSE) for each in patterns)


def search(sentence: str) -> Found:
    """The last words of each kind; no word counts twice."""
    left = sentence
    taken: list[re.Match[str]] = []
    lasting, day, point, part = _patterns()
    found: dict[str, re.Match[str] | None] = {}
    for kind, pattern in (("every", recurrence.pattern()), ("lasting", lasting), ("day", day)):
        fits = [each for each in pattern.finditer(left) if _is_time(kind, each, sentence)] if not taken else []
        found[kind] = fits[-1] if fits else None
        taken += fits[-1:]
        left = _without(left, found[kind])
    for kind, pattern in (("part", part), ("point", point)):
        fits = [each for each in pattern.finditer(left) if _counts(kind, each, sentence, taken)]
        found[kind] = fits[-1] if fits else None
        taken += fits[-1:]
        left = _without(left, found[kind])
    return Found(**found)


def _is_time(kind: str, match: re.Match[str], sentence: str) -> bool:
    """An adverb counts at an end of the sentence or before a time: the weekly report is one report."""
    if kind != "every" or not match["adverb"]:
        return True
    after = sentence[match.end() :].strip()
    return not after or not after[0].isalpha() or bool(re.match(r"(?:at|um|on|am)\b", after)) or not match.start()


def _counts(kind: str, match: re.Match[str], sentence: str, taken: list[re.Match[str]]) -> bool:
    """Whether it is a time beside what was found: "at 9" not before a noun, "evening" not as one."""
    before, after = sentence[: match.start()].rstrip(" ,"), sentence[match.end() :].lstrip(" ,")
    beside = len(before) in {each.end() for each in taken} or len(sentence) - len(after) in {e.start() for e in taken}
    if kind == "part":
        return beside or " " in match[0].strip() or match[0].casefold() == "tonight"
    return bool(match["point"]) or beside or not after or after[0] in ".;!?)"


def _without(words: str, match: re.Match[str] | None) -> str:
    return words if match is None else f"{words[: match.start()]}{chr(0) * len(match[0])}{words[match.end() :]}"
