"""From what is named to all that came of it: a message leads to its exchange, that to the facts and skills learned from
it, to the summary of its session and on to those of its day up to its year, to what was recalled of it and to the jobs
about it. Each owner of tables says what came from the rows found so far (owners.py).

Nothing is changed here: `walk` gives the ids of rows, so that they can be shown before they go.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from agent_cli import kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import owners
from agent_cli.memory.forgetting.owners import TABLES
from agent_cli.memory.lineage import Line, Named, Table, Walk
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_ORDER = "session message note fact skill summary jotting recollection task schedule section document collection"
_FIRST = "note fact message"  # of what is shown: what the person said and wrote


@frozen
class Texts:
    """The words that go. `statements`: told elsewhere it is no chance, however short they are."""

    own: Sequence[str]  # of the person, of notes, facts and tasks
    other: Sequence[str]  # of replies, tools and summaries
    filed: Sequence[str]  # of sections of files
    statements: Sequence[str]
    retold: Sequence[str]  # sentences of summaries: what a tool found of them was made from the same


def named(db: Database, owner: str, told: Iterable[str]) -> Named:
    """The rows that handles name, as in m9 or n4. Raises UsageError for what is none."""
    found: dict[str, tuple[int, ...]] = {}
    for handle in told:
        match = re.fullmatch(rf"({kinds.letters(kinds.FORGETTABLE)})(\d{{1,18}})", handle.strip().lower())
        if match is None:
            raise UsageError(
                f"{handle!r} is no handle: write it like {', '.join(kinds.EXAMPLES[:-1])} or {kinds.EXAMPLES[-1]}, "
                "or name words with --topic"
            )
        kind, id = kinds.BY_LETTER[match[1]], int(match[2])
        if not db.value(f"select 1 from {kind.table} where id = ? and owner = ?", (id, owner)):
            raise UsageError(f"there is no {kind.name} {handle.lower()}; `agent search` finds what there is")
        found[kind.table] = (*found.get(kind.table, ()), id)
    return Named(found, owner=owner)


def walk(db: Database, names: Named) -> Walk:
    """All that goes with what is named."""
    found = Walk(names, {})
    for table, rows in names.rows.items():
        found.add(table, rows)
    for owner in owners.OWNERS:
        owner.derive(db, found)
    about = [*found.handles, *(ids.handle("session", id) for id in found.staying("session"))]
    found.add("job", [id for id, _, _ in jobs.about(db, about)])
    return found


def lines(db: Database, found: Walk, limit: int) -> list[Line]:
    """(handle, day, words) of what goes, what the person said and wrote first; at most so many, below zero all."""
    told: list[Line] = []
    for table in (table for table in owners.ordered(f"{_FIRST} {_ORDER}") if table.line):
        room = limit if limit < 0 else max(0, limit - len(told))
        query = f"""select id, datetime({table.day or table.time}, utc_offset || ' minutes'), {table.line}
                    from {table.name} where {table.lines_of} and id {{ids}} order by id limit {room}"""
        told += [
            (f"{table.letter}{id}" if table.letter else table.label, str(day)[:10], table.shown(*words))
            for id, day, *words in lineage.rows(db, query, found[table.name])
        ]
    return told


def counts(db: Database, found: Walk) -> dict[str, int]:
    """How many rows of each kind go."""
    told: dict[str, int] = {}
    for table in owners.ordered(_ORDER):
        for (name, _), condition in table.counts.items():
            query = f"select count(*) from {table.name} where {condition} and id {{ids}}"
            told[name] = lineage.column(db, query, found[table.name])[0]
        if table.part:
            told[table.part[0]] = len(found.staying(table.name))
    return {name: many for name, many in told.items() if many}


def texts(db: Database, found: Walk) -> Texts:
    """The words that go."""

    def of(queries: Callable[[Table], Sequence[str]]) -> list[str]:
        return [words for table in TABLES.values() for words in lineage.texts(db, queries(table), found[table.name])]

    lost = [words for told in found.lost.values() for words in told]
    retold = [sentence for words in of(lambda table: table.retold) for sentence in text.sentences(words)]
    retold += [words for name, told in found.lost.items() if TABLES[name].retold for words in told]
    return Texts(
        of(lambda table: table.personal_texts),
        of(lambda table: table.other_texts) + lost,
        of(lambda table: table.filed),
        of(lambda table: table.statements),
        retold,
    )
