"""`agent sessions` and `agent import`: list, show, resume, close, export and import conversations.

Those of other programs are imported as transcripts: searched and recalled like any other, but no facts are learned.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_cli import clock, limits
from agent_cli.agent.jobs import summariser
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Decision, Invocation, LimitOption, Noun, converse
from agent_cli.cli.progress import ProgressLine
from agent_cli.errors import AgentError, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.review import review
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.transfers import transfer
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.messages import Receipt
from agent_cli.repl import pages
from agent_cli.store import events
from agent_cli.text import clean, counted

app = typer.Typer(
    cls=Noun,
    add_completion=False,
    rich_markup_mode=None,
    help="List, show, resume, close, export and import conversations.",
)

SessionHandle = Annotated[
    str, typer.Argument(metavar="SESSION", help="Its handle, as in s4, or words that stand in it.")
]


@app.command("list")
def list_(
    context: typer.Context,
    limit: LimitOption = 20,
    as_json: AsJson = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")] = False,
) -> None:
    """List sessions, the latest first."""
    app_ = context.obj.app()
    rows = sessions.listing(app_.db, app_.scope.owner, limit, hidden=hidden)
    if rows and not as_json and (look := output.look(sys.stdout)) and look.wrap:
        output.say(pages.sessions_page(rows, app_.time()))
        return
    if not as_json:
        rows = [{**row, "turns": f"{row['turns']} turn{' ' if row['turns'] == 1 else 's'}"} for row in rows]
    empty = "there are no such sessions" if hidden else "there are no sessions; `agent` begins one"
    output.listing(rows, ("id", "day", "turns", "model", "title"), as_json=as_json, empty=empty)


@app.command()
def show(context: typer.Context, handle: SessionHandle, as_json: AsJson = False) -> None:
    """Show what was said."""
    app_, session = _session(context, handle)
    summary = summaries.of_session(app_.db, session.id)
    if as_json:
        row = {
            **transfer.export_session(app_.db, session),
            "id": session.handle,
            "summary": summary.text if summary else None,
        }
        output.put_json(row)
        return
    output.say(transfer.to_markdown(app_.db, session))
    if summary:
        made = " (extracted, by no model yet)" if summary.method == "extract" else ""
        output.say(f"## Summary{made}\n\n{summary.text}")


@app.command()
def resume(context: typer.Context, handle: SessionHandle) -> None:
    """Continue a session at the prompt."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("resuming needs a terminal; `agent ask --session` continues one from a pipe")
    _, session = _session(context, handle)
    converse(context.obj, session)


@app.command()
def close(context: typer.Context, handle: SessionHandle) -> None:
    """Close a session and write its summary."""
    app_, session = _session(context, handle)
    if sessions.is_open_elsewhere(app_.db, session.id):
        raise UsageError(f"{session.handle} is open in another terminal; close it there with /close")
    closing.recover(app_.db, session.id, app_.scope, app_.time)
    rounds = tombstones.erasure_count(app_.db)
    job_context = background.job_context(app_, app_.db, Cancel())
    pieces, method, name = summariser.session_words(job_context, session.id)
    words = ""
    for piece in pieces:
        words += piece
        sys.stdout.write(clean(piece))
        sys.stdout.flush()
    if words:
        output.say()
    summary = summaries.compose(app_.db, session.id, words, method, name)
    closing.close_with(app_.db, session.id, summary, app_.time, rounds)
    output.note(Receipt(f"closed {session.handle} “{sessions.name(app_.db, session)}”"))
    if session.closed_at is None:  # else these changes were reported before, and later ones are of other sessions
        for line in review.changed_since_opened(app_.db, session.id, session.owner, "agent facts review"):
            output.note(line)


@app.command(cls=Decision)
def rename(context: typer.Context, handle: SessionHandle, title: list[str]) -> None:
    """Give a session a title."""
    app_, session = _session(context, handle)
    sessions.change(app_.db, session.id, title=" ".join(title))
    output.say(f"{session.handle} is now “{' '.join(title)}”")


@app.command(cls=Decision)
def rm(context: typer.Context, handles: list[str]) -> None:
    """Hide sessions; `restore` brings them back."""
    for app_, session in [_session(context, handle) for handle in handles]:
        sessions.change(app_.db, session.id, hidden_at=clock.utc(app_.time()))
        period_summaries.queue_session(app_.db, session.id, app_.time())
        events.append(app_.db, app_.time, "session hidden", session.handle, actor="person")
        output.say(f"hidden {session.handle} (agent sessions restore {session.handle})")


