"""Whether the assistant started this process, or the terminal that it is at: then it decides nothing for the person.

One variable of the environment would be easy to drop. So the processes above are looked at too, and those above the
leader of the terminal's session. On Linux what the assistant starts stays below it, however it detaches itself: a
process whose parent has ended becomes a child of the assistant. And it bears a mark that only root can take off (see
`launcher`), so that it is known in a namespace of processes that hides those above, and after the assistant has ended.
Whoever asks a service of the system to start something cannot be told from the person's own programs.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from agent_cli import CHILD
from agent_cli.presence import launcher, processes
from agent_cli.presence.processes import Process

_NAME = "agent"
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_MARK = 409_600  # bytes of message queues, of which Linux gives each user 819,200: see `launcher`
_SECONDS_TO_END = 0.3
_seen: list[int] = []  # the process that was seen at the terminal


def announce() -> None:
    """Name this process, so that those below it know it by its name."""
    with suppress(OSError):  # there is no /proc, and the command line says it
        Path("/proc/self/comm").write_text(_NAME)


def below(command: Sequence[str]) -> list[str]:
    """The command line with which another program is started, so that it and what it leaves behind is known.

    One that cannot be run is left as it is, so that starting it says why.
    """
    if sys.platform != "linux" or not shutil.which(command[0]):
        return [*command]
    import ctypes  # 2 ms that only a run needs that starts other programs

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return [sys.executable, "-I", "-S", launcher.__file__, str(_MARK), *command]


def run_at_terminal(command: Sequence[str]) -> int:
    """Run another program at this terminal until it ends, and note what it leaves there. Its exit code.

    What ends just after it, as the language servers of an editor do, is waited for. What was typed until then is still
    in the terminal's queue: who reads on throws it away.
    """
    code = subprocess.call(below(command))
    end = time.monotonic() + _SECONDS_TO_END
    while _at_this_terminal() and time.monotonic() < end:
        time.sleep(0.02)
    other_typist()
    return code


def is_of_assistant(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the assistant started this process or the leader of its session, directly or not."""
    if CHILD in environ or _bears_mark():
        return True
    leader = os.getsid(0) if hasattr(os, "getsid") else 0
    found = [*processes.above(os.getpid()), *processes.above(leader)]
    return any(_is_marked(each) or (each.pid != os.getpid() and _is_assistant(each)) for each in found)


def other_typist(*, look: bool = True) -> str:
    """That a process which the assistant started is at the terminal that controls this one, and could type there
    (TIOCSTI); empty where there is none. `look`: whether to look now, or tell what was seen.

    Once it was seen, it counts as long as this process runs: what it typed may be read after it has ended.
    """
    if look and not _seen:
        _seen.extend(_at_this_terminal())
    if not _seen:
        return ""
    return (
        f"process {_seen[0]}, which an editor or a tool of the assistant left at this terminal, could type here: end "
        f"it (kill {_seen[0]}) and start this again, or use another terminal"
    )


def _at_this_terminal() -> list[int]:
    return [*filter(_bears_mark, processes.at_terminal_of(os.getpid()))]


def _bears_mark(pid: int = 0) -> bool:
    """Whether a process bears the mark; 0: this one."""
    if sys.platform != "linux":
        return False
    import resource

    try:
        return launcher.is_marked(resource.prlimit(pid, resource.RLIMIT_MSGQUEUE)[1], _MARK)
    except OSError:
        return False  # it has ended, or is another user's, whose keys the system does not take


def _is_assistant(process: Process) -> bool:
    program, *words = process.command or ("",)
    if not os.path.basename(program).lower().startswith("python"):
        return False
    return process.name == _NAME or _runs_assistant(words)


def _runs_assistant(words: list[str]) -> bool:
    """Whether these words behind `python` start the program."""
    script = next((word for word in words if not word.startswith("-")), "")
    return os.path.basename(script) == _NAME or any(word.split(".")[0] == "agent_cli" for word in words[:4])


def _is_marked(process: Process) -> bool:
    return f"\0{CHILD}=".encode() in b"\0" + process.environment
