import re
from pathlib import Path

import pytest

from agent_cli.store import schema
from agent_cli.store.db import Database
from tests.conftest import NOON

# Made anew, never added to.
DERIVED = {"passage", "speaker", "area", "day", "stale", "fact_mark", "entity", "alias", "relation"}

FIRST = Path(__file__).parents[1].joinpath("older.sql").read_text(encoding="utf-8")  # the schema of format 1, frozen

OLDER_LACKS = [
    r"create table note \(.*?\) strict;\n",
    r"create index note_recent .*?;\n",
    r"create index message_open .*?;\n",
    r"create trigger event_is_append_only .*? end;\n",
    r"    thinking text not null default '',\n",
    r"    cost real not null default 0,\n",
    r"    tokens_in integer not null default 0,\n",
    r"    hidden_at text,\n",
    r"    session_id integer,\n",
]


def older(sql=FIRST):
    """A schema from before the first."""
    for pattern in OLDER_LACKS:
        sql, cut = re.subn(pattern, "", sql, count=1, flags=re.DOTALL)
        assert cut, pattern
    return sql


def opened(path):
    database = Database(path)
    database.prepare()
    return database


@pytest.fixture
def old(path):
    """A file of an earlier version with a conversation in it."""
    database = opened(path)
    schema.reconcile(database, NOON, older(), {})
    database.execute(
        """insert into session (id, uid, owner, place, title, started_at, utc_offset, last_at)
           values (4, 'U1', 'person', '/p', 'Trip', 'a', 60, 'b')"""
    )
    database.execute(
        """insert into message (id, uid, session_id, owner, place, role, text, at, utc_offset)
           values (7, 'U2', 4, 'person', '/p', 'user', 'Where is Trogir?', 'a', 60)"""
    )
    database.execute("insert into event values (1, 'U3', 'session closed', 'person', 's4', '', 'a', 60)")
    yield database
    database.close()


def shape(database):
    """All that is in a schema: columns with type, need and default, what they refer to, and everything beside."""
    objects = schema._names(database)
    tables = [name for kind, name in objects if kind == "table"]
    columns = {name: database.rows(f'pragma table_xinfo("{name}")') for name in tables}
    references = {name: database.rows(f'pragma foreign_key_list("{name}")') for name in tables}
    return {
        "columns": {name: sorted(row[1:6] for row in rows) for name, rows in columns.items()},
        "references": {name: sorted(row[2:5] for row in rows) for name, rows in references.items()},
        "beside": {key: sql for key, sql in objects.items() if key[0] != "table"},
    }


def test_a_new_file_gets_the_whole_schema(db):
    wanted = Database()
    wanted.execute(schema.SCHEMA)
    assert schema._names(db) == schema._names(wanted)
    assert db.value("pragma application_id") == schema.APPLICATION_ID
    assert db.value("pragma user_version") == schema.VERSION


def test_an_older_file_is_brought_up_with_its_rows_intact_and_defaults_filled(old, db):
    schema.reconcile(old, NOON)
    assert shape(old) == shape(db)
    columns = "id, uid, text, thinking, cost, tokens_in, tokens_out, finish"
    assert old.rows(f"select {columns} from message") == [(7, "U2", "Where is Trogir?", "", 0.0, 0, 0, None)]
    assert old.rows("select id, title, hidden_at from session") == [(4, "Trip", None)]
    assert old.rows("select subject, session_id from event") == [("s4", None)]
    assert old.rows("select * from note") == []
    with pytest.raises(Exception, match="the event log is append-only"):
        old.execute("update event set kind = 'nothing'")


def test_bringing_it_up_twice_changes_nothing_and_a_new_file_has_nothing_to_move(old, path, tmp_path):
    for _ in range(2):
        schema.reconcile(old, NOON)
        old.execute("pragma wal_checkpoint(truncate)")
        before, ran = path.read_bytes(), []
    schema.reconcile(old, NOON)
    old.execute("pragma wal_checkpoint(truncate)")
    assert path.read_bytes() == before
    new = opened(tmp_path / "new.db")
    for _ in range(2):
        schema.reconcile(new, NOON, steps={"fill": ran.append})
    assert (ran, new.rows("select name from migration")) == ([], [("fill",)])


