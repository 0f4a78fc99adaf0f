"""Runs parsers of text from outside within limits of time and memory, and says which limit was hit.

A parser of a library may need minutes or gigabytes for a small file that was made so: it runs in a copied process,
which can be ended at any moment. Where its cost is known from the size of its input, that is limited instead.
"""

import gc
import json
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

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


def read(file: Path) -> str:
    """The text of a file that is put into a question. Raises UsageError."""
    try:
        with file.open("rb") as opened:
            return decoded(opened.read(MAX_INPUT + 1), str(file))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


class LimitExceeded(ValueError):
    """The limit that was hit, as the end of a sentence: `it` is the text that was parsed."""


def run(parse: Callable[[], T], seconds: float = SECONDS) -> T:
    """What the parser returns or raises, within the limits; without any on Windows. Raises LimitExceeded."""
    if not hasattr(os, "fork"):
        return parse()
    import multiprocessing  # few commands parse what needs it

    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)
    child = fork.Process(target=_answer, args=(sending, seconds, parse), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, of whose locks the parser needs none
        child.start()
    sending.close()
    returned, value = False, cast(Any, None)
    try:
        if not (is_late := not receiving.poll(seconds)):
            returned, value = receiving.recv()
    except EOFError:
        child.join()
        is_late, value = child.exitcode == -signal.SIGXCPU, LimitExceeded("its parser crashed")
    finally:
        receiving.close()
        child.kill()
        child.join()
    if is_late:
        raise LimitExceeded(f"it takes more than {seconds:g} s to be read")
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


def _answer(sending: Any, seconds: float, parse: Callable[[], Any]) -> None:
    """Parse in the child and send the answer. Nothing of the parent's is undone or cleaned up here."""
    import resource  # not on Windows

    most = int(seconds) + 1
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
            sending.send((True, parse()))
        except RecursionError:
            sending.send((False, LimitExceeded(TOO_DEEP)))
        except MemoryError:
            sending.send((False, LimitExceeded(TOO_MUCH_MEMORY)))
        except Exception as error:
            sending.send((False, error))
    finally:
        os._exit(0)
