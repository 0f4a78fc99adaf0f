"""`agent serve`: the assistant for other programs over HTTP, and the programs that may connect."""

from contextlib import nullcontext
from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import AsJson, Decision, Invocation
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import callers
from agent_cli.repl import reminders

_ABOUT = "Serve the assistant to other programs over HTTP (API of OpenAI included); callers: who may connect."
_MISSING = "the server needs libraries that are not installed: pip install 'agent-cli[serve]'"
app = typer.Typer(add_completion=False, rich_markup_mode=None, help=_ABOUT)
group = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)
app.add_typer(group, name="callers", help="Which programs may connect: add, list, rm.")

CallerName = Annotated[str, typer.Argument(help="Small letters and digits, as in home-server.")]


@app.callback(invoke_without_command=True)
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 8177,
    insecure_bind: Annotated[
        bool, typer.Option("--insecure-bind", help="Allow an address that other machines can reach, unencrypted.")
    ] = False,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Another host name of the server, as behind a proxy.")
    ] = None,
    turns: Annotated[int, typer.Option("--turns", min=1, max=64, help="Turns that run at once; others wait.")] = 4,
    seconds: Annotated[
        float, typer.Option("--timeout", min=1, max=10_000_000, help="Seconds until a turn is given up.")
    ] = 600,
    grace: Annotated[
        float,
        typer.Option(
            "--grace", min=0, max=10_000_000, help="Seconds that running turns have left when the server stops."
        ),
    ] = 10,
    rate: Annotated[float, typer.Option("--rate", min=0.01, help="Requests a second that one caller may send.")] = 10,
) -> None:
    """Serve the assistant to other programs, on this machine alone unless told otherwise."""
    if context.invoked_subcommand:
        return
    invocation: Invocation = context.obj
    try:
        from agent_cli.serve import http
    except ImportError as error:
        raise UsageError(_MISSING) from error
    from agent_cli.serve.state import ServerLimits  # as above

    app_: App = invocation.app()
    if not any(each.revoked_at is None for each in callers.listing(app_.db)):
        invocation.note("no program may connect yet: `agent serve callers add NAME` adds one")
    if insecure_bind:
        invocation.note("other machines may reach this server, and what is said goes over the network unencrypted")
    limits = ServerLimits(
        turns=turns, turn_seconds=seconds, rate=rate, burst=max(1, round(10 * rate)), grace_seconds=grace
    )
    with reminders.shown_meanwhile(app_, invocation.note) if _is_seen(invocation, app_) else nullcontext():
        code = http.serve(
            app_,
            host,
            port,
            limits,
            name or [],
            allow_remote=insecure_bind,
            ready=lambda address: invocation.note(f"serving at {address} (Ctrl-C ends)"),
        )
    raise typer.Exit(code)


def _is_seen(invocation: Invocation, app: App) -> bool:
    """Whether somebody sees a reminder here; else it would count as shown."""
    return bool(app.config.remind_command) or not invocation.quiet


@group.callback()
def callers_() -> None:
    """Which programs may connect."""


@group.command(cls=Decision)
def add(
    context: typer.Context,
    name: CallerName,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may look and ask; nothing of it is kept.")] = False,
    mine: Annotated[bool, typer.Option("--mine", help="It reaches your own memory instead of one of its own.")] = False,
) -> None:
    """Allow a program to connect. Its token is printed once and kept nowhere."""
    app_: App = context.obj.app()
    if mine:
        _confirm_own_memory(name, read_only)
    caller, token = callers.add(app_.db, name, app_.time, mine=mine, writes=not read_only)
    output.say(token)
    which = "your own memory" if caller.mine else "a memory of its own"
    context.obj.note(f"{name} reaches {which}{'' if caller.writes else ', and only reads'}; this token is shown once")
    if not caller.mine:
        context.obj.note(f"`agent --as {name} facts review` decides on what waits there; no other way does")


@group.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the callers."""
    rows = [each.describe() for each in callers.listing(context.obj.app().db)]
    for row in rows if not as_json else ():
        row["state"] = "revoked" if row["revoked_at"] else "never came" if not row["seen_at"] else row["seen_at"][:10]
    empty = "there are no callers; `agent serve callers add NAME` adds one"
    output.listing(rows, ("name", "memory", "may", "state"), as_json=as_json, empty=empty)


@group.command()
def rm(context: typer.Context, name: CallerName) -> None:
    """Revoke the token of a program. Its memory stays, and a new token of the same name reaches it again."""
    app_: App = context.obj.app()
    callers.revoke(app_.db, name, app_.time)
    output.say(f"revoked {name}")


def _confirm_own_memory(name: str, read_only: bool) -> None:
    """Ask for a typed yes before a program reaches the person's own memory. Raises UsageError without one."""
    if not consent.is_possible():
        raise UsageError("--mine gives a program your own memory, and needs your yes: run it at a terminal")
    what = "read all you have said" if read_only else "read all you have said, and add to it"
    question = (
        f"{name} will {what}, with the folders, feeds and tools of your settings, until you revoke it. Type yes: "
    )
    if consent.answer(question) != "yes":
        raise UsageError("nothing was changed")
