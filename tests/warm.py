"""The program in a process of its own that need not import everything once more.

Of the tenth of a second that a command takes, three quarters are imports, and the tests start fifteen hundred. So each
worker of the tests keeps one process that has imported the program, has compiled its patterns and read the vectors of
words, and forks for every command. A fork runs `main` with its own arguments, environment, folder and pipes or
terminal, on real files, and ends as an interpreter does, but that it does not take apart what the system frees at once.
What it does not prove is starting from nothing: that is for commands that are wrapped in others, which are never
forked, and for `pytest --cold`, which forks none.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, TextIO

_NUMBER = 4  # bytes of a process id and of an exit code on the wire
_LATE = ("resource",)  # imported by commands as they run
_LARGE_PAGE = 2**21
_COLLAPSE = 25  # MADV_COLLAPSE
_POOL, _FIRST = 2**14, 48  # bytes of a pool of Python's small objects, and where the first of them lies
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_")
_READ_LATE = "PYTHON_KEYRING_BACKEND"  # by the library, once it is imported


class Parent:
    """The process that waits, seen from the tests."""

    def __init__(self, env: Mapping[str, str]):
        self._control, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env=dict(env),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # as a command will have them
        )
        theirs.close()

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], folder: Path, stdin: str, timeout: float
    ) -> tuple[int, str, str]:
        """Exit code, output and errors of one command. Raises TimeoutExpired, once it is killed."""
        process = self.start(arguments, env, folder)
        out, err = process.communicate(stdin, timeout)
        return process.wait(), out, err

    def start(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        stdin: Any = subprocess.PIPE,
        stdout: Any = subprocess.PIPE,
        stderr: Any = subprocess.PIPE,
        start_new_session: bool = False,
        first: str = "",
    ) -> "Forked":
        """A command that runs on, with streams as of `subprocess.Popen`; `first` is Python that it runs before it."""
        said, out, err = _Stream(stdin, "w"), _Stream(stdout, "r"), _Stream(stderr, "r")
        told = {"session": start_new_session, "first": first}
        reply = self._fork([said.theirs, out.theirs, err.theirs], arguments, env, cwd, **told)
        return Forked(reply, said.ours, out.ours, err.ours)

    def at_terminal(self, arguments: Sequence[str], env: Mapping[str, str], folder: Path, end: int) -> "Forked":
        """A command that runs on, in a session of its own whose terminal is the given end, which is closed here."""
        return Forked(self._fork([end, os.dup(end), os.dup(end)], arguments, env, folder, session=True))

    def _fork(
        self, streams: list[int], arguments: Sequence[str], env: Mapping[str, str], folder: Path, **told: Any
    ) -> socket.socket:
        """Where a new process tells its id and how it ended. Its streams are closed here."""
        ours, theirs = socket.socketpair()
        given = [*streams, theirs.fileno()]
        socket.send_fds(self._control, [b"!"], given)
        theirs.detach()
        for each in given:
            os.close(each)
        asked = {"arguments": list(arguments), "env": dict(env), "folder": os.fsdecode(folder), "first": "", **told}
        ours.sendall(json.dumps(asked).encode() + b"\n")
        return ours

    def close(self) -> None:
        with self._process:  # closes its pipes and waits for it
            self._control.close()


class _Stream:
    """A stream of a process: the end that is its own, and of a pipe the end that is ours."""

    def __init__(self, wanted: Any, mode: str):
        self.ours: TextIO | None = None
        if wanted == subprocess.PIPE:
            reading, writing = os.pipe()
            self.theirs, ours = (writing, reading) if mode == "r" else (reading, writing)
            self.ours = os.fdopen(ours, mode, encoding="utf-8")
        elif wanted == subprocess.DEVNULL:
            self.theirs = os.open(os.devnull, os.O_RDWR)
        else:
            self.theirs = os.dup(wanted if isinstance(wanted, int) else wanted.fileno())


class Forked:
    """A process that runs on, as `subprocess.Popen` tells of one."""

    def __init__(
        self,
        reply: socket.socket,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ):
        self._reply = reply
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.pid = _number(reply)
        self.returncode: int | None = None

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self.wait()

    def poll(self) -> int | None:
        """The exit code, or a signal as a negative number; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, or a signal as a negative number. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._reply], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            with self._reply:
                self.returncode = _number(self._reply)
        return self.returncode

    def communicate(self, words: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Write this, read to the end and wait. Raises TimeoutExpired, once it is killed."""
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write, self.stdin, words)
            read = [pool.submit(_read, each) for each in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                self.wait()
                raise
            return read[0].result(), read[1].result()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since, and the process that forks has taken it away
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _close(self) -> None:
        for each in (self.stdin, self.stdout, self.stderr):
            if each:
                with suppress(BrokenPipeError):
                    each.close()


def can(env: Mapping[str, str]) -> bool:
    """Whether a fork would be as one that starts from nothing: not, where the interpreter itself is told something."""
    told = {name: value for name, value in env.items() if name.startswith(_READ_AT_START) and name != _READ_LATE}
    return sys.platform == "linux" and told == {name: value for name, value in environment().items() if name in told}


@cache
def parent() -> Parent:
    """The one of this worker of the tests."""
    return Parent(environment())


def environment() -> dict[str, str]:
    """What a process that forks is given: little, so that its forks do not seem started by the assistant."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}


def python(code: str, *arguments: object) -> "subprocess.Popen[str] | Forked":
    """A process of its own that runs this Python with the program at hand; its streams are pipes."""
    words, root = [*map(str, arguments)], Path(__file__).parents[1]
    if sys.platform == "linux":
        return parent().start(words, environment(), root, first=f"{code}\nraise SystemExit")
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, "-c", code, *words], cwd=root, text=True, **pipes)


