"""Candidates with what stands around them: the rows that ranking scores.

The word index holds a passage's own words only. What stood before and after is read here, for the few best and their
neighbours: the same recall as indexing it, in a third of the space, and a forgotten message stands in no other row.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache

from agent_cli import clock, kinds
from agent_cli.memory.search import candidates, sources
from agent_cli.memory.search.candidates import Filter, SearchQuery
from agent_cli.memory.search.ranking import Row
from agent_cli.store.db import Database

_PASSAGES = f"""select p.id, p.session_id, p.length, p.at, p.author, d.words, p.facts, p.kind, p.row,
        iif(p.kind = 'f' and a.place not in ('', :here), a.place, '')
    from json_each(:ids) c cross join passage p on p.id = c.value join area a on a.id = p.area
    join day d on d.id = p.day
    where {candidates.CONDITIONS}
        and not exists (select 1 from session where id = p.session_id and hidden_at is not null)
        and case p.kind {{current}} else 1 end"""

_ENDED = """select c.value, max(f.valid_to), max(f.state = 'accepted' and f.valid_to is null)
    from json_each(:rows) c cross join fact f on f.id in (
        select id from fact where message_id = c.value union select fact_id from fact_source where message_id = c.value)
    where +f.owner = :owner and f.hidden_at is null and +f.state in ('accepted', 'superseded')
    group by c.value having max(f.valid_to) is not null"""

_TEXTS = "select t.id, t.own from json_each(?) c cross join passage_text t on t.id = c.value"

_AROUND = """select p.id,
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) < (p.row, p.start) order by row desc, start desc limit 3)),
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) > (p.row, p.start) order by row, start limit 2))
    from json_each(?) c cross join passage p on p.id = c.value where p.kind = 'm' and p.session_id is not null"""


def rows(
    db: Database,
    ids: Sequence[int],
    question: SearchQuery,
    guessed: Mapping[int, frozenset[str]],
    allowed: Filter,
    now: datetime,
    besides: str = "",
    alone: Collection[int] = (),
) -> dict[int, Row]:
    """The candidates and their neighbours, with the words of the question in and around each.

    `alone`: candidates whose neighbours are no candidates themselves.
    `besides`: what says no more than this is left out, as a neighbour too.
    """
    places = around(db, ids, alone)
    needed = set(places).union(*places.values()) - {0}
    texts: dict[int, str] = dict(db.rows(_TEXTS, (sorted(needed),)))
    if besides:
        texts = {id: own for id, own in texts.items() if own.strip() not in besides}
    values = {
        "ids": [id for id in places if id in texts],
        **candidates.bindings(allowed),
        "now": clock.utc(now),
    }
    passages = db.rows(_PASSAGES.format(current=_current()), values)
    others = {text for passage in passages for text in passage[4:7] if text}
    counts = _counts(db, others.union(texts.values()), question)
    own = {id: counts[text] for id, text in texts.items()}
    nothing: dict[str, int] = {}
    made: dict[int, Row] = {}
    for id, session, length, at, author, date, facts, kind, row, place in passages:
        before_that, before, after = places[id]
        made[id] = Row(
            id, session, length, (now.timestamp() - at) / 86400, texts[id], author,
            own[id] | dict.fromkeys(guessed.get(id, ()), 1),
            own.get(before, nothing), own.get(before_that, nothing), own.get(after, nothing),
            counts.get(author, nothing), counts[date], counts.get(facts, nothing), kind=kind, row=row, at=at,
            place=place or "",
        )  # fmt: skip
    _mark_ended(db, made.values(), allowed.owner)
    return made


@cache
def _current() -> str:
    """Whether the row of a passage is one that counts, by kind."""
    return " ".join(
        f"when '{kind.letter}' then (select {sources.source_of(kind.name).current} from {kind.table} where id = p.row)"
        for kind in kinds.SEARCHABLE
        if sources.source_of(kind.name).current
    )


def _mark_ended(db: Database, rows: Collection[Row], owner: str) -> None:
    """Tell of messages what was true when they were written and is true no more."""
    if not db.value("select 1 from fact where owner = ? and state = 'superseded' limit 1", (owner,)):
        return
    said = [row.row for row in rows if row.kind == "m"]
    ended = {id: (until, bool(partly)) for id, until, partly in db.rows(_ENDED, {"rows": said, "owner": owner})}
    for row in rows:
        if row.kind == "m" and row.row in ended:
            until, row.partly = ended[row.row]
            row.ended = datetime.fromisoformat(until).timestamp()


def around(db: Database, ids: Sequence[int], alone: Collection[int] = ()) -> dict[int, tuple[int, int, int]]:
    """Of each candidate and its neighbours: the two passages before it and the one after it; 0 where there is none.

    Those of `alone` come without their neighbours.
    """
    found = dict.fromkeys(ids, (0, 0, 0))
    for id, before, after in db.rows(_AROUND, (ids,)):
        line = [*reversed((json.loads(before) + [0] * 3)[:3]), id, *(json.loads(after) + [0] * 2)[:2]]
        for n in (2, 3, 4):
            if line[n] and (n == 3 or id not in alone):
                found[line[n]] = (line[n - 2], line[n - 1], line[n + 1])
    return found


def _counts(db: Database, texts: Collection[str], question: SearchQuery) -> dict[str, dict[str, int]]:
    """How often each word of the question stands in each text."""
    counts: dict[str, dict[str, int]] = {text: {} for text in texts}
    starts = [stem[:-1] for stem in question.idfs]  # stemming changes no more than the last letter of what is left
    held = [text for text in texts if _may_hold(text, starts)]
    for text, tokens in zip(held, db.tokens_of(held), strict=True):
        found = counts[text]
        for token in tokens:
            if token in question.idfs:
                found[token] = found.get(token, 0) + 1
        for run in question.runs:
            if run in text:
                found[run] = text.count(run)
    return counts


def _may_hold(text: str, starts: Sequence[str]) -> bool:
    """Whether a text is worth being taken apart; one with other letters always is, for their marks are dropped."""
    if not text.isascii():
        return True
    folded = text.lower()
    for start in starts:  # noqa: SIM110 (half as fast with any)
        if start in folded:
            return True
    return False
