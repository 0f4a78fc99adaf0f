"""Removes invented citations from an answer: a model cites memory by handle, as in [f12], and only what it was shown.

The answer streams, so text that may become a citation is held back until that is decided. A bracket in code, or right
after a name or another bracket, is an index; one before a parenthesis is a link. In scripts without spaces a citation
needs no space before it.
"""

import re
from collections.abc import Iterable

from agent_cli import kinds

_LETTERS = kinds.letters(kinds.FORGETTABLE)
_HANDLE = re.compile(rf"\b{_LETTERS}\d{{1,9}}\b")
_MARK = re.compile(
    r"(?P<ticks>`+|~{3,})|(?P<line>\n)"
    r"|(?P<before> |(?<![A-Za-z0-9_)!\\\"']))"
    rf"\[(?P<cited>{_LETTERS}\d{{1,9}}(?:, ?{_LETTERS}\d{{1,9}}){{0,9}})\](?!\()"
)
_OPEN = re.compile(
    rf"(?:(?<!`)`++|(?<!~)~++|\s?\[(?:{_LETTERS}|[0-9, ]){{0,120}}\]?|\s)\Z"
)  # an end that the next piece may complete
_FENCE = 3


def handles(texts: Iterable[str]) -> frozenset[str]:
    """The handles that occur in these texts."""
    return frozenset(found for text in texts for found in _HANDLE.findall(text))


class Citations:
    """Filters an answer piece by piece: citations of unknown handles are left out."""

    def __init__(self, known: frozenset[str]):
        self._known = known
        self._held = ""
        self._fence_length = 0  # length of the fence of the code that is open; 0: none
        self._fence_character = ""  # its character: a backtick or, for blocks, a tilde
        self._line_is_blank = True  # whether the current line has only spaces so far
        self._previous_character = "\n"  # the character before the held text
        self._citation_end = -1  # end of the last citation: one right after it counts too

    def feed(self, piece: str) -> str:
        """Add a piece; returns the text that is decided."""
        text = self._held + piece
        tail = _OPEN.search(text)
        cut = tail.start() if tail else len(text)
        self._held = text[cut:]
        return self._filter(text[:cut])

    def end(self) -> str:
        """The rest, at the end of the answer."""
        held, self._held = self._held, ""
        return self._filter(held)

    def _filter(self, text: str) -> str:
        if not text:
            return ""
        whole = self._previous_character + text  # so that a match sees the character before it
        self._previous_character = text[-1]
        shown = _MARK.sub(self._replace, whole)[1:]
        self._citation_end = 1 if self._citation_end == len(whole) else -1
        self._line_is_blank = self._at_line_start(text)
        return shown

    def _at_line_start(self, before: str) -> bool:
        """Whether only spaces stand between the last line break and the end of this text."""
        _, line, tail = before.rpartition("\n")
        return not tail.strip() and (bool(line) or self._line_is_blank)

    def _replace(self, found: re.Match[str]) -> str:
        if not found.start():  # the character before, which was decided with the text that it ended
            return found[0]
        if ticks := found["ticks"]:
            if ticks[0] == "`" or self._at_line_start(found.string[1 : found.start()]):
                self._toggle_code(ticks[0], len(ticks))
            return found[0]
        if found["line"]:
            self._fence_length = self._fence_length if self._fence_length >= _FENCE else 0
            return found[0]
        is_index = found.string[found.start() - 1] == "]" and found.start() != self._citation_end
        if self._fence_length or (is_index and not found["before"]):
            return found[0]
        self._citation_end = found.end()
        known = [each for each in re.split(r", ?", found["cited"]) if each in self._known]
        return f"{found['before']}[{', '.join(known)}]" if known else ""

    def _toggle_code(self, sign: str, count: int) -> None:
        """Open or close code: it ends with as many characters as it began with, a block with at least as many."""
        if not self._fence_length:
            self._fence_length, self._fence_character = count, sign
        elif sign != self._fence_character:
            return
        elif count == self._fence_length or (self._fence_length >= _FENCE and count >= self._fence_length):
            self._fence_length = 0
