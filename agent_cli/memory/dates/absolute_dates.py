"""Replaces relative dates in a statement by absolute ones, so that it stays true: "yesterday" is "on 20 November 2026".

By rules, in the language of the word. Ambiguous words ("on Friday", "soon", "in two weeks" after a past tense) and
quoted text are left as they are. Of "3/4/2026" the locale says which number is the month, and that is written out, so
that the person sees how it was read. "next Friday" is the first one after today, as "nächsten Freitag" is.
"""

import re
from datetime import datetime
from functools import partial
from types import ModuleType

from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern

QUOTED = Pattern(r"\"[^\"\n]*\"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|`[^`\n]*`")
_HINT = languages.pattern(r"<DATE_HINTS>|\d/\d")
_PAST_TENSE = Pattern(languages.alternatives("PAST_TENSE"))
_AFTER_DAY = Pattern(rf"\b(?:{date_phrases.DAY})s?\s*$", re.IGNORECASE)


def resolve(text: str, now: datetime) -> str:
    """The text, written at `now`, with its relative dates replaced."""
    if not _HINT.search(text):
        return text
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    parts, at = [], 0
    for quoted in QUOTED.finditer(text):
        parts += [_replace_all(text[at : quoted.start()], today, not at), quoted[0]]
        at = quoted.end()
    return "".join([*parts, _replace_all(text[at:], today, not at)])


def _replace_all(text: str, today: datetime, first: bool) -> str:
    for language in reversed(languages.ALL):  # the first has what any language may say
        text = date_phrases.relative(language).sub(partial(_replacement, language, today, first), text)
    return text


def _replacement(language: ModuleType, today: datetime, first: bool, match: re.Match[str]) -> str:
    before = match.string[: match.start()].rstrip(" \"'“„(")
    starts_sentence = (first and not before) or before.endswith((".", "!", "?", "\n"))
    if match[0][0].isupper() and not starts_sentence and not match[0].isupper():
        return match[0]  # probably a name: "the film Yesterday"
    try:
        date_words = _written(match, date_phrases.groups(match), language, today)
    except (ValueError, OverflowError, LookupError):
        return match[0]
    return date_words[0].upper() + date_words[1:] if starts_sentence and match[0][0].isupper() else date_words


def _written(match: re.Match[str], parts: dict[str, str], language: ModuleType, today: datetime) -> str:
    """What stands for the match, in its language; itself where it is no date after all."""
    bound, before = parts.get("since") or parts.get("until"), match.string[: match.start()]
    is_past = bool(_PAST_TENSE.search(match.string))  # "it was done in two days": a duration
    if (is_past and ("ahead" in parts or "until" in parts)) or (bound and _AFTER_DAY.search(before)):
        return match[0]
    unit, day_meant = date_phrases.relative_days(parts, today)
    months = [names.split("|")[0].capitalize() for names in language.MONTHS.split()]
    named = {"day": day_meant.day, "month": months[day_meant.month - 1], "year": day_meant.year}
    date = language.WRITTEN_DATE.format(**named)
    if "slashed" in parts or "owns" in parts:
        return f"{parts.get('in_front', '')} {date}{parts.get('owns', '')}".lstrip()
    preposition, part = bound or parts.get("before", ""), parts.get("part", "")
    part = languages.table("WRITTEN_PARTS").get(part, part)
    alone, behind = language.WRITTEN["night" if part == "night" else "part" if part else unit]
    words = str((behind if preposition else alone).format(before=preposition, part=part, date=date, **named))
    return next(
        (f"{s}{words[len(long) :]}" for long, s in languages.table("CONTRACTED").items() if words.startswith(long)),
        words,
    )
