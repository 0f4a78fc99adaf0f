"""Documents: the rows of the person's files, and how they follow the files.

A file with the same size and time is not opened by a sync. Files are read outside of transactions, written a few at a
time and indexed at once, so an interrupted sync continues where it stopped. Sections with unchanged text keep their
ids, so that d12 keeps its meaning. A file removed from memory leaves a row without sections, or the next sync would add
it again.

Erased parts of files stay out of memory: hashes of the parts are stored (tombstones.py). Sections and paragraphs are
recognized in any file; lines, sentences and headings in their own file only, except those that the rest of the file
also has: the line that closes a function is no secret. A file erased by its path is not opened.

Left out of a folder are hidden and generated files (node_modules, __pycache__, Python environments, caches marked by a
CACHEDIR.TAG), and links that lead out of it. Links to folders are not followed, which also avoids loops.
"""

import os
import re
import time as seconds
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISREG
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.documents import document_sections
from agent_cli.memory.documents.document_sections import ABOVE, BETWEEN, SectionText, UnreadableFile
from agent_cli.memory.scope import Scope, file_location, place_of, short_path
from agent_cli.memory.search import index, word_tables
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.text import counted, sentences, without_surrogates
from agent_cli.values import frozen

File = tuple[str, str, int, int]
"""(path as stored, path to open, size in bytes, time in nanoseconds)."""

JOB = "documents"  # kind of the job
EVERY = timedelta(minutes=5)  # how long after the last sync of a collection the job is queued again
LEFT_OUT = "removed by you"
_BATCH, _BYTES, _SECONDS = 50, 2_000_000, 0.25  # most files, bytes and seconds of reading in a transaction
_MANY_SECTIONS = 20  # sections from which a removal leaves words in the index until it is condensed
_PASSAGES_PER_SECTION = 2500  # passages that can be reindexed in the time it takes to erase one section at once
_SHOWN = {"deleted": "gone", "erased": "forgotten", "warnings": "kept"}  # in JSON
_COUNTED = {"new": "new", "changed": "changed", "moved": "moved", "deleted": "gone"} | {
    "failed": "not readable (`agent docs list --failed` says why)",
    "unchanged": "unchanged",
    "elsewhere": "added before with something else",
}
_GENERATED_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "$RECYCLE.BIN"))
_GENERATED_MARKERS = ("CACHEDIR.TAG", "pyvenv.cfg")  # a folder with one of these is generated
_WILDCARD = re.compile(r"[*?\[]")


@frozen
class Unreachable:
    """A path that cannot be read; its documents are kept."""

    path: str
    why: str


Stamp = tuple[int, int, int, str]
"""(document id, size, time in nanoseconds, error) of a file."""


@frozen
class Collection:
    id: int
    pattern: str
    place: str
    synced_at: str | None


@frozen
class Section(ids.Handled):
    kind = "section"
    id: int
    document: int
    position: int
    line: int
    page: int | None
    heading: str
    text: str
    path: str
    title: str

    @property
    def where(self) -> str:
        return file_location(self.path, self.line, self.page)

    def describe(self) -> dict[str, Any]:
        names = ("path", "line", "page", "title", "heading", "text")
        return {"id": self.handle} | {name: getattr(self, name) for name in names}


@dataclass
class SyncResult:
    new: int = 0
    changed: int = 0
    moved: int = 0
    deleted: int = 0
    failed: int = 0
    unchanged: int = 0
    elsewhere: int = 0  # files of another collection
    taken_out: int = 0
    erased: int = 0  # files of which something was erased
    warnings: list[str] = field(default_factory=list)  # sentences about unreachable paths

    @property
    def anything(self) -> bool:
        return bool(self.new or self.changed or self.moved or self.deleted or self.failed)

    def describe(self) -> dict[str, Any]:
        return {_SHOWN.get(name, name): value for name, value in vars(self).items()}

    def sentence(self) -> str:
        counts = [f"{many} {said}" for name, said in _COUNTED.items() if (many := getattr(self, name))]
        sentence = f"documents: {', '.join(counts) or 'no files'}"
        if self.erased:
            sentence += f"\nof {counted(self.erased, 'file')} what you had erased is not read again; "
            sentence += "write it anew to have it back"
        return sentence


