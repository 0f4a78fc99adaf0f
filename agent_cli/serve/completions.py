"""/v1: the part of OpenAI's API that clients need to converse, so that they gain a memory. System messages are
instructions for one run and no memory. Sampling settings are passed over; what would give another answer than was asked
for is refused: tools of the client's own, more than one choice, a form, pictures.

Such a client knows no sessions: each request holds all that was said. The session is the one that has come just so far,
found by a hash of the words up to the last answer. Where there is none, a new session takes all of it in: two clients
never write into one session, and nothing that was said is ever taken back.
"""

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_cli.agent.events import JsonObject
from agent_cli.app.app import App
from agent_cli.memory.conversations import callers, log, sessions
from agent_cli.messages import Part, Role, encode_parts, join_parts
from agent_cli.serve import responses
from agent_cli.serve.state import ServerState, Turn, TurnRequest, resume_session
from agent_cli.store.db import Database, Row
from agent_cli.text import without_surrogates
from agent_cli.values import frozen

_ANSWERED = ("stop", "length", "stopped", "repetition")  # how a reply ended that counts as an answer

History = Sequence[tuple[Role, str]]


@frozen
class Conversation:
    """What a client has sent, instructions apart."""

    caller: callers.Caller
    history: History  # of the user and the assistant, the last of the user

    @property
    def _answered(self) -> History:
        """The history up to the last answer."""
        return self.history[: max((n for n, (role, _) in enumerate(self.history, 1) if role == "assistant"), default=0)]

    def _continued(self, db: Database) -> Row | None:
        return callers.find_by_transcript(db, self.caller, _normalized(self._answered)) if self._answered else None

    def place_in_line(self, db: Database) -> str | None:
        """The session that the turn waits for; None where it begins one."""
        found = self._continued(db)
        return f"s{found[0]}" if found else None

    def open_session(self, db: Database, app: App) -> tuple[int, Sequence[Part]]:
        """The session that goes on, or a new one with what was said before; of a caller that only reads, the latter."""
        answered = self._answered
        parts = join_parts([Part(without_surrogates(text), "http") for _, text in self.history[len(answered) :]])
        if not self.caller.writes:
            return _import_history(db, app, answered), parts
        with db.write():
            found = self._continued(db)
            # Where the session has gone on since, another begins; a question that got no answer does not count.
            later = log.history(db, found[0], after=found[1] or 0) if found else ()
            if found and not any(each.message.role == "assistant" and each.finish in _ANSWERED for each in later):
                with suppress(responses.Refused):  # hidden, or open elsewhere: what was said is taken in anew
                    return resume_session(db, app, f"s{found[0]}"), parts
            return _import_history(db, app, answered), parts

    def record(self, db: Database, app: App, session: int, message: int, answer: str) -> None:
        said = _normalized([*self.history, ("assistant", answer)])
        callers.record_transcript(db, self.caller, said, session, message, app.time)


def _normalized(said: History) -> str:
    """What is hashed: the words, for clients do as they like with blanks."""
    return json.dumps([[role, " ".join(text.split())] for role, text in said], ensure_ascii=False)


def _import_history(db: Database, app: App, seen: History) -> int:
    """A new session with what was said before. Its answers came of no model here, whatever the client says."""
    now = app.time()
    session = sessions.start(db, app.scope, now)
    messages = []
    for number, (role, words) in enumerate(seen, 1):
        text = without_surrogates(words)
        parts = encode_parts([Part(text, "http")])
        messages.append(log.ImportedMessage(f"http {number}", now, role, text, parts=parts))
    with db.write():
        log.append_imported(db, session, app.scope, messages)
    return session


