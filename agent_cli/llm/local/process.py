"""The process that runs a file of weights: found where it runs, else started, and shared by all programs of a person.

Three files in a private folder belong to each. The process holds a lock on one as long as it lives, however it ends; so
who cannot take the lock knows that it runs, and of two that start only one goes on. The record says its address and the
key that it asks for; it is written when the model is loaded, and removed under the lock before another is started, so a
record beside a held lock is never an old one. The third file is its log.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from agent_cli.errors import ModelFailed
from agent_cli.llm.model import Cancel
from agent_cli.llm.server import address
from agent_cli.llm.server.address import Address, ServerKind
from agent_cli.values import frozen

KIND = ServerKind("the local engine", "ask again", "the setting engine", "")
_LOOK = 0.05  # seconds between two looks at a process that loads
_STARTS = 3  # of processes that found another one running which then ended
_started: list["subprocess.Popen[bytes]"] = []  # kept, so that none is waited for by the garbage collector


@frozen
class Launch:
    """What a process is started with. One with other weights, context or purpose is another process."""

    folder: Path  # of its files
    weights: Path
    num_ctx: int
    embeds: bool
    idle: float  # seconds without a request after which it ends

    @property
    def lock(self) -> Path:
        return self._file("lock")

    @property
    def record(self) -> Path:
        return self._file("json")

    @property
    def log(self) -> Path:
        return self._file("log")

    def _file(self, suffix: str) -> Path:
        stat = self.weights.stat()
        # The host too: a home folder may be on several.
        parts = (os.uname().nodename, self.weights.resolve(), stat.st_size, stat.st_mtime_ns, self.num_ctx, self.embeds)
        return self.folder / f"model-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.{suffix}"


def join(launch: Launch, cancel: Cancel) -> Address:
    """The address of the process, once it answers. Raises ModelFailed, Cancelled."""
    if found := running(launch):
        return found
    _make_private(launch.folder)
    starts = 0
    child: subprocess.Popen[bytes] | None = None
    while not (found := running(launch)):
        if not is_alive(launch) and (child is None or child.poll() is not None):
            if (child is not None and child.returncode) or starts == _STARTS:
                raise ModelFailed(f"the model in {launch.weights} cannot be run: {_reason(launch)}")
            child, starts = _start(launch), starts + 1
        cancel.wait(_LOOK)
    return found


def running(launch: Launch) -> Address | None:
    """The address of a process that has loaded its model; None without one. It is told that it is needed."""
    if not is_alive(launch):
        return None
    try:
        record = json.loads(launch.record.read_bytes())
        os.utime(launch.record)
    except (FileNotFoundError, ValueError):  # it is still loading, or ends just now
        return None
    read = address.parse(record["url"], KIND)
    return Address(read.scheme, read.host, read.port, "/v1", KIND, key=record["key"])


def is_alive(launch: Launch) -> bool:
    """Whether a process holds the lock."""
    import fcntl  # not on Windows, where this engine is not offered

    try:
        file = os.open(launch.lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _start(launch: Launch) -> "subprocess.Popen[bytes]":
    """Start a process. -P: it imports nothing from the current folder."""
    import fcntl

    lock = os.open(launch.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        launch.record.unlink(missing_ok=True)
    except BlockingIOError:
        pass  # another has begun meanwhile: this one will find it and end
    finally:
        os.close(lock)
    arguments = [launch.folder, launch.weights, launch.num_ctx, int(launch.embeds), launch.idle]
    command = [sys.executable, "-P", "-m", "agent_cli.llm.local.runner", *map(str, arguments)]
    log = os.open(launch.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    except OSError as error:
        raise ModelFailed(f"the model in {launch.weights} cannot be run: {error.strerror}") from error
    finally:
        os.close(log)
    _started.append(process)
    return process


def _make_private(folder: Path) -> None:
    """A folder that only its owner can look into: it holds keys."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise ModelFailed(
            f"{folder}, where the local engine keeps its key, cannot be used: {error.strerror}"
        ) from error


def _reason(launch: Launch) -> str:
    """What the log says last about an error."""
    try:
        lines = launch.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    faults = [line for line in lines if "rror" in line or "failed" in line] or lines
    return f"{faults[-1].strip()[:200] if faults else 'it ended without a word'} (see {launch.log})"
