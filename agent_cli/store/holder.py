"""Which process holds something, and whether it still lives.

A session that is open and a job that runs are held by a process. When that process was killed, its things must be
free at once, so a holder names host, process id and start time, and a process of this host can be looked up.
"""

import os
import socket
from functools import cache
from pathlib import Path


@cache
def _identity(pid: int) -> str:
    return f"{socket.gethostname()}/{pid}/{_start_time(pid)}"


def this_process() -> str:
    """This process, as `host/pid/start`."""
    return _identity(os.getpid())


def is_alive(holder: str) -> bool:
    """Whether the process may still run; one of another host is taken to."""
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
    """Clock ticks after boot at which the process began, where /proc tells; a zombie has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "ended" if fields[0] == "Z" else fields[19]
