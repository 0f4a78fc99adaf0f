"""What a terminal can show and what the person wants to see, decided once from the stream, environment and flags.

The drawing asks this value and nothing else. Without Markdown an answer is printed as the model wrote it: that is what
a pipe gets, a dumb terminal, and who asked for no colours. `aloud` is for a screen reader: whole sentences, nothing
that is erased again, no signs that only make sense to the eye.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, TextIO

from agent_cli.values import frozen

Colour = Literal["auto", "always", "never"]

_NARROWEST = 20  # cells; below it nothing is worth wrapping
_USUAL = 80


def _usual() -> int:
    return _USUAL


@frozen
class Look:
    colour: bool = False
    markdown: bool = False  # never without a terminal, unless it was asked for
    spinner: bool = False
    aloud: bool = False
    wraps: bool = False  # what the program itself says is broken at words
    width: Callable[[], int] = _usual  # cells of a line, asked anew at each: windows are resized


def decide(
    stream: TextIO,
    environ: Mapping[str, str],
    color: Colour = "auto",
    *,
    plain: bool = False,
    aloud: bool = False,
    render: bool = False,
) -> Look:
    """What to draw here. A flag beats NO_COLOR, which beats FORCE_COLOR; `render` wants Markdown in a pipe."""
    terminal, dumb = stream.isatty(), environ.get("TERM") == "dumb"
    aloud = aloud or environ.get("ACCESSIBLE", "").lower() not in ("", "0", "false", "no")
    simple = plain or dumb or aloud
    colour = not simple and _coloured(environ, color, terminal or render)
    return Look(
        colour=colour,
        markdown=render or (colour and (terminal or color == "always")),
        spinner=terminal and not simple,
        aloud=aloud,
        wraps=terminal and not aloud,
        width=lambda: width(stream),
    )


def themed(look: Look, theme: str) -> Look:
    """The same with colours ("ansi": the sixteen of the terminal) or without ("none"), as NO_COLOR would have it."""
    return replace(look, colour=theme == "ansi", markdown=theme == "ansi")


def width(stream: TextIO) -> int:
    """The cells of a line now; 80 where there is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
        columns = 0
    return max(_NARROWEST, columns or _USUAL)


def _coloured(environ: Mapping[str, str], color: Colour, wanted: bool) -> bool:
    if color != "auto":
        return color == "always"
    if environ.get("NO_COLOR"):
        return False
    return wanted or environ.get("FORCE_COLOR", "0") not in ("", "0")
