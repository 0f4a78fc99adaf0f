"""Parses due times in words: "Friday 3pm", "in two hours", "übermorgen um 9", "every Monday 9:00".

The words for time are located in the sentence by patterns; "call the dentist tomorrow at 9" leaves "call the dentist".
An ambiguous word counts only in a context that makes it a time: "at 9" not before a noun, "morning" only after a day;
"the weekly report" does not repeat, and "Friday's party" is no date. All times are local times of the zone and in the
future: a weekday is the coming one, "3pm" is today's or else tomorrow's, and a past date is refused. A
day without a time means nine o'clock. Commands always show the parsed time in full, so that nobody need know these
rules.
"""

import re
import warnings
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import pairwise

from agent_cli import text
from agent_cli.errors import UsageError
from agent_cli.memory.dates import recurrence, zones
from agent_cli.memory.dates.zones import DueTime, format_moment
from agent_cli.memory.language import date_phrases, languages
from agent_cli.text import Pattern
from agent_cli.values import frozen

_MAX_LENGTH = 200  # characters: dateparser takes minutes over longer ones
_MAX_SENTENCE = 2000  # characters of a task with its words for time
MORNING = time(9)  # for a day without a time
_NOON = 12
_PART_HOURS, _POINT_HOURS, _SPOKEN = (languages.table(name) for name in ("PART_HOURS", "POINT_HOURS", "SPOKEN_TIMES"))
_LIKENESS = 0.86  # "wensday" has 0.88 to Wednesday, and "Feiertag" 0.8 to "Freitag"
_FIELDS = ("seconds", "minutes", "hours", "days", "weeks")  # of timedelta; behind them are months and years
_EXACT_UNITS = 3  # seconds, minutes and hours count elapsed time
_TOPIC = languages.pattern("<TIME_AS_TOPIC>")
_NO_TIME = languages.pattern(r"<NO_TIME>?[.!]?")
_FILLER = languages.pattern(r"(?:\b<AROUND_TIME>\b|[\s,.;@])*")
_REMIND_ME = Pattern(languages.spaced(languages.alternatives("REMIND_ME")), re.IGNORECASE)
_JOINED = languages.pattern(r"\s*(?:<AND>|&|,)\s*")
_TIME_BEHIND = languages.pattern(rf",?\s*(?:(?:<AT_HOUR>|@)\s*)?(?:\d|{'|'.join(_POINT_HOURS)})")
_TIME_BEFORE = languages.pattern(r"\d\s?(?:[ap]m|<CLOCK>|h)?$")
_BEHIND_ADVERB = languages.pattern(r"(?:<AT_HOUR>|<ON_REPEATED>)\b")
_DAY_ENDINGS = languages.phrases("DAY_ENDING")
_WORD_OF_NUMBER = Pattern(rf"\b(?:{date_phrases.NUMBER_WORDS})\b")
_HALVES = {  # how a number with a half begins or ends
    "one and a half": languages.pattern(languages.spaced(languages.alternatives("ONE_AND_A_HALF"))),
    "half": languages.pattern(languages.spaced(languages.alternatives("HALF"))),
    "and a half": languages.pattern(languages.spaced(rf"(?<!\S)\S++ {languages.alternatives('AND_A_HALF')}")),
    "couple": languages.pattern(languages.spaced(languages.alternatives("A_COUPLE_OF"))),
}
_DATEPARSER_SETTINGS = {  # UTC, because it is given local times without a zone
    "DATE_ORDER": "DMY",
    "PREFER_DATES_FROM": "future",
    "RETURN_AS_TIMEZONE_AWARE": False,
    "TIMEZONE": "UTC",
}


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
            return date_phrases.groups(self.part)["part"]
        return date_phrases.groups(self.day).get("tonight", "") if self.day else ""

    @property
    def matches(self) -> list[re.Match[str]]:
        found = (self.repeating, self.duration, self.day, self.point, self.part)
        return sorted((each for each in found if each), key=lambda each: each.start())


def find(sentence: str, now: datetime, zone: str) -> tuple[str, DueTime | None]:
    """The sentence without its words for time, and the due time or None. Raises UsageError for past or impossible
    ones, and for a sentence that no task can be."""
    found = locate(sentence)
    left, at = "", 0
    for each in found.matches:
        left, at = f"{left}{sentence[at : each.start()]} ", each.end()
    words = re.sub(r" ([,.;!?])", r"\1", " ".join((left + sentence[at:]).split())).strip(" ,;–-")
    if match := _REMIND_ME.match(words):
        words = words[match.end() :]
    return words, _due_time(found, now, zone) if found.matches else None


