"""`agent facts`: what is known about you."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent_cli import limits
from agent_cli.agent import profile as fact_profile
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, forget, output, review
from agent_cli.cli.invocation import AsJson, Decision, LimitOption, Noun, parse_moment
from agent_cli.errors import AgentError, NobodyAsked, UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.entities import graph
from agent_cli.memory.facts import adoption, fact_files, fact_tests, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import SUPERSEDED, Fact
from agent_cli.memory.language import secrets
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.review import review as queue
from agent_cli.memory.review.review import ENDS, visible_line
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.search.recall import RecallResult
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.terminal import edited
from agent_cli.text import counted

app = typer.Typer(cls=Noun, add_completion=False, rich_markup_mode=None, help="What is known about you.")

FactHandle = Annotated[str, typer.Argument(help="The fact's handle, as in f12.")]
FactHandles = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Handles, as in f12.")]
DecideAll = Annotated[bool, typer.Option("--all", help="All that wait for your yes; needs --yes.")]
ConfirmRead = Annotated[bool, typer.Option("--yes", help="Confirm that you have read them.")]

_UNCHANGED = "nothing was changed"


class StateOption(StrEnum):
    pending = "pending"
    accepted = "accepted"
    rejected = "rejected"
    superseded = "superseded"
    expired = "expired"


class Switch(StrEnum):
    on = "on"
    off = "off"


@app.command("list")
def list_(
    context: typer.Context,
    limit: LimitOption = 50,
    as_json: AsJson = False,
    every: Annotated[bool, typer.Option("--all", help="In every state.")] = False,
    state: Annotated[StateOption | None, typer.Option("--state", help="Those in this state.")] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")] = False,
    in_this_place: Annotated[bool, typer.Option("--here", help="Those that hold in this project or folder.")] = False,
    as_of: Annotated[
        str | None, typer.Option("--on", "--as-of", help="What was, is or will be true on this day, as in 2026-03-01.")
    ] = None,
) -> None:
    """List what is true now, the latest first, and what is planned.

    A planned fact is shown with the day on which it begins.
    """
    app_: App = context.obj.app()
    if as_of and (every or state):
        raise UsageError("--on shows what was true then; leave out --all and --state")
    states = tuple(StateOption) if every or (hidden and not state) else (state or StateOption.accepted,)
    rows = facts.listing(
        app_.db,
        app_.scope.owner,
        limit,
        states=states,
        hidden=hidden,
        place=app_.scope.place if in_this_place else None,
        as_of=parse_moment(as_of, app_.time(), timedelta(seconds=1)) if as_of else None,
        not_over=None if every or state or as_of else app_.time(),
    )
    limited = every or state or hidden or in_this_place or as_of
    empty = "there are no such facts" if limited else 'there are no facts; `agent facts add "…"` keeps one'
    _table(rows, as_json, app_.time(), empty, marks=not as_of)


@app.command()
def show(context: typer.Context, handle: FactHandle, as_json: AsJson = False) -> None:
    """Show a fact with where it comes from and what it replaced."""
    app_, fact = _find(context, handle)
    sources = [(ids.handle("message", message), quote) for message, quote in facts.sources(app_.db, fact)]
    former, latter = adoption.replaced(app_.db, fact), adoption.replaced_by(app_.db, fact)
    if as_json:
        output.put_json(
            fact.describe()
            | {
                "sources": [{"message": message, "quote": quote} for message, quote in sources],
                "replaced": [each.handle for each in former],
                "replaced_by": [each.handle for each in latter],
            }
        )
        return
    output.say(f"{fact.handle}  {fact.statement}")
    for name, value in _detail_rows(fact, sources, former, latter, app_.time()):
        output.say(f"  {name:<12} {value}")


def _detail_rows(
    fact: Fact, sources: list[tuple[str, str]], former: list[Fact], latter: list[Fact], now: datetime
) -> list[tuple[str, str]]:
    """The details of a fact, as names and values."""
    decided = f" on {fact.local_day(fact.decided_at)}" if fact.decided_at else ""
    rows = [("triple", f"{fact.subject} {fact.predicate} {fact.object}")] if fact.predicate else []
    rows.append(("state", f"{fact.state}{decided}{', hidden' if fact.hidden_at else ''}"))
    until = f" until {fact.local_day(fact.valid_to)}" if fact.valid_to else ""
    planned = "planned, " if fact.is_planned(now) else ""
    rows.append(("true", f"{planned}{'from' if planned else 'since'} {fact.day}{until}"))
    rows.append(("place", _place(fact) or "everywhere"))
    rows.append(("origin", f"{fact.origin}{f', made from {fact.trust}' if fact.trust != fact.origin else ''}"))
    if fact.inferred:
        rows.append(("", "inferred: its quote is not literally yours"))
    rows += [("source", f"{message} “{quote}”" if quote else message) for message, quote in sources]
    if fact.target_id and not former:
        rows.append(("would end", ids.handle("fact", fact.target_id)))
    rows += [("replaced", _short(each)) for each in former]
    rows += [("replaced by", _short(each)) for each in latter]
    return rows


@app.command()
def add(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(help="What is true; without words it is read from standard input.")
    ] = None,
    in_this_place: Annotated[bool, typer.Option("--here", help="True in this project or folder alone.")] = False,
    session: Annotated[str | None, typer.Option("--session", help="True in this session alone.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Since this day, as in 2026-03-01.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Up to and including this day.")] = None,
) -> None:
    """Say what is true, and confirm it with a key. What comes through a pipe waits, and so do words without a terminal.

    Dates in the words count: "since 2020", "until December", "I moved to Linz in June 2025". What begins in the future
    is planned, and true from that day on. "I no longer live in Wels" ends the fact that you live in Wels."""
    app_: App = context.obj.app()
    now, owner = app_.time(), app_.scope.owner
    properties: dict[str, Any] = {
        "place": app_.scope.place if in_this_place else "",
        "session": sessions.resolve(app_.db, session, owner).id if session else None,
        "valid_from": parse_moment(since, now) if since else None,
        "valid_to": parse_moment(until, now, timedelta(milliseconds=1)) if until else None,
    }
    if since and until and properties["valid_to"] < properties["valid_from"]:
        raise UsageError("it ends before it begins: --until is before --since")
    if words:
        _add(app_, " ".join(words), properties)
    elif sys.stdin.isatty():
        with edited("", app_.config.editor) as typed:
            _add(app_, typed, properties)
    else:
        _queue(app_, sys.stdin.buffer.read().decode("utf-8", "replace"), properties)


def _claim(words: str, origin: Origin, properties: dict[str, Any]) -> Claim:
    return adoption.claim(words, origin, **properties)


def _add(app_: App, words: str, properties: dict[str, Any]) -> None:
    """Keep the statement after a yes, or propose it where nobody can be asked. Raises NobodyAsked once it waits."""
    try:
        consent.obtain(app_, f"keep “{words.strip()}”?", "nothing was kept")
    except NobodyAsked as error:
        _queue(app_, words, properties)
        raise NobodyAsked(f"nothing counts yet: {consent.NO_TERMINAL}") from error
    adopted = adoption.add(app_.memory, _claim(words, "typed", properties))
    output.say(_receipt(adopted, app_.time()))
    _note_masked(adopted.fact, words)


def _queue(app_: App, piped: str, properties: dict[str, Any]) -> None:
    """Propose each line as a fact."""
    lines = [line for line in secrets.mask(piped).splitlines() if line.strip()]  # a key may be of several lines
    claims = [_claim(line, "piped", properties) for line in lines or [""]]
    with app_.db.write():
        queued = [adoption.propose(app_.memory, each, actor="person") for each in claims]
    for fact, claim in zip(queued, claims, strict=True):
        if fact:
            output.say(f"{_short(fact)} waits for your yes (agent facts approve {fact.handle})")
        else:
            output.say(f"nothing new in “{claim.statement}”: it is known, waits already, or was rejected or forgotten")


@app.command(cls=Decision)
def approve(
    context: typer.Context, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False
) -> None:
    """Accept facts that wait for your yes. Facts that they contradict end on their date."""
    app_: App = context.obj.app()
    waiting, memory = _chosen(context, handles, every, yes), app_.memory.in_one_batch()
    shown = [line for each in waiting for line in _proposal_lines(app_, each)]
    consent.obtain(app_, _question("accept", shown, len(waiting)), "nothing was accepted")
    with app_.db.write():
        done = [adoption.accept(memory, each) for each in waiting]
    for adopted in done:
        output.say(_receipt(adopted, app_.time(), "accepted"))


@app.command(cls=Decision)
def reject(
    context: typer.Context, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False
) -> None:
    """Reject facts that wait for your yes: they are not proposed again."""
    app_: App = context.obj.app()
    waiting, memory = _chosen(context, handles, every, yes), app_.memory.in_one_batch()
    with app_.db.write():
        done = [facts.reject(memory, each) for each in waiting]
    for fact in done:
        output.say(f"rejected {_short(fact)}")


def _question(verb: str, shown: list[str], count: int, after: str = "") -> str:
    """What is asked before it is done to so many facts, which the lines show whole."""
    return "\n".join([*shown, f"{verb} {'it' if count == 1 else 'them'}{after}?"])


def _proposal_lines(app_: App, fact: Fact) -> Iterator[str]:
    """All of what a yes accepts, what was read before it, and what it ends."""
    yield f"{fact.handle} “{visible_line(fact.statement)}”"
    if proposal := queue.read(app_.memory, ("fact", fact.id)):
        if proposal.read:
            yield f"  proposed after reading {proposal.read}"
        for each in proposal.known:
            if each.outcome == ENDS:
                yield f"  ends {each.handle} “{each.statement}”"


def _chosen(context: typer.Context, handles: list[str] | None, every: bool, yes: bool) -> list[Fact]:
    app_: App = context.obj.app()
    if every and not yes:
        raise UsageError("--all decides on everything without a review: say --yes as well, or name handles")
    if every == bool(handles):
        raise UsageError("name facts by their handles, as in f12, or say --all --yes")
    if every:
        return facts.pending(app_.db, app_.scope.owner)
    return [_find(context, handle)[1] for handle in dict.fromkeys(handles or ())]


@app.command(cls=Decision)
def rm(context: typer.Context, handles: list[str]) -> None:
    """Hide facts; `restore` brings them back, `agent forget` erases."""
    app_: App = context.obj.app()
    chosen = [_find(context, handle)[1] for handle in dict.fromkeys(handles)]
    for fact in chosen:
        if fact.hidden_at:
            raise UsageError(f"{fact.handle} is hidden already")
    memory = app_.memory.in_one_batch()
    with app_.db.write():
        for fact in chosen:
            facts.hide(memory, fact)
    for fact in chosen:
        output.say(f"hidden {_short(fact)} (agent facts restore {fact.handle})")


@app.command()
def profile(context: typer.Context) -> None:
    """Show what every session is told of you, word for word."""
    app_: App = context.obj.app()
    output.say(fact_profile.describe(app_.db, app_.scope, None, app_.time(), app_.profile_tokens))


@app.command(cls=Decision)
def always(context: typer.Context, handle: FactHandle) -> None:
    """Tell a fact in every session."""
    _tell(context, handle, fact_profile.ALWAYS, "is told in every session")


@app.command(cls=Decision)
def never(context: typer.Context, handle: FactHandle) -> None:
    """Tell a fact only where a question calls for it."""
    _tell(context, handle, fact_profile.NEVER, "is told only where a question calls for it")


def _tell(context: typer.Context, handle: str, decision: str, outcome: str) -> None:
    app_, fact = _find(context, handle)
    adoption.set_in_profile(app_.memory, fact, decision)
    output.say(f"{_short(fact)} {outcome} (agent facts undo {fact.handle})")


@app.command(cls=Decision)
def restore(context: typer.Context, handles: list[str]) -> None:
    """Bring hidden facts back."""
    app_: App = context.obj.app()
    chosen = [_find(context, handle)[1] for handle in dict.fromkeys(handles)]
    for fact in chosen:
        if fact.hidden_at is None:
            raise UsageError(f"{fact.handle} is not hidden")
    shown = [f"{each.handle} “{visible_line(each.statement)}”" for each in chosen]
    consent.obtain(app_, _question("restore", shown, len(chosen)), "nothing was restored")
    memory = app_.memory.in_one_batch()
    with app_.db.write():
        back = [adoption.restore(memory, each) for each in chosen]
    for fact in back:
        ended = f"; it was true until {fact.local_day(fact.valid_to)}" if fact.valid_to else ""
        output.say(f"restored {_short(fact)}{ended}")


@app.command()
def history(context: typer.Context, handle: FactHandle, limit: LimitOption = 50, as_json: AsJson = False) -> None:
    """Show what was done to a fact, the latest first."""
    app_, fact = _find(context, handle)
    changes = facts.history(app_.db, fact.id)[::-1][:limit]
    rows = [
        {
            "at": each.at,
            "day": f"{fact.local_day(each.at)}",
            "change": each.change + (" (undone)" * each.undone),
            "actor": each.actor,
            "was": f"“{each.was['statement']}”, {each.was['state']}" if each.was else "",
        }
        for each in changes
    ]
    if as_json:
        output.put_json(
            [
                {
                    "change": each.change,
                    "statement": each.was.get("statement", ""),
                    "state": each.was.get("state", ""),
                    "actor": each.actor,
                    "undone": each.undone,
                    "at": each.at,
                }
                for each in changes
            ]
        )
        return
    output.listing(rows, ("day", "change", "actor", "was"), as_json=False, empty="")
    output.say(f"now: {_short(fact)}, {fact.state}{', hidden' if fact.hidden_at else ''}")


@app.command(cls=Decision)
def undo(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(help="A fact's handle; without it: what was changed last.")] = None,
) -> None:
    """Take back your last change, with everything that it changed."""
    app_: App = context.obj.app()
    fact = _find(context, handle)[1] if handle else None
    decided = "" if fact else queue.last_batch(app_.memory)
    batch = decided or facts.last_batch(app_.db, app_.scope.owner, fact)
    shown = queue.changes(app_.memory, batch)
    consent.obtain(app_, _question("take", shown, len(shown), " back"), "nothing was taken back")
    if decided:
        for line in queue.undo_batch(app_.memory, decided):
            output.say(f"taken back: {line}")
        return
    undone = {each.id: each for each in facts.undo_batch(app_.memory, batch)}  # its last state
    for each in undone.values():
        output.say(adoption.undone_receipt(each))


@app.command()
def search(context: typer.Context, words: list[str], limit: LimitOption = 20, as_json: AsJson = False) -> None:
    """Find facts by their words and meaning, the best first."""
    app_: App = context.obj.app()
    embedder = upkeep.prepare_search(app_, app_.db)
    owner = app_.scope.owner
    hits = recall.find(app_.db, " ".join(words), Filter(owner, ("fact",)), app_.time(), limit, embedder)
    upkeep.report_damage(app_, app_.db, hits.damaged)
    found = facts.many(app_.db, [hit.id for hit in hits.hits], owner)
    _table(found, as_json, app_.time(), "no fact has these words")


@app.command("graph")
def graph_(
    context: typer.Context,
    entity: Annotated[list[str] | None, typer.Argument(help="A name; without it: you.")] = None,
    depth: Annotated[int, typer.Option("--depth", min=1, max=9, help="Steps from it.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Show who has to do with whom, as a tree."""
    app_: App = context.obj.app()
    name = " ".join(entity) if entity else None
    lines = graph.outline(app_.db, app_.scope.owner, name, depth)
    if as_json:
        output.put_json([{"depth": level, "line": line} for level, line in lines])
        return
    output.tree(lines)
    if not lines:
        output.note_empty(f"no fact names a relation of {name}" if name else "no fact names a relation")
    if not (name and lines) and (left_out := graph.outside(app_.db, app_.scope.owner)):
        output.note(f"without a relation, so not in the graph: {counted(left_out, 'fact')} (agent facts list)")


