"""The process that holds an open session or a running job, as `host/pid/start time`, and whether it is still alive; and
the terminal that a process belongs to."""

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path


@cache
def _identity(pid: int) -> str:
    return f"{socket.gethostname()}/{pid}/{_start_time(pid)}"


def this_process() -> str:
    """This process, as `host/pid/start`."""
    return _identity(os.getpid())


def terminal() -> str:
    """The leader of the session at the terminal of this process, mostly the shell, as `host/pid/start`, or empty."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))  # also when input and output are pipes
        return _identity(os.getsid(0))
    except (OSError, AttributeError):  # Windows has neither
        return ""


@cache
def terminal_name(pid: int) -> str:
    """The device of the terminal of this process, as in /dev/pts/3; empty where there is none."""
    for stream in range(3):
        with suppress(OSError, AttributeError):
            return os.ttyname(stream)
    return "/dev/tty" if terminal() else ""


def is_alive(holder: str) -> bool:
    """Whether the process may still run; a process of another host is assumed to."""
    host, pid, started = holder.rsplit("/", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return not started or started == _start_time(int(pid))


def _start_time(pid: int) -> str:
    """The start of a process in clock ticks after boot, from /proc; `ended` for a zombie, empty without /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if fields[0] == "Z" else fields[19]
