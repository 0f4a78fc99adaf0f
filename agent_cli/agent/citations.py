"""What a model cites: handles of memory in brackets, as in [f12]. One that it was not shown it made up: it is left out.

An answer streams, so what may become a citation is held until that is decided. In code a bracket is an index, as it is
behind a name or a bracket; before a parenthesis it is a link. Scripts without blanks cite without one.
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
_OPEN = re.compile(rf"(?:`+|~+|\s?\[(?:{_LETTERS}|[0-9, ]){{0,120}}\]?|\s)\Z")  # what the next piece may make a mark of
_FENCE = 3


def handles(texts: Iterable[str]) -> frozenset[str]:
    """The handles that stand in some texts."""
    return frozenset(found for text in texts for found in _HANDLE.findall(text))


class Citations:
    """Passes the pieces of an answer on, without citations of what is not known."""

    def __init__(self, known: frozenset[str]):
        self._known = known
        self._held = ""
        self._ticks = 0  # how many began the code we are in
        self._sign = ""  # which: a backtick, or the tilde that a block may begin with
        self._bare = True  # whether nothing but blanks stands on the line up to what is held
        self._last = "\n"  # the character before what is held
        self._upto = -1  # where the last citation ended: one directly behind it is one too

    def feed(self, piece: str) -> str:
        """What of the answer can be passed on now."""
        text = self._held + piece
        tail = _OPEN.search(text)
        cut = tail.start() if tail else len(text)
        self._held = text[cut:]
        return self._passed(text[:cut])

    def end(self) -> str:
        """What was still held."""
        held, self._held = self._held, ""
        return self._passed(held)

    def _passed(self, text: str) -> str:
        if not text:
            return ""
        whole = self._last + text  # so that a mark sees what stands before it
        self._last = text[-1]
        shown = _MARK.sub(self._replaced, whole)[1:]
        self._upto = 1 if self._upto == len(whole) else -1
        self._bare = self._begins(text)
        return shown

    def _begins(self, before: str) -> bool:
        """Whether what stands behind this begins a line, but for blanks."""
        _, line, tail = before.rpartition("\n")
        return not tail.strip() and (bool(line) or self._bare)

    def _replaced(self, found: re.Match[str]) -> str:
        if ticks := found["ticks"]:
            if ticks[0] == "`" or self._begins(found.string[1 : found.start()]):
                self._tick(ticks[0], len(ticks))
            return found[0]
        if found["line"]:
            self._ticks = self._ticks if self._ticks >= _FENCE else 0
            return found[0]
        index = found.start() and found.string[found.start() - 1] == "]" and found.start() != self._upto
        if self._ticks or (index and not found["before"]):
            return found[0]
        self._upto = found.end()
        kept = [each for each in re.split(r", ?", found["cited"]) if each in self._known]
        return f"{found['before']}[{', '.join(kept)}]" if kept else ""

    def _tick(self, sign: str, count: int) -> None:
        """Code begins with some ticks, and ends with as many."""
        if not self._ticks:
            self._ticks, self._sign = count, sign
        elif sign != self._sign:
            return
        elif count == self._ticks or (self._ticks >= _FENCE and count >= self._ticks):
            self._ticks = 0