app.command()(review.review)
app.command("forget", cls=Decision)(forget.command)


@app.command(cls=Decision)
def edit(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(help="The fact's handle; without it: all facts as one file.")] = None,
    words: Annotated[list[str] | None, typer.Argument(help="Its new words; without them in your editor.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="It is true since this day, as in 2026-03-01.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="It is true up to and including this day.")] = None,
) -> None:
    """Change a fact or its dates, or all facts in your editor."""
    app_: App = context.obj.app()
    if since or until:
        _redate(context, handle, words, since, until)
        return
    if handle is None:
        _edit_all(app_)
        return
    fact = _find(context, handle)[1]
    if words:
        _edit_one(app_, fact, " ".join(words))
        return
    with edited(fact.statement, app_.config.editor) as typed:
        _edit_one(app_, fact, typed)


def _redate(
    context: typer.Context, handle: str | None, words: list[str] | None, since: str | None, until: str | None
) -> None:
    if handle is None or words:
        raise UsageError(
            "--since and --until change the dates of one fact, as in: agent facts edit f1 --since 2026-03-01"
        )
    app_, fact = _find(context, handle)
    now = app_.time()
    begins = parse_moment(since, now) if since else None
    ends = parse_moment(until, now, timedelta(milliseconds=1)) if until else None
    consent.obtain(app_, f"{_short(fact)}\nchange its dates?", _UNCHANGED)
    changed = adoption.redate(app_.memory, fact, begins, ends)
    output.say(f"changed {_short(fact)}, {adoption.format_dates(changed, now)}")


