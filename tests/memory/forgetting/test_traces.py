"""The files read byte for byte: what is found, wherever it lies, and what is no trace."""

import json

import pytest

from agent_cli.errors import StoreError
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.store.db import Database
from tests.tables import for_each


def file_of(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("at", [0, 1, (1 << 20) - 12, (1 << 20) - 1, 1 << 20, (2 << 20) - 3, 2 << 20])
def test_a_piece_is_found_wherever_it_lies(tmp_path, at):
    path = file_of(tmp_path, b"." * at + b"SwordFish" + b"." * (3 << 20))
    assert erasure_receipt.count(path, [b"swordfish", b"herring", b"fish"]) == {b"swordfish": 1, b"fish": 1}


def test_pieces_are_counted_once_each_in_any_case(tmp_path):
    path = file_of(tmp_path, b"Fish fish FISH fis" + b"h" * (1 << 20))
    assert erasure_receipt.count(path, [b"fish"]) == {b"fish": 4}
    assert erasure_receipt.count(path, [b"fish", b"fish fi", b"fish f"]) == {b"fish": 4, b"fish fi": 3, b"fish f": 3}
    assert erasure_receipt.count(file_of(tmp_path, b""), [b"fish"]) == {}


@pytest.mark.parametrize("stored", ["Ärger", "ärger", "ÄRGER", "arger", json.dumps("Ärger"), json.dumps("ärger")])
def test_a_word_is_found_in_every_form_it_may_be_stored_in(tmp_path, stored):
    path = file_of(tmp_path, b"\x00\x81" + stored.encode() + b"\xff")
    assert sum(erasure_receipt.count(path, erasure_receipt.byte_forms("ärger")).values()) >= 1


def test_the_journal_that_a_copy_was_kept_aside_with_is_read_too(tmp_path):
    path, copy = file_of(tmp_path, b"."), tmp_path / "copy"
    for each in (copy, tmp_path / "copy-wal"):
        each.write_bytes(b"fish")
    assert erasure_receipt.files_of("", [str(copy)]) == [copy, tmp_path / "copy-wal"]
    assert erasure_receipt.files_of(str(path), [str(tmp_path / "gone")]) == [path]
    with pytest.raises(StoreError, match=r"cannot be read .*, so it cannot be searched"):
        erasure_receipt.count(tmp_path, [b"fish"])


@for_each(("size", "letters"), [(0, 4), (100_000, 4), (10_000_000, 5), (6_000_000_000, 6)])
def test_the_larger_a_file_the_longer_a_word_must_be_to_tell_something(size, letters):
    assert erasure_receipt.distinctive_length(size) == letters


def test_free_pages_that_hold_something_are_counted(tmp_path):
    for secure in (1, 0):
        path = tmp_path / f"{secure}.db"
        db = Database(path, journal="delete")
        db.prepare()
        db.execute("create table t (x)")
        db.execute(f"pragma secure_delete = {secure}")
        for number in range(50):
            db.execute("insert into t values (?)", (f"{number} " + "swordfish " * 3000,))
        db.execute("delete from t")
        db.close()
        assert (erasure_receipt.uncleared_pages(path) > 0) == (not secure)
