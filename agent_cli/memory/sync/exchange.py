"""One exchange with the person's other machines: their segments are read, what is gone there is erased here, and what
has changed here is written as this machine's next segment."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from agent_cli.errors import AgentError
from agent_cli.memory import tombstones
from agent_cli.memory.forgetting.erasure_receipt import Receipt
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.sync import merge
from agent_cli.memory.sync.merge import Taken
from agent_cli.store import changes, events, jobs, meta, segments
from agent_cli.store.changes import FORGOTTEN, Data
from agent_cli.store.db import Database, RowsRefused
from agent_cli.store.segments import Entry, Folder

JOB = "sync"
_WRITTEN, _FOLDER = "segments written", "folder of the last exchange"  # in meta
_CLEANED = "erasures after which segments were cleaned"
_PAGE = 4000  # rows of a segment

Progress = Callable[[str, int, int | None], None]
"""(what is done, how many rows, of how many)."""


@dataclass
class Exchange:
    taken: Taken = field(default_factory=Taken)
    sent: int = 0
    receipt: Receipt | None = None
    left: list[str] = field(default_factory=list)  # sentences about segments that are left for the next time


def run(memory: MemoryContext, root: Path, progress: Progress = lambda what, done, total: None) -> Exchange:
    """Exchange with the machines that use this folder. Raises AgentError."""
    db, done = memory.db, Exchange()
    folder = segments.open_folder(db, root)
    with segments.locked(db):
        changes.turn_on(db)
        meta.put(db, _FOLDER, str(root))
        _read_unknown(memory, folder, done)
        for machine in folder.machines():
            _read(memory, folder, machine, done, progress)
        with db.write():
            merge.take_waiting(memory, done.taken)
        done.receipt = merge.erase(memory, done.taken)
        with db.write():
            merge.settle(memory, done.taken)
        _clean(db, folder)
        _write(db, folder, done, progress)
        folder.merge()
        meta.put(db, _WRITTEN, _names(folder))
        if done.sent or any(done.taken.new.values()) or done.taken.changed:
            events.append(db, memory.time, "synced", "", actor="program")
    return done


def queue(db: Database, root: Path, now: datetime) -> None:
    """Queue an exchange where something waits to be read or written, and the folder is there."""
    with suppress(AgentError, OSError):
        folder = segments.open_folder(db, root)
        unread = (segments.following(folder.segments(each), changes.position(db, each)) for each in folder.machines())
        if changes.count_unsent(db) or any(each and each.is_whole for each in unread) or not changes.is_on(db):
            jobs.add(db, JOB, "all", now)


def last_folder(db: Database) -> str:
    """The folder of the last exchange; empty: there was none."""
    return meta.get(db, _FOLDER) or ""


def leave(db: Database, root: Path) -> None:
    """Take no part any more: nothing is noted, and what this machine wrote is deleted. Raises AgentError."""
    folder = segments.open_folder(db, root)
    with segments.locked(db):
        changes.turn_off(db)
        for key in (_WRITTEN, _FOLDER, _CLEANED):
            meta.drop(db, key)
        folder.remove_own()
        segments.drop_name(db)


def _read(memory: MemoryContext, folder: Folder, machine: str, done: Exchange, progress: Progress) -> None:
    """Take what a machine has written since the last exchange: of this one, what another copy of the file wrote."""
    db, count, size, there = memory.db, 0, 0, folder.segments(machine)
    unread = sum(each.size for each in there if each.last > changes.position(db, machine))
    while found := segments.following(there, number := changes.position(db, machine)):
        if not found.is_whole:
            done.left.append(f"{found.path.name} of {machine} has not come whole yet: it is read the next time")
            return
        try:
            entries = folder.read(found)
            with db.foreign_rows(found.path), db.write():
                merge.take(memory, entries, done.taken)
                changes.set_position(db, machine, found.last)
        except RowsRefused as error:
            done.left.append(
                f"{error}: it is tried again the next time; if it stays so, delete that file, and {machine} writes it "
                "anew"
            )
            return
        count, size = count + len(entries), size + found.size
        progress(f"read from {machine}", count, count * unread // size)  # as if all were as large as these
    if any(each.last > number for each in there):
        done.left.append(f"a part of what {machine} wrote has not come yet: the rest is read the next time")


def _read_unknown(memory: MemoryContext, folder: Folder, done: Exchange) -> None:
    """Take what stands in this machine's name and was not written with this file: by a copy of the whole home, or in a
    folder that was restored. Others may have read something else by that name, so it is sent again."""
    db, known = memory.db, meta.get(memory.db, _WRITTEN) or ""
    for segment in folder.segments(folder.machine):
        is_new = segment.path.name not in known and segment.last <= changes.position(db, folder.machine)
        if is_new and segment.is_whole and (entries := folder.read_own(segment)):
            with suppress(RowsRefused), db.foreign_rows(segment.path), db.write():
                merge.take(memory, entries, done.taken)
                for kind, uid, _ in entries:
                    changes.send(db, kind, uid)


def _names(folder: Folder) -> str:
    """The names of this machine's segments."""
    return " ".join(each.path.name for each in folder.segments(folder.machine))


