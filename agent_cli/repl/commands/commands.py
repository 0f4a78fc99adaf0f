"""The registry of slash commands: making a function one, finding it by a typed line, running it, and what it returns.

`@command` makes a function a slash command; its docstring is the help. Every module of this folder whose name ends in
`_commands` is loaded. The shell carries out what a command returns: it runs work like a turn, prints a text, and so on.
"""

import re
import textwrap
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from importlib import import_module
from inspect import getdoc
from pkgutil import iter_modules
from typing import Any

from agent_cli import terminal, text
from agent_cli.agent.events import Work
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.memory.conversations.sessions import Session
from agent_cli.messages import Part
from agent_cli.render.layout import Verbatim, wrapped
from agent_cli.render.styles import BOLD, DIM, Display
from agent_cli.repl import commands as folder
from agent_cli.repl.conversation import Conversation
from agent_cli.values import frozen


@frozen
class Asking:
    """A question whose typed answer, in lower case, leads to the result; `text` stands above it."""

    text: str
    ask: str
    answer: Callable[[str], "Result"]


@frozen
class PromptDraft:
    """A line to be edited at the prompt. `parts`: the parts of the message that it comes from."""

    notice: str
    line: str
    parts: tuple[Part, ...]


@frozen
class Screen:
    """Has the terminal until the person leaves it; `show` returns what follows."""

    show: Callable[[], Awaitable["Result"]]


@frozen
class Page:
    draw: Callable[[Display], str]


@frozen
class Resumed:
    """A session that goes on, with what was not finished in it."""

    session: Session
    unfinished: Work | None


Result = Work | Resumed | Screen | Page | Asking | PromptDraft | str | None


class Leave(Exception):
    """The person leaves the conversation; `to` is the app to go on with, in a conversation of its own. `locks`: with
    the same conversation, once the file has been opened again."""

    def __init__(self, to: App | None = None, *, locks: bool = False):
        self.to, self.locks = to, locks


def unexpected(name: str, argument: str) -> UsageError:
    typed = text.one_line(argument, 40)
    return UsageError(f"{name} takes no {typed!r}; it was not run, /help {name} says how it is used")


def count(argument: str) -> int:
    """A number of rows; 20 where none is given. Raises UsageError."""
    if argument and not argument.isdigit():
        raise UsageError(f"{text.one_line(argument, 40)!r} is not a number: write how many, as in 50")
    return int(argument or 20)


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


COMMANDS: dict[str, Command] = {}


def command(
    usage: str, *aliases: str, decides: bool = False, changes: bool = False, **settings: Any
) -> Callable[[CommandFunction], Command]:
    """Register `/name ARGUMENTS` and its aliases. For the settings see Command."""

    def register(function: CommandFunction) -> Command:
        name, decides_too = usage.split()[0], decides or changes
        help = re.sub(r"(?<=\S)\n(?=\S)", " ", getdoc(function) or "")  # a paragraph is one line
        made = Command(name, usage, help, function, aliases, decides=decides_too, changes=changes, **settings)
        COMMANDS[name] = made
        return made

    return register