def parse(words: str, now: datetime, zone: str) -> DueTime | None:
    """The due time of words that name nothing else; None for "sometime" and the like. Raises UsageError."""
    words = " ".join(words.split())
    if len(words) > _MAX_LENGTH:
        raise UsageError(f"that is too long for a time: use at most {_MAX_LENGTH} characters")
    if _NO_TIME.fullmatch(words):
        return None
    for phrase in (words, f"in {words}", f"on {words}", f"at {words}"):
        found = locate(phrase)
        rest = "".join(" " if any(m.start() <= n < m.end() for m in found.matches) else c for n, c in enumerate(phrase))
        if found.matches and _FILLER.fullmatch(rest):
            due_time = _due_time(found, now, zone)
            return DueTime(due_time.due, words, zone, due_time.repeats, due_time.starts)
    tz = zones.get(zone, now)
    today = zones.to_wall(now, tz)
    if (wall := _dateparser(words, today)) is None:
        raise UsageError(
            f"{text.one_line(words, 60)!r} cannot be understood as a time: write it like “friday 3pm”, “in two hours”"
            ", “24.12. 18:00” or “every monday 9:00”"
        )
    wall = datetime.combine(wall, MORNING) if wall.time() == today.time() else wall
    return DueTime(_future(wall, tz, now), words, zone)


def parse_moment(words: str, now: datetime, zone: str) -> datetime:
    """A single future moment. Raises UsageError for past times, repetitions and words that are no time."""
    due_time = parse(words, now, zone)
    if due_time is None or due_time.repeats:
        raise UsageError("say until when, as in: 1 hour, tomorrow at 9, friday 3pm")
    return due_time.due


def _due_time(found: TimeWords, now: datetime, zone: str) -> DueTime:
    """Raises UsageError when it is past or there is no such day or time."""
    tz, words = zones.get(zone, now), " ".join(each[0].strip(" ,") for each in found.matches)
    now = now.astimezone(UTC)  # datetimes of one zone are compared by local time
    at = _time_of_day(found)
    wall = zones.to_wall(now, tz)
    if found.repeating:
        rule, part = recurrence.rule(found.repeating, wall)
        first = recurrence.first(rule, at or time(_PART_HOURS.get(part, MORNING.hour)), tz, now)
        return DueTime(first.moment.astimezone(tz), words, zone, rule, first.wall.isoformat())
    if found.duration:
        due = _after_duration(found.duration, at, wall, tz, now)
    elif found.day is None:
        due = zones.from_wall(datetime.combine(wall, at or MORNING), tz)
        if due <= now:
            due = zones.from_wall(datetime.combine(wall + timedelta(days=1), at or MORNING), tz)
    else:
        due = _on_day(found, at, wall, tz, now)
    return DueTime(due, words, zone)


def _time_of_day(found: TimeWords) -> time | None:
    """The time of day, or None. Raises UsageError when there is no such time."""
    part = found.day_part
    if found.point is None:
        return time(_PART_HOURS[part]) if part else None
    point = " ".join(next(iter(date_phrases.groups(found.point).values())).split())
    if point in _POINT_HOURS:
        return time(_POINT_HOURS[point])
    spoken = next((words for words in _SPOKEN if point.startswith(words)), None)
    point = _WORD_OF_NUMBER.sub(lambda word: str(date_phrases.number(word[0])), point)
    hour, minute, second = ([int(digits) for digits in re.findall(r"\d+", point)] + [0, 0])[:3]
    late = _PART_HOURS.get(part, 0) > _NOON or re.search(r"p\.?m", point)
    if spoken:
        earlier, minute = _SPOKEN[spoken]
        hour = (hour + earlier) % 12 or 12 if earlier else hour
    # A bare "at 3" means the afternoon; 3:00 and "3 Uhr" are taken literally.
    bare = point.isdigit() or spoken
    if re.search(r"[ap]\.?m", point) and not 1 <= hour <= 12:
        raise UsageError(f"{point} is not a time of day: write it like 3pm or 15:00")
    if hour < 12 and (late or (bare and not part and 1 <= hour <= 5)):
        hour += 12
    elif re.search(r"a\.?m", point) and hour == 12:
        hour = 0
    if hour == 24 and minute == 0:
        hour, minute, second = 23, 59, 0
    try:
        return time(hour, minute, second)
    except ValueError as error:
        raise UsageError(f"{point} is not a time of day: write it like 3pm or 15:00") from error


