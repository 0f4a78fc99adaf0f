"""What a caller may look at and keep: /search in its memory, /tasks, /metrics of its turns, /events of its audit log.

A reminder of its own tasks is an event, stands in /tasks, and comes with its next answer of /chat; those of the person
come up where the person is.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from agent_cli import clock, kinds
from agent_cli.app import upkeep
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.conversations import callers
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.planner import tasks
from agent_cli.memory.reports import records
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter, between_days
from agent_cli.serve import responses
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.text import clean, without_surrogates

_POLL_SECONDS = 0.5  # seconds between two looks for new events
_KINDS = tuple(kind.name for kind in kinds.SEARCHABLE)
if TYPE_CHECKING:
    SearchKind = str
else:
    SearchKind = Literal[_KINDS]
Days = Annotated[int, Field(ge=0, le=36500, description="0: however long ago.")]
EventId = Annotated[
    str, Header(alias="Last-Event-ID", pattern=r"^e[0-9]{1,15}$", description="Go on after it; e0: from the start.")
]
TaskHandle = Annotated[str, Path(pattern=r"^t[0-9]{1,15}$", description="Its handle, as in t4.")]


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
    routes = APIRouter()

    @routes.get("/tasks", summary="What is to be done")
    def list_tasks(request: Request, asked: Annotated[TaskQuery, Query()]) -> TaskList:
        with state.pool.connection() as db:
            found = tasks.listing(db, request.state.caller.owner, asked.state, asked.limit)
        return TaskList(tasks=[_task_answer(each) for each in found])

    @routes.post("/tasks", status_code=201, summary="Add a task, with a reminder or without")
    def add_task(request: Request, new: NewTask) -> TaskAnswer:
        caller, time = _writer(request), state.app.time
        try:
            due = due_times.parse(without_surrogates(new.when), time(), moments.local_zone())
        except UsageError as error:
            raise Refused(422, "no_time", clean(str(error))) from None
        with state.pool.connection() as db:
            return _task_answer(tasks.add(db, caller.scope, without_surrogates(new.text), due, time, origin="http"))

    @routes.post("/tasks/{task}/done", summary="Mark a task as done; one that repeats moves to its next time")
    def complete_task(request: Request, task: TaskHandle) -> TaskAnswer:
        caller = _writer(request)
        with state.pool.connection() as db:
            try:
                found = tasks.get(db, ids.number("task", task), caller.owner)
            except UsageError:
                raise Refused(404, "no_task", f"there is no task {task}") from None
            if found.state == "done" or found.hidden_at:
                raise Refused(409, "done", f"{task} is done already")
            return _task_answer(tasks.complete(db, found, state.app.time))

    @routes.get("/search", summary="Search conversations, notes, summaries and facts")
    def search(request: Request, asked: Annotated[SearchQuery, Query()]) -> SearchResult:
        caller: Caller = request.state.caller
        app = state.app_of(caller)
        now = app.time()
        try:
            since, until = between_days(now, asked.min_days_ago or None, asked.max_days_ago or None)
        except UsageError as error:
            raise Refused(422, "arguments", str(error)) from error
        allowed = Filter(
            caller.owner,
            asked.kind,
            current_place=app.scope.place,
            since=since,
            until=until,
            fact_half_life=app.fact_half_life,
        )
        with state.pool.connection() as db:
            embedder = None
            if caller.writes:
                with suppress(StoreError):  # what was said last is indexed first; where it cannot be, the rest is found
                    embedder = upkeep.prepare_search(app, db)
            embedder = embedder or app.embedders.query_embedder(db, choose=False)
            found = recall.find(db, asked.q, allowed, now, asked.limit, embedder)
        return SearchResult(query=clean(asked.q), verdict=found.verdict, hits=[_search_hit(hit) for hit in found.hits])  # type: ignore[arg-type]

    @routes.get("/metrics", response_class=PlainTextResponse, summary="Figures of the log, for Prometheus")
    def metrics(request: Request) -> Response:
        caller: Caller = request.state.caller
        with state.pool.connection() as db:
            states = jobs.count_by_state(db) if caller.mine else {}
            state.metrics.read_log(db)
        gauges = {"agent_turns_running": state.turns.running, "agent_turns_waiting": state.turns.waiting}
        text = state.metrics.render(caller, gauges, states)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @routes.get(
        "/events",
        response_class=StreamingResponse,
        responses=responses.EVENT_STREAM,
        summary="The audit log as it grows: ids, kinds and hashes, never text",
    )
    async def events(request: Request, last: EventId = "") -> Response:
        caller: Caller = request.state.caller
        if state.streams[caller.id] >= state.limits.streams:
            raise Refused(429, "streams", f"{state.limits.streams} streams are open already", {"Retry-After": "5"})
        state.streams[caller.id] += 1
        since = ids.number("event", last) if last else None
        return EventStream(_log(state, caller, since), closed=lambda: state.streams.subtract([caller.id]))

    return routes


async def _log(state: ServerState, caller: Caller, since: int | None) -> AsyncGenerator[str, None]:
    """What happens in this caller's memory, until it goes, is let in no more, or the server ends.

    `since`: after which event; None: from now on.
    """

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


def _writer(request: Request) -> Caller:
    caller: Caller = request.state.caller
    if not caller.writes:
        raise Refused(403, "reads_only", "this caller only reads")
    return caller


def _task_answer(task: tasks.Task) -> TaskAnswer:
    fields = task.describe()
    fields |= {"text": clean(task.text), "when": clean(task.due_words), "reminded_at": task.reminded_at}
    return TaskAnswer(**{name: fields[name] for name in TaskAnswer.model_fields})
