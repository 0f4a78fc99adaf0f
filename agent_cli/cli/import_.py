"""`agent import`: conversations of other programs, imported as transcripts.

They can be searched and recalled like any other. No facts are learned from them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from agent_cli.app import background, upkeep
from agent_cli.cli import output
from agent_cli.cli.invocation import Decision, Invocation
from agent_cli.cli.progress import ProgressLine
from agent_cli.errors import AgentError
from agent_cli.memory.transfers import from_chatgpt, from_claude, from_llm, transfer
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.text import counted

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Import conversations from ChatGPT, Claude or llm. Importing twice adds nothing.",
)

Export = Annotated[Path, typer.Argument(metavar="FILE", help="The exported .zip, its folder, or conversations.json.")]


@app.command(cls=Decision)
def chatgpt(context: typer.Context, file: Export) -> None:
    """Import an export of ChatGPT. A newer one adds what is new; broken entries are reported and skipped (exit 1)."""
    _import(context.obj, from_chatgpt.read_sessions, file, "chatgpt")


@app.command(cls=Decision)
def claude(context: typer.Context, file: Export) -> None:
    """Import an export of Claude. A newer one adds what is new; broken entries are reported and skipped (exit 1)."""
    _import(context.obj, from_claude.read_sessions, file, "claude")


@app.command(cls=Decision)
def llm(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Its logs.db; `llm logs path` says where that is.")],
) -> None:
    """Import what llm has logged. The file is only read; a later import adds what is new."""
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
