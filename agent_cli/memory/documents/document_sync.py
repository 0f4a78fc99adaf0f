"""Synchronizes documents with the files in their folders.

A file with the same size and time is not opened, so a second sync costs little more than walking the folders. A file
that is opened and has the same bytes only gets a new stamp. Files are read outside of transactions and written a few at
a time, each completely or not at all, and indexed at once, so an interrupted sync continues where it stopped and finds
what it has read. Ids follow the order of the names, so interruptions do not change them.
"""

import os
import time as seconds
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.memory.documents import document_sections, documents
from agent_cli.memory.documents.document_sections import UnreadableFile
from agent_cli.memory.documents.documents import LEFT_OUT, Collection, File, ReadFile, Unreachable
from agent_cli.memory.scope import short_path
from agent_cli.memory.search import index
from agent_cli.store import jobs
from agent_cli.store.db import Database
from agent_cli.text import counted, without_surrogates

JOB = "documents"  # kind of the job
EVERY = timedelta(minutes=5)  # how long after the last sync of a collection the job is queued again
_SHOWN = {"deleted": "gone", "erased": "forgotten", "warnings": "kept"}  # in JSON
_COUNTED = {"new": "new", "changed": "changed", "moved": "moved", "deleted": "gone"} | {
    "failed": "not readable (`agent docs list --failed` says why)",
    "unchanged": "unchanged",
    "elsewhere": "added before with something else",
}
_BATCH, _BYTES, _SECONDS = 50, 2_000_000, 0.25  # most files, bytes and seconds of reading in a transaction


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
        return {_SHOWN.get(name, name): value for name, value in asdict(self).items()}

    def sentence(self) -> str:
        counts = [f"{many} {said}" for name, said in _COUNTED.items() if (many := getattr(self, name))]
        sentence = f"documents: {', '.join(counts) or 'no files'}"
        if self.erased:
            sentence += f"\nof {counted(self.erased, 'file')} what you had erased is not read again; "
            sentence += "write it anew to have it back"
        return sentence


@dataclass
class _Comparison:
    waiting: dict[str, File] = field(default_factory=dict)  # to be read
    left: dict[str, int] = field(default_factory=dict)  # documents without a file
    closed: list[Unreachable] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    elsewhere: int = 0


def sync(
    db: Database, owner: str, time: clock.Clock, tally: SyncResult, only: Sequence[str] | None = None
) -> Iterator[str]:
    """Synchronize the collections of an owner, or those with these patterns; yields progress."""
    compared, taken = [], documents.paths(db, owner)
    for each in documents.collections(db, owner):
        if only is not None and each.pattern not in only:
            continue
        yield f"{short_path(each.pattern)}: looking for files"
        found = _compare(db, each, taken)
        erased = documents.erased_paths(db, found.waiting)
        for path in erased:
            del found.waiting[path]
        if only is not None:
            tally.erased += len(erased) + len(documents.partly_erased(db, found.same))
        if warning := _missing_warning(each, found):
            tally.warnings.append(warning)
            continue
        yield from _store(db, owner, each, found, time, tally)
        taken |= dict.fromkeys(found.waiting, each.id)
        compared.append((each, found.left))
    for each, left in compared:  # at the end: a file may have moved between collections
        stamps = documents.stamps(db, each.id)
        deleted = {path: id for path, id in left.items() if path in stamps and stamps[path][0] == id}
        tally.deleted += sum(stamps[path][3] != LEFT_OUT for path in deleted)
        if deleted:
            documents.delete(db, list(deleted.values()))
        documents.mark_synced(db, each.id, time())


def queue(db: Database, now: datetime) -> None:
    sql = "select 1 from collection where synced_at is null or synced_at < ? limit 1"
    if db.value(sql, (clock.utc(now - EVERY),)) and not jobs.parked_recently(db, JOB, "all", now):
        jobs.add(db, JOB, "all", now)


def refresh(db: Database, owner: str, sections: Sequence[int], time: clock.Clock) -> bool:
    """Read the files of these sections again where their time or size has changed; whether one has."""
    rows = db.rows(
        """select distinct d.path, d.size, d.changed_ns, d.collection_id
           from section s join document d on d.id = s.document_id
           where d.owner = ? and s.id in (select value from json_each(?))""",
        (owner, sections),
    )
    among = {each.id: each for each in documents.collections(db, owner)}
    changed = []
    for path, size, at, collection in rows:
        with suppress(OSError):  # a sync tells whether it was deleted, or its disk is away
            now = os.stat(path)
            if (now.st_size, now.st_mtime_ns) != (size, at):
                changed.append((among[collection], _read((path, path, now.st_size, now.st_mtime_ns))))
    if changed:
        with db.write():
            for collection, file in changed:
                documents.store(db, owner, collection, file, time)
        index.refresh_all(db)
    return bool(changed)


def _compare(db: Database, among: Collection, taken: Mapping[str, int]) -> _Comparison:
    """`taken`: {path: collection}; a file belongs to the first collection that covers it."""
    known, found = documents.stamps(db, among.id), _Comparison()
    left = dict(known)
    for each in documents.walk(among.pattern):
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
    root, name = documents.base(among.pattern), short_path(among.pattern)
    closed = next((each for each in found.closed if each.path == without_surrogates(root)), None)
    if closed:
        return f"{name} cannot be found now ({closed.why}): what was read from it is kept; `agent docs rm` removes it"
    if found.left and not (found.waiting or found.same or found.closed) and _seems_unmounted(root, among.synced_at):
        warning = f"{name} is empty, as if a disk were not mounted: what was read from it is kept"
        return f"{warning}; `agent docs rm` removes it"
    return ""


def _seems_unmounted(root: str, synced_at: str | None) -> bool:
    """Whether an empty folder has not changed since the last sync, so that nothing was deleted from it."""
    try:
        empty, changed = not os.listdir(root), os.stat(root).st_mtime
    except OSError:
        return False
    return empty and synced_at is not None and changed < datetime.fromisoformat(synced_at).timestamp()


def _store(
    db: Database, owner: str, among: Collection, found: _Comparison, time: clock.Clock, tally: SyncResult
) -> Iterator[str]:
    tally.unchanged += len(found.same)
    tally.elsewhere += found.elsewhere
    for each in found.closed:
        tally.warnings.append(f"{short_path(each.path)} cannot be opened ({each.why}): what was read from it is kept")
    done, waiting = 0, iter(found.waiting.values())
    while batch := _read_batch(waiting):
        with db.write():
            for file in batch:
                for outcome in documents.store(db, owner, among, file, time):
                    setattr(tally, outcome, getattr(tally, outcome) + 1)
        index.refresh_all(db)
        done += len(batch)
        yield f"{short_path(among.pattern)}: {done} of {len(found.waiting)} files read"


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
    path, real, size, changed = file
    read = ReadFile(path, size, changed)
    try:
        raw = document_sections.read(real)
        read = ReadFile(path, raw.size, raw.changed_ns, raw.hash)
        title, pieces = document_sections.split(path, raw.data)
        return replace(read, title=title, pieces=pieces)
    except UnreadableFile as error:
        return replace(read, error=str(error))