def _after_duration(match: re.Match[str], at: time | None, wall: datetime, tz: tzinfo, now: datetime) -> datetime:
    """Hours and minutes count elapsed time; days and longer move the date, at the time `at` or nine."""
    from dateutil.relativedelta import relativedelta

    parts = date_phrases.groups(match)
    unit = date_phrases.index(parts["unit"], date_phrases.TIME_UNITS)
    amounts = [(_amount(parts["amount"]), unit)]
    if "half" in parts:
        amounts.append((0.5, unit))
    if "further" in parts:
        amounts.append((_amount(parts["further"]), date_phrases.index(parts["smaller"], date_phrases.TIME_UNITS)))
    exact = unit < _EXACT_UNITS
    due = now.astimezone(UTC).replace(tzinfo=None) if exact else wall
    try:
        for amount, each in amounts:
            if each < len(_FIELDS):
                due += timedelta(**{_FIELDS[each]: amount})
            else:
                months = amount * (12 if each > len(_FIELDS) else 1)
                due += relativedelta(months=int(months), days=30 * (months % 1))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{match[0]!r} is too far away: name a nearer time") from error
    if exact:
        return due.replace(tzinfo=UTC).astimezone(tz)
    return _future(datetime.combine(due, at or MORNING), tz, now)


def _amount(words: str) -> float:
    """Of "two and a half" or "a couple of"."""
    half = next((name for name, pattern in _HALVES.items() if pattern.fullmatch(words)), "")
    if half in ("one and a half", "half", "couple"):
        return {"one and a half": 1.5, "half": 0.5, "couple": 2}[half]
    word = words.split()[0]
    return (float(word) if word[0].isdigit() else date_phrases.number(word)) + (0.5 if half else 0)


def _on_day(found: TimeWords, at: time | None, wall: datetime, tz: tzinfo, now: datetime) -> datetime:
    """A named day, at a time. Raises UsageError when it is past."""
    assert found.day
    today = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    day = _named_day(found.day, today)
    if found.day_part == "tonight" and found.point and at and at.hour < 5:
        day += timedelta(days=1)  # tonight at midnight
    due = zones.from_wall(datetime.combine(day, at or MORNING), tz)
    if due <= now and day == today:
        if not {"day", "weekend"}.isdisjoint(date_phrases.groups(found.day)):
            day += timedelta(days=7)
        elif found.point is None and (_PART_HOURS.get(found.day_part, _NOON) >= _NOON or wall.hour < _NOON):
            return _rest_of_today(today, tz, now)
    return _future(datetime.combine(day, at or MORNING), tz, now)


def _rest_of_today(today: datetime, tz: tzinfo, now: datetime) -> datetime:
    """The next customary hour of today, such as noon or 18:00."""
    for hour in (12, 15, 18, 20, 22, 23):
        if (due := zones.from_wall(today.replace(hour=hour), tz)) > now:
            return due
    raise UsageError("today is nearly over: name a time, as in “in ten minutes” or “tomorrow at 9”")


def _named_day(match: re.Match[str], today: datetime) -> datetime:
    groups = date_phrases.groups(match)
    if "past" in groups:
        raise UsageError(f"{match[0]} is past: name a time in the future")
    if "today" in groups:
        return today
    if "tomorrow" in groups or "after" in groups:
        return today + timedelta(days=1 if "tomorrow" in groups else 2)
    if "day" in groups and "week" in groups:
        return date_phrases.weekday(date_phrases.monday(today, 1), groups["day"], 0)
    if "day" in groups or "weekend" in groups:  # the coming one, today's included; "next" is the first after today
        before = today if "next" in groups else today - timedelta(days=1)
        return date_phrases.weekday(before, groups.get("day", "saturday"), 1)
    if "next_week" in groups:
        return date_phrases.monday(today, 1)
    if "next_month" in groups:
        return date_phrases.month(today, 1)
    if "next_year" in groups:
        return today.replace(year=today.year + 1, month=1, day=1)
    if "only" in groups:
        return _day_of_month(int(groups["only"]), today)
    try:
        return _date(groups, today)
    except ValueError as error:
        words = next(value for name, value in match.groupdict().items() if value and name.startswith("words"))
        raise UsageError(f"there is no {words}: name another day") from error


