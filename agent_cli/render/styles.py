"""The styles and colours of text at a terminal, as the numbers of ANSI escape sequences (SGR, ECMA-48).

A colour or style is added here. Whether colours are shown at all is decided in `display`.
"""

BOLD = "1"
DIM = "2"
ITALIC = "3"
STRUCK = "9"
CODE = "36"  # cyan


def styled(text: str, style: str) -> str:
    """The text in a style, and the normal style after it."""
    return f"\x1b[{style}m{text}\x1b[m"
