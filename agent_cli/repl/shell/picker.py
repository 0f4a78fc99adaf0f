"""`agent -r` without an argument: a choice among the latest sessions, by number, handle or words."""

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
    """The session to resume; None when the person leaves. Raises UsageError when there is no session."""
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
            answer = ask("which one? number, handle or words; Enter alone leaves: ").strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if not answer:
            return None
        if answer.isdigit() and 1 <= int(answer) <= len(rows):
            answer = rows[int(answer) - 1]["id"]
        try:
            return sessions.resolve(app.db, answer, owner)
        except UsageError as error:
            print(clean(str(error)))


def _age(app: App, at: str) -> str:
    """How long ago a stored time was, in the largest unit, as in "3 days ago"."""
    now = app.time()
    seconds = max(0.0, (now - clock.parse(at, now)).total_seconds())
    for unit, size in (("year", 365 * 86400), ("month", 30 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60)):
        if count := int(seconds // size):
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"
