"""`agent search`, `why`, `index` and `docs`: find what is remembered, see why it was recalled, have files read."""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Exit

from agent_cli import clock, kinds
from agent_cli.agent import profile
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation, opened, parse_moment
from agent_cli.cli.options import AsJson, Limit, PeriodUnit, Until, argument, flag, group, noun, option
from agent_cli.errors import Cancelled, UsageError
from agent_cli.memory.documents import documents
from agent_cli.memory.scope import short_path
from agent_cli.memory.search import index, recall, recall_log, vectors, word_tables
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import ids
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.text import clean, counted, one_line

# An enumeration: an option with a Literal cannot be given again and again.
SearchableKind = StrEnum("SearchableKind", {kind.shown: kind.shown for kind in kinds.SEARCHABLE})  # type: ignore[misc]
_NAMES = {kind.shown: kind.name for kind in kinds.SEARCHABLE}

app = group()


@app.command()
def search(
    app_: App,
    words: list[str] | None = argument("The question, or words to find.", None, show_default=False),
    kind: list[SearchableKind] | None = option("--kind", "Only this kind; may be given again."),
    since: str | None = option("--since", "From this day on, as in 2026-11-20."),
    until: Until = None,
    author: str | None = option("--author", "Said by this person."),
    in_this_place: bool = flag("--here", "Only from this project or folder."),
    place: str | None = option("--place", "Only from this project or folder, by its name."),
    unit: PeriodUnit | None = option("--grain", "Only summaries of this length."),
    batch: Path | None = option("--batch", "A file of questions, one a line; prints a JSON object for each."),
    explain: bool = flag("--explain", "What each score is made of."),
    limit: Limit = 10,
    as_json: AsJson = False,
) -> None:
    """Search conversations, notes, summaries, facts and documents.

    The verdict tells whether it is known at all: known when a line holds most of the question, perhaps when one
    holds some of it or is near in meaning, else nothing. Questions never make a thing known; where nothing is, lines
    that hold all the words are shown, your earlier questions too. Without a line it exits with 1, as grep does."""
    if unit and set(kind or ()) - {"summary"}:
        raise UsageError("--grain finds summaries: leave out --kind, or say --kind summary alone")
    now = app_.time()
    wanted = tuple(_NAMES[each.value] for each in kind or ())
    begins, ends = parse_moment(since, now), parse_moment(until, now, timedelta())
    allowed = Filter(
        app_.scope.owner,
        wanted or (("summary",) if unit else ()),
        unit=unit,
        place=app_.scope.place if in_this_place else place,
        author=author,
        current_place=app_.scope.place,
        fact_half_life=app_.fact_half_life,
        since=begins.timestamp() if begins else None,
        until=ends.timestamp() if ends else None,
    )
    if (batch is None) == (not words):
        raise UsageError("say what to find, or name a file of questions with --batch")
    find = upkeep.search(app_, allowed, limit, 0.0 if as_json or batch else recall.LEAST)
    if batch:
        with opened(batch) as questions:
            for question in (line.rstrip("\n") for line in questions if line.strip()):
                output.put_json_line({"query": question, **_as_json(find(question), explain)})
        return
    query = " ".join(words or ())
    found, shown = find(query), list[recall.Hit]()
    if as_json:
        output.put_json({"query": query, **_as_json(found, explain)})
    else:
        shown = recall.to_show(app_.db, query, found, allowed, now, limit)
        if found.verdict == "nothing":
            output.note("nothing states it, but these lines mention it:" if shown else "nothing is known of it")
        _print(app_, query, shown, explain)
        if found.verdict == "maybe":
            output.note("perhaps: no line holds most of the question")
    if found.verdict == "nothing" and not shown:
        raise Exit(1)


def _print(app_: App, query: str, hits: Sequence[recall.Hit], explain: bool) -> None:
    display = output.look()
    if hits and display and not explain:
        from agent_cli.repl import pages  # a pipe needs none of it

        print(pages.hits_page(app_.db, app_.scope.owner, query, hits, display))
        return
    for hit in hits:
        shown = one_line(f"{hit.label} {hit.text}".strip(), 160)
        output.say(f"{hit.handle:<6} {clock.from_timestamp(hit.at):%Y-%m-%d}  {shown}")
        if explain:
            legs = " + ".join(f"{name} {share:.3f}" for name, share in hit.legs.items())
            output.say(f"       {hit.score:.3f} = {legs}")


def _as_json(found: recall.RecallResult, explain: bool) -> dict[str, Any]:
    return {"verdict": found.verdict, "hits": [_hit(hit, explain) for hit in found.hits]}


