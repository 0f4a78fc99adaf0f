"""`agent index`: the indexes that search uses. They are derived, and can be rebuilt at any time."""

from typing import Annotated, Literal

import typer

from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson
from agent_cli.cli.progress import ProgressLine
from agent_cli.memory.search import index, vectors, word_tables
from agent_cli.store.db import Database, IndexDamaged

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Show and rebuild what search uses."
)


@app.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what is indexed."""
    app_ = context.obj.app()
    current, next_set = vectors.current(app_.db), vectors.being_filled(app_.db)
    row = {
        "passages": app_.db.value("select count(*) from passage"),
        "waiting": index.count_stale(app_.db),
        "missing trigrams": word_tables.count_without_trigrams(app_.db),
        "embedder": current.identity if current else None,
        "vectors": _count(app_.db, current),
        "missing vectors": vectors.count_missing(app_.db, current) if current else None,
        "next embedder": next_set.identity if next_set else None,
        "next vectors": _count(app_.db, next_set),
    }
    if as_json:
        output.put_json(row)
        return
    for name, value in row.items():
        output.say(f"{name:<16} {value if value is not None else '-'}")


@app.command()
def rebuild(
    context: typer.Context,
    embedder: Annotated[
        Literal["ollama", "openai", "local", "embedded"] | None,
        typer.Option("--embedder", help="Also make new vectors: embedded, or those of the engine."),
    ] = None,
) -> None:
    """Rebuild the indexes. Search by words keeps working while new vectors are made."""
    app_ = context.obj.app()
    with ProgressLine(context.obj.quiet) as line:
        for done, total in index.rebuild(app_.db):
            line.step("words", done, total, "passages")
        if embedder:
            app_.embedders.switch(app_.db, embedder)
        for done, total in app_.embedders.fill(app_.db):
            line.step("vectors", done, total, "passages")
    output.say("the indexes were rebuilt")


def _count(db: Database, vector_set: vectors.VectorSet | None) -> int | None:
    """How many vectors a set has; 0 without a set, None when the index is damaged."""
    try:
        with db.index_access():
            return vectors.count(db, vector_set) if vector_set else 0
    except IndexDamaged:
        return None