deciding = partial(command, on_file=True, decides=True)
changing = partial(command, on_file=True, changes=True)
GROUPS = (  # what commands are for; one that is not named is of the last
    ("Talk", "change, repeat and copy messages", "btw copy edit editor raw retry undo"),
    (
        *("Memory", "keep, find, check and forget"),
        "facts forget note notes profile remember review search show skills update why",
    ),
    ("Plans and files", "tasks, reminders and documents", "remind tasks docs"),
    ("Sessions", "begin, end and go on", "new close sessions resume rename export incognito lock exit summary"),
    ("Model", "who answers, and what it sees", "model tools context"),
    ("Program", "settings, checks and records", ""),
)
SLASH = {  # commands of a shell, and what takes their place in a session
    **{f"{noun} list": f"/{noun}" for noun in ("docs", "facts", "notes", "sessions", "skills", "tasks")},
    **{f"docs {verb}": f"/docs {verb}" for verb in ("add", "sync", "rm")},
    **{f"tasks {verb}": f"/tasks {verb}" for verb in ("done", "snooze", "rm", "restore", "reopen")},
    **{f"facts {verb}": f"/profile {verb}" for verb in ("always", "never")},
    **{name: f"/{name}" for name in ("doctor", "forget", "remind", "search")},
    **dict.fromkeys(("facts list --all", "facts search"), "/facts"),
    **dict.fromkeys(("facts review", "skills review"), "/review"),
    **dict.fromkeys(("config set", "config show"), "/set"),
    "facts add": "/remember",
    "facts profile": "/profile",
    "facts undo": "/undo",
    "models use": "/model",
    "notes add": "/note",
    "search --kind file": "/search",
    "skills show": "/skills",
}
_SHELL_COMMAND = text.Pattern(r"“[^“”]*”|`agent ([^`\n]+)`", words=("`agent ",))  # quoted words are not the program's


@cache
def registry() -> Mapping[str, Command]:
    """All commands, by name. Their modules are loaded here: with what they use, a third of the program."""
    for module in iter_modules(folder.__path__):
        if module.name.endswith("_commands"):
            import_module(f"{folder.__name__}.{module.name}")
    return COMMANDS


def find(line: str, is_skill: Callable[[str], bool] = lambda name: False) -> tuple[Command, str] | None:
    """The command of a line and its argument; None when the line is meant for the model, as where it names a skill.

    A command is a slash and a word: `/etc/hosts is empty` is text. An unknown one never reaches the model: UsageError.
    """
    line = "/help" if line.strip().lower() in ("help", "/") else line.strip()
    match = re.fullmatch(r"(/[a-z?-]+)(?:\s+(.*))?", line, re.DOTALL)
    if match is None:
        return None
    typed, argument = match[1], (match[2] or "").strip()
    names = {name: each for each in registry().values() for name in (each.name, *each.aliases)}
    if typed not in names and is_skill(typed[1:]):
        return None
    candidates = {names[name].name for name in names if name.startswith(typed)}
    if typed in names or len(candidates) == 1:
        found = names[typed] if typed in names else registry()[candidates.pop()]
        if argument in ("--help", "-h"):  # as in a shell; never kept as a note
            return registry()["/help"], found.name
        if argument and found.usage == found.name:
            raise unexpected(found.name, argument)
        return found, argument
    similar = " or ".join(sorted(candidates)) or text.nearest(typed, names)
    raise UsageError(f"there is no {typed}; {f'did you mean {similar}?' if similar else '/help lists them all'}")


def in_session(message: str) -> str:
    """A message with slash commands for those of a shell; one that has none is said to be typed in a shell."""

    def slash_command(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        words = found[1].split()
        for count in range(len(words), 0, -1):
            rest, slash = words[count:], SLASH.get(" ".join(words[:count]))
            if slash and not any(each.startswith("--") for each in rest):
                return " ".join([slash, *rest])
        return f"{found[0]} in a shell"

    return message if isinstance(message, Verbatim) else type(message)(_SHELL_COMMAND.sub(slash_command, message))


def listing() -> list[Command]:
    return sorted(registry().values(), key=lambda each: each.name)


def run(conversation: Conversation, found: Command, argument: str) -> Result:
    """Run a command. Raises UsageError where an incognito conversation, or one of the assistant's, may not."""
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
    known = {f"/{command}": name for name, _, names in GROUPS for command in names.split()}
    for name, purpose, _ in GROUPS:
        names = [each.name for each in listing() if known.get(each.name, GROUPS[-1][0]) == name]
        beside = display.styled(f"  {purpose}", DIM) if len(name) + 4 + len(purpose) <= display.width() else ""
        lines.append(f"{display.styled(name, BOLD)}{beside}")
        lines += textwrap.wrap("  ".join(names), display.width() - 2, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([*lines, *wrapped("/help NAME says more of one, with examples", display.width() - 2)])