def close() -> None:
    if parent.cache_info().currsize:
        parent().close()


def _write(stream: TextIO | None, text: str) -> None:
    if stream and not stream.closed:
        with suppress(BrokenPipeError), stream:  # it need not read to the end
            stream.write(text)


def _read(stream: TextIO | None) -> str:
    if not stream or stream.closed:
        return ""
    with stream:
        return stream.read()


def _number(reply: socket.socket) -> int:
    number = reply.recv(_NUMBER, socket.MSG_WAITALL)
    assert len(number) == _NUMBER, "the process that forks has ended"
    return int.from_bytes(number, "big", signed=True)


def _wait(control: socket.socket) -> socket.socket:
    """Fork for each command and tell how it ended; returns only in a child, with where it is told what to run."""
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(control, selectors.EVENT_READ)
        ready.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is woken:
                    woken.recv(4096)
                    _reap(running)
                elif reply := _fork(control, running):
                    return reply


def _fork(control: socket.socket, running: dict[int, socket.socket]) -> socket.socket | None:
    asked, streams, *_ = socket.recv_fds(control, 1, 4)
    if not asked:
        os._exit(0)  # the tests are over
    reply = socket.socket(fileno=streams.pop())
    if pid := os.fork():
        running[pid] = reply
        _tell(reply, pid)
        for each in streams:
            os.close(each)
        return None
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    return reply


def _reap(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as reply:
            _tell(reply, os.waitstatus_to_exitcode(status))


def _tell(reply: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # a test that was stopped waits no longer
        reply.sendall(number.to_bytes(_NUMBER, "big", signed=True))


def _become(reply: socket.socket) -> None:
    """Make this process what `python -m agent_cli` begins as: what it knows, and nothing else open."""
    with reply.makefile(encoding="utf-8") as stream:
        asked = json.loads(stream.readline())
    reply.detach()
    os.closerange(3, 256)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    tempfile.tempdir = None  # as the environment says
    if asked["session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if os.isatty(1):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # as Python opens it at a terminal
    sys.argv = [str(Path(_start.__code__.co_filename)), *asked["arguments"]]
    sys.path[0] = asked["folder"]
    exec(asked["first"], {"os": os, "sys": sys})


def _exit(code: int) -> None:
    """End as an interpreter does: threads, what was asked for at exit, streams, what nobody holds any more."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = 120  # as Python ends when its output cannot be written
    os._exit(code)


def _fill() -> list[bytes]:
    """Take the gaps between all that is held, so that what a fork makes lies together: it copies each page it writes.
    Gives what takes those of small objects. With this a command copies a fifth fewer pages."""
    taken = []
    for size in range(48, 513, 16):
        begun = 0
        for _ in range(_POOL):
            taken.append(bytes(size - sys.getsizeof(b"")))
            begun += id(taken[-1]) % _POOL == _FIRST
            if begun == 3:  # nothing is left in the pools before
                break
    malloc = ctypes.CDLL(None).malloc
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    end = malloc(2**16)
    for size in (*(2**n for n in range(16, 9, -1)), *range(1008, 0, -16)):
        while malloc(size) < end:
            pass
    return taken


def _collapse() -> None:
    """Put what this process holds into large pages, where the system can: a fork copies one entry for each page."""
    collapse = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, inode, *name = line.split()
        if (rights, inode) == ("rw-p", "0") and name != ["[stack]"]:
            start, end = (int(each, 16) for each in span.split("-"))
            for page in range(-(-start // _LARGE_PAGE), end // _LARGE_PAGE):
                collapse(*map(ctypes.c_size_t, (page * _LARGE_PAGE, _LARGE_PAGE)), _COLLAPSE)  # refused: as before


if __name__ == "__main__":
    import typer.main

    import agent_cli
    from agent_cli import values
    from agent_cli.__main__ import main as _start
    from agent_cli.cli import usage
    from agent_cli.llm import embedded
    from agent_cli.memory.language import secrets
    from agent_cli.text import Pattern

    for module in walk_packages(agent_cli.__path__, "agent_cli."):
        if not module.name.startswith("agent_cli.serve"):  # what serves starts from nothing
            import_module(module.name)
    for each in ("mcp", *_LATE):
        import_module(each)
    _late_init = values._init_on_first_use.__name__
    for each in gc.get_objects():
        if isinstance(each, Pattern):
            _ = each._compiled
        if isinstance(each, type) and _late_init in getattr(each.__dict__.get("__init__"), "__qualname__", ""):
            each.__init__ = values._make_init(each)  # type: ignore[misc]
    typer.main.get_command = cache(typer.main.get_command)  # which makes all commands of a group for one
    for each in ("agent_cli.cli.main", *map(usage.module, usage.COMMANDS)):
        typer.main.get_command(import_module(each).app)
    secrets.spans("password")
    embedded.load()
    gc.collect()
    _taken = _fill()
    gc.freeze()  # a child need not look at, and so copy, what it was given
    _collapse()
    _reply = _wait(socket.socket(fileno=int(sys.argv[1])))
    try:
        _become(_reply)
        _start()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _code = ended.code or 0
    else:
        _code = 0
    _exit(_code)
