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
from agent_cli.memory.conversations.callers import AnsweredRequest, Caller
from agent_cli.messages import Part
from agent_cli.serve import responses, turns
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState, Turn, response_body
from agent_cli.serve.turns import OpenSession, TurnRequest
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
        if key and caller.writes:
            return await _answer_once(state, request, question, key)
        if not caller.writes and (question.session or key):
            what = "session" if question.session else "Idempotency-Key"
            raise Refused(403, "reads_only", f"this caller only reads, so nothing of it is kept: leave the {what} out")
        turn_request = TurnRequest(caller, _session_opener(question))
        return await _respond(turns.begin(state, request, turn_request, question.session), question)

    return routes


async def _answer_once(state: ServerState, request: Request, question: ChatRequest, key: str) -> Response:
    """The answer to this key: the one that is kept, or being made, or a new one."""
    caller: Caller = request.state.caller
    text, place = json.dumps([question.message, question.session]), (caller.id, key)
    if (waiting := state.waiting_by_key[place]) >= state.limits.waiting_per_caller:
        raise responses.busy(f"{waiting} requests wait for the answer to this key already: ask again later")
    state.waiting_by_key[place] += 1
    try:
        while True:
            if making := state.turns_by_key.get(place):
                ended = asyncio.ensure_future(asyncio.wait([making.task]))
                if not await responses.unless_disconnected(request.receive, ended):
                    raise Refused(499, "gone", "the caller has disconnected")
            known = await state.read(lambda db: _known_request(db, caller, key, text))
            if place not in state.turns_by_key:  # else another request was faster
                break
        if known and known.message:
            logged = await state.read(partial(_logged_answer, known, scores=caller.mine))
            return _repeat_answer(logged, question)
        turn_request = TurnRequest(
            caller, _session_opener(question, (caller, key, text)), on_answer=partial(_record_answer, caller, key)
        )
        asked = turns.begin(state, request, turn_request, question.session, key)
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


def _session_opener(question: ChatRequest, key: tuple[Caller, str, str] | None = None) -> OpenSession:
    """Said in the session that was named, or in a new one; under a key that is written down with it."""

    def begin(db: Database, app: App) -> tuple[int, Sequence[Part]]:
        with db.write():
            session = resume_session(db, app, question.session) if question.session else None
            session = session or sessions.start(db, app.scope, app.time())
            if key:
                caller, name, text = key
                known = callers.find_request(db, caller, name)
                if known and known.message is None and sessions.is_open_elsewhere(db, known.session):
                    sentence = "the answer to this key is being made: send the request again to get it"
                    raise Refused(409, "in_use", sentence)  # by another server on the same file
                callers.save_request(db, caller, name, session, app.time, hash=keyed_hash.digest(db, text))
        return session, [Part(without_surrogates(question.message), "http")]

    return begin


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


def _known_request(db: Database, caller: Caller, key: str, text: str) -> AnsweredRequest | None:
    """What was taken on under this key. Raises Refused where that was another request."""
    known = callers.find_request(db, caller, key)
    if known and known.hash != keyed_hash.digest(db, text):
        raise Refused(422, "key_reused", "this Idempotency-Key was sent with another request: make a new one")
    return known


def _record_answer(
    caller: Caller, key: str, db: Database, session: int, message: int, answer: str, lines: Lines
) -> None:
    callers.finish_request(db, caller, key, message, json.dumps(lines, ensure_ascii=False))


def _logged_answer(known: AnsweredRequest, db: Database, *, scores: bool) -> JsonObject:
    """An answer as it was given, from the log. Raises Refused where it is there no more."""
    answer = events.of_logged_turn(db, known.session, known.message or 0, json.loads(known.lines), scores=scores)
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
