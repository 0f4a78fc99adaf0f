"""The text of `agent --help` and `agent --version`, printed before Typer is imported, which shows the same text."""

import os
import sys
from importlib import import_module
from textwrap import wrap
from typing import Any

from agent_cli import __version__

OPTIONS = {
    "-m, --model NAME": "The model for this run.",
    "-c, --continue": "Continue what was last said in this terminal, else in the folder.",
    "-r, --resume SESSION": "Resume a session: its handle, or words in it.",
    "-i, --interactive": "Ask what is piped in, then go on at the keyboard.",
    "--as CALLER": "Work in the memory of a caller of `agent serve`.",
    "--db FILE": "The database file (AGENT_DB).",
    "--no-memory": "Read nothing of memory; the run is still kept.",
    "--incognito": "Write nothing, and read nothing of memory unless --memory.",
    "--memory": "Read memory in an incognito run.",
    "--color auto|always|never": "Whether to use colours (NO_COLOR, FORCE_COLOR).",
    "--plain": "Text as the model wrote it, without styles.",
    "--screen-reader": "Nothing that moves, choices by number (ACCESSIBLE).",
    "-q, --quiet": "Fewer lines on standard error.",
    "-v, --verbose": "More lines on standard error.",
    "--version": "Show the version.",
    "-h, --help": "Show this message and exit.",
}

GROUPS = {  # as /help has them
    "Talk": {
        "ask": "Ask one question; answer and end. Reads standard input, so it works in pipes.",
        "demo": "Play short conversations on a throw-away database: memory in twenty seconds.",
    },
    "Memory": {
        "search": "Search conversations, notes, summaries, facts and documents.",
        "why": "Show what was recalled for a question, and why.",
        "notes": "Write, find and change notes.",
        "facts": "What is known about you.",
        "skills": "How things are done: procedures you wrote or approved, as SKILL.md files.",
        "summaries": "Show and rebuild what remains of days, weeks, months, quarters, years.",
        "forget": "Erase what is remembered, with all that came of it, and prove it.",
        "retention": "Show and remove what is old and summarised; off by default.",
        "index": "Show and rebuild what search uses.",
    },
    "Plans and files": {
        "remind": "Add a task with a reminder: agent remind call the dentist friday 3pm.",
        "tasks": "List and change what is to be done.",
        "docs": "Read files, so that their content can be found.",
        "schedule": "Run prompts and skills by the clock.",
    },
    "Sessions": {
        "sessions": "List, show, close, export and import conversations.",
        "import": "Import from ChatGPT, Claude, llm, Claude Code, Codex CLI or Gemini CLI.",
    },
    "Model": {"models": "List the models of the server, choose or fetch one."},
    "Program": {
        "config": "Show and change the settings.",
        "db": "Back up, restore, check, seal, export and compact the database file.",
        "sync": "Exchange what is remembered with your other machines, through a folder.",
        "stats": "Count tokens, time and cost of the answers.",
        "log": "What has happened: what was allowed, written, decided; what the tools did.",
        "jobs": "See and run queued work.",
        "mcp": "Offer this memory to other assistants, and see the tools of other programs.",
        "hook": "Let Claude Code or Codex CLI use this memory.",
        "acp": "Serve the assistant to an editor that speaks the Agent Client Protocol.",
        "serve": "Serve the assistant to other programs over HTTP, and say which may connect.",
        "doctor": "Check the server, the model, the database and the terminal.",
        "completion": "Print a script that completes commands in your shell.",
    },
}
COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}
VERSION = f"agent {__version__}"
_WIDTH = 80
_MORE = (
    "agent COMMAND --help tells more of each. The options above may also follow a command. Where another program is "
    "called agent, this one answers to agent-cli."
)

_BESIDE = {  # commands that stand in the module of another
    command: host
    for host, commands in {
        "search": "why index docs",
        "notes": "remind tasks",
        "summaries": "retention",
        "sessions": "import",
        "config": "models doctor",
        "log": "stats jobs",
        "serve": "mcp acp",
        "ask": "demo",
    }.items()
    for command in commands.split()
}


def module(command: str) -> str:
    return f"agent_cli.cli.{_BESIDE.get(command, command)}"


def app(command: str) -> Any:
    return getattr(import_module(module(command)), f"{command}_app" if command in _BESIDE else "app")


def help() -> str:
    """The help, in lines of at most 80 characters, fewer in a narrower window."""
    about = _wrapped("A terminal assistant that remembers. Without a command it starts a conversation.")
    lines = ["Usage: agent [OPTIONS] [COMMAND ...]", "", *about, "", "Options:", *_rows(OPTIONS)]
    for name, commands in GROUPS.items():
        lines += ["", f"{name}:", *_rows(commands, max(map(len, COMMANDS)))]
    return "\n".join([*lines, "", *_wrapped(_MORE)])


def answer(arguments: list[str]) -> str:
    """The text to print when only the help or the version is asked for; else empty."""
    match arguments:
        case ["--version"]:
            return VERSION
        case ["-h" | "--help"]:
            return help()
        case _:
            return ""


def _width() -> int:
    """The width of the window, at most 80. This module imports nothing that takes time."""
    try:
        return min(_WIDTH, os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH)
    except (OSError, ValueError):  # no terminal, or closed
        return _WIDTH


def _rows(table: dict[str, str], longest: int = 0) -> list[str]:
    """Lines with the names on the left and their wrapped descriptions beside them, or below them in a narrow window."""
    margin = (longest or max(map(len, table))) + 4
    if _width() < 2 * margin:
        margin = 6
    rows = []
    for name, description in table.items():
        row = f"  {name}"
        if len(row) >= margin:
            rows.append(row)
            row = ""
        rows += _wrapped(description, row.ljust(margin), " " * margin)
    return rows


def _wrapped(text: str, row: str = "", indent: str = "") -> list[str]:
    """The text in lines that fit; the first begins with `row`, the others with `indent`."""
    return wrap(text, _width(), initial_indent=row, subsequent_indent=indent, break_long_words=False)
