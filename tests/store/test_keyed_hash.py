"""The key of hashes lies apart from the file, so that nobody with the file alone can guess what was hashed."""

import stat

import pytest

from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database
from tests.conftest import empty


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


def test_a_key_that_an_earlier_version_kept_in_the_file_is_moved(open_file, tmp_path):
    old = Database(tmp_path / "memory.db")
    old.prepare()
    before = keyed_hash.digest(old, "swordfish")
    key = meta.get(old, "hash key")
    old.close()
    db = open_file()
    assert keyed_hash.digest(db, "swordfish") == before
    assert (meta.get(db, "hash key"), keyed_hash.key_file(db).read_bytes().hex()) == (None, key)
    assert db.truncate_journal()
    assert key.encode() not in (tmp_path / "memory.db").read_bytes()


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
    assert keyed_hash.is_in_database(db)
    assert keyed_hash.digest(db, "swordfish") == first
    (tmp_path / "keys").unlink()
    assert keyed_hash.digest(open_file(), "swordfish") == first
    assert not keyed_hash.is_in_database(db)
