"""/v1: the part of OpenAI's API that clients need to converse, so that they gain a memory.

System messages are instructions for one run and no memory. Which model answers, and how, is the business of this
machine: sampling settings are passed over. What would give another answer than was asked for is refused: tools of the
client's own (the tools here are the assistant's), more than one choice, a form, pictures.
"""

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_cli.agent.transcript import JsonObject
from agent_cli.memory.conversations.callers import Caller
from agent_cli.serve.core import streaming
from agent_cli.serve.core.refusals import Refused
from agent_cli.serve.core.run_turn import Asking
from agent_cli.serve.core.state import House
from agent_cli.serve.core.streaming import EventStream
from agent_cli.serve.core.turn_handle import Asked
from agent_cli.serve.routes import conversations
from agent_cli.serve.routes.conversations import History, Said

MODEL = "agent"
_BEGAN = 1767225600  # when a model "was created": every client wants a number, and none reads it
Named = Annotated[
    str,
    Header(
        alias="X-Session", min_length=1, max_length=100, pattern=r"^[!-~]+$",
        description="The session: a handle, or a name of the client's own. Without it, the history tells.",
    ),
]  # fmt: skip


class Piece(BaseModel):
    type: Literal["text"]
    text: str


class Line(BaseModel):
    """A message. One of a tool is refused, for the tools of a client are."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Piece] = Field(description="Words, or pieces of text.")

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "\n\n".join(each.text for each in self.content)


class StreamOptions(BaseModel):
    include_usage: bool = False


class Request_(BaseModel):
    """What is not named here is passed over."""

    model: str = Field(MODEL, description=f"{MODEL}, or the name of the model that is set.")
    messages: list[Line] = Field(min_length=1)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1, le=1)
    tools: list[Any] | None = Field(None, max_length=0, description="None: the tools are the assistant's own.")
    functions: list[Any] | None = Field(None, max_length=0)
    response_format: dict[Literal["type"], Literal["text"]] | None = None

    @field_validator("tools", "functions", mode="before")
    @classmethod
    def _none_of_its_own(cls, told: Any) -> Any:
        if told:
            raise ValueError("the tools here are the assistant's own, and a client's cannot be called: leave them out")
        return told


class Choice(BaseModel):
    index: int
    message: dict[str, Any]
    finish_reason: str
    logprobs: None


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    agent: dict[str, Any] = Field(description="Where it is kept, what memory added, and what was noticed.")


class Model(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    object: Literal["list"]
    data: list[Model]


def router(house: House) -> APIRouter:
    routes = APIRouter(prefix="/v1")

    @routes.get("/models", summary="The one model there is: the assistant")
    async def models() -> Models:
        return Models(object="list", data=[Model(id=MODEL, object="model", created=_BEGAN, owned_by="agent-cli")])

    @routes.post(
        "/chat/completions", response_model=Completion, responses=streaming.TOLD, summary="OpenAI's chat, with a memory"
    )
    async def completions(request: Request, asked_for: Request_, session: Named = "") -> Response:
        caller: Caller = request.state.caller
        _check_model(house, asked_for.model)
        history, instructions = _history(asked_for), _instructions(asked_for)
        if not caller.writes:
            if session:
                raise Refused(
                    403, "reads_only", "this caller only reads, so no session of it is kept: leave X-Session out"
                )
            asking = Asking(caller, conversations.apart(history), instructions=instructions)
            return await _told(Asked(house, request, asking, None), asked_for)
        line = await house.read(lambda db: conversations.line(db, caller, history, session))
        begin = conversations.begin(caller, history, session)
        kept = conversations.kept(caller, history, house.app)
        asking = Asking(caller, begin, kept, instructions, streamed=bool(asked_for.stream))
        return await _told(Asked(house, request, asking, line), asked_for)

    return routes


def _check_model(house: House, name: str) -> None:
    if name not in (MODEL, house.app.config.model):
        raise Refused(404, "model_not_found", f"there is one model here: {MODEL}")


def _history(asked_for: Request_) -> History:
    """Raises Refused where nothing is asked."""
    said = [Said(each.role, each.text) for each in asked_for.messages if each.role in ("user", "assistant")]
    said = [each for each in said if each.text.strip()]
    if not said or said[-1].role != "user":
        raise Refused(400, "no_question", "the last message must be the user's, and say something")
    return History(tuple(said))


def _instructions(asked_for: Request_) -> str:
    told = [each.text.strip() for each in asked_for.messages if each.role in ("system", "developer")]
    return "\n\n".join(filter(None, told))


async def _told(asked: Asked, asked_for: Request_) -> Response:
    if asked_for.stream:
        first = await asked.first()
        return EventStream(_chunks(asked, first, asked_for), _named(first), closed=asked.leave)
    answer = await asked.whole()
    usage = _usage(answer)
    choice = {
        "index": 0, "message": {"role": "assistant", "content": answer["answer"], "refusal": None}, "logprobs": None,
        "finish_reason": _finish(answer),
    }  # fmt: skip
    told = {**_head("chat.completion", answer), "choices": [choice], "usage": usage, "agent": _beside(answer)}
    return JSONResponse(told, headers={**_named(answer), **asked.timing})


async def _chunks(asked: Asked, first: JsonObject, asked_for: Request_) -> AsyncGenerator[str, None]:
    """The answer as it comes, in OpenAI's chunks."""
    head = _head("chat.completion.chunk", first)
    yield streaming.piece({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
    gap = said = ""
    async for event in asked.rest():
        match event:
            case None:
                yield streaming.COMMENT
            case {"type": "delta", "text": text}:
                said += text
                yield streaming.piece({**head, "choices": [_delta({"content": gap + text})]})
                gap = ""
            case {"type": "tool"}:
                gap = "\n\n" if said.strip() else ""
            case {"type": "error"}:
                yield streaming.piece(event)
                return
            case {"type": "end"}:
                last = {**_delta({}), "finish_reason": _finish(event)}
                yield streaming.piece({**head, "choices": [last], "agent": _beside(event)})
                if asked_for.stream_options and asked_for.stream_options.include_usage:
                    yield streaming.piece({**head, "choices": [], "usage": _usage(event)})
    yield "data: [DONE]\n\n"


def _head(kind: str, told: JsonObject) -> dict[str, Any]:
    turn = told.get("turn") or format(time.time_ns(), "x")
    return {"id": f"chatcmpl-{turn}", "object": kind, "created": int(time.time()), "model": MODEL}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _finish(told: JsonObject) -> str:
    return "length" if told["finish"] == "length" else "stop"


def _usage(told: JsonObject) -> dict[str, int]:
    read, wrote = told["usage"]["tokens_in"], told["usage"]["tokens_out"]
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _beside(told: JsonObject) -> dict[str, Any]:
    return {key: told[key] for key in ("session", "turn", "model", "used", "notices")}


def _named(told: JsonObject) -> dict[str, str]:
    return {"X-Session": told["session"]} if told["session"] else {}
