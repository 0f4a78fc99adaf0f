import os
from contextlib import closing

import pytest

from agent_cli.errors import StoreError
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.store import backup, keyed_hash, sealing
from agent_cli.store.db import Database
from tests.conftest import empty

KEY = os.urandom(32) + sealing.new_head("key file")
WORD = "Schwarzwaldklinik"


@pytest.fixture
def sealed(path):
    database = Database(path, key=KEY)
    database.prepare()
    database.execute("create virtual table word using fts5 (text); create virtual table near using vec0 (v float[4])")
    with database.write():
        database.execute("insert into word values (?)", (WORD,))
        database.execute("insert into near (v) values ('[1, 2, 3, 4]')")
    yield database
    database.close()


def found(database):
    return [
        *database.rows(f"select text from word('{WORD}')"),
        *database.rows("select rowid from near where v match '[1, 2, 3, 5]' and k = 1"),
    ]


def test_a_sealed_file_is_searched_copied_compacted_and_read_by_others_and_none_of_its_files_shows_a_word(sealed, path):
    expected = [(WORD,), (1,)]
    other, copy = sealed.another_connection(), Database(path.with_name("copy.db"), "delete", key=KEY)
    assert found(sealed) == found(other) == sealed.read_in_background(found)() == expected
    other.close()
    assert list(sealed.copy_into(copy, 1))[-1] == 0
    copy.close()
    sealed.execute("vacuum")
    assert found(sealed) == expected
    names = {each.name for each in path.parent.iterdir()}
    assert names == {"copy.db", "memory.db", "memory.db-shm", "memory.db-wal"}
    assert [each.name for each in path.parent.iterdir() if WORD.encode() in each.read_bytes()] == []
    assert path.with_name("copy.db").read_bytes()[:16] == path.read_bytes()[:16] == KEY[32:]
    unwritable = Database(path.with_name("copy.db"), unwritable="it is only read", key=KEY[:32])
    assert found(unwritable) == expected
    unwritable.close()


def test_a_sealed_file_opens_with_its_key_alone(sealed, path):
    wrong = "memory.db: the database is sealed, and this key does not open it"
    missing = "memory.db: the database is sealed, and it is not known where its key is: put it into AGENT_KEY"
    for key, sentence in ((os.urandom(32), wrong), (None, missing)):
        with pytest.raises(StoreError, match=sentence):
            Database(path, key=key).rows("select * from sqlite_schema")
    assert found(sealed)


def test_a_file_whose_first_page_is_whole_in_its_journal_alone_opens_with_its_key(sealed, path, monkeypatch):
    copy, journal = path.with_name("copy.db"), path.with_name("memory.db-wal").read_bytes()
    sealed.truncate_journal()
    whole = path.read_bytes()
    copy.write_bytes(whole[:3000] + bytes(96) + whole[3096:])
    copy.with_name("copy.db-wal").write_bytes(journal)
    monkeypatch.setattr(sealing, "KEYS", sealing.Keys(os.urandom(32).hex()))
    with pytest.raises(StoreError, match="the key in AGENT_KEY does not open it"):
        Database(copy)
    monkeypatch.setattr(sealing, "KEYS", sealing.Keys(KEY[:32].hex()))
    with closing(Database(copy)) as opened:
        assert found(opened) == [(WORD,), (1,)]


def test_the_receipt_of_forgetting_searches_the_decrypted_bytes_and_free_pages(path):
    sealing.KEYS.found[KEY[32:]] = KEY
    plain = path.with_name("plain.db")
    for file, key in ((path, KEY), (plain, None)):
        with closing(Database(file, "delete", key=key)) as db:
            db.execute("pragma secure_delete = 0; create table word (text text)")
            db.execute_many("insert into word values (?)", [(f"{WORD} " * 100,)] * 100)
            db.execute("delete from word")
    assert min(map(erasure_receipt.uncleared_pages, (path, plain))) > 0
    found = erasure_receipt.count(path, [WORD.encode()])
    assert found == erasure_receipt.count(plain, [WORD.encode()])
    assert found[WORD.lower().encode()] > 5000
    with closing(Database(path, key=KEY)) as db:
        db.execute("pragma secure_delete = 1; vacuum")
        db.execute_many("insert into word values (?)", [(f"{WORD} " * 100,)] * 100)
        db.execute("delete from word")
        assert db.value("pragma freelist_count") > 9
    assert (erasure_receipt.count(path, [WORD.encode()]), erasure_receipt.uncleared_pages(path)) == ({}, 0)


def test_sealing_takes_the_keys_of_hashes_into_the_file_and_unsealing_puts_them_back(path, tmp_path):
    folder = tmp_path / "keys"
    empty(path).close()

    def digest():
        with closing(Database(path, key_folder=folder)) as db:
            files = keyed_hash.settle(db)
            return keyed_hash.digest(db, "swordfish"), keyed_hash.all_digests(db, ["swordfish"]), files

    with closing(Database(path, key_folder=folder)) as db:
        keyed_hash.secret(db)
        keyed_hash.adopt(db, os.urandom(32))
    *before, _ = digest()
    sealing.KEYS.found[KEY[32:]] = KEY
    assert backup.reseal(path, KEY, folder)
    *sealed, needless = digest()
    for file in needless:
        file.unlink()
    assert (sealed, list(folder.iterdir()), digest()) == (before, [], (*before, needless))
    assert backup.reseal(path, None, folder)
    assert (digest(), len(list(folder.iterdir()))) == ((*before, []), 2)
    assert not backup.reseal(path, None, folder)