@dataclass
class _Comparison:
    """The files of a collection, compared with its rows."""

    waiting: dict[str, File] = field(default_factory=dict)  # to be read
    left: dict[str, int] = field(default_factory=dict)  # documents without a file
    closed: list[Unreachable] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    elsewhere: int = 0


@frozen
class ReadFile:
    """The result of reading a file: its sections, or an error. The hash is empty when it was not read completely."""

    path: str
    size: int
    changed_ns: int
    hash: str = ""
    title: str = ""
    pieces: Sequence[SectionText] = ()
    error: str = ""


def absolute(typed: str, folder: str) -> str:
    """A typed path or glob as stored: absolute, links resolved up to the first wildcard."""
    path = os.path.join(folder, os.path.expanduser(typed))
    if os.path.lexists(path) or not _WILDCARD.search(typed):
        return without_surrogates(os.path.realpath(path))
    root, pattern = _split_glob(os.path.normpath(path))
    return without_surrogates(os.path.join(os.path.realpath(root), pattern))


def existing(typed: str, folder: str) -> str:
    """The same of what is there. Raises UsageError."""
    pattern = absolute(typed, folder)
    if not typed.strip() or not os.path.exists(base(pattern)):
        raise UsageError(f"there is no file or folder {typed!r}")
    return pattern


def base(pattern: str) -> str:
    return pattern if os.path.lexists(pattern) else _split_glob(pattern)[0]


def _split_glob(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest."""
    parts = pattern.split("/")
    first = next((n for n, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def covers(pattern: str) -> Callable[[str], bool]:
    """A test whether a path belongs to a pattern: the file itself, in the folder, or matching the glob."""
    if not _WILDCARD.search(pattern) or os.path.lexists(pattern):
        inside = pattern.rstrip("/") + "/"
        return lambda path: path == pattern or path.startswith(inside)
    folder, rest = _split_glob(pattern)
    inside, parts = folder.rstrip("/") + "/", rest.replace("[^", "[!").split("/")
    return lambda path: path.startswith(inside) and _fits(path[len(inside) :].split("/"), parts)


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the names of a path are those of a glob: * within a name, ** over any number of folders."""
    if not (names and parts):
        return not (names or parts)
    if parts[0] != "**":
        return fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])
    return len(parts) == 1 or any(_fits(names[skipped:], parts[1:]) for skipped in range(len(names)))


def walk(pattern: str) -> Iterator[File | Unreachable]:
    """The files in order of name, and unreachable paths, among them a missing root."""
    root = base(pattern)
    try:
        found = os.stat(root)
    except OSError as error:
        yield Unreachable(root, error.strerror or "it does not exist")
        return
    if S_ISREG(found.st_mode):
        yield _file(root, found)
        return
    wanted = covers(pattern)
    for each in _walk_folder(root):
        if isinstance(each, Unreachable) or wanted(each[0]):
            yield each


def _walk_folder(root: str) -> Iterator[File | Unreachable]:
    """Depth first and without recursion, because folders may be nested deeper than the recursion limit."""
    waiting: list[os.DirEntry[str] | None] = [None]  # None: the root
    while waiting:
        entry = waiting.pop()
        path = entry.path if entry else root
        try:
            if entry is None or entry.is_dir(follow_symlinks=False):
                with os.scandir(path) as found:
                    entries = sorted(found, key=lambda each: each.name, reverse=True)
                if entry is None or not any(each.name in _GENERATED_MARKERS for each in entries):
                    waiting += (each for each in entries if each.name[0] != "." and each.name not in _GENERATED_FOLDERS)
            elif entry.is_symlink():
                target = os.path.realpath(path)
                below = os.path.relpath(target, root).split(os.sep)  # ".." where it lies elsewhere
                if not any(each.startswith(".") for each in below) and os.path.isfile(target):
                    yield _file(target, os.stat(target))
            elif entry.is_file(follow_symlinks=False):
                yield _file(path, entry.stat(follow_symlinks=False))
        except OSError as error:  # deleted meanwhile, or no permission to enter its folder
            yield Unreachable(without_surrogates(path), error.strerror or "the disk cannot be read")


