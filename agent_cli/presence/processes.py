"""The processes above a process: its parent, the parent of that, and so on; from /proc, else from `ps`."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agent_cli.values import frozen

_PS = ("ps", "-axo", "pid=,ppid=,args=")
_PROC = Path("/proc")
_ENDED = "ZX"  # states of processes that nobody has waited for


@frozen
class Process:
    pid: int
    parent: int
    name: str  # as the process calls itself; elsewhere than on Linux its program
    command: tuple[str, ...]
    environment: bytes = b""  # with which it was started, `NAME=value` ended by zeros; empty where it cannot be read


def above(pid: int) -> Iterator[Process]:
    """The process and all above it, as far as they can be seen."""
    seen: set[int] = set()
    while pid > 0 and pid not in seen and (process := _process(pid)):
        seen.add(pid)
        yield process
        pid = process.parent


def at_terminal_of(pid: int) -> list[int]:
    """The other processes that the same terminal controls, the oldest first; none elsewhere than on Linux.

    Numbers do not tell the age: after the highest they begin anew.
    """
    terminal, _ = _terminal_and_start(str(pid))
    if not terminal:
        return []
    others = [each.name for each in _PROC.iterdir() if each.name.isdigit() and each.name != str(pid)]
    found = {int(each): _terminal_and_start(each) for each in others}
    return sorted((each for each in found if found[each][0] == terminal), key=lambda each: (found[each][1], each))


def _terminal_and_start(pid: str) -> tuple[int, int]:
    """The number of the terminal that controls a process, 0 where there is none and once the process has ended, and
    when it was started, in ticks since the machine was."""
    try:
        state, *fields = (_PROC / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0, 0
    return (0, 0) if state in _ENDED else (int(fields[3]), int(fields[18]))


def _process(pid: int) -> Process | None:
    if not _PROC.joinpath("self", "stat").exists():
        return _listed().get(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
        command = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None  # it has ended, or is hidden from this user
    name, _, fields = stat.partition("(")[2].rpartition(")")
    words = tuple(command.decode(errors="replace").split("\0")[:-1])
    return Process(pid, int(fields.split()[1]), name, words, _environment(pid))


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""  # of another user, who is not the one that this program could start


@cache
def _listed() -> dict[int, Process]:
    """All processes that `ps` lists, by number."""
    try:
        lines = subprocess.run(_PS, capture_output=True, text=True, errors="replace", check=False).stdout.splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        pid, parent, *words = line.split()
        found[int(pid)] = Process(int(pid), int(parent), os.path.basename(words[0]) if words else "", tuple(words))
    return found
