"""The options of `agent ask`, and the parts of its question: standard input, then files, then words."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_cli.errors import UsageError
from agent_cli.messages import Part, join_parts

AnswerForm = Literal["stream", "whole", "json", "events", "code"]
"""How the answer is printed: as it arrives, when whole, one JSON object, a JSON line per event, its last code alone."""

_LARGEST = 20_000_000  # bytes of one input; no model's context holds a tenth of it


@dataclass(eq=False, repr=False)  # each costs time at the start
class AskOptions:
    words: list[str]
    files: list[Path] = field(default_factory=list)
    system: str = ""
    form: AnswerForm = "stream"
    timeout: float | None = None
    dry_run: bool = False
    why: bool = False  # afterwards print what was recalled
    render: bool = False  # styled even where the output is not a terminal
    offline_ok: bool = False  # an answer from memory alone counts as one


def parts(question: AskOptions) -> Sequence[Part]:
    """The parts of the question. Raises UsageError when there are none."""
    read = optional_parts(question)
    if not read:
        raise UsageError('nothing was asked: `agent ask "your question"`, or pipe some words in')
    return read


def optional_parts(question: AskOptions) -> Sequence[Part]:
    """The parts of the question, perhaps none. Raises UsageError for a file that cannot be read or is not text."""
    parts = []
    if not sys.stdin.isatty() and Path("-") not in question.files:
        parts.append(_piped())
    for file in question.files:
        if file == Path("-"):
            parts.append(_piped())
            continue
        try:
            with file.open("rb") as opened:
                parts.append(Part(_read(opened.read(_LARGEST + 1), str(file)), "file", str(file)))
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    parts.append(Part(" ".join(question.words), "typed"))
    return join_parts([part for part in parts if part.text.strip()])


def take_keyboard() -> None:
    """Make the keyboard standard input again, after piped input was read. Raises UsageError where there is none."""
    if sys.stdin.isatty():
        return
    sys.stdin.close()
    # The terminal by its own name: macOS cannot wait for keys of /dev/tty.
    for name in (_name_of_terminal(), "/dev/tty"):
        with suppress(OSError):
            opened = os.open(name, os.O_RDWR)
            if opened != 0:
                os.dup2(opened, 0)
                os.close(opened)
            sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            return
    raise UsageError("-i goes on at the keyboard, and there is none here; ask without -i")


def _name_of_terminal() -> str:
    try:
        return os.ttyname(1)
    except (OSError, AttributeError):  # in a container it may have none; Windows knows no such names
        return "/dev/tty"


def _piped() -> Part:
    return Part(_read(sys.stdin.buffer.read(_LARGEST + 1), "standard input"), "piped")


def _read(raw: bytes, name: str) -> str:
    if len(raw) > _LARGEST:
        raise UsageError(f"{name} is larger than {_LARGEST // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{name} is not text")
    return raw.decode("utf-8", "replace").strip("\n")