def _file(path: str, found: os.stat_result) -> File:
    return path if path.isascii() else without_surrogates(path), path, found.st_size, found.st_mtime_ns


_SECTION = """select s.id, s.document_id, s.position, s.line, s.page, s.heading, s.text, d.path, d.title
    from section s join document d on d.id = s.document_id"""


def collections(db: Database, owner: str) -> list[Collection]:
    rows = db.rows("select id, pattern, place, synced_at from collection where owner = ? order by id", (owner,))
    return [Collection(*row) for row in rows]


def owners(db: Database) -> list[str]:
    return db.column("select distinct owner from collection order by 1")


def sync(
    db: Database, owner: str, time: clock.Clock, tally: SyncResult, only: Sequence[str] | None = None
) -> Iterator[str]:
    """Synchronize the collections of an owner, or those with these patterns; yields progress."""
    compared = list[tuple[Collection, dict[str, int]]]()
    taken: dict[str, int] = dict(db.rows("select path, collection_id from document where owner = ?", (owner,)))
    for each in collections(db, owner):
        if only is not None and each.pattern not in only:
            continue
        yield f"{short_path(each.pattern)}: looking for files"
        found = _compare(db, each, taken)
        erased = erased_paths(db, found.waiting)
        found.waiting = {path: file for path, file in found.waiting.items() if path not in erased}
        if only is not None:
            tally.erased += len(erased) + len(partly_erased(db, found.same))
        if warning := _missing_warning(each, found):
            tally.warnings.append(warning)
            continue
        tally.unchanged += len(found.same)
        tally.elsewhere += found.elsewhere
        closed = (f"{short_path(one.path)} cannot be opened ({one.why})" for one in found.closed)
        tally.warnings += (f"{warning}: what was read from it is kept" for warning in closed)
        done, waiting = 0, iter(found.waiting.values())
        while batch := _read_batch(waiting):
            with db.write():
                for file in batch:
                    for outcome in store(db, owner, each, file, time):
                        setattr(tally, outcome, getattr(tally, outcome) + 1)
            index.refresh_all(db)
            done += len(batch)
            yield f"{short_path(each.pattern)}: {done} of {len(found.waiting)} files read"
        taken |= dict.fromkeys(found.waiting, each.id)
        compared.append((each, found.left))
    for each, left in compared:  # at the end: a file may have moved between collections
        stamps = _stamps(db, each.id)
        deleted = {path: id for path, id in left.items() if path in stamps and stamps[path][0] == id}
        tally.deleted += sum(stamps[path][3] != LEFT_OUT for path in deleted)
        with db.write():
            erase(db, _sections_of(db, list(deleted.values())), lazily=True)
            db.execute("delete from document where id in (select value from json_each(?))", (deleted.values(),))
            db.execute("update collection set synced_at = ? where id = ?", (clock.utc(time()), each.id))


def queue(db: Database, now: datetime) -> None:
    sql = "select 1 from collection where synced_at is null or synced_at < ? limit 1"
    if db.value(sql, (clock.utc(now - EVERY),)) and not jobs.parked_recently(db, JOB, "all", now):
        jobs.add(db, JOB, "all", now)


def refresh(db: Database, owner: str, sections: Sequence[int], time: clock.Clock) -> bool:
    """Read the files of these sections again where their time or size has changed; whether one has."""
    query = """select distinct d.path, d.size, d.changed_ns, d.collection_id
               from section s join document d on d.id = s.document_id
               where d.owner = ? and s.id in (select value from json_each(?))"""
    rows = db.rows(query, (owner, sections))
    among = {each.id: each for each in collections(db, owner)}
    changed = []
    for path, size, at, collection in rows:
        with suppress(OSError):  # a sync tells whether it was deleted, or its disk is away
            now = os.stat(path)
            if (now.st_size, now.st_mtime_ns) != (size, at):
                changed.append((among[collection], _read((path, path, now.st_size, now.st_mtime_ns))))
    if changed:
        with db.write():
            for collection, file in changed:
                store(db, owner, collection, file, time)
        index.refresh_all(db)
    return bool(changed)


