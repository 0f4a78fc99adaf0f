"""Arguments that several slash commands read alike."""

from agent_cli import text
from agent_cli.errors import UsageError


def unexpected(name: str, argument: str) -> UsageError:
    """The error for an argument that a command does not take."""
    return UsageError(
        f"{name} takes no {text.one_line(argument, 40)!r}; it was not run, /help {name} says how it is used"
    )


def count(argument: str) -> int:
    """A number of rows; 20 where none is given. Raises UsageError."""
    if argument and not argument.isdigit():
        raise UsageError(f"{text.one_line(argument, 40)!r} is not a number: write how many, as in 50")
    return int(argument or 20)
