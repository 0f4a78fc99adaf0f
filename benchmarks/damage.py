"""Damaged files: bytes flipped and pages overwritten at random, and each command run on each of them.

No command may end in a traceback, and none may destroy what could be read: what `agent db salvage` saves before the
commands it must save after them.
"""

import argparse
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent_cli.errors import StoreError
from agent_cli.store import backup, sealing
from agent_cli.store.db import Database
from tests.conftest import Program

FILES = 500
COMMANDS = (
    ("db", "check"),
    ("db", "status"),
    ("doctor",),
    ("notes", "list"),
    ("sessions", "list"),
    ("facts", "list"),
    ("search", "harbour"),
    ("db", "export"),
    ("stats",),
    ("notes", "add", "one more"),
    ("-m", "offline", "ask", "what of the harbour?"),
    ("jobs", "run", "--until-idle"),
    ("db", "backup", "copy.db", "--force"),
    ("index", "rebuild"),
    ("db", "check"),
)
_TEXTS = ("select text from message", "select text from note", "select statement from fact")


def run(options: Sequence[str] = ()) -> bool:
    """Print the figures; whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks damage")
    parser.add_argument("--files", type=int, default=FILES, help="how many damaged files")
    parser.add_argument("--sealed", action="store_true", help="sealed files")
    chosen = parser.parse_args(options)
    files: int = chosen.files
    outcome: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(Path(folder))
        whole = _made(program, sealed=chosen.sealed)
        for seed in range(files):
            outcome += damage_one(program, whole, seed)
    print(f"\n{files} damaged files, {len(COMMANDS)} commands on each")
    for name in ("tracebacks", "texts destroyed", "unreadable from the start", "found by db check", "texts saved"):
        print(f"  {name:<28} {outcome[name]:>8}")
    return not outcome["tracebacks"] and not outcome["texts destroyed"]


def _made(program: Program, *, sealed: bool) -> bytes:
    """The bytes of a file with notes, facts and conversations."""
    for number in range(30):
        program("notes", "add", f"note {number} of the harbour " + "and its boats " * 20)
    for number in range(3):
        program("-m", "offline", "ask", f"question {number}: what of the harbour?")
    program("facts", "add", "The person lives at the harbour")
    if sealed:
        key_file = program.home / "agent.key"
        assert program("db", "seal", "--key-file", str(key_file)).code == 0
        sealing.KEYS.settings = {"key_file": str(key_file)}
    return program.db.read_bytes()


def damage_one(program: Program, whole: bytes, seed: int) -> Counter[str]:
    """Damage a file and run the commands on it."""
    chance = random.Random(seed)
    raw = bytearray(whole)
    for _ in range(chance.randint(1, 12)):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    if seed % 3 == 0:
        start = 4096 * chance.randrange(1, len(raw) // 4096)
        raw[start : start + 4096] = chance.randbytes(4096)
    for left in program.home.glob("memory*.db*"):
        left.unlink()
    program.db.write_bytes(raw)
    outcome: Counter[str] = Counter()
    before = _saved(program)
    outcome["unreadable from the start"] += before is None
    for number, command in enumerate(COMMANDS):
        ran = program(*command)
        if "Traceback" in ran.err:
            outcome["tracebacks"] += 1
            print(f"  {seed}: {' '.join(command)}: {ran.err.strip().splitlines()[-1]}", flush=True)
        outcome["found by db check"] += number == 0 and ran.code != 0
    after = _saved(program) if before is not None else set()
    lost = (before or set()) - (after or set())
    outcome["texts destroyed"] += len(lost)
    outcome["texts saved"] += len(before or ())
    if lost:
        print(f"  {seed}: destroyed {len(lost)} of {len(before or ())}", flush=True)
    return outcome


def _saved(program: Program) -> set[str] | None:
    """The texts that can be read of a copy of the file; None when nothing can."""
    folder = Path(tempfile.mkdtemp(dir=program.home))
    try:
        for each in program.home.glob("memory.db*"):
            shutil.copyfile(each, folder / each.name)
        backup.salvage(folder / "memory.db", folder / "saved.db", datetime.now(UTC))
        db = Database(folder / "saved.db")
        try:
            return {text for sql in _TEXTS for (text,) in db.rows(sql)}
        finally:
            db.close()
    except StoreError:
        return None
    finally:
        shutil.rmtree(folder)
