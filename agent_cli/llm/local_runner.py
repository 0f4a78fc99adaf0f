"""The process itself: `python -m agent_cli.llm.local_runner FOLDER WEIGHTS NUM_CTX EMBEDS IDLE`.

llama.cpp's own server listens on a port of loopback that the system chooses and asks for a key made here. This thread
only looks, now and then, whether anybody still needs it.
"""

import fcntl
import json
import os
import secrets
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from agent_cli.llm import local
from agent_cli.llm.local import Launch

_PATIENCE = 2.0  # seconds to try for the lock, which somebody may hold for a moment to look
_GRACE = 0.5  # seconds
_CACHE = 512  # MiB of prompts that were read before and may come again


def main() -> None:
    folder, file, num_ctx, embeds, idle = sys.argv[1:]
    launch = Launch(Path(folder), Path(file), int(num_ctx), bool(int(embeds)), float(idle))
    lock = os.open(launch.lock, os.O_RDWR | os.O_CREAT, 0o600)
    if not _take(lock):
        return  # another one runs
    launch.record.unlink(missing_ok=True)
    os.truncate(launch.log, 0)
    key = secrets.token_urlsafe(32)
    server = _serve(launch, key)
    _write(launch.record, {"url": server.listening_address, "key": key, "pid": os.getpid()})
    _wait(launch, server.listening_address, key)
    _end(launch, server)
    os._exit(0)  # without waiting for threads that wait for connections


def _take(lock: int) -> bool:
    """Hold the lock until the process ends; False when another process does."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
        time.sleep(0.05)


def _serve(launch: Launch, key: str) -> Any:
    """llama.cpp's server with the model loaded."""
    import xllamacpp  # 50 ms and 100 MB, in this process alone

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
        if not local.is_made_to_embed(launch.weights):  # a chat model embeds too, by the mean of its tokens
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    # Threads wait for one another in a loop: with as many as there are cores, any other program that runs makes them
    # wait most of the time (on two busy cores, 1 token a second with two threads and 19 with one).
    threads = max(1, (os.cpu_count() or 2) - 1)
    for each in (params.cpuparams, params.cpuparams_batch):
        each.n_threads = threads
    return xllamacpp.Server(params)


def _write(record: Path, values: dict[str, Any]) -> None:
    """Write the record whole, for its owner alone."""
    new = record.with_suffix(".new")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as stream:
        json.dump(values, stream)
    new.replace(record)


def _wait(launch: Launch, url: str, key: str) -> None:
    """Return when nobody has needed it for so long."""
    last = time.time()
    while True:
        time.sleep(min(max(launch.idle / 10, 0.1), 10))
        try:
            touched = launch.record.stat().st_mtime
        except FileNotFoundError:
            return  # removed: nobody can find it
        if time.time() - max(touched, last) < launch.idle:
            continue
        if not _is_busy(url, key):
            return
        last = time.time()


def _end(launch: Launch, server: Any) -> None:
    """Let nobody find it any more, and answer those who have: a request of its own is answered behind theirs."""
    launch.record.unlink(missing_ok=True)
    time.sleep(_GRACE)  # for whoever has just read the record
    if launch.embeds:
        server.handle_embeddings({"input": "."})
    else:
        server.handle_completions({"prompt": ".", "n_predict": 0})
    time.sleep(_GRACE)  # until the last answer is sent


def _is_busy(url: str, key: str) -> bool:
    """Whether it answers somebody. Without an answer it is: the question waits behind a batch of a prompt."""
    request = urllib.request.Request(f"{url}/slots", headers={"Authorization": f"Bearer {key}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return any(slot["is_processing"] for slot in json.load(answer))
    except (OSError, ValueError):
        return True


if __name__ == "__main__":
    main()
