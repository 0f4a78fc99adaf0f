"""What a caller may say, look at and keep: /chat, /search in its memory, /tasks, /metrics, /events of its audit log. A
reminder of its own tasks is an event, stands in /tasks, and comes with its next answer of /chat."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_cli import clock, kinds
from agent_cli.agent.events import JsonObject
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.conversations import callers, sessions
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.planner import tasks
from agent_cli.memory.reports import records
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter, between_days
from agent_cli.messages import Part
from agent_cli.serve import responses
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState, Turn, TurnRequest, metrics, resume_session
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.text import clean, without_surrogates

_POLL_SECONDS = 0.5  # seconds between two looks for new events
_PLAIN_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}
_KINDS = tuple(kind.name for kind in kinds.SEARCHABLE)
if TYPE_CHECKING:
    SearchKind = str
else:
    SearchKind = Literal[_KINDS]
Days = Annotated[int, Field(ge=0, le=36500, description="0: however long ago.")]
EventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern=r"^e[0-9]{1,15}$", description="Go on after it; e0: from the start."),
]
TaskHandle = Annotated[str, Path(pattern=r"^t[0-9]{1,15}$", description="Its handle, as in t4.")]


class ChatRequest(BaseModel):
    """What is said, and where."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(pattern=r"\S", description="The words.")
    session: str | None = Field(
        None, pattern=r"^s[0-9]{1,15}$", description="The conversation to go on with; null: a new one."
    )
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


