"""The tables of the word and trigram indexes: created, merged, repaired, rewritten and counted.

Of an import words are found first: trigrams are made behind it, and until then the last passage that has them is noted.
Segments are not merged during an import either, but all at once behind it.
"""

from collections.abc import Iterable, Iterator, Mapping

from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged

_COMMON = 500  # rows with a word from which counting takes time
_LARGE, _CHANGED = 20_000, 0.01  # rows from which common words are counted again only when so many were added
_UNMERGED = 12  # new passages left unmerged; with 16 segments a turn would have to merge them itself

_WORDS = """create virtual table {name} using fts5(own, author, date, facts, grams, content='passage_text',
    content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')"""
_TRIGRAMS = """create virtual table {name} using fts5(own, facts, content='passage_text', content_rowid='id',
    tokenize='trigram remove_diacritics 1', detail=none, columnsize=0)"""
COLUMNS = {"words": ("own", "author", "date", "facts", "grams"), "trigrams": ("own", "facts")}
_UNTIL = "trigrams until"  # key of the last passage with trigrams
_IMPORT = "import"  # key of an import whose indexes are not condensed yet
# Settings of FTS5. During an import: 32 MB of new words before they are written, and no merge of all segments at once.
_USUALLY = {"hashsize": 1 << 20, "crisismerge": 16}
_IMPORTING = {"hashsize": 32 << 20, "crisismerge": 1000}
DEFINITIONS = {"words": _WORDS, "trigrams": _TRIGRAMS}


def table(db: Database, index: str) -> str:
    """The table of the index "words" or "trigrams", created when missing. Raises IndexDamaged in a read-only file."""
    name = meta.get(db, f"index {index}")
    if name is None and db.read_only:
        raise IndexDamaged(f"{db.path}: nothing has been indexed yet")
    return name or make(db, index, f"{index}_1")


def make(db: Database, index: str, name: str) -> str:
    with db.write():
        db.execute(DEFINITIONS[index].format(name=name))
        db.execute(f"insert into {name} ({name}, rank) values ('secure-delete', 1)")
        db.execute(f"insert into {name} ({name}, rank) values ('automerge', 0)")  # merging is done when idle
        meta.put(db, f"index {index}", name)
    return name


def drop(db: Database, index: str) -> str:
    """Drop an index; returns a name for the next, a new one when the old one cannot be dropped."""
    name = table(db, index)
    try:
        with db.index_access(), db.write():
            db.execute(f"drop table if exists {name}")
        return name
    except IndexDamaged:
        return f"{index}_{int(name.rpartition('_')[2]) + 1}"


def names(db: Database) -> dict[str, str]:
    """The tables of the indexes to write to: all but damaged ones, which are rebuilt later."""
    damaged = meta.damaged_indexes(db)
    return {index: table(db, index) for index in DEFINITIONS if index not in damaged}


def trigrams_until(db: Database) -> int | None:
    """The last passage with trigrams, while those of later ones are still to be made; None when all have them."""
    noted = meta.get(db, _UNTIL)
    return None if noted is None else int(noted)


def note_trigrams(db: Database, until: int | None) -> None:
    if until is None:
        meta.drop(db, _UNTIL)
    else:
        meta.put(db, _UNTIL, str(until))


def begin_import(db: Database, last: int) -> None:
    """Leave the trigrams of all passages after the last one, and merging, until their words are found."""
    note_trigrams(db, last)
    meta.put(db, _IMPORT, "")
    configure(db, _IMPORTING)


def is_importing(db: Database) -> bool:
    """Whether an import was indexed, and its indexes are not condensed yet."""
    return meta.get(db, _IMPORT) is not None


def configure(db: Database, settings: Mapping[str, int]) -> None:
    for index, name in names(db).items():
        for setting, value in settings.items():
            with meta.tolerate_damage(db, index):
                db.execute(f"insert into {name} ({name}, rank) values (?, ?)", (setting, value))


def count_without_trigrams(db: Database) -> int:
    until = trigrams_until(db)
    return 0 if until is None else int(db.value("select count(*) from passage where id > ?", (until,)))


