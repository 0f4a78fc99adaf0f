"""`@command` makes a function a slash command; its docstring is the help.

commands.py loads every module of this folder whose name ends in `_commands`: nothing else has to name it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from inspect import getdoc

from agent_cli.repl.commands.results import Result
from agent_cli.repl.session.conversation import Conversation
from agent_cli.values import frozen

CommandFunction = Callable[[Conversation, str], Result]


@frozen
class Command:
    name: str
    usage: str
    help: str
    run: CommandFunction
    aliases: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()  # what its argument may be: keys of completion.ARGUMENTS
    on_file: bool = False  # works on the file, so it is refused in an incognito conversation
    decides: bool = False  # decides for the person, so a session that the assistant started does not run it
    changes: bool = False  # decides without a question, so keys that came together do not run it either
    examples: tuple[str, ...] = ()
    shell: Mapping[str, str] = field(default_factory=dict)  # what it replaces there: {"tasks done": "done"}

    @property
    def module(self) -> str:
        """The last part of the name of its module, as in task_commands."""
        return self.run.__module__.rpartition(".")[2]


COMMANDS: dict[str, Command] = {}


def command(
    usage: str,
    *aliases: str,
    completes: tuple[str, ...] = (),
    on_file: bool = False,
    decides: bool = False,
    changes: bool = False,
    examples: tuple[str, ...] = (),
    shell: Mapping[str, str] | None = None,
) -> Callable[[CommandFunction], Command]:
    """Register `/name ARGUMENTS` and its aliases."""

    def register(function: CommandFunction) -> Command:
        name = usage.split()[0]
        help = re.sub(r"(?<=\S)\n(?=\S)", " ", getdoc(function) or "")  # a paragraph is one line
        COMMANDS[name] = Command(
            name,
            usage,
            help,
            function,
            aliases,
            completes,
            on_file,
            decides or changes,
            changes,
            examples,
            shell or {},
        )
        return COMMANDS[name]

    return register
