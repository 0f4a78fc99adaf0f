"""Passages, and the word and trigram indexes over them; derived, and rebuilt at any time.

A trigger marks each row that was written as stale; `refresh` recreates its passages and updates every index with them,
so that they cannot diverge. The indexes store no text of their own (external content over the view passage_text).
Secrets in a text are not indexed. The context of a message is not indexed either: ranking reads it from the log.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, TypeVar

from agent_cli import clock, kinds
from agent_cli.memory.language import predicates, secrets, terms
from agent_cli.memory.search import damaged_indexes, graph, sources, vectors
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged, Row, TransactionLost

# Passages of files have ids below zero, so that files and messages are searched separately, by a range of ids.
FILES = kinds.BY_NAME["section"].letter

T = TypeVar("T")

# Files come last, because there may be very many. Each half is a range of the key.
_STALE = f"""select kind, row from stale where kind > '{FILES}' union all select kind, row from stale
    where kind <= '{FILES}' limit ?"""

_FILE_IDS = "file passages"  # key of the number of ids below zero in use
_EPOCH = date(1970, 1, 1)
_BATCH = 500
_MIN_FOR_THREAD = 20_000  # passages from which a second thread is worth it
_REBUILT = 50  # removing a passage takes as long as indexing a hundred
_UNMERGED = 12  # new passages left unmerged; with 16 segments a turn would have to merge them itself

_WORDS = """create virtual table {name} using fts5(own, author, date, facts, grams, content='passage_text',
    content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')"""
_TRIGRAMS = """create virtual table {name} using fts5(own, facts, content='passage_text', content_rowid='id',
    tokenize='trigram remove_diacritics 1', detail=none, columnsize=0)"""
_COLUMNS = {"words": ("own", "author", "date", "facts", "grams"), "trigrams": ("own", "facts")}
_DEFINITIONS = {"words": _WORDS, "trigrams": _TRIGRAMS}


def table(db: Database, index: str) -> str:
    """The table of the index "words" or "trigrams", created when missing. Raises IndexDamaged in a read-only file."""
    name = meta.get(db, f"index {index}")
    if name is None and db.read_only:
        raise IndexDamaged(f"{db.path}: nothing has been indexed yet")
    return name or _make(db, index, f"{index}_1")


def _make(db: Database, index: str, name: str) -> str:
    with db.write():
        db.execute(_DEFINITIONS[index].format(name=name))
        db.execute(f"insert into {name} ({name}, rank) values ('secure-delete', 1)")
        db.execute(f"insert into {name} ({name}, rank) values ('automerge', 0)")  # merging is done when idle
        meta.put(db, f"index {index}", name)
    return name


def search_in_background(db: Database, search: Callable[[Database], T]) -> Callable[[], T]:
    """Start a search, on another thread when the index is large; returns a function that waits for its result."""
    if (db.value("select max(id) from passage") or 0) < _MIN_FOR_THREAD:
        return lambda: search(db)
    return db.read_in_background(search)


def refresh(db: Database, limit: int = _BATCH) -> int:
    """Index stale rows, at most `limit`, in one transaction; returns how many were read."""
    if not db.value("select 1 from stale limit 1"):
        return 0
    damaged = damaged_indexes.damaged(db)
    try:
        with db.write():
            names = _names(db)
            stale = db.rows(_STALE, (limit,))
            for kind in kinds.SEARCHABLE:
                if rows := [row for letter, row in stale if letter == kind.letter]:
                    _remove(db, names, kind.letter, rows)
                    _add(db, names, kind.letter, db.rows(sources.source_of(kind.name).passages, (rows,)))
            db.execute_many("delete from stale where kind = ? and row = ?", stale)
    except TransactionLost:
        if damaged_indexes.damaged(db) == damaged:
            raise
        return refresh(db, limit)  # without the index just found damaged
    return len(stale)


def refresh_all(db: Database) -> None:
    """Index all stale rows, a transaction for each batch."""
    while refresh(db):
        pass


def erase(db: Database, kind: str, row: int) -> None:
    """Remove a row from every index. Runs in the caller's transaction."""
    _remove(db, _names(db), kind, [row])


def erase_many(db: Database, kind: str, rows: Sequence[int]) -> None:
    """Remove many rows of a kind from every index. Runs in the caller's transaction."""
    _remove(db, _names(db), kind, rows)


def erase_lazily(db: Database, kind: str, rows: Sequence[int]) -> None:
    """Remove very many rows: not found any more at once, but their words stay in the file until `condense`.

    Rewriting every page with a word of them would take a hundred times as long (5 ms a row).
    """
    names = _names(db)
    _set_secure(db, names, 0)
    _remove(db, names, kind, rows)
    _set_secure(db, names, 1)


def reindex(db: Database, kind: str, rows: Sequence[int]) -> None:
    """Remove rows from every index, and mark them stale. Runs in the caller's transaction."""
    erase_many(db, kind, rows)
    db.execute_many("insert into stale values (?, ?) on conflict do nothing", [(kind, row) for row in rows])


def drop_unused(db: Database) -> None:
    """Delete the names and places that no passage has. Runs in the caller's transaction."""
    db.execute("delete from speaker where name not in (select author from passage)")
    db.execute("delete from area where id not in (select area from passage)")


def rebuild(db: Database) -> Iterator[tuple[int, int]]:
    """Rebuild passages and indexes in batches; yields (done, total) rows."""
    with db.write():
        for index in _DEFINITIONS:
            _make(db, index, _drop_index(db, index))
            damaged_indexes.clear(db, index)
        vectors.recreate(db)
        graph.rebuild(db)
        db.execute("delete from passage")
        db.execute("delete from sqlite_sequence where name = 'passage'")  # the size is estimated from the ids
        meta.drop(db, _FILE_IDS)
        db.execute("delete from stale")
        db.execute(
            """insert into stale select 'm', id from message
               where finish is not null and role in ('user', 'assistant') and text <> ''"""
        )
        for kind in kinds.SEARCHABLE:
            if kind.letter != "m":
                db.execute(f"insert into stale select ?, id from {kind.table}", (kind.letter,))
    total = count_stale(db)
    while left := count_stale(db):
        yield total - left, total
        refresh(db, 5 * _BATCH)
    yield total, total


def count_stale(db: Database) -> int:
    """How many rows are not indexed yet."""
    return int(db.value("select count(*) from stale"))


def repair(db: Database, index: str) -> None:
    """Repair a damaged index: rebuild it in place, else drop and recreate it, else create it under another name."""
    name = table(db, index)
    try:
        with db.index_access(), db.write():
            db.execute(f"insert into {name} ({name}) values ('rebuild')")
            damaged_indexes.clear(db, index)
        return
    except IndexDamaged:
        pass
    with db.write():
        fresh = _make(db, index, _drop_index(db, index))
        db.execute(f"insert into {fresh} ({fresh}) values ('rebuild')")
        damaged_indexes.clear(db, index)


def needs_merge(db: Database) -> bool:
    """Whether enough passages were added since the last merge for another to speed up searches."""
    newest, merged = int(db.value("select max(id) from passage") or 0), meta.number(db, "merged")
    return not merged <= newest < merged + _UNMERGED  # ids start again after a rebuild


def merge(db: Database, pages: int = 200) -> None:
    """Merge some segments of the indexes, when idle."""
    newest = db.value("select max(id) from passage") or 0
    for index in _DEFINITIONS:
        name = table(db, index)
        with damaged_indexes.tolerate(db, index):
            db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (pages,))
    meta.put(db, "merged", str(newest))


