"""`agent facts review`: look at what waits for your yes, and decide.

Only a person at a terminal decides. Where input or output is not a terminal, the queue is printed and nothing is
decided, whatever is piped in.
"""

import errno
import os
import signal
import sys
from typing import Annotated

import typer

from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import AsJson
from agent_cli.memory.conversations import sessions
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.review import review as queue
from agent_cli.memory.review.review import Proposal


def review(
    context: typer.Context,
    session: Annotated[str, typer.Option("--session", help="Only what was said or learned in this session.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Print how many wait; exit 1 if any does.")] = False,
    as_json: AsJson = False,
    screen_reader: Annotated[
        bool, typer.Option("--screen-reader", envvar="ACCESSIBLE", help="Sentences and numbers instead of keys.")
    ] = False,
) -> None:
    """Decide on what waits for your yes; without a terminal, print it."""
    app = context.obj.app()
    reviewer = app.memory
    among = sessions.resolve(app.db, session, app.scope.owner).id if session else None
    if expired := queue.expiry_notice(reviewer):
        output.note(expired)
    waiting = queue.pending(reviewer, among)
    if check:
        output.say(str(len(waiting)))
        raise typer.Exit(1 if waiting else 0)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        read = (queue.read(reviewer, ticket) for ticket in waiting)
        _print([proposal for proposal in read if proposal], app, as_json)
        return
    consent.require_own_terminal(app)
    _decide(app, reviewer, among, screen_reader)


def _print(proposals: list[Proposal], app: App, as_json: bool) -> None:
    if as_json:
        output.put_json([proposal.describe() for proposal in proposals])
        return
    from agent_cli.repl import pages  # needed only for printing

    for kind in dict.fromkeys(proposal.kind for proposal in proposals):
        of_kind = [proposal for proposal in proposals if proposal.kind == kind]
        for number, proposal in enumerate(of_kind, 1):
            place = (number, len(of_kind))
            for line, _ in pages.proposal_lines(proposal, place, app.time(), None, more=True):
                output.say(line)


def _decide(app: App, reviewer: MemoryContext, session: int | None, screen_reader: bool) -> None:
    import asyncio

    from prompt_toolkit.utils import is_dumb_terminal

    from agent_cli.repl.keyboard.key_reader import LineReader
    from agent_cli.repl.review import (
        ReviewScreen,  # prompt-toolkit: 100 ms that only a person's decisions need
    )

    async def decide() -> int:
        if is_dumb_terminal():  # on other terminals Ctrl-C is a key
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, LineReader.interrupt)
        return await ReviewScreen(reviewer, app.config.editor, screen_reader=screen_reader, session=session).run()

    try:
        decided = asyncio.run(decide())
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise typer.Exit(129) from error
    finally:
        _discard_unread_output()
    if decided:
        upkeep.after_turn(app, app.db)


def _discard_unread_output() -> None:
    """Discard unread output when the terminal has gone: flushing it at exit would change the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
