"""What a terminal can show and what the person wants to see, decided once from the stream, environment and flags.

All drawing depends on this value alone. Without Markdown an answer is printed as the model wrote it: in a pipe and on a
dumb terminal. Where no colours are wanted, weight and layout remain. `screen_reader`: whole sentences, nothing that is
erased again, and no signs that only make sense to the eye.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, TextIO

from agent_cli.render import styles
from agent_cli.values import frozen

Color = Literal["auto", "always", "never"]

_MIN_WIDTH = 20  # cells; below it nothing is worth wrapping
_DEFAULT_WIDTH = 80


def _default_width() -> int:
    return _DEFAULT_WIDTH


@frozen
class Display:
    colour: bool = False
    weight: bool = False  # bold, dim and the like, where colours are not wanted
    markdown: bool = False  # never without a terminal, unless --render asks for it
    spinner: bool = False
    screen_reader: bool = False
    wrap: bool = False  # whether the program's own messages are wrapped between words
    width: Callable[[], int] = _default_width  # cells of a line now: windows are resized

    def shown(self, style: str) -> str:
        """What of a style is shown; empty: nothing."""
        if self.colour:
            return style
        return styles.without_colours(style) if self.weight else ""

    def styled(self, text: str, style: str) -> str:
        """The text in what is shown of a style."""
        return styles.styled(text, self.shown(style))


def detect(
    stream: TextIO,
    environ: Mapping[str, str],
    color: Color = "auto",
    *,
    plain: bool = False,
    screen_reader: bool = False,
    render: bool = False,
) -> Display:
    """What to draw on the stream. A flag beats NO_COLOR, which beats FORCE_COLOR; `render`: Markdown in a pipe too."""
    terminal, dumb = stream.isatty(), environ.get("TERM") == "dumb"
    screen_reader = screen_reader or environ.get("ACCESSIBLE", "").lower() not in ("", "0", "false", "no")
    simple = plain or dumb or screen_reader
    colour = not simple and _wants_colour(environ, color, terminal or render)
    return Display(
        colour=colour,
        weight=terminal and not simple,
        markdown=render or (terminal and not simple) or (colour and color == "always"),
        spinner=terminal and not simple,
        screen_reader=screen_reader,
        wrap=terminal and not screen_reader,
        width=lambda: terminal_width(stream),
    )


def with_theme(display: Display, theme: str) -> Display:
    """The same with colours ("ansi": the sixteen of the terminal) or plain ("none"), as --plain would have it."""
    return replace(display, colour=theme == "ansi", weight=theme == "ansi", markdown=theme == "ansi")


def terminal_width(stream: TextIO) -> int:
    """The cells of a line now; 80 where there is no terminal."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
        columns = 0
    return max(_MIN_WIDTH, columns or _DEFAULT_WIDTH)


def _wants_colour(environ: Mapping[str, str], color: Color, default: bool) -> bool:
    if color != "auto":
        return color == "always"
    if environ.get("NO_COLOR"):
        return False
    return default or environ.get("FORCE_COLOR", "0") not in ("", "0")