def condense(db: Database, pages: int = 500) -> Iterator[None]:
    """Merge each index into one segment, so many pages in a transaction; this removes what `erase_lazily` left."""
    for index in _DEFINITIONS:
        name, merge_pages = table(db, index), -pages  # negative: merge all segments into one
        while True:
            before = db.value("select total_changes()")
            with damaged_indexes.tolerate(db, index):
                db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (merge_pages,))
            if db.value("select total_changes()") < before + 2:  # FTS5 signals that nothing was left to do
                break
            merge_pages = pages
            yield


def has_page_terms(db: Database, words: Iterable[str]) -> bool:
    """Whether one of these words, or most of it, is a page key of the word index.

    FTS5 keeps a prefix of the first word of each page in a separate table, and leaves it there when that word is
    deleted, even with secure-delete.
    """
    stems = {stem for tokens in db.tokens_of(words) for stem in tokens}
    prefixes = {stem[:length] for stem in stems for length in range(min(6, len(stem)), len(stem) + 1)}
    rows = db.rows(f"select cast(substr(cast(term as blob), 2) as text) from {table(db, 'words')}_idx")
    return any(term in prefixes for (term,) in rows)


def rewrite(db: Database, how: str = "optimize") -> None:
    """Rewrite the indexes: "optimize" merges their segments, "rebuild" indexes the passages again.

    An index of one segment has nothing to merge: it is rebuilt.
    """
    for index in _DEFINITIONS:
        name = table(db, index)
        with damaged_indexes.tolerate(db, index):
            pieces = db.value(f"select count(distinct segid) from {name}_idx")
            db.execute(f"insert into {name} ({name}) values (?)", (how if pieces > 1 else "rebuild",))


def _drop_index(db: Database, index: str) -> str:
    """Drop an index; returns a name for the next, a new one when the old one cannot be dropped."""
    name = table(db, index)
    try:
        with db.index_access(), db.write():
            db.execute(f"drop table if exists {name}")
        return name
    except IndexDamaged:
        return f"{index}_{int(name.rpartition('_')[2]) + 1}"