def _compare(db: Database, among: Collection, taken: Mapping[str, int]) -> _Comparison:
    """`taken`: {path: collection}; a file belongs to the first collection that covers it."""
    known, found = _stamps(db, among.id), _Comparison()
    left = dict(known)
    for each in walk(among.pattern):
        if isinstance(each, Unreachable):
            if each.path not in known or not os.path.isdir(os.path.dirname(each.path)):  # else a file that was deleted
                found.closed.append(each)
            continue
        path, _, size, changed = each
        stamp = left.pop(path, None)
        if stamp is None:
            if path not in taken:
                found.waiting[path] = each
            elif taken[path] != among.id:  # else a link to a file seen already
                found.elsewhere += 1
        elif stamp[1:3] == (size, changed) and not (stamp[3] and document_sections.may_disappear(stamp[3])):
            found.same.append(path)
        elif stamp[3] != LEFT_OUT:
            found.waiting[path] = each
    behind = tuple(f"{each.path}/" for each in found.closed)
    found.left = {path: stamp[0] for path, stamp in left.items() if not f"{path}/".startswith(behind)}
    return found


def _missing_warning(among: Collection, found: _Comparison) -> str:
    """Why a collection is left unchanged (its folder is missing, or seems an unmounted disk), or empty."""
    root, name = base(among.pattern), short_path(among.pattern)
    closed = next((each for each in found.closed if each.path == without_surrogates(root)), None)
    if closed:
        return f"{name} cannot be found now ({closed.why}): what was read from it is kept; `agent docs rm` removes it"
    if found.left and among.synced_at and not (found.waiting or found.same or found.closed):
        synced = datetime.fromisoformat(among.synced_at).timestamp()
        with suppress(OSError):
            if not os.listdir(root) and os.stat(root).st_mtime < synced:  # nothing was deleted from it since
                warning = f"{name} is empty, as if a disk were not mounted: what was read from it is kept"
                return f"{warning}; `agent docs rm` removes it"
    return ""


def _read_batch(waiting: Iterator[File]) -> list[ReadFile]:
    """The next files, as many as one transaction may store."""
    batch, size, since = list[ReadFile](), 0, seconds.monotonic()
    for each in waiting:
        batch.append(_read(each))
        size += each[2]
        if len(batch) == _BATCH or size > _BYTES or seconds.monotonic() - since > _SECONDS:
            break
    return batch


def _read(file: File) -> ReadFile:
    import hashlib  # the start of a conversation reads no file

    path, real, size, changed = file
    read = ReadFile(path, size, changed)
    try:
        data = document_sections.read(real)
        read = replace(read, hash=hashlib.sha256(data).hexdigest())
        title, pieces = document_sections.split(path, data)
        return replace(read, title=title, pieces=pieces)
    except UnreadableFile as error:
        return replace(read, error=str(error))


def add(db: Database, scope: Scope, pattern: str, time: clock.Clock) -> Collection:
    """Add a collection: a file, folder or glob. Its files that were removed before are included again."""
    now, covered = time(), covers(pattern)
    with db.write():
        found = db.value("select id from collection where owner = ? and pattern = ?", (scope.owner, pattern))
        if found is None:
            root = Path(base(pattern))
            place = place_of(root if root.is_dir() else root.parent)
            row = {"uid": ids.new(now), "owner": scope.owner, "place": place, "pattern": pattern}
            found = db.insert("collection", row | {"at": clock.utc(now), "utc_offset": clock.offset(now)})
            events.append(db, time, "documents added", str(found), actor="person", content=pattern)
        out = db.rows("select id, path from document where owner = ? and error = ?", (scope.owner, LEFT_OUT))
        db.execute_many("delete from document where id = ?", [(id,) for id, path in out if covered(path)])
    return next(each for each in collections(db, scope.owner) if each.id == found)


def _stamps(db: Database, collection: int) -> dict[str, Stamp]:
    sql = "select path, id, size, changed_ns, error from document where collection_id = ? order by path"
    return {path: (id, size, changed, error) for path, id, size, changed, error in db.rows(sql, (collection,))}


