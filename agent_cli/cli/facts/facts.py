"""`agent facts`: what is known about you."""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from agent_cli.agent import profile as fact_profile
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, forget, output
from agent_cli.cli.facts import fact_edit, fact_files, fact_format, fact_tests, review, scripts
from agent_cli.cli.options import AsJson, LimitOption, parse_moment
from agent_cli.editor import edited
from agent_cli.errors import NobodyAsked, UsageError
from agent_cli.memory import versions
from agent_cli.memory.conversations import sessions
from agent_cli.memory.entities import graph
from agent_cli.memory.facts import adoption, facts, receipts, succession
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.review import review as queue
from agent_cli.memory.review.proposals import ENDS, Reviewer, visible_line
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Origin
from agent_cli.store import ids

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="What is known about you.")

FactHandle = Annotated[str, typer.Argument(help="The fact's handle, as in f12.")]
FactHandles = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Handles, as in f12.")]
DecideAll = Annotated[bool, typer.Option("--all", help="All that wait for your yes; needs --yes.")]
ConfirmRead = Annotated[bool, typer.Option("--yes", help="Confirm that you have read them.")]


class StateOption(StrEnum):
    pending = "pending"
    accepted = "accepted"
    rejected = "rejected"
    superseded = "superseded"
    expired = "expired"


@app.callback()
def group() -> None:
    """What is known about you."""


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
    fact_format.table(rows, as_json, app_.time(), empty, marks=not as_of)


@app.command()
def show(context: typer.Context, handle: FactHandle, as_json: AsJson = False) -> None:
    """Show a fact with where it comes from and what it replaced."""
    app_, fact = fact_format.find(context, handle)
    sources = [(ids.handle("message", message), quote) for message, quote in facts.sources(app_.db, fact)]
    former, latter = succession.replaced(app_.db, fact), succession.replaced_by(app_.db, fact)
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
    decided = f" on {fact_format.day(fact, fact.decided_at)}" if fact.decided_at else ""
    rows = [("triple", f"{fact.subject} {fact.predicate} {fact.object}")] if fact.predicate else []
    rows.append(("state", f"{fact.state}{decided}{', hidden' if fact.hidden_at else ''}"))
    until = f" until {fact_format.day(fact, fact.valid_to)}" if fact.valid_to else ""
    planned = "planned, " if fact.is_planned(now) else ""
    rows.append(("true", f"{planned}{'from' if planned else 'since'} {fact.day}{until}"))
    rows.append(("place", fact_format.place(fact) or "everywhere"))
    rows.append(("origin", f"{fact.origin}{f', made from {fact.trust}' if fact.trust != fact.origin else ''}"))
    if fact.inferred:
        rows.append(("", "inferred: its quote is not literally yours"))
    rows += [("source", f"{message} “{quote}”" if quote else message) for message, quote in sources]
    if fact.target_id and not former:
        rows.append(("would end", ids.handle("fact", fact.target_id)))
    rows += [("replaced", fact_format.short(each)) for each in former]
    rows += [("replaced by", fact_format.short(each)) for each in latter]
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
        app_.refuse_child()
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
        raise NobodyAsked(str(error).replace("nothing was kept", "nothing counts yet")) from error
    adopted = adoption.add(app_.db, app_.scope, _claim(words, "typed", properties), app_.time, app_.single_valued)
    output.say(fact_format.receipt(adopted, app_.time()))
    fact_format.note_masked(adopted.fact, words)


def _queue(app_: App, piped: str, properties: dict[str, Any]) -> None:
    """Propose each line as a fact."""
    lines = [line for line in piped.splitlines() if line.strip()]
    claims = [_claim(line, "piped", properties) for line in lines or [""]]
    with app_.db.write():
        queued = [adoption.propose(app_.db, app_.scope, each, app_.time, actor="person") for each in claims]
    for fact, claim in zip(queued, claims, strict=True):
        if fact:
            output.say(f"{fact_format.short(fact)} waits for your yes (agent facts approve {fact.handle})")
        else:
            output.say(f"nothing new in “{claim.statement}”: it is known, waits already, or was rejected or forgotten")


@app.command()
def approve(
    context: typer.Context, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False
) -> None:
    """Accept facts that wait for your yes. Facts that they contradict end on their date."""
    app_: App = context.obj.app()
    app_.refuse_child()
    waiting, batch = _chosen(context, handles, every, yes), ids.new(app_.time())
    shown = [line for each in waiting for line in _proposal_lines(app_, each)]
    consent.obtain(app_, _question("accept", shown, len(waiting)), "nothing was accepted")
    with app_.db.write():
        done = [
            adoption.accept(app_.db, each, app_.time, single_valued=app_.single_valued, batch=batch) for each in waiting
        ]
    for adopted in done:
        output.say(fact_format.receipt(adopted, app_.time(), "accepted"))


@app.command()
def reject(
    context: typer.Context, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False
) -> None:
    """Reject facts that wait for your yes: they are not proposed again."""
    app_: App = context.obj.app()
    app_.refuse_child()
    waiting, batch = _chosen(context, handles, every, yes), ids.new(app_.time())
    with app_.db.write():
        done = [adoption.reject(app_.db, each, app_.time, batch=batch) for each in waiting]
    for fact in done:
        output.say(f"rejected {fact_format.short(fact)}")


def _question(verb: str, shown: list[str], count: int, after: str = "") -> str:
    """What is asked before it is done to so many facts, which the lines show whole."""
    return "\n".join([*shown, f"{verb} {'it' if count == 1 else 'them'}{after}?"])


