"""Parses due times in words: "Friday 3pm", "in two hours", "übermorgen um 9", "every Monday 9:00".

The words for time are first located in the sentence (time_words.py), because dateparser takes "may" and "sun" in a
plain sentence for dates; "call the dentist tomorrow at 9" leaves "call the dentist". All times are local times of the
zone and in the future: a weekday is the coming one, "3pm" is today's or else tomorrow's, and a past date is refused. A
day without a time means nine o'clock. Commands always show the parsed time in full, so that nobody need know these
rules.
"""

import re
import warnings
from datetime import UTC, datetime, time, timedelta, tzinfo

from agent_cli import text
from agent_cli.errors import UsageError
from agent_cli.memory.dates import absolute_dates, recurrence, zones
from agent_cli.memory.dates.moments import DueTime, format_moment
from agent_cli.memory.dates.time_words import HOURS, PARTS, POINTS, TimeWords, locate

_MAX_LENGTH = 200  # characters: dateparser takes minutes over longer ones
_MAX_SENTENCE = 2000  # characters of a task with its words for time
MORNING = time(9)  # for a day without a time
_NOON = 12
_NO_TIME = text.Pattern(
    r"(?:some\s?(?:time|day)|one day|any\s?time|whenever|later|soon|eventually|never|no (?:certain )?time|none"
    r"|irgendwann|später|bald|demnächst|nie)?[.!]?",
    re.IGNORECASE,
)
_FILLER = text.Pattern(r"(?:\b(?:at|on|by|the|of|um|am|im|der|den|bis|o'clock|uhr|and|und)\b|[\s,.;@])*", re.IGNORECASE)
_REMIND_ME = text.Pattern(
    r"(?:please\s+|bitte\s+)?(?:remind\s+me|erinnere?\s+mich)\b\s*(?:(?:to|that|about|an|daran,?\s+dass)(?:\s+|$))?"
    r"|(?:me\s+)?to(?:\s+|$)",
    re.IGNORECASE,
)
_DATEPARSER_SETTINGS = {  # UTC, because it is given local times without a zone
    "DATE_ORDER": "DMY",
    "PREFER_DATES_FROM": "future",
    "RETURN_AS_TIMEZONE_AWARE": False,
    "TIMEZONE": "UTC",
}


def find(sentence: str, now: datetime, zone: str) -> tuple[str, DueTime | None]:
    """The sentence without its words for time, and the due time or None. Raises UsageError for past or impossible
    ones, and for a sentence that no task can be."""
    if len(sentence) > _MAX_SENTENCE:
        raise UsageError(f"that is too long for a task: use at most {_MAX_SENTENCE} characters, or keep it as a note")
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
        first = recurrence.first(rule, at or time(PARTS.get(part, MORNING.hour)), tz, now)
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
        return time(PARTS[part]) if part else None
    point = (found.point["point"] or found.point["bare"] or found.point["alone"]).casefold()
    if point in POINTS:
        return time(POINTS[point])
    point = _with_digits(point)
    hour, minute, second = ([int(digits) for digits in re.findall(r"\d+", point)] + [0, 0])[:3]
    late = PARTS.get(part, 0) > _NOON or re.search(r"p\.?m", point)
    if point.startswith(("half past", "quarter past", "viertel nach")):
        minute = 30 if point.startswith("half") else 15
    elif point.startswith(("halb", "quarter to", "viertel vor")):
        hour, minute = (hour - 1) % 12 or 12, 30 if point.startswith("halb") else 45
    # A bare "at 3" means the afternoon; 3:00 and "3 Uhr" are taken literally.
    bare = point.isdigit() or point[0].isalpha()
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


def _with_digits(words: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(HOURS)})\b", lambda match: str(HOURS[match[0]]), words)


def _and_a_half(match: re.Match[str]) -> str:
    return f"{1 if match[1].startswith('a') else match[1]}.5 {match[2]}"


def _after_duration(match: re.Match[str], at: time | None, wall: datetime, tz: tzinfo, now: datetime) -> datetime:
    """Hours and minutes count elapsed time; days and longer move the date, at the time `at` or nine.

    Fractions are rewritten into a form that dateparser knows."""
    words = re.sub(r"half\s+an?\s+hour|einer\s+halben\s+stunde", "30 minutes", match[0].casefold())
    words = re.sub(r"half\s+a\s+day", "12 hours", re.sub(r"(?:a\s+)?couple\s+of", "2", words))
    words = _with_digits(re.sub(r"anderthalb|eineinhalb|\b(?:an?|one)\s+and\s+a\s+half", "1.5", words))
    words = re.sub(r"\b(\d+)\s+and\s+a\s+half", r"\1.5", words)
    words = re.sub(r"\b(an?|\d+)\s+([a-z]+)\s+and\s+a\s+half", _and_a_half, words)
    words = re.sub(r"(?<!\s)\s++from\s+now$", "", re.sub(r"\b(?:about|etwa|ca\.?)\s+", "", words))
    words = words if words.startswith("in ") else f"in {words}"
    exact = re.match(r"s|mi|h", (match["unit"] or match["unit3"]).casefold()) or "minutes" in words
    base = now.astimezone(UTC).replace(tzinfo=None) if exact else wall
    found = _dateparser(words, base)
    if found is None:
        raise UsageError(f"{match[0]!r} is too far away: name a nearer time")
    if exact:
        return found.replace(tzinfo=UTC).astimezone(tz)
    return _future(datetime.combine(found, at or MORNING), tz, now)


