"""`agent sessions` and `agent import`. Of what other programs have logged, no facts are learned."""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Context

from agent_cli import clock, limits, terminal
from agent_cli.agent.jobs import summariser
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import Invocation, opened, report_skipped
from agent_cli.cli.options import AsJson, Hidden, Limit, Yes, argument, flag, group, noun, option
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.review import review
from agent_cli.memory.scope import short_path
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Receipt
from agent_cli.repl import pages
from agent_cli.store import events
from agent_cli.text import clean, counted, format_size

app = noun("List, show, close, export and import conversations.")

SessionHandle = Annotated[str, Argument(metavar="SESSION", help="Its handle, as in s4, or words that stand in it.")]


@app.command("list")
def list_(app_: App, limit: Limit = 20, as_json: AsJson = False, hidden: Hidden = False) -> None:
    """List sessions, the latest first."""
    rows = sessions.listing(app_.db, app_.scope.owner, limit, hidden=hidden)
    if rows and not as_json and (look := output.look()) and look.wrap:
        output.say(pages.sessions_page(rows, app_.time()))
        return

    def shown(row: dict[str, Any]) -> list[Any]:
        return [row["id"], row["day"], counted(row["turns"], "turn ", "turns"), row["model"], row["title"]]

    empty = "there are no such sessions" if hidden else "there are no sessions; `agent` begins one"
    output.listing(rows, as_json, dict, "id day turns model title", shown, empty)


@app.command()
def show(app_: App, handle: SessionHandle, as_json: AsJson = False) -> None:
    """Show what was said."""
    session = _session(app_, handle)
    summary = summaries.of_session(app_.db, session.id)
    if as_json:
        more = {"id": session.handle, "summary": summary.text if summary else None}
        output.put_json(transfer.export_session(app_.db, session) | more)
        return
    output.say(transfer.to_markdown(app_.db, session))
    if summary:
        made = " (extracted, by no model yet)" if summary.method == "extract" else ""
        output.say(f"## Summary{made}\n\n{summary.text}")


@app.command()
def close(app_: App, handle: SessionHandle) -> None:
    """Close a session and write its summary."""
    session = _session(app_, handle)
    if sessions.is_open_elsewhere(app_.db, session.id):
        raise UsageError(f"{session.handle} is open in another terminal; close it there with /close")
    closing.recover(app_.db, session.id, app_.scope, app_.time)
    words = ""
    for piece in summariser.close(background.job_context(app_, app_.db, Cancel()), session.id):
        words += piece
        sys.stdout.write(clean(piece))
        sys.stdout.flush()
    if words:
        output.say()
    output.note(Receipt(f"closed {session.handle} “{sessions.name(app_.db, session)}”"))
    if session.closed_at is None:  # else these changes were reported before, and later ones are of other sessions
        for line in review.changed_since_opened(app_.db, session.id, session.owner, "agent facts review"):
            output.note(line)


@app.command(decides=True)
def rename(app_: App, handle: SessionHandle, title: list[str]) -> None:
    """Give a session a title."""
    session = _session(app_, handle)
    sessions.change(app_.db, session.id, title=" ".join(title))
    output.say(f"{session.handle} is now “{' '.join(title)}”")


def _set_hidden(hidden: bool, app_: App, handles: list[str]) -> None:
    """Hide sessions or bring them back, and have the summaries of their days made again."""
    done, at = ("hidden", clock.utc(app_.time())) if hidden else ("restored", None)
    for session in [_session(app_, handle) for handle in handles]:
        if not (hidden or session.hidden_at):
            raise UsageError(f"{session.handle} is not hidden")
        sessions.change(app_.db, session.id, hidden_at=at)
        period_summaries.queue_session(app_.db, session.id, app_.time())
        events.append(app_.db, app_.time, f"session {done}", session.handle, actor="person")
        output.say(f"{done} {session.handle}{f' (agent sessions restore {session.handle})' if hidden else ''}")


app.command("rm", help="Hide sessions; `restore` brings them back.", decides=True)(partial(_set_hidden, True))
app.command("restore", help="Bring hidden sessions back.", decides=True)(partial(_set_hidden, False))


@app.command()
def export(
    app_: App,
    handle: str | None = argument("Without it: the latest one.", None, metavar="[SESSION]"),
    every: bool = flag("--all", "All sessions."),
    format: Literal["md", "json", "jsonl"] = option("--format", "jsonl can be imported again.", "md"),
) -> None:
    """Write sessions to standard output."""
    if handle and every:
        raise UsageError("name one session, or say --all")
    if every:
        found = sessions.all_of(app_.db, app_.scope.owner)
    elif handle:
        found = [_session(app_, handle)]
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