def store(db: Database, owner: str, among: Collection, read: ReadFile, time: clock.Clock) -> tuple[str, ...]:
    """Store a file as the rows are now, in the caller's transaction; returns the counters of SyncResult to increase."""
    now, columns = time(), "select id, hash, error, collection_id, path from document where owner = ?"
    known = db.row(f"{columns} and path = ?", (owner, read.path))
    outcome = "changed" if known else "new"
    if known is None and erased_paths(db, [read.path]):
        return ("erased",)
    if known is None and read.hash:  # one with the same bytes whose old path no longer exists
        same = db.rows(f"{columns} and hash = ? order by id", (owner, read.hash))
        known = next((row for row in same if "\ufffd" not in row[4] and not os.path.lexists(row[4])), None)
        outcome = "moved" if known else "new"
    if known is None:
        row = {"uid": ids.new(now), "owner": owner, "collection_id": among.id, "path": read.path, "size": 0}
        row |= {"changed_ns": 0, "at": clock.utc(now), "utc_offset": clock.offset(now), "read_at": clock.utc(now)}
        known = (db.insert("document", row), "", "", among.id, "")
    id, hash, error, collection, was = known
    seen = {"path": read.path, "size": read.size, "changed_ns": read.changed_ns, "read_at": clock.utc(now)}
    db.update("document", id, seen)
    if error == LEFT_OUT:
        return ("taken_out",)
    if was == read.path and hash and hash == read.hash and not error and not read.error:
        return ("unchanged",)
    title, pieces = _without_erased(db, read, was, now)
    held = {"hash": read.hash, "title": title, "error": read.error, "collection_id": among.id}
    db.update("document", id, held)
    unchanged = _update_sections(db, owner, id, read.changed_ns, pieces)
    if unchanged and collection != among.id:
        index.reindex(db, "d", unchanged)  # their place has changed
    return ("failed" if read.error else outcome, *(["erased"] if list(pieces) != list(read.pieces) else []))


def _update_sections(
    db: Database, owner: str, document: int, changed_ns: int, pieces: Sequence[SectionText]
) -> list[int]:
    old = db.rows(
        "select id, position, line, page, heading, text from section where document_id = ? order by position",
        (document,),
    )
    paired, rows = _pair(old, pieces), {row[0]: row for row in old}
    erase(db, list(rows.keys() - paired.values()), lazily=True)
    moment = clock.from_timestamp(changed_ns / 1e9)
    for position, piece in enumerate(pieces):
        if position not in paired:
            row = {"owner": owner, "document_id": document, "position": position, **vars(piece)}
            db.insert("section", row | {"at": clock.utc(moment), "utc_offset": clock.offset(moment)})
            continue
        id, *place, heading, _ = rows[paired[position]]
        if heading != piece.heading:
            index.erase(db, "d", [id])
            db.update("section", id, {"heading": piece.heading})
        if place != [position, piece.line, piece.page]:
            db.update("section", id, {"position": position, "line": piece.line, "page": piece.page})
    return list(paired.values())


def _pair(old: Sequence[tuple[Any, ...]], pieces: Sequence[SectionText]) -> dict[int, int]:
    """{position: section id} of sections with the same text; equal ones in their order."""
    free: dict[str, list[int]] = {}
    for id, *_, text in reversed(old):
        free.setdefault(text, []).append(id)
    return {position: free[each.text].pop() for position, each in enumerate(pieces) if free.get(each.text)}


_NAMES = ", "
_MARKS = " \t-*+>#|_`~•"  # of a list, quotation, heading or table cell
# What tombstones know: a file erased by its path, that parts of a file were erased, and each of these.
_WHOLE, _PARTLY, _PART = "file {}".format, "parts of {}".format, "in {}: {}".format


def to_remember(db: Database, sections: Sequence[int], documents: Sequence[int]) -> list[str]:
    """The keys to remember of sections and whole documents before they are erased."""
    sql = "select path from document where id in (select value from json_each(?))"
    found = dict.fromkeys(_WHOLE(path) for path in db.column(sql, (documents,)))
    query = """select d.path, s.id in (select value from json_each(?1)), s.heading, s.text
               from section s join document d on d.id = s.document_id
               where d.id in (select document_id from section where id in (select value from json_each(?1)))"""
    rows = db.rows(query, (sections,))
    left = {(path, part) for path, erased, *texts in rows if not erased for part in _small_parts(*texts)}
    for path, erased, heading, text in rows:
        if erased:
            parts = [_PART(path, part) for part in _small_parts(heading, text) if (path, part) not in left]
            found |= dict.fromkeys([*_large_parts(text), _PARTLY(path), *parts])
    return list(found)