def _set_secure(db: Database, names: dict[str, str], secure: int) -> None:
    for index, name in names.items():
        with damaged_indexes.tolerate(db, index):
            db.execute(f"insert into {name} ({name}, rank) values ('secure-delete', ?)", (secure,))


def _names(db: Database) -> dict[str, str]:
    """The tables of the indexes to write to: all but damaged ones, which are rebuilt later."""
    damaged = damaged_indexes.damaged(db)
    return {index: table(db, index) for index in _DEFINITIONS if index not in damaged}


def _add(db: Database, names: dict[str, str], kind: str, sources: Sequence[Row]) -> None:
    """Create the passages of rows, and index them."""
    last = _last(db, kind)
    step = -1 if kind == FILES else 1
    areas: dict[tuple[str, str], int] = {}
    made: list[tuple[Any, ...]] = []
    for row, owner, place, session, author, at, offset, text, facts in sources:
        if (owner, place) not in areas:
            areas[owner, place] = _area(db, owner, place)
        moment = clock.local(at, offset)
        day = (moment.date() - _EPOCH).days
        hidden = secrets.spans(text) if kind != "f" else []  # a fact is masked when adopted, or typed by the person
        for start, length in terms.chunks(text):
            own_text = text[start : start + length]
            masked = secrets.mask_piece(text, hidden, start, length) if hidden else own_text
            grams = terms.bigrams(masked) or None
            made.append(
                (
                    last + step * (1 + len(made)),
                    kind,
                    row,
                    start,
                    length,
                    areas[owner, place],
                    session,
                    author,
                    int(moment.timestamp()),
                    day,
                    _facts(facts) if facts and not start else None,
                    grams,
                    masked if masked != own_text else None,
                )
            )
    if not made:
        return
    db.execute_many(
        "insert into day values (?, ?) on conflict do nothing", [(day, _day_words(day)) for day in {m[9] for m in made}]
    )
    db.execute_many(
        "insert into speaker values (?) on conflict do nothing", [(name,) for name in {m[7] for m in made} if name]
    )
    db.execute_many(
        """insert into passage (id, kind, row, start, length, area, session_id, author, at, day, facts, grams, masked)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        made,
    )
    for index, name in names.items():
        columns = ", ".join(_COLUMNS[index])
        with damaged_indexes.tolerate(db, index):
            db.execute(
                f"""insert into {name} (rowid, {columns})
                    select id, {columns} from passage_text where id between ? and ?""",
                sorted((made[0][0], made[-1][0])),
            )
    if kind == FILES:
        meta.put(db, _FILE_IDS, str(-made[-1][0]))


def _last(db: Database, kind: str) -> int:
    """The last id of a passage; ids are not reused, because vectors refer to them."""
    if kind == FILES:
        return -meta.number(db, _FILE_IDS)
    return int(db.value("select seq from sqlite_sequence where name = 'passage'") or 0)


def _facts(encoded: str) -> str:
    """The statements of facts (JSON [[statement, predicate], …]), with words that questions about them use."""
    statements = [
        f"{statement} {predicates.search_words(predicate) if predicate else ''}"
        for statement, predicate in json.loads(encoded)
    ]
    return "\n".join(line.strip() for line in statements)


def _remove(db: Database, names: dict[str, str], kind: str, rows: Sequence[int]) -> None:
    """Remove passages: from the indexes first, which need the words that were indexed."""
    passages = [
        id
        for (id,) in db.rows(
            "select p.id from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value", (rows, kind)
        )
    ]
    if not passages:
        return
    with damaged_indexes.tolerate(db, "vectors"):
        vectors.erase(db, passages)
    many = len(passages) >= _BATCH // 5 and len(passages) * _REBUILT > db.value("select count(*) from passage")
    for index, name in names.items():
        if not many:
            columns = ", ".join(_COLUMNS[index])
            with damaged_indexes.tolerate(db, index):
                db.execute(
                    f"""insert into {name} ({name}, rowid, {columns}) select 'delete', t.id, {columns}
                        from json_each(?) c cross join passage_text t on t.id = c.value""",
                    (passages,),
                )
    db.execute("delete from passage where id in (select value from json_each(?))", (passages,))
    for index, name in names.items():
        if many:
            with damaged_indexes.tolerate(db, index):
                db.execute(f"insert into {name} ({name}) values ('rebuild')")


def _area(db: Database, owner: str, place: str) -> int:
    known = db.value("select id from area where owner = ? and place = ?", (owner, place))
    return int(known or db.insert("insert into area (owner, place) values (?, ?)", (owner, place)))


def _day_words(day: int) -> str:
    """The words that a day is found by."""
    moment = _EPOCH + timedelta(days=day)
    return f"{moment.day} {moment:%B %Y %A}"
