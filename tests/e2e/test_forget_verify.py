"""The check of an erasure, also later, finds words in names, backups and files beside the database."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
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


NAME = "Bartholomew"


def forget(program):
    return program("forget", "--topic", NAME, "--yes")


@pytest.fixture
def told(program):
    program("notes", "add", f"my elephant is called {NAME}")
    return program


def test_the_name_of_a_folder_is_named_and_goes_with_its_rows(told, monkeypatch):
    folder = told.work / f"{NAME.lower()}-trip"
    folder.mkdir()
    monkeypatch.setattr(told, "work", folder)
    told("notes", "add", "buy milk")
    ran = forget(told)
    assert (ran.code, "1 left (the name of the folder of n2)" in ran.out) == (8, True), ran
    assert told("forget", "n2", "--yes").code == 0
    assert told("forget", "--verify", NAME).code == 0, told.rows("select place from area")
    assert NAME.lower().encode() not in told.db.read_bytes().lower()


def test_the_name_of_a_caller_and_the_path_of_a_backup_are_named(told):
    told("serve", "callers", "add", NAME.lower())
    backup = told.home / f"{NAME.lower()}.db"
    told("db", "backup", str(backup))
    backup.unlink()
    ran = forget(told)
    assert ran.code == 8
    assert f"the path of the backup {backup}" in ran.out


def test_what_a_killed_backup_left_goes_at_the_next_start(told):
    copy = told.home / "backups" / "copy.db"
    copy.parent.mkdir()
    child = f"""
import os, signal
from datetime import UTC, datetime
from pathlib import Path
from agent_cli.store import file
from agent_cli import atomic_file
from agent_cli.store import backup
db = file.open_file(Path({str(told.db)!r}), datetime(2026, 1, 2, tzinfo=UTC), print)
atomic_file.move = lambda part, path: os.kill(os.getpid(), signal.SIGKILL)
backup.create(db, Path({str(copy)!r}))
"""
    killed = warm.python(child)
    killed.communicate()
    assert killed.wait() == -signal.SIGKILL
    (part,) = copy.parent.iterdir()
    assert NAME.encode() in part.read_bytes()
    assert told("notes", "list").code == 0
    assert list(copy.parent.iterdir()) == []


def test_what_a_killed_restore_left_goes_at_the_next_start(told):
    ended = warm.python("")
    ended.communicate()
    left = told.db.with_name(f".{told.db.name}.{ended.pid}.part")
    left.write_text(NAME)
    running = told.db.with_name(f".{told.db.name}.{os.getpid()}.part")
    running.write_text(NAME)
    assert told("notes", "list").code == 0
    assert (left.exists(), running.exists()) == (False, True)
    assert f"in the backup {running}" in forget(told).err


def test_the_file_of_a_schedule_is_named(told):
    written = told.home / "news-2026-01-01.txt"
    told("schedule", "add", "@daily", "--prompt", "what is new?", "--to-file", str(told.home / "news-%Y-%m-%d.txt"))
    written.write_text(f"Nothing is new about {NAME}.\n")
    ran = forget(told)
    assert (ran.code, f"1 left (the file {written})" in ran.out) == (8, True), ran
    written.unlink()
    assert told("forget", "--verify").code == 0


def test_the_file_of_an_erased_schedule_is_named_as_long_as_it_is_there(told):
    written = told.home / "news.txt"
    told("schedule", "add", "@daily", "--prompt", f"what is new about {NAME}?", "--to-file", str(written))
    written.write_text(f"Nothing is new about {NAME}.\n")
    assert forget(told).code == 8
    assert told.rows("select * from schedule") == []
    for words in ((), (NAME,)):
        ran = told("forget", "--verify", *words)
        assert (ran.code, f"1 left (the file {written})" in ran.out) == (8, True), ran
    written.unlink()
    assert told("forget", "--verify").code == 0
    assert told.rows("select value from meta where key = 'files of erased schedules'") == [("[]",)]


def test_what_a_salvage_saved_and_what_it_read_are_named(told):
    saved = told.home / "saved.db"
    assert told("db", "salvage", str(saved)).code == 0
    ran = forget(told)
    assert (ran.code, f"in the backup {saved}: delete it" in ran.err) == (8, True), ran
    ran = told("--db", str(saved), "forget", "--topic", NAME, "--yes")
    assert (ran.code, f"in the backup {told.db}: delete it" in ran.err) == (8, True), ran
    saved.unlink()
    assert told("forget", "--verify").code == 0


def test_what_an_editor_left_is_named(told):
    told.env["EDITOR"] = "sh -c 'echo Bartholomew >> $0; exit 3'"
    ran = subprocess.run(
        [sys.executable, "-c", "from agent_cli import terminal\nwith terminal.edited('x ', ''): pass"],
        env={**os.environ, **told.env},
        capture_output=True,
        text=True,
        check=False,
    )
    draft = Path(ran.stderr.strip().rsplit("your text is kept in ", 1)[1])
    ran = forget(told)
    assert (ran.code, f"1 left (the file {draft})" in ran.out) == (8, True), ran
    for number in range(11):
        shutil.copytree(draft.parent, f"{draft.parent}{number}")
    ran = told("forget", "--verify")
    assert (ran.out.count("the file "), "12 left" in ran.out, " and 4 more)" in ran.out) == (9, True, True), ran
