"""Small marks in a line: a bar for a share, and words in bold."""

import re
from collections.abc import Iterable

from agent_cli.render.display import Display
from agent_cli.render.styles import BOLD

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
