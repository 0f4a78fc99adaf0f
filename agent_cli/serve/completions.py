"""/v1: the part of OpenAI's API that clients need to converse, so that they gain a memory.

System messages are instructions for one run and no memory. Which model answers, and how, is the business of this
machine: sampling settings are passed over. What would give another answer than was asked for is refused: tools of the
client's own (the tools here are the assistant's), more than one choice, a form, pictures.

A client of OpenAI's API knows no sessions: each request holds all that was said. The session is the one that has come
just so far, found by a hash of the words up to the last answer; only what comes after that is logged. Where none has,
as when the client had another answer made, or brings a conversation from elsewhere, a new session begins and takes all
of it in. So two clients never write into one session, and nothing that was said is ever taken back.
"""

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_cli.agent.events import JsonObject, Lines
from agent_cli.app.app import App
from agent_cli.memory.conversations import callers, log, sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.messages import Part, Role, encode_parts, join_parts
from agent_cli.serve import responses, turns
from agent_cli.serve.chat import resume_session
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState, Turn
from agent_cli.serve.turns import OnAnswer, OpenSession, TurnRequest
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates

_ANSWERED = ("stop", "length", "stopped", "repetition")  # how a reply ended that counts as an answer

History = Sequence[tuple[Role, str]]
"""What a client sends, instructions apart: of the user and the assistant, the last of the user."""


def _answered(history: History) -> History:
    return history[: max((n for n, (role, _) in enumerate(history, 1) if role == "assistant"), default=0)]


def _handle(db: Database, caller: Caller, named: str) -> str:
    """The handle of the session that X-Session names; empty for a name that is new."""
    if named[:1] == "s" and named[1:].isdigit():
        return named
    known = callers.find_request(db, caller, f"{callers.NAMED}{named}") if named else None
    return f"s{known.session}" if known else ""


def _session_key(db: Database, caller: Caller, history: History, named: str) -> str | None:
    """What the turn waits in line for: a session, or a name that will be one. None where it begins one."""
    if named:
        return _handle(db, caller, named) or f"named {caller.id} {named}"
    found = _continued(db, caller, history)
    return f"s{found.session}" if found else None


def _continued(db: Database, caller: Caller, history: History) -> callers.AnsweredRequest | None:
    """The session that has come as far as the history."""
    answered = _answered(history)
    return callers.find_by_transcript(db, caller, _fingerprint_text(answered)) if answered else None


def _session_opener(caller: Caller, history: History, named: str) -> OpenSession:
    """The session that goes on, or a new one with all that was said before; of a caller that only reads, the latter."""

    def begin(db: Database, app: App) -> tuple[int, Sequence[Part]]:
        answered = _answered(history)
        parts = join_parts([Part(without_surrogates(text), "http") for _, text in history[len(answered) :]])
        if not caller.writes:
            return _import_history(db, app, answered), parts
        with db.write():
            handle = _handle(db, caller, named)
            session = resume_session(db, app, handle) if handle else None
            found = _continued(db, caller, history)
            is_last = found is not None and not _has_later_answer(db, found)
            if session is not None and answered and not (found and found.session == session and is_last):
                sentence = "what was said in that session is not what this history says: leave X-Session out"
                raise Refused(409, "diverged", sentence)
            if session is None and found and is_last:
                with suppress(Refused):  # hidden, or open elsewhere: what was said is taken in anew
                    session = resume_session(db, app, f"s{found.session}")
            if session is None:
                session = _import_history(db, app, answered)
                if named:
                    callers.save_request(db, caller, f"{callers.NAMED}{named}", session, app.time)
        return session, parts

    return begin


def _fingerprint_text(said: History) -> str:
    """What is hashed: the words, for clients do as they like with blanks."""
    return json.dumps([[role, " ".join(text.split())] for role, text in said], ensure_ascii=False)


def _recorder(caller: Caller, history: History, app: App) -> OnAnswer:
    def keep(db: Database, session: int, message: int, answer: str, lines: Lines) -> None:
        said = _fingerprint_text([*history, ("assistant", answer)])
        callers.record_transcript(db, caller, said, session, message, app.time)

    return keep


def _has_later_answer(db: Database, found: callers.AnsweredRequest) -> bool:
    """Whether the session has gone on since: a question that got no answer does not count."""
    later = log.history(db, found.session, after=found.message or 0)
    return any(entry.message.role == "assistant" and entry.finish in _ANSWERED for entry in later)


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
SessionHeader = Annotated[
    str,
    Header(
        alias="X-Session",
        min_length=1,
        max_length=100,
        pattern=r"^[!-~]+$",
        description="The session: a handle, or a name of the client's own. Without it, the history tells.",
    ),
]


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


