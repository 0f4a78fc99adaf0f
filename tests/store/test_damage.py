"""Damage: what a check says of it, what opening mends, and what can be saved."""

import random
from contextlib import suppress

import pytest

from agent_cli.errors import StoreError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, vectors
from agent_cli.messages import Part
from agent_cli.store import backup, file, file_check, meta, schema
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, noon


def made(path):
    """A file with a session of forty messages and a hundred notes."""
    db = file.open_file(path, NOON, print)
    session = sessions.start(db, HERE, NOON)
    for number in range(40):
        log.add_user_message(db, session, HERE, [Part(f"message {number} " + "of some words " * 30, "typed")], NOON)
    for number in range(100):
        notes.add(db, HERE, f"note {number} " + "with other words " * 20, noon)
    index.refresh_all(db)
    db.truncate_journal()
    return db


def spoilt(path, before, after):
    """Replace bytes in the file."""
    raw = path.read_bytes()
    assert before in raw
    path.write_bytes(raw.replace(before, after))


def reopened(path, notices=None):
    return file.open_file(path, NOON, (notices if notices is not None else []).append)


def test_a_byte_that_is_no_text_is_named_with_its_row_and_not_called_an_index(path):
    made(path).close()
    spoilt(path, b"note 7 with other words with", b"note 7 with other w\xffrds with")
    db = reopened(path)
    found = file_check.check(db)
    assert "n8: byte 20 of its text is not text" in found.canonical
    with pytest.raises(StoreError, match="a text is damaged; `agent db check` says which"):
        notes.listing(db, "person", 200)
    db.close()


def test_a_damaged_copy_of_the_schema_is_mended_when_the_file_is_opened(path):
    made(path).close()
    spoilt(path, b"-- The whole schema. `reconcile`", b"-- The whole sch\xffma. `reconcile`")
    db = reopened(path)
    assert schema.is_current(db)
    assert file_check.check(db) == file_check.CheckResult()
    db.close()


def test_a_letter_that_has_changed_is_found_by_the_index_that_does_not_fit(path):
    made(path).close()
    spoilt(path, b"note 7 with other words with", b"note 7 with other wzrds with")
    db = reopened(path)
    damaged = tuple(f"the index {name} does not fit its texts" for name in ("words_1", "trigrams_1"))
    assert file_check.check(db) == file_check.CheckResult((), damaged)
    db.close()


MISSING = ("index note_recent", "trigger event_is_kept", "table prompt", "table migration")


def test_what_is_missing_of_the_schema_is_made_again_and_told_when_the_file_is_opened(path):
    db = made(path)
    for each in MISSING:
        db.execute(f"drop {each}")
    assert {f"the {each} is missing or was changed" for each in MISSING} <= {*file_check.check(db).canonical}
    db.close()
    notices = []
    db = reopened(path, notices)
    told = {f"{path}: the {each} was missing and was created again, without its earlier content" for each in MISSING}
    assert told <= {*notices}
    assert file_check.check(db) == file_check.CheckResult()
    notices.clear()
    db.close()
    reopened(path, notices).close()
    assert notices == []


def test_a_file_that_has_lost_a_column_is_refused_untouched_and_its_other_tables_are_saved(path, tmp_path):
    """Damage may have hidden it in a comment: the values of the others would be read from the wrong place."""
    db = made(path)
    db.execute("pragma writable_schema = on")
    hidden = "-- [[origin, length in characters, name], …], adding up to text\n"
    overwritten = (hidden, hidden.replace("\n", "\x0e"))  # a bit of the end of the line
    with db.write():
        db.execute("update sqlite_schema set sql = replace(sql, ?, ?) where name = 'message'", overwritten)
    db.close()
    whole = path.read_bytes()
    with pytest.raises(StoreError, match="the schema in it is damaged; `agent db check` says what to do"):
        reopened(path)
    db = file.open_damaged(path)
    assert "the column message.thinking is missing or was changed" in file_check.check(db).canonical
    db.close()
    found = {each.table: each for each in backup.salvage(path, tmp_path / "saved.db", NOON)}
    assert (found["note"].copied, found["message"].copied, found["message"].lost) == (100, 0, 40)
    assert path.read_bytes() == whole


def test_times_and_lists_that_are_none_are_named_with_their_row(path):
    db = made(path)
    db.execute("update note set changed_at = 'yesterday' where id = 3")
    db.execute("update message set parts = '[[' where id = 3")
    said = ("m3: its parts cannot be read", "n3: its time (changed_at) cannot be read: 'yesterday'")
    assert file_check.check(db).canonical == said
    db.close()


