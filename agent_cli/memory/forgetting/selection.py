"""Selects rows by handle, topic or time span, and finds everything derived from them, without changing anything. Each
owner of tables adds the rows derived from those found so far."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from agent_cli import kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.forgetting.tables import OWNERS, SHORTENED, TABLES
from agent_cli.memory.lineage import ErasedLine, ErasureRequest, Table, Walk
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen


def are_handles(words: Iterable[str]) -> bool:
    """Whether each of the words is a handle of what can be forgotten, as in m9 or m9.2."""
    return all(re.fullmatch(HANDLE, word.lower()) for word in words)


def in_order(first: str) -> list[Table]:
    """All tables, those in `first` (names with spaces) before the others."""
    return [TABLES[name] for name in dict.fromkeys([*first.split(), *TABLES])]


def select_by_topic(
    db: Database, owner: str, topic: str, since: str | None = None, until: str | None = None
) -> ErasureRequest:
    """The rows with all words of the topic, in any order and inflection; without a topic, all of that time span."""
    if topic:
        index.refresh_all(db, math.inf)
    first, last = (datetime.fromisoformat(moment).timestamp() if moment else None for moment in (since, until))
    values = {"owner": owner, "topic": topic.casefold(), "since": since, "until": until, "home": f"{Path.home()}/"}
    found: dict[str, set[int]] = {}
    for table in TABLES.values():
        literal = f"""select id from {table.name} where owner = :owner and {table.time} >= coalesce(:since, '')
                      and {table.time} < coalesce(:until, 'a') and ({table.mentions})"""
        found[table.name] = set(db.column(literal, values) if table.mentions and (topic or table.dated) else ())
    for kind, id in recall.all_with_words(db, topic, Filter(owner, since=first, until=last)):
        found[kind].add(id)
    selected = {name: tuple(sorted(ids)) for name, ids in found.items() if ids}
    mentioned = {name: selected.pop(name, ()) for name in ("summary", "skill")} if topic else {}
    return ErasureRequest(selected, mentioned, owner, topic)


HANDLE = rf"({kinds.letters(kinds.FORGETTABLE)})(\d{{1,18}})(?:\.(\d{{1,6}}))?"  # m9.2: a sentence of a message
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
    sentences: dict[int, frozenset[int]] = {}
    for handle in handles:
        match = re.fullmatch(HANDLE, handle.strip().lower())
        if match is None:
            raise UsageError(
                f"{handle!r} is not a handle: write it like {', '.join(kinds.EXAMPLES[:-1])} or {kinds.EXAMPLES[-1]}, "
                "or name words with --topic"
            )
        kind, id = kinds.BY_LETTER[match[1]], int(match[2])
        if not db.value(f"select 1 from {kind.name} where id = ? and owner = ?", (id, owner)):
            raise UsageError(f"there is no {kind.name} {handle.lower()}; `agent search` finds what there is")
        if match[3] is None:
            found[kind.name] = (*found.get(kind.name, ()), id)
            continue
        role, words = db.row("select role, text from message where id = ?", (id,)) or ("", "")
        if kind.name != "message" or role == "tool":
            raise UsageError("only a message or a reply has sentences that can be cut out, as in m9.2")
        count, number = len(text.sentence_spans(words)), int(match[3])
        if not 1 <= number <= count:
            raise UsageError(f"m{id} has {text.counted(count, 'sentence')}, so there is no m{id}.{number}")
        sentences[id] = sentences.get(id, frozenset()) | {number}
    return ErasureRequest(found, owner=owner, sentences=sentences)


def walk(db: Database, request: ErasureRequest) -> Walk:
    """All rows that a request erases or shortens."""
    found = Walk(request, {})
    for table, rows in request.rows.items():
        found.add(table, rows)
    for owner in OWNERS:
        owner.derive(db, found)
        lineage.derive(db, found, owner.tables)
    about = [*found.handles, *(ids.handle("session", id) for id in found.staying("session"))]
    found.add("job", [id for id, _, _ in jobs.about(db, about)])
    return found


def lines(db: Database, found: Walk, limit: int) -> tuple[list[ErasedLine], int]:
    """Erased rows and sentences, those the person wrote first, at most `limit`; and the number of all."""
    day = "select id, datetime(at, utc_offset || ' minutes') from message where id {ids}"
    cut = [
        (f"m{id}.{number}", str(at)[:10], sentence)
        for id, at in lineage.rows(db, day, found.staying("message"))
        for number, sentence in found.partial["message"][id].removed.items()
    ]
    listed, count = cut[:limit], len(cut)
    for table in (table for table in in_order(f"{_FIRST} {_ORDER}") if table.line):
        query = f"""select id, datetime({table.day or table.time}, utc_offset || ' minutes'), {table.line}
                    from {table.name} where {table.line_condition} and id {{ids}} order by id
                    limit {max(0, limit - len(listed))}"""
        listed += [
            (f"{table.letter}{id}" if table.letter else table.label, str(day)[:10], table.format_line(*words))
            for id, day, *words in lineage.rows(db, query, found[table.name])
        ]
        count += _count(db, found, table, table.line_condition)
    return listed, count


def counts(db: Database, found: Walk) -> dict[str, int]:
    counted: dict[str, int] = {}
    for table in in_order(_ORDER):
        counted |= {name: _count(db, found, table, condition) for (name, _), condition in table.counted.items()}
        if table.name in SHORTENED:
            counted[f"{next(iter(table.counted))[0]} in part"] = len(found.staying(table.name))
    return {name: many for name, many in counted.items() if many}


def _count(db: Database, found: Walk, table: Table, condition: str) -> int:
    query = f"select count(*) from {table.name} where {condition} and id {{ids}}"
    return int(lineage.column(db, query, found[table.name])[0])


def texts(db: Database, found: Walk) -> Texts:
    def of(queries: Callable[[Table], Sequence[str]]) -> list[str]:
        return [words for table in TABLES.values() for words in table.texts(db, queries(table), found[table.name])]

    cut = [sentence for message in found.partial.get("message", {}).values() for sentence in message.removed.values()]
    removed = [words for sentences in found.removed_texts.values() for words in sentences]
    summaries = TABLES["summary"].texts(db, ["text"], found["summary"])
    sentences = [sentence for words in summaries for sentence in text.sentences(words)]
    sentences += found.removed_texts.get("summary", [])
    is_alone = found.request.elsewhere and found.request.rows.keys() == {"summary"}  # perhaps after an undo there
    return Texts(
        of(lambda table: table.personal_texts) + cut,
        of(lambda table: table.other_texts) + removed,
        of(lambda table: table.file_texts),
        of(lambda table: table.statements),
        [] if is_alone else sentences,
    )
