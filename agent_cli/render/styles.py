"""The styles of text at a terminal, and the five roles in which its lines stand there. Nothing else names a colour.

Styles are the numbers of ANSI escape sequences (SGR, ECMA-48): the sixteen colours of the terminal, no background, so
that they can be read on light and dark alike. Each role has a sign too, so that it can be told without colours. An
answer has neither sign nor colour. Whether colours are shown at all is decided in `display`.
"""

import re

from agent_cli.messages import Failure, Receipt, Request
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

_ROLES: dict[type[str], LineRole] = {Receipt: DONE, Request: NEEDS_YOU, Failure: FAILED}


def role_of(line: str) -> LineRole:
    """The role of a line of the program."""
    return _ROLES.get(type(line), PROGRAM)


def styled(text: str, style: str) -> str:
    """The text in a style, and the normal style after it."""
    return f"\x1b[{style}m{text}\x1b[m" if style else text


def without_colours(style: str) -> str:
    """The codes of a style that are no colours: weight and the like."""
    return ";".join(code for code in style.split(";") if not _COLOUR.fullmatch(code))