def _date(groups: dict[str, str], today: datetime) -> datetime:
    """The day of a date; of one without a year the coming one. Raises ValueError."""
    year: int | None
    if "iso" in groups:
        year, month, day = map(int, groups["iso"].split("-"))
    elif "numbers" in groups:
        first, second, *years = map(int, re.findall(r"\d+", groups["numbers"]))
        day, month = date_phrases.day_and_month(first, second, slashed="/" in groups["numbers"])
        year = years[0] if years else None
    else:
        day, month = int(groups["date"]), date_phrases.month_number(groups["month"])
        year = int(groups["year"]) if "year" in groups else None
    return today.replace(year, month, day) if year else date_phrases.in_year(year, month, day, today, ahead=True)[0]


def _day_of_month(day: int, today: datetime) -> datetime:
    """The coming day of a month with this number."""
    for months in range(4):
        with suppress(ValueError):
            if (found := date_phrases.month(today, months).replace(day=day)) >= today:
                return found
    raise UsageError(f"no month has a day {day}: name one from 1 to 31")


def _dateparser(words: str, base: datetime) -> datetime | None:
    """What dateparser understands, relative to `base`; a day of this year that is past is next year's."""
    import dateparser  # 200 ms

    settings = {**_DATEPARSER_SETTINGS, "RELATIVE_BASE": base}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about days without a year
        try:
            found = dateparser.parse(words, languages=["en", "de"], settings=settings)
        except (ValueError, OverflowError):
            return None
    return None if found is None else found.replace(tzinfo=None)


def _future(wall: datetime, rules: tzinfo, now: datetime) -> datetime:
    """The moment of a local time. Raises UsageError when it is past."""
    due = zones.from_wall(wall, rules)
    if due <= now.astimezone(UTC):
        raise UsageError(f"{format_moment(due, now)} is past: name a time in the future")
    return due


@cache
def _patterns() -> tuple[Pattern, ...]:
    """The patterns of duration, day, point and part; compiled when first needed."""
    hours, unit, day, short, month = (
        *(date_phrases.NUMBER_WORDS, date_phrases.UNIT, date_phrases.DAY),
        *(date_phrases.SHORT_DAY, rf"(?:{date_phrases.SHORT_MONTH})\.?"),
    )
    amount = (
        rf"(?:\d{{1,4}}|<INDEFINITE>|{hours}) <AND_A_HALF>|<ONE_AND_A_HALF>|<A_COUPLE_OF>"
        rf"|\d{{1,4}}(?:\.\d)?|<HALF>|<INDEFINITE>|{hours}"
    )
    clock = (
        rf"\d{{1,2}}:\d\d(?::\d\d)?(?:\s?(?:am|pm|<CLOCK>|h)\b)?|(?:{hours})\s<CLOCK>(?!\w)"
        r"|\d{1,2}(?:\.\d\d)?\s?(?:am|pm|a\.m\.|p\.m\.|<CLOCK>)(?!\w)"
    )
    points = rf"(?:{'|'.join(_SPOKEN)}) (?:\d{{1,2}}|{hours})\b|{clock}|{'|'.join(_POINT_HOURS)}"
    on, the = r"(?:<ON_DATE> )?(?:<ARTICLE_OF_DATE>)?", r"(?:<ARTICLE_OF_DATE>)?"
    date, year = r"(?P<date>\d{1,2})(?:<NTH_ENDING>)?", r"(?:,? (?P<year>\d{4}))?"
    days = (
        rf"{on}(?P<words>(?P<iso>\d{{4}}-\d\d?-\d\d?))(?:T(?=\d))?",
        rf"{on}(?P<words>(?P<numbers>\d{{1,2}}\.\s?\d{{1,2}}\.(?:\s?\d{{4}})?|\d{{1,2}}/\d{{1,2}}(?:/\d{{4}})?))",
        rf"{on}(?P<words>{date} (?:<OF_MONTH>)?(?P<month>{month}){year}|(?P<month>{month}) {date}{year})",
        rf"<DUE_ON> {the}(?P<only>\d{{1,2}})<NTH_ENDING>(?: <OF_THIS_MONTH>)?(?!\.?\d|\s*[a-zäöü]+\s+\d{{4}})",
        r"(?P<after><DAY_AFTER_TOMORROW>)|(?P<today><TODAY>)|(?P<tomorrow><TOMORROW>)|(?P<past><PAST_TIME>)",
        rf"{on}(?:<COMING> )?(?P<day>{day})(?: (?P<week><NEXT_WEEK>))?",
        rf"(?:<DUE_ON> (?:<COMING> )?|<COMING> )(?P<day>{short})\.?",
        rf"(?P<day>{short})\.?(?=,? (?:<AT_HOUR> )?(?:{points}))",
        r"<NEXT_PERIOD>|(?P<weekend><WEEKEND>)",
    )
    patterns = (
        rf"(?<![\w-])in (?:<ABOUT>)?(?P<amount>{amount})\s*(?P<unit>{unit})"
        rf"(?: <AND> (?:(?P<half>a half)|(?P<further>{amount})\s*(?P<smaller>{unit})))?(?![\w-])"
        rf"|(?<![\w-])(?P<amount>{amount})\s*(?P<unit>{unit}) <FROM_NOW>\b",
        rf"(?<![\w-])(?=\w)(?:{'|'.join(days)})(?:(?<=\dT)|(?!['’]|[\w-]))",
        rf"(?<![\w:./-])(?:(?:<AT_TIME>|@)\s*)?(?P<point>{points})(?![\w:/-])"
        rf"|(?<![\w-])(?:<AT_HOUR>|@)\s*(?P<bare>\d{{1,2}}(?:\.\d\d)?|{hours})(?![\w:/-]|\.\d)"
        r"|(?<![^\s,\x00])(?P<alone>\d|[01]\d|2[0-3])(?=[\s.;!?)]*$)",
        rf"(?<![\w-])(?:<IN_PART> )?(?P<part>{'|'.join(_PART_HOURS)})s?(?![\w'’-])",
    )
    return tuple(
        Pattern(languages.spaced(date_phrases.any_of([languages.expand(each)])), re.IGNORECASE) for each in patterns
    )


