"""Segments that are sealed with the right key and hold what no agent writes."""

import os
from contextlib import closing

from agent_cli.memory.conversations import sessions
from agent_cli.memory.planner import notes
from agent_cli.store import segments
from agent_cli.store.db import Database
from tests.conftest import HERE
from tests.memory.sync.test_exchange import meet, noted
from tests.memory.sync.test_exchange import one as one
from tests.memory.sync.test_exchange import two as two
from tests.syncing import carry

UID, OTHER, AT = "01" + "A" * 24, "01" + "B" * 24, "2026-01-01T00:00:00.000Z"
NOTE = {
    "owner": "person",
    "place": "",
    "origin": "typed",
    "text": "forged",
    "utc_offset": 0,
    "at": AT,
    "changed_at": AT,
}
SUMMARY = {"owner": "person", "place": "", "period": "2026-01-01", "text": "", "method": "model", "at": AT}
SESSION = {"owner": "person", "place": "", "started_at": AT, "utc_offset": 0, "last_at": AT, "source": "x"}


def row(kind, columns, stamps=None, *sources):
    return kind, UID, {"columns": columns, "stamps": stamps or {}, "sources": sources}


FORGED = [
    *(row("note", NOTE | {"utc_offset": each}) for each in ("x", 1.5, 2**70, None, [0])),
    *(row("note", NOTE | {column: each}) for column in ("at", "changed_at") for each in ("soon", 5)),
    *(row("note", NOTE | {"text": each}) for each in (None, 5, ["a"], {"a": 1})),
    *(row("note", NOTE | {"session_id": each}) for each in (5, "1 or true", "")),
    ("note", UID, {"columns": NOTE, "stamps": {}, "known": 5}),
    row("note", NOTE | {"owner": "caller:bot"}),
    row("note", {"owner": "person"}),
    *(row("note", NOTE, each) for each in ({"text": ["a", 0]}, {"text": [2**60, 0]}, {"text": [1]}, [1, 2])),
    *(row("summary", SUMMARY, {}, each) for each in (["note", OTHER, 0], ["fact; --", OTHER, 0], ["fact", 5, 0], [])),
    *(("note", UID, each) for each in ([1, 2], "a", {"columns": NOTE}, {"stamps": {}}, {"columns": 1, "stamps": {}})),
    *(("note", each, None) for each in ("", "x' or true --", None)),
    *(("forgotten", "a" * 32, each) for each in ({"at": "never"}, {"at": 5}, [1])),
    row("session", SESSION | {"external_id": "1"}, {"external_id": [2**52, 0]}),  # another row has it
]
TABLES = (
    "create table entry (id integer primary key, kind blob, uid blob, data blob)",
    "create table entries (id integer primary key)",
    "create view entry as select 1 as id, 'note' as kind, 1 as uid, zeroblob(100000000) as data",
)


def test_a_forged_segment_is_refused_in_a_sentence_and_all_others_are_read(one, two):
    meet(one, two)
    folder = segments.open_folder(one.db, one.root)
    forger = segments.Folder(folder.path, "forger", folder.key)
    for uid in (UID, OTHER):
        session = sessions.start(one.db, HERE, one.time())
        values = (uid, "x", uid == OTHER, session)
        one.db.execute("update session set uid = ?, source = ?, external_id = ? where id = ?", values)
    meet(one, two)
    before = one.rows()
    for number, entry in enumerate([*FORGED, *TABLES]):
        path = forger.write(1, 1, [entry] if entry in FORGED else []).path
        if entry in TABLES:
            path.unlink()
            with closing(Database(path, "delete", key=folder.key + os.urandom(16))) as db:
                db.execute(entry)
            path = path.rename(path.with_name(f"1-1-{path.stat().st_size}-00000000.segment"))
        note = notes.add(two.db, HERE, f"note {number}", two.time)
        two.exchange()
        carry(two, one)
        left = " ".join(one.exchange().left)
        assert left.startswith(f"{path} holds what no agent writes"), (entry, left)
        assert note.text in noted(one)
        path.unlink()
    assert {name: columns for name, columns in one.rows().items() if not name.startswith("note")} == before
