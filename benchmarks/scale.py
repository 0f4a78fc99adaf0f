"""What one file holds: a million messages through the program's own commands, as a person waits for them.

The messages are those of `recall`, and so are the vectors; no model is asked for anything but a word. A command's time
is that of its whole process, its memory the most that the process ever had (the pages it read are in it). The file can
be named and is then kept: a second run spares the making.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.errors import ModelUnavailable
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.memory.search import vectors
from agent_cli.memory.summaries import summaries
from agent_cli.store import file
from agent_cli.store.db import Database
from benchmarks.startup import BARE, Series, ended, hooked, prompted, wired
from benchmarks.world import DIMENSION, PORTION, World
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer

ROWS, RUNS = 100_000, 10
START, ASK = 300, 350  # ms until the prompt stands and until a question is on the wire, at any size
HOOK = 150  # ms at `ROWS` messages


@dataclass(frozen=True)
class Ended:
    seconds: float
    megabytes: float  # the most that it had in memory


def run(options: Sequence[str] = ()) -> bool:
    """Measure and print; whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many messages")
    parser.add_argument("--file", type=Path, help="where the file is kept, or is already")
    parser.add_argument("--retention", action="store_true", help="also have all of it grow old and go")
    told = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder, OllamaServer([CHAT, EMBEDDER], strict=False) as server:
        server.answer = lambda body: reply("hello")
        program = Program(Path(folder)).use(server)
        program.cold = True  # as a person starts it
        print(f"\none file with {told.rows:,} messages and vectors of {DIMENSION} dimensions")
        if told.file and told.file.exists():
            shutil.copyfile(told.file, program.db)
        else:
            _make(program, server, told.rows)
            if told.file:
                shutil.copyfile(program.db, told.file)
        met = _waited(program, server, told.rows)
        _kept(program)
        if told.retention:
            _aged(program)
    return met


def _make(program: Program, server: OllamaServer, rows: int) -> None:
    world, lines = World(), program.home / "sessions.jsonl"
    with lines.open("w", encoding="utf-8") as out:
        for first in range(0, rows, PORTION):
            out.writelines(world.sessions(first, min(PORTION, rows - first)))
    took = _ran(program, "sessions", "import", lines)
    text = _value(program, "select sum(length(text)) from message")
    _told("import, with the index of words", took, f"{rows / took.seconds:,.0f} messages/s")
    _sized("the file without vectors", program, text)
    _add_vectors(program, server, world, rows)
    _sized("the file with vectors", program, text)


def _add_vectors(program: Program, server: OllamaServer, world: World, rows: int) -> None:
    """As the index job would, with made-up vectors: what an embedder takes is its own affair."""
    db = file.open_file(program.db, datetime.now(UTC), print)
    EmbedderSelection(OllamaEngine(server.host), EMBEDDER.name).current(db)
    made = vectors.current(db)
    assert made is not None
    for first in range(1, rows + 1, 5000):
        drawn = world.vectors(min(5000, rows + 1 - first))
        bits, small = np.packbits(drawn > 0, axis=1, bitorder="little"), np.rint(drawn * 127).astype(np.int8)
        ids = range(first, first + len(drawn))
        with db.write():
            db.execute_many(f"insert into {made.bits} (rowid, e) values (?, vec_bit(?))", _numbered(ids, bits))
            db.execute_many(f"insert into {made.table} values (?, ?)", _numbered(ids, small))
    last = db.value("select max(id) from passage")
    db.execute("update meta set value = ? where key = ?", (str(last), f"embedded {made.number}"))
    db.close()


def _numbered(ids: range, drawn: Any) -> list[tuple[int, bytes]]:
    return [(id, each.tobytes()) for id, each in zip(ids, drawn, strict=True)]


