"""The events of a turn, the thread that delivers them to a prompt or a server, and the transcript read from them.

Programs receive the transcript as JSON objects: one for each event, or a single one at the end. Scores of recalled
memories are given to the person's own programs only: they would reveal something about the memories of others.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any

from agent_cli.agent.policy import Approve
from agent_cli.llm.model import Cancel, PriorTextWasThinking, Text, Thinking
from agent_cli.memory.reports import records
from agent_cli.memory.search import recall_log
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.store import ids
from agent_cli.text import clean, map_texts
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen


@frozen
class QuestionLogged:
    """The person's message is in the log under this handle."""

    handle: str


@frozen
class Noticed:
    """A notice for the person, apart from the answer. `receipt`: it says what became of what was to be remembered."""

    text: str
    receipt: bool = False


@frozen
class Progressed:
    """Progress of long work: `line` where a line can be overwritten, elsewhere `step` unless it is empty."""

    line: str
    step: str = ""


ThinkingArrived = Thinking
TextArrived = Text
TextWasThinking = PriorTextWasThinking


@frozen
class ApprovalNeeded:
    """The turn waits for the person; `answer` is called once, with yes or no."""

    call: ToolCall
    answer: Callable[[bool], None]


@frozen
class ToolStarted:
    call: ToolCall


@frozen
class ToolFinished:
    call: ToolCall
    result: ToolResult


@frozen
class TurnEnded:
    reply: Message
    finish: str = "stop"  # see log.close_reply
    model: str = ""
    stopped_by: str = ""  # why it was ended before its own end, or empty


@frozen
class TurnFailed:
    """Only from a runner, which cannot raise across threads; `error` is what its work raised."""

    error: BaseException


_Reply = ThinkingArrived | TextArrived | TextWasThinking | ToolStarted | ToolFinished
Event = QuestionLogged | Noticed | Progressed | ApprovalNeeded | _Reply | TurnEnded | TurnFailed

Work = Callable[[Cancel, Approve], Iterator[Event]]
"""Runs on the runner's thread, and opens its own connection there."""


class Runner:
    """Work on a thread of its own, for a prompt or a server, which must not block. `deliver` is called on that thread,
    once for each event, and with None at the end. An error of the work arrives as TurnFailed."""

    def __init__(self, work: Work, deliver: Callable[[Event | None], None]):
        self._work, self._deliver = work, deliver
        self.cancel = Cancel()
        self._thread = threading.Thread(target=self._run, name="turn", daemon=True)
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            for event in self._work(self.cancel, self._approve):
                self._deliver(event)
        except BaseException as error:  # nothing above a thread catches it: the reader of the events raises it again
            self._deliver(TurnFailed(error))
        finally:
            self._deliver(None)

    def _approve(self, call: ToolCall) -> bool:
        answers: SimpleQueue[bool] = SimpleQueue()  # one for each call: a second answer must not approve the next call
        with self.cancel.on_cancel(lambda: answers.put(False)):
            self._deliver(ApprovalNeeded(call, answers.put))
            return answers.get()


JsonObject = dict[str, Any]


class Transcript:
    """The transcript of one turn, used on the turn's thread. `scores`: whether scores are given."""

    def __init__(self, context: ToolContext, *, scores: bool = True):
        self._context, self._scores = context, scores
        self._replies = [""]
        self._recalled: list[JsonObject] | None = None  # None until the first event of the model
        self.question, self._message = "", 0  # the handle of the person's message, and its number
        self.streamed = ""  # the text given so far, in the objects of type delta
        self.notices: list[str] = []
        self.receipts: list[str] = []  # what was saved, in the program's words and never the model's
        self.ended: TurnEnded | None = None
        self.finish = self.model = ""  # until it has ended

    @property
    def answer(self) -> str:
        """The text of all replies, without thinking."""
        return _joined(self._replies)

    @property
    def clean_answer(self) -> str:
        return _joined(map(clean, self._replies))

    @property
    def used(self) -> list[JsonObject]:
        recalled = recall_log.recalled_for(self._context.db, self._message) if self._message else []
        return [
            {"kind": each.kind, "id": each.handle, **({"score": round(each.score, 4)} if self._scores else {})}
            for each in recalled
        ]

    @property
    def usage(self) -> dict[str, int]:
        db, session = self._context.db, self._context.session
        read, wrote = records.tokens_of_turn(db, session, self._message) if self._message else (0, 0)
        return {"tokens_in": read, "tokens_out": wrote}

    @property
    def _position(self) -> JsonObject:
        """The handles of the session and the turn; None for a log that is only in memory."""
        if self._context.db.in_memory:
            return {"session": None, "turn": None}
        return {"session": ids.handle("session", self._context.session), "turn": self.question or None}

    def as_object(self, finish: str) -> JsonObject:
        whole = {"schema": 1, "answer": self.clean_answer, "model": self.model, **self._position}
        lines = {"notices": self.notices, "receipts": self.receipts}
        return whole | {"used": self._recalled or [], "usage": self.usage, "finish": finish, **lines}

    def take(self, event: Event) -> list[JsonObject]:
        """Add the next event; returns its objects for programs. The recalled memories come before the model's first."""
        objects: list[JsonObject] = []
        if self._recalled is None and isinstance(event, ThinkingArrived | TextArrived | ToolFinished | TurnEnded):
            self._recalled = self.used
            objects.append({"type": "used", "used": self._recalled})
        match event:
            case QuestionLogged(handle):
                self.question, self._message = handle, ids.number("message", handle)
                objects.append({"type": "start", "schema": 1, **self._position})
            case Noticed(text, is_receipt):
                self.notices.append(clean(text))
                self.receipts += [clean(text)] if is_receipt else []
                objects.append({"type": "notice", "text": clean(text)})
            case ThinkingArrived(text):
                objects.append({"type": "thinking", "text": clean(text)})
            case TextArrived(text):
                self._replies[-1] += text
                self.streamed += clean(text)
                objects.append({"type": "delta", "text": clean(text)})
            case TextWasThinking():
                thinking, self._replies[-1] = self._replies[-1], ""
                objects.append({"type": "thinking", "text": clean(thinking), "was_delta": True})
            case ToolFinished(call, result):
                self.receipts += [clean(result.receipt)] if result.receipt else []
                self._replies.append("")
                self.streamed += "\n\n" if self.streamed.strip() else ""
                called = {"type": "tool", "name": clean(call.name), "arguments": map_texts(call.arguments, clean)}
                said = {"result": clean(result.text), "failed": result.failed, "receipt": clean(result.receipt)}
                objects.append(called | said)
            case TurnEnded(_, finish, model, reason):
                self.ended, self.finish, self.model = event, finish, model
                if reason:
                    objects += self.take(Noticed(f"the turn was ended: {reason}"))
                objects.append({"type": "end", **self.as_object(finish)})
        return objects


def _joined(replies: Iterable[str]) -> str:
    return "\n\n".join(filter(None, (reply.strip() for reply in replies)))