def _proposal_lines(app_: App, fact: Fact) -> Iterator[str]:
    """All of what a yes accepts, what was read before it, and what it ends."""
    yield f"{fact.handle} “{visible_line(fact.statement)}”"
    reviewer = Reviewer(app_.db, app_.scope, app_.time, app_.single_valued)
    if proposal := queue.read(reviewer, ("fact", fact.id)):
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
    return [fact_format.find(context, handle)[1] for handle in dict.fromkeys(handles or ())]


@app.command()
def rm(context: typer.Context, handles: list[str]) -> None:
    """Hide facts; `restore` brings them back, `agent forget` erases."""
    app_: App = context.obj.app()
    app_.refuse_child()
    chosen, batch = [fact_format.find(context, handle)[1] for handle in dict.fromkeys(handles)], ids.new(app_.time())
    for fact in chosen:
        if fact.hidden_at:
            raise UsageError(f"{fact.handle} is hidden already")
    with app_.db.write():
        for fact in chosen:
            adoption.hide(app_.db, fact, app_.time, batch=batch)
    for fact in chosen:
        output.say(f"hidden {fact_format.short(fact)} (agent facts restore {fact.handle})")


@app.command()
def profile(context: typer.Context) -> None:
    """Show what every session is told of you, word for word."""
    app_: App = context.obj.app()
    output.say(fact_profile.describe(app_.db, app_.scope, None, app_.time(), app_.profile_tokens))


@app.command()
def always(context: typer.Context, handle: FactHandle) -> None:
    """Tell a fact in every session."""
    _tell(context, handle, fact_profile.ALWAYS, "is told in every session")


@app.command()
def never(context: typer.Context, handle: FactHandle) -> None:
    """Tell a fact only where a question calls for it."""
    _tell(context, handle, fact_profile.NEVER, "is told only where a question calls for it")


def _tell(context: typer.Context, handle: str, decision: str, outcome: str) -> None:
    app_, fact = fact_format.find(context, handle)
    app_.refuse_child()
    adoption.set_in_profile(app_.db, fact, decision, app_.time)
    output.say(f"{fact_format.short(fact)} {outcome} (agent facts undo {fact.handle})")


@app.command()
def restore(context: typer.Context, handles: list[str]) -> None:
    """Bring hidden facts back."""
    app_: App = context.obj.app()
    app_.refuse_child()
    chosen, batch = [fact_format.find(context, handle)[1] for handle in dict.fromkeys(handles)], ids.new(app_.time())
    for fact in chosen:
        if fact.hidden_at is None:
            raise UsageError(f"{fact.handle} is not hidden")
    shown = [f"{each.handle} “{visible_line(each.statement)}”" for each in chosen]
    consent.obtain(app_, _question("restore", shown, len(chosen)), "nothing was restored")
    with app_.db.write():
        back = [
            adoption.restore(app_.db, each, app_.time, single_valued=app_.single_valued, batch=batch) for each in chosen
        ]
    for fact in back:
        ended = f"; it was true until {fact_format.day(fact, fact.valid_to)}" if fact.valid_to else ""
        output.say(f"restored {fact_format.short(fact)}{ended}")


@app.command()
def history(context: typer.Context, handle: FactHandle, limit: LimitOption = 50, as_json: AsJson = False) -> None:
    """Show what was done to a fact, the latest first."""
    app_, fact = fact_format.find(context, handle)
    changes = versions.history(app_.db, "fact", fact.id)[::-1][:limit]
    rows = [
        {
            "at": each.at,
            "day": f"{fact_format.day(fact, each.at)}",
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
    output.say(f"now: {fact_format.short(fact)}, {fact.state}{', hidden' if fact.hidden_at else ''}")


@app.command()
def undo(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(help="A fact's handle; without it: what was changed last.")] = None,
) -> None:
    """Take back your last change, with everything that it changed."""
    app_: App = context.obj.app()
    app_.refuse_child()
    fact = fact_format.find(context, handle)[1] if handle else None
    reviewer = Reviewer(app_.db, app_.scope, app_.time, app_.single_valued)
    decided = "" if fact else queue.last_batch(reviewer)
    batch = decided or facts.last_batch(app_.db, app_.scope.owner, fact)
    shown = queue.changes(reviewer, batch)
    consent.obtain(app_, _question("take", shown, len(shown), " back"), "nothing was taken back")
    if decided:
        for line in queue.undo_batch(reviewer, decided):
            output.say(f"taken back: {line}")
        return
    undone = {each.id: each for each in facts.undo_batch(app_.db, app_.scope.owner, batch, app_.time)}  # its last state
    for each in undone.values():
        output.say(receipts.undone(each))


@app.command()
def search(context: typer.Context, words: list[str], limit: LimitOption = 20, as_json: AsJson = False) -> None:
    """Find facts by their words and meaning, the best first."""
    app_: App = context.obj.app()
    embedder = upkeep.prepare_search(app_, app_.db)
    owner = app_.scope.owner
    hits = recall.find(app_.db, " ".join(words), Filter(owner, ("fact",)), app_.time(), limit, embedder)
    upkeep.report_damage(app_, app_.db, hits.damaged)
    found = facts.many(app_.db, [hit.id for hit in hits.hits], owner)
    fact_format.table(found, as_json, app_.time(), "no fact has these words")


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
        output.note_empty(f"nothing is known of {name}" if name else "no fact names a relation")


app.command()(review.review)
app.command("forget")(forget.command)
app.command()(fact_edit.edit)
app.command()(scripts.scripts)
app.command()(fact_files.export)
app.command("import")(fact_files.import_)
app.add_typer(fact_tests.app, name="test")