@app.command("import", decides=True)
def import_(
    invocation: Invocation,
    file: Path = argument(
        "JSON lines, a session a line; - is standard input. Or a session of Claude Code, Codex CLI or Gemini CLI, or a "
        "folder of them."
    ),
    source: str = option("--source", "Of JSON lines: a name for where they come from.", "import"),
) -> None:
    """Read sessions. Importing twice adds nothing; a broken line is reported and skipped (exit 1)."""
    from agent_cli.memory.transfers import coding_tools  # no other command needs it

    app_ = invocation.app()
    if file != Path("-") and (found := coding_tools.files_in(file)):
        _import_sessions(invocation, coding_tools.sessions(found))
        return
    with opened(file) as lines:
        done = transfer.import_lines(app_.db, app_.scope, limits.lines(lines), source, app_.time, output.first_notes())
    upkeep.index_all(app_, app_.db)
    background.start(app_)
    _report(done, "line", "lines")


def _import_sessions(invocation: Invocation, entries: Iterator[transfer.ExternalSession], source: str = "") -> None:
    app_ = invocation.app()
    with output.ProgressLine(invocation.quiet) as line:

        def tell(seen: int, new: int) -> None:
            line.step(f"{seen:,} conversations read,", new, None, "new messages")

        complain = output.first_notes(line.note)
        done = transfer.import_sessions(app_.db, app_.scope, entries, source, app_.time, complain, tell)
        line.show("making them searchable")
        upkeep.index_all(app_, app_.db)
        background.start(app_)
    _report(done, "entry", "entries")


def _report(done: transfer.ImportResult, one: str, many: str) -> None:
    output.say(f"imported {counted(done.sessions, 'session')} with {counted(done.messages, 'message')}")
    report_skipped(done.broken, one, many)


def _session(app_: App, handle: str) -> sessions.Session:
    return sessions.resolve(app_.db, handle, app_.scope.owner)


import_app = group(
    "Import from ChatGPT, Claude, llm, Claude Code, Codex CLI or Gemini CLI. Importing twice adds nothing."
)


@import_app.callback(invoke_without_command=True)
def import_found(
    context: Context,
    found: bool = flag(
        "--found", "List what Claude Code, Codex CLI and Gemini CLI have here, and import it after a yes."
    ),
    yes: Yes = False,
) -> None:
    if context.invoked_subcommand:
        return
    if not found:
        raise UsageError("say what to import: --found, chatgpt, claude or llm (`agent import --help` says more)")
    from agent_cli.memory.facts import adoption
    from agent_cli.memory.transfers import coding_tools  # no other command needs it

    invocation: Invocation = context.obj
    if invocation.child:
        raise UsageError(terminal.OF_ASSISTANT)
    logs, notes = coding_tools.found(os.environ), coding_tools.found(os.environ, facts=True)
    if not logs and not notes:
        raise UsageError(f"there is nothing to import of {coding_tools.NAMES}")
    rows = [
        {"program": tool.name, "what": counted(len(sizes), *what), "size": format_size(sum(sizes)), "where": where}
        for tool in coding_tools.TOOLS
        for where in [short_path(str(tool.home(os.environ)))]
        for files, *what in ((logs, "session"), (notes, "file of facts", "files of facts"))
        if (sizes := [file.stat().st_size for each, file in files if each is tool])
    ]
    output.table(rows, ["program", "what", "size", "where"])
    if not yes:
        if not consent.is_possible():
            output.note("`agent import --found --yes` imports them")
            return
        consent.ask("import them (facts wait for your review)?", "nothing was imported")
    app_, new = invocation.app(), 0
    for _, file in notes:
        with opened(file) as lines:
            facts = coding_tools.statements(lines, coding_tools.project(file, os.environ))
            new += adoption.import_lines(app_.memory, facts, "import", output.first_notes())[0]
    if notes:
        output.say(f"imported {counted(new, 'fact')}, pending")
    _import_sessions(invocation, coding_tools.sessions(logs))


Export = Annotated[Path, Argument(metavar="FILE", help="The exported .zip, its folder, or conversations.json.")]


def _import(source: str, invocation: Invocation, file: Export) -> None:
    from agent_cli.memory.transfers import export_files  # no other command needs it

    read = {"chatgpt": export_files.chatgpt, "claude": export_files.claude, "llm": export_files.llm}[source]
    _import_sessions(invocation, read(file), source)


_NEWER = "A newer one adds what is new; broken entries are reported and skipped (exit 1)."
import_app.command("chatgpt", help=f"Import an export of ChatGPT. {_NEWER}", decides=True)(partial(_import, "chatgpt"))
import_app.command("claude", help=f"Import an export of Claude. {_NEWER}", decides=True)(partial(_import, "claude"))


@import_app.command(decides=True)
def llm(
    invocation: Invocation, file: Path = argument("Its logs.db; `llm logs path` says where that is.", metavar="FILE")
) -> None:
    """Import what llm has logged. The file is only read; a later import adds what is new."""
    _import("llm", invocation, file)
