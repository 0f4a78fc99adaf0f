"""The present time (AGENT_NOW stops it), and times as stored: UTC as sortable text, the offset in minutes beside it."""

import os
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, timezone
from functools import lru_cache

from agent_cli import text
from agent_cli.errors import ConfigError

# The range of times that are shown: in every zone these have a valid day, week and year around them.
EARLIEST, LATEST = datetime(2, 1, 2, tzinfo=UTC), datetime(9998, 12, 30, tzinfo=UTC)
EARLIEST_STORED, LATEST_STORED = "0002-01-02T00:00:00.000Z", "9998-12-30T00:00:00.000Z"  # as stored

_MINUTE = timedelta(minutes=1)
_FIRST_YEAR, _LAST_YEAR = 1000, 9000  # of AGENT_NOW: centuries can be added to these

Clock = Callable[[], datetime]
"""Returns the present time, with its offset from UTC."""


def now() -> datetime:
    """The present time in the local zone, or AGENT_NOW. Raises ConfigError when that is no ISO 8601 time."""
    value = os.environ.get("AGENT_NOW")
    if not value:
        return datetime.now().astimezone()
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise ConfigError(f"AGENT_NOW is {value!r}: write it like 2026-11-20T18:30:00+01:00") from error
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ConfigError(f"AGENT_NOW is {value!r}: name a time of the years {_FIRST_YEAR} to {_LAST_YEAR}")
    return moment if moment.tzinfo else moment.astimezone()


def utc(moment: datetime) -> str:
    """The stored form: `2026-11-20T17:30:00.000Z`."""
    at = moment.astimezone(UTC)
    day, time = (at.year, at.month, at.day), (at.hour, at.minute, at.second, at.microsecond // 1000)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (day + time)  # noqa: UP031 (half the time of isoformat)


def offset(moment: datetime) -> int:
    """Minutes east of UTC."""
    offset = moment.utcoffset()
    return offset // _MINUTE if offset else 0


def local(stored: str, minutes: int) -> datetime:
    """A stored time with its offset in minutes, clamped to the range that can be shown."""
    stored = min(max(stored, EARLIEST_STORED), LATEST_STORED)  # stored times sort as text
    return datetime.fromisoformat(stored).astimezone(_zone(minutes))


@lru_cache(100)
def _zone(minutes: int) -> timezone:
    return timezone(timedelta(minutes=minutes))


def ago(stored: str, now: datetime) -> str:
    """How long a stored time is past, in its largest whole unit, as in `3 minutes ago`."""
    seconds = (now - local(stored, 0)).total_seconds()
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{text.counted(int(seconds // length), unit)} ago"
    return "just now"


def format_day(stored: str, minutes: int) -> str:
    """As in `3 May 2026`."""
    moment = local(stored, minutes)
    return f"{moment.day} {moment:%b %Y}"


def from_timestamp(seconds: float) -> datetime:
    """Seconds since 1970 as a local time, clamped to the range that can be shown."""
    return datetime.fromtimestamp(min(max(seconds, EARLIEST.timestamp()), LATEST.timestamp()), UTC).astimezone()


def parse(text: str, default: datetime) -> datetime:
    """An ISO 8601 time; without an offset it gets that of `default`. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=default.tzinfo)
    if not MINYEAR < moment.year < MAXYEAR:
        try:
            moment.astimezone(UTC)
        except OverflowError as error:
            raise ValueError(f"the time {text!r} is out of range") from error
    return moment