def add(db: Database, index: str, name: str, first: int, last: int) -> None:
    columns = ", ".join(COLUMNS[index])
    with meta.tolerate_damage(db, index):
        query = f"""insert into {name} (rowid, {columns})
                    select id, {columns} from passage_text where id between ? and ?"""
        db.execute(query, (first, last))


def rebuild(db: Database, index: str, name: str) -> None:
    db.execute(f"insert into {name} ({name}) values ('rebuild')")
    if index == "trigrams":
        note_trigrams(db, None)


def repair(db: Database, index: str) -> None:
    """Repair a damaged index: rebuild it in place, else drop and recreate it, else create it under another name."""
    name = table(db, index)
    try:
        with db.index_access(), db.write():
            rebuild(db, index, name)
            meta.clear_damaged(db, index)
        return
    except IndexDamaged:
        pass
    with db.write():
        rebuild(db, index, make(db, index, drop(db, index)))
        meta.clear_damaged(db, index)


def needs_merge(db: Database) -> bool:
    """Whether enough passages were added since the last merge for another to speed up searches."""
    newest, merged = int(db.value("select max(id) from passage") or 0), meta.number(db, "merged")
    return not merged <= newest < merged + _UNMERGED  # ids start again after a rebuild


def merge(db: Database, pages: int = 200) -> None:
    """Merge some segments of the indexes, when idle."""
    newest = db.value("select max(id) from passage") or 0
    for index in DEFINITIONS:
        name = table(db, index)
        with meta.tolerate_damage(db, index):
            db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (pages,))
    meta.put(db, "merged", str(newest))


def condense(db: Database, pages: int = 500) -> Iterator[None]:
    """Merge each index into one segment, so many pages in a transaction; this removes what erasing lazily left."""
    for index in DEFINITIONS:
        name, merge_pages = table(db, index), -pages  # negative: merge all segments into one
        while True:
            before = db.value("select total_changes()")
            with meta.tolerate_damage(db, index):
                db.execute(f"insert into {name} ({name}, rank) values ('merge', ?)", (merge_pages,))
            if db.value("select total_changes()") < before + 2:  # FTS5 signals that nothing was left to do
                break
            merge_pages = pages
            yield
    if is_importing(db):
        with db.write():
            configure(db, _USUALLY)
            meta.drop(db, _IMPORT)


def has_page_terms(db: Database, words: Iterable[str]) -> bool:
    """Whether one of these words, or most of it, is a page key of the word index: a prefix of the first word of a page,
    which FTS5 leaves when the word is deleted, even with secure-delete. It may end within a character."""
    stems = {stem.encode() for tokens in db.tokens_of(words) for stem in tokens}
    prefixes = {stem[:length] for stem in stems for length in range(min(6, len(stem)), len(stem) + 1)}
    terms = db.column(f"select substr(cast(term as blob), 2) from {table(db, 'words')}_idx")
    return not prefixes.isdisjoint(terms)


def rewrite(db: Database, how: str = "optimize") -> None:
    """Rewrite the indexes: "optimize" merges their segments, of which one alone is rebuilt as all are by "rebuild"."""
    for index in DEFINITIONS:
        name = table(db, index)
        with meta.tolerate_damage(db, index):
            pieces = db.value(f"select count(distinct segid) from {name}_idx")
            if how == "rebuild" or pieces < 2:
                rebuild(db, index, name)
            else:
                db.execute(f"insert into {name} ({name}) values (?)", (how,))


def id_range(files: bool, id: str = "rowid") -> str:
    """SQL: whether a passage is of a file, or of anything else."""
    return f"{id} < 0" if files else f"{id} > 0"


_common: dict[tuple[str, str, bool], tuple[int, int]] = {}
"""Rows with common words of large files, and how many rows these had in all when they were counted."""


def count(db: Database, name: str, match: str, rows: int, files: bool) -> int:
    """The number of rows that match, of so many in all; of a common word in a large file as of late."""
    key = db.path, match, files
    before, count = _common.get(key, (0, 0))
    if db.in_memory or rows < _LARGE or abs(rows - before) > _CHANGED * rows:
        sql = f"select count(*) from {name} where {name} match ? and {id_range(files)}"
        count = int(db.value(sql, (match,)))
        if count >= _COMMON and rows >= _LARGE and not db.in_memory:
            _common[key] = rows, count
    return count
