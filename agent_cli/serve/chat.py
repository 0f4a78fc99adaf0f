"""POST /chat: words in, an answer out, in a conversation that the program remembers.

A request with an Idempotency-Key is carried out once: the same one again gets the same answer, also after a restart,
and waits while the first is still being made. So it is not cut when its caller goes, who will ask for it again. One
that came to no answer, as where the server was killed, is carried out when it comes again.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_cli.agent import events
from agent_cli.agent.events import JsonObject, Lines
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import callers, sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.messages import Part
from agent_cli.serve import responses, turns
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState, Turn, response_body
from agent_cli.serve.turns import TurnRequest
from agent_cli.store import ids, keyed_hash
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates

SESSION = r"^s[0-9]{1,15}$"
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[!-~]+$")]


class ChatRequest(BaseModel):
    """What is said, and where."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(pattern=r"\S", description="The words.")
    session: str | None = Field(None, pattern=SESSION, description="The conversation to go on with; null: a new one.")
    stream: bool = Field(False, description="Answer with server-sent events: start, used, delta, …, end or error.")


class UsedMemory(BaseModel):
    kind: str
    id: str
    score: float | None = None


class TokenCounts(BaseModel):
    tokens_in: int
    tokens_out: int


class ChatAnswer(BaseModel):
    """The answer, where it is kept, and what memory added. A caller that only reads has no session and no turn."""

    answer: str
    session: str | None
    turn: str | None
    used: list[UsedMemory]
    usage: TokenCounts
    finish: str
    model: str
    notices: list[str]
    receipts: list[str] = Field(description="What was saved, as the program says it.")


class ErrorDetail(BaseModel):
    """What went wrong and what to do, in one sentence."""

    message: str
    type: Literal["invalid_request_error", "rate_limit_error", "server_error"]
    param: None
    code: str


class ErrorResponse(BaseModel):
    """The error; of an answer that was cut also what had arrived."""

    model_config = ConfigDict(extra="allow")

    error: ErrorDetail


def router(state: ServerState) -> APIRouter:
    routes = APIRouter()

    @routes.post(
        "/chat",
        response_model=ChatAnswer,
        responses=responses.EVENT_STREAM,
        summary="Send a message and get the answer",
    )
    async def chat(request: Request, question: ChatRequest, key: Key = "") -> Response:
        caller: Caller = request.state.caller
        if not caller.writes and (question.session or key):
            what = "session" if question.session else "Idempotency-Key"
            raise Refused(403, "reads_only", f"this caller only reads, so nothing of it is kept: leave the {what} out")
        if key:
            return await _answer_once(state, request, question, key)
        turn_request = TurnRequest(caller, partial(_open_session, question))
        return await _respond(turns.begin(state, request, turn_request, question.session), question)

    return routes


async def _answer_once(state: ServerState, request: Request, question: ChatRequest, key: str) -> Response:
    """The answer to this key: the one that is kept, or being made, or a new one."""
    caller: Caller = request.state.caller
    text, place = json.dumps([question.message, question.session]), (caller.id, key)

    def open_session(db: Database, app: App) -> tuple[int, Sequence[Part]]:
        with db.write():
            session, parts = _open_session(question, db, app)
            known = callers.find_request(db, caller, key)
            if known and known.message is None and sessions.is_open_elsewhere(db, known.session):
                sentence = "the answer to this key is being made: send the request again to get it"
                raise Refused(409, "in_use", sentence)  # by another server on the same file
            callers.save_request(db, caller, key, session, app.time, hash=keyed_hash.digest(db, text))
        return session, parts

    def record(db: Database, session: int, message: int, answer: str, lines: Lines) -> None:
        callers.finish_request(db, caller, key, message, json.dumps(lines, ensure_ascii=False))

    if (waiting := state.waiting_by_key[place]) >= state.limits.waiting_per_caller:
        raise responses.busy(f"{waiting} requests wait for the answer to this key already: ask again later")
    state.waiting_by_key[place] += 1
    try:
        while True:
            if making := state.turns_by_key.get(place):
                ended = asyncio.ensure_future(asyncio.wait([making.task]))
                if not await responses.unless_disconnected(request.receive, ended):
                    raise Refused(499, "gone", "the caller has disconnected")
            answer = await state.read(partial(_kept_answer, caller, key, text))
            if place not in state.turns_by_key:  # else another request was faster
                break
        if answer:
            return _repeat_answer(answer, question)
        asked = turns.begin(state, request, TurnRequest(caller, open_session, record), question.session, key)
    finally:
        state.waiting_by_key[place] -= 1
        if not state.waiting_by_key[place]:
            del state.waiting_by_key[place]
    return await _respond(asked, question)


async def _respond(asked: Turn, question: ChatRequest) -> Response:
    if not question.stream:
        answer = await asked.answer()
        return JSONResponse(answer, headers=asked.timing)
    first = await asked.first_event()

    async def pieces() -> AsyncGenerator[str, None]:
        yield _encode(first)
        async for event in asked.remaining_events():
            yield _encode(event) if event else responses.HEARTBEAT

    return EventStream(pieces(), closed=asked.leave)


def _encode(event: JsonObject) -> str:
    return responses.encode_event(event, event=event["type"])


def _open_session(question: ChatRequest, db: Database, app: App) -> tuple[int, Sequence[Part]]:
    """Said in the session that was named, or in a new one."""
    named = question.session
    session = resume_session(db, app, named) if named else sessions.start(db, app.scope, app.time())
    return session, [Part(without_surrogates(question.message), "http")]


def resume_session(db: Database, app: App, handle: str) -> int:
    """The number of a session that is open to this caller and to nobody else now. Raises Refused."""
    try:
        session = sessions.get(db, ids.number("session", handle), app.scope.owner)
    except UsageError:
        session = None
    if session is None or session.hidden_at:
        raise Refused(404, "no_session", f"there is no session {handle}: leave it out to begin a new one")
    if sessions.is_open_elsewhere(db, session.id):
        raise Refused(409, "in_use", f"{handle} is open elsewhere on that machine: close it there, or begin a new one")
    return sessions.reopen(db, session.id, app.scope.owner, app.time()).id


def _kept_answer(caller: Caller, key: str, text: str, db: Database) -> JsonObject | None:
    """The answer that was given under this key, from the log. Raises Refused where that was to another request."""
    known = callers.find_request(db, caller, key)
    if known and known.hash != keyed_hash.digest(db, text):
        raise Refused(422, "key_reused", "this Idempotency-Key was sent with another request: make a new one")
    if not (known and known.message):
        return None
    answer = events.of_logged_turn(db, known.session, known.message, json.loads(known.lines), scores=caller.mine)
    if answer is None:
        raise Refused(410, "gone", "that answer was given, and was taken back or erased since")
    return response_body(answer)


def _repeat_answer(answer: JsonObject, question: ChatRequest) -> Response:
    """The answer once more, in the form that is asked for now."""
    if not question.stream:
        return JSONResponse(answer)

    async def pieces() -> AsyncGenerator[str, None]:
        yield _encode({"type": "start", "schema": 1, "session": answer["session"], "turn": answer["turn"]})
        for line in answer["notices"]:
            yield _encode({"type": "notice", "text": line})
        yield _encode({"type": "used", "used": answer["used"]})
        yield _encode({"type": "delta", "text": answer["answer"]})
        yield _encode({"type": "end", "schema": 1, **answer})

    return EventStream(pieces())
