"""Settings: what they are, where each value came from, and what is wrong with one.

A flag beats an environment variable AGENT_<KEY>, which beats the configuration file, which beats the default. The
dataclass below is the only list of settings; config.example.toml and the README are compared with it by tests.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agent_cli.errors import ConfigError
from agent_cli.values import frozen

NAME = "agent-cli"  # of its folders


def setting(comment: str, default: Any, check: Callable[[Any], str] | None = None) -> Any:
    """A field with its comment; `check` gives what is wrong with a value, or an empty string."""
    metadata = {"comment": comment, "check": check}
    if isinstance(default, dict | list):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def _at_least(least: float) -> Callable[[Any], str]:
    def check(value: float) -> str:
        if value == math.inf:
            return "must be a finite number"
        return "" if value >= least else f"must be at least {least}"

    return check


def _some(value: str) -> str:
    return "" if value.strip() else "must not be empty"


def _prices(table: dict[str, Any]) -> str:
    def pair(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 2 and all(type(n) in (int, float) and n >= 0 for n in value)

    return "" if all(map(pair, table.values())) else "must be pairs of prices, as in [0.15, 0.60]"


def _options(table: dict[str, Any]) -> str:
    return "must not hold num_ctx: that is a setting of its own" if "num_ctx" in table else ""


def _rules(table: dict[str, Any]) -> str:
    if torn := [key for key, value in table.items() if isinstance(value, dict)]:
        return f'must have a name with a dot in quotes: "{torn[0]}.…" = "ask"'
    known = {*map(str, table.values())} <= {"allow", "ask", "deny"}
    return "" if known else 'must be "allow", "ask" or "deny" for each tool'


def _texts(values: list[Any]) -> str:
    return "" if all(isinstance(each, str) and each.strip() for each in values) else "must hold texts alone"


def _named_texts(table: dict[str, Any]) -> str:
    return _texts(list(table.values()))


_SERVER = {"command": str, "args": list, "env": dict, "url": str, "headers": dict}


def _servers(table: dict[str, Any]) -> str:
    """The form alone; a server is started when it is first needed."""
    for name, told in table.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
            return f"must have names of small letters and digits, not {name!r}"
        if not isinstance(told, dict) or ("command" in told) == ("url" in told):
            return f"must hold a command or a url for {name}"
        for key, value in told.items():
            if key not in _SERVER:
                return f"must not hold {key!r} for {name}: there are {', '.join(_SERVER)}"
            texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            if not isinstance(value, _SERVER[key]) or not all(isinstance(each, str) for each in texts):
                return f"must hold texts in {key} of {name}"
    return ""


def _predicates(table: dict[str, Any]) -> str:
    return "" if all(value in ("one", "many") for value in table.values()) else 'must be "one" or "many" for each'


_GRAINS = ("working", "day", "week", "month", "quarter", "year")
_AGE = re.compile(r"keep|[1-9]\d{0,3} ?(h|d|w|mo|q|y)")


def _retention(table: dict[str, Any]) -> str:
    """The form alone; what it means is known to memory/retention.py."""
    if unknown := [key for key in table if key not in ("preset", *_GRAINS)]:
        return f"must not hold {unknown[0]}: there are preset, {', '.join(_GRAINS)}"
    if table.get("preset", "short") not in ("short", "medium", "long"):
        return 'must have "short", "medium" or "long" as preset'
    ages = [value for key, value in table.items() if key != "preset"]
    if all(isinstance(value, str) and _AGE.fullmatch(value) for value in ages):
        return ""
    return 'must say "keep" of each grain, or how long as in "48h", "30d", "6w", "6mo", "4q" or "2y"'


@frozen
class Config:
    model: str = setting(
        'the chat model: a name on the server, "auto" (the one used last, or the built-in offline one when no server\n'
        'answers), "offline", or "scripted:FILE"',
        "auto",
        _some,
    )
    cheap_model: str = setting("the model for summaries; empty: the chat model", "")
    embed_model: str = setting("the model for search by meaning", "nomic-embed-text", _some)
    host: str = setting("the model server; empty: OLLAMA_HOST, else 127.0.0.1:11434", "")
    num_ctx: int = setting(
        "tokens of context, the same in every request: changing it makes the server load the model again", 8192,
        _at_least(1024),
    )  # fmt: skip
    keep_alive: str = setting('how long the server keeps the model loaded, as in "10m"; empty: its own default', "")
    think: Literal["auto", "on", "off", "low", "medium", "high"] = setting(
        'whether the model thinks before it answers; "auto" leaves it to the model', "auto"
    )
    patience: float = setting("seconds to go on asking a server that is busy", 30.0, _at_least(0))
    window_least: int = setting("messages of the conversation that the model sees at least", 10, _at_least(2))
    window_most: int = setting("when there are more than this, the model sees the least number again", 22, _at_least(2))
    close_after: float = setting(
        "minutes of silence after which a session is closed and summarised; 0: never", 30.0, _at_least(0)
    )
    db: str = setting("the database file; empty: in the platform's folder for data", "")
    editor: str = setting("the editor; empty: AGENT_EDITOR, VISUAL or EDITOR", "")
    editing_mode: Literal["emacs", "vi"] = setting("the keys of the prompt", "emacs")
    paste_collapse: int = setting(
        "a paste of so many characters, or of 15 lines, is shown in short at the prompt and sent whole; 0: never", 1000,
        _at_least(0),
    )  # fmt: skip
    background_jobs: bool = setting("`agent ask` may leave a process behind that runs what is queued", True)
    learn: Literal["ask", "off"] = setting(
        '"ask": the cheap model reads what you said and proposes facts, which wait for your yes; "off": it does not',
        "ask",
    )
    preview: bool = setting(
        "what memory will put beside your words stands above the prompt while you type; Alt and its number drops it",
        True,
    )
    idle_seconds: float = setting("queued work runs in a session when nobody has typed for so long", 20.0, _at_least(0))
    options: dict[str, Any] = setting("sampling options for the server, as in temperature = 0.7", {}, _options)
    rules: dict[str, str] = setting(
        'for each tool "allow", "ask" or "deny", instead of what its risk asks for; "source:files" is all tools of\n'
        'a source, "read_file path=~/notes/*" a tool with such an argument; the closest counts', {}, _rules,
    )  # fmt: skip
    predicates: dict[str, str] = setting(
        'how many values a predicate has at a time, "one" or "many", as in "prefers.editor" = "one": of one the\n'
        "newer ends the older",
        {}, _predicates,
    )  # fmt: skip
    folders: list[str] = setting(
        'folders whose files the model may read, as in ["~/notes"]; of all others it reads none', [], _texts
    )
    feeds: dict[str, str] = setting(
        "what the model may fetch, by name: the address or the file of a feed (RSS, Atom, iCal) or of some text,\n"
        'as in news = "https://example.org/feed.xml"',
        {}, _named_texts,
    )  # fmt: skip
    feeds_private: bool = setting("an address of a feed may be on this machine or in its private network", False)
    remind_again: float = setting(
        "minutes after which a reminder that is neither done nor snoozed comes up again", 60.0, _at_least(1)
    )
    remind_command: list[str] = setting(
        'a command that is run for each reminder, its words as the last argument, as in ["notify-send", "agent"]', [],
        _texts,
    )  # fmt: skip
    tool_seconds: float = setting("seconds that a tool may take", 60.0, _at_least(0.1))
    mcp: dict[str, dict[str, Any]] = setting(
        'servers of tools (MCP), each a table [mcp.NAME] of its own: command = "engram", with args = ["mcp"] and env,\n'
        'or url = "https://…" with headers',
        {},
        _servers,
    )
    prices: dict[str, list[float]] = setting(
        "per model the price of a million tokens in and out; local ones cost 0", {}, _prices
    )
    retention: dict[str, str] = setting(
        'what is removed once it is old and summarised; while this is empty, nothing. preset = "short", "medium" or\n'
        '"long"; or, instead of what it says too, an age or "keep" for working (messages), day, week, month, quarter\n'
        'and year, as in working = "48h", day = "30d", week = "6w", month = "6mo", quarter = "4q", year = "2y"',
        {}, _retention,
    )  # fmt: skip


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
    if origins["host"] == "default" and environ.get("OLLAMA_HOST"):
        values["host"], origins["host"] = environ["OLLAMA_HOST"], "environment OLLAMA_HOST"
    for key, value in (flags or {}).items():
        if value is not None:
            values[key], origins[key] = check(key, value, f"--{key}"), "flag"
    return Loaded(Config(**values), origins, file)


def default_file(environ: Mapping[str, str] = os.environ) -> Path:
    """AGENT_CONFIG, else config.toml in the platform's folder; XDG_CONFIG_HOME counts on macOS as well."""
    if environ.get("AGENT_CONFIG"):
        return Path(environ["AGENT_CONFIG"]).expanduser()
    return _folder("config", environ) / "config.toml"


