"""What has been said in a turn, read off its events: the answer, what memory added, notices, usage and the end.

A program is told it in one of two forms: an object for each event, or one whole object at the end. How near something
recalled was to the question is told to the person's own programs alone: the rarity of a word is reckoned over the whole
file, and so its score would say something of what others have there.
"""

from collections.abc import Iterable, Iterator
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
from agent_cli.memory.reports import token_usage
from agent_cli.memory.search import recall_log
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import clean, clean_value
from agent_cli.tools.tool import ToolContext

JsonObject = dict[str, Any]


class Transcript:
    """One turn. It takes the events on the turn's thread; `scores`: whether how near something was is told."""

    def __init__(self, context: ToolContext, *, scores: bool = True):
        self._context, self._scores = context, scores
        self._replies = [""]
        self._recalled: list[JsonObject] | None = None  # None until the model has begun
        self.question = ""  # the handle of the person's message
        self.streamed = ""  # all that was given word by word
        self.notices: list[str] = []
        self.ended: TurnEnded | None = None

    @property
    def answer(self) -> str:
        """All replies as the model wrote them, without what was thinking."""
        return _joined(self._replies)

    @property
    def clean_answer(self) -> str:
        """The same without control characters, as programs are told it."""
        return _joined(map(clean, self._replies))

    @property
    def finish(self) -> str:
        """How the last reply ended; empty while the turn has not."""
        return self.ended.finish if self.ended else ""

    @property
    def used(self) -> list[JsonObject]:
        """What memory put beside the question."""
        if not self.question:
            return []
        return _used(self._context.db, ids.number("message", self.question), scores=self._scores)

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of all requests of the turn: each tool's result makes another."""
        question = ids.number("message", self.question) if self.question else None
        return _usage(self._context.db, self._context.session, question)

    def take(self, event: Event) -> list[JsonObject]:
        """Take in the next event; gives the objects with which a program is told of it."""
        return list(self._objects(event))

    def whole(self, finish: str) -> JsonObject:
        """The answer with all that is told beside it."""
        model = self.ended.model if self.ended else ""
        return _whole(self.clean_answer, model, self._place(), self._recalled or [], self.usage, finish, self.notices)

    def _objects(self, event: Event) -> Iterator[JsonObject]:
        match event:
            case Asked(handle):
                self.question = handle
                yield {"type": "start", "schema": 1, **self._place()}
            case Noticed(text):
                self.notices.append(clean(text))
                yield {"type": "notice", "text": clean(text)}
            case ThinkingArrived(text):
                yield from self._begun()
                yield {"type": "thinking", "text": clean(text)}
            case TextArrived(text):
                yield from self._begun()
                self._replies[-1] += text
                self.streamed += clean(text)
                yield {"type": "delta", "text": clean(text)}
            case TextWasThinking():
                was, self._replies[-1] = self._replies[-1], ""
                yield {"type": "thinking", "text": clean(was), "was_delta": True}
            case ToolFinished(call, result):
                yield from self._begun()
                self._replies.append("")
                self.streamed += "\n\n" if self.streamed.strip() else ""
                ran = {"arguments": clean_value(call.arguments), "result": clean(result.text), "failed": result.failed}
                yield {"type": "tool", "name": clean(call.name), **ran, "receipt": clean(result.receipt)}
            case TurnEnded(finish=finish, stopped_by=reason):
                yield from self._begun()
                self.ended = event
                if reason:
                    yield from self._objects(Noticed(f"the turn was ended: {reason}"))
                yield {"type": "end", **self.whole(finish)}

    def _begun(self) -> Iterator[JsonObject]:
        """What was recalled is known before anything comes of the model, and is told before that."""
        if self._recalled is None:
            self._recalled = self.used
            yield {"type": "used", "used": self._recalled}

    def _place(self) -> JsonObject:
        """Where the turn is kept; nowhere when its log is in memory alone."""
        if self._context.db.in_memory:
            return {"session": None, "turn": None}
        return {"session": ids.handle("session", self._context.session), "turn": self.question or None}


def logged(db: Database, session: int, last: int, *, scores: bool) -> JsonObject | None:
    """The whole object of the turn that ended with this message, from the log, where no notices are kept.

    None when it was taken back or erased.
    """
    entries = log.history(db, session, before=last + 1)
    start = max((n for n, entry in enumerate(entries) if entry.message.role == "user"), default=None)
    if start is None:
        return None
    asked, replies = entries[start], [each for each in entries[start:] if each.message.role == "assistant"]
    return _whole(
        _joined(clean(each.message.text) for each in replies),
        replies[-1].usage.model if replies else "",
        {"session": ids.handle("session", session), "turn": asked.handle},
        _used(db, asked.id, scores=scores),
        _usage(db, session, asked.id),
        (replies[-1].finish if replies else None) or "stop",
        [],
    )


def _whole(
    answer: str,
    model: str,
    place: JsonObject,
    used: list[JsonObject],
    usage: dict[str, int],
    finish: str,
    notices: list[str],
) -> JsonObject:
    return {
        "schema": 1,
        "answer": answer,
        "model": model,
        **place,
        "used": used,
        "usage": usage,
        "finish": finish,
        "notices": notices,
    }


def _used(db: Database, question: int, *, scores: bool) -> list[JsonObject]:
    rows: list[tuple[JsonObject, float]] = [
        ({"kind": each.kind, "id": each.handle}, each.score) for each in recall_log.recalled_for(db, question)
    ]
    return [{**row, "score": round(score, 4)} if scores else row for row, score in rows]


def _usage(db: Database, session: int, question: int | None) -> dict[str, int]:
    tokens_in, tokens_out = token_usage.of_turn(db, session, question) if question else (0, 0)
    return {"tokens_in": tokens_in, "tokens_out": tokens_out}


def _joined(replies: Iterable[str]) -> str:
    return "\n\n".join(filter(None, (reply.strip() for reply in replies)))
