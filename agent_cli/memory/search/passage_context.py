"""Reads candidates with their context: the rows that ranking scores.

The word index holds a passage's own words only. What was said before and after is read here, for the few best and their
neighbours: the same recall as indexing it, in a third of the space, and no row holds words of another message.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache

from agent_cli import clock, kinds
from agent_cli.memory.search import candidates, sources
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.ranking import CandidateRow
from agent_cli.store.db import Database

_PASSAGES = """select p.id, p.session_id, p.length, p.at, p.author, d.words, p.facts, p.kind, p.row,
        iif(p.kind = 'f' and a.place not in ('', :here), a.place, '')
    from json_each(:ids) c cross join passage p on p.id = c.value join area a on a.id = p.area
    join day d on d.id = p.day
    where {conditions}"""

_CONDITIONS = f"""{candidates.CONDITIONS}
    and not exists (select 1 from session where id = p.session_id and hidden_at is not null)
    and case p.kind {{current}} else 1 end"""

_NEWEST = """select p.id from passage p join area a on a.id = p.area
    where p.start = 0 and {conditions} order by p.at desc, p.row desc limit :limit"""

_OUTDATED = """select c.value, max(f.valid_to) filter (where f.valid_to <= :now),
        max(f.state = 'accepted' and coalesce(f.valid_to > :now, true))
    from json_each(:rows) c cross join fact f on f.id in (
        select id from fact where message_id = c.value union select fact_id from fact_source where message_id = c.value)
    where +f.owner = :owner and f.hidden_at is null and +f.state in ('accepted', 'superseded')
    group by c.value having min(f.valid_to) <= :now"""

_DATED = """select f.id, iif(coalesce(f.valid_from, '') > :now, f.valid_from, null), f.valid_to
    from json_each(:rows) c cross join fact f on f.id = c.value
    where coalesce(f.valid_from, '') > :now or f.valid_to > :now"""

_TEXTS = "select t.id, t.own from json_each(?) c cross join passage_text t on t.id = c.value"

_NEIGHBOURS = """select p.id,
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) < (p.row, p.start) order by row desc, start desc limit 3)),
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) > (p.row, p.start) order by row, start limit 2))
    from json_each(?) c cross join passage p on p.id = c.value where p.kind = 'm' and p.session_id is not null"""


def fetch(
    db: Database,
    ids: Sequence[int],
    question: ParsedQuery,
    guessed: Mapping[int, frozenset[str]],
    allowed: Filter,
    now: datetime,
    excluded_text: str = "",
    without_neighbours: Collection[int] = (),
) -> dict[int, CandidateRow]:
    """The candidates and their neighbours, with the words of the question in and around each.

    `alone`: candidates whose neighbours are no candidates themselves.
    `besides`: what says no more than this is left out, as a neighbour too.
    """
    places = neighbours(db, ids, without_neighbours)
    needed = set(places).union(*places.values()) - {0}
    texts: dict[int, str] = dict(db.rows(_TEXTS, (sorted(needed),)))
    if excluded_text:
        texts = {id: own_words for id, own_words in texts.items() if own_words.strip() not in excluded_text}
    values = {
        "ids": [id for id in places if id in texts],
        **candidates.bindings(allowed),
        "now": clock.utc(now),
    }
    passages = db.rows(_PASSAGES.format(conditions=_CONDITIONS.format(current=_current())), values)
    others = {text for passage in passages for text in passage[4:7] if text}
    counts = _counts(db, others.union(texts.values()), question)
    own_words = {id: counts[text] for id, text in texts.items()}
    nothing: dict[str, int] = {}
    made: dict[int, CandidateRow] = {}
    for id, session, length, at, author, date, facts, kind, row, place in passages:
        before_that, before, after = places[id]
        made[id] = CandidateRow(
            id,
            session,
            length,
            (now.timestamp() - at) / 86400,
            texts[id],
            author,
            own_words[id] | dict.fromkeys(guessed.get(id, ()), 1),
            own_words.get(before, nothing),
            own_words.get(before_that, nothing),
            own_words.get(after, nothing),
            counts.get(author, nothing),
            counts[date],
            counts.get(facts, nothing),
            kind=kind,
            row=row,
            at=at,
            place=place or "",
        )
    _mark_ended(db, made.values(), allowed.owner, now)
    _mark_dated(db, made.values(), now)
    return made


def newest(db: Database, allowed: Filter, now: datetime, limit: int) -> list[int]:
    """The newest passages that are allowed and current."""
    values = {**candidates.bindings(allowed), "now": clock.utc(now), "limit": limit}
    sql = _NEWEST.format(conditions=_CONDITIONS.format(current=_current()))
    return [id for (id,) in db.rows(sql, values)]


@cache
def _current() -> str:
    """SQL: whether the row of a passage is current, by kind."""
    return " ".join(
        f"when '{kind.letter}' then (select {sources.source_of(kind.name).current} from {kind.table} where id = p.row)"
        for kind in kinds.SEARCHABLE
        if sources.source_of(kind.name).current
    )


def _mark_ended(db: Database, rows: Collection[CandidateRow], owner: str, now: datetime) -> None:
    """Mark messages whose facts are no longer true."""
    if not db.value("select 1 from fact where owner = ? and valid_to <= ? limit 1", (owner, clock.utc(now))):
        return
    values = {"rows": [row.row for row in rows if row.kind == "m"], "owner": owner, "now": clock.utc(now)}
    ended = {id: (until, bool(partly)) for id, until, partly in db.rows(_OUTDATED, values)}
    for row in rows:
        if row.kind == "m" and row.row in ended:
            until, row.partly = ended[row.row]
            row.ended = datetime.fromisoformat(until).timestamp()


def _mark_dated(db: Database, rows: Collection[CandidateRow], now: datetime) -> None:
    """Mark facts that begin or end in the future."""
    values = {"rows": [row.row for row in rows if row.kind == "f"], "now": clock.utc(now)}
    dated = {id: dates for id, *dates in db.rows(_DATED, values)} if values["rows"] else {}
    for row in rows:
        if row.kind == "f" and row.row in dated:
            row.begins, row.ends = (
                datetime.fromisoformat(date).timestamp() if date else None for date in dated[row.row]
            )


def neighbours(
    db: Database, ids: Sequence[int], without_neighbours: Collection[int] = ()
) -> dict[int, tuple[int, int, int]]:
    """For each candidate and its neighbours the two passages before it and the one after it; 0 when there is none.

    Those of `alone` come without their neighbours.
    """
    found = dict.fromkeys(ids, (0, 0, 0))
    for id, before, after in db.rows(_NEIGHBOURS, (ids,)):
        line = [*reversed((json.loads(before) + [0] * 3)[:3]), id, *(json.loads(after) + [0] * 2)[:2]]
        for n in (2, 3, 4):
            if line[n] and (n == 3 or id not in without_neighbours):
                found[line[n]] = (line[n - 2], line[n - 1], line[n + 1])
    return found


def _counts(db: Database, texts: Collection[str], question: ParsedQuery) -> dict[str, dict[str, int]]:
    """{text: {stem or run: count}} of the words of the question."""
    counts: dict[str, dict[str, int]] = {text: {} for text in texts}
    starts = [stem[:-1] for stem in question.idfs]  # stemming changes at most the last remaining letter
    relevant = [text for text in texts if _may_contain(text, starts)]
    for text, tokens in zip(relevant, db.tokens_of(relevant), strict=True):
        found = counts[text]
        for token in tokens:
            if token in question.idfs:
                found[token] = found.get(token, 0) + 1
        for run in question.runs:
            if run in text:
                found[run] = text.count(run)
    return counts


def _may_contain(text: str, starts: Sequence[str]) -> bool:
    """Whether a text may hold one of these word starts; non-ASCII texts always may, because accents are removed."""
    if not text.isascii():
        return True
    folded = text.lower()
    for start in starts:  # noqa: SIM110 (half as fast with any)
        if start in folded:
            return True
    return False
