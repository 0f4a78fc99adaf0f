"""What the prompt offers: commands and their arguments, files behind an @, and on Tab the names that memory knows.

It is asked on a thread, on a connection of its own, at every key of a command or a path: what it reads is bounded.
A command says in its `completes` which of ARGUMENTS it takes.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agent_cli import kinds
from agent_cli.app import model_choice
from agent_cli.app.app import App
from agent_cli.errors import AgentError
from agent_cli.llm.ollama import tags
from agent_cli.memory.dates import periods
from agent_cli.memory.search import handle_completion
from agent_cli.repl.commands import commands, task_commands
from agent_cli.repl.commands.command import Command
from agent_cli.text import Pattern, clean, one_line, visible
from agent_cli.values import frozen

_ARGUMENT = Pattern(r"(/[a-z?-]+)[ \t]+(.*)")
_PATH = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]*)|([^\s\"]*))$")
_LIMIT = 50
_TAIL = 300  # characters before the cursor in which what is completed begins
_LOOKED_AT = 10_000  # entries of one folder
_FRESH = 10.0  # seconds for which the server is not asked again which models it has
_LONGEST = 60  # characters of a name that is offered


@frozen
class Offer:
    """`text` takes the place of the `instead` characters before the cursor; `told` stands beside it."""

    text: str
    told: str
    instead: int


class Completions(Completer):
    def __init__(self, app: App):
        self._app = app

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        with suppress(AgentError):  # what cannot be read is for what the person does next to tell
            for offer in islice(_offers(self._app, before, complete_event.completion_requested), _LIMIT):
                yield Completion(offer.text, -offer.instead, display_meta=one_line(offer.told, 70))


def while_typing(before: str) -> bool:
    """Whether the text before the cursor is one that is completed without being asked: behind a slash or an @."""
    if before.startswith("/") and "\n" not in before:
        return " " not in before or _called(before) is not None
    return _PATH.search(before[-_TAIL:]) is not None


def _offers(app: App, before: str, requested: bool) -> Iterable[Offer]:
    if before.startswith("/") and "\n" not in before:
        if " " not in before:
            return _commands(before)
        if called := _called(before):
            return (offer for kind in called[0].completes for offer in ARGUMENTS[kind](app, called[1]))
    if path := _PATH.search(before[-_TAIL:]):
        return _paths(path[2] if path[1] is None else path[1], quoted=path[1] is not None)
    return _names(app, before[-_TAIL:]) if requested else ()


def _called(before: str) -> tuple[Command, str] | None:
    """The command whose argument is being typed, where it can be completed."""
    match = _ARGUMENT.fullmatch(before)
    names = {name: each for each in commands.listing() for name in (each.name, *each.aliases)}
    command = names.get(match[1]) if match else None
    return (command, match[2]) if match and command and command.completes else None


def _commands(told: str, slash: str = "") -> Iterator[Offer]:
    for each in commands.listing():
        if each.name.startswith(slash + told):
            yield Offer(each.name.removeprefix(slash), each.help.splitlines()[0], len(told))


def _handles(*names: str, whole: bool = False) -> Callable[[App, str], Iterator[Offer]]:
    """Offers handles by their beginning or their words: of the last word, or of the whole argument."""

    def offers(app: App, told: str) -> Iterator[Offer]:
        begun = told if whole or not told else (told[-1:].strip() and told.split()[-1])
        with closing(app.db.again()) as db:
            for handle, words in handle_completion.handles(db, app.scope.owner, names, begun):
                yield Offer(handle, words, len(begun))

    return offers


def _paths(told: str, quoted: bool = False) -> Iterator[Offer]:
    """Files and folders whose path begins so; hidden ones where a dot was typed. One with blanks needs its quotes."""
    begun = told.rpartition("/")[2]
    shown = told[: len(told) - len(begun)]
    found: list[tuple[str, bool]] = []
    with suppress(OSError, ValueError, RuntimeError), os.scandir(Path(shown or ".").expanduser()) as entries:
        for entry in islice(entries, _LOOKED_AT):
            if entry.name.startswith(begun) and (begun.startswith(".") or not entry.name.startswith(".")):
                found.append((entry.name, entry.is_dir()))
    for name, is_folder in sorted(found, key=lambda each: (each[0].casefold(), each)):
        if name != clean(name).replace("\n", "") or '"' in name:
            continue  # it could say something other than it is
        text = shown + name + ("/" if is_folder else "")
        if " " not in text:
            yield Offer(text, "folder" if is_folder else "", len(told))
        else:
            yield (
                Offer(text + ("" if is_folder else '"'), "", len(told)) if quoted else Offer(f'"{text}', "", len(told))
            )


def _names(app: App, before: str) -> Iterator[Offer]:
    """People, places and things that accepted facts tell of."""
    with closing(app.db.again()) as db:
        for name, instead in handle_completion.names(db, app.scope.owner, before):
            if len(name) <= _LONGEST and name == " ".join(visible(name).split()):
                yield Offer(name, "", instead)


_seen: dict[str, tuple[float, list[str]]] = {}  # by host: when it was asked, and what it has


def _models(app: App, told: str) -> Iterator[Offer]:
    host = app.config.host
    at, names = _seen.get(host, (-_FRESH, []))
    if time.monotonic() - at > _FRESH:
        with suppress(AgentError):
            names = [tag.name for tag in tags.tags(host) if model_choice.chats(tag) and not tag.remote]
        _seen[host] = time.monotonic(), names
    for name in (*names, "auto", "offline"):
        if name.startswith(told):
            yield Offer(name, "", len(told))


def _settings(app: App, told: str) -> Iterator[Offer]:
    """The names of settings, then what the named one may be."""
    key, space, begun = told.partition(" ")
    if not space:
        for each in fields(app.config):
            if each.name.startswith(key):
                yield Offer(each.name, each.metadata["comment"], len(key))
        return
    kind = get_type_hints(type(app.config)).get(key)
    values = get_args(kind) if get_origin(kind) is Literal else ("true", "false") if kind is bool else ()
    for value in values:
        if value.startswith(begun):
            yield Offer(value, "", len(begun))


def _periods(app: App, told: str) -> Iterator[Offer]:
    for name in ("today", "yesterday", *periods.GRAINS[1:]):
        if name.startswith(told):
            yield Offer(name, "", len(told))
    with closing(app.db.again()) as db:
        for key in handle_completion.periods(db, app.scope.owner, told.upper()):
            yield Offer(key, "", len(told))


def _documents(app: App, told: str) -> Iterator[Offer]:
    """What /docs does, then a path."""
    verb, blank, path = told.partition(" ")
    if blank:
        yield from _paths(path.removeprefix('"'), quoted=path.startswith('"')) if verb in ("add", "rm") else ()
        return
    for name in ("add", "rm", "sync"):
        if name.startswith(verb):
            yield Offer(name, "", len(verb))


def _tasks(app: App, told: str) -> Iterator[Offer]:
    """What can be done with a task, then which."""
    if " " in told:
        yield from _handles("task")(app, told)
    for verb in task_commands.VERBS if " " not in told else ():
        if verb.startswith(told):
            yield Offer(verb, "", len(told))


ARGUMENTS: Mapping[str, Callable[[App, str], Iterable[Offer]]] = {
    "command": lambda app, told: _commands(told, "" if told.startswith("/") else "/"),
    **{kind.name: _handles(kind.name) for kind in kinds.COMPLETABLE},
    "session": _handles("session", whole=True),
    "task": _tasks,
    "handle": _handles(*sorted(kind.name for kind in kinds.COMPLETABLE)),
    "model": _models,
    "setting": _settings,
    "period": _periods,
    "documents": _documents,
    "file": lambda app, told: _paths(told),
}
