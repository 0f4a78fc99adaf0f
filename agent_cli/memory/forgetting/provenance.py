"""Finds everything derived from selected rows, without changing anything.

A message leads to its exchange, to the facts and skills learned from it, to the summaries of its session and periods,
to recall records and to jobs. Each owner of tables (owners.py) adds the rows derived from those found so far.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from agent_cli import kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import owners
from agent_cli.memory.forgetting.owners import TABLES
from agent_cli.memory.lineage import ErasedLine, ErasureRequest, Table, Walk
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_ORDER = "session message note fact skill summary jotting recollection task schedule section document collection"
_FIRST = "note fact message"  # shown first: what the person wrote


@frozen
class Texts:
    """The erased texts. `statements`: when one stands elsewhere it is a copy, however short."""

    personal: Sequence[str]  # messages of the person, notes, facts and tasks
    other: Sequence[str]  # replies, results of tools and summaries
    files: Sequence[str]  # sections of files
    statements: Sequence[str]
    summary_sentences: Sequence[str]  # tools may have returned them


def select_by_handle(db: Database, owner: str, handles: Iterable[str]) -> ErasureRequest:
    """The rows with these handles, as in m9 or n4. Raises UsageError for an invalid handle or a missing row."""
    found: dict[str, tuple[int, ...]] = {}
    for handle in handles:
        match = re.fullmatch(rf"({kinds.letters(kinds.FORGETTABLE)})(\d{{1,18}})", handle.strip().lower())
        if match is None:
            raise UsageError(
                f"{handle!r} is not a handle: write it like {', '.join(kinds.EXAMPLES[:-1])} or {kinds.EXAMPLES[-1]}, "
                "or name words with --topic"
            )
        kind, id = kinds.BY_LETTER[match[1]], int(match[2])
        if not db.value(f"select 1 from {kind.table} where id = ? and owner = ?", (id, owner)):
            raise UsageError(f"there is no {kind.name} {handle.lower()}; `agent search` finds what there is")
        found[kind.table] = (*found.get(kind.table, ()), id)
    return ErasureRequest(found, owner=owner)


def walk(db: Database, request: ErasureRequest) -> Walk:
    """All rows that a request erases or shortens."""
    found = Walk(request, {})
    for table, rows in request.rows.items():
        found.add(table, rows)
    for owner in owners.OWNERS:
        owner.derive(db, found)
    about = [*found.handles, *(ids.handle("session", id) for id in found.staying("session"))]
    found.add("job", [id for id, _, _ in jobs.about(db, about)])
    return found


def lines(db: Database, found: Walk, limit: int) -> list[ErasedLine]:
    """(handle, day, words) of erased rows, those the person wrote first; at most `limit`, or all if it is negative."""
    listed: list[ErasedLine] = []
    for table in (table for table in owners.in_order(f"{_FIRST} {_ORDER}") if table.line):
        room = limit if limit < 0 else max(0, limit - len(listed))
        query = f"""select id, datetime({table.day or table.time}, utc_offset || ' minutes'), {table.line}
                    from {table.name} where {table.line_condition} and id {{ids}} order by id limit {room}"""
        listed += [
            (f"{table.letter}{id}" if table.letter else table.label, str(day)[:10], table.format_line(*words))
            for id, day, *words in lineage.rows(db, query, found[table.name])
        ]
    return listed


def counts(db: Database, found: Walk) -> dict[str, int]:
    """The number of erased rows of each kind."""
    counted: dict[str, int] = {}
    for table in owners.in_order(_ORDER):
        for (name, _), condition in table.counts.items():
            query = f"select count(*) from {table.name} where {condition} and id {{ids}}"
            counted[name] = lineage.column(db, query, found[table.name])[0]
        if table.partial_names:
            counted[table.partial_names[0]] = len(found.staying(table.name))
    return {name: many for name, many in counted.items() if many}


def texts(db: Database, found: Walk) -> Texts:
    """The erased texts of a walk."""

    def of(queries: Callable[[Table], Sequence[str]]) -> list[str]:
        return [words for table in TABLES.values() for words in lineage.texts(db, queries(table), found[table.name])]

    removed = [words for sentences in found.removed_texts.values() for words in sentences]
    repeated = [sentence for words in of(lambda table: table.summary_texts) for sentence in text.sentences(words)]
    repeated += [words for name, texts in found.removed_texts.items() if TABLES[name].summary_texts for words in texts]
    return Texts(
        of(lambda table: table.personal_texts),
        of(lambda table: table.other_texts) + removed,
        of(lambda table: table.file_texts),
        of(lambda table: table.statements),
        repeated,
    )
