"""The arguments of slash commands, as far as several read them alike."""

from agent_cli import text
from agent_cli.errors import UsageError


def refused(name: str, argument: str) -> UsageError:
    """The error for words behind a command that takes none."""
    return UsageError(
        f"{name} takes no {text.one_line(argument, 40)!r}; it was not run, /help {name} says how it is used"
    )


def count(argument: str) -> int:
    """A number of rows, 20 where none is given. Raises UsageError."""
    if argument and not argument.isdigit():
        raise UsageError(f"{argument!r} is no number")
    return int(argument or 20)
