"""What a caller may look at: /search in its memory, /metrics of its turns, /events of its audit log."""

import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from agent_cli import clock, kinds
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.reports import records
from agent_cli.memory.search import recall, vectors
from agent_cli.memory.search.candidates import Filter, between_days
from agent_cli.memory.search.recall import Hit
from agent_cli.serve import responses
from agent_cli.serve.responses import EventStream, Refused
from agent_cli.serve.state import ServerState
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.text import clean

_POLL_SECONDS = 0.5  # seconds between two looks for new events
_KINDS = tuple(kind.name for kind in kinds.SEARCHABLE)
if TYPE_CHECKING:
    SearchKind = str
else:
    SearchKind = Literal[_KINDS]
Days = Annotated[int, Field(ge=0, le=36500, description="0: however long ago.")]


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


def router(state: ServerState) -> APIRouter:
    routes = APIRouter()

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
            embedder = _question_embedder(app, caller, db)
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
    async def events(
        request: Request,
        last: Annotated[
            str,
            Header(alias="Last-Event-ID", pattern=r"^e[0-9]{1,15}$", description="Go on after it; e0: from the start."),
        ] = "",
    ) -> Response:
        caller: Caller = request.state.caller
        if state.streams.get(caller.id, 0) >= state.limits.streams:
            raise Refused(429, "streams", f"{state.limits.streams} streams are open already", {"Retry-After": "5"})
        state.streams[caller.id] = state.streams.get(caller.id, 0) + 1

        def closed() -> None:
            state.streams[caller.id] -= 1

        since = ids.number("event", last) if last else None
        return EventStream(_log(state, caller, since), closed=closed)

    return routes


async def _log(state: ServerState, caller: Caller, since: int | None) -> AsyncGenerator[str, None]:
    """What happens in this caller's memory, until it goes, is let in no more, or the server ends.

    `since`: after which event; None: from now on.
    """
    at = await state.read(records.latest_event) if since is None else since
    last_sent = time.monotonic()
    yield responses.HEARTBEAT
    while not state.stopping.is_set():
        found, now, still = await state.read(partial(_poll, state, caller, at))
        if not still:
            return
        for event in found:
            yield responses.encode_event(event, id=event["id"])
            last_sent = time.monotonic()
        if time.monotonic() - last_sent > responses.HEARTBEAT_SECONDS:
            yield responses.HEARTBEAT
            last_sent = time.monotonic()
        if now == at:
            await anyio.sleep(_POLL_SECONDS)
        at = now


def _poll(state: ServerState, caller: Caller, at: int, db: Database) -> tuple[list[dict[str, Any]], int, bool]:
    return *records.events_after(db, caller.owner, at), state.is_still_admitted(db, caller)


def _question_embedder(app: App, caller: Caller, db: Database) -> vectors.QueryEmbedder | None:
    """What was said last is indexed first, where the file can be written; where it cannot, the rest is found."""
    if caller.writes:
        with suppress(StoreError):
            return upkeep.prepare_search(app, db)
    return app.embedders.query_embedder(db, choose=False)


def _search_hit(hit: Hit) -> SearchHit:
    """Without its score: see agent/transcript.py."""
    at = clock.utc(datetime.fromtimestamp(hit.at).astimezone())
    session = ids.handle("session", hit.session) if hit.session else None
    return SearchHit(kind=hit.kind, id=hit.handle, session=session, at=at, text=clean(hit.text), label=clean(hit.label))
