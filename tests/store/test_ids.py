"""Ids and handles sort and are told apart; the key of hashes lies apart from the file, so that none can be guessed."""

import re
import stat
import threading
from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.store import ids, keyed_hash
from agent_cli.store.db import Database
from tests.conftest import NOON, empty
from tests.tables import for_each


def test_ids_made_together_sort_in_order_and_are_no_other_ones():
    moments = [NOON + timedelta(milliseconds=number // 100) for number in range(1000)]
    made = [ids.new(NOON), *ids.several(moments)]
    one_by_one = [ids.new(moment) for moment in moments]
    assert (made, one_by_one) == (sorted(made), sorted(one_by_one))
    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", id) for id in (*one_by_one, ids.new(NOON.replace(year=1))))
    assert len({*made, *ids.several(moments[::-1]), *ids.several(moments[::7] * 2)}) == 2287


def test_an_id_begins_with_its_time():
    assert ids.new(NOON)[:10] == ids.new(NOON)[:10] != ids.new(NOON + timedelta(milliseconds=1))[:10]
    assert ids.new(NOON) < ids.new(NOON + timedelta(days=36500))


def test_threads_never_make_the_same_id():
    made = []

    def make():
        made.extend(ids.new(NOON) for _ in range(500))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2000


@for_each(("kind", "handle"), [("session", "s4"), ("note", "n4"), ("message", "m4"), ("job", "j4")])
def test_a_handle_is_a_letter_and_a_number(kind, handle):
    assert ids.handle(kind, 4) == handle
    assert [ids.number(kind, text) for text in (handle, handle.upper(), f" {handle} ", "4")] == [4] * 4


@for_each("text", ["s4", "n", "", "n-4", "n4.0", "n4 or 1=1", "n" + "9" * 19, "n٤ x", "the note"])
def test_what_is_no_handle_is_told(text):
    with pytest.raises(UsageError, match="is not a handle of a note: write it like n4"):
        ids.number("note", text)


@pytest.fixture
def open_file(tmp_path):
    """Opens the same file with a folder for keys."""
    opened = []
    empty(tmp_path / "memory.db").close()

    def reopen(keys="keys"):
        db = Database(tmp_path / "memory.db", key_folder=tmp_path / keys)
        db.prepare()
        opened.append(db)
        return db

    yield reopen
    for db in opened:
        db.close()


def test_the_key_is_in_the_folder_and_nowhere_in_the_file(open_file, tmp_path):
    db = open_file()
    first = keyed_hash.digest(db, "swordfish")
    file = keyed_hash.key_file(db)
    assert file.parent == tmp_path / "keys"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert db.truncate_journal()
    held = b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*"))
    assert file.read_bytes() not in held
    assert file.read_bytes().hex().encode() not in held
    assert keyed_hash.digest(open_file(), "swordfish") == first
    assert not keyed_hash.renew_missing(db)


def test_on_another_machine_the_key_is_missing_and_a_new_one_is_made(open_file):
    before = keyed_hash.digest(open_file(), "swordfish")
    moved = open_file("elsewhere")
    assert keyed_hash.renew_missing(moved)
    assert keyed_hash.digest(moved, "swordfish") != before
    assert not keyed_hash.renew_missing(open_file("elsewhere"))


def test_where_no_folder_can_be_written_the_file_holds_the_key(open_file, tmp_path):
    (tmp_path / "keys").write_text("in the way")
    first = keyed_hash.digest(open_file(), "swordfish")
    db = open_file()
    assert keyed_hash.is_in_plain_database(db)
    assert keyed_hash.digest(db, "swordfish") == first
    (tmp_path / "keys").unlink()
    assert keyed_hash.digest(open_file(), "swordfish") == first
    assert not keyed_hash.is_in_plain_database(db)
    assert db.truncate_journal()
    assert keyed_hash.key_file(db).read_bytes().hex().encode() not in (tmp_path / "memory.db").read_bytes()