def database(config: Config, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the database is, absolute."""
    return Path(config.db).expanduser().absolute() if config.db else _folder("data", environ) / "memory.db"


def parse(key: str, told: str, where: str) -> Any:
    """A value written on one line, as in the environment or `agent config set`. Raises ConfigError."""
    kind = _kind(key, where)
    if kind is bool and told.lower() in ("true", "false", "1", "0", "on", "off", "yes", "no"):
        return told.lower() in ("true", "1", "on", "yes")
    try:
        if kind in (int, float):
            return kind(told)
        if get_origin(kind) in (dict, list):
            import tomllib  # 3 ms, and few tables stand in the environment

            return tomllib.loads(f"x = {told}")["x"]
    except ValueError:
        pass  # told as it is, for the check to name what is wrong with it
    return told


def write(file: Path, key: str, value: str) -> str:
    """Change one setting, or one entry of a table, as in rules.save_note; comments and order of the file are kept.

    Returns the line that says so in a file. Raises ConfigError.
    """
    import tomlkit  # needed here alone: 40 ms
    from tomlkit.exceptions import TOMLKitError

    make(file)
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8"))
    except (TOMLKitError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}; mend it with `agent config edit`") from error
    name, _, entry = key.partition(".")
    if entry:
        if not isinstance(document.get(name), dict):  # there is none yet, or a mistake is mended so
            document[name] = tomlkit.table()
        table: Any = document[name]
        new = _guess(value)
        check(name, {**table.unwrap(), entry: new}, key)
        table[entry] = new
    else:
        new = document[name] = check(name, parse(name, value, key), key)
    part = file.with_name(file.name + ".part")  # a full disk leaves the old file whole
    try:
        part.write_text(tomlkit.dumps(document), encoding="utf-8")
        os.replace(part, file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    return f"{key} = {toml(new)}"


def make(file: Path) -> None:
    """See to it that there is such a file. Raises ConfigError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as error:
        raise ConfigError(f"{file} cannot be made: {error.strerror}") from error


def _guess(value: str) -> object:
    """A value in a table, whose kind nobody declares: a number, a list or true where it reads like one, else text."""
    import tomllib

    try:
        return tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return value


def example() -> str:
    """config.example.toml: every setting with its comment and default."""
    lines = ["# Every setting with its default. Copy what you change to the file that `agent config path` names.", ""]
    defaults = Config()
    tables = [each for each in fields(Config) if isinstance(getattr(defaults, each.name), dict)]
    for each in fields(Config):
        if each not in tables:
            lines += [*_comment(each.metadata["comment"]), f"# {each.name} = {toml(getattr(defaults, each.name))}", ""]
    for each in tables:
        lines += [*_comment(each.metadata["comment"]), f"# [{each.name}]", ""]
    return "\n".join(lines[:-1]) + "\n"


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in text.split("\n")]


