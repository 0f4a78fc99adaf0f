"""The events of a turn as a program reads them: those of `agent ask --stream-json`, in the same order.

How near something recalled was to the question is told to the person's own programs alone: the rarity of a word is
reckoned over the whole file, and so its score would say something of what others have there.
"""

from collections.abc import Iterator
from typing import Any

from agent_cli.agent.events import (
    Asked,
    Event,
    Noticed,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    TurnEnded,
)
from agent_cli.memory.conversations import log
from agent_cli.memory.search import recall_log
from agent_cli.store import ids
from agent_cli.text import clean, clean_value
from agent_cli.tools.tool import ToolContext

Told = dict[str, Any]


class Wire:
    """Takes the events of one turn, on its thread; `kept`: whether there is a file in which it stands."""

    def __init__(self, here: ToolContext, *, kept: bool, scores: bool):
        self._here, self._kept, self._scores = here, kept, scores
        self._used_told = False
        self._replies = [""]
        self.streamed = ""  # all that was given word by word
        self.turn = 0  # the number of the question
        self.model = ""
        self.notices: list[str] = []
        self.used: list[Told] = []

    @property
    def answer(self) -> str:
        """All that was said, without what was thinking."""
        return "\n\n".join(reply.strip() for reply in self._replies if reply.strip())

    @property
    def place(self) -> Told:
        """Where the turn is kept; nowhere when its caller only reads."""
        if not self._kept:
            return {"session": None, "turn": None}
        turn = ids.handle("message", self.turn) if self.turn else None
        return {"session": ids.handle("session", self._here.session), "turn": turn}

    def take(self, event: Event) -> Iterator[Told]:
        match event:
            case Asked(handle):
                self.turn = ids.number("message", handle)
                yield {"type": "start", "schema": 1, **self.place}
            case Noticed(text):
                self.notices.append(clean(text))
                yield {"type": "notice", "text": clean(text)}
            case ThinkingArrived(text):
                yield from self._used()
                yield {"type": "thinking", "text": clean(text)}
            case TextArrived(text):
                yield from self._used()
                self._replies[-1] += clean(text)
                self.streamed += clean(text)
                yield {"type": "delta", "text": clean(text)}
            case TextWasThinking():
                was, self._replies[-1] = self._replies[-1], ""
                yield {"type": "thinking", "text": was, "was_delta": True}
            case ToolFinished(call, result):
                yield from self._used()
                self._replies.append("")
                self.streamed += "\n\n" if self.streamed.strip() else ""
                told = {"arguments": clean_value(call.arguments), "result": clean(result.text), "failed": result.failed}
                yield {"type": "tool", "name": clean(call.name), **told, "receipt": clean(result.receipt)}
            case TurnEnded():
                yield from self._used()
                if event.stopped_by:
                    yield from self.take(Noticed(f"the turn was ended: {event.stopped_by}"))
                self.model = event.model
                yield {"type": "end", **self.whole(event.finish)}

    def whole(self, finish: str) -> Told:
        """The answer with all that is told beside it."""
        return {
            "schema": 1, "answer": self.answer, "model": self.model, **self.place, "used": self.used,
            "usage": self.usage(), "finish": finish, "notices": self.notices,
        }  # fmt: skip

    def _used(self) -> Iterator[Told]:
        """What was recalled is known before anything comes of the model, and is told before that."""
        if self._used_told:
            return
        self._used_told = True
        for each in recall_log.of(self._here.db, self.turn):
            row: Told = {"kind": each.kind, "id": each.handle}
            self.used.append({**row, "score": round(each.score, 4)} if self._scores else row)
        yield {"type": "used", "used": self.used}

    def usage(self) -> dict[str, int]:
        """Of all requests of the turn: each tool's result makes another."""
        said = log.history(self._here.db, self._here.session, after=self.turn) if self.turn else []
        told = [entry.usage for entry in said]
        return {"tokens_in": sum(u.tokens_in for u in told), "tokens_out": sum(u.tokens_out for u in told)}