@app.command(cls=Decision)
def restore(context: typer.Context, handles: list[str]) -> None:
    """Bring hidden sessions back."""
    for app_, session in [_session(context, handle) for handle in handles]:
        if session.hidden_at is None:
            raise UsageError(f"{session.handle} is not hidden")
        sessions.change(app_.db, session.id, hidden_at=None)
        period_summaries.queue_session(app_.db, session.id, app_.time())
        events.append(app_.db, app_.time, "session restored", session.handle, actor="person")
        output.say(f"restored {session.handle}")


@app.command()
def export(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(metavar="[SESSION]", help="Without it: the latest one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All sessions.")] = False,
    format: Annotated[
        Literal["md", "json", "jsonl"], typer.Option("--format", help="jsonl can be imported again.")
    ] = "md",
) -> None:
    """Write sessions to standard output."""
    app_ = context.obj.app()
    if handle and every:
        raise UsageError("name one session, or say --all")
    if every:
        found = sessions.all_of(app_.db, app_.scope.owner)
    elif handle:
        found = [_session(context, handle)[1]]
    else:
        latest = sessions.latest(app_.db, app_.scope.owner)
        found = [latest] if latest else []
    if format == "json":
        output.put_json([transfer.export_session(app_.db, session) for session in found])
    for session in found:
        if format == "jsonl":
            sys.stdout.write(json.dumps(transfer.export_session(app_.db, session)) + "\n")
        elif format == "md":
            output.say(transfer.to_markdown(app_.db, session))


@app.command("import", cls=Decision)
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON lines, a session a line; - is standard input.")],
    source: Annotated[str, typer.Option("--source", help="A name for where it comes from.")] = "import",
) -> None:
    """Read sessions from JSON lines. Importing twice adds nothing; a broken line is reported and skipped (exit 1)."""
    invocation: Invocation = context.obj
    app_ = invocation.app()
    try:
        with sys.stdin if file == Path("-") else file.open(encoding="utf-8", errors="replace") as opened:
            done = transfer.import_lines(
                app_.db, app_.scope, limits.lines(opened), source, app_.time, output.first_notes()
            )
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    upkeep.index_all(app_, app_.db)
    background.start(app_)
    output.say(f"imported {counted(done.sessions, 'session')} with {counted(done.messages, 'message')}")
    if done.broken:
        skipped = counted(done.broken, "broken line was", "broken lines were")
        raise AgentError(f"{skipped} skipped; the others are imported")


def _session(context: typer.Context, handle: str) -> tuple[App, Session]:
    app_ = context.obj.app()
    return app_, sessions.resolve(app_.db, handle, app_.scope.owner)


import_app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Import conversations from ChatGPT, Claude or llm. Importing twice adds nothing.",
)

Export = Annotated[Path, typer.Argument(metavar="FILE", help="The exported .zip, its folder, or conversations.json.")]


@import_app.command(cls=Decision)
def chatgpt(context: typer.Context, file: Export) -> None:
    """Import an export of ChatGPT. A newer one adds what is new; broken entries are reported and skipped (exit 1)."""
    from agent_cli.memory.transfers import from_chatgpt  # no other command needs it

    _import(context.obj, from_chatgpt.read_sessions, file, "chatgpt")


@import_app.command(cls=Decision)
def claude(context: typer.Context, file: Export) -> None:
    """Import an export of Claude. A newer one adds what is new; broken entries are reported and skipped (exit 1)."""
    from agent_cli.memory.transfers import from_claude  # no other command needs it

    _import(context.obj, from_claude.read_sessions, file, "claude")


@import_app.command(cls=Decision)
def llm(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its logs.db; `llm logs path` says where that is.")],
) -> None:
    """Import what llm has logged. The file is only read; a later import adds what is new."""
    from agent_cli.memory.transfers import from_llm  # no other command needs it

    _import(context.obj, from_llm.read_sessions, file, "llm")


def _import(
    invocation: Invocation, entries: Callable[[Path], Iterator[ExternalSession]], file: Path, source: str
) -> None:
    app_ = invocation.app()
    with ProgressLine(invocation.quiet) as line:
        done = transfer.import_sessions(
            app_.db,
            app_.scope,
            entries(file),
            source,
            app_.time,
            output.first_notes(line.note),
            lambda seen, new: line.step(f"{seen:,} conversations read,", new, None, "new messages"),
        )
        line.show("making them searchable")
        upkeep.index_all(app_, app_.db)
        background.start(app_)
    output.say(f"imported {counted(done.sessions, 'session')} with {counted(done.messages, 'message')}")
    if done.broken:
        skipped = counted(done.broken, "broken entry was", "broken entries were")
        raise AgentError(f"{skipped} skipped; the others are imported")