def _edit_one(app_: App, fact: Fact, words: str) -> None:
    if words.strip() == fact.statement.strip():
        output.note(f"{fact.handle} was left as it is")
        return
    consent.obtain(app_, f"{_short(fact)}\nto “{words.strip()}”\nchange it?", _UNCHANGED)
    changed = adoption.edit(app_.memory, fact, words)
    output.say(f"changed {_short(changed)}")


def _edit_all(app_: App) -> None:
    """Open all current facts as one file in the editor, and apply the changes."""
    opened = facts.listing(app_.db, app_.scope.owner, -1, not_over=app_.time())
    with edited(fact_files.render(opened), app_.config.editor) as typed:
        changes = fact_files.read(opened, typed)
        if not changes:
            output.note("nothing was changed")
            return
        consent.obtain(app_, f"save {counted(len(changes), 'changed line')}?", _UNCHANGED)
        applied = fact_files.apply(app_.memory, changes)
    for fact in applied.edited:
        output.say(f"changed {_short(fact)}")
    for fact in applied.hidden:
        output.say(f"hidden {_short(fact)}")
    for adopted in applied.added:
        output.say(_receipt(adopted, app_.time()))
    output.note("`agent facts undo` takes all of it back")


@app.command()
def scripts(
    context: typer.Context,
    switch: Annotated[Switch | None, typer.Argument(help="Without it: what is set now.", show_default=False)] = None,
) -> None:
    """Let your own scripts decide without asking you. Off unless you set it.

    They then accept, change and erase what is remembered.
    What it gives up: every program that runs as you can then say yes in your place. Only what the assistant itself has
    started stays refused. It is set at a terminal alone, and holds for this database.
    """
    app = context.obj.app()
    if switch:
        consent.set_unattended(app, switch == Switch.on)
    if consent.is_unattended(app):
        output.say(f"on: {consent.PRICE} (`agent facts scripts off`)")
    else:
        output.say("off: each yes takes a key at a terminal")


