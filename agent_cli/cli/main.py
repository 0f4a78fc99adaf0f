"""`agent`: the options before a command, and the commands, each imported only when it is used.

Start-up time is a feature. `--version` and `--help` import Typer and nothing else of weight, and the help of all
commands is printed from the table below.
"""

import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agent_cli import __version__
from agent_cli.cli import output
from agent_cli.cli.run import Run
from agent_cli.errors import AgentError, Cancelled, UsageError

COMMANDS = {
    "ask": "Ask one question; answer and end. Reads standard input, so it works in pipes.",
    "notes": "Write, find and change notes.",
    "sessions": "List, show, resume, close, export and import conversations.",
    "models": "List the models of the server, choose or fetch one.",
    "config": "Show and change the settings.",
    "jobs": "See and run queued work.",
    "doctor": "Check the server, the model, the database and the terminal.",
    "demo": "Play a short conversation on a throw-away database: memory in ten seconds.",
}


class Commands(TyperGroup):
    """The commands of the table, imported on demand; and the one place where errors become sentences."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        command = typer.main.get_command(import_module(f"agent_cli.cli.{cmd_name}").app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except AgentError as error:
            output.fail(error)
        except KeyboardInterrupt:
            output.fail(Cancelled("stopped"))
        except BrokenPipeError:  # the reader has gone: say nothing, to nobody
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        return result


app = typer.Typer(
    cls=Commands, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


def _version(wanted: bool) -> None:
    if wanted:
        print(f"agent {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    model: Annotated[str | None, typer.Option("-m", "--model", help="The model for this run.")] = None,
    continue_: Annotated[bool, typer.Option("-c", "--continue", help="Continue the latest session.")] = False,
    resume: Annotated[
        str | None, typer.Option("-r", "--resume", help="Resume a session: its handle, or words in it.")
    ] = None,
    db: Annotated[Path | None, typer.Option("--db", help="The database file (AGENT_DB).")] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Fewer lines on standard error.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="More lines on standard error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A terminal assistant that remembers. Without a command it starts a conversation."""
    run = Run(flags={"model": model, "db": str(db) if db else None}, quiet=quiet, verbose=verbose)
    run.resume, run.latest = resume, continue_
    if resume and continue_:
        raise UsageError("-c and -r exclude each other: continue the latest session, or resume a named one")
    context.obj = run
    if context.invoked_subcommand is None:
        _without_command(run)


def _without_command(run: Run) -> None:
    """A conversation at a terminal; with words piped in, one question."""
    if not sys.stdin.isatty():
        from agent_cli.cli import ask  # not needed for a conversation

        ask.answer(run, ask.Question(words=[]))
    elif not sys.stdout.isatty():
        raise UsageError("no prompt is given and the output is no terminal; use `agent ask`")
    else:
        from agent_cli.repl import shell  # prompt-toolkit: 100 ms that only a conversation needs

        shell.run(run.app(), run.chosen())


def main() -> None:
    """The console script. A terminated program ends in order, so that what had arrived is kept."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    app(prog_name="agent")
