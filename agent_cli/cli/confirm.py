"""Asking the person at the terminal for a typed line; what was typed before the question was drawn is no answer."""

import sys
from contextlib import suppress
from typing import TextIO


def is_possible() -> bool:
    """Whether input and output are a terminal, so that a person can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_given(question: str, stream: TextIO | None = None) -> bool:
    """Ask on this stream, by default standard output; whether the answer is yes."""
    return answer(question, stream) == "yes"


def answer(question: str, stream: TextIO | None = None) -> str:
    """Ask on this stream, by default standard output; the typed line in lower case."""
    stream = stream or sys.stdout
    _discard_typed()
    stream.write(question)
    stream.flush()
    return sys.stdin.readline().strip().lower()


def _discard_typed() -> None:
    with suppress(ImportError, OSError):  # Windows has none, and another input is no terminal
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