@app.command()
def export(
    context: typer.Context,
    format: Annotated[
        Literal["jsonl", "md"], typer.Option("--format", help="jsonl can be imported again; md for other agents.")
    ] = "jsonl",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder to write to; by default md goes here, jsonl is printed."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="jsonl: also what was true before.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that another program wrote.")] = False,
) -> None:
    """Write what is true now as JSON lines or Markdown."""
    app_: App = context.obj.app()
    if every and format == "md":
        raise UsageError("MEMORY.md and USER.md hold what is true now; --all is for --format jsonl")
    states, now = (ACCEPTED, SUPERSEDED) if every else (ACCEPTED,), app_.time()
    found = facts.listing(app_.db, app_.scope.owner, -1, states=states)
    exported = [each for each in found if each.is_open(now) or (every and each.valid_to)]
    if format == "md":
        files = fact_files.documents(exported)
    else:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in fact_files.json_rows(app_.db, exported))
        if out is None:
            sys.stdout.write(lines)
            return
        files = {"facts.jsonl": lines}
    for path in fact_files.write_files((out or Path()).expanduser(), files, force=force):
        output.say(f"wrote {path}")
    session_only = sum(each.session_id is not None for each in exported)
    if session_only:
        output.note(
            f"{counted(session_only, 'fact of one session alone stays', 'facts of one session alone stay')} out"
        )


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines: statement, and source (a message's id), at, since, until, subject, predicate, object, "
            "place where they are known; - is standard input."
        ),
    ],
    source: Annotated[str, typer.Option("--source", help="Where the messages were imported from.")] = "import",
    accept: Annotated[bool, typer.Option("--accept", help="Accept them all; needs --yes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm that you have read them.")] = False,
) -> None:
    """Read facts from JSON lines, into the queue unless accepted."""
    if accept and not yes:
        raise UsageError("--accept accepts every line without a review: say --yes as well, or leave it out")
    app_: App = context.obj.app()
    if accept:
        what = "what is on standard input" if file == Path("-") else str(file)
        consent.obtain(app_, f"take every line of {what} as true, without a review?", "nothing was imported")
    state = "accepted" if accept else "pending"
    try:
        with sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace") as opened:
            new, broken = fact_files.import_lines(
                app_.memory, limits.lines(opened), source, output.first_notes(), accepted=accept
            )
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    upkeep.index_all(app_, app_.db)
    background.start(app_)
    output.say(f"imported {counted(new, 'fact')}, {state}")
    if broken:
        skipped = counted(broken, "broken line was", "broken lines were")
        raise AgentError(f"{skipped} skipped; the others are imported")


