"""The lines of an opening that tell of earlier times: the five latest conversations of substance, and the last week,
month, quarter and year in a line or two each.

A period is told by its own summary, unless it takes in what was said at other places or is hidden; a week or a month is
then told by its parts, down to days. Sentences are never cut, so a start costs about the same after ten
weeks as after ten days. The conversations of the present folder come first.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate

from agent_cli import clock, text
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.language import keywords, statements
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import Summary
from agent_cli.store.db import Database
from agent_cli.values import frozen

_WHOLE = 5  # conversations that are carried over
_READ = 40  # conversations among which those of substance are looked for
_LONGEST, _BRIEF, _DETAILS = 1200, 300, 120  # characters of a conversation, of a period, and of details


@frozen
class Reach:
    """What may be carried over. `place`: None for that of all folders."""

    owner: str
    place: str | None
    besides: tuple[int, ...] = ()  # the session that begins
    folder: str | None = None  # the present folder, whose conversations come first


def compose(db: Database, reach: Reach, now: datetime) -> tuple[str, ...]:
    """The lines, the most recent last."""
    whole = _latest(db, reach)
    carried = frozenset(each.session for each in whole if each.session)
    of_periods: list[str] = []
    for unit in ("week", "month", "quarter", "year"):
        if period := _latest_period(db, reach, unit, periods.containing(now.date(), unit), carried):
            found = [each for each in _tell(db, reach, period, carried) if each not in of_periods]
            of_periods += _fitting(found, _BRIEF)
    return tuple(reversed([*map(_line, whole), *of_periods]))


def _latest(db: Database, reach: Reach) -> list[Summary]:
    """The summaries of the latest conversations of substance, those of the present folder first."""
    found: list[Summary] = []
    for place in dict.fromkeys((reach.folder or reach.place, reach.place)):
        known = {each.session for each in found}
        recent = summaries.recent(db, reach.owner, place, _READ, reach.besides)
        others = [each for each in reversed(recent) if each.session not in known]
        found += [each for each in others if is_of_substance(db, each.session or 0)][: _WHOLE - len(found)]
    return found


def is_of_substance(db: Database, session: int) -> bool:
    """Whether the person said more in it than small talk; also when its messages were removed."""
    said = log.said_by_person(db, session)
    return not said or not all(map(statements.is_small_talk, said))


def _latest_period(db: Database, reach: Reach, unit: str, present: Period, carried: frozenset[int]) -> Period | None:
    """The latest period of this unit, this week or before the present one, with a conversation that is not carried over
    by itself. Its summary may have outlived those of its conversations."""
    end = present.end if unit == "week" else present.first
    for summarised in (False, True):
        besides = [*carried, *reach.besides]
        last = sessions.last_day_before(db, reach.owner, reach.place, end, besides, summarised=summarised)
        period = periods.containing(last, unit) if last else None
        if period and (summarised or summaries.of_period(db, reach.owner, period.key)):
            return period
    return None


def _tell(db: Database, reach: Reach, period: Period, carried: frozenset[int]) -> Iterator[str]:
    """A period in as few lines as may be, the most recent first."""
    besides = [*carried, *reach.besides]
    last = sessions.last_day_before(db, reach.owner, reach.place, period.end, besides, summarised=False)
    if last is None or last < period.first:
        return
    summary = summaries.of_period(db, reach.owner, period.key)
    if summary and not sessions.any_not_carried(db, reach.owner, reach.place, period.first, period.end):
        yield _line(summary, period)
        return
    for part in reversed(periods.parts(period)) if period.unit in ("week", "month") else ():
        yield from _tell(db, reach, part, carried)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first of the lines that are together no longer than so many characters, at least one."""
    ends = accumulate(map(len, lines))
    return [line for number, (line, end) in enumerate(zip(lines, ends, strict=True)) if not number or end <= room]


def _sentences(words: str, longest: int) -> str:
    """The first sentences that are together no longer than this; only a sentence that is longer still is cut."""
    pieces = text.sentences(words) or [""]
    ends = accumulate(len(each) + 1 for each in pieces)
    count = max(1, sum(end <= longest + 1 for end in ends))
    return text.one_line(" ".join(pieces[:count]), _LONGEST)


def _line(summary: Summary, period: Period | None = None) -> str:
    words = _sentences(summary.text, _BRIEF if period else _LONGEST)
    verbatim = "" if period else keywords.merge_details([summary.details], _DETAILS, words)
    line = f"{words} Word for word: {text.one_line(verbatim, _DETAILS)}" if verbatim else words
    if summary.method == summaries.EXTRACT:
        line = f"in the person's words: {line}"
    if period:
        return f"- {_name(period)} ({summary.handle}): {text.unfenced(line)}"
    return f"- {day_of(summary.started_at, summary.utc_offset)} (s{summary.session}): {text.unfenced(line)}"


def day_of(stored: str, offset: int) -> str:
    return f"{clock.local(stored, offset):%d %B %Y}"


def _name(period: Period) -> str:
    match period.unit:
        case "year" | "quarter":
            return " ".join(reversed(period.key.split("-")))
        case "month":
            return f"{period.first:%B %Y}"
        case "week":
            return f"week from {period.first:%d %B %Y}"
    return f"{period.first:%d %B %Y}"