def _hit(hit: recall.Hit, explain: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kinds.BY_NAME[hit.kind].shown, "id": hit.handle, "external_id": hit.external_id}
    row |= {"session": f"s{hit.session}" if hit.session else None, "at": clock.utc(clock.from_timestamp(hit.at))}
    row |= {"score": round(hit.score, 6), "text": hit.text}
    if hit.path:
        row |= {"path": hit.path, "line": hit.line, "page": hit.page}
    elif hit.label:
        row["label"] = hit.label
    return {**row, "legs": dict(hit.legs)} if explain else row


why_app = group()


@why_app.command()
def why(
    app_: App,
    words: list[str] | None = argument(
        "The message, as in m12; without it your last one. Or words to ask.", None, metavar="[MESSAGE|WORDS]"
    ),
    scores: bool = flag("--score", "Also what each score is made of."),
    as_json: AsJson = False,
) -> None:
    """Show what was recalled for a question, and why; of words, what memory would add to them."""
    asked = " ".join(words or ())
    if asked and not recall_log.is_handle(asked):
        from agent_cli.app import turns  # no other search needs it

        with turns.recall_preview(app_, None, asked) as message:
            print(_why(app_, scores, as_json, message))
    else:
        print(_why(app_, scores, as_json, recall_log.message_id(app_.db, app_.scope.owner, asked or None)))


def _why(app_: App, scores: bool, as_json: bool, message: int) -> str:
    always = profile.shown_with(app_.db, app_.scope, message, app_.time(), app_.profile_tokens)
    if as_json:
        recalled = [
            {"id": each.handle, "kind": each.kind, "score": each.score, "legs": each.legs, "text": each.text}
            for each in recall_log.recalled_for(app_.db, message)
        ]
        shown = [{"id": each.handle, "kind": "fact", "always": True, "text": each.statement} for each in always]
        return output.as_json_text([*recalled, *shown])
    display = output.look()
    if display is None:
        page = clean(recall_log.explain(app_.db, message))
    else:
        from agent_cli.repl import pages  # a pipe needs none of it

        page = pages.why_page(app_.db, app_.scope.owner, message, display, scores=scores)
    return "\n".join([page, *([profile.always_told(always, app_.time())] if always else [])])


index_app = noun("Show and rebuild what search uses.")


@index_app.command()
def status(app_: App, as_json: AsJson = False) -> None:
    """Show what is indexed."""
    current, next_set = vectors.current(app_.db), vectors.being_filled(app_.db)
    row = {
        "passages": app_.db.value("select count(*) from passage"),
        "waiting": index.count_stale(app_.db),
        "missing trigrams": word_tables.count_without_trigrams(app_.db),
        "embedder": current.identity if current else None,
        "vectors": _count_vectors(app_.db, current),
        "missing vectors": vectors.count_missing(app_.db, current) if current else None,
        "next embedder": next_set.identity if next_set else None,
        "next vectors": _count_vectors(app_.db, next_set),
    }
    if as_json:
        output.put_json(row)
    else:
        output.fields(((name, "-" if value is None else value) for name, value in row.items()), 16)


@index_app.command()
def rebuild(
    invocation: Invocation,
    embedder: Literal["ollama", "openai", "local", "embedded"] | None = option(
        "--embedder", "Also make new vectors: embedded, or those of the engine."
    ),
) -> None:
    """Rebuild the indexes. Search by words keeps working while new vectors are made."""
    app_ = invocation.app()
    with output.ProgressLine(invocation.quiet) as line:
        for done, total in index.rebuild(app_.db):
            line.step("words", done, total, "passages")
        if embedder:
            app_.embedders.switch(app_.db, embedder)
        for done, total in app_.embedders.fill(app_.db):
            line.step("vectors", done, total, "passages")
    output.say("the indexes were rebuilt")


def _count_vectors(db: Database, vector_set: vectors.VectorSet | None) -> int | None:
    """How many vectors a set has; 0 without a set, None when the index is damaged."""
    try:
        with db.index_access():
            return vectors.count(db, vector_set) if vector_set else 0
    except IndexDamaged:
        return None


docs_app = noun("Read files, so that their content can be found: text, Markdown, HTML, PDF, source code.")

_NO_DOCS = "there are no documents; `agent docs add PATH` reads a file or a folder"
_EXCERPT = 300  # characters shown of a neighbouring section

Paths = Annotated[list[str], Argument(metavar="PATH|GLOB…", help="Files, folders, or globs such as 'notes/**/*.md'.")]