def _find(context: typer.Context, handle: str) -> tuple[App, Fact]:
    """Raises UsageError when the handle names no fact."""
    app_: App = context.obj.app()
    return app_, facts.get(app_.db, ids.number("fact", handle), app_.scope.owner)


def _short(fact: Fact) -> str:
    return f"{fact.handle} “{facts.name(fact)}”"


def _place(fact: Fact) -> str:
    """Where a fact holds; empty: everywhere."""
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    return f"in {fact.place}" if fact.place else ""


def _table(rows: Sequence[Fact], as_json: bool, now: datetime, empty: str, *, marks: bool = True) -> None:
    """Facts as lines, or as one array of objects; `empty` is said at a terminal where there are none."""
    if as_json:
        output.put_json([each.describe() | {"planned": each.is_planned(now)} for each in rows])
        return
    lines = [
        {
            "id": each.handle,
            "day": each.day,
            "mark": _mark(each, now) if marks else "",
            "fact": each.statement + _notes(each, now),
        }
        for each in rows
    ]
    display = output.look(sys.stdout)
    if lines and display:
        from agent_cli.repl import pages  # a pipe needs none of it

        words = [f"{line['fact']}{f' ({mark})' if (mark := line['mark']) else ''}" for line in lines]
        print(pages.facts_page(list(zip(rows, words, strict=True)), display))
        return
    marked = ["mark"] if any(line["mark"] for line in lines) else []
    output.listing(lines, ["id", "day", *marked, "fact"], as_json=False, empty=empty)


