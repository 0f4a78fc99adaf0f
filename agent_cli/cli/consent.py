"""A person's yes: one key or a typed line at the terminal of this process, whatever its command line says.

Scripts of a person's own have one way, `agent facts scripts on`. It is kept in the database whose facts it is about,
not in the settings: those can be put elsewhere by a variable of the environment.
"""

import sys

from agent_cli import terminal
from agent_cli.app.app import App
from agent_cli.errors import AgentError, NobodyAsked, UsageError
from agent_cli.store import events, meta
from agent_cli.text import clean

_UNATTENDED = "unattended decisions"  # the key under which it is kept
NO_TERMINAL = "that takes a key at a terminal, and there is none here (`agent facts scripts --help`)"
PRICE = "every program that runs as you could then accept, change and erase what is remembered, without asking you"


def obtain(app: App, question: str, without: str) -> None:
    """Ask for a yes; `without` is what the error says first when there is none.

    Raises UsageError in a process of the assistant's, NobodyAsked without a terminal, AgentError after another key.
    """
    _refuse_child(app)
    if not is_unattended(app):
        ask(question, without)


def ask(question: str, without: str) -> None:
    """Ask for a yes at the terminal, whatever is set for scripts. Raises NobodyAsked, and AgentError like `obtain`."""
    try:
        key = terminal.key(clean(f"{question} y, anything else no: "))
    except terminal.NoTerminal:
        raise NobodyAsked(f"{without}: {NO_TERMINAL}") from None
    if key != "y":
        raise AgentError(without)


def is_possible() -> bool:
    """Whether input and output are the terminal of this process, so that a person sees the question and can answer."""
    return terminal.is_own(sys.stdin.fileno(), sys.stdout.fileno())


def require_own_terminal(app: App) -> None:
    """Raises UsageError in a process of the assistant's, NobodyAsked where what is typed could be anybody's."""
    _refuse_child(app)
    if not is_possible():
        raise NobodyAsked(terminal.NOT_OWN)


def answer(question: str) -> str:
    """The typed line in lower case. Only where `is_possible`."""
    sys.stdout.flush()
    return terminal.line(clean(question))


def is_unattended(app: App) -> bool:
    """Whether commands decide without asking."""
    return meta.get(app.db, _UNATTENDED) is not None


def set_unattended(app: App, wanted: bool) -> None:
    """Let commands decide without asking, after a yes at the terminal, or ask again. Raises like `obtain`."""
    _refuse_child(app)
    if not wanted:
        with app.db.write():
            meta.drop(app.db, _UNATTENDED)
            events.append(app.db, app.time, "scripts ask", "", actor="person")
        return
    ask(f"{PRICE}; allow it?", "nothing was changed")
    with app.db.write():
        meta.put(app.db, _UNATTENDED, app.time().isoformat())
        events.append(app.db, app.time, "scripts decide", "", actor="person")


def _refuse_child(app: App) -> None:
    if app.child:
        raise UsageError(terminal.OF_ASSISTANT)
