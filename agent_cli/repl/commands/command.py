"""`@command`: a function becomes a slash command; its docstring is the help.

A module of this folder whose name ends in `_commands` is loaded by commands.py: nothing else has to name it.
"""

from collections.abc import Callable
from inspect import getdoc

from agent_cli.repl.commands.results import Result
from agent_cli.repl.session.conversation import Conversation
from agent_cli.values import frozen

Run = Callable[[Conversation, str], Result]


@frozen
class Command:
    name: str
    usage: str
    help: str
    run: Run
    aliases: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()  # what its argument may be, by the names in completion.py
    on_file: bool = False  # works on the file, and so not where the conversation is incognito


COMMANDS: dict[str, Command] = {}


def command(
    usage: str, *aliases: str, completes: tuple[str, ...] = (), on_file: bool = False
) -> Callable[[Run], Command]:
    """Register `/name ARGUMENTS` and its other names."""

    def register(function: Run) -> Command:
        name = usage.split()[0]
        COMMANDS[name] = Command(name, usage, getdoc(function) or "", function, aliases, completes, on_file)
        return COMMANDS[name]

    return register