def _receipt(adopted: Adopted, now: datetime, verb: str = "saved") -> str:
    """The line printed after a fact was written."""
    fact, dates = adopted.fact, adoption.format_dates(adopted.fact, now)
    if adopted.new and fact.operation == "delete":
        return adoption.ended_receipt(adopted, now)
    if not adopted.new:
        return f"known already: {_short(fact)}{f'; now {dates}' if adopted.dated else ''}"
    text = f"{verb} {_short(fact)}{f', {dates}' if dates else ''}"
    if adopted.replaced:
        then = " from then on" if fact.is_planned(now) else ""
        text += f"; it replaces {adoption.format_names(adopted.replaced)}{then}"
    return text


def _note_masked(fact: Fact, words: str) -> None:
    """Print a note when a secret in the fact was masked."""
    if "[masked: " in fact.statement and "[masked: " not in words:
        output.note(f"a secret in it was masked; `agent facts edit {fact.handle} WORDS` keeps what you write there")


def _mark(fact: Fact, now: datetime) -> str:
    if fact.state != ACCEPTED:
        return fact.state
    return "planned" if fact.is_planned(now) else "ended" if fact.is_over(now) else ""


def _notes(fact: Fact, now: datetime) -> str:
    """Where a fact is true, if not everywhere, and until when, if that is known."""
    until = f"until {fact.local_day(fact.valid_to)}" if fact.valid_to and fact.is_open(now) else ""
    notes = [note for note in (_place(fact), until) if note]
    return f" ({'; '.join(notes)})" if notes else ""