class Choice(BaseModel):
    index: int
    message: dict[str, Any]
    finish_reason: str
    logprobs: None


class CompletionUsage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage
    agent: dict[str, Any] = Field(description="Where it is kept, what memory added, and what was noticed.")


class Model(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    object: Literal["list"]
    data: list[Model]


def router(state: ServerState) -> APIRouter:
    routes = APIRouter(prefix="/v1")

    @routes.get("/models", summary="The only model: the assistant")
    async def models() -> Models:
        return Models(object="list", data=[Model(id=MODEL, object="model", created=_CREATED, owned_by="agent-cli")])

    @routes.post(
        "/chat/completions",
        response_model=Completion,
        responses=responses.EVENT_STREAM,
        summary="OpenAI's chat completions, with memory",
    )
    async def completions(request: Request, asked_for: CompletionRequest, session: SessionHeader = "") -> Response:
        caller: Caller = request.state.caller
        if asked_for.model not in (MODEL, state.app.config.model):
            raise Refused(404, "model_not_found", f"there is one model here: {MODEL}")
        if session and not caller.writes:
            sentence = "this caller only reads, so no session of it is kept: leave X-Session out"
            raise Refused(403, "reads_only", sentence)
        history, instructions = _split(asked_for.messages)
        key = await state.read(lambda db: _session_key(db, caller, history, session)) if caller.writes else None
        opener, recorder = _session_opener(caller, history, session), _recorder(caller, history, state.app)
        turn_request = TurnRequest(caller, opener, recorder, instructions, streamed=bool(asked_for.stream))
        return await _respond(turns.begin(state, request, turn_request, key), asked_for)

    return routes


def _split(messages: Sequence[ChatMessage]) -> tuple[History, str]:
    """What was said, and the instructions. Raises Refused where nothing is asked."""
    history: list[tuple[Role, str]] = []
    instructions: list[str] = []
    for each in messages:
        if each.role in ("user", "assistant"):
            history += [(each.role, each.text)] if each.text.strip() else []
        else:
            instructions += filter(None, [each.text.strip()])
    if not history or history[-1][0] != "user":
        raise Refused(400, "no_question", "the last message must be the user's, and say something")
    return history, "\n\n".join(instructions)


async def _respond(asked: Turn, completion_request: CompletionRequest) -> Response:
    if completion_request.stream:
        first = await asked.first_event()
        return EventStream(_chunks(asked, first, completion_request), _session_header(first), closed=asked.leave)
    answer = await asked.answer()
    message = {"role": "assistant", "content": answer["answer"], "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
    completion = {
        **_header_fields("chat.completion", answer),
        "choices": [choice],
        "usage": _usage(answer),
        "agent": _memory_fields(answer),
    }
    return JSONResponse(completion, headers={**_session_header(answer), **asked.timing})


async def _chunks(asked: Turn, first: JsonObject, asked_for: CompletionRequest) -> AsyncGenerator[str, None]:
    head = _header_fields("chat.completion.chunk", first)
    yield responses.encode_event({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
    gap = said = ""
    async for event in asked.remaining_events():
        match event:
            case None:
                yield responses.HEARTBEAT
            case {"type": "delta", "text": text}:
                said += text
                yield responses.encode_event({**head, "choices": [_delta({"content": gap + text})]})
                gap = ""
            case {"type": "tool"}:
                gap = "\n\n" if said.strip() else ""
            case {"type": "error"}:
                yield responses.encode_event(event)
                return
            case {"type": "end"}:
                last = {**_delta({}), "finish_reason": _finish_reason(event)}
                yield responses.encode_event({**head, "choices": [last], "agent": _memory_fields(event)})
                if asked_for.stream_options and asked_for.stream_options.include_usage:
                    yield responses.encode_event({**head, "choices": [], "usage": _usage(event)})
    yield "data: [DONE]\n\n"


def _header_fields(kind: str, answer: JsonObject) -> dict[str, Any]:
    turn = answer.get("turn") or format(time.time_ns(), "x")
    return {"id": f"chatcmpl-{turn}", "object": kind, "created": int(time.time()), "model": MODEL}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _finish_reason(answer: JsonObject) -> str:
    return "length" if answer["finish"] == "length" else "stop"


def _usage(answer: JsonObject) -> dict[str, int]:
    read, wrote = answer["usage"]["tokens_in"], answer["usage"]["tokens_out"]
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _memory_fields(answer: JsonObject) -> dict[str, Any]:
    return {key: answer[key] for key in ("session", "turn", "model", "used", "notices", "receipts")}


def _session_header(answer: JsonObject) -> dict[str, str]:
    return {"X-Session": answer["session"]} if answer["session"] else {}
