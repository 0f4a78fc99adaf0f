"""Where the settings are and what they say.

A flag beats an environment variable AGENT_<KEY>, which beats the configuration file, which beats the default.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from agent_cli import limits
from agent_cli.config import checks
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from agent_cli.limits import LimitExceeded
from agent_cli.values import frozen

NAME = "agent-cli"  # of its folders
_MAX_DEPTH = 20  # of values in each other
_MAX_SIZE = 1_000_000  # characters of the file
_LINUX_FOLDERS = {"config": (".config",), "data": (".local", "share"), "state": (".local", "state")}
_HOST_VARIABLES = {"ollama": "OLLAMA_HOST", "openai": "OPENAI_BASE_URL"}  # of each engine, where no host is set


@frozen
class Loaded:
    config: Config
    origins: Mapping[str, str]  # of each key: "default", "environment AGENT_X", "flag", or "FILE:LINE"
    file: Path


def load(file: Path, environ: Mapping[str, str] = os.environ, flags: Mapping[str, Any] | None = None) -> Loaded:
    """Read the settings. Raises ConfigError that names the file, line and key."""
    values: dict[str, Any] = {}
    origins = {each.name: "default" for each in fields(Config)}
    for key, value, line in _read(file):
        values[key], origins[key] = checks.check(key, value, f"{file}, line {line}"), f"{file}:{line}"
    for key in origins:
        name = f"AGENT_{key.upper()}"
        if environ.get(name):
            values[key], origins[key] = (
                checks.check(key, checks.parse(key, environ[name], name), name),
                f"environment {name}",
            )
    for key, value in (flags or {}).items():
        if value is not None:
            values[key], origins[key] = checks.check(key, value, f"--{key}"), "flag"
    variable = _HOST_VARIABLES.get(values.get("engine", "ollama"), "")
    if origins["host"] == "default" and environ.get(variable):
        values["host"], origins["host"] = environ[variable], f"environment {variable}"
    return Loaded(Config(**values), origins, file)


def default_file(environ: Mapping[str, str] = os.environ) -> Path:
    """AGENT_CONFIG, else config.toml in the platform's folder; XDG_CONFIG_HOME counts on macOS as well."""
    if environ.get("AGENT_CONFIG"):
        return Path(environ["AGENT_CONFIG"]).expanduser()
    return _folder("config", environ) / "config.toml"


def database(config: Config, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the database is, absolute."""
    return Path(config.db).expanduser().absolute() if config.db else _folder("data", environ) / "memory.db"


def key_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the keys of hashes are, apart from the databases."""
    return _folder("state", environ) / "keys"


def runtime_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where it is noted what runs now: gone with the next start of the machine, or beside the keys."""
    if environ.get("XDG_RUNTIME_DIR"):
        return Path(environ["XDG_RUNTIME_DIR"]) / NAME
    return _folder("state", environ) / "run"


def _read(file: Path) -> Iterator[tuple[str, Any, int]]:
    """(key, value, line) of each setting in the file; none when there is no file. Raises ConfigError."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    if len(text) > _MAX_SIZE:
        raise ConfigError(f"{file} cannot be read: it has more than {_MAX_SIZE:,} characters")
    try:
        table = limits.load_toml(text)
    except LimitExceeded as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else len(text.splitlines())  # at the end of the document
        raise ConfigError(f"{file}, line {number} is not valid TOML: {error}") from error
    if _is_deep(table):  # as dotted keys, which the parser takes
        raise ConfigError(f"{file} cannot be read: {limits.TOO_DEEP}")
    for key, value in table.items():
        yield key, value, _line_of(key, text)


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether values lie deeper in each other than any setting is."""
    level: list[Any] = [table]
    for _ in range(_MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    return bool(level)


def _line_of(key: str, text: str) -> int:
    pattern = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _folder(what: Literal["config", "data", "state"], environ: Mapping[str, str]) -> Path:
    folder = environ.get(f"XDG_{what.upper()}_HOME")
    if folder:
        return Path(folder) / NAME
    if sys.platform == "linux" and "ANDROID_ROOT" not in environ:  # what platformdirs says too, 4 ms later
        return Path("~", *_LINUX_FOLDERS[what]).expanduser() / NAME
    import platformdirs

    path = {
        "config": platformdirs.user_config_path,
        "data": platformdirs.user_data_path,
        "state": platformdirs.user_state_path,
    }[what]
    return path(NAME, appauthor=False)
