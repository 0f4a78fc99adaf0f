"""The transcript of a turn, read from its events: answer, recalled memories, notices, receipts, usage and finish.

Programs receive it as JSON objects in one of two forms: one for each event, or a single one at the end. Scores of
recalled memories are given to the person's own programs only: the rarity of a word is computed over the whole database,
so a score would reveal something about the memories of others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent_cli.agent.events import (
    Event,
    Noticed,
    QuestionLogged,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    TurnEnded,
)
from agent_cli.memory.conversations import log
from agent_cli.memory.reports import records
from agent_cli.memory.search import recall_log
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import clean, clean_value
from agent_cli.tools.tool import ToolContext

JsonObject = dict[str, Any]
Lines = Mapping[str, list[str]]
"""Notices and receipts: what the program says beside an answer."""


class Transcript:
    """The transcript of one turn, used on the turn's thread. `scores`: whether scores are given."""

    def __init__(self, context: ToolContext, *, scores: bool = True):
        self._context, self._scores = context, scores
        self._replies = [""]
        self._recalled: list[JsonObject] | None = None  # None until the first event of the model
        self.question = ""  # the handle of the person's message
        self.streamed = ""  # the text given so far, in the objects of type delta
        self.notices: list[str] = []
        self.receipts: list[str] = []  # what was saved, in the program's words and never the model's
        self.ended: TurnEnded | None = None

    @property
    def answer(self) -> str:
        """The text of all replies, without thinking."""
        return _joined(self._replies)

    @property
    def clean_answer(self) -> str:
        """The answer without control characters, for programs."""
        return _joined(map(clean, self._replies))

    @property
    def finish(self) -> str:
        """How the last reply ended; empty until the turn has ended."""
        return self.ended.finish if self.ended else ""

    @property
    def model(self) -> str:
        """Which model answered; empty until the turn has ended."""
        return self.ended.model if self.ended else ""

    @property
    def used(self) -> list[JsonObject]:
        """The memories recalled for the question."""
        if not self.question:
            return []
        return _used(self._context.db, ids.number("message", self.question), scores=self._scores)

    @property
    def usage(self) -> dict[str, int]:
        """The tokens of all requests of the turn."""
        question = ids.number("message", self.question) if self.question else None
        return _usage(self._context.db, self._context.session, question)

    @property
    def lines(self) -> Lines:
        """What the program said beside the answer."""
        return {"notices": self.notices, "receipts": self.receipts}

    def take(self, event: Event) -> list[JsonObject]:
        """Add the next event; returns its objects for programs."""
        return list(self._objects(event))

    def as_object(self, finish: str) -> JsonObject:
        """The single object at the end of the turn."""
        used = self._recalled or []
        return _turn_object(self.clean_answer, self.model, self._position(), used, self.usage, finish, self.lines)

    def _objects(self, event: Event) -> Iterator[JsonObject]:
        match event:
            case QuestionLogged(handle):
                self.question = handle
                yield {"type": "start", "schema": 1, **self._position()}
            case Noticed(text, is_receipt):
                self.notices.append(clean(text))
                self.receipts += [clean(text)] if is_receipt else []
                yield {"type": "notice", "text": clean(text)}
            case ThinkingArrived(text):
                yield from self._recalled_first()
                yield {"type": "thinking", "text": clean(text)}
            case TextArrived(text):
                yield from self._recalled_first()
                self._replies[-1] += text
                self.streamed += clean(text)
                yield {"type": "delta", "text": clean(text)}
            case TextWasThinking():
                thinking, self._replies[-1] = self._replies[-1], ""
                yield {"type": "thinking", "text": clean(thinking), "was_delta": True}
            case ToolFinished(call, result):
                yield from self._recalled_first()
                self.receipts += [clean(result.receipt)] if result.receipt else []
                self._replies.append("")
                self.streamed += "\n\n" if self.streamed.strip() else ""
                outcome = {
                    "arguments": clean_value(call.arguments),
                    "result": clean(result.text),
                    "failed": result.failed,
                }
                yield {"type": "tool", "name": clean(call.name), **outcome, "receipt": clean(result.receipt)}
            case TurnEnded(finish=finish, stopped_by=reason):
                yield from self._recalled_first()
                self.ended = event
                if reason:
                    yield from self._objects(Noticed(f"the turn was ended: {reason}"))
                yield {"type": "end", **self.as_object(finish)}

    def _recalled_first(self) -> Iterator[JsonObject]:
        """The object with the recalled memories, once, before the first of the model."""
        if self._recalled is None:
            self._recalled = self.used
            yield {"type": "used", "used": self._recalled}

    def _position(self) -> JsonObject:
        """The handles of the session and the turn; None for a log that is only in memory."""
        if self._context.db.in_memory:
            return {"session": None, "turn": None}
        return {"session": ids.handle("session", self._context.session), "turn": self.question or None}


def from_log(db: Database, session: int, last: int, lines: Lines, *, scores: bool) -> JsonObject | None:
    """The object of the turn that ended with message `last`, from the log, which has none of the program's lines.

    None when the turn was taken back or erased.
    """
    entries = log.history(db, session, before=last + 1)
    start = max((n for n, entry in enumerate(entries) if entry.message.role == "user"), default=None)
    if start is None:
        return None
    asked, replies = entries[start], [each for each in entries[start:] if each.message.role == "assistant"]
    return _turn_object(
        _joined(clean(each.message.text) for each in replies),
        replies[-1].usage.model if replies else "",
        {"session": ids.handle("session", session), "turn": asked.handle},
        _used(db, asked.id, scores=scores),
        _usage(db, session, asked.id),
        (replies[-1].finish if replies else None) or "stop",
        {"notices": [], "receipts": [], **lines},
    )


def _turn_object(
    answer: str,
    model: str,
    place: JsonObject,
    used: list[JsonObject],
    usage: dict[str, int],
    finish: str,
    lines: Lines,
) -> JsonObject:
    return {
        "schema": 1,
        "answer": answer,
        "model": model,
        **place,
        "used": used,
        "usage": usage,
        "finish": finish,
        **lines,
    }


def _used(db: Database, question: int, *, scores: bool) -> list[JsonObject]:
    rows: list[tuple[JsonObject, float]] = [
        ({"kind": each.kind, "id": each.handle}, each.score) for each in recall_log.recalled_for(db, question)
    ]
    return [{**row, "score": round(score, 4)} if scores else row for row, score in rows]


def _usage(db: Database, session: int, question: int | None) -> dict[str, int]:
    tokens_in, tokens_out = records.tokens_of_turn(db, session, question) if question else (0, 0)
    return {"tokens_in": tokens_in, "tokens_out": tokens_out}


def _joined(replies: Iterable[str]) -> str:
    return "\n\n".join(filter(None, (reply.strip() for reply in replies)))
