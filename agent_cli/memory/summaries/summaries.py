"""Summaries as rows: of sessions, and of days, weeks, months, quarters and years, with what each sentence comes from.

How one is made is told in summarising.py (of a session) and grains.py (of a period). What retention has taken is gone
for good: so a sentence whose sources are all gone is kept when its summary is made anew.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

from agent_cli import clock, text
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index
from agent_cli.store import ids
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

MODEL, EXTRACT = "model", "extract"  # how one was made; an extract is made again when a model answers


@frozen
class Source:
    """A row that a sentence comes from: message, session, summary or fact."""

    kind: str
    row: int

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.row)


Sentence = tuple[str, tuple[Source, ...]]
"""Its words, and what they come from."""


@frozen
class NewSummary:
    """A summary to be kept. `sources`: of each sentence, as `text.sentences` numbers them."""

    text: str
    details: str
    method: str
    model: str
    sources: tuple[tuple[Source, ...], ...] = ()
    all_sources: tuple[Source, ...] = ()  # all that it was made from, where that is not its session


@frozen
class Summary:
    id: int
    session: int | None
    unit: str
    period: str
    text: str
    details: str
    method: str
    started_at: str  # of a session, when it began; of a period, when its last one ended
    utc_offset: int
    at: str
    pinned: int
    model: str

    @property
    def handle(self) -> str:
        return ids.handle("summary", self.id)


def join_sentences(sentences: Sequence[Sentence]) -> tuple[str, tuple[tuple[Source, ...], ...]]:
    """One text of some sentences, and what each of it comes from, as `text.sentences` numbers them.

    Two may run together, as when one ends with a number: then that comes from what both come from.
    """
    words = [*(text.with_full_stop(each) for each, _ in sentences[:-1]), *(each for each, _ in sentences[-1:])]
    ends = list(accumulate(len(each) + 1 for each in words))
    whole, at = " ".join(words), 0
    sources: list[tuple[Source, ...]] = []
    for piece in text.split_sentences(whole):
        first, at = at, at + len(piece)
        if piece.strip():
            inside = slice(bisect_right(ends, first + 1), bisect_left(ends, at) + 1)  # a piece begins with its blank
            sources.append(tuple(dict.fromkeys(each for _, found in sentences[inside] for each in found)))
    return whole, tuple(sources)


def save_session(db: Database, session: int, made: NewSummary, time: clock.Clock) -> int | None:
    """Store the summary of a session in place of an earlier one. Runs in the caller's transaction."""
    session_row = db.row("select owner, place, last_at from session where id = ?", (session,))
    if session_row is None:
        return None
    earlier = db.value("select id from summary where session_id = ?", (session,))
    return _save(db, earlier, made, time, (*session_row[:2], session, "session", "", session_row[2]))


def save_period(db: Database, owner: str, period: Period, made: NewSummary, last_at: str, time: clock.Clock) -> int:
    """Store the summary of a period in place of an earlier one. Runs in the caller's transaction.

    `last_at`: the last moment it tells of.
    """
    earlier = db.value("select id from summary where owner = ? and period = ?", (owner, period.key))
    return _save(db, earlier, made, time, (owner, "", None, period.unit, period.key, last_at))