def _waited(program: Program, server: OllamaServer, rows: int) -> bool:
    """What a person waits for each day."""
    prompted(program)
    bare = Series([1000 * ended([sys.executable, "-c", "pass"]) for _ in range(RUNS)])
    start = Series([1000 * prompted(program) for _ in range(RUNS)])
    ask = Series([1000 * wired(program, server, CHAT.name) for _ in range(RUNS)])
    print(f"  {BARE:<44} p50 {bare.median:,.0f} p95 {bare.p95:,.0f} ms  the yardstick")
    print(f"  {'agent, until the prompt stands':<44} p50 {start.median:,.0f} p95 {start.p95:,.0f} ms  ≤ {START}")
    print(f"  {'agent ask, until the request arrives':<44} p50 {ask.median:,.0f} p95 {ask.p95:,.0f} ms  ≤ {ASK}")
    hook = Series([1000 * hooked(program) for _ in range(RUNS)])
    print(f"  {'agent hook, at a prompt of another tool':<44} p50 {hook.median:,.0f} p95 {hook.p95:,.0f} ms  ≤ {HOOK}")
    for profile in ("common", "mixed", "rare"):
        world = World(np.random.default_rng(11))
        times = [_ran(program, "search", world.question(profile)) for _ in range(RUNS + 1)][1:]
        found = Series([1000 * each.seconds for each in times])
        most = max(each.megabytes for each in times)
        what = f"agent search, six {profile} words"
        print(f"  {what:<44} p50 {found.median:,.0f} p95 {found.p95:,.0f} ms  {most:,.0f} MB of memory")
    return start.median <= START and ask.median <= ASK and (rows > ROWS or hook.median <= HOOK)


def _kept(program: Program) -> None:
    """What is done now and then."""
    copy = program.home / "copy.db"
    message = _value(program, "select max(id) / 2 from message")
    for words in (
        ("ask", "what was said in the harbour?"),
        ("stats",),
        ("sessions", "list"),
        ("db", "status"),
        ("db", "backup", copy),
        ("db", "check"),
        ("retention", "--dry-run"),
        ("forget", f"m{message}", "--yes"),
    ):
        took = _ran(program, *words)
        _told(f"agent {' '.join(map(str, words)).replace(str(copy), 'FILE')}", took)
        copy.unlink(missing_ok=True)
    for words in (("sessions", "export", "--all"), ("db", "compact")):
        _told(f"agent {' '.join(words)}", _ran(program, *words))
    program.env["OLLAMA_HOST"] = "127.0.0.1:9"  # vectors are not made anew: that takes as long as the embedder does
    _told("agent index rebuild, words alone", _ran(program, "index", "rebuild", code=ModelUnavailable.exit_code))


def _aged(program: Program) -> None:
    """Summarise what was imported, without a model, and let what is old go."""
    db = file.open_file(program.db, datetime.now(UTC), print)
    began = time.perf_counter()
    for (session,) in db.rows("select id from session where closed_at is not null and kind = 'chat'"):
        made = summaries.compose(db, session, "", summaries.EXTRACT, "")
        if made:
            summaries.save_session(db, session, made, lambda: datetime.now(UTC))
    db.close()
    print(f"  {'a summary of each session, in one process':<44} {time.perf_counter() - began:,.1f} s")
    program.env["AGENT_MODEL"] = "offline"
    _told("agent summaries rebuild --all", _ran(program, "summaries", "rebuild", "--all"))
    _ran(program, "config", "set", "retention.preset", "short")
    before = _value(program, "select count(*) from message")
    took = _ran(program, "retention", "apply", "--yes")
    gone = before - _value(program, "select count(*) from message")
    _told("agent retention apply --yes", took, f"{gone:,} of {before:,} messages went")


def _ran(program: Program, *words: object, code: int = 0) -> Ended:
    """Run a command to its end. Raises AssertionError where it ends otherwise.

    The kernel is asked for the most memory while it runs: what it tells at the end is at least that of this process.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began, most = time.perf_counter(), 0
        process = program.start(*map(str, words), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        while process.poll() is None:
            with suppress(FileNotFoundError, ProcessLookupError):
                told = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
                most = max(most, int(told[1]) if told else 0)
            time.sleep(0.005)
        seconds = time.perf_counter() - began
        for each in (out, err):
            each.seek(0)
        assert process.returncode == code, f"{words}: {out.read()[-500:]}{err.read()[-2000:]}"
        return Ended(seconds, most / 1000)


def _value(program: Program, sql: str) -> Any:
    db = Database(program.db, read_only=True)
    try:
        return db.value(sql)
    finally:
        db.close()


def _sized(what: str, program: Program, text: int) -> None:
    size = program.db.stat().st_size
    print(f"  {what:<44} {size / 1e6:,.0f} MB, {size / text:.1f} times the text")


def _told(what: str, took: Ended, more: str = "") -> None:
    print(f"  {what:<44} {took.seconds:,.1f} s  {took.megabytes:,.0f} MB of memory  {more}".rstrip(), flush=True)
