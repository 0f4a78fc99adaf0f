"""One fault: a home as it was, a command that meets the fault, the next command, and what is left."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_cli.errors import StoreError
from agent_cli.store import file_check
from agent_cli.store.db import Database
from benchmarks.faults import commands
from benchmarks.faults.commands import State
from benchmarks.faults.shim import FaultyProgram
from tests.conftest import Ran

ONCE, ALWAYS = ("EIO", "short", "kill", "torn", "power"), ("broken", "ENOSPC")
HOWS = (*ONCE, *ALWAYS)
_AFTER = ("notes", "add", "the next command")
_KILLED = -9
DONE = (0, 8)  # 8: erased, and a backup still holds it


@dataclass
class Outcome:
    """What was found. `lost`, `tracebacks`, `broken`: a sentence for each."""

    faults: int = 0
    refused: int = 0  # commands that ended with a sentence
    killed: int = 0
    lost: list[str] = field(default_factory=list)  # what was acknowledged, or was there before
    tracebacks: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # files that the next command cannot use, or that are half there

    def add(self, other: "Outcome") -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Bench:
    """A home that is put back before each fault."""

    def __init__(self, folder: Path, library: Path, *, sealed: bool = False):
        home = folder / "home"
        home.mkdir()
        self.program = FaultyProgram(home, library)
        self._kept = folder / "kept"
        commands.make_home(self.program, sealed=sealed)
        shutil.copytree(home, self._kept)
        self.before = commands.state(self.program)

    def put_back(self) -> None:
        """The folders stay: processes and servers stand in them."""
        home = self.program.home
        for each in [*self.program.work.iterdir(), *home.iterdir()]:
            if each.is_dir() and each != self.program.work:
                shutil.rmtree(each)
            elif each.is_file():
                each.unlink()
        shutil.copytree(self._kept, home, dirs_exist_ok=True)

    def calls(self, command: Sequence[str]) -> tuple[list[str], Ran, State]:
        """The calls that a command makes, how it ended, and what it left."""
        self.put_back()
        log = self.program.home.with_name("calls.log")
        log.unlink(missing_ok=True)
        ran = self.program.faulty(*command, log=str(log))
        assert ran.code in DONE, (command, ran)
        return log.read_text().splitlines(), ran, commands.state(self.program)

    def close(self) -> None:
        self.program.close()


def points(calls: int, most: int) -> list[int]:
    """At most so many of the calls, evenly spread, from 1."""
    many = min(calls, most)
    return sorted({1 + n * (calls - 1) // max(1, many - 1) for n in range(many)})


def inject(bench: Bench, command: Sequence[str], most: int, hows: Sequence[str] = HOWS) -> Iterator[Outcome]:
    """Each of these faults at so many of the command's calls."""
    calls, clean, after = bench.calls(command)
    for how in hows:
        for at in [*points(len(calls), most), *([len(calls) + 1] if how == "power" else ())]:  # also once it has ended
            yield inject_one(bench, command, how, at, clean, after)


def inject_one(bench: Bench, command: Sequence[str], how: str, at: int, clean: Ran, after: State) -> Outcome:
    """What one fault leaves. `clean`, `after`: how the command ends without one, and what it leaves."""
    bench.put_back()
    ran = bench.program.faulty(*command, how=how, at=str(at), seed=str(at))
    name = f"{' '.join(command[:3])}: {how} at call {at}"
    found = Outcome(1, int(ran.code > 0), int(ran.code == _KILLED))
    if "Traceback" in ran.err:
        found.tracebacks.append(f"{name}: {ran.err.strip().splitlines()[-1]}")
    acknowledged = ran.code == clean.code or (
        ran.code == _KILLED and (ran.out, ran.err) == (clean.out, clean.err) != ("", "")
    )
    next_one = bench.program.faulty(*_AFTER)  # without a fault: it only skips the real syncs
    if next_one.code:
        found.broken.append(f"{name}: the next command ended with {next_one.code}: {next_one.err.strip()[-300:]}")
        return found
    found.broken += [f"{name}: {each}" for each in _damage(bench.program.db)]
    try:
        now = commands.state(bench.program)
    except StoreError as error:
        found.broken.append(f"{name}: {error}")
        return found
    found.lost += [f"{name}: {each}" for each in _lost(bench.before, after, now, acknowledged)]
    found.broken += [
        f"{name}: {file} is neither what it was nor what it was to be: {str(held)[:100]}"
        for file, held in now.files.items()
        if held not in (bench.before.files[file], after.files[file])
    ]
    return found


def _damage(path: Path) -> Sequence[str]:
    db = Database(path)
    try:
        db.prepare()
        return file_check.check(db).canonical
    finally:
        db.close()


def _lost(before: State, after: State, now: State, acknowledged: bool) -> list[str]:
    """What is not there of what must be: what was there before, and what the command said it did."""
    kept = before.rows & after.rows
    lost = [f"lost {row}" for row in kept - now.rows]
    if acknowledged:
        lost += [f"acknowledged, and lost: {row}" for row in after.rows - before.rows - now.rows]
        lost += [f"acknowledged, and still there: {row}" for row in (before.rows - after.rows) & now.rows]
        lost += [f"acknowledged, and not so: {name}" for name, held in after.files.items() if now.files[name] != held]
    elif now.rows - {("note", _AFTER[-1])} != before.rows:
        lost += [f"gone by halves: {row}" for row in before.rows - now.rows if not after.rows <= now.rows]
    return lost
