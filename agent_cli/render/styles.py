"""The styles of text at a terminal, and the five roles in which its lines stand there. Nothing else names a colour.

Styles are the numbers of ANSI escape sequences (SGR, ECMA-48): the sixteen colours of the terminal, no background, so
that they can be read on light and dark alike. Each role has a sign too, so that it can be told without colours. An
answer has neither sign nor colour. Whether colours are shown at all is decided in `display`.
"""

import re

from agent_cli.text import Pattern
from agent_cli.values import frozen

BOLD = "1"
DIM = "2"
ITALIC = "3"
STRUCK = "9"
RED = "31"
GREEN = "32"
YELLOW = "33"
BLUE = "34"
MAGENTA = "35"
CYAN = "36"
CODE = CYAN

_COLOUR = re.compile(r"3[0-7]|9[0-7]")


@frozen
class LineRole:
    sign: str
    style: str


YOU = LineRole("❯", BOLD)
PROGRAM = LineRole("·", DIM)
NEEDS_YOU = LineRole("?", YELLOW)
DONE = LineRole("✓", GREEN)
FAILED = LineRole("✗", RED)

RECEIPT = (  # the words with which the program reports what it has done
    "kept|saved|proposed|rejected|replaced|erased|closed|used|ended|hid|hidden|restored|approved|accepted|remembered"
)
_DONE = Pattern(
    rf"(?:undone: )?(?:{RECEIPT}|added|copied|done|snoozed|renamed|written|open again|undid|taken back)\b(?! \d+ of)"
    r"|ok  "
)
_ASIDE = Pattern(r"used (?:[a-z]\d+ ?)+·")
_NEEDS_YOU = Pattern(r"\b(?:waits?|to review)\b.{0,200}(?:/review|facts review)|\?\Z")
_FAILED = Pattern(r"\S+ (?:failed|was not allowed)\b|the turn was ended\b|some background work failed\b|NOT  ")


def role_of(text: str) -> LineRole:
    """The role of a line of the program, by its words. An error is known where it is caught."""
    line = text.partition("\n")[0]
    if _FAILED.match(line):
        return FAILED
    if _NEEDS_YOU.search(line):
        return NEEDS_YOU
    return DONE if _DONE.match(line.casefold()) and not _ASIDE.match(line) else PROGRAM


def styled(text: str, style: str) -> str:
    """The text in a style, and the normal style after it."""
    return f"\x1b[{style}m{text}\x1b[m" if style else text


def without_colours(style: str) -> str:
    """The codes of a style that are no colours: weight and the like."""
    return ";".join(code for code in style.split(";") if not _COLOUR.fullmatch(code))
