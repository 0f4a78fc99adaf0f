"""What can be found: passages, and the word and trigram indexes over them. Derived; dropped and rebuilt at will.

A trigger marks each row that was written as stale; `refresh` makes its passages anew, by one function for every index,
so that a passage and what is indexed of it can never part. The indexes keep no text of their own (external content over
the view passage_text). A text that holds a secret is indexed without it. What stands before and after a message is not
indexed: ranking reads it from the log.
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

# Passages of files have ids below zero: so files and talk are searched apart, by a range of ids.
FILES = kinds.BY_NAME["section"].letter

T = TypeVar("T")

# Files come last: there may be very many, and they may wait. Each half is a range of the key.
_STALE = f"""select kind, row from stale where kind > '{FILES}' union all select kind, row from stale
    where kind <= '{FILES}' limit ?"""

_FILE_IDS = "file passages"  # how many ids below zero were given
_EPOCH = date(1970, 1, 1)
_BATCH = 500
_MANY = 20_000  # passages from which a second thread pays
_REBUILT = 50  # to take a passage out of an index takes as long as to index a hundred
_UNMERGED = 12  # new passages that are left unmerged; with 16 pieces of an index a turn would have to merge them itself

_WORDS = """create virtual table {name} using fts5(own, author, date, facts, grams, content='passage_text',
    content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')"""
_TRIGRAMS = """create virtual table {name} using fts5(own, facts, content='passage_text', content_rowid='id',
    tokenize='trigram remove_diacritics 1', detail=none, columnsize=0)"""
_COLUMNS = {"words": ("own", "author", "date", "facts", "grams"), "trigrams": ("own", "facts")}
_MADE = {"words": _WORDS, "trigrams": _TRIGRAMS}


def table(db: Database, index: str) -> str:
    """The present name of the index "words" or "trigrams", made when there is none and the file may be written."""
    name = meta.get(db, f"index {index}")
    if name is None and db.read_only:
        raise IndexDamaged(f"{db.path}: nothing has been indexed yet")
    return name or _make(db, index, f"{index}_1")


def _make(db: Database, index: str, name: str) -> str:
    with db.write():
        db.execute(_MADE[index].format(name=name))
        db.execute(f"insert into {name} ({name}, rank) values ('secure-delete', 1)")
        db.execute(f"insert into {name} ({name}, rank) values ('automerge', 0)")  # merging is an idle job
        meta.put(db, f"index {index}", name)
    return name


def beside(db: Database, search: Callable[[Database], T]) -> Callable[[], T]:
    """Begin a search on another thread where there is so much to search that it pays; gives what waits for it."""
    if (db.value("select max(id) from passage") or 0) < _MANY:
        return lambda: search(db)
    return db.read_in_background(search)


def refresh(db: Database, limit: int = _BATCH) -> int:
    """Index what is stale, up to so many rows, in one transaction; returns how many were looked at."""
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
        return refresh(db, limit)  # without the index that has just been found damaged
    return len(stale)


def refresh_all(db: Database) -> None:
    """Index all that is stale, a transaction for each batch."""
    while refresh(db):
        pass


def erase(db: Database, kind: str, row: int) -> None:
    """Take a row out of everything that finds it. Runs in the caller's transaction."""
    _remove(db, _names(db), kind, [row])


def erase_many(db: Database, kind: str, rows: Sequence[int]) -> None:
    """The same of many rows of a kind."""
    _remove(db, _names(db), kind, rows)


def erase_soon(db: Database, kind: str, rows: Sequence[int]) -> None:
    """The same of very many, found no more at once; their words leave the pages of the indexes with `condense`.

    To write each page anew that holds a word of them takes 5 ms for each, a hundred times as long.
    """
    names = _names(db)
    _set_secure(db, names, 0)
    _remove(db, names, kind, rows)
    _set_secure(db, names, 1)


def again(db: Database, kind: str, rows: Sequence[int]) -> None:
    """Take rows out of everything that finds them, and have them indexed anew. Runs in the caller's transaction."""
    erase_many(db, kind, rows)
    db.execute_many("insert into stale values (?, ?) on conflict do nothing", [(kind, row) for row in rows])


def tidy(db: Database) -> None:
    """Drop the names and places that no passage has any more. Runs in the caller's transaction."""
    db.execute("delete from speaker where name not in (select author from passage)")
    db.execute("delete from area where id not in (select area from passage)")


def rebuild(db: Database) -> Iterator[tuple[int, int]]:
    """Make passages and indexes anew, in batches; gives (done, all)."""
    with db.write():
        for index in _MADE:
            _make(db, index, _left(db, index))
            damaged_indexes.clear(db, index)
        vectors.renew(db)
        graph.rebuild(db)
        db.execute("delete from passage")
        db.execute("delete from sqlite_sequence where name = 'passage'")  # how many there are is read off the ids
        meta.drop(db, _FILE_IDS)
        db.execute("delete from stale")
        db.execute(
            """insert into stale select 'm', id from message
               where finish is not null and role in ('user', 'assistant') and text <> ''"""
        )
        for kind in kinds.SEARCHABLE:
            if kind.letter != "m":
                db.execute(f"insert into stale select ?, id from {kind.table}", (kind.letter,))
    total = waiting(db)
    while left := waiting(db):
        yield total - left, total
        refresh(db, 5 * _BATCH)
    yield total, total


def waiting(db: Database) -> int:
    """How many rows are not indexed yet."""
    return int(db.value("select count(*) from stale"))


def mend(db: Database, index: str) -> None:
    """Make a damaged index whole: rebuilt in place, else dropped and made again, else made under another name."""
    name = table(db, index)
    try:
        with db.index_access(), db.write():
            db.execute(f"insert into {name} ({name}) values ('rebuild')")
            damaged_indexes.clear(db, index)
        return
    except IndexDamaged:
        pass
    with db.write():
        fresh = _make(db, index, _left(db, index))
        db.execute(f"insert into {fresh} ({fresh}) values ('rebuild')")
        damaged_indexes.clear(db, index)


def unmerged(db: Database) -> bool:
    """Whether so much came in since the last merge that another would make searches quicker."""
    newest, merged = int(db.value("select max(id) from passage") or 0), meta.number(db, "merged")
    return not merged <= newest < merged + _UNMERGED  # the ids begin anew with a rebuild


def merge(db: Database, pages: int = 200) -> None:
    """A little of the work that keeps the indexes quick; for idle moments."""
    newest = db.value("select max(id) from passage") or 0
    for index in _MADE:
        name = table(db, index)
        with damaged_indexes.tolerate(db, index):
            db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (pages,))
    meta.put(db, "merged", str(newest))


