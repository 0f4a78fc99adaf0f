"""The check of an erasure is repeated later, when a backup that still held the words is gone."""

import pytest

from tests.conftest import Ran

pytestmark = pytest.mark.usefixtures("scripts_decide")


def test_the_check_is_repeated_after_the_backup_is_deleted(program):
    program("notes", "add", "the safe opens with Bartholomew")
    backup = program.home / "old.db"
    assert program("db", "backup", str(backup)).code == 0
    ran = program("forget", "n1", "--yes")
    assert (ran.code, f"in the backup {backup}: delete it" in ran.err) == (8, True)
    again = program("forget", "--verify")
    assert (again.code, f"1 trace in the backup {backup}: delete it" in again.err) == (8, True), again
    assert "bartholomew" not in "".join(value for (value,) in program.rows("select value from meta")).lower()
    backup.unlink()
    last = program("forget", "--verify")
    assert (last.code, last.err) == (0, "")
    assert last.out.startswith("Searched the file for the words of the last erasure (kept only as hashes): 0 left\n")
    assert program("forget", "--verify").code == 2
    assert program.rows("select * from meta where key = 'words to look for'") == []


def test_the_receipt_is_as_sure_where_numpy_is_not_installed(program, tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('not there')")
    bare = {"PYTHONPATH": str(tmp_path)}
    program("notes", "add", "the safe opens with Bartholomew", env=bare)
    backup = program.home / "old.db"
    program("db", "backup", str(backup), env=bare)
    ran = program("forget", "n1", "--yes", env=bare)
    assert (ran.code, f"1 left (the backup {backup}" in ran.out) == (8, True), ran


def test_rows_that_were_left_are_found_by_their_hashes_in_any_inflection(program):
    for text in ("my elephant is called Bartholomew", "elephants eat hay", "the hay is dry"):
        program("notes", "add", text)
    assert "1 left (n2)" in program("forget", "n1", "--yes").out
    assert "1 left (n2)" in program("forget", "--verify").out
    assert "1 left (n2)" in program("forget", "--verify", "Elephant").out
    assert program("forget", "n2", "--yes").code == 8
    assert program("forget", "n3", "--yes").code == 0


def test_nothing_is_kept_of_an_erasure_that_left_nothing(program):
    program("notes", "add", "the safe opens with Bartholomew")
    assert program("forget", "n1", "--yes").code == 0
    sentence = (
        "the last erasure left nothing, so nothing of its words is kept: name what to look for, as in "
        "`agent forget --verify Graz`"
    )
    assert program("forget", "--verify") == Ran(2, "", f"agent: {sentence}\n")
    named = program("forget", "--verify", "Bartholomew", "--json").json
    assert (named["words"], named["traces"], named["clean"]) == ("bartholomew", 0, True)
