"""Bring what is known of documents to what stands in the folders.

A file whose size and time are the same is not opened: a second look costs little more than walking the folders. What
is opened and has the same bytes is only stamped anew. Files are read outside of transactions and written a few at a
time, each whole or not at all, and indexed at once: whoever stops in the middle, by Ctrl-C or kill, goes on from there,
and what was read is found already. Ids come in the order of the names, so the rows are the same in the end.
"""

import os
import time as seconds
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from agent_cli import clock
from agent_cli.memory.documents import document_files, document_sections, document_text, document_tombstones, documents
from agent_cli.memory.documents.document_files import File, Gone
from agent_cli.memory.documents.document_text import Unread
from agent_cli.memory.documents.documents import LEFT_OUT, Collection, Read
from agent_cli.memory.scope import short
from agent_cli.memory.search import index
from agent_cli.store import jobs
from agent_cli.store.db import Database
from agent_cli.text import counted, without_surrogates

JOB = "documents"  # the kind of a job
EVERY = timedelta(hours=1)  # how long after the last look at a collection the job is queued again
_BATCH, _BYTES, _SECONDS = 50, 2_000_000, 0.25  # files, their bytes, and the time of reading them, of a transaction


@dataclass
class Tally:
    """What a sync has found so far. `kept`: sentences about what could not be looked into."""

    new: int = 0
    changed: int = 0
    moved: int = 0
    gone: int = 0
    failed: int = 0
    same: int = 0
    out: int = 0
    elsewhere: int = 0  # what another collection has already
    forgotten: int = 0  # of which the person had something erased
    kept: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        return bool(self.new or self.changed or self.moved or self.gone or self.failed)

    def described(self) -> dict[str, Any]:
        return {
            "new": self.new,
            "changed": self.changed,
            "moved": self.moved,
            "gone": self.gone,
            "failed": self.failed,
            "unchanged": self.same,
            "elsewhere": self.elsewhere,
            "taken_out": self.out,
            "forgotten": self.forgotten,
            "kept": self.kept,
        }

    def sentence(self) -> str:
        told = [
            f"{many} {name}"
            for many, name in (
                (self.new, "new"),
                (self.changed, "changed"),
                (self.moved, "moved"),
                (self.gone, "gone"),
                (self.failed, "not readable (agent docs list --failed)"),
                (self.same, "unchanged"),
                (self.elsewhere, "added before with something else"),
            )
            if many
        ]
        of = f"of {counted(self.forgotten, 'file')} what you had erased stays out; to have it again, write it down"
        return "\n".join([f"documents: {', '.join(told) or 'no files'}", *([of] if self.forgotten else [])])


@dataclass
class _Found:
    """What stands in the folders of a collection, beside what is known of it."""

    waiting: dict[str, File] = field(default_factory=dict)  # to be read
    left: dict[str, int] = field(default_factory=dict)  # documents that were not met
    closed: list[Gone] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    elsewhere: int = 0


def sync(db: Database, owner: str, time: clock.Clock, tally: Tally, only: Sequence[str] | None = None) -> Iterator[str]:
    """Look at the collections of an owner, or those of these patterns; gives how far it has come, now and then."""
    looked, taken = [], documents.paths(db, owner)
    for each in documents.collections(db, owner):
        if only is None or each.pattern in only:
            yield f"{short(each.pattern)}: looking"
            found = _compared(db, each, taken)
            tally.forgotten += _leave_out(db, found, asked=only is not None)
            if kept := _missing(each, found):
                tally.kept.append(kept)
                continue
            yield from _put(db, owner, each, found, time, tally)
            taken |= dict.fromkeys(found.waiting, each.id)
            looked.append((each, found.left))
    for each, left in looked:  # only now: a file may have moved from one to another
        known = documents.stamps(db, each.id)
        gone = {path: id for path, id in left.items() if path in known and known[path][0] == id}
        tally.gone += sum(known[path][3] != LEFT_OUT for path in gone)
        if gone:
            documents.lose(db, list(gone.values()))
        documents.synced(db, each.id, time())


def queue(db: Database, now: datetime) -> None:
    """Have the job run where a collection was not looked at for an hour."""
    sql = "select 1 from collection where synced_at is null or synced_at < ? limit 1"
    if db.value(sql, (clock.utc(now - EVERY),)) and not jobs.parked_recently(db, JOB, "all", now):
        jobs.add(db, JOB, "all", now)