def test_it_is_one_transaction(old):
    before = shape(old)
    with pytest.raises(Exception, match="no such table"):
        schema.reconcile(old, NOON, schema.SCHEMA + "create index last on nowhere (id);")
    with pytest.raises(Exception, match="no such column: nowhere"):
        schema.reconcile(
            old, NOON, schema.SCHEMA + "create view odd as select 1;", {"step": lambda db: db.rows("select nowhere")}
        )
    assert shape(old) == before


@pytest.mark.parametrize(
    ("now", "later"),
    [
        ("on note (owner, changed_at)", "on note (owner, place, changed_at)"),
        ("'the event log is append-only'", "'nobody changes history'"),
    ],
)
def test_a_changed_index_or_trigger_is_made_again(db, now, later):
    changed = schema.SCHEMA.replace(now, later)
    assert changed != schema.SCHEMA
    schema.reconcile(db, NOON, changed)
    wanted = Database()
    wanted.execute(changed)
    assert shape(db) == shape(wanted)


def test_data_steps_run_once_in_older_files_after_columns_and_before_indexes(old):
    ran = []

    def fill(database):
        ran.append([name for kind, name in schema._names(database) if name in ("note", "note_recent")])
        database.execute("update message set thinking = 'filled'")

    steps = {"fill": fill}
    for _ in range(2):
        schema.reconcile(old, NOON, steps=steps)
    assert ran == [["note"]]
    assert old.rows("select thinking from message") == [("filled",)]
    assert old.rows("select * from migration") == [("fill", "2026-01-02T12:00:00.000Z")]


def test_data_steps_run_with_the_triggers_of_the_new_columns(path):
    former = re.sub(r"\n    tail integer[^\n]*", "", schema.SCHEMA)
    former = former.replace("stale (kind, row) values", "stale values").replace("do update set tail = 0", "do nothing")
    older = opened(path)
    schema.reconcile(older, NOON, former, {})
    older.execute(
        """insert into note (uid, owner, place, origin, text, at, utc_offset, changed_at)
           values ('n', 'person', '', 'typed', 'old', '', 0, '')"""
    )
    older.execute("delete from stale")
    schema.reconcile(older, NOON, steps={"move": lambda db: db.execute("update note set title = 'moved'")})
    assert older.rows("select kind, row, tail from stale") == [("n", 1, 0)]


def test_a_step_that_fails_leaves_the_file_as_it_was(old):
    before = shape(old), old.rows("select * from message")

    def break_off(database):
        database.execute("update message set text = 'gone'")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        schema.reconcile(old, NOON, steps={"break off": break_off})
    assert (shape(old), old.rows("select * from message")) == before
    schema.reconcile(old, NOON)
    assert old.rows("select text from message") == [("Where is Trogir?",)]


def test_a_column_that_came_later_has_a_default_or_may_be_null(old):
    now = Database()
    now.execute(schema.SCHEMA)
    for kind, table in schema._names(old):
        if kind == "table" and table not in DERIVED:
            first = {name for _, name, *_ in columns(old, table)}
            later = [row for row in columns(now, table) if row[1] not in first]
            assert [name for _, name, _, must, default, _ in later if must and default is None] == []


@pytest.mark.parametrize("table", [table for table in schema.TABLES if table not in DERIVED])
def test_every_other_column_could_be_added_later(table):
    """A file that lacks them, with a row in it, gets the very same columns."""
    wanted, file = Database(), Database()
    wanted.execute(schema.SCHEMA)
    file.execute(schema.SCHEMA)
    for kind, about in schema._names(file):
        if kind != "table":
            file.execute(f'drop {kind} "{about}"')
    unique = {
        row[2]
        for (name,) in wanted.rows(f"select name from pragma_index_list('{table}') where origin = 'u'")
        for row in wanted.rows(f'pragma index_info("{name}")')
    }
    for _, name, _, must, default, key in columns(wanted, table):
        if not (key or name in unique or (must and default is None)):
            file.execute(f'alter table "{table}" drop column "{name}"')
    put_a_row(file, table)
    schema.reconcile(file, NOON)
    assert shape(file) == shape(wanted)


def columns(database, table):
    return [row[:6] for row in database.rows(f'pragma table_xinfo("{table}")')]


def put_a_row(file, table):
    filled = {
        name: "x" if kind == "TEXT" else 1
        for _, name, kind, must, default, _ in columns(file, table)
        if must and default is None
    }
    file.execute("pragma foreign_keys = 0")
    marks = ", ".join(f":{name}" for name in filled)
    file.execute(f"insert into {table} ({', '.join(filled)}) values ({marks})", filled)
    file.execute("pragma foreign_keys = 1")