def _on_day(found: TimeWords, at: time | None, wall: datetime, tz: tzinfo, now: datetime) -> datetime:
    """A named day, at a time. Raises UsageError when it is past."""
    assert found.day
    today = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    day = _named_day(found.day, today)
    if found.day_part == "tonight" and found.point and at and at.hour < 5:
        day += timedelta(days=1)  # tonight at midnight
    due = zones.from_wall(datetime.combine(day, at or MORNING), tz)
    if due <= now and day == today:
        if any(found.day[name] for name in ("day", "short", "abbreviated", "weekend")):
            day += timedelta(days=7)
        elif found.point is None and (PARTS.get(found.day_part, _NOON) >= _NOON or wall.hour < _NOON):
            return _rest_of_today(today, tz, now)
    return _future(datetime.combine(day, at or MORNING), tz, now)


def _rest_of_today(today: datetime, tz: tzinfo, now: datetime) -> datetime:
    """The next customary hour of today, such as noon or 18:00."""
    for hour in (12, 15, 18, 20, 22, 23):
        if (due := zones.from_wall(today.replace(hour=hour), tz)) > now:
            return due
    raise UsageError("today is nearly over: name a time, as in “in ten minutes” or “tomorrow at 9”")


def _named_day(match: re.Match[str], today: datetime) -> datetime:
    groups = {name: value.casefold() for name, value in match.groupdict().items() if value}
    if "past" in groups:
        raise UsageError(f"{match[0]} is past: name a time in the future")
    if "today" in groups or "this" in groups:
        return today
    if "tomorrow" in groups or "after" in groups:
        return today + timedelta(days=1 if "tomorrow" in groups else 2)
    if weekday := groups.get("day") or groups.get("short") or groups.get("abbreviated"):
        next_ = re.search(r"\b(?:next|näch)", match[0].casefold())
        return _weekday(weekday, today, next_=bool(next_), week="week" in groups)
    if "weekend" in groups:
        return _weekday("saturday", today, next_=False, week=False)
    if period := groups.get("period"):
        return _next_period(period, today)
    if "only" in groups:
        return _day_of_month(int(groups["only"]), today)
    if "numbers" in groups:
        return _numeric_date(groups["numbers"], today)
    found = _dateparser(
        groups.get("iso") or re.sub(r"(\d)\.(?=\s|$)|,|\bof\b", r"\1 ", groups["date"]), today - timedelta(seconds=1)
    )
    if found is None:
        raise UsageError(f"there is no {match['iso'] or match['date']}: name another day")
    return found


def _weekday(name: str, today: datetime, *, next_: bool, week: bool) -> datetime:
    """The coming day of this name, today's included; "next" is the first after today."""
    number = ("MO", "TU", "WE", "TH", "FR", "SA", "SU").index(recurrence.day_code(name))
    if week:
        return today + timedelta(days=7 - today.weekday() + number)
    ahead = (number - today.weekday()) % 7
    return today + timedelta(days=7 if next_ and not ahead else ahead)


def _next_period(words: str, today: datetime) -> datetime:
    """The first working day of the next week, or the first of the next month or year."""
    if words.endswith(("week", "woche")):
        return today + timedelta(days=7 - today.weekday())
    if words.endswith(("month", "monat")):
        return (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return today.replace(year=today.year + 1, month=1, day=1)


def _day_of_month(day: int, today: datetime) -> datetime:
    """The coming day of a month with this number."""
    month = today.replace(day=1)
    for _ in range(4):
        try:
            if (found := month.replace(day=day)) >= today:
                return found
        except ValueError:
            pass
        month = (month + timedelta(days=32)).replace(day=1)
    raise UsageError(f"no month has a day {day}: name one from 1 to 31")


def _numeric_date(numbers: str, today: datetime) -> datetime:
    first, second, *year = (int(number) for number in re.findall(r"\d+", numbers))
    day, month = absolute_dates.day_and_month(first, second, slashed="/" in numbers)
    try:
        found = today.replace(year=year[0] if year else today.year, month=month, day=day)
        return found if year or found >= today else found.replace(year=today.year + 1)
    except ValueError as error:
        raise UsageError(f"there is no {numbers}: name another day") from error


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
