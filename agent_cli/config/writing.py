"""Changing a setting in the configuration file, and the example file with all of them."""

import stat
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from agent_cli import atomic_file, limits
from agent_cli.config import reading
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from agent_cli.limits import LimitExceeded


def write(file: Path, key: str, value: str, confirm: Callable[[str], None] = lambda line: None) -> str:
    """Change one setting, or one entry of a table, as in rules.save_note; comments and order of the file are kept.

    Returns the line that says so in a file; `confirm` is called with it before it is written. Raises ConfigError.
    """
    import tomlkit  # needed here alone: 40 ms
    from tomlkit.exceptions import TOMLKitError

    make(file)
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8"))
    except (TOMLKitError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}; correct it with `agent config edit`") from error
    name, _, entry = key.partition(".")
    if entry:
        if not isinstance(document.get(name), dict):  # there is none yet, or a mistake is mended so
            document[name] = tomlkit.table()
        table: Any = document[name]
        new = _guess(value)
        reading.check(name, {**table.unwrap(), entry: new}, key)
        table[entry] = new
    else:
        new = document[name] = reading.check(name, reading.parse(name, value, key), key)
    line = f"{key} = {reading.toml_line(new)}"
    confirm(line)
    target = file.resolve()  # a link stays one
    try:
        atomic_file.write(target, tomlkit.dumps(document).encode(), stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    return line


def make(file: Path) -> None:
    """See to it that there is such a file. Raises ConfigError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as error:
        raise ConfigError(f"{file} cannot be created: {error.strerror}") from error


def _guess(value: str) -> object:
    """A value in a table, whose kind nobody declares: a number, a list or true where it reads like one, else text.

    Raises ConfigError.
    """
    try:
        return limits.load_toml(f"x = {value}")["x"]
    except LimitExceeded as error:
        raise ConfigError(f"the value cannot be read: {error}") from error
    except ValueError:
        return value


def example() -> str:
    """config.example.toml: every setting with its comment and default."""
    lines = ["# Every setting with its default. Copy what you change to the file that `agent config path` names.", ""]
    defaults = Config()
    tables = [each for each in fields(Config) if isinstance(getattr(defaults, each.name), dict)]
    for each in fields(Config):
        if each not in tables:
            lines += [
                *_comment(each.metadata["comment"]),
                f"# {each.name} = {reading.toml_line(getattr(defaults, each.name))}",
                "",
            ]
    for each in tables:
        lines += [*_comment(each.metadata["comment"]), f"# [{each.name}]", ""]
    return "\n".join(lines[:-1]) + "\n"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in text.split("\n")]
