"""The options before a command are understood behind it too: `agent notes list --db other.db`.

An option that the command has itself stays with it, and so does what stands behind `--` or is the value of an option.
"""

from collections.abc import Iterable, Iterator
from typing import Any


def in_front(arguments: list[str], group: Any, context: Any) -> list[str]:
    """The arguments with the group's options moved before the command; `group` and `context` are Click's."""
    wanted = _takes_value(group)
    start = _command_at(arguments, wanted)
    if not any(word.partition("=")[0] in wanted for word in arguments[start + 1 :]):
        return arguments  # the command need not be loaded yet
    known = _options_of_command(arguments[start:], group, context)
    moved, stay = [], []
    rest = iter(arguments[start:])
    for word in rest:
        if word == "--":
            stay += [word, *rest]
        elif word in known:
            stay += [word, *_value(rest, known[word])]
        elif (name := word.partition("=")[0]) in wanted and name not in known:
            value = _value(rest, wanted[name] and "=" not in word)
            if wanted[name] and "=" not in word and not value:
                return [word]  # alone, Click says what it misses
            moved += [word, *value]
        else:
            stay.append(word)
    return [*arguments[:start], *moved, *stay]


def _command_at(arguments: list[str], options: dict[str, bool]) -> int:
    """Where the first word stands that is no option and no value of one."""
    rest = iter(enumerate(arguments))
    for at, word in rest:
        if not word.startswith("-") or word == "--":
            return at
        if options.get(word):
            next(rest, None)
    return len(arguments)


def _options_of_command(words: Iterable[str], group: Any, context: Any) -> dict[str, bool]:
    """The options of the command that these words name, and of the groups on the way to it."""
    known: dict[str, bool] = {"-h": False, "--help": False}
    command = group
    for word in words:
        if word.startswith("-"):
            continue
        command = command.get_command(context, word) if hasattr(command, "get_command") else None
        if command is None:
            break
        known |= _takes_value(command)
    return known


def _takes_value(command: Any) -> dict[str, bool]:
    """The options of a command, and whether a value follows each."""
    return {
        name: not param.is_flag
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }


def _value(rest: Iterator[str], taken: bool) -> list[str]:
    """The value that follows an option, if one does."""
    return [word for word in [next(rest, None)] if word is not None] if taken else []
