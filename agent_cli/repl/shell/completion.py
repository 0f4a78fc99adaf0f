"""Completion at the prompt: commands and their arguments, files after an @, and on Tab the names that memory knows.

It runs on a thread, with a connection of its own, at every key of a command or a path: what it reads is bounded.
A command names in its `completes` which of ARGUMENTS it takes.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_cli import kinds
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.config import settings_file
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.dates import periods
from agent_cli.memory.search import handle_completion
from agent_cli.memory.skills import skills
from agent_cli.messages import Part, join_parts
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Command
from agent_cli.text import Pattern, clean, one_line, visible

_ARGUMENT = Pattern(r"(/[a-z?-]+)[ \t]+(.*)")
_PATH = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]*)|([^\s\"]*))$")
_LIMIT = 50
_TAIL = 300  # characters before the cursor that are searched for an @ or a name
_MAX_ENTRIES = 10_000  # of one folder
_MODELS_TTL = 10.0  # seconds for which the list of the server's models is cached
_MAX_NAME = 60  # characters of a name that is suggested


class CompletionItem(NamedTuple):
    """`text` replaces the `replaces` characters before the cursor; `description` is shown beside it."""

    text: str
    replaces: int
    description: str = ""


class PromptCompleter(Completer):
    def __init__(self, app: App):
        self._app = app

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        with suppress(AgentError):  # the next command reports what cannot be read
            for text, replaces, description in islice(
                _suggestions(self._app, before, complete_event.completion_requested), _LIMIT
            ):
                yield Completion(text, -replaces, display_meta=one_line(description, 70))


def while_typing(before: str) -> bool:
    """Whether the text before the cursor is completed without Tab: after a slash or an @."""
    if before.startswith("/") and "\n" not in before:
        return " " not in before or _command_and_argument(before) is not None
    return _PATH.search(before[-_TAIL:]) is not None


def _suggestions(app: App, before: str, requested: bool) -> Iterable[CompletionItem]:
    if before.startswith("/") and "\n" not in before:
        if " " not in before:
            return chain(_commands(before), _skills(app, before))
        if found := _command_and_argument(before):
            command, argument = found
            return chain.from_iterable(ARGUMENTS[kind](app, argument) for kind in command.completes)
    if path := _PATH.search(before[-_TAIL:]):
        return _paths(path[2] if path[1] is None else path[1], quoted=path[1] is not None)
    return _names(app, before[-_TAIL:]) if requested else ()


def _command_and_argument(before: str) -> tuple[Command, str] | None:
    """The command whose argument is being typed, and the argument; None where it cannot be completed."""
    if match := _ARGUMENT.fullmatch(before):
        for each in commands.listing():
            if match[1] in (each.name, *each.aliases):
                return (each, match[2]) if each.completes else None
    return None


def _commands(typed: str, slash: str = "") -> Iterator[CompletionItem]:
    for each in commands.listing():
        if each.name.startswith(slash + typed):
            yield CompletionItem(each.name.removeprefix(slash), len(typed), each.help.splitlines()[0])


def _skills(app: App, typed: str) -> Iterator[CompletionItem]:
    with closing(app.db.another_connection()) as db:
        for each in skills.listing(db, app.scope.owner) if app.reads else ():
            if f"/{each.name}".startswith(typed):
                yield CompletionItem(f"/{each.name}", len(typed), one_line(each.description, 60))


def _choices(names: Iterable[str], typed: str) -> Iterator[CompletionItem]:
    return (CompletionItem(name, len(typed)) for name in names if name.startswith(typed))


def _handles(*names: str, whole: bool = False) -> Callable[[App, str], Iterator[CompletionItem]]:
    """Suggest handles by their prefix or their text; `whole`: complete the whole argument, else its last word."""

    def suggest(app: App, typed: str) -> Iterator[CompletionItem]:
        prefix = typed if whole or not typed else (typed[-1:].strip() and typed.split()[-1])
        with closing(app.db.another_connection()) as db:
            for handle, description in handle_completion.handles(db, app.scope.owner, names, prefix):
                yield CompletionItem(handle, len(prefix), description)

    return suggest


def _paths(typed: str, quoted: bool = False) -> Iterator[CompletionItem]:
    """Files and folders whose path begins so; hidden ones after a dot. A path with blanks is quoted."""
    folder, prefix = typed[: typed.rfind("/") + 1], typed.rpartition("/")[2]
    found: list[tuple[str, bool]] = []
    with suppress(OSError, ValueError, RuntimeError), os.scandir(Path(folder or ".").expanduser()) as entries:
        for entry in islice(entries, _MAX_ENTRIES):
            if entry.name.startswith(prefix) and (prefix.startswith(".") or not entry.name.startswith(".")):
                found.append((entry.name, entry.is_dir()))
    for name, is_folder in sorted(found, key=lambda each: (each[0].casefold(), each)):
        if name != clean(name).replace("\n", "") or '"' in name:
            continue  # its name would not be shown as it is
        text = folder + name + ("/" if is_folder else "")
        if " " in text:
            yield CompletionItem(text + ("" if is_folder else '"') if quoted else f'"{text}', len(typed))
        else:
            yield CompletionItem(text, len(typed), "folder" if is_folder else "")


def _names(app: App, before: str) -> Iterator[CompletionItem]:
    """People, places and things that accepted facts mention."""
    with closing(app.db.another_connection()) as db:
        for name, replaces in handle_completion.names(db, app.scope.owner, before):
            if len(name) <= _MAX_NAME and name == " ".join(visible(name).split()):
                yield CompletionItem(name, replaces)


_models_of: dict[str, tuple[float, list[str]]] = {}  # by address: when it was asked, and its models


def _models(app: App, typed: str) -> Iterator[CompletionItem]:
    engine = app.engine
    at, names = _models_of.get(engine.url, (-_MODELS_TTL, []))
    if time.monotonic() - at > _MODELS_TTL:
        with suppress(AgentError):
            names = [tag.name for tag in engine.listing() if models.chats(tag)]
        _models_of[engine.url] = time.monotonic(), names
    yield from _choices((*names, "auto", "offline"), typed)


def _settings(app: App, typed: str) -> Iterator[CompletionItem]:
    """The names of settings, then the values of the named one."""
    key, space, prefix = typed.partition(" ")
    if space:
        yield from _choices(settings_file.choices().get(key, ()), prefix)
    else:
        for each in fields(app.config):
            if each.name.startswith(key):
                yield CompletionItem(each.name, len(key), each.metadata["comment"])


def _periods(app: App, typed: str) -> Iterator[CompletionItem]:
    yield from _choices(("today", "yesterday", *periods.UNITS[1:]), typed)
    with closing(app.db.another_connection()) as db:
        for key in handle_completion.periods(db, app.scope.owner, typed.upper()):
            yield CompletionItem(key, len(typed))


def _documents(app: App, typed: str) -> Iterator[CompletionItem]:
    verb, blank, path = typed.partition(" ")
    if not blank:
        yield from _choices(("add", "rm", "sync"), verb)
    elif verb in ("add", "rm"):
        yield from _paths(path.removeprefix('"'), quoted=path.startswith('"'))


def _tasks(app: App, typed: str) -> Iterator[CompletionItem]:
    from agent_cli.repl.commands import plan_commands  # loaded with all commands, not before the prompt

    yield from _handles("task")(app, typed) if " " in typed else _choices(plan_commands.VERBS, typed)


ARGUMENTS: Mapping[str, Callable[[App, str], Iterable[CompletionItem]]] = {
    "command": lambda app, typed: _commands(typed, "" if typed.startswith("/") else "/"),
    **{kind.name: _handles(kind.name) for kind in kinds.COMPLETABLE},
    "session": _handles("session", whole=True),
    "task": _tasks,
    "handle": _handles(*sorted(kind.name for kind in kinds.COMPLETABLE)),
    "model": _models,
    "setting": _settings,
    "period": _periods,
    "documents": _documents,
    "file": lambda app, typed: _paths(typed),
}


MAX_BYTES = 20_000_000  # bytes of one file; no model's context holds a tenth of it
_REFERENCE = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_PATH_PREFIXES = ("/", "./", "../", "~/")  # prefixes of what can only be a path


def attach(parts: Sequence[Part]) -> list[Part]:
    """The parts, preceded by the files that the typed ones name, each once. Raises UsageError."""
    files: dict[Path, Part] = {}
    for part in parts:
        for match in _REFERENCE.finditer(part.text) if part.origin == "typed" else ():
            path = _resolve(match[1] or match[2], quoted=bool(match[1]))
            if path and path not in files:
                files[path] = Part(_read(path), "file", str(path))
    return [*join_parts([*files.values(), Part("", "typed")])[:-1], *parts] if files else list(parts)


def summary(parts: Sequence[Part]) -> str:
    files = [f"{part.name} ({len(part.text.rstrip()):,} characters)" for part in parts if part.origin == "file"]
    return f"sent along: {', '.join(files)}" if files else ""


def _resolve(typed: str, *, quoted: bool) -> Path | None:
    """The file of that name, also when punctuation follows it; None when the text names no file. Raises UsageError."""
    for name in dict.fromkeys((typed, typed if quoted else typed.rstrip(".,;:!?)]}'’”"))):
        try:
            path = Path(name).expanduser()
            if name and path.exists() and not (path.is_dir() and not quoted and not name.startswith(_PATH_PREFIXES)):
                return path
        except (OSError, ValueError, RuntimeError):  # longer than a name may be, a NUL, no such home
            continue
    if quoted or typed.startswith(_PATH_PREFIXES):
        raise UsageError(f"there is no file {typed}: nothing was sent; without the @ it is text")
    return None


def _read(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not a file: nothing was sent")
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; nothing was sent") from error
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{path} is not text: nothing was sent")
    return raw.decode("utf-8", "replace").strip("\n")
