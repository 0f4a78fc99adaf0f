"""When something is due: "Friday 3pm", "in two hours", "übermorgen um 9", "every Monday 9:00", in a zone of the world.

Patterns locate the words for time: "call the dentist tomorrow at 9" leaves "call the dentist". An ambiguous word counts
only where its context makes it a time: "the weekly report" does not repeat, and "Friday's party" is no date. All times
are local and in the future: a weekday is the coming one, "3pm" today's or else tomorrow's, a day without a time means
nine o'clock, and a past date is refused. Commands show the parsed time in full, so nobody need know these rules.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import pairwise

from agent_cli import text
from agent_cli.errors import UsageError
from agent_cli.memory.dates import moments
from agent_cli.memory.language import languages, spans
from agent_cli.values import frozen

_MAX_LENGTH = 200  # characters
_MAX_SENTENCE = 2000  # characters of a task with its words for time
MORNING = time(9)  # for a day without a time
_NOON, _NIGHT = 12, 20
_PART_HOURS, _POINT_HOURS, _SPOKEN = (languages.table(name) for name in ("PART_HOURS", "POINT_HOURS", "SPOKEN_TIMES"))
_PARTS = "|".join(_PART_HOURS)
_LIKENESS = 0.86  # "wensday" has 0.88 to Wednesday, and "Feiertag" 0.8 to "Freitag"
_FIELDS = ("seconds", "minutes", "hours", "days", "weeks")  # of timedelta; behind them are months and years
_EXACT_UNITS = 3  # seconds, minutes and hours count elapsed time
_FIXED_RULES = {"work": "WEEKLY;BYDAY=MO,TU,WE,TH,FR", "weekend": "WEEKLY;BYDAY=SA,SU"}
_FIXED_RULES |= {"each_day": "DAILY", "begin": "MONTHLY;BYMONTHDAY=1"}
_MIN_MINUTES = 10  # between two occurrences
_FREQUENCIES = ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_UNITS, _ADVERBS = spans.TIME_UNITS[1:], languages.ordered("HOW_OFTEN")
_NTH = languages.ordered("NTH")  # the first to the fourth, and the last
_OTHER = languages.pattern("<OTHER>")
_NEXT_DAY = languages.pattern(rf"\b(<TO_DAY>\b|[–-])?\s*\b((?:{spans.DAY})s?|{spans.SHORT_DAY})")
_TOPIC = languages.pattern("<TIME_AS_TOPIC>")
_NO_TIME = languages.pattern(r"<NO_TIME>?[.!]?")
_UNIVERSAL = text.Pattern(r"(.*\d(?: ?[ap]m)?) ?(?:UTC|GMT|Z)", re.IGNORECASE)
_ARTICLE = languages.pattern("<ARTICLE_OF_DATE>")
_FILLER = languages.pattern(r"(?:\b<AROUND_TIME>\b|[\s,.;@])*")
_REMIND_ME = languages.pattern(languages.spaced(languages.alternatives("REMIND_ME")))
_REMIND, _REMIND_TO = languages.pattern(r"<REMIND>\b"), languages.pattern(r"\b<REMIND_TO>\b")
_REMIND_END = languages.pattern(r" <REMIND_END>(?=\W*+$)")
_WITH_ZU = languages.pattern(r"<WITH_ZU>")
_JOINED = languages.pattern(r"\s*(?:<AND>|&|,)\s*")
_BEHIND_ADVERB = languages.pattern(r"(?:<AT_HOUR>|<ON_REPEATED>|<UNTIL>)\b")
_MORE_TIMES = languages.pattern(  # behind a time: ", 13 and 20"
    r"(?:\s*(?:<AND>|&|,)\s*\d{1,2}(?:[:.]\d\d)?(?:\s?(?:[ap]m|<CLOCK>))?)+(?=\s*(?:[.;!?)]|<REMIND_TO>\b|$))"
)
_WORD_OF_NUMBER = text.Pattern(rf"\b(?:{spans.NUMBER_WORDS})\b")


@frozen
class _Found:
    """The words for time in a sentence, in order; what their groups matched, and for each kind of words all of them."""

    matches: list[re.Match[str]]
    groups: dict[str, str]
    end: dict[str, str]  # the groups of the day until which it repeats

    def cut_from(self, sentence: str) -> str:
        for each in reversed(self.matches):
            sentence = f"{sentence[: each.start()]} {sentence[each.end() :]}"
        return sentence


def find(sentence: str, now: datetime, zone: str) -> tuple[str, moments.DueTime | None]:
    """The sentence without its words for time, and the due time. Raises UsageError for past and impossible ones."""
    found = _locate(sentence)
    words = re.sub(r" ([,.;!?])", r"\1", " ".join(found.cut_from(sentence).split())).strip(" ,;–-")
    if match := _REMIND_ME.match(words):
        words = words[match.end() :].lstrip(" ,;:–-")
        ending, left = (_WITH_ZU, r"\g<prefix>") if _REMIND_TO.search(match[0]) else (_REMIND_END, "")
        words = ending.sub(left, words, count=1)
    if found.matches and {"repetition", "unit"}.isdisjoint(found.groups) and (lead := _LEADING.match(words)):
        words = words[lead.end() :]  # "two days before the party on Friday"
        found.groups.update(spans.groups(lead))
    return words, _due_time(found, now, zone) if found.matches else None


def names_time(sentence: str, *, alone: bool = False) -> bool:
    """Whether it has words for a time, perhaps a past or misspelled one; `alone`: and for nothing else."""
    try:
        found = _locate(sentence)
    except UsageError:
        return not alone
    return bool(found.matches and (not alone or _FILLER.fullmatch(found.cut_from(sentence))))


def parse(words: str, now: datetime, zone: str) -> moments.DueTime | None:
    """The due time of words that name nothing else; None for "sometime" and the like. Raises UsageError."""
    words = " ".join(words.split())
    if len(words) > _MAX_LENGTH:
        raise UsageError(f"that is too long for a time: use at most {_MAX_LENGTH} characters")
    if _NO_TIME.fullmatch(words):
        return None
    for phrase in (words, f"in {words}", f"on {words}", f"at {words}"):
        found = _locate(phrase)
        if found.matches and _FILLER.fullmatch(found.cut_from(phrase)):
            return replace(_due_time(found, now, zone), words=words)
    tz = moments.get_zone(zone, now)
    if universal := _UNIVERSAL.fullmatch(words):
        return moments.DueTime(parse_moment(universal[1], now, "UTC").astimezone(tz), words, zone)
    try:  # as programs write it, with an offset
        moment = datetime.fromisoformat(words.upper())
        return moments.DueTime(_future(moments.to_wall(moment, tz) if moment.tzinfo else moment, tz, now), words, zone)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text.one_line(words, 60)!r} cannot be understood as a time: write it like “friday 3pm”, “in two hours”"
            ", “24.12. 18:00” or “every monday 9:00”"
        ) from error


def parse_moment(words: str, now: datetime, zone: str) -> datetime:
    """A single future moment. Raises UsageError for past times, repetitions and words that are no time."""
    due_time = parse(words, now, zone)
    if due_time is None or due_time.repeats:
        raise UsageError("say until when, as in: 1 hour, tomorrow at 9, friday 3pm")
    return due_time.due


def _due_time(found: _Found, now: datetime, zone: str) -> moments.DueTime:
    tz, words = moments.get_zone(zone, now), " ".join(each[0].strip(" ,") for each in found.matches)
    now, groups = now.astimezone(UTC), found.groups  # datetimes of one zone are compared by local time
    at, wall = _time_of_day(groups), moments.to_wall(now, tz)
    if "repetition" in groups:
        if at and "lead" in groups:
            at = _moved(datetime.combine(wall, at), groups).time()
        rule = _repetition(groups, wall)
        elapsed = rule.startswith(moments.ELAPSED)
        if found.end or (elapsed and "ends" in groups):
            last = at or (time(23, 59) if elapsed else MORNING)
            end = _on_day(found.end or {"today": "", "clock": ""}, last, wall, tz, now)
            rule += f";UNTIL={moments.to_wall(end, UTC if elapsed else tz):%Y%m%dT%H%M%S}"
        first = moments.first(rule, at or MORNING, tz, now)
        return moments.DueTime(first.moment.astimezone(tz), words, zone, rule, first.wall.isoformat())
    if "duration" in groups:
        if spans.index(groups["unit"], spans.TIME_UNITS) < _EXACT_UNITS:
            due = _moved(now.replace(tzinfo=None), groups).replace(tzinfo=UTC).astimezone(tz)
        else:  # days and longer move the date
            due = _future(datetime.combine(_moved(wall, groups), at or MORNING), tz, now)
    elif "named_day" in groups:
        due = _on_day(groups, at, wall, tz, now)
    else:
        days = (datetime.combine(wall + timedelta(days=n), at or MORNING) for n in (0, 1))
        due = next(each for day in days if (each := moments.from_wall(day, tz)) > now)
    if "lead" in groups:
        due = _future(_moved(moments.to_wall(due, tz), groups), tz, now)
    return moments.DueTime(due, words, zone)


def _time_of_day(groups: Mapping[str, str]) -> time | None:
    """The time of day, or None. Raises UsageError when there is no such time."""
    part = groups.get("part", "")
    if "clock" not in groups:
        return time(_PART_HOURS[part]) if part else None
    point = " ".join(next(groups[name] for name in ("point", "bare", "alone") if name in groups).split())
    if point in _POINT_HOURS:
        return time(_POINT_HOURS[point])
    spoken = next((words for words in _SPOKEN if point.startswith(words)), None)
    point = _WORD_OF_NUMBER.sub(lambda word: str(spans.number(word[0])), point)
    hour, minute, second = ([int(digits) for digits in re.findall(r"\d+", point)] + [0, 0])[:3]
    is_night = hour < 5 and _PART_HOURS.get(part, 0) >= _NIGHT
    late = (_PART_HOURS.get(part, 0) > _NOON and not is_night) or re.search(r"p\.?m", point)
    if spoken:
        earlier, minute = _SPOKEN[spoken]
        hour = (hour + earlier) % 12 or 12 if earlier else hour
    # A bare "at 3" means the afternoon; 3:00 and "3 Uhr" are taken literally.
    bare = point.isdigit() or spoken
    if re.search(r"[ap]\.?m", point) and not 1 <= hour <= 12:
        hour = -1  # there is no such time
    elif hour < 12 and (late or (bare and not part and 1 <= hour <= 5)):
        hour += 12
    elif re.search(r"a\.?m", point) and hour == 12:
        hour = 0
    if hour == 24 and minute == 0:
        hour, minute, second = 23, 59, 0
    try:
        return time(hour, minute, second)
    except ValueError as error:
        raise UsageError(f"{point} is not a time of day: write it like 3pm or 15:00") from error


def _moved(due: datetime, groups: Mapping[str, str]) -> datetime:
    """Later by the amounts that the words name, or earlier when they say before what."""
    from dateutil.relativedelta import relativedelta

    sign, unit = -1 if "earlier" in groups else 1, groups.get("unit", "m")  # "ten to eight"
    amounts = [(groups["amount"], unit), (groups.get("further", ""), groups.get("smaller", unit))]
    try:
        for words, name in amounts[: 1 + ("further" in groups)]:
            amount, each = _amount(words), spans.index(name, spans.TIME_UNITS)
            if each < len(_FIELDS):
                due += sign * timedelta(**{_FIELDS[each]: amount})
            else:
                months = amount * (12 if each > len(_FIELDS) else 1)
                due += sign * relativedelta(months=int(months), days=30 * (months % 1))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"“{groups['amount']} {groups['unit']}” is too far away: name a nearer time") from error
    return due


def _amount(words: str) -> float:
    """Of "two and a half" or "a couple of"."""
    word, *half = words.replace(",", ".").split()
    of_unit = (amount for each, amount in _FRACTIONS.items() if re.fullmatch(each, " ".join((word, *half))))
    return next(of_unit, 0) or (float(word) if word[0].isdigit() else spans.number(word)) + 0.5 * bool(half)


def _on_day(groups: Mapping[str, str], at: time | None, wall: datetime, tz: tzinfo, now: datetime) -> datetime:
    """A named day, at a time. Raises UsageError when it is past."""
    today = wall.replace(hour=0, minute=0, second=0, microsecond=0)
    part, day = groups.get("part"), _named_day(groups, today)
    is_tonight = "named_day" not in groups or "today" in groups
    if is_tonight and _PART_HOURS.get(part or "", 0) >= _NIGHT and "clock" in groups and at and at.hour < 5:
        day += timedelta(days=1)  # tonight at midnight
    due = moments.from_wall(datetime.combine(day, at or MORNING), tz)
    if due <= now and day == today:
        if not {"weekday", "weekend"}.isdisjoint(groups):
            day += timedelta(days=7)
        elif "clock" not in groups and (_PART_HOURS.get(part or "", _NOON) >= _NOON or wall.hour < _NOON):
            customary = (moments.from_wall(today.replace(hour=hour), tz) for hour in (12, 15, 18, 20, 22, 23))
            if (later := next((each for each in customary if each > now), None)) is None:
                raise UsageError("today is nearly over: name a time, as in “in ten minutes” or “tomorrow at 9”")
            return later
    return _future(datetime.combine(day, at or MORNING), tz, now)


def _named_day(groups: Mapping[str, str], today: datetime) -> datetime:
    if "past" in groups:
        raise UsageError(f"{groups['named_day']} is past: name a time in the future")
    if "only" in groups or "words" in groups:
        coming = (today + timedelta(days=n) for n in range(62))
        days = [_date(groups, today)] if "words" in groups else [e for e in coming if e.day == int(groups["only"])]
        for day in days:
            if "of_week" not in groups or day.weekday() == spans.day_number(groups["of_week"]):
                return day
        if not days:
            raise UsageError(f"no month has a day {groups['only']}: name one from 1 to 31")
        raise UsageError(f"{days[0].day} {days[0]:%B %Y} is a {days[0]:%A}: name another day")
    if "weekend" in groups or ("weekday" in groups and "week" not in groups):
        # The coming one, today's included; "next" is the first after today, "after next" a week later.
        after = 7 if "second" in groups else 0 if "next" in groups else -1
        return spans.weekday(today + timedelta(days=after), groups.get("weekday", "saturday"), 1)
    return spans.relative_days(groups, today)[1]


def _date(groups: Mapping[str, str], today: datetime) -> datetime:
    """A day with its month. Raises UsageError when there is none."""
    year = int(groups["year"]) if "year" in groups else None
    try:
        if "iso" in groups:
            year, month, day = map(int, groups["iso"].split("-"))
        elif "numbers" in groups:
            first, second, *years = map(int, re.findall(r"\d+", groups["numbers"]))
            year = years[0] if years else None
            day, month = spans.day_and_month(first, second, slashed="/" in groups["numbers"])
        else:
            day, month = int(groups["date"]), spans.month_number(groups["month"])
        if year is not None:
            return today.replace(year, month, day)
        return spans.in_year(None, month, day, today, ahead=True)[0]
    except ValueError as error:
        typed = re.search(re.escape(groups["words"]), groups["named_day"], re.IGNORECASE)
        raise UsageError(f"there is no {typed and typed[0]}: name another day") from error


def _future(wall: datetime, rules: tzinfo, now: datetime) -> datetime:
    """The moment of a local time. Raises UsageError when it is past."""
    due = moments.from_wall(wall, rules)
    if due <= now.astimezone(UTC):
        raise UsageError(f"{moments.format_moment(due, now)} is past: name a time in the future")
    return due


_FRACTIONS = languages.table("FRACTIONS")
_FRACTION, _NUMBER = "|".join(_FRACTIONS), rf"\d{{1,4}}(?:[.,]\d)?|<INDEFINITE>|{spans.NUMBER_WORDS}"
_AMOUNT = rf"(?:{_NUMBER}) <AND_A_HALF>|{_FRACTION}|{_NUMBER}"
_SPAN = (
    rf"(?P<amount>{_AMOUNT})\s*+(?P<unit>{spans.UNIT})"
    rf"(?:(?: <AND> |\s*+)(?P<further>{_AMOUNT})\s*+(?P<smaller>{spans.UNIT})| <AND> (?P<further>{_FRACTION}))?"
)
_LEAD = rf"(?P<lead>{_SPAN} (?:(?P<earlier><BEFORE_TIME>)|<AFTER_TIME>) (?:<ARTICLE_OF_DATE>)?)"  # "10 minutes before"
_DATE, _OF_MONTH = r"(?P<date>\d{1,2})(?:<NTH_ENDING>)?", "(?:<OF_MONTH>)?"


def _pattern(expression: str, words: tuple[str, ...] = ()) -> text.Pattern:
    return text.Pattern(languages.spaced(spans.any_of([languages.expand(expression)])), re.IGNORECASE, words)


_LEADING = _pattern(_LEAD, languages.phrases("BEFORE_TIME") + languages.phrases("AFTER_TIME"))


@cache
def _patterns() -> dict[str, text.Pattern]:
    """By the kind of words that they find; compiled when first needed."""
    hours, day, short = spans.NUMBER_WORDS, spans.DAY, spans.SHORT_DAY
    month = rf"(?:{spans.SHORT_MONTH})\.?"
    half = r"(?:[ap]\.m\.|(?:[ap]m|<CLOCK>)\b)"
    clock = (
        rf"\d{{1,2}}:\d\d(?::\d\d)?(?:\s?(?:{half}|h\b))?"
        rf"|(?:\d{{1,2}}(?:\.\d\d)?\s?|(?!\w+ am\b)(?:{hours})\s){half}"  # "um neun am Montag"
    )
    points = rf"(?:{'|'.join(_SPOKEN)}) (?:\d{{1,2}}|{hours})\b|{clock}|{'|'.join(_POINT_HOURS)}"
    minutes = rf"(?:<AT_HOUR>|@)\s*(?P<lead>(?P<amount>\d{{1,2}}|{hours}) (?:(?P<earlier><TO_HOUR>)|<AFTER_TIME>) )"
    the, year = r"(?:<ARTICLE_OF_DATE>)?", r"(?:,? (?P<year>\d{4}))?"
    of_week = rf"(?:<COMING> )?(?P<of_week>{day}|{short})\.?,? "
    only = r"(?P<only>\d{1,2})<NTH_ENDING>(?: <OF_THIS_MONTH>)?(?!\.?\d|\s*[a-zäöü]+\s+\d{4})"
    due = rf"{the}{only}|(?:<COMING> )?(?P<weekday>{short})\.?"  # only behind a preposition
    days = (
        rf"{the}(?:{of_week}{the})?(?P<words>(?P<iso>\d{{4}}-\d\d?-\d\d?)"
        r"|(?P<numbers>\d{1,2}\.\s?\d{1,2}\.(?:\s?\d{4})?|\d{1,2}/\d{1,2}(?:/\d{4})?)"
        rf"|{_DATE} {_OF_MONTH}(?P<month>{month}){year}|(?P<month>{month}) {_DATE}{year})(?:T(?=\d))?",
        rf"{the}{of_week}(?:<ARTICLE_OF_DATE>|(?=\d+[a-z])){only}",
        r"(?P<after_tomorrow><DAY_AFTER_TOMORROW>)|(?P<today><TODAY>)|(?P<tomorrow><TOMORROW>)|(?P<past><PAST_TIME>)",
        rf"{the}(?:<COMING> )?(?P<weekday>{day})(?:(?P<part>{_PARTS})| <NEXT_WEEK>)?",
        rf"<COMING> (?P<weekday>{short})\.?",
        rf"(?P<weekday>{short})\.?(?=,? (?:<AT_HOUR> )?(?:{points}))",
        r"<NEXT_PERIOD>|(?P<weekend><WEEKEND>)",
    )
    patterns = {
        "repetition": _repeating(),
        "duration": rf"(?<![\w-])(?=\w)(?:in (?:<ABOUT>)?{_SPAN}(?:<OF_TIME>)?(?![\w-])"
        rf"|(?P<amount>{_AMOUNT})\s*+(?P<unit>{spans.UNIT}) <FROM_NOW>\b)",
        "named_day": rf"(?<![\w-])(?=\w)(?:(?:{_LEAD}|<ON_DATE> )?+(?:{'|'.join(days)})|<DUE_ON> (?:{due}))"
        r"(?:(?<=\dT)|(?!['’]|[\w-]))",
        "part": rf"(?<![\w-])(?:<IN_PART> )?(?P<part>{_PARTS})s?(?![\w'’-])",
        "clock": rf"(?=[\w@])(?:(?<![\w:./-])(?:(?:<AT_TIME>|@)\s*)?(?P<point>{points})(?![\w/-]|:\S)"
        rf"|(?<![\w-])(?:{_LEAD}|{minutes})(?:(?P<point>{points})|(?P<bare>\d{{1,2}}|{hours}))(?![\w/-]|[.:]\d)"
        rf"|(?<![\w-])(?:<AT_HOUR>|@)\s*(?P<bare>\d{{1,2}}(?:\.\d\d|\s?h(?:\d\d)?)?|{hours})(?![\w/-]|[.]\d|:\S))"
        r"|(?<![^\s,\x00])(?P<alone>\d|[01]\d|2[0-3])(?=[\s.;!?)]*$)",
    }
    return {kind: _pattern(each) for kind, each in patterns.items()}


def _repeating() -> str:
    """Matches the words of a repetition, without the time of day."""
    month, day = spans.SHORT_MONTH, rf"(?:{spans.DAY}|{spans.SHORT_DAY})"
    dated = r"\w+,? (?:<ARTICLE_OF_DATE>|\d{1,2}(?:<NTH_ENDING>)? (?!<CLOCK>)[a-zäö]{3})"
    and_day = rf"(?:\s*,\s*| <BETWEEN_DAYS> | <TO_DAY> (?!{dated})|\s*[&–-]\s*)"
    days, day_names = rf"{day}(?:{and_day}{day})*", f"(?:{spans.DAY})"
    units, adverbs = (f"(?:{'|'.join(names)})" for names in (_UNITS, _ADVERBS))
    dates = (
        rf"(?:<ARTICLE_OF_DATE>)?{_DATE}(?: {_OF_MONTH}(?P<month>{month}))?(?!\w)"
        rf"|(?P<month>{month}) {_DATE}\b|(?P<end><LAST_DAY>)"
    )
    rules = (
        rf"(?:<ARTICLE_OF_DATE>)?(?:{_DATE} {_OF_MONTH}(?P<month>{month})|(?P<month>{month}) {_DATE})"
        rf" <EVERY> (?:{_UNITS[-1]})",
        rf"(?P<several>(?:<SEVERAL_TIMES>) (?:<PER> {units}|{adverbs}))\b",
        rf"(?:<ARTICLE_OF_DATE>)?(?:(?P<date>\d{{1,2}})(?:<NTH_ENDING>)|(?P<nth>{'|'.join(_NTH)}) (?P<nthday>{day})"
        r"|(?P<begin><FIRST_DAY>)|(?P<end><LAST_DAY>)) <OF_EVERY_MONTH>",
        rf"<EVERY> (?P<nth>{'|'.join((_NTH[0], *_NTH[2:]))}) (?P<nthday>{day})\b(?: <OF_EACH_MONTH>)?",
        rf"<EVERY> (?P<nth>{_NTH[1]}) (?P<nthday>{day}) <OF_EACH_MONTH>",  # else it is every other one
        r"(?P<work><WORKDAYS>)\b|(?P<weekend><WEEKENDS>)\b(?!['’])",
        rf"(?P<each_day><EVERY> (?P<part>{_PARTS}))\b",
        rf"<EVERY> (?:(?P<other><OTHER>) )?(?P<days>{days})(?P<part>{_PARTS})?\b",
        rf"<EVERY> (?:<ARTICLE_OF_DATE>)?(?P<date>\d{{1,2}})"
        rf"(?:(?:<NTH_ENDING>)? {_OF_MONTH}(?P<month>{month})\b|(?:<NTH_ENDING>)(?! {units})(?: <OF_EACH_MONTH>)?)",
        rf"(?:<EVERY> (?:(?P<other>{spans.NUMBER}|<OTHER>)(?:(?:<NTH_ENDING>)? |(?<=\d)))?(?P<per>{units})\b"
        rf"|(?P<adverb>{adverbs})\b)(?:,? <ON_REPEATED> (?:(?P<ondays>{days})s?\b|{dates}))?",
        rf"(?P<days>{day_names}s(?:{and_day}{day_names}s)*)\b(?!['’])",
    )
    return rf"(?<![\w-])(?=\w)(?:<ON_REPEATED> )?+(?:{'|'.join(rules)})(?![\w'’-])"


def _locate(sentence: str) -> _Found:
    """The likeliest match of each kind, none overlapping. Raises UsageError for several times: "at 8 and 20"."""
    if len(sentence) > _MAX_SENTENCE:
        raise UsageError(f"that is too long for a task: use at most {_MAX_SENTENCE} characters, or keep it as a note")
    left = sentence = _correct_day_names(sentence)
    found, patterns, passed_over = _Found([], {}, {}), _patterns(), list[re.Match[str]]()
    times = [each for kind in ("part", "clock") for each in patterns[kind].finditer(sentence)]
    for kind, pattern in patterns.items():
        if kind in ("part", "clock"):
            beside = found.matches
            fits = [each for each in pattern.finditer(left) if _is_time_of_day(kind, each, sentence, beside)]
            fits = [e for e in fits if _is_beside(e, beside, sentence) or not _is_beside(e, passed_over, sentence)]
        else:
            beside = times
            fits = [each for each in pattern.finditer(left) if _is_date_words(each, sentence, times)]
            if found.matches:  # of what repeats: its end, beside it or at the end of the sentence
                ends = [each for each in fits if "repetition" in found.groups and "ends" in spans.groups(each)]
                near = [*found.matches, *times]
                fits = [e for e in ends if _is_beside(e, near, sentence) or not sentence[e.end() :].strip(" .!")]
        for one, other in pairwise(fits):
            gap = sentence[one.end() : other.start()]
            if _JOINED.fullmatch(gap) and (kind in ("part", "clock") or gap.strip() != ","):  # "tomorrow, Monday"
                both = sentence[one.start() : other.end()].strip()
                raise UsageError(f"“{both}” are two times: write one task for each")
        if fits:
            match = max(reversed(fits), key=lambda each: _likelihood(each, beside, sentence))
            if kind == "clock" and (more := _MORE_TIMES.match(sentence[match.end() :])):
                raise UsageError(f"“{match[0]}{more[0]}” are several times: write one task for each")
            passed_over += [each for each in fits if each is not match]
            found.matches.append(match)
            groups = found.end if kind == "named_day" and "repetition" in found.groups else found.groups
            groups.update({kind: match[0]} | spans.groups(match))
            left = f"{left[: match.start()]}{chr(0) * len(match[0])}{left[match.end() :]}"
    found.matches.sort(key=lambda each: each.start())
    return found


def _likelihood(match: re.Match[str], beside: list[re.Match[str]], sentence: str) -> tuple[bool, ...]:
    """Greater for the time that is meant than for another in the sentence, as in "tomorrow at 9 prepare the 2pm
    presentation" and "remind me tomorrow to call Bob about the Friday meeting"."""
    before, after = sentence[: match.start()].strip(), sentence[match.end() :].strip()
    is_topic = _ARTICLE.match(match[0]) or _TOPIC.search(before)
    is_past, is_beside = "past" in spans.groups(match), _is_beside(match, beside, sentence)
    return (not is_past, _is_beside_remind(before, after), is_beside, not is_topic)