def locate(sentence: str) -> TimeWords:
    """The last match of each kind; none overlapping. Raises UsageError for two times joined by "and", and for a
    sentence that no task can be."""
    if len(sentence) > _MAX_SENTENCE:
        raise UsageError(f"that is too long for a task: use at most {_MAX_SENTENCE} characters, or keep it as a note")
    left = sentence = _correct_day_names(sentence)
    taken: list[re.Match[str]] = []
    duration, day, point, part = _patterns()
    found: dict[str, re.Match[str] | None] = {}
    for kind, pattern in (("repeating", recurrence.PATTERN), ("duration", duration), ("day", day)):
        fits = [each for each in pattern.finditer(left) if _is_date_words(kind, each, sentence)] if not taken else []
        fits.sort(
            key=lambda each: kind != "day" or "past" not in date_phrases.groups(each)
        )  # a day to come, where one is named too
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
    groups = date_phrases.groups(match)
    if kind == "day" and "past" in groups:
        at_end = re.fullmatch(rf"(?:{'|'.join(_PART_HOURS)})?[\s.!]*", after, re.IGNORECASE)
        if at_end and not _TOPIC.search(before):
            return True
        return bool(_TIME_BEHIND.match(after) or _TIME_BEFORE.search(before))
    if kind != "repeating" or "adverb" not in groups:
        return True
    return not after or not after[0].isalpha() or bool(_BEHIND_ADVERB.match(after)) or not match.start()


def _is_time_of_day(kind: str, match: re.Match[str], sentence: str, taken: list[re.Match[str]]) -> bool:
    """Whether a match is a time in its context: "at 9" not before a noun, "evening" not as a noun."""
    before, after = sentence[: match.start()].rstrip(" ,"), sentence[match.end() :].lstrip(" ,")
    beside = len(before) in {each.end() for each in taken} or len(sentence) - len(after) in {e.start() for e in taken}
    if kind == "part":
        return beside or " " in match[0].strip() or match[0].casefold() == "tonight"
    groups = date_phrases.groups(match)
    if "alone" in groups:  # "tomorrow 9": right after a day
        return any(len(before) == each.end() for each in taken if "amount" not in date_phrases.groups(each))
    return "point" in groups or beside or not after or after[0] in ".;!?)"


def _refuse_two_times(fits: list[re.Match[str]], sentence: str) -> None:
    for one, other in pairwise(fits):
        if _JOINED.fullmatch(sentence[one.end() : other.start()]):
            raise UsageError(f"“{sentence[one.start() : other.end()].strip()}” are two times: write one task for each")


def _correct_day_names(sentence: str) -> str:
    """Corrects weekdays with transposed letters; the length stays the same. Raises UsageError for other mistakes."""
    names = date_phrases.DAY.split("|")
    days = {(name[0], *sorted(name)): name for name in names}

    def right(match: re.Match[str]) -> str:
        word = match[0].lower()
        day = days.get((word[0], *sorted(word)), word)
        if day == word and word.endswith(_DAY_ENDINGS) and (meant := _mistyped(word, names)):
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
