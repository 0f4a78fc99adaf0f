"""The registry of slash commands: finding one by a typed line, and running it. Completion, /help and README use it."""

import re
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

from agent_cli.errors import UsageError
from agent_cli.repl import commands as folder
from agent_cli.repl.commands import arguments
from agent_cli.repl.commands.command import COMMANDS, Command, command
from agent_cli.repl.commands.results import Result
from agent_cli.repl.session.conversation import Conversation

for _module in iter_modules(folder.__path__):
    if _module.name.endswith("_commands"):
        import_module(f"{folder.__name__}.{_module.name}")


def find(line: str) -> tuple[Command, str] | None:
    """The command of a line and its argument; None when the line is meant for the model.

    A command is a slash and a word: `/etc/hosts is empty` is text. Raises UsageError for an unknown command, which
    never reaches the model, and for an argument to a command that takes none.
    """
    match = re.fullmatch(r"(/[a-z?-]+)(?:\s+(.*))?", line.strip(), re.DOTALL)
    if match is None:
        return None
    typed, argument = match[1], (match[2] or "").strip()
    names = {name: each for each in COMMANDS.values() for name in (each.name, *each.aliases)}
    candidates = {names[name].name for name in names if name.startswith(typed)}
    if typed in names or len(candidates) == 1:
        found = names[typed] if typed in names else COMMANDS[candidates.pop()]
        if argument and found.usage == found.name:
            raise arguments.unexpected(found.name, argument)
        return found, argument
    similar = sorted(candidates) or get_close_matches(typed, names, 1)
    hint = f"; did you mean {' or '.join(similar)}?" if similar else "; /help lists them all"
    raise UsageError(f"there is no {typed}{hint}")


def listing() -> list[Command]:
    """All commands, by name."""
    return sorted(COMMANDS.values(), key=lambda each: each.name)


def run(conversation: Conversation, found: Command, argument: str) -> Result:
    """Run a command. Raises UsageError when it works on the file and the conversation is incognito."""
    if found.on_file:
        conversation.app.refuse_incognito()
    return found.run(conversation, argument)


@command("/help [COMMAND]", "/?", completes=("command",))
def help(conversation: Conversation, argument: str) -> Result:
    """List the commands, or explain one."""
    if argument:
        found = find("/" + argument.removeprefix("/"))
        each = found[0] if found else help
        others = f" (also {', '.join(each.aliases)})" if each.aliases else ""
        return f"{each.usage}{others}\n{each.help}"
    return "\n".join(f"{each.usage:<21}  {each.help.splitlines()[0]}" for each in listing())
