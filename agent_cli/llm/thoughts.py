"""Thinking that comes inside the answer, told apart from it.

A server gives thinking in a field of its own, but old servers, models from elsewhere and some templates leave `<think>`
in the content. A block at the beginning is thinking. A closing tag without an opening one means that all before it was
(the template had written the opening tag); that text is on the screen by then, so `Rethought` says to take it back.
Tags come split over chunks: no more is held back than could still become one.
"""

import re

from agent_cli.llm.model import Rethought, Text, Thinking

OPENING, CLOSING = "<think>", "</think>"

_TAG = re.compile(r"</?think>")
_QUOTES = ("`", "'", '"')

Told = Text | Thinking | Rethought


class Thoughts:
    """Fed the content piece by piece; gives text and thinking."""

    def __init__(self) -> None:
        self._held = ""
        self._last = ""  # the last character of text given out
        self._settled = False  # from here on tags are words like others
        self._state = "beginning"

    def settle(self) -> None:
        """The thinking comes in its own field: a closing tag alone takes nothing back."""
        self._settled = True

    def feed(self, piece: str) -> list[Told]:
        self._held += piece
        told: list[Told] = []
        while self._held and getattr(self, f"_{self._state}")(told):
            pass
        return told

    def rest(self) -> list[Told]:
        """What was held back, at the end."""
        held, self._held = self._held, ""
        if not held or self._state in ("opened", "closed"):
            return []
        return [Thinking(held) if self._state == "inside" else Text(held)]

    # Each state takes what it can from the held text and tells whether there is more to do.

    def _beginning(self, told: list[Told]) -> bool:
        lead = self._held.lstrip()
        if lead.startswith(OPENING):
            self._held, self._state = lead[len(OPENING) :], "opened"
        elif not OPENING.startswith(lead):
            self._state = "answer"
        return self._state != "beginning"

    def _opened(self, told: list[Told]) -> bool:
        return self._after_space("inside")

    def _inside(self, told: list[Told]) -> bool:
        thought, closed, answer = self._held.partition(CLOSING)
        if not closed:
            thought, answer = _safe(self._held)
        if thought:
            told.append(Thinking(thought))
        self._held = answer
        if closed:
            self._state, self._settled = "closed", True
        return bool(closed)

    def _closed(self, told: list[Told]) -> bool:
        return self._after_space("answer")

    def _answer(self, told: list[Told]) -> bool:
        tag = None if self._settled else _TAG.search(self._held)
        if not tag:
            text, self._held = (self._held, "") if self._settled else _safe(self._held)
            self._give(text, told)
            return False
        before = self._held[: tag.start()]
        if tag[0] == OPENING or (self._last + before).endswith(_QUOTES):
            self._settled = True  # the answer is about such tags
            return True
        self._give(before, told)
        if self._last:
            told.append(Rethought())
        self._held, self._state, self._settled = self._held[tag.end() :], "closed", True
        return True

    def _give(self, text: str, told: list[Told]) -> None:
        if text:
            told.append(Text(text))
            self._last = text[-1]

    def _after_space(self, state: str) -> bool:
        self._held = self._held.lstrip()
        if self._held:
            self._state = state
        return bool(self._held)


def _safe(held: str) -> tuple[str, str]:
    """What can be given out, and the end that could still become a tag."""
    at = held.rfind("<")
    tail = held[at:] if at >= 0 else ""
    waits = tail and (OPENING.startswith(tail) or CLOSING.startswith(tail))
    return (held[:at], tail) if waits else (held, "")
