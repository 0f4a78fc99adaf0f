"""A person's yes: one key or a typed line at the terminal of this process, and the review of what waits for it.

`agent facts scripts on` lets scripts decide. It is kept in the database, since settings can be put elsewhere by a
variable of the environment. Without a terminal a review prints what waits and decides nothing, whatever is piped in.
"""

import signal
import sys
from typing import TYPE_CHECKING

from typer import Exit

from agent_cli import terminal
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.options import AsJson, flag, option
from agent_cli.errors import AgentError, NobodyAsked, UsageError
from agent_cli.store import events, meta
from agent_cli.text import clean

if TYPE_CHECKING:
    from agent_cli.memory.review.review import Proposal

_UNATTENDED = "unattended decisions"  # the key under which it is kept
NO_TERMINAL = "that takes a key at a terminal, and there is none here (`agent facts scripts --help`)"
PRICE = "every program that runs as you could then accept, change and erase what is remembered, without asking you"


def obtain(app: App, question: str, without: str) -> None:
    """Ask for a yes, if need be; `without` begins the error. Raises UsageError, NobodyAsked and AgentError."""
    _refuse_child(app)
    if not is_unattended(app):
        ask(question, without)


def ask(question: str, without: str) -> None:
    """Ask for a yes at the terminal, whatever is set for scripts. Raises NobodyAsked, and AgentError like `obtain`."""
    from agent_cli.repl.keyboard import key_reader  # prompt-toolkit: only a question needs it

    try:
        key = key_reader.ask(clean(f"{question} y, anything else no: "), key=True)
    except terminal.NoTerminal:
        raise NobodyAsked(f"{without}: {NO_TERMINAL}") from None
    if key != "y":
        raise AgentError(without)


def is_possible() -> bool:
    """Whether input and output are the terminal of this process, so that a person sees the question and can answer."""
    return terminal.is_own(sys.stdin.fileno(), sys.stdout.fileno())


def answer(question: str) -> str:
    """The typed line in lower case. Only where `is_possible`."""
    from agent_cli.repl.keyboard import key_reader

    sys.stdout.flush()
    return key_reader.ask(clean(question), key=False)


def confirm(question: str, without: str, look: str = "--dry-run") -> None:
    """Have the person type yes; `look`: a flag that only shows. Raises UsageError and AgentError."""
    if not is_possible():
        first = f"look at it with {look}, then " if look else ""
        raise UsageError(f"{without}: {first}say --yes, or run it at a terminal")
    if answer(f"{question} type yes: ") != "yes":
        raise AgentError(without)


def is_unattended(app: App) -> bool:
    """Whether commands decide without asking."""
    return meta.get(app.db, _UNATTENDED) is not None


def set_unattended(app: App, wanted: bool) -> None:
    """Let commands decide without asking, after a yes at the terminal, or ask again. Raises like `obtain`."""
    _refuse_child(app)
    if wanted:
        ask(f"{PRICE}; allow it?", "nothing was changed")
    with app.db.write():
        if wanted:
            meta.put(app.db, _UNATTENDED, app.time().isoformat())
        else:
            meta.drop(app.db, _UNATTENDED)
        events.append(app.db, app.time, "scripts decide" if wanted else "scripts ask", "", actor="person")


def _refuse_child(app: App) -> None:
    if app.child:
        raise UsageError(terminal.OF_ASSISTANT)


def review(
    app_: App,
    session: str = option("--session", "Only what was said or learned in this session.", ""),
    check: bool = flag("--check", "Print how many wait; exit 1 if any does."),
    as_json: AsJson = False,
) -> None:
    """Decide on what waits for your yes; without a terminal, print it."""
    from agent_cli.memory.conversations import sessions  # not for a yes alone
    from agent_cli.memory.review import review as queue

    app: App = app_
    among = sessions.resolve(app.db, session, app.scope.owner).id if session else None
    if expired := queue.expiry_notice(app.memory):
        output.note(expired)
    waiting = queue.pending(app.memory, among)
    if check:
        output.say(str(len(waiting)))
        raise Exit(1 if waiting else 0)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        read = (queue.read(app.memory, ticket) for ticket in waiting)
        _print([proposal for proposal in read if proposal], app, as_json)
        return
    _refuse_child(app)
    if not is_possible():  # what is typed could be anybody's
        raise NobodyAsked(terminal.NOT_OWN)
    _decide(app, among)


def _print(proposals: list["Proposal"], app: App, as_json: bool) -> None:
    if as_json:
        output.put_json([proposal.describe() for proposal in proposals])
        return
    from agent_cli.repl import pages  # needed only for printing

    for kind in dict.fromkeys(proposal.kind for proposal in proposals):
        of_kind = [proposal for proposal in proposals if proposal.kind == kind]
        for number, proposal in enumerate(of_kind, 1):
            page = pages.proposal_lines(proposal, (number, len(of_kind)), app.time(), None, more=True)
            output.lines(line for line, _ in page)


def _decide(app: App, session: int | None) -> None:
    import asyncio

    from prompt_toolkit.utils import is_dumb_terminal

    from agent_cli.app import upkeep
    from agent_cli.repl.keyboard.key_reader import LineReader
    from agent_cli.repl.review import ReviewScreen  # prompt-toolkit: only a person's decisions need it

    async def decide() -> int:
        if is_dumb_terminal():  # on other terminals Ctrl-C is a key
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, LineReader.interrupt)
        return await ReviewScreen(app.memory, app.config.editor, session=session).run()

    if asyncio.run(decide()):
        upkeep.after_turn(app, app.db)