@docs_app.command(decides=True)
def add(invocation: Invocation, paths: Paths, as_json: AsJson = False) -> None:
    """Have files, folders or globs read, now and whenever they change. The files stay where they are.

    In a folder everything is read except hidden files and folders, node_modules, __pycache__, environments of Python,
    caches marked by a CACHEDIR.TAG, and links that lead out of the folder. A .gitignore is not considered: files that
    it names are read too, unless you remove them (agent docs rm). Files of more than 20 MB and files that are not
    text are listed with the reason (agent docs list --failed), as are files that take more than two minutes or
    1,000 MB of memory. Text that you erased stays out (agent forget). PDF needs: pip install 'agent-cli[documents]'
    """
    app_ = invocation.app()
    patterns = [documents.existing(path, os.getcwd()) for path in paths]
    for pattern in patterns:
        documents.add(app_.db, app_.scope, pattern, app_.time)
    _sync(invocation, app_, patterns, as_json)


@docs_app.command()
def sync(invocation: Invocation, as_json: AsJson = False) -> None:
    """Check all files again for new, changed, moved and deleted ones. After Ctrl-C the next sync continues there."""
    app_ = invocation.app()
    if not documents.collections(app_.db, app_.scope.owner):
        raise UsageError(_NO_DOCS)
    _sync(invocation, app_, None, as_json)


@docs_app.command("list")
def list_docs(
    app_: App,
    as_json: AsJson = False,
    files: bool = flag("--files", "Every file."),
    failed: bool = flag("--failed", "Files that could not be read, and why."),
) -> None:
    """List what was added, with how many files and sections it has."""
    owner = app_.scope.owner
    if files or failed:
        columns = "path error" if failed else "first sections path error"
        found, none = documents.files(app_.db, owner, failed=failed), "every file could be read"

        def shown(row: dict[str, Any]) -> list[Any]:
            return [short_path(row[name]) if name == "path" else row.get(name) for name in columns.split()]

        output.listing(found, as_json, dict, columns, shown, none if failed else _NO_DOCS)
    else:
        output.listing(documents.listing(app_.db, owner), as_json, dict, "pattern details", _collection, _NO_DOCS)


def _collection(row: dict[str, Any]) -> tuple[str, str]:
    parts = [counted(row["files"], "file"), counted(row["sections"], "section")]
    parts += [f"{row['failed']} not readable"] if row["failed"] else []
    parts += [f"{row['left_out']} taken out"] if row["left_out"] else []
    at = row["synced_at"]
    parts.append(f"looked at {datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}" if at else "not read yet")
    return short_path(row["pattern"]), ", ".join(parts)


@docs_app.command()
def show(app_: App, handle: str = argument("As in d12."), as_json: AsJson = False) -> None:
    """Show a section with its file and line, and its neighbours."""
    section = documents.get(app_.db, ids.number("section", handle), app_.scope.owner)
    around = documents.neighbours(app_.db, section)
    if as_json:
        output.put_json({**section.describe(), "around": [each.describe() for each in around if each.id != section.id]})
        return
    output.say(f"{section.handle}  {section.where}{f'  {section.heading}' if section.heading else ''}")
    output.lines(f"\n{each.text if each.id == section.id else _excerpt(each, section)}" for each in around)


def _excerpt(section: documents.Section, shown: documents.Section) -> str:
    """The end of a section before the shown one, or the beginning of one after it."""
    cut = section.text
    if len(cut) > _EXCERPT:
        cut = f"… {cut[-_EXCERPT:]}" if section.position < shown.position else f"{cut[:_EXCERPT]} …"
    return f"({section.handle}, line {section.line}) {cut}"


@docs_app.command(decides=True)
def rm(app_: App, paths: Paths) -> None:
    """Take files out of memory, at once. The files themselves stay; `add` takes them in again."""
    for path in paths:
        pattern = documents.absolute(path, os.getcwd())
        output.say(documents.remove(app_.db, app_.scope.owner, pattern, app_.time))


def _sync(invocation: Invocation, app_: App, only: list[str] | None, as_json: bool) -> None:
    tally = documents.SyncResult()
    try:
        with output.ProgressLine(invocation.quiet) as line:
            for what, done, total in upkeep.sync_documents(app_, app_.db, tally, only):
                line.step(what, done, total, "sections") if total else line.show(what)
    except KeyboardInterrupt:
        raise Cancelled(f"stopped; {tally.sentence()} so far, and `agent docs sync` goes on from there") from None
    for notice in tally.warnings:
        output.note(notice)
    if as_json:
        output.put_json(tally.describe())
    else:
        output.say(tally.sentence())