class SearchQuery(BaseModel):
    """The question and its filters; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field(min_length=1, max_length=2000, pattern=r"\S", description="The question, or words.")
    kind: tuple[SearchKind, ...] = Field((), max_length=len(_KINDS))
    min_days_ago: Days = 0
    max_days_ago: Days = 0
    limit: int = Field(10, ge=1, le=50)


class SearchHit(BaseModel):
    kind: str
    id: str
    session: str | None
    at: str
    text: str
    label: str


class SearchResult(BaseModel):
    """The best first. The verdict: known, maybe or nothing."""

    query: str
    verdict: Literal["known", "maybe", "nothing"]
    hits: list[SearchHit]


class TaskQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: Literal["open", "done", "all"] = "open"
    limit: int = Field(100, ge=1, le=1000)


class NewTask(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(pattern=r"\S", max_length=tasks.MAX_LENGTH)
    when: str = Field("", max_length=200, description="In words: friday 3pm, every monday 9:00; empty: at no time.")


class TaskAnswer(BaseModel):
    id: str
    text: str
    when: str
    due_at: str | None
    zone: str
    repeats: str
    state: Literal["open", "done"]
    reminded_at: str | None = Field(description="When its reminder came up last.")
    done_at: str | None
    at: str


class TaskList(BaseModel):
    tasks: list[TaskAnswer]


def router(state: ServerState) -> APIRouter:
    routes, stream = APIRouter(), responses.EVENT_STREAM

    @routes.post("/chat", response_model=ChatAnswer, responses=stream, summary="Send a message and get the answer")
    async def chat(request: Request, question: ChatRequest) -> Response:
        caller: callers.Caller = request.state.caller
        if not caller.writes and question.session:
            raise Refused(403, "reads_only", "this caller only reads, so nothing of it is kept: leave the session out")

        def open_session(db: Database, app: App) -> tuple[int, Sequence[Part]]:
            named = question.session
            session = resume_session(db, app, named) if named else sessions.start(db, app.scope, app.time())
            return session, [Part(without_surrogates(question.message), "http")]

        asked = state.begin(request, TurnRequest(caller, open_session), question.session)
        if not question.stream:
            return JSONResponse(await asked.answer())
        return EventStream(_event_pieces(asked, await asked.first_event()), closed=asked.leave)

    @routes.get("/tasks", summary="What is to be done")
    def list_tasks(request: Request, asked: Annotated[TaskQuery, Query()]) -> TaskList:
        with state.app.db.another_connection() as db:
            found = tasks.listing(db, request.state.caller.owner, asked.state, asked.limit)
        return TaskList(tasks=[_task_answer(each) for each in found])

    @routes.post("/tasks", status_code=201, summary="Add a task, with a reminder or without")
    def add_task(request: Request, new: NewTask) -> TaskAnswer:
        caller, time = _writer(request), state.app.time
        try:
            due = due_times.parse(without_surrogates(new.when), time(), moments.local_zone())
        except UsageError as error:
            raise Refused(422, "no_time", clean(str(error))) from None
        with state.app.db.another_connection() as db:
            return _task_answer(tasks.add(db, caller.scope, without_surrogates(new.text), due, time, origin="http"))

    @routes.post("/tasks/{task}/done", summary="Mark a task as done; one that repeats moves to its next time")
    def complete_task(request: Request, task: TaskHandle) -> TaskAnswer:
        caller = _writer(request)
        with state.app.db.another_connection() as db:
            try:
                found = tasks.get(db, ids.number("task", task), caller.owner)
            except UsageError:
                raise Refused(404, "no_task", f"there is no task {task}") from None
            if found.state == "done" or found.hidden_at:
                raise Refused(409, "done", f"{task} is done already")
            return _task_answer(tasks.complete(db, found, state.app.time))

    @routes.get("/search", summary="Search conversations, notes, summaries and facts")
    def search(request: Request, asked: Annotated[SearchQuery, Query()]) -> SearchResult:
        caller: callers.Caller = request.state.caller
        app = state.app_of(caller)
        now = app.time()
        try:
            since, until = between_days(now, asked.min_days_ago or None, asked.max_days_ago or None)
        except UsageError as error:
            raise Refused(422, "arguments", str(error)) from error
        weighed: dict[str, Any] = {"current_place": app.scope.place, "fact_half_life": app.fact_half_life}
        allowed = Filter(caller.owner, asked.kind, since=since, until=until, **weighed)
        with state.app.db.another_connection() as db:
            embedder = None
            if caller.writes:
                with suppress(StoreError):  # what was said last is indexed first; where it cannot be, the rest is found
                    embedder = upkeep.prepare_search(app, db)
            embedder = embedder or app.embedders.query_embedder(db, choose=False)
            found = recall.find(db, asked.q, allowed, now, asked.limit, embedder)
        return SearchResult(query=clean(asked.q), verdict=found.verdict, hits=[_search_hit(hit) for hit in found.hits])  # type: ignore[arg-type]

    @routes.get("/metrics", responses=_PLAIN_TEXT, summary="Figures of the log, for Prometheus")
    def figures(request: Request) -> Response:
        caller: callers.Caller = request.state.caller
        gauges = {"agent_turns_running": state.turns.running, "agent_turns_waiting": state.turns.waiting}
        with state.app.db.another_connection() as db:
            text = metrics(db, caller, gauges)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    summary = "The audit log as it grows: ids, kinds and hashes, never text"

    @routes.get("/events", responses=stream, summary=summary)
    async def events(request: Request, last: EventId = None) -> Response:
        return EventStream(_log(state, request.state.caller, ids.number("event", last) if last else None))

    return routes


async def _event_pieces(asked: Turn, first: JsonObject) -> AsyncGenerator[str, None]:
    yield responses.encode_event(first, event=first["type"])
    async for event in asked.remaining_events():
        yield responses.encode_event(event, event=event["type"]) if event else responses.HEARTBEAT


async def _log(state: ServerState, caller: callers.Caller, since: int | None) -> AsyncGenerator[str, None]:
    """What happens in this caller's memory after an event (None: from now on), until it goes, is let in no more, or the
    server ends."""

    def poll(db: Database) -> tuple[list[dict[str, Any]], int] | None:
        """New events, and the number of the last; None once the caller has no more the same token for this memory."""
        now = callers.get(db, caller.name)
        admitted = now.revoked_at is None and (now.owner, now.hash) == (caller.owner, caller.hash)
        return records.events_after(db, caller.owner, at) if admitted else None

    at = await state.read(events.latest_number) if since is None else since
    last_sent = time.monotonic()
    yield responses.HEARTBEAT
    while not state.stopping.is_set() and (polled := await state.read(poll)):
        found, now = polled
        pieces = [responses.encode_event(event, id=event["id"]) for event in found]
        if not pieces and time.monotonic() - last_sent > responses.HEARTBEAT_SECONDS:
            pieces = [responses.HEARTBEAT]
        for piece in pieces:
            yield piece
            last_sent = time.monotonic()
        if now == at:
            await asyncio.sleep(_POLL_SECONDS)
        at = now


def _search_hit(hit: recall.Hit) -> SearchHit:
    """Without its score: see agent/transcript.py."""
    at = clock.utc(datetime.fromtimestamp(hit.at).astimezone())
    session = ids.handle("session", hit.session) if hit.session else None
    return SearchHit(kind=hit.kind, id=hit.handle, session=session, at=at, text=clean(hit.text), label=clean(hit.label))


def _writer(request: Request) -> callers.Caller:
    caller: callers.Caller = request.state.caller
    if not caller.writes:
        raise Refused(403, "reads_only", "this caller only reads")
    return caller


def _task_answer(task: tasks.Task) -> TaskAnswer:
    fields = task.describe()
    fields |= {"text": clean(task.text), "when": clean(task.due_words), "reminded_at": task.reminded_at}
    return TaskAnswer(**{name: fields[name] for name in TaskAnswer.model_fields})
