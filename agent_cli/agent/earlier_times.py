"""The lines of an opening that tell of earlier times: last month, this week, the two latest conversations of substance.

A period is told by its own summary, unless it takes in what was said at other places or is hidden; then by those of its
parts, down to single conversations. All lines together take no more tokens than the summaries of the five latest
conversations, so that a start costs the same after ten weeks as after ten days.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime

from agent_cli import clock, text
from agent_cli.agent import estimate
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.language import keywords, statements
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import Summary
from agent_cli.store.db import Database
from agent_cli.values import frozen

_WHOLE, _COUNTED = 2, 5  # conversations that are carried over; whose tokens all lines together may take
_READ = 40  # conversations among which those of substance are looked for
_LONGEST, _DETAILS = 1200, 120  # characters of a summary, of its details
_LEAST = 8  # tokens of a sentence that is cut


@frozen
class Reach:
    """What may be carried over. `place`: None for that of all folders."""

    owner: str
    place: str | None
    besides: tuple[int, ...] = ()  # the session that begins


def compose(db: Database, reach: Reach, now: datetime) -> tuple[str, ...]:
    """The lines, the most recent last."""
    recent = summaries.recent(db, reach.owner, reach.place, _READ, reach.besides)
    counted = [each for each in reversed(recent) if is_of_substance(db, each.session or 0)][:_COUNTED]
    whole = counted[:_WHOLE]
    latest = [_line(each) for each in whole]
    room = _size(map(_line, counted)) - _size(latest)
    carried = frozenset(each.session for each in whole if each.session)
    today = now.date()
    week = _latest_period(db, reach, "week", periods.containing(today, "week").end, carried)
    month = _latest_period(db, reach, "month", periods.containing(today, "month").first, carried)
    of_week = list(_tell(db, reach, week, carried)) if week else []
    of_month = [each for each in _tell(db, reach, month, carried) if each not in of_week] if month else []
    this_week = _fitting(of_week, room - _size(_fitting(of_month, room // 2)))
    return tuple(reversed([*latest, *this_week, *_fitting(of_month, room - _size(this_week))]))


def is_of_substance(db: Database, session: int) -> bool:
    """Whether the person said more in it than small talk; also when its messages were removed."""
    said = log.said_by_person(db, session)
    return not said or not all(map(statements.is_small_talk, said))


def _latest_period(db: Database, reach: Reach, unit: str, end: date, carried: frozenset[int]) -> Period | None:
    """The latest period of this unit up to `end` with a conversation that is not carried over by itself."""
    found = sessions.last_day_before(db, reach.owner, reach.place, end, [*carried, *reach.besides])
    return periods.containing(found, unit) if found else None


def _tell(db: Database, reach: Reach, period: Period, carried: frozenset[int]) -> Iterator[str]:
    """A period in as few lines as may be, the most recent first."""
    besides = [*carried, *reach.besides]
    last = sessions.last_day_before(db, reach.owner, reach.place, period.end, besides)
    if last is None or last < period.first:
        return
    summary = summaries.of_period(db, reach.owner, period.key)
    if summary and not sessions.any_not_carried(db, reach.owner, reach.place, period.first, period.end):
        yield _line(summary, period)
        return
    for part in reversed(periods.parts(period)):
        yield from _tell(db, reach, part, carried)
    if period.unit == "day":
        for id in reversed(sessions.on_day(db, reach.owner, reach.place, period.first, besides)):
            if (of_session := summaries.of_session(db, id)) and is_of_substance(db, id):
                yield _line(of_session)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit into so many tokens, the last one shortened to whole sentences."""
    fitting: list[str] = []
    for line in lines:
        left = room - _size(fitting)
        if _size([line]) > left:
            shorter = _shortened(line, left)
            return [*fitting, shorter] if shorter else fitting
        fitting.append(line)
    return fitting


def _shortened(line: str, room: int) -> str:
    """The first sentences of a line that fit; else the first one, cut; empty when there is no room for either."""
    begin, mark, words = line.partition("): ")
    sentences = text.sentences(words)
    for count in range(len(sentences) - 1, 0, -1):
        shorter = f"{begin}{mark}{' '.join(sentences[:count])}"
        if _size([shorter]) <= room:
            return shorter
    characters = 4 * (room - _size([begin + mark]) - 1)
    cut = f"{begin}{mark}{text.one_line(words, characters)}" if characters > 4 * _LEAST else ""
    return cut if _size([cut]) <= room else ""


def _size(lines: Iterable[str]) -> int:
    return sum(estimate.tokens(f"{line}\n") for line in lines)


def _line(summary: Summary, period: Period | None = None) -> str:
    words = text.one_line(summary.text, _LONGEST)
    verbatim = keywords.merge_details([summary.details], _DETAILS, words)
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
        case "month":
            return f"{period.first:%B %Y}"
        case "week":
            return f"week from {period.first:%d %B %Y}"
    return f"{period.first:%d %B %Y}"