def erased_paths(db: Database, paths: Iterable[str]) -> set[str]:
    """The files among these that were erased by their path."""
    return _known(db, {_WHOLE(each): each for each in paths})


def partly_erased(db: Database, paths: Iterable[str]) -> set[str]:
    """The files among these of which parts were erased."""
    return _known(db, {_PARTLY(each): each for each in paths})


def _without_erased(db: Database, read: ReadFile, was: str, now: datetime) -> tuple[str, Sequence[SectionText]]:
    """The title and the sections without the erased parts of a file. `was`: its former path."""
    title, pieces = read.title, read.pieces
    if not tombstones.any_exist(db):
        return title, pieces
    wide = {part for text in (title, *(each.text for each in pieces)) for part in _large_parts(text)}
    large, small = tombstones.erased_among(db, wide), set[str]()
    if places := partly_erased(db, {read.path, was} - {""}):
        every = {title, *(part for each in pieces for part in _small_parts(each.heading, each.text))} - {""}
        small = _known(db, {_PART(place, each): each for place in places for each in every})
        if places == {was}:  # it has moved
            tombstones.add(db, [_PARTLY(read.path), *(_PART(read.path, each) for each in small)], now)
    if not (large or small):
        return title, pieces
    cleaned = [_clean_section(each, large, small) for each in pieces]
    return "" if title in large | small else title, [each for each in cleaned if each.text.strip()]


def _clean_section(piece: SectionText, large: set[str], small: set[str]) -> SectionText:
    """A section without erased parts; empty when all of it was erased."""
    parts = piece.text.split(BETWEEN)
    stay = [] if piece.text in large else [_clean_paragraph(part, small) for part in parts if part not in large]
    text = piece.text if stay == parts else BETWEEN.join(filter(None, stay))
    above = []
    for heading in piece.heading.split(ABOVE):
        names = heading.split(_NAMES)
        if heading not in small and (left := [name for name in names if name not in small]):
            above.append(heading if left == names else _NAMES.join(left))
    return replace(piece, heading=ABOVE.join(filter(None, above)), text=text)


def _clean_paragraph(paragraph: str, erased: set[str]) -> str:
    """A paragraph without these lines and sentences; when it loses a sentence, also without line breaks."""
    if not erased:
        return paragraph
    lines_left = "\n".join(line for line in paragraph.split("\n") if line.strip(_MARKS) not in erased)
    all_sentences = sentences(" ".join(lines_left.split()))
    stay = [each for each in all_sentences if each.strip(_MARKS) not in erased]
    return lines_left if len(stay) == len(all_sentences) else " ".join(stay)


def _large_parts(text: str) -> list[str]:
    """The parts recognized in any file: the whole text and its paragraphs, without short ones."""
    return [part for part in (text, *text.split(BETWEEN)) if len(part.strip()) >= tombstones.SHORT]


def _small_parts(heading: str, text: str) -> list[str]:
    """The parts recognized in their own file: headings and the names in them, lines and sentences without markup."""
    above = heading.split(ABOVE)
    names = [name for each in above for name in each.split(_NAMES)]
    all_sentences = [each for part in text.split(BETWEEN) for each in sentences(" ".join(part.split()))]
    return [each for each in (*above, *names, *(e.strip(_MARKS) for e in (*text.split("\n"), *all_sentences))) if each]


def _known(db: Database, by_key: dict[str, str]) -> set[str]:
    return {by_key[each] for each in tombstones.erased_among(db, by_key)}