def test_a_backup_that_was_checked_is_accepted_and_what_would_be_refused_is_not_called_a_backup(path, tmp_path):
    db = made(path)
    page = db.value("select rootpage from sqlite_schema where name = 'note_recent'")
    db.close()
    raw = bytearray(path.read_bytes())
    at = raw.index(b"2026-01-02", 4096 * (page - 1))
    raw[at : at + 4] = b"2027"
    path.write_bytes(raw)
    db = reopened(path)
    with pytest.raises(StoreError, match=r"the database is damaged .* and was not copied"):
        backup.create(db, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    db.close()


def test_a_damaged_index_alone_neither_prevents_a_backup_nor_its_return(path, tmp_path):
    db = made(path)
    db.execute("delete from words_1_data where id > 1")
    copied = backup.create(db, tmp_path / "copy.db")
    backup.restore(tmp_path / "other.db", copied.path, NOON, print)
    other = reopened(tmp_path / "other.db")
    assert backup.counts(other) == backup.counts(db)
    db.close()
    other.close()


def test_what_can_be_read_is_saved_and_what_is_lost_is_counted(path, tmp_path):
    made(path).close()
    raw = bytearray(path.read_bytes())
    at = raw.index(b"note 50 with") // 4096 * 4096
    raw[at : at + 4096] = bytes(4096)
    path.write_bytes(raw)
    spoilt(path, b"message 7 of", b"message 7 \xfff")
    before = path.read_bytes()
    found = {each.table: each for each in backup.salvage(path, tmp_path / "saved.db", NOON)}
    assert path.read_bytes() == before
    assert (found["message"].copied, found["message"].mended, found["message"].lost) == (40, 1, 0)
    assert 80 < found["note"].copied < 100
    assert found["note"].copied + found["note"].lost == 100
    saved = reopened(tmp_path / "saved.db")
    index.refresh_all(saved)
    assert file_check.check(saved) == file_check.CheckResult()
    assert saved.value("select text from message where id = 8").startswith("message 7 �f")
    saved.close()


def test_messages_whose_session_is_lost_are_saved_in_one_made_for_them(path, tmp_path):
    db = made(path)
    db.execute("pragma foreign_keys = off")
    db.execute("delete from session")
    db.close()
    backup.salvage(path, tmp_path / "saved.db", NOON)
    saved = reopened(tmp_path / "saved.db")
    assert saved.rows("select id, title from session") == [(1, "salvaged")]
    assert saved.value("select count(*) from message where session_id = 1") == 40
    assert saved.rows("pragma foreign_key_check") == []
    saved.close()


def test_of_a_file_whose_list_of_tables_cannot_be_read_a_sentence_says_what_to_do(path, tmp_path):
    made(path).close()
    spoilt(path, b"CREATE TABLE note (", b"CREATE TABLX note (")
    with pytest.raises(StoreError, match="the database is damaged"):
        reopened(path)
    with pytest.raises(StoreError, match="the database is damaged"):
        backup.salvage(path, tmp_path / "saved.db", NOON)
    assert not (tmp_path / "saved.db").exists()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_bytes_are_spoilt_a_check_says_so_and_nothing_is_a_bug(path, tmp_path, seed):
    chance = random.Random(seed)
    made(path).close()
    raw = bytearray(path.read_bytes())
    for _ in range(8):
        raw[chance.randrange(100, len(raw))] ^= 1 << chance.randrange(8)
    if seed % 2:
        start = 4096 * chance.randrange(1, len(raw) // 4096)
        raw[start : start + 4096] = chance.randbytes(4096)
    path.write_bytes(raw)
    for step in (
        lambda: file_check.check(Database(path, read_only=True)),
        lambda: file_check.check(reopened(path)),
        lambda: backup.create(reopened(path), tmp_path / "copy.db"),
        lambda: backup.salvage(path, tmp_path / "saved.db", NOON),
    ):
        with suppress(StoreError):
            step()


def test_a_table_of_which_nothing_can_be_read_ends_a_salvage_soon_and_the_others_come_over(path, monkeypatch):
    monkeypatch.setattr(backup, "_HOPELESS", 1000)
    db = made(path)
    roots = db.rows("select rootpage from sqlite_schema where name in ('note', 'sqlite_sequence')")
    db.close()
    raw = bytearray(path.read_bytes())
    for (page,) in roots:
        raw[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    path.write_bytes(raw)
    saved = {each.table: (each.copied, each.lost) for each in backup.salvage(path, path.with_name("new.db"), NOON)}
    assert saved["message"] == (40, 0)
    assert saved["note"][0] == 0


def test_an_index_whose_declaration_is_damaged_is_said_in_a_sentence_and_the_rows_are_saved(path, tmp_path):
    db = made(path)
    db.execute("pragma writable_schema = on")
    db.execute("update sqlite_schema set sql = replace(sql, 'content=', 'cootent=') where name = 'words_1'")
    db.close()
    db = file.open_damaged(path)
    assert "unrecognized option" in file_check.check(db).canonical[0]
    db.close()
    assert {each.table: each.lost for each in backup.salvage(path, tmp_path / "saved.db", NOON)}["note"] == 0


def test_where_no_table_for_vectors_can_be_made_the_damage_is_said_in_a_sentence(path):
    made(path).close()
    with path.open("r+b") as raw:
        raw.seek(32)
        raw.write(b"\0\0\xff\xff" + b"\0\0\0\1")  # the first free page is one that is not there
    db = reopened(path)
    with pytest.raises(StoreError, match="the database is damaged; `agent db check` says where and what to do"):
        vectors.create(db, "embedder", 64, 0.5)
    db.close()


def test_an_index_whose_name_has_one_letter_of_another_case_is_said_and_all_rows_are_saved(path, tmp_path):
    db = made(path)
    db.execute("pragma writable_schema = on")
    db.execute("update sqlite_schema set name = 'note_reCent' where name = 'note_recent'")
    db.close()
    with pytest.raises(StoreError, match=r"the schema in it is damaged \(index note_recent already exists\)"):
        reopened(path)
    assert {each.table: each.lost for each in backup.salvage(path, tmp_path / "saved.db", NOON)}["note"] == 0


def test_what_the_file_notes_of_itself_may_be_damaged_too(path):
    db = made(path)
    for key in ("vectors", "backups"):
        meta.put(db, key, '{"table" 1')
    assert vectors.current(db) is None
    with pytest.raises(StoreError, match="the list of its backups is damaged"):
        backup.status(db)
    assert backup.at_hand(db) == []
    with pytest.raises(StoreError, match="the list of its backups is damaged"):
        file.remove_leftovers(db)
    db.close()