def _compared(db: Database, among: Collection, taken: Mapping[str, int]) -> _Found:
    """`taken`: the collection that each file belongs to; where two name a file, the first has it."""
    known, found = documents.stamps(db, among.id), _Found()
    left = dict(known)
    for each in document_files.walk(among.pattern):
        if isinstance(each, Gone):
            if each.path not in known or not os.path.isdir(os.path.dirname(each.path)):  # else a file that was deleted
                found.closed.append(each)
            continue
        path, _, size, changed = each
        stamp = left.pop(path, None)
        if stamp is None:
            if path not in taken:
                found.waiting[path] = each
            elif taken[path] != among.id:  # else a link to what was met already
                found.elsewhere += 1
        elif stamp[1] == size and stamp[2] == changed and not (stamp[3] and document_text.passes(stamp[3])):
            found.same.append(path)
        elif stamp[3] != LEFT_OUT:
            found.waiting[path] = each
    behind = tuple(f"{each.path}/" for each in found.closed)
    found.left = {path: stamp[0] for path, stamp in left.items() if not f"{path}/".startswith(behind)}
    return found


def _leave_out(db: Database, found: _Found, *, asked: bool) -> int:
    """Read no file that was erased by its path; `asked`, how many there are, and others of which a part was."""
    out = document_tombstones.named(db, found.waiting)
    for path in out:
        del found.waiting[path]
    return len(out) + len(document_tombstones.lessened(db, found.same)) if asked else 0


def _missing(among: Collection, found: _Found) -> str:
    """Why a collection is left as it is: its folder is not there, or is the place of a disk that is not mounted."""
    root, name = document_files.base(among.pattern), short(among.pattern)
    closed = next((each for each in found.closed if each.path == without_surrogates(root)), None)
    if closed:
        return f"{name} is not there now ({closed.why}): what was read of it is kept; `agent docs rm` takes it out"
    if found.left and not (found.waiting or found.same or found.closed) and _unmounted(root, among.synced_at):
        told = f"{name} is empty, as if a disk were not mounted: what was read of it is kept"
        return f"{told}; `agent docs rm` takes it out"
    return ""


def _unmounted(root: str, synced_at: str | None) -> bool:
    """Whether an empty folder has been empty for longer than we know its files: nothing was deleted from it since."""
    try:
        empty, changed = not os.listdir(root), os.stat(root).st_mtime
    except OSError:
        return False
    return empty and synced_at is not None and changed < datetime.fromisoformat(synced_at).timestamp()


def _put(db: Database, owner: str, among: Collection, found: _Found, time: clock.Clock, tally: Tally) -> Iterator[str]:
    tally.same += len(found.same)
    tally.elsewhere += found.elsewhere
    for each in found.closed:
        tally.kept.append(f"{short(each.path)} cannot be looked into ({each.why}): what was known of it stays")
    done = 0
    for batch in _batches(list(found.waiting.values())):
        with db.write():
            for read in batch:
                for told in documents.put(db, owner, among, read, time):
                    setattr(tally, told, getattr(tally, told) + 1)
        index.refresh_all(db)
        done += len(batch)
        yield f"{short(among.pattern)}: {done} of {len(found.waiting)} files read"


def _batches(waiting: Sequence[File]) -> Iterator[list[Read]]:
    """Files, read, as many as one transaction takes."""
    held: list[Read] = []
    size, since = 0, seconds.monotonic()
    for each in waiting:
        held.append(read(each))
        size += each[2]
        if len(held) == _BATCH or size > _BYTES or seconds.monotonic() - since > _SECONDS:
            yield held
            held, size, since = [], 0, seconds.monotonic()
    if held:
        yield held


def read(file: File) -> Read:
    """A file, taken apart, or why it is not."""
    path, real, size, changed = file
    try:
        raw = document_text.read(real)
    except Unread as error:
        return Read(path, size, changed, error=str(error))
    try:
        title, pieces = document_sections.split(path, raw.data)
    except Unread as error:
        return Read(path, raw.size, raw.changed_ns, raw.hash, error=str(error))
    return Read(path, raw.size, raw.changed_ns, raw.hash, title, pieces)