def _clean(db: Database, folder: Folder) -> None:
    """Take what was erased since the last time out of this machine's segments."""
    erasures = tombstones.erasure_count(db)
    if erasures != meta.number(db, _CLEANED) or meta.get(db, _WRITTEN) != _names(folder):
        _send_changed(db, folder)
        folder.clean(changes.outdated(db))
        meta.put(db, _CLEANED, str(erasures))


def _send_changed(db: Database, folder: Folder) -> None:
    """Send anew what this machine's segments have otherwise: another machine may have erased words of it first."""
    written = [entry for each in folder.segments(folder.machine) for entry in folder.read_own(each) or ()]
    with db.write():
        for kind, table in changes.tables().items():
            found = changes.read(db, table, (uid for of, uid, _ in written if of == kind))
            for _, uid, data in (entry for entry in written if entry[0] == kind and entry[1] in found):
                if data and any(data.get(part) != found[uid].get(part) for part in ("columns", "sources")):
                    changes.send(db, kind, uid)


def _write(db: Database, folder: Folder, done: Exchange, progress: Progress) -> None:
    """Write what has changed as segments of a page each; all anew where segments of this machine are missing, or those
    of another that is gone, of which a new machine would get nothing."""
    number, first, present = changes.position(db, folder.machine), 0, [*folder.machines(), folder.machine]
    written, last = folder.segments(folder.machine), 0  # up to which number they are whole
    while last < number and (each := segments.following(written, last)) and each.is_whole:
        last = each.last
    with db.write():
        if changes.drop_positions(db, present) or last < number:
            changes.send_all(db)
            first = 1
    total = changes.count_unsent(db)
    while True:
        with db.write():  # nothing changes while a page is written
            rows = changes.unsent(db, _PAGE)
            if number and not rows:  # the first is written in any case: it shows that this machine takes part
                return
            entries = list(_entries(db, [(kind, uid) for _, kind, uid in rows]))
            number += 1
            folder.replace(written if first else [], first or number, number, entries)
            changes.sent(db, rows[-1][0] if rows else 0)
            changes.set_position(db, folder.machine, number)
            meta.put(db, _WRITTEN, _names(folder))
        first, done.sent = 0, done.sent + len(entries)
        progress("written", done.sent, total)


def _entries(db: Database, rows: list[tuple[str, str]]) -> Iterator[Entry]:
    """The rows as they are now, in this order, under each of their ids: other rows may refer to a former one."""
    read = dict[str, dict[str, Data]]()
    for kind, table in changes.tables().items():
        found = read[kind] = changes.read(db, table, [uid for each, uid in rows if each == kind])
        # Rows whose text was erased say up to when that was known here, as they were made: no other machine takes one
        # that knew less than it does.
        texts = {uid: merge.remembered_text(kind, data["columns"]) for uid, data in found.items()}
        erased = tombstones.erased_among(db, texts.values())
        for uid in (uid for uid, text in texts.items() if text in erased):
            found[uid]["known"] = tombstones.known_at(db, texts[uid], kind, changes.find(db, kind, uid)[1] or 0)
    for kind, uid in rows:
        if kind == FORGOTTEN:
            yield kind, uid, {"at": tombstones.time_of(db, uid)}
        elif (data := read[kind].get(uid)) or changes.find(db, kind, uid)[2]:
            yield from ((kind, each, data) for each in (uid, *changes.aliases(db, uid)))