def _is_beside(match: re.Match[str], others: list[re.Match[str]], sentence: str) -> bool:
    pairs = (sorted((match, each), key=lambda each: each.start()) for each in others)
    return any(_FILLER.fullmatch(sentence[one.end() : other.start()]) for one, other in pairs)


def _is_date_words(match: re.Match[str], sentence: str, times: list[re.Match[str]]) -> bool:
    """An adverb such as "weekly" counts only at either end of the sentence or before a time. A past time counts beside
    a time of day and at the end, unless it says what the sentence is about; it is refused later."""
    before, after = sentence[: match.start()].strip(), sentence[match.end() :].strip()
    groups = spans.groups(match)
    if "past" in groups:
        at_end = re.fullmatch(rf"(?:{_PARTS})?[\s.!]*", after, re.IGNORECASE)
        clocks = [each for each in times if "part" not in spans.groups(each)]
        is_time = (at_end and not _TOPIC.search(before)) or _is_beside(match, clocks, sentence)
        return bool(is_time or _is_beside_remind(before, after))
    at_edge = not after or not after[0].isalpha() or not match.start()
    return "adverb" not in groups or at_edge or bool(_BEHIND_ADVERB.match(after)) or _is_beside_remind(before, after)


def _is_time_of_day(kind: str, match: re.Match[str], sentence: str, others: list[re.Match[str]]) -> bool:
    """Whether a match is a time in its context: "at 9" not before a noun, "evening" not as a noun."""
    before, after = sentence[: match.start()].rstrip(" ,"), sentence[match.end() :].lstrip(" ,")
    beside = len(before) in {each.end() for each in others} or len(sentence) - len(after) in {e.start() for e in others}
    if kind == "part":
        return beside or " " in match[0].strip() or match[0].casefold() == "tonight"
    groups = spans.groups(match)
    if "alone" in groups:  # "tomorrow 9": right after a day
        return any(len(before) == each.end() for each in others if "amount" not in spans.groups(each))
    if {"point", "lead"} & groups.keys() or beside or _MORE_TIMES.match(sentence[match.end() :]):
        return True
    return not after or after[0] in ".;!?)" or _is_beside_remind(before, after)


