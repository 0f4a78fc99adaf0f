"""What stands in deploy/ and docs/scaling.md is what the program does, and a file that is copied elsewhere says so."""

import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
import typer

from agent_cli.cli import usage
from agent_cli.cli.usage import COMMANDS
from agent_cli.config import settings_file
from agent_cli.memory.conversations import sessions
from agent_cli.memory.forgetting import erasure_receipt, forget, selection
from agent_cli.store import backup, file_check
from agent_cli.store.db import Database
from benchmarks.__main__ import BENCHMARKS
from tests.conftest import HERE, NOON, empty, noon
from tests.recalling import say

ROOT = Path(__file__).parent.parent
DEPLOY, PAGE = ROOT / "deploy", ROOT / "docs" / "scaling.md"
UNITS = sorted(DEPLOY.glob("*.service"))


@pytest.fixture
def file(tmp_path):
    database = empty(tmp_path / "memory.db")
    yield database
    database.close()


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def ours(lines):
    """The words after `agent` wherever a line runs it."""
    for line in lines:
        words = shlex.split(line.replace("ExecStart=", ""), comments=True)
        at = next((n for n, word in enumerate(words) if Path(word).name == "agent"), None)
        rest = words[at + 1 :] if at is not None else []
        rest = rest[2:] if rest[:1] == ["--db"] else rest
        if rest:
            yield rest


def known(words):
    """Raises AssertionError when there is no such command or option."""
    assert words[0] in COMMANDS, words
    command = typer.main.get_command(usage.app(words[0]))
    rest = words[1:]
    if hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    options = {each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in rest if word.startswith("--")} <= options, words


def test_every_command_in_the_page_and_the_units_is_there():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += [line for unit in UNITS for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    told = list(ours(lines))
    assert len(told) >= 3
    for words in told:
        known(words)


def test_every_benchmark_in_the_page_is_there():
    named = re.findall(r"python -m benchmarks (\w+)", PAGE.read_text(encoding="utf-8"))
    assert named
    assert set(named) <= set(BENCHMARKS)


def test_every_setting_in_the_page_is_one(tmp_path):
    told = tmp_path / "config.toml"
    assert blocks("toml")
    for block in blocks("toml"):
        told.write_text(block, encoding="utf-8")
        settings_file.load(told, {})


def test_the_units_and_litestream_name_the_same_file():
    named = {
        (unit.name, path) for unit in UNITS for path in re.findall(r"AGENT_DB=(\S+)", unit.read_text(encoding="utf-8"))
    }
    (copied,) = re.findall(r"- path: (\S+)", (DEPLOY / "litestream.yml").read_text(encoding="utf-8"))
    assert named == {
        ("agent-serve.service", copied),
        ("agent-jobs.service", copied),
        ("agent@.service", "/var/lib/agent-%i/memory.db"),
    }


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path):
    copies = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name.replace("@", "@anna"))
        copies[-1].write_text(unit.read_text(encoding="utf-8").replace("/usr/local/bin/agent", "/bin/true"))
    ran = subprocess.run(["systemd-analyze", "verify", *map(str, copies)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_receipt_names_the_replica_that_keeps_what_was_said(file, tmp_path):
    """Its files are compressed: no reading of them finds a word."""
    folder = tmp_path / ".memory.db-litestream"
    folder.mkdir()
    for _ in range(2):
        say(file, sessions.start(file, HERE, NOON), "The cellar code is Xk7Qv2Rm9Tz4.")
    first = erasure_receipt.erase(file, forget.planned(file, selection.select_by_handle(file, "person", ["s1"])), noon)
    assert (first.clean, first.traces, first.replica) == (False, 0, str(folder))
    assert f"Litestream keeps what was said in {folder} and in its replica: stop it" in first.remedies()[0]
    folder.rmdir()
    second = erasure_receipt.erase(file, forget.planned(file, selection.select_by_handle(file, "person", ["s2"])), noon)
    assert (second.clean, second.replica) == (True, "")


def test_compacting_keeps_nobody_waiting_for_one_who_reads(file, tmp_path):
    """Litestream always does; another writes meanwhile."""
    reader, writer = file.another_connection(), Database(tmp_path / "memory.db", busy_timeout=0.5)
    began = time.monotonic()
    with reader.snapshot():
        backup.compact(file, busy_timeout=0.05)
        with writer.write():
            say(writer, sessions.start(writer, HERE, NOON), "Still there.")
    assert time.monotonic() - began < 5
    assert (file.truncate_journal(), backup.counts(file)["message"]) == (True, 1)
    reader.close()
    writer.close()


@pytest.mark.skipif(shutil.which("litestream") is None, reason="Litestream is not installed")
def test_what_litestream_brings_back_is_what_was_there(program):
    """It is killed, not ended; then stopped in order, and nothing is missing."""
    told = program.home / "litestream.yml"
    told.write_text(f"dbs:\n  - path: {program.db}\n    replica: {{type: file, path: {program.home}/replica}}\n")
    program.env["AGENT_MODEL"] = "offline"
    program("ask", "hello")
    for number, end in enumerate((signal.SIGKILL, signal.SIGTERM)):
        with subprocess.Popen(["litestream", "replicate", "-config", told], stdout=subprocess.DEVNULL) as copying:
            time.sleep(2)  # stopped within its first second, it copies nothing
            for question in range(4):
                assert program("ask", f"question {question}").code == 0
            before = program.rows("select count(*) from message")[0][0]
            time.sleep(2 if end == signal.SIGKILL else 0)  # it copies once a second
            copying.send_signal(end)
        copy = program.home / f"copy{number}.db"
        subprocess.run(["litestream", "restore", "-config", told, "-o", copy, program.db], check=True)
        back = Database(copy)
        assert (back.value("select count(*) from message"), file_check.check(back)) == (
            before,
            file_check.CheckResult(),
        )
        back.close()
