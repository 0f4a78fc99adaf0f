"""What summaries of days, weeks, months, quarters and years have of rows that go, and what of them may stay.

A summary names what it was made from, so the way leads from a message up to the year. Where retention has taken a step
of it, the calendar leads on: what was said on a day may stand in every period that holds the day.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from agent_cli.memory.dates import periods
from agent_cli.memory.summaries import period_sources, period_summaries, summaries
from agent_cli.memory.summaries.summaries import Sentence, Source
from agent_cli.store.db import Database

_LITTLE = 100  # characters of each conversation: only which there are is asked

Kept = tuple[int, tuple[Sentence, ...]]
"""A summary and the sentences of it that stay."""


def linked(db: Database, sources: Iterable[Source]) -> set[int]:
    """The summaries of periods that were made from these rows, and those made from them again."""
    found, fresh = set[int](), set(sources)
    while fresh:
        made = set(_of_periods(db, summaries.made_from(db, fresh))) - found
        found |= made
        fresh = {Source("summary", id) for id in made}
    return found


def of_days(db: Database, owner: str, messages: Sequence[int]) -> set[int]:
    """The summaries of all periods that hold the days of these messages."""
    days = db.rows(
        """select distinct date(at, utc_offset || ' minutes') from message
           where id in (select value from json_each(?)) and date(at) is not null and at >= '0002' and at < '9999'""",
        (messages,),
    )
    keys = {periods.containing(date.fromisoformat(day), grain).key for (day,) in days for grain in periods.UNITS}
    rows = db.rows(
        "select id from summary where owner = ? and period in (select value from json_each(?))",
        (owner, sorted(keys)),
    )
    return {id for (id,) in rows}


def keys(db: Database, found: Iterable[int]) -> tuple[str, ...]:
    """The periods that these summaries tell of, the finest first, so that each is made after what it is made of."""
    rows = db.rows(
        "select period from summary where grain <> 'session' and id in (select value from json_each(?))",
        (sorted(found),),
    )
    told = [periods.parse(key) for (key,) in rows]
    return tuple(each.key for each in sorted(told, key=lambda each: (periods.UNITS.index(each.unit), each.first)))


def kept(
    db: Database, owner: str, found: Iterable[int], gone: Iterable[Source], said: Callable[[int, str], bool]
) -> tuple[Kept, ...]:
    """Of summaries that go, the sentences that stay: retention has taken all that they were made from.

    They could never be made again, and come from none of these rows, which are `gone`. `said`: whether a sentence of a
    summary says something of them even so. A sentence of unknown source does not stay.
    """
    left = []
    forgotten = set(gone)
    for id in sorted(found):
        told = _outlived(db, owner, id, forgotten)
        stay = tuple((words, sources) for words, sources in told if sources and not said(id, words))
        if stay:
            left.append((id, stay))
    return tuple(left)


def _outlived(db: Database, owner: str, id: int, forgotten: set[Source]) -> list[Sentence]:
    summary = summaries.get(db, id, owner)
    if summary is None:
        return []
    taken = frozenset[Source]()
    if summary.grain == "day":  # its sessions may stand and hold nothing of it any more
        day, named = periods.parse(summary.period), summaries.sources(db, id).get(0, [])
        if period_sources.taken(db, day, [each for each in named if each not in forgotten]):
            taken = period_summaries.read(db, owner, day, _LITTLE).lost
    told = summaries.outlived(db, summary, taken - forgotten)
    return [(words, sources) for words, sources in told if not forgotten & set(sources)]


def _of_periods(db: Database, found: Iterable[int]) -> list[int]:
    """Those that are not of sessions: these are made from what was said in them alone."""
    rows = db.rows(
        "select id from summary where grain <> 'session' and id in (select value from json_each(?))",
        (sorted(found),),
    )
    return [id for (id,) in rows]
