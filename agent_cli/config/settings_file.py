"""The settings file. A flag beats an environment variable AGENT_<KEY>, which beats the file, then the default."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agent_cli import atomic_file, limits
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from agent_cli.text import Pattern, nearest
from agent_cli.values import frozen


def toml_line(value: Any) -> str:
    """A value as the configuration file has it, on one line."""
    if isinstance(value, dict):
        names = {key: key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml_line(key) for key in value}
        entries = ", ".join(f"{names[key]} = {toml_line(item)}" for key, item in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_line, value))}]"
    literal = json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
    return str(value) if isinstance(value, float) else literal  # inf and nan too, which JSON has not


_KINDS = {
    str: "a single text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: 'a list, as in ["one", "two"]',
}
_SHORT = Pattern(r"(\d{1,12}) ?([kKmM])")  # 16k
_UNITS = {"k": 1024, "m": 1024**2}  # the sizes of contexts are told in these


def parse(key: str, text: str, where: str) -> Any:
    """A value written on one line, as in the environment or `agent config set`. Raises ConfigError."""
    kind = _kind(key, where)
    if kind is bool and text.lower() in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        return text.lower() in ("true", "1", "on", "yes")
    if kind is int and (short := _SHORT.fullmatch(text)):
        return int(short[1]) * _UNITS[short[2].lower()]
    if get_origin(kind) in (dict, list):
        return _toml_value(text, f"{where}: the value of {key}")
    with suppress(ValueError):  # returned as it is: the check names what is wrong
        return kind(text) if kind in (int, float) else text
    return text


def _toml_value(text: str, what: str) -> Any:
    """What a text means in TOML; the text itself where it means nothing. Raises ConfigError that begins with `what`."""
    try:
        return limits.load_toml(f"x = {text}")["x"]
    except limits.LimitExceeded as error:
        raise ConfigError(f"{what} cannot be read: {error}") from error
    except ValueError:
        return text


def check(key: str, value: Any, where: str) -> Any:
    """The value, when it may be this setting's; `where` begins the sentence. Raises ConfigError."""
    kind = _kind(key, where)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{_named(key, value, where)} must be one of {', '.join(get_args(kind))}")
        return value
    plain: Any = get_origin(kind) or kind
    if plain is float and type(value) is int:
        value = float(value)
    if type(value) is not plain:
        how = f": {{}} empties it, and {key}.NAME sets one of its entries" if plain is dict and where == key else ""
        raise ConfigError(f"{_named(key, value, where)} must be {_KINDS[plain]}{how}")
    if "\\u0000" in json.dumps(value, default=str).replace("\\\\", ""):
        raise ConfigError(f"{_named(key, value, where)} must not hold a null byte")
    fault_in = next(each for each in fields(Config) if each.name == key).metadata["check"]
    if fault_in and (wrong := fault_in(value)):
        raise ConfigError(f"{_named(key, value, where)} {wrong}")
    return value


def choices() -> dict[str, tuple[str, ...]]:
    """The values that each setting may have; none where it takes any."""
    values = {key: get_args(kind) if get_origin(kind) is Literal else () for key, kind in _kinds().items()}
    return values | {key: ("true", "false") for key, kind in _kinds().items() if kind is bool}


@cache
def _kinds() -> dict[str, Any]:
    return get_type_hints(Config)


def _kind(key: str, where: str) -> Any:
    kinds = _kinds()
    if key not in kinds:
        near = nearest(key, kinds)
        hint = f"; did you mean {near}?" if near else "; `agent config show` lists them all"
        where = "" if where.partition(".")[0] in (key, f"/{key}") else f"{where}: "
        raise ConfigError(f"{where}there is no setting {key!r}{hint}")
    return kinds[key]


def _named(key: str, value: Any, where: str) -> str:
    """A setting with its value and its place, unless that is nothing but its name."""
    entry = where.removeprefix(f"{key}.")
    if isinstance(value, dict) and entry != where and entry in value and get_origin(_kind(key, where)) is dict:
        return f"{where} = {toml_line(value[entry])}"
    return f"{'' if where in (key, f'/{key}') else f'{where}: '}{key} = {toml_line(value)}"


NAME = "agent-cli"  # of its folders
_MAX_DEPTH = 20  # of values in each other
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
        values[key], origins[key] = check(key, value, f"{file}, line {line}"), f"{file}:{line}"
    for key in origins:
        name = f"AGENT_{key.upper()}"
        if environ.get(name):
            values[key], origins[key] = check(key, parse(key, environ[name], name), name), f"environment {name}"
    for key, value in (flags or {}).items():
        if value is not None:
            values[key], origins[key] = check(key, value, f"--{key}"), "flag"
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
    try:
        table = limits.load_toml(text)
    except limits.LimitExceeded as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    except ValueError as error:
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else len(text.splitlines())  # at the end of the document
        raise ConfigError(f"{file}, line {number} is not valid TOML: {error}") from error
    level: list[Any] = [table]
    for _ in range(_MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
    if level:  # as dotted keys, which the parser takes
        raise ConfigError(f"{file} cannot be read: {limits.TOO_DEEP}")
    for key, value in table.items():
        pattern = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
        yield key, value, next((n for n, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _folder(what: Literal["config", "data", "state"], environ: Mapping[str, str]) -> Path:
    folder = environ.get(f"XDG_{what.upper()}_HOME")
    if folder:
        return Path(folder) / NAME
    if sys.platform == "linux" and "ANDROID_ROOT" not in environ:  # what platformdirs says too, 4 ms later
        return Path("~", *_LINUX_FOLDERS[what]).expanduser() / NAME
    import platformdirs

    path: Path = getattr(platformdirs, f"user_{what}_path")(NAME, appauthor=False)
    return path


def write(file: Path, key: str, value: str, confirm: Callable[[str], None] = lambda line: None) -> str:
    """Change a setting, or an entry of a table as in rules.save_note; comments and order of the file are kept.

    Returns the line as the file has it; `confirm` is called with it before it is written. Raises ConfigError.
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
        new = _toml_value(value, "the value")  # a number, a list or true where it reads like one: no kind is declared
        check(name, {**table.unwrap(), entry: new}, key)
        table[entry] = new
    else:
        new = document[name] = check(name, parse(name, value, key), key)
    line = f"{key} = {toml_line(new)}"
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
        atomic_file.touch(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be created: {error.strerror}") from error
