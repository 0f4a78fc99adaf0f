"""`agent -r` alone: the latest sessions to choose from, by number, handle or words."""

from prompt_toolkit import PromptSession
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli import clock
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.text import clean, one_line

_SHOWN = 15


def pick(app: App) -> Session | None:
    """The session the person wants to go on with; None when they leave. Raises UsageError when there is none."""
    owner = app.scope.owner
    rows = sessions.listing(app.db, owner, _SHOWN)
    if not rows:
        raise UsageError("there is no session to resume yet; start one without -r")
    for number, row in enumerate(rows, 1):
        turns = f"{row['turns']} turn{'s' * (row['turns'] != 1)}"
        print(f"{number:>3}  {row['id']:<6} {one_line(row['title'], 60)}  ({_age(app, row['last_at'])}, {turns})")
    ask = input if is_dumb_terminal() else PromptSession[str]().prompt
    while True:
        try:
            told = ask("which one? number, handle or words; Enter alone leaves: ").strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if not told:
            return None
        if told.isdigit() and 1 <= int(told) <= len(rows):
            told = rows[int(told) - 1]["id"]
        try:
            return sessions.resolve(app.db, told, owner)
        except UsageError as error:
            print(clean(str(error)))


def _age(app: App, at: str) -> str:
    """How long ago something was, in the largest unit that says it."""
    now = app.time()
    seconds = max(0.0, (now - clock.parse(at, now)).total_seconds())
    for unit, size in (("year", 365 * 86400), ("month", 30 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60)):
        if count := int(seconds // size):
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"