def condense(db: Database, pages: int = 500) -> Iterator[None]:
    """Merge each index into one piece, so many pages in a transaction: what was erased soon is in it no more."""
    for index in _MADE:
        name, told = table(db, index), -pages  # below zero: all pieces are to become one
        while True:
            before = db.value("select total_changes()")
            with damaged_indexes.tolerate(db, index):
                db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (told,))
            if db.value("select total_changes()") < before + 2:  # so FTS5 says that nothing was left to do
                break
            told = pages
            yield


def finds_pages_by(db: Database, words: Iterable[str]) -> bool:
    """Whether the word index keeps one of these, or the better part of it, to find a page by.

    FTS5 keeps the beginning of the first word of each page in a table of its own, and leaves it there when that word is
    deleted, secure-delete or not.
    """
    stems = {stem for tokens in db.tokens_of(words) for stem in tokens}
    kept = {stem[:length] for stem in stems for length in range(min(6, len(stem)), len(stem) + 1)}
    rows = db.rows(f"select cast(substr(cast(term as blob), 2) as text) from {table(db, 'words')}_idx")
    return any(term in kept for (term,) in rows)


def rewrite(db: Database, how: str = "optimize") -> None:
    """Write the indexes anew: "optimize" merges what there is, "rebuild" makes it from the passages again.

    An index of one piece is merged with nothing: it is rebuilt.
    """
    for index in _MADE:
        name = table(db, index)
        with damaged_indexes.tolerate(db, index):
            pieces = db.value(f"select count(distinct segid) from {name}_idx")
            db.execute(f"insert into {name} ({name}) values (?)", (how if pieces > 1 else "rebuild",))


def _left(db: Database, index: str) -> str:
    """Drop an index; gives a name for the next: another one where the pages of the old are beyond reach."""
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
    """The indexes that are written to: a damaged one takes in everything when it is made anew."""
    damaged = damaged_indexes.damaged(db)
    return {index: table(db, index) for index in _MADE if index not in damaged}


def _add(db: Database, names: dict[str, str], kind: str, sources: Sequence[Row]) -> None:
    """Make passages of rows, and index them."""
    last = _last(db, kind)
    step = -1 if kind == FILES else 1
    areas: dict[tuple[str, str], int] = {}
    made: list[tuple[Any, ...]] = []
    for row, owner, place, session, author, at, offset, text, facts in sources:
        if (owner, place) not in areas:
            areas[owner, place] = _area(db, owner, place)
        moment = clock.local(at, offset)
        day = (moment.date() - _EPOCH).days
        hidden = secrets.spans(text) if kind != "f" else []  # of a fact: masked when it came, or typed by the person
        for start, length in terms.chunks(text):
            own = text[start : start + length]
            masked = secrets.mask_piece(text, hidden, start, length) if hidden else own
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
                    masked if masked != own else None,
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
    """The id that a passage was given last; none is given twice, for what was made of it goes by its id."""
    if kind == FILES:
        return -meta.number(db, _FILE_IDS)
    return int(db.value("select seq from sqlite_sequence where name = 'passage'") or 0)


def _facts(told: str) -> str:
    """What facts say, with the words that ask for such."""
    lines = [
        f"{statement} {predicates.search_words(predicate) if predicate else ''}" for statement, predicate in json.loads(told)
    ]
    return "\n".join(line.strip() for line in lines)


def _remove(db: Database, names: dict[str, str], kind: str, rows: Sequence[int]) -> None:
    """Out of the indexes first, with the very words that were indexed."""
    gone = [
        id
        for (id,) in db.rows(
            "select p.id from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value", (rows, kind)
        )
    ]
    if not gone:
        return
    with damaged_indexes.tolerate(db, "vectors"):
        vectors.erase(db, gone)
    many = len(gone) >= _BATCH // 5 and len(gone) * _REBUILT > db.value("select count(*) from passage")
    for index, name in names.items():
        if not many:
            columns = ", ".join(_COLUMNS[index])
            with damaged_indexes.tolerate(db, index):
                db.execute(
                    f"""insert into {name} ({name}, rowid, {columns}) select 'delete', t.id, {columns}
                        from json_each(?) c cross join passage_text t on t.id = c.value""",
                    (gone,),
                )
    db.execute("delete from passage where id in (select value from json_each(?))", (gone,))
    for index, name in names.items():
        if many:
            with damaged_indexes.tolerate(db, index):
                db.execute(f"insert into {name} ({name}) values ('rebuild')")


def _area(db: Database, owner: str, place: str) -> int:
    known = db.value("select id from area where owner = ? and place = ?", (owner, place))
    return int(known or db.insert("insert into area (owner, place) values (?, ?)", (owner, place)))


def _day_words(day: int) -> str:
    """What a day can be found by."""
    moment = _EPOCH + timedelta(days=day)
    return f"{moment.day} {moment:%B %Y %A}"
