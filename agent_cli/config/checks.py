"""Whether a value may be a setting's, and how one line of text becomes such a value."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agent_cli import limits
from agent_cli.config import toml
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from agent_cli.limits import LimitExceeded
from agent_cli.text import Pattern, nearest

_SHORT = Pattern(r"(\d{1,12}) ?([kKmM])")  # 16k
_UNITS = {"k": 1024, "m": 1024**2}  # the sizes of contexts are told in these


def parse(key: str, text: str, where: str) -> Any:
    """A value written on one line, as in the environment or `agent config set`. Raises ConfigError."""
    kind = _kind(key, where)
    if kind is bool and text.lower() in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        return text.lower() in ("true", "1", "on", "yes")
    try:
        if kind is int and (short := _SHORT.fullmatch(text)):
            return int(short[1]) * _UNITS[short[2].lower()]
        if kind in (int, float):
            return kind(text)
        if get_origin(kind) in (dict, list):
            return limits.load_toml(f"x = {text}")["x"]
    except LimitExceeded as error:
        raise ConfigError(f"{where}: the value of {key} cannot be read: {error}") from error
    except ValueError:
        pass  # returned as it is: the check names what is wrong
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
        names = {
            str: "a text",
            int: "a whole number",
            float: "a number",
            bool: "true or false",
            dict: "a table",
            list: 'a list, as in ["one", "two"]',
        }
        how = f": {{}} empties it, and {key}.NAME sets one of its entries" if plain is dict and where == key else ""
        raise ConfigError(f"{_named(key, value, where)} must be {names[plain]}{how}")
    fault_in = next(each for each in fields(Config) if each.name == key).metadata["check"]
    wrong = fault_in(value) if fault_in else ""
    if wrong:
        raise ConfigError(f"{_named(key, value, where)} {wrong}")
    return value


def choices() -> dict[str, tuple[str, ...]]:
    """The values that each setting may have; none where it takes any."""
    hints = get_type_hints(Config)
    return {key: ("true", "false") if kind is bool else _literals(kind) for key, kind in hints.items()}


def _literals(kind: Any) -> tuple[str, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _kind(key: str, where: str) -> Any:
    hints = get_type_hints(Config)
    if key not in hints:
        near = nearest(key, hints)
        hint = f"; did you mean {near}?" if near else "; `agent config show` lists them all"
        where = "" if where.partition(".")[0] in (key, f"/{key}") else f"{where}: "
        raise ConfigError(f"{where}there is no setting {key!r}{hint}")
    return hints[key]


def _named(key: str, value: Any, where: str) -> str:
    """A setting with its value and its place, unless that is nothing but its name."""
    entry = where.removeprefix(f"{key}.")
    if isinstance(value, dict) and entry != where and entry in value and get_origin(_kind(key, where)) is dict:
        return f"{where} = {toml.line(value[entry])}"
    return f"{'' if where in (key, f'/{key}') else f'{where}: '}{key} = {toml.line(value)}"
