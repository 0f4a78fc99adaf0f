"""Keeps the indexes of the database up to date: after a turn or an import, before a search, and after damage."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from agent_cli.agent.jobs.job_context import INDEX, REPAIR
from agent_cli.app.app import App, finish_erasure
from agent_cli.errors import StoreBusy
from agent_cli.memory.search import index, vectors, word_tables
from agent_cli.store import jobs
from agent_cli.store.db import Database

if TYPE_CHECKING:
    from agent_cli.memory.documents.documents import SyncResult
    from agent_cli.memory.search.candidates import Filter
    from agent_cli.memory.search.recall import RecallResult


def prepare_search(app: App, db: Database) -> vectors.QueryEmbedder | None:
    """Update the index, and the vectors where that is quick and possible; returns the embedder of a question."""
    if index.catch_up(db):
        if waiting := index.count_stale(db):
            rest = "the end of a long text is" if waiting == 1 else f"the ends of {waiting} long texts are"
            app.notice(f"{rest} not indexed yet and not found; `agent jobs run --until-idle` does it now")
        if waiting or not index.is_complete(db):
            jobs.add(db, INDEX, "all", app.time())
        with suppress(StoreBusy), db.patience(index.PATIENCE):
            for _ in app.embedders.fill(db) if app.embedders.is_quick(db, few=True) else ():
                pass
            return app.embedders.query_embedder(db)
    if not db.read_only:
        app.notice("another program keeps the database busy: what was written last may not be found yet")
    return app.embedders.query_embedder(db, choose=False)


def search(app: App, allowed: "Filter", limit: int, least: float = 0.0) -> Callable[[str], "RecallResult"]:
    """What finds words in all that is remembered, its indexes brought up to date; damaged ones are reported."""
    from agent_cli.memory.search import recall  # an answer that recalls nothing needs none of it

    embedder = prepare_search(app, app.db)

    def find(query: str) -> "RecallResult":
        found = recall.find(app.db, query, allowed, app.time(), limit, embedder, least=least)
        report_damage(app, app.db, found.damaged)
        return found

    return find


def index_all(app: App, db: Database) -> None:
    """Index many new rows: their words now, their vectors too when they are few; the rest by a job."""
    index.refresh_all(db)
    few = app.embedders.is_quick(db, few=True)
    for _ in app.embedders.fill(db) if few else ():
        pass
    by_job = not few and app.embedders.query_embedder(db) is not None
    if by_job or not index.is_complete(db):
        jobs.add(db, INDEX, "all", app.time())
    if by_job and app.embedders.is_quick(db):
        app.notice(
            "found by words now, by meaning and by parts of words when the index is complete; "
            "`agent index status` shows what is missing"
        )


def sync_documents(
    app: App, db: Database, result: "SyncResult", only: list[str] | None
) -> Iterator[tuple[str, int, int]]:
    """Look at the files again, and index what is new; yields what is done now, and of vectors how many of how many."""
    from agent_cli.memory.documents import documents  # the prompt needs none of it

    for step in documents.sync(db, app.scope.owner, app.time, result, only):
        yield step, 0, 0
    if result.anything:
        index.refresh_all(db)
        for done, total in app.embedders.fill(db) if app.embedders.is_quick(db) else ():
            yield "vectors", done, total
        jobs.add(db, INDEX, "all", app.time())  # merges what was added into the index


def queue_index(app: App, db: Database) -> None:
    """Queue what is missing of the indexes, vectors too, unless it failed lately."""
    now = app.time()
    unfinished = not index.is_complete(db) or app.embedders.can_fill(db)
    if unfinished and not jobs.parked_recently(db, INDEX, "all", now):
        jobs.add(db, INDEX, "all", now)


def after_turn(app: App, db: Database) -> None:
    """Index the messages of a turn; what takes longer is left to a job."""
    index.refresh(db)
    if not app.keeps:
        return
    if app.tool_servers is not None:
        from agent_cli.tools import mcp

        mcp.store_changes(db, app.tool_servers, app.notice)
    if not index.is_complete(db) or word_tables.needs_merge(db) or app.embedders.can_fill(db):
        jobs.add(db, INDEX, "all", app.time())
    finish_erasure(app, db)


def report_damage(app: App, db: Database, damaged: Sequence[str]) -> None:
    """Report each damaged index once, and queue its repair."""
    for name in damaged:
        if name not in app.reported_damage:
            app.reported_damage.add(name)
            app.notice(f"the index of {name} is damaged: search uses the others until it is rebuilt")
            jobs.add(db, REPAIR, name, app.time())
