"""Runs parsers of text from outside within limits of time and memory, and says which limit was hit.

A parser of a library may need minutes or gigabytes for a small file that was made so: it runs in a copied process,
which can be ended at any moment. Where its cost is known from the size of its input, that is limited instead.
"""

import gc
import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TextIO, TypeVar

from agent_cli.errors import UsageError

SECONDS, MEMORY = 60.0, 1_000_000_000
MAX_LINE = 1 << 28  # characters of a line of JSON: a session of several hundred megabytes
MAX_INPUT = 20_000_000  # bytes of what is put into a question; no model's context holds a tenth of it
TOO_DEEP = "it is nested too deeply"
TOO_MUCH_MEMORY = f"it takes more than {MEMORY / 1e6:,.0f} MB of memory to be read"
_CHUNK = 1 << 20
_JSON_SIZES = {"{": 200, "[": 64, ",": 60}  # bytes of what begins with these characters
_STATM = "/proc/self/statm"  # its first number: the pages of address space of this process

T = TypeVar("T")


def decoded(raw: bytes, name: str) -> str:
    """The text of a file or pipe that is put into a question. Raises UsageError with its name."""
    if len(raw) > MAX_INPUT:
        raise UsageError(f"{name} is larger than {MAX_INPUT // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{name} is not text: nothing was sent")
    return raw.decode("utf-8", "replace").strip("\n")


class LimitExceeded(ValueError):
    """The limit that was hit, as the end of a sentence: `it` is the text that was parsed."""


def run(parse: Callable[[], T], seconds: float = SECONDS) -> T:
    """What the parser returns or raises, within the limits; without any on Windows. Raises LimitExceeded."""
    if not hasattr(os, "fork"):
        return parse()
    import pickle  # few commands parse what needs it

    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, of whose locks the parser needs none
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(writing, seconds, parse)
    os.close(writing)
    sent = None
    try:
        sent = _received(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        if sent is None:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if sent is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        raise LimitExceeded(f"it takes more than {seconds:g} s to be read")
    if status:
        raise LimitExceeded("its parser crashed")
    returned, value = pickle.loads(sent)
    if returned:
        return value  # type: ignore[no-any-return]
    raise value


def load_json(text: str) -> Any:
    """The value of a JSON text. Raises LimitExceeded, and ValueError where it is not JSON."""
    if len(text) > MAX_LINE:
        raise LimitExceeded(f"it has more than {MAX_LINE:,} characters")
    if json_memory(text) > MEMORY:
        raise LimitExceeded(TOO_MUCH_MEMORY)
    try:
        return json.loads(text)
    except RecursionError:
        raise LimitExceeded(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON from character {error.pos + 1} on") from None


def load_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises LimitExceeded, and ValueError where it is no TOML."""
    import tomllib  # most people have no file of settings

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise LimitExceeded(TOO_DEEP) from None


def json_memory(text: str) -> int:
    """About how many bytes the values of a JSON text need at most, besides the text."""
    if len(text) < _CHUNK:
        return 0
    return sum(size * text.count(character) for character, size in _JSON_SIZES.items())


def lines(file: TextIO) -> Iterator[str]:
    """The lines of a file; of one that is too long a beginning that is too long as well."""
    while line := file.readline(MAX_LINE + 1):
        rest = line
        while rest and not rest.endswith("\n"):
            rest = file.readline(_CHUNK)
        yield line


def _answer(writing: int, seconds: float, parse: Callable[[], Any]) -> None:
    """Parse in the child and write the answer. Nothing of the parent's is undone or cleaned up here."""
    import pickle
    import resource  # not on Windows

    status, most = 1, int(seconds) + 1
    try:
        gc.freeze()  # no connection of the parent is closed here
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # so that it ends even when its parent has ended
        with suppress(OSError), open(_STATM, encoding="ascii") as statm:  # only Linux limits the address space
            used = int(statm.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        try:
            answer = pickle.dumps((True, parse()))
        except RecursionError:
            answer = pickle.dumps((False, LimitExceeded(TOO_DEEP)))
        except MemoryError:
            answer = pickle.dumps((False, LimitExceeded(TOO_MUCH_MEMORY)))
        except Exception as error:
            answer = pickle.dumps((False, error))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def _received(reading: int, until: float) -> bytes | None:
    """All that is written to the pipe; None when the time is over before its end."""
    pieces = list[bytes]()
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    while poll.poll(max(0.0, 1000 * (until - time.monotonic()))):
        if not (piece := os.read(reading, _CHUNK)):
            return b"".join(pieces)
        pieces.append(piece)
    return None
