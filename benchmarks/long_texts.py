"""Texts of 1, 5 and 20 MB through a pipe: how long they take to be indexed, and who has to wait for that.

The text is numbered words from a fixed list. It is piped into `agent ask` of a model that could read it all, and then
indexed by `agent jobs run`, while notes are added beside it, by processes and by a connection that measures how long it
is kept from writing. Then the job is killed at random moments, and each time another command is timed.
"""

import os
import random
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from agent_cli.store import meta
from agent_cli.store.db import Database
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server.script import reply
from tests.ollama_server.server import OllamaServer

SIZES = (1, 5, 20)  # megabytes
SMALL = 20_000  # characters that every model can read
KILLS = 10
COMMAND = 1.0  # seconds of a command beside it
LINEAR = 1.5  # times as long for each megabyte of the longest as of the shortest
CONTEXT = 10_000_000  # tokens
_WORDS = 30_000
_LIMIT = 600  # seconds


def run() -> bool:
    """Print the figures; whether the targets are met."""
    print("\nlong texts through a pipe")
    small = _answered(SMALL)
    per_megabyte: list[float] = []
    met = []
    for size in SIZES:
        with _world() as program:
            took = _ask(program, size * 1_000_000)
            seconds, beside, held = _indexed(program)
        per_megabyte.append(seconds / size)
        print(f"  {size:>2} MB: answered in {took:.1f} s ({SMALL / 1000:.0f} KB in {small:.1f} s)")
        print(f"         indexed in {seconds:.1f} s, {per_megabyte[-1]:.2f} s/MB")
        print(
            f"         beside it a note took {beside:.2f} s at most  ≤ {COMMAND}, a writer waited {held:.3f} s",
            flush=True,
        )
        met += [beside <= COMMAND]
    ratio = per_megabyte[-1] / per_megabyte[0]
    print(f"  time for each MB, {SIZES[-1]} MB beside {SIZES[0]} MB: {ratio:.2f}  ≤ {LINEAR}")
    after, begun_anew = _killed()
    print(f"  killed {KILLS} times: the next command took at most {after:.2f} s  ≤ {COMMAND}; begun anew: {begun_anew}")
    return all(met) and ratio <= LINEAR and after <= COMMAND and not begun_anew


@contextmanager
def _world() -> Iterator[Program]:
    with (
        tempfile.TemporaryDirectory() as folder,
        OllamaServer([replace(CHAT, context_length=CONTEXT), EMBEDDER], strict=False) as server,
    ):
        server.answer = lambda body: reply("hello")
        program = Program(Path(folder)).use(server)
        program.env["AGENT_NUM_CTX"] = str(CONTEXT)
        program("notes", "add", "the file is there")
        yield program


def _text(characters: int) -> str:
    chance = random.Random(7)
    words = ["".join(chance.choices("etaoinshrdlucmfwypvbgkjq", k=chance.randint(2, 9))) for _ in range(_WORDS)]
    return " ".join(chance.choices(words, k=characters // 4))[:characters]


def _answered(characters: int) -> float:
    with _world() as program:
        return _ask(program, characters)


def _ask(program: Program, characters: int) -> float:
    text = _text(characters)
    began = time.monotonic()
    ran = program("ask", "what is this?", stdin=text)
    assert ran.out == "hello\n", ran.err
    return time.monotonic() - began


def _indexed(program: Program) -> tuple[float, float, float]:
    """Seconds until all is indexed, the longest command beside it, and the longest that a writer waited."""
    db = Database(program.db)
    db.prepare()
    job = _job(program)
    began, beside = time.monotonic(), [0.0]
    ended, held = threading.Event(), [0.0]
    writer = threading.Thread(target=_write, args=(program.db, ended, held))
    writer.start()
    while db.value("select 1 from stale") and time.monotonic() - began < _LIMIT:
        beside.append(_seconds(program, "notes", "add", f"a note {len(beside)}"))
        time.sleep(1)
    seconds = time.monotonic() - began
    ended.set()
    writer.join()
    job.kill()
    job.communicate()
    db.close()
    return seconds, max(beside), max(held)


def _write(path: Path, ended: threading.Event, held: list[float]) -> None:
    """Write now and then, and measure how long that is refused."""
    db = Database(path)
    db.prepare()
    while not ended.wait(0.1):
        began = time.monotonic()
        with db.write():
            held.append(time.monotonic() - began)
            meta.put(db, "benchmark", "")
    db.close()


def _killed() -> tuple[float, int]:
    """The longest command after a kill, and how often fewer passages were there than before."""
    chance = random.Random(11)
    with _world() as program:
        _ask(program, SIZES[-1] * 1_000_000)
        db = Database(program.db)
        after, begun_anew, before = [0.0], 0, 0
        for _ in range(KILLS):
            job = _job(program)
            time.sleep(chance.uniform(0.5, 4))
            job.kill()
            job.communicate()
            passages = db.value("select count(*) from passage")
            begun_anew += passages < before
            before = passages
            after += [_seconds(program, "notes", "add", f"note {passages}"), _seconds(program, "facts", "list")]
        db.close()
    return max(after), begun_anew


def _job(program: Program) -> "subprocess.Popen[str]":
    return program.start("jobs", "run", "--until-idle", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _seconds(program: Program, *words: str) -> float:
    began = time.monotonic()
    assert program(*words).code == os.EX_OK
    return time.monotonic() - began