MODEL = "agent"
_CREATED = 1767225600  # when a model "was created": every client wants a number, and none reads it


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """A message. One of a tool is refused, for the tools of a client are."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] = Field(description="Words, or pieces of text.")

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "\n\n".join(each.text for each in self.content)


class StreamOptions(BaseModel):
    include_usage: bool = False


class CompletionRequest(BaseModel):
    """What is not named here is passed over."""

    model: str = Field(MODEL, description=f"{MODEL}, or the name of the model that is set.")
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1, le=1)
    tools: list[Any] | None = Field(None, max_length=0, description="None: the tools are the assistant's own.")
    functions: list[Any] | None = Field(None, max_length=0)
    response_format: dict[Literal["type"], Literal["text"]] | None = None

    @field_validator("tools", "functions", mode="before")
    @classmethod
    def _refuse_client_tools(cls, tools: Any) -> Any:
        if tools:
            raise ValueError("the tools here are the assistant's own, and a client's cannot be called: leave them out")
        return tools


def router(state: ServerState) -> APIRouter:
    routes = APIRouter(prefix="/v1")

    @routes.get("/models", summary="The only model: the assistant")
    async def models() -> dict[str, Any]:
        model = {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": "agent-cli"}
        return {"object": "list", "data": [model]}

    summary = "OpenAI's chat completions, with memory"

    @routes.post("/chat/completions", responses=responses.EVENT_STREAM, summary=summary)
    async def completions(request: Request, asked_for: CompletionRequest) -> Response:
        caller: callers.Caller = request.state.caller
        if asked_for.model not in (MODEL, state.app.config.model):
            raise responses.Refused(404, "model_not_found", f"there is one model here: {MODEL}")
        history: list[tuple[Role, str]] = []
        instructions: list[str] = []
        for each in asked_for.messages:
            if not each.text.strip():
                continue
            if each.role in ("user", "assistant"):
                history.append((each.role, each.text))
            else:
                instructions.append(each.text.strip())
        if not history or history[-1][0] != "user":
            raise responses.Refused(400, "no_question", "the last message must be the user's, and say something")
        conversation = Conversation(caller, history)
        place = await state.read(conversation.place_in_line) if caller.writes else None
        turn_request = TurnRequest(
            caller, conversation.open_session, conversation.record, "\n\n".join(instructions), bool(asked_for.stream)
        )
        return await _respond(state.begin(request, turn_request, place), asked_for)

    return routes


async def _respond(asked: Turn, completion_request: CompletionRequest) -> Response:
    if completion_request.stream:
        first = await asked.first_event()
        return responses.EventStream(_chunks(asked, first, completion_request), closed=asked.leave)
    answer = await asked.answer()
    message = {"role": "assistant", "content": answer["answer"], "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
    completion = {"choices": [choice], "usage": _usage(answer), "agent": _memory_fields(answer)}
    return JSONResponse(_header_fields("chat.completion", answer) | completion)


async def _chunks(asked: Turn, first: JsonObject, asked_for: CompletionRequest) -> AsyncGenerator[str, None]:
    head = _header_fields("chat.completion.chunk", first)

    def chunk(delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return responses.encode_event({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    gap = said = ""
    async for event in asked.remaining_events():
        match event:
            case None:
                yield responses.HEARTBEAT
            case {"type": "delta", "text": text}:
                said += text
                yield chunk({"content": gap + text})
                gap = ""
            case {"type": "tool"}:
                gap = "\n\n" if said.strip() else ""
            case {"type": "error"}:
                yield responses.encode_event(event)
                return
            case {"type": "end"}:
                yield chunk({}, _finish_reason(event), agent=_memory_fields(event))
                if asked_for.stream_options and asked_for.stream_options.include_usage:
                    yield responses.encode_event({**head, "choices": [], "usage": _usage(event)})
    yield "data: [DONE]\n\n"


def _header_fields(kind: str, answer: JsonObject) -> dict[str, Any]:
    turn = answer.get("turn") or format(time.time_ns(), "x")
    return {"id": f"chatcmpl-{turn}", "object": kind, "created": int(time.time()), "model": MODEL}


def _finish_reason(answer: JsonObject) -> str:
    return "length" if answer["finish"] == "length" else "stop"


def _usage(answer: JsonObject) -> dict[str, int]:
    read, wrote = answer["usage"]["tokens_in"], answer["usage"]["tokens_out"]
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _memory_fields(answer: JsonObject) -> dict[str, Any]:
    return {key: answer[key] for key in ("session", "turn", "model", "used", "notices", "receipts")}
