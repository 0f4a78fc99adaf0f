"""The styles of text at a terminal, the five roles of the program's lines there, and whether either is shown.

Styles are numbers of SGR: the sixteen colours of the terminal and no background, so that they can be read on light and
dark. Each role has a sign too; an answer has neither. All drawing depends on a `Display` alone.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Literal, TextIO

from agent_cli.messages import Failure, Receipt, Request
from agent_cli.render import terminal_features
from agent_cli.values import frozen

BOLD, DIM, ITALIC, STRUCK = "1", "2", "3", "9"
RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = "31", "32", "33", "34", "35", "36"
CODE = CYAN

_COLOUR = re.compile(r"3[0-7]|9[0-7]")


@frozen
class LineRole:
    sign: str
    style: str


YOU = LineRole("❯", f"{BOLD};{CYAN}")
PROMPT = "bold ansicyan"  # the style of the first, in the words of prompt-toolkit
PROGRAM = LineRole("·", DIM)
NEEDS_YOU = LineRole("?", YELLOW)
DONE = LineRole("✓", GREEN)
FAILED = LineRole("✗", RED)
ROLES: Mapping[type[str], LineRole] = {Receipt: DONE, Request: NEEDS_YOU, Failure: FAILED}


def styled(text: str, style: str) -> str:
    """The text in a style, and the normal style after it."""
    return f"\x1b[{style}m{text}\x1b[m" if style else text


Color = Literal["auto", "always", "never"]

_MIN_WIDTH = 20  # cells; below it nothing is worth wrapping
_DEFAULT_WIDTH = 80


@frozen
class Display:
    colour: bool = False
    weight: bool = False  # bold, dim and the like, where colours are not wanted
    markdown: bool = False  # never without a terminal, unless --color always asks for it
    spinner: bool = False
    screen_reader: bool = False
    wrap: bool = False  # whether the program's own messages are wrapped between words
    width: Callable[[], int] = lambda: _DEFAULT_WIDTH  # cells of a line now: windows are resized
    terminal: terminal_features.Features = terminal_features.Features()

    def shown(self, style: str) -> str:
        """What of a style is shown; empty: nothing."""
        without_colours = ";".join(code for code in style.split(";") if not _COLOUR.fullmatch(code))
        return style if self.colour else without_colours if self.weight else ""

    def styled(self, text: str, style: str) -> str:
        """The text in what is shown of a style."""
        return styled(text, self.shown(style))


def detect(stream: TextIO, environ: Mapping[str, str], color: Color = "auto", *, plain: bool = False) -> Display:
    """What to draw on the stream. A flag beats NO_COLOR, which beats FORCE_COLOR."""
    terminal, dumb = stream.isatty(), environ.get("TERM") == "dumb"
    screen_reader = environ.get("ACCESSIBLE", "").lower() not in ("", "0", "false", "no")
    simple = plain or dumb or screen_reader
    wanted = color == "always"
    if color == "auto" and not environ.get("NO_COLOR"):
        wanted = terminal or environ.get("FORCE_COLOR", "0") not in ("", "0")
    colour = wanted and not simple
    return Display(
        colour=colour,
        weight=terminal and not simple,
        markdown=(terminal and not simple) or (colour and color == "always"),
        spinner=terminal and not simple,
        screen_reader=screen_reader,
        wrap=terminal and not screen_reader,
        width=lambda: _terminal_width(stream),
        terminal=terminal_features.detect(environ) if terminal and not simple else terminal_features.Features(),
    )


def _terminal_width(stream: TextIO) -> int:
    columns = 0
    with suppress(OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
        columns = os.get_terminal_size(stream.fileno()).columns
    return max(_MIN_WIDTH, columns or _DEFAULT_WIDTH)


_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, cells: int) -> str:
    """A bar of at most so many cells, in eighths of a cell; at least a sliver for what is more than nothing."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def marked_words(text: str, words: Iterable[str], display: Display) -> str:
    """The text with the words that begin with one of these in bold."""
    wanted = sorted({word for word in words if len(word) > 1}, key=len, reverse=True)
    if not wanted or not display.shown(BOLD):
        return text
    found = re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\w*", re.IGNORECASE)
    return found.sub(lambda match: display.styled(match[0], BOLD), text)
