"""`agent search`: one ranked list of everything that is remembered."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_cli import clock, kinds
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, LimitOption, PeriodUnit, parse_moment
from agent_cli.errors import UsageError
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.search.recall import Hit, RecallResult
from agent_cli.text import one_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


# An enumeration: an option with a Literal cannot be given again and again.
SearchableKind = StrEnum("SearchableKind", {kind.shown: kind.shown for kind in kinds.SEARCHABLE})  # type: ignore[misc]
_NAMES = {kind.shown: kind.name for kind in kinds.SEARCHABLE}


@app.command()
def search(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(help="The question, or words to find.", show_default=False)
    ] = None,
    kind: Annotated[
        list[SearchableKind] | None, typer.Option("--kind", help="Only this kind; may be given again.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="From this day on, as in 2026-11-20.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Up to and including this day.")] = None,
    min_days: Annotated[int | None, typer.Option("--min-days-ago", min=0, help="At least this many days ago.")] = None,
    max_days: Annotated[int | None, typer.Option("--max-days-ago", min=0, help="At most this many days ago.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Said by this person.")] = None,
    in_this_place: Annotated[bool, typer.Option("--here", help="Only from this project or folder.")] = False,
    place: Annotated[str | None, typer.Option("--place", help="Only from this project or folder, by its name.")] = None,
    unit: Annotated[PeriodUnit | None, typer.Option("--grain", help="Only summaries of this length.")] = None,
    batch: Annotated[
        Path | None, typer.Option("--batch", help="A file of questions, one a line; prints a JSON object for each.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="What each score is made of.")] = False,
    limit: LimitOption = 10,
    as_json: AsJson = False,
) -> None:
    """Search conversations, notes, summaries, facts and documents.

    The verdict tells whether it is known at all: known when a line holds most of the question, perhaps when one
    holds some of it or is near in meaning, else nothing: then it exits with 1, as grep does. Questions never make a
    thing known; where nothing is, lines that hold all the words are shown, your earlier questions too."""
    if unit and set(kind or ()) - {"summary"}:
        raise UsageError("--grain finds summaries: leave out --kind, or say --kind summary alone")
    app_: App = context.obj.app()
    now = app_.time()
    wanted = tuple(_NAMES[each.value] for each in kind or ())
    allowed = Filter(
        app_.scope.owner,
        wanted or (("summary",) if unit else ()),
        unit=unit,
        place=app_.scope.place if in_this_place else place,
        author=author,
        current_place=app_.scope.place,
        since=_latest(_timestamp(since, now), max_days, now),
        until=_earliest(_timestamp(until, now, timedelta()), min_days, now),
    )
    if (batch is None) == (not words):
        raise UsageError("say what to find, or name a file of questions with --batch")
    embedder = upkeep.prepare_search(app_, app_.db)

    def find(query: str) -> RecallResult:
        found = recall.find(app_.db, query, allowed, now, limit, embedder)
        upkeep.report_damage(app_, app_.db, found.damaged)
        return found

    if batch:
        for question in _questions(batch):
            output.put_json_line({"query": question, **_as_json(find(question), explain)})
        return
    query = " ".join(words or ())
    found = find(query)
    if as_json:
        output.put_json({"query": query, **_as_json(found, explain)})
    elif found.verdict == "nothing":
        mentions = recall.mentions(app_.db, query, allowed, now, limit)
        output.note(f"nothing is known of it{', only that it was mentioned:' if mentions else ''}")
        _print(app_, query, mentions, explain)
    else:
        _print(app_, query, found.hits, explain)
        if found.verdict == "maybe":
            output.note("perhaps: no line holds most of the question")
    if found.verdict == "nothing":
        raise typer.Exit(1)


def _print(app_: App, query: str, hits: Sequence[Hit], explain: bool) -> None:
    display = output.look(sys.stdout)
    if hits and display and not explain:
        from agent_cli.repl.pages import memories  # a pipe needs none of it

        print(memories.hits_page(app_.db, app_.scope.owner, query, hits, display))
    else:
        _print_lines(hits, explain)


def _print_lines(hits: Sequence[Hit], explain: bool) -> None:
    for hit in hits:
        shown = one_line(f"{hit.label} {hit.text}".strip(), 160)
        output.say(f"{hit.handle:<6} {clock.from_timestamp(hit.at):%Y-%m-%d}  {shown}")
        if explain:
            legs = " + ".join(f"{name} {share:.3f}" for name, share in hit.legs.items())
            output.say(f"       {hit.score:.3f} = {legs}")


def _as_json(found: RecallResult, explain: bool) -> dict[str, Any]:
    return {"verdict": found.verdict, "hits": [_hit(hit, explain) for hit in found.hits]}


def _hit(hit: Hit, explain: bool) -> dict[str, Any]:
    row = {
        "kind": kinds.BY_NAME[hit.kind].shown,
        "id": hit.handle,
        "external_id": hit.external_id,
        "session": f"s{hit.session}" if hit.session else None,
        "at": clock.utc(clock.from_timestamp(hit.at)),
        "score": round(hit.score, 6),
        "text": hit.text,
    }
    if hit.path:
        row |= {"path": hit.path, "line": hit.line, "page": hit.page}
    elif hit.label:
        row["label"] = hit.label
    return {**row, "legs": dict(hit.legs)} if explain else row


def _questions(file: Path) -> Iterator[str]:
    try:
        with sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace") as lines:
            yield from (line.rstrip("\n") for line in _non_empty(lines))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


def _non_empty(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())


def _timestamp(text: str | None, now: datetime, before_day_end: timedelta | None = None) -> float | None:
    """Seconds since the epoch. Raises UsageError."""
    return None if text is None else parse_moment(text, now, before_day_end).timestamp()


def _latest(since: float | None, max_days: int | None, now: datetime) -> float | None:
    ago = None if max_days is None else (now - timedelta(days=max_days)).timestamp()
    return max((each for each in (since, ago) if each is not None), default=None)


def _earliest(until: float | None, min_days: int | None, now: datetime) -> float | None:
    ago = None if min_days is None else (now - timedelta(days=min_days)).timestamp()
    return min((each for each in (until, ago) if each is not None), default=None)
