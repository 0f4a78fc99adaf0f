"""The registry of slash commands: finding one by a typed line, and running it. Completion, /help and docs/ use it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from agent_cli import terminal
from agent_cli.errors import UsageError
from agent_cli.render.layout import Verbatim, wrap
from agent_cli.render.styles import BOLD, DIM, Display
from agent_cli.repl import commands as folder
from agent_cli.repl.commands import arguments
from agent_cli.repl.commands.command import COMMANDS, Command, command
from agent_cli.repl.commands.results import Page, Result
from agent_cli.repl.session.conversation import Conversation
from agent_cli.text import Pattern, nearest

_GROUPS = (  # what commands are for, and the modules in which they stand
    ("Talk", "change, repeat and copy messages", "exchange_commands answer_commands"),
    ("Memory", "keep, find, check and forget", "memory_commands fact_commands skill_commands"),
    ("Plans and files", "tasks, reminders and documents", "task_commands document_commands"),
    ("Sessions", "begin, end and go on", "session_commands summary_commands"),
    ("Model", "who answers, and what it sees", "request_commands"),
    ("Program", "settings, checks and records", "setting_commands commands"),
)
_SHELL_COMMAND = Pattern(r"“[^“”]*”|`agent ([^`\n]+)`", words=("`agent ",))  # quoted words are not the program's


@cache
def registry() -> Mapping[str, Command]:
    """All commands, by name. Their modules are loaded here: with what they use, a third of the program."""
    for module in iter_modules(folder.__path__):
        if module.name.endswith("_commands"):
            import_module(f"{folder.__name__}.{module.name}")
    return COMMANDS


def find(line: str) -> tuple[Command, str] | None:
    """The command of a line and its argument; None when the line is meant for the model.

    A command is a slash and a word: `/etc/hosts is empty` is text. "Help" and a slash alone ask for /help. Raises
    UsageError for an unknown command, which never reaches the model, and for an argument to a command that takes none.
    """
    line = "/help" if line.strip().lower() in ("help", "/") else line.strip()
    match = re.fullmatch(r"(/[a-z?-]+)(?:\s+(.*))?", line, re.DOTALL)
    if match is None:
        return None
    typed, argument = match[1], (match[2] or "").strip()
    names = {name: each for each in registry().values() for name in (each.name, *each.aliases)}
    candidates = {names[name].name for name in names if name.startswith(typed)}
    if typed in names or len(candidates) == 1:
        found = names[typed] if typed in names else registry()[candidates.pop()]
        if argument and found.usage == found.name:
            raise arguments.unexpected(found.name, argument)
        return found, argument
    similar = " or ".join(sorted(candidates)) or nearest(typed, names)
    hint = f"; did you mean {similar}?" if similar else "; /help lists them all"
    raise UsageError(f"there is no {typed}{hint}")


def in_session(message: str) -> str:
    """A message with the slash commands in place of those of a shell, such as `agent tasks list`.

    One that has no slash command is said to be typed in a shell.
    """
    return message if isinstance(message, Verbatim) else type(message)(_SHELL_COMMAND.sub(_slash_command, message))


def _slash_command(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    names = {shell: (each.name, begin) for each in registry().values() for shell, begin in each.shell.items()}
    words = found[1].split()
    for count in range(len(words), 0, -1):
        rest = words[count:]
        if (name := names.get(" ".join(words[:count]))) and not any(each.startswith("--") for each in rest):
            return " ".join(filter(None, (*name, *rest)))
    return f"{found[0]} in a shell"


def listing() -> list[Command]:
    """All commands, by name."""
    return sorted(registry().values(), key=lambda each: each.name)


def run(conversation: Conversation, found: Command, argument: str) -> Result:
    """Run a command. Raises UsageError for one that works on the file in an incognito conversation, and for one that
    decides in a session that the assistant started."""
    if found.decides and conversation.app.child:
        raise UsageError(terminal.OF_ASSISTANT)
    if found.on_file:
        conversation.app.refuse_incognito()
    return found.run(conversation, argument)


@command("/help [COMMAND]", "/?", completes=("command",), examples=("/help", "/help forget"))
def help(conversation: Conversation, argument: str) -> Result:
    """List the commands, or explain one."""
    if argument:
        found = find("/" + argument.removeprefix("/"))
        each = found[0] if found else help
        others = f" (also {', '.join(each.aliases)})" if each.aliases else ""
        examples = "\n             ".join(each.examples)
        return f"{each.usage}{others}\n{each.help}" + (f"\n\nfor example  {examples}" if examples else "")
    return Page(_overview)


def _overview(display: Display) -> str:
    """All commands by what they are for, on one screen."""
    lines = []
    for (name, purpose), found in _grouped():
        beside = display.styled(f"  {purpose}", DIM) if len(name) + 4 + len(purpose) <= display.width() else ""
        lines.append(f"{display.styled(name, BOLD)}{beside}")
        lines += [f"  {line}" for line in _filled([each.name for each in found], display.width() - 4)]
    return "\n".join([*lines, *wrap("/help NAME says more of one, with examples", display.width() - 2).split("\n")])


def _filled(names: Sequence[str], width: int) -> list[str]:
    lines = [names[0]]
    for name in names[1:]:
        if len(lines[-1]) + 2 + len(name) > width:
            lines.append(name)
        else:
            lines[-1] += f"  {name}"
    return lines


def _grouped() -> Iterator[tuple[tuple[str, str], list[Command]]]:
    for name, purpose, _ in _GROUPS:
        if found := [each for each in listing() if _group(each) == name]:
            yield (name, purpose), found


def _group(each: Command) -> str:
    return next((name for name, _, modules in _GROUPS if each.module in modules.split()), _GROUPS[-1][0])