def _save(db: Database, earlier: int | None, made: NewSummary, time: clock.Clock, subject: Row) -> int:
    now = time()
    moment, offset = clock.utc(now), clock.offset(now)
    content = (made.text, made.details, made.method, made.model)
    if earlier is None:
        id = db.insert(
            """insert into summary (uid, owner, place, session_id, grain, period, last_at, text, details, method, model,
                  at, utc_offset) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (ids.new(now), *subject, *content, moment, offset),
        )
    else:
        id = earlier
        index.erase(db, "y", id)  # before its words change
        db.execute(
            """update summary set last_at = ?, text = ?, details = ?, method = ?, model = ?, at = ?, utc_offset = ?
               where id = ?""",
            (subject[-1], *content, moment, offset, id),
        )
    _set_sources(db, id, made)
    return id


def _set_sources(db: Database, id: int, made: NewSummary) -> None:
    db.execute("delete from summary_source where summary_id = ?", (id,))
    numbered = [(n, each) for n, found in enumerate([made.all_sources, *made.sources]) for each in found]
    db.execute_many(
        "insert into summary_source values (?, ?, ?, ?) on conflict do nothing",
        [(id, sentence, each.kind, each.row) for sentence, each in numbered],
    )


def of_session(db: Database, session: int) -> Summary | None:
    return _one(db, "y.session_id = ?", (session,))


def of_period(db: Database, owner: str, key: str) -> Summary | None:
    return _one(db, "y.owner = ? and y.period = ?", (owner, key))


def get(db: Database, id: int, owner: str) -> Summary | None:
    return _one(db, "y.id = ? and y.owner = ?", (id, owner))


def _one(db: Database, condition: str, values: Sequence[object]) -> Summary | None:
    row = db.row(f"{_SELECT} where {condition}", tuple(values))
    return Summary(*row) if row else None


def is_current(db: Database, session: int) -> bool:
    """Whether nothing has been said since its summary was made, by a model."""
    row = db.row(
        """select y.method, y.at >= s.last_at from summary y join session s on s.id = y.session_id
           where s.id = ?""",
        (session,),
    )
    return row == (MODEL, 1)


def recent(db: Database, scope: Scope, limit: int, besides: int | None = None) -> list[Summary]:
    """The newest summaries of conversations here, the most recent last."""
    rows = db.rows(
        _SELECT
        + """ where y.owner = ? and y.place = ? and y.hidden_at is null and s.hidden_at is null and s.kind = 'chat'
               and s.id is not ? order by s.last_at desc limit ?""",
        (scope.owner, scope.place, besides, limit),
    )
    return [Summary(*row) for row in reversed(rows)]


def newest(db: Database, owner: str, limit: int, unit: str | None = None) -> list[Summary]:
    """Those of every grain or of one, the latest first; of hidden sessions none."""
    rows = db.rows(
        f"""{_SELECT} where y.owner = :owner and y.hidden_at is null and s.hidden_at is null
              and (:grain is null or y.grain = :grain)
            order by coalesce(y.last_at, y.at) desc, y.id desc limit :limit""",
        {"owner": owner, "grain": unit, "limit": limit},
    )
    return [Summary(*row) for row in rows]


def of_unit(db: Database, owner: str, unit: str, limit: int) -> list[Summary]:
    """Those of one grain, the latest first."""
    rows = db.rows(
        f"""{_SELECT} where y.owner = ? and y.grain = ? and y.hidden_at is null
            order by coalesce(y.last_at, y.at) desc, y.id desc limit ?""",
        (owner, unit, limit),
    )
    return [Summary(*row) for row in rows]


def sources(db: Database, id: int) -> dict[int, list[Source]]:
    """What each sentence comes from, by its number; under 0 what the whole was made from."""
    found: dict[int, list[Source]] = {}
    rows = db.rows("select sentence, kind, row from summary_source where summary_id = ? order by sentence, row", (id,))
    for sentence, kind, row in rows:
        found.setdefault(sentence, []).append(Source(kind, row))
    return found


def made_from(db: Database, sources: Iterable[Source]) -> list[int]:
    """The summaries that one of these rows has a part in."""
    rows = db.rows(
        """select distinct y.summary_id from json_each(?) c cross join summary_source y
             on y.kind = c.value ->> 0 and y.row = c.value ->> 1 order by 1""",
        ([(each.kind, each.row) for each in sources],),
    )
    return [id for (id,) in rows]


def missing_sources(db: Database, summary: Summary) -> set[Source]:
    """What it was made from and is there no more."""
    return {each for found in sources(db, summary.id).values() for each in found if not _exists(db, each)}


def orphaned_sentences(db: Database, summary: Summary, emptied: AbstractSet[Source] = frozenset()) -> list[Sentence]:
    """The sentences whose sources are all gone, with these: they can be made from nothing any more.

    When some source is gone, a sentence of which no source is known may have come from it, and counts among them.
    `taken`: sources that are still there but hold nothing more.
    """
    by_sentence = sources(db, summary.id)
    missing = missing_sources(db, summary) | emptied
    if not missing:
        return []
    return [
        (sentence, tuple(by_sentence.get(n, ())))
        for n, sentence in enumerate(text.sentences(summary.text), 1)
        if missing.issuperset(by_sentence.get(n, ()))
    ]


def _exists(db: Database, source: Source) -> bool:
    return bool(db.value(f"select 1 from {source.kind} where id = ?", (source.row,)))


def pin(db: Database, id: int, pinned: bool) -> None:
    """Have retention leave it alone, or not."""
    with db.write():
        db.execute("update summary set pinned = ? where id = ?", (int(pinned), id))


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete summaries, out of the index first. Runs in the caller's transaction.

    What was made from them still names them as sources; `drop_sources` ends that.
    """
    index.erase_many(db, "y", found)
    listed = (found,)
    db.execute("delete from summary_source where summary_id in (select value from json_each(?))", listed)
    db.execute("delete from summary where id in (select value from json_each(?))", listed)


def shorten(db: Database, id: int, sentences: Sequence[Sentence]) -> None:
    """Leave only these sentences of it, until it is made anew. Runs in the caller's transaction."""
    index.erase(db, "y", id)  # before its words change
    whole = tuple(sources(db, id).get(0, ()))
    words, found = join_sentences(sentences)
    db.execute(
        """update summary set text = ?, details = '', method = iif(grain = 'session', 'extract', method)
           where id = ?""",
        (words, id),
    )
    _set_sources(db, id, NewSummary(words, "", "", "", found, whole))


def drop_sources(db: Database, found: Iterable[Source]) -> None:
    """Have no sentence name these rows any more: they are forgotten, and what came of them must not count as outlived.

    Runs in the caller's transaction.
    """
    db.execute(
        """delete from summary_source where (kind, row) in (select value ->> 0, value ->> 1 from json_each(?))""",
        ([(each.kind, each.row) for each in found],),
    )


def made_without_model(db: Database) -> list[tuple[str, str, int | None]]:
    """(owner, period, session) of those made without a model, of sessions only closed ones; not of what is gone.

    A model that had nothing to say of it is named beside the extract, and is not asked again.
    """
    return [
        (owner, period, session)
        for owner, period, session in db.rows(
            """select y.owner, y.period, y.session_id from summary y left join session s on s.id = y.session_id
               where y.method = 'extract' and y.model = '' and case when y.session_id is not null
                     then s.closed_at is not null and exists (select 1 from said where session_id = s.id)
                     else not exists (select 1 from summary_source where summary_id = y.id and sentence = 0)
                          or exists (select 1 from summary_source o where summary_id = y.id and sentence = 0
                                     and (exists (select 1 from summary t where kind = 'summary' and t.id = o.row)
                                          or exists (select 1 from message where kind = 'session'
                                                     and session_id = o.row))) end"""
        )
    ]


_SELECT = """select y.id, y.session_id, y.grain, y.period, y.text, y.details, y.method,
        coalesce(s.started_at, y.last_at, y.at), coalesce(s.utc_offset, y.utc_offset), y.at, y.pinned, y.model
    from summary y left join session s on s.id = y.session_id"""