def toml(value: Any) -> str:
    """A value as the configuration file has it, on one line."""
    if isinstance(value, dict):
        named = ((key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml(key), toml(item)) for key, item in value.items())
        told = ", ".join(map(" = ".join, named))
        return f"{{ {told} }}" if told else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    told = json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
    return str(value) if isinstance(value, float) else told  # inf and nan too, which JSON has not


def _read(file: Path) -> list[tuple[str, Any, int]]:
    """(key, value, line) of each setting in the file; none when there is no file."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    import tomllib  # 3 ms, and most people have no file

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else len(text.splitlines())  # at the end of the document
        raise ConfigError(f"{file}, line {number} is no valid TOML: {error}") from error
    return [(key, value, _line_of(key, text)) for key, value in table.items()]


def _line_of(key: str, text: str) -> int:
    pattern = re.compile(rf"\s*(\[\s*)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _kind(key: str, where: str) -> Any:
    hints = get_type_hints(Config)
    if key not in hints:
        import difflib  # only where something is wrong: 2 ms

        near = difflib.get_close_matches(key, hints, 1)
        hint = f"; did you mean {near[0]}?" if near else "; `agent config show` lists them all"
        where = "" if where.partition(".")[0] in (key, f"/{key}") else f"{where}: "
        raise ConfigError(f"{where}there is no setting {key!r}{hint}")
    return hints[key]


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
        names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table",
                 list: 'a list, as in ["one", "two"]'}  # fmt: skip
        how = f": {{}} empties it, and {key}.NAME sets one of its entries" if plain is dict and where == key else ""
        raise ConfigError(f"{_named(key, value, where)} must be {names[plain]}{how}")
    fault_in = next(each for each in fields(Config) if each.name == key).metadata["check"]
    wrong = fault_in(value) if fault_in else ""
    if wrong:
        raise ConfigError(f"{_named(key, value, where)} {wrong}")
    return value


def _named(key: str, value: Any, where: str) -> str:
    """A setting with its value and its place, unless that is nothing but its name."""
    entry = where.removeprefix(f"{key}.")
    if isinstance(value, dict) and entry != where and entry in value and get_origin(_kind(key, where)) is dict:
        return f"{where} = {toml(value[entry])}"
    return f"{'' if where in (key, f'/{key}') else f'{where}: '}{key} = {toml(value)}"


def _folder(what: Literal["config", "data"], environ: Mapping[str, str]) -> Path:
    told = environ.get("XDG_CONFIG_HOME" if what == "config" else "XDG_DATA_HOME")
    if told:
        return Path(told) / NAME
    import platformdirs  # 10 ms, and needed only where nothing else says where to look

    return (platformdirs.user_config_path if what == "config" else platformdirs.user_data_path)(NAME, appauthor=False)
