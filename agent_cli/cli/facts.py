"""`agent facts`: what is known about you."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from typer import Argument, Option

from agent_cli import limits
from agent_cli.agent import profile as fact_profile
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, forget, output
from agent_cli.cli.invocation import given, opened, parse_moment, report_skipped
from agent_cli.cli.options import AsJson, ConfirmRead, EveryState, Hidden, Limit, Until, argument, flag, noun, option
from agent_cli.errors import NobodyAsked, UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import SUPERSEDED, Fact
from agent_cli.memory.language import secrets
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.review import review as queue
from agent_cli.memory.search import graph
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import ids
from agent_cli.terminal import edited
from agent_cli.text import counted

app = noun("What is known about you.")

FactHandle = Annotated[str, Argument(help="The fact's handle, as in f12.")]
FactHandles = Annotated[list[str] | None, Argument(metavar="ID...", help="Handles, as in f12.")]
DecideAll = Annotated[bool, Option("--all", help="All that wait for your yes; needs --yes.")]

_UNCHANGED = "nothing was changed"
_SESSION_ALONE = ("fact of one session alone stays", "facts of one session alone stay")


StateOption = Literal["pending", "accepted", "rejected", "superseded", "expired"]


@app.command("list")
def list_(
    app_: App,
    limit: Limit = 50,
    as_json: AsJson = False,
    every: EveryState = False,
    state: StateOption | None = option("--state", "Those in this state."),
    hidden: Hidden = False,
    in_this_place: bool = flag("--here", "Those that hold in this project or folder."),
    as_of: str | None = option("--on, --as-of", "What was, is or will be true on this day, as in 2026-03-01."),
) -> None:
    """List what is true now, the latest first, and what is planned.

    A planned fact is shown with the day on which it begins.
    """
    if as_of and (every or state):
        raise UsageError("--on shows what was true then; leave out --all and --state")
    rows = facts.listing(
        app_.db,
        app_.scope.owner,
        limit,
        states=get_args(StateOption) if every or (hidden and not state) else (state or ACCEPTED,),
        hidden=hidden,
        place=app_.scope.place if in_this_place else None,
        as_of=parse_moment(as_of or None, app_.time(), timedelta(seconds=1)),
        not_over=None if every or state or as_of else app_.time(),
    )
    limited = every or state or hidden or in_this_place or as_of
    empty = "there are no such facts" if limited else 'there are no facts; `agent facts add "…"` keeps one'
    _table(rows, as_json, app_.time(), empty, marks=not as_of)
    if not (rows or limited) and (waiting := facts.pending(app_.db, app_.scope.owner)):
        output.note(f"{counted(len(waiting), 'fact')} to review: agent facts review")


@app.command()
def show(app_: App, handle: FactHandle, as_json: AsJson = False) -> None:
    """Show a fact with where it comes from and what it replaced."""
    fact = _find(app_, handle)
    sources = [(ids.handle("message", message), quote) for message, quote in facts.sources(app_.db, fact)]
    former, latter = facts.replaced(app_.db, fact), facts.replaced(app_.db, fact, by=True)
    if as_json:
        more = {
            "sources": [{"message": message, "quote": quote} for message, quote in sources],
            "replaced": [each.handle for each in former],
            "replaced_by": [each.handle for each in latter],
        }
        output.put_json(fact.describe() | more)
        return
    decided = f" on {fact.local_day(fact.decided_at)}" if fact.decided_at else ""
    rows = [("triple", f"{fact.subject} {fact.predicate} {fact.object}")] if fact.predicate else []
    rows += [
        ("state", f"{fact.state}{decided}{', hidden' if fact.hidden_at else ''}"),
        ("true", fact.days(app_.time())),
        ("place", _place(fact) or "everywhere"),
        ("origin", f"{fact.origin}{f', made from {fact.trust}' if fact.trust != fact.origin else ''}"),
    ]
    rows += [("", "inferred: its quote is not literally yours")] if fact.inferred else []
    rows += [("source", f"{message} “{quote}”" if quote else message) for message, quote in sources]
    rows += [("would end", ids.handle("fact", fact.target_id))] if fact.target_id and not former else []
    rows += [("replaced", _short(each)) for each in former]
    rows += [("replaced by", _short(each)) for each in latter]
    output.say(f"{fact.handle}  {fact.statement}")
    output.fields(rows, 12, "  ")


@app.command()
def add(
    app_: App,
    words: list[str] | None = argument("What is true; without words it is read from standard input.", None),
    in_this_place: bool = flag("--here", "True in this project or folder alone."),
    session: str | None = option("--session", "True in this session alone."),
    since: str | None = option("--since", "Since this day, as in 2026-03-01."),
    until: Until = None,
) -> None:
    """Say what is true, and confirm it with a key. What comes through a pipe waits, and so do words without a terminal.

    Dates in the words count: "since 2020", "until December", "I moved to Linz in June 2025". What begins in the future
    is planned, and true from that day on. "I no longer live in Wels" ends the fact that you live in Wels."""
    begins, ends = _span(app_, since, until)
    details: dict[str, Any] = {
        "place": app_.scope.place if in_this_place else "",
        "session": sessions.resolve(app_.db, session, app_.scope.owner).id if session else None,
        "valid_from": begins,
        "valid_to": ends,
    }
    if begins and ends and ends < begins:
        raise UsageError("it ends before it begins: --until is before --since")
    with given(words, app_.config.editor) as (text, origin):
        (_add if origin == "typed" else _queue)(app_, text, details)


def _add(app_: App, words: str, details: dict[str, Any]) -> None:
    """Keep the statement after a yes, or propose it where nobody can be asked. Raises NobodyAsked once it waits."""
    claims = adoption.claims(words, "typed", **details)
    try:
        consent.obtain(app_, f"keep “{'” and “'.join(each.statement for each in claims)}”?", "nothing was kept")
    except NobodyAsked as error:
        _queue(app_, words, details)
        raise NobodyAsked(f"nothing counts yet: {consent.NO_TERMINAL}") from error
    for adopted in _together(app_, claims, adoption.add):
        output.say(adoption.receipt(app_.memory, adopted))
        fact = adopted.fact
        if "[masked: " in fact.statement and "[masked: " not in words:
            output.note(f"a secret in it was masked; `agent facts edit {fact.handle} WORDS` keeps what you write there")


def _queue(app_: App, words: str, details: dict[str, Any]) -> None:
    lines = [line for line in secrets.mask(words).splitlines() if line.strip()]  # a key may be of several lines
    claims = [claim for line in lines or [""] for claim in adoption.claims(line, "piped", **details)]
    waiting, known = adoption.propose_each(app_.memory, claims, actor="person")
    output.lines(f"{_short(each)} waits for your yes (agent facts approve {each.handle})" for each in waiting)
    output.lines(known)


@app.command(decides=True)
def approve(app_: App, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False) -> None:
    """Accept facts that wait for your yes. Facts that they contradict end on their date."""
    waiting = _waiting(app_, handles, every, yes)
    shown = [line for each in waiting for line in _proposal_lines(app_, each)]
    consent.obtain(app_, _question("accept", shown, len(waiting)), "nothing was accepted")
    for adopted in _together(app_, waiting, adoption.accept):
        output.say(adoption.receipt(app_.memory, adopted))


@app.command(decides=True)
def reject(app_: App, handles: FactHandles = None, every: DecideAll = False, yes: ConfirmRead = False) -> None:
    """Reject facts that wait for your yes: they are not proposed again."""
    waiting = _waiting(app_, handles, every, yes)
    output.lines(f"rejected {_short(fact)}" for fact in _together(app_, waiting, facts.reject))


@app.command(decides=True)
def rm(app_: App, handles: list[str]) -> None:
    """Hide facts; `restore` brings them back, `agent forget` erases."""
    chosen = _chosen(app_, handles)
    for fact in chosen:
        if fact.hidden_at:
            raise UsageError(f"{fact.handle} is hidden already")
    _together(app_, chosen, facts.hide)
    output.lines(f"hidden {_short(fact)} (agent facts restore {fact.handle})" for fact in chosen)


@app.command()
def profile(app_: App) -> None:
    """Show what every session is told of you, word for word."""
    output.say(fact_profile.describe(app_.db, app_.scope, None, app_.time(), app_.profile_tokens))


def _tell(decision: str, outcome: str, app_: App, handle: FactHandle) -> None:
    fact = _find(app_, handle)
    adoption.set_in_profile(app_.memory, fact, decision)
    output.say(f"{_short(fact)} {outcome} (agent facts undo {fact.handle})")


_always = partial(_tell, fact_profile.ALWAYS, "is told in every session")
app.command("always", help="Tell a fact in every session.", decides=True)(_always)
_never = partial(_tell, fact_profile.NEVER, "is told only where a question calls for it")
app.command("never", help="Tell a fact only where a question calls for it.", decides=True)(_never)


@app.command(decides=True)
def restore(app_: App, handles: list[str]) -> None:
    """Bring hidden facts back."""
    chosen = _chosen(app_, handles)
    for fact in chosen:
        if fact.hidden_at is None:
            raise UsageError(f"{fact.handle} is not hidden")
    shown = [f"{each.handle} “{queue.visible_line(each.statement)}”" for each in chosen]
    consent.obtain(app_, _question("restore", shown, len(chosen)), "nothing was restored")
    for fact in _together(app_, chosen, adoption.restore):
        ended = f"; it was true until {fact.local_day(fact.valid_to)}" if fact.valid_to else ""
        output.say(f"restored {_short(fact)}{ended}")


def _waiting(app_: App, handles: list[str] | None, every: bool, yes: bool) -> list[Fact]:
    """The facts that are to be decided on. Raises UsageError when they are not named rightly."""
    if every and not yes:
        raise UsageError("--all decides on everything without a review: say --yes as well, or name handles")
    if every == bool(handles):
        raise UsageError("name facts by their handles, as in f12, or say --all --yes")
    return facts.pending(app_.db, app_.scope.owner) if every else _chosen(app_, handles or ())


def _together(app_: App, chosen: Iterable[Any], act: Callable[[Any, Any], Any]) -> list[Any]:
    """Do the same to facts or claims in one transaction, as one batch that `undo` takes back; what came of each."""
    memory = app_.memory.in_one_batch()
    with app_.db.write():
        return [act(memory, each) for each in chosen]


def _question(verb: str, shown: list[str], count: int, after: str = "") -> str:
    """What is asked before it is done to so many facts, which the lines show whole."""
    return "\n".join([*shown, f"{verb} {'it' if count == 1 else 'them'}{after}?"])


def _proposal_lines(app_: App, fact: Fact) -> Iterator[str]:
    """All of what a yes accepts, what was read before it, and what it ends."""
    yield f"{fact.handle} “{queue.visible_line(fact.statement)}”"
    if proposal := queue.read(app_.memory, ("fact", fact.id)):
        if proposal.read:
            yield f"  proposed after reading {proposal.read}"
        for each in proposal.known:
            if each.outcome == queue.ENDS:
                yield f"  ends {each.handle} “{each.statement}”"


@app.command()
def history(app_: App, handle: FactHandle, limit: Limit = 50, as_json: AsJson = False) -> None:
    """Show what was done to a fact, the latest first."""
    fact, columns = _find(app_, handle), ("change", "statement", "state", "actor", "undone", "at")
    output.listing(
        facts.history(app_.db, fact.id)[::-1][:limit],
        as_json,
        lambda each: {name: getattr(each, name, each.was.get(name, "")) for name in columns},
        "day change actor was",
        lambda each: (
            *(fact.local_day(each.at), each.change + (" (undone)" * each.undone), each.actor),
            f"“{each.was['statement']}”, {each.was['state']}" if each.was else "",
        ),
        "",
    )
    if not as_json:
        output.say(f"now: {_short(fact)}, {fact.state}{', hidden' if fact.hidden_at else ''}")


@app.command(decides=True)
def undo(app_: App, handle: str | None = argument("A fact's handle; without it: what was changed last.", None)) -> None:
    """Take back your last change, with everything that it changed."""
    fact = _find(app_, handle) if handle else None
    decided = "" if fact else queue.last_batch(app_.memory)
    batch = decided or facts.last_batch(app_.db, app_.scope.owner, fact)
    shown = queue.changes(app_.memory, batch)
    consent.obtain(app_, _question("take", shown, len(shown), " back"), "nothing was taken back")
    if decided:
        output.lines(f"taken back: {line}" for line in queue.undo_batch(app_.memory, decided))
        return
    undone = {each.id: each for each in facts.undo_batch(app_.memory, batch)}  # its last state
    output.lines(map(facts.undone_receipt, undone.values()))


@app.command()
def search(app_: App, words: list[str], limit: Limit = 20, as_json: AsJson = False) -> None:
    """Find facts by their words and meaning, the best first."""
    owner = app_.scope.owner
    hits = upkeep.search(app_, Filter(owner, ("fact",)), limit)(" ".join(words)).hits
    _table(facts.many(app_.db, [hit.id for hit in hits], owner), as_json, app_.time(), "no fact has these words")


@app.command("graph")
def graph_(
    app_: App,
    entity: list[str] | None = argument("A name; without it: you.", None),
    depth: int = option("--depth", "Steps from it.", 2, min=1, max=9),
    as_json: AsJson = False,
) -> None:
    """Show who has to do with whom, as a tree."""
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


app.command()(consent.review)
app.command("forget", decides=True)(forget.command)


@app.command(decides=True)
def edit(
    app_: App,
    handle: FactHandle,
    words: list[str] | None = argument("Its new words; without them in your editor.", None),
    since: str | None = option("--since", "It is true since this day, as in 2026-03-01."),
    until: str | None = option("--until", "It is true up to and including this day."),
) -> None:
    """Change a fact or its dates."""
    if (since or until) and words:
        example = "agent facts edit f1 --since 2026-03-01"
        raise UsageError(f"--since and --until change the dates of one fact, as in: {example}")
    fact = _find(app_, handle)
    if since or until:
        begins, ends = _span(app_, since, until)
        consent.obtain(app_, f"{_short(fact)}\nchange its dates?", _UNCHANGED)
        changed = adoption.redate(app_.memory, fact, begins, ends)
        output.say(f"changed {_short(fact)}, {facts.format_dates(changed, app_.time())}")
    elif words:
        _edit_one(app_, fact, " ".join(words))
    else:
        with edited(fact.statement, app_.config.editor) as typed:
            _edit_one(app_, fact, typed)


def _edit_one(app_: App, fact: Fact, words: str) -> None:
    if words.strip() == fact.statement.strip():
        output.note(f"{fact.handle} was left as it is")
        return
    consent.obtain(app_, f"{_short(fact)}\nto “{words.strip()}”\nchange it?", _UNCHANGED)
    output.say(f"changed {_short(adoption.edit(app_.memory, fact, words))}")


@app.command()
def scripts(
    app_: App, switch: Literal["on", "off"] | None = argument("Without it: what is set now.", None, show_default=False)
) -> None:
    """Let your own scripts decide without asking you. Off unless you set it.

    They then accept, change and erase what is remembered.
    What it gives up: every program that runs as you can then say yes in your place. Only what the assistant itself has
    started stays refused. It is set at a terminal alone, and holds for this database.
    """
    if switch:
        consent.set_unattended(app_, switch == "on")
    on = f"on: {consent.PRICE} (`agent facts scripts off`)"
    output.say(on if consent.is_unattended(app_) else "off: each yes takes a key at a terminal")


@app.command()
def export(
    app_: App,
    format: Literal["jsonl", "md"] = option("--format", "jsonl can be imported again; md for other agents.", "jsonl"),
    every: bool = flag("--all", "jsonl: also what was true before."),
) -> None:
    """Print what is true now as JSON lines or Markdown."""
    if every and format == "md":
        raise UsageError("Markdown holds what is true now; --all is for --format jsonl")
    states, now = (ACCEPTED, SUPERSEDED) if every else (ACCEPTED,), app_.time()
    found = facts.listing(app_.db, app_.scope.owner, -1, states=states)
    exported = [each for each in found if each.is_open(now) or (every and each.valid_to)]
    if format == "md":
        output.say(facts.markdown(exported))
    else:
        sys.stdout.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in facts.json_rows(app_.db, exported))
    if session_only := sum(each.session_id is not None for each in exported):
        output.note(f"{counted(session_only, *_SESSION_ALONE)} out")


@app.command("import")
def import_(
    app_: App,
    file: Path = argument(
        "JSON lines: statement, and source (a message's id), at, since, until, subject, predicate, object, "
        "place where they are known; - is standard input. Or a Markdown file as MEMORY.md, CLAUDE.md, AGENTS.md: each "
        "item of a list and each sentence; those of a project hold in it alone."
    ),
    source: str = option("--source", "Where the messages were imported from.", "import"),
    accept: bool = flag("--accept", "Accept them all; needs --yes."),
    yes: ConfirmRead = False,
) -> None:
    """Read facts from JSON lines or Markdown into the queue."""
    from agent_cli.memory.transfers import coding_tools  # no other command needs it

    if accept and not yes:
        raise UsageError("--accept accepts every line without a review: say --yes as well, or leave it out")
    if accept:
        what = "what is on standard input" if file == Path("-") else str(file)
        consent.obtain(app_, f"take every line of {what} as true, without a review?", "nothing was imported")
    with opened(file) as opened_file:
        lines = limits.lines(opened_file)
        if file.suffix.lower() == ".md":
            lines = coding_tools.statements(lines, coding_tools.project(file, os.environ))
        new, broken = adoption.import_lines(app_.memory, lines, source, output.first_notes(), accepted=accept)
    upkeep.index_all(app_, app_.db)
    background.start(app_)
    output.say(f"imported {counted(new, 'fact')}, {'accepted' if accept else 'pending'}")
    report_skipped(broken, "line", "lines")


def _find(app_: App, handle: str) -> Fact:
    return facts.get(app_.db, ids.number("fact", handle), app_.scope.owner)


def _chosen(app_: App, handles: Iterable[str]) -> list[Fact]:
    return [_find(app_, handle) for handle in dict.fromkeys(handles)]


def _span(app_: App, since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """The first and the last moment that typed days name. Raises UsageError."""
    begins = parse_moment(since or None, app_.time())
    return begins, parse_moment(until or None, app_.time(), timedelta(milliseconds=1))


def _short(fact: Fact) -> str:
    return f"{fact.handle} “{facts.name(fact)}”"


def _place(fact: Fact) -> str:
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    return f"in {fact.place}" if fact.place else ""


def _table(found: Sequence[Fact], as_json: bool, now: datetime, empty: str, *, marks: bool = True) -> None:
    """Facts as lines, or as one array of objects; `empty` is said at a terminal where there are none."""
    row = partial(_row, now=now, marks=marks)
    display = output.look()
    if found and display and not as_json:
        from agent_cli.repl import pages  # a pipe needs none of it

        words = [f"{statement}{f' ({mark})' if mark else ''}" for _, _, mark, statement in map(row, found)]
        print(pages.facts_page(list(zip(found, words, strict=True)), display))
    else:

        def described(fact: Fact) -> dict[str, Any]:
            return fact.describe() | {"planned": fact.is_planned(now)}

        output.listing(found, as_json, described, "id day mark fact", row, empty, "mark")


def _row(fact: Fact, now: datetime, marks: bool) -> tuple[str, str, str, str]:
    """A fact as a line has it: with its state unless it is in force, where it is true and until when."""
    mark = "planned" if fact.is_planned(now) else "ended" if fact.is_over(now) else ""
    mark = fact.state if fact.state != ACCEPTED else mark
    until = f"until {fact.local_day(fact.valid_to)}" if fact.valid_to and fact.is_open(now) else ""
    notes = "; ".join(note for note in (_place(fact), until) if note)
    return fact.handle, fact.day, mark if marks else "", f"{fact.statement}{f' ({notes})' if notes else ''}"