_NO_TESTS = "there are no tests; `agent facts test add QUESTION --mention WORDS` adds one"

test_app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Ask saved questions, and check whether memory answers them."
)


@test_app.callback(invoke_without_command=True)
def tests_(context: typer.Context) -> None:
    """Ask saved questions, and check whether memory answers them. Exit 1 when it does not."""
    if context.invoked_subcommand is None:
        run_tests(context)


@test_app.command("add")
def add_test(
    context: typer.Context,
    question: Annotated[list[str], typer.Argument(help="What will be asked.")],
    mention: Annotated[
        list[str], typer.Option("--mention", help="Words that one of the best hits must contain; may be given again.")
    ],
) -> None:
    """Save a question."""
    app_: App = context.obj.app()
    test = fact_tests.add(app_.db, app_.scope, " ".join(question), mention, app_.time)
    output.say(f"saved {test.handle} “{test.question}”")


@test_app.command("list")
def list_tests(context: typer.Context, limit: LimitOption = 100, as_json: AsJson = False) -> None:
    """List the questions."""
    app_: App = context.obj.app()
    found = fact_tests.listing(app_.db, app_.scope.owner, limit)
    rows = [each.describe() for each in found]
    if not as_json:
        rows = [{**row, "mention": " + ".join(row["mention"])} for row in rows]
    output.listing(rows, ("id", "question", "mention"), as_json=as_json, empty=_NO_TESTS)


@test_app.command("rm")
def rm_tests(context: typer.Context, handles: list[str]) -> None:
    """Erase questions."""
    app_: App = context.obj.app()
    owner = app_.scope.owner
    found = [fact_tests.get(app_.db, ids.number("test", handle), owner) for handle in handles]
    with app_.db.write():
        fact_tests.erase(app_.db, [each.id for each in found])
    for each in found:
        output.say(f"erased {each.handle} “{each.question}”")


@test_app.command("run")
def run_tests(context: typer.Context, as_json: AsJson = False) -> None:
    """Ask all of them. Exit 1 when an answer is not found."""
    app_: App = context.obj.app()
    embedder, allowed = upkeep.prepare_search(app_, app_.db), Filter(app_.scope.owner)

    def find(question: str) -> RecallResult:
        found = recall.find(app_.db, question, allowed, app_.time(), fact_tests.TOP, embedder)
        upkeep.report_damage(app_, app_.db, found.damaged)
        return found

    tests = fact_tests.listing(app_.db, app_.scope.owner)
    missing = {each.handle: fact_tests.missing(each, find) for each in tests}
    if as_json:
        output.put_json([{**each.describe(), "missing": missing[each.handle]} for each in tests])
    for each in tests if not as_json else ():
        lacks = ", ".join(missing[each.handle])
        output.say(
            f"{'✗' if lacks else '✓'} {each.handle}  {each.question}{f'  (not found: {lacks})' if lacks else ''}"
        )
    if not tests and not as_json:
        output.note(_NO_TESTS)
    if any(missing.values()):
        raise typer.Exit(1)


app.add_typer(test_app, name="test")