def _is_beside_remind(before: str, after: str) -> bool:
    """Whether a time stands between "remind me" and what to do, or in front of it."""
    return bool(_REMIND_ME.fullmatch(before) or _REMIND.match(after))


def _correct_day_names(sentence: str) -> str:
    """Corrects weekdays with transposed letters; the length stays the same. Raises UsageError for other mistakes."""
    names = spans.DAY.split("|")
    days = {(name[0], *sorted(name)): name for name in names}

    def right(match: re.Match[str]) -> str:
        word = match[0].lower()
        if day := days.get((word[0], *sorted(word))):
            return match[0] if day == word else day
        if word.endswith(languages.phrases("DAY_ENDING")):
            from difflib import get_close_matches  # rarely needed: 2 ms

            if close := get_close_matches(word, names, 1, _LIKENESS):
                raise UsageError(f"“{match[0]}” is no day of the week; did you mean {close[0]}?")
        return match[0]

    return re.sub(r"\w{6,10}", right, sentence)


# Repetitions: "every Monday", "jeden Werktag", "every last Friday".


def _repetition(groups: Mapping[str, str], now: datetime) -> str:
    """The rule of the matched words; `now` is local time. Raises UsageError when it would occur too often, or never."""
    if "several" in groups:
        raise UsageError(f"“{groups['repetition']}” are several times: write one task for each")
    other = groups.get("other", "1")
    interval = 2 if _OTHER.fullmatch(other) else spans.number(other)
    if not interval:
        raise UsageError("an interval of 0 is not possible: say every day, or every 2 weeks")
    if "nth" in groups:
        nth = (1, 2, 3, 4, -1)[spans.index(groups["nth"], _NTH)]
        return f"FREQ=MONTHLY;BYDAY={nth}{_day_codes(groups['nthday'])}"
    if fixed := next((rule for name, rule in _FIXED_RULES.items() if name in groups), None):
        return f"FREQ={fixed}"
    if days := groups.get("days") or groups.get("ondays"):
        return _rule("WEEKLY", interval, f"BYDAY={_day_codes(days)}")
    if "end" in groups:
        return _rule("MONTHLY", interval, "BYMONTHDAY=-1")
    if "date" in groups:
        day, month = int(groups["date"]), spans.month_number(groups["month"]) if "month" in groups else 0
        if not 1 <= day <= (monthrange(2024, month)[1] if month else 31):  # 2024 is a leap year
            raise UsageError(f"{groups.get('month', 'a month').capitalize()} has no day {day}: name another")
        return _rule("YEARLY" if month else "MONTHLY", interval, _on_date(day, month))
    adverb, unit = groups.get("adverb"), groups.get("per", "")
    frequency = _FREQUENCIES[spans.index(adverb, _ADVERBS) + 1 if adverb else spans.index(unit, _UNITS)]
    if frequency == "MINUTELY" and interval < _MIN_MINUTES:
        raise UsageError(f"every {interval} minutes is too often: at most every {_MIN_MINUTES} minutes")
    today = {  # the day, when none is named
        "WEEKLY": f"BYDAY={moments.DAY_CODES[now.weekday()]}",
        "MONTHLY": _on_date(now.day),
        "YEARLY": _on_date(now.day, now.month),
    }
    return _rule(frequency, interval, today.get(frequency, ""))


def _rule(frequency: str, interval: int, by: str) -> str:
    return ";".join(filter(None, (f"FREQ={frequency}", f"INTERVAL={interval}" if interval > 1 else "", by)))


def _day_codes(days: str) -> str:
    found = list[int]()
    for each in _NEXT_DAY.finditer(days):
        number = spans.day_number(each[2])
        found += range(found[-1], number + 1 + 7 * (number < found[-1])) if each[1] else [number]
    return ",".join(code for number, code in enumerate(moments.DAY_CODES) if {number, number + 7} & {*found})


def _on_date(day: int, month: int = 0) -> str:
    """A day of each month, or of this one; the last day of a shorter month."""
    by_month = f"BYMONTH={month};" if month else ""
    if day < 29 or (month and month != 2):
        return f"{by_month}BYMONTHDAY={day}"
    return f"{by_month}BYMONTHDAY={','.join(map(str, range(28, day + 1)))};BYSETPOS=-1"
