"""`agent forget`: erase what is remembered, with all that came of it, and read the files for what may be left."""

import sys
from datetime import timedelta
from typing import Annotated

import typer

from agent_cli import clock, kinds
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.options import AsJson
from agent_cli.errors import AgentError, TracesLeft, UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.forgetting import erasure_receipt, forget, provenance, topic
from agent_cli.memory.forgetting.erasure_receipt import Receipt
from agent_cli.memory.forgetting.forget import Plan
from agent_cli.memory.lineage import Named

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("forget")
def command(
    context: typer.Context,
    handles: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]…", help=f"As in {', '.join(kinds.EXAMPLES)}.", show_default=False),
    ] = None,
    about: Annotated[str | None, typer.Option("--topic", help="All that says this, in these words.")] = None,
    session: Annotated[list[str] | None, typer.Option("--session", help="A session with all that was said.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="From this day on, as in 2026-03-01.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Up to this day, it included.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="You have seen what will go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase for good, with all that came of it; `rm` only hides.

    A message takes its answer with it, and the tasks it was the reason of. Of files the words go, and no sync brings
    them back; the files stay on the disk, and a time alone means nothing of them. Without anything it finishes what
    another program held up. Exit code 8: it is deleted, and something still holds words of it.
    """
    app_: App = context.obj.app()
    app_.refuse_child()
    span = _moment(since, app_), _moment(until, app_, 1)
    if not (handles or session or about or any(span)):
        _resume(app_, "", as_json)
        return
    try:
        plan = _plan(app_, [*(handles or ()), *_session_handles(app_, session)], about or "", *span)
    except UsageError:
        if app_.finished or forget.waits(app_.db):  # the same was said again, to finish it
            _resume(app_, about or "", as_json)
            return
        raise
    if dry_run:
        _show(plan, as_json)
        return
    _confirm(plan, yes, as_json)
    _report(erasure_receipt.erase(app_.db, plan, app_.time), as_json, plan)


def _plan(app_: App, handles: list[str], about: str, since: str | None, until: str | None) -> Plan:
    db, owner = app_.db, app_.scope.owner
    if handles and (about or since or until):
        raise UsageError("name rows by their handles, or by a topic and a time: not both at once")
    if handles:
        return forget.planned(db, provenance.named(db, owner, handles))
    names: Named = topic.named(db, owner, about.strip(), app_.time(), since, until)
    return forget.planned(db, names, about.strip())


def _session_handles(app_: App, names: list[str] | None) -> list[str]:
    return [sessions.resolve(app_.db, each, app_.scope.owner).handle for each in names or ()]


def _show(plan: Plan, as_json: bool) -> None:
    if as_json:
        output.put(plan.described())
    else:
        for line in plan.told():
            output.say(line)


def _confirm(plan: Plan, yes: bool, as_json: bool) -> None:
    """Show what will go, and go on only with a yes. Raises AgentError."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or as_json:
        raise UsageError("nothing was erased: look at it with --dry-run, then say --yes, or run it at a terminal")
    _show(plan, False)
    sys.stdout.write("erase it for good? type yes: ")
    sys.stdout.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise AgentError("nothing was erased")


def _resume(app_: App, topic_words: str, as_json: bool) -> None:
    receipt = erasure_receipt.resume(app_.db, app_.time, topic_words, finished=app_.finished)
    if receipt is None:
        raise UsageError("say what to erase: handles as in m9, --topic, --session, --since or --until")
    _report(receipt, as_json)


def _report(receipt: Receipt, as_json: bool, plan: Plan | None = None) -> None:
    """Print the receipt. Raises TracesLeft, or ends with its exit code."""
    if as_json:
        files = list(plan.files) if plan else []
        output.put({"erased": plan.counts if plan else {}, "files": files, **receipt.described()})
        raise typer.Exit(0 if receipt.clean else TracesLeft.exit_code)
    if plan:
        output.say(f"erased: {plan.counted}")
        for line in plan.files:
            output.say(line)
    if not receipt.clean:
        raise TracesLeft(receipt.sentence())
    output.say(receipt.sentence())


def _moment(text: str | None, app_: App, days: int = 0) -> str | None:
    if text is None:
        return None
    try:
        return clock.utc(clock.parse(text, app_.time()) + timedelta(days=days if len(text) == 10 else 0))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no day: write it like 2026-03-01") from error