def remove(db: Database, owner: str, pattern: str, time: clock.Clock) -> str:
    """Remove files from memory; returns a sentence about them. Raises UsageError when no document matches."""
    covered = covers(pattern)
    with db.write():
        every = collections(db, owner)
        whole = [each.id for each in every if each.pattern == pattern or covered(each.pattern)]
        others = [(each.id, covers(each.pattern)) for each in every if each.id not in whole]
        rows = db.rows("select id, path, collection_id from document where owner = ? and error <> ?", (owner, LEFT_OUT))
        inside, named = list[int](), list[int]()
        for id, path, collection in rows:
            other = next((other for other, has in others if has(path)), None) if collection in whole else collection
            if other is None:
                inside.append(id)
            elif collection in whole or covered(path):
                named.append(id)
                db.execute("update document set collection_id = ? where id = ?", (other, id))
        if not (whole or named):
            raise UsageError(f"{short_path(pattern)} is not among your documents; `agent docs list` shows them")
        going = _sections_of(db, [*inside, *named])
        many = len(going) >= _MANY_SECTIONS
        erase(db, going, lazily=many)
        db.execute("delete from document where collection_id in (select value from json_each(?))", (whole,))
        db.execute_many("delete from collection where id = ?", [(id,) for id in whole])
        db.execute_many("update document set error = ?, title = '' where id = ?", [(LEFT_OUT, id) for id in named])
        events.append(db, time, "documents removed", "", actor="person", content=pattern)
    for _ in word_tables.condense(db) if many else ():
        pass
    count = len(inside) + len(named)
    files = "1 file is" if count == 1 else f"{count} files are"
    return f"{short_path(pattern)}: {files} out of memory; on the disk nothing changed"


def erase(db: Database, found: Sequence[int], *, lazily: bool = False) -> None:
    """Delete sections, in the caller's transaction. They come back when their file changes, unless tombstones know
    them. `lazily`: see index.erase."""
    if found:
        index.erase(db, "d", found, lazily=lazily)
        db.execute("delete from section where id in (select value from json_each(?))", (found,))


def erase_all(db: Database, sections: Sequence[int], whole: Sequence[int], collections: Sequence[int]) -> bool:
    """Delete in the caller's transaction; returns whether the index must be rewritten, as for many sections."""
    passages = int(db.value("select count(*) from passage"))
    many = len(sections) > max(_MANY_SECTIONS, passages // _PASSAGES_PER_SECTION)
    of = "select document_id from section where id in (select value from json_each(?))"
    db.execute(f"update document set title = '' where id in ({of})", (sections,))
    erase(db, sections, lazily=many)
    for table, erased in (("document", whole), ("collection", collections)):
        db.execute(f"delete from {table} where id in (select value from json_each(?))", (erased,))
    return many


def get(db: Database, id: int, owner: str) -> Section:
    """Raises UsageError when this owner has no such section."""
    row = db.row(f"{_SECTION} where s.id = ? and s.owner = ?", (id, owner))
    if row is None:
        raise UsageError(f"there is no section d{id}; `agent search --kind file WORDS` finds some")
    return Section(*row)


def neighbours(db: Database, section: Section, count: int = 1) -> list[Section]:
    sql = f"{_SECTION} where s.document_id = ? and s.position between ? and ? order by s.position"
    ends = section.position - count, section.position + count
    return [Section(*row) for row in db.rows(sql, (section.document, *ends))]


def listing(db: Database, owner: str) -> list[dict[str, Any]]:
    query = """select c.pattern, c.place, c.synced_at, count(*) filter (where d.error = '') as files,
                  (select count(*) from document d join section s on s.document_id = d.id
                   where d.collection_id = c.id) as sections,
                  count(*) filter (where d.error not in ('', :out)) as failed,
                  count(*) filter (where d.error = :out) as left_out
           from collection c left join document d on d.collection_id = c.id
           where c.owner = :owner group by c.id order by c.pattern"""
    return db.records(query, {"owner": owner, "out": LEFT_OUT})


def files(db: Database, owner: str, *, failed: bool = False) -> list[dict[str, Any]]:
    query = f"""select d.path, d.title, d.size, d.error, d.read_at,
                       (select count(*) from section where document_id = d.id) as sections,
                       (select 'd' || min(id) from section where document_id = d.id) as first
                from document d where d.owner = ? and (d.error <> '' {"" if failed else "or 1"}) order by d.path"""
    return db.records(query, (owner,))


def _sections_of(db: Database, found: Sequence[int]) -> list[int]:
    sql = "select id from section where document_id in (select value from json_each(?))"
    return db.column(sql, (found,))
