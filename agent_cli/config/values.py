"""The settings: name, type, default and comment of each. The only list of them; tests compare the docs with it."""

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any, Literal

from agent_cli.values import frozen

_MOST = 1_000_000_000  # so many minutes can still be taken from a date


def at_least(least: float, most: float = _MOST) -> Callable[[Any], str]:
    def check(value: float) -> str:
        if value > most:
            return f"must be at most {most}"
        return "" if value >= least else f"must be at least {least}"

    return check


def not_empty(value: str) -> str:
    return "" if value.strip() else "must not be empty"


def prices(table: dict[str, Any]) -> str:
    pairs = [each if isinstance(each, list) and len(each) == 2 else [-1] for each in table.values()]
    right = all(type(price) in (int, float) and price >= 0 for pair in pairs for price in pair)
    return "" if right else "must be pairs of prices, as in [0.15, 0.60]"


def options(table: dict[str, Any]) -> str:
    return "must not hold num_ctx: that is a setting of its own" if "num_ctx" in table else ""


def rules(table: dict[str, Any]) -> str:
    if torn := [key for key, value in table.items() if isinstance(value, dict)]:
        return f'must have a name with a dot in quotes: "{torn[0]}.…" = "ask"'
    known = {*map(str, table.values())} <= {"allow", "ask", "deny"}
    return "" if known else 'must be "allow", "ask" or "deny" for each tool'


def texts(values: list[Any] | dict[str, Any]) -> str:
    each_value = values.values() if isinstance(values, dict) else values
    return "" if all(isinstance(each, str) and each.strip() for each in each_value) else "must hold texts alone"


_SERVER = {"command": str, "args": list, "env": dict, "url": str, "headers": dict}


def servers(table: dict[str, Any]) -> str:
    """The form alone; a server is started when it is first needed."""
    for name, server in table.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
            return f"must have names of lower-case letters and digits, not {name!r}"
        if not isinstance(server, dict) or ("command" in server) == ("url" in server):
            return f"must hold a command or a url for {name}"
        for key, value in server.items():
            if key not in _SERVER:
                return f"must not hold {key!r} for {name}: there are {', '.join(_SERVER)}"
            texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            if not isinstance(value, _SERVER[key]) or not all(isinstance(each, str) for each in texts):
                return f"must hold texts in {key} of {name}"
    return ""


def predicates(table: dict[str, Any]) -> str:
    return "" if all(value in ("one", "many") for value in table.values()) else 'must be "one" or "many" for each'


_GRAINS = ("working", "day", "week", "month", "quarter", "year")
_AGE = re.compile(r"keep|[1-9]\d{0,3} ?(h|d|w|mo|q|y)")


def retention(table: dict[str, Any]) -> str:
    """The form alone; what it means is known to memory/lifecycle/retention.py."""
    if unknown := [key for key in table if key not in ("preset", *_GRAINS)]:
        return f"must not hold {unknown[0]}: there are preset, {', '.join(_GRAINS)}"
    if table.get("preset", "short") not in ("short", "medium", "long"):
        return 'must have "short", "medium" or "long" as preset'
    ages = [value for key, value in table.items() if key != "preset"]
    if all(isinstance(value, str) and _AGE.fullmatch(value) for value in ages):
        return ""
    return 'must say "keep" of each grain, or how long as in "48h", "30d", "6w", "6mo", "4q" or "2y"'


def seal(table: dict[str, Any]) -> str:
    if unknown := [key for key in table if key not in ("key_file", "key_command", "lock_after")]:
        return f"must not hold {unknown[0]}: there are key_file, key_command and lock_after"
    minutes = table.get("lock_after", 0)
    if not isinstance(minutes, int | float) or isinstance(minutes, bool) or minutes < 0:
        return "must hold minutes as lock_after"
    sources = [value for key, value in table.items() if key != "lock_after"]  # each one, or a list of them
    return texts([each for value in sources for each in (value if isinstance(value, list) else [value])])


def recall(table: dict[str, Any]) -> str:
    days = table.get("half_life", 1)
    is_number = isinstance(days, int | float) and not isinstance(days, bool)
    return "" if table.keys() <= {"half_life"} and is_number and days > 0 else "must hold half_life alone, days above 0"


def setting(comment: str, default: Any, check: Callable[[Any], str] | None = None) -> Any:
    """A field with its comment; `check` gives what is wrong with a value, or an empty string."""
    metadata = {"comment": comment, "check": check}
    if isinstance(default, dict | list):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@frozen
class Config:
    model: str = setting(
        'the chat model: a name on the server, "auto" (the one that /model chose, else the newest at first use;\n'
        'the built-in offline one when no server answers), "offline", or "scripted:FILE"',
        "auto",
        not_empty,
    )
    engine: Literal["ollama", "openai", "local"] = setting(
        'what runs the models: "ollama"; "openai", any server that speaks /v1 (llama.cpp, LM Studio, vLLM); or\n'
        '"local", a process of this program, for which a model is the path of a GGUF file',
        "ollama",
    )
    cheap_model: str = setting("the model for summaries; empty: the chat model", "")
    embed_model: str = setting(
        'the model for search by meaning; "auto": the best that the server has, else the embedded one',
        "auto",
        not_empty,
    )
    host: str = setting(
        'the model server; empty: OLLAMA_HOST, else 127.0.0.1:11434. For "openai" its address, as in\n'
        '"http://127.0.0.1:8080/v1"; empty: OPENAI_BASE_URL',
        "",
    )
    key_variable: str = setting(
        'the environment variable that holds the key of an "openai" server; the key itself is written nowhere',
        "AGENT_API_KEY",
        not_empty,
    )
    words_leave_machine: bool = setting(
        "the model server may be on the internet: what you say, and what memory adds, then leaves your network",
        False,
    )
    local_idle: float = setting(
        'minutes without a request after which the process of "local" ends and frees its memory', 10.0, at_least(0.01)
    )
    num_ctx: int = setting(
        "tokens of context, the same in every request: changing it makes the server load the model again",
        8192,
        at_least(1024, 10_000_000),
    )
    keep_alive: str = setting('how long the server keeps the model loaded, as in "10m"; empty: its own default', "")
    think: Literal["auto", "on", "off", "low", "medium", "high"] = setting(
        'whether the model thinks before it answers; "auto" leaves it to the model', "auto"
    )
    answer_tokens: int = setting(
        "the most tokens of an answer, thinking included; 0: as many as fit the context", 8192, at_least(0)
    )
    warm: bool = setting(
        "the model reads the beginning of the next question while you type: the answer comes sooner, and the machine\n"
        "works a little more; false on battery",
        True,
    )
    patience: float = setting("seconds to go on asking a server that is busy", 30.0, at_least(0))
    window_least: int = setting("the least number of messages of the conversation that the model sees", 10, at_least(2))
    window_most: int = setting(
        "the most; when there are more, the earlier ones are summarised and the model sees the least number again",
        22,
        at_least(2),
    )
    close_after: float = setting(
        "minutes of silence after which a session is closed and summarised; 0: never", 30.0, at_least(0)
    )
    db: str = setting("the database file; empty: in the platform's folder for data", "")
    seal: dict[str, Any] = setting(
        'where the key of a sealed file is: key_file = "~/stick/agent.key", or the command that prints it, as in\n'
        '"pass show agent", is key_command; lock_after: minutes after which an idle session asks for the key again',
        {},
        seal,
    )
    sync: str = setting(
        "the folder through which your machines exchange what is remembered; empty: only by `agent sync FOLDER`",
        "",
    )
    editor: str = setting("the editor; empty: AGENT_EDITOR, VISUAL or EDITOR", "")
    editing_mode: Literal["emacs", "vi"] = setting("the keys of the prompt", "emacs")
    status_command: str = setting(
        "a command for the line below the prompt, which shows the first line that it writes; it reads JSON with\n"
        "session, name, model, context_percent, num_ctx, folder and incognito; empty: the model and its context",
        "",
    )
    paste_collapse: int = setting(
        "a paste of so many characters, or of 15 lines, is shown in short at the prompt and sent whole; 0: never",
        1000,
        at_least(0),
    )
    background_jobs: bool = setting("`agent ask` may leave a process behind that runs what is queued", True)
    learn: Literal["ask", "off"] = setting(
        '"ask": the cheap model reads what you said and proposes facts, which wait for your yes; "off": it does not',
        "ask",
    )
    carry: Literal["here", "everywhere"] = setting(
        'from which folders a session carries over what was said: "everywhere", its own first, or "here", its own only',
        "everywhere",
    )
    profile_tokens: int = setting(
        "tokens of the facts that stand before the model in every session, at most an eighth of num_ctx; 0: none",
        600,
        at_least(0),
    )
    recall_tokens: int = setting(
        "tokens of what is recalled beside a question, at most an eighth of num_ctx; 0: nothing", 1200, at_least(0)
    )
    recall: dict[str, float] = setting(
        "how age counts in a search: half_life = 30 halves a fact for every 30 days; while this is empty, age takes\n"
        "at most a fifth, as it does of all else",
        {},
        recall,
    )
    preview: bool = setting(
        "what memory will put beside your words stands above the prompt while you type; Alt and its number drops it",
        True,
    )
    idle_seconds: float = setting(
        "queued work runs in a session when nobody has typed for so many seconds", 20.0, at_least(0)
    )
    options: dict[str, Any] = setting("sampling options for the server, as in temperature = 0.7", {}, options)
    rules: dict[str, str] = setting(
        'for each tool "allow", "ask" or "deny", instead of what its risk asks for; "source:files" is all tools of\n'
        'a source, "read_file path=~/notes/*" a tool with such an argument; the closest counts',
        {},
        rules,
    )
    predicates: dict[str, str] = setting(
        'how many values a predicate has at a time, "one" or "many", as in "prefers.editor" = "one": of one the\n'
        "newer ends the older",
        {},
        predicates,
    )
    folders: list[str] = setting(
        'folders whose files the model may read, as in ["~/notes"]; of all others it reads none', [], texts
    )
    feeds: dict[str, str] = setting(
        "what the model may fetch, by name: the address or the file of a feed (RSS, Atom, iCal) or of some text,\n"
        'as in news = "https://example.org/feed.xml"',
        {},
        texts,
    )
    feeds_private: bool = setting("an address of a feed may be on this machine or in its private network", False)
    remind_again: float = setting(
        "minutes after which a reminder that is neither done nor snoozed comes up again", 60.0, at_least(1)
    )
    remind_command: list[str] = setting(
        'a command that is run for each reminder, its words as the last argument, as in ["notify-send", "agent"]',
        [],
        texts,
    )
    schedule_rounds: int = setting("rounds of tool calls that a run of a schedule may make", 6, at_least(1))
    tool_seconds: float = setting("seconds that a tool may take", 60.0, at_least(0.1))
    mcp: dict[str, dict[str, Any]] = setting(
        'tool servers (MCP), each a table [mcp.NAME] of its own: command = "engram", with args = ["mcp"] and env,\n'
        'or url = "https://…" with headers',
        {},
        servers,
    )
    prices: dict[str, list[float]] = setting(
        "per model the price of a million tokens in and out; local ones cost 0", {}, prices
    )
    retention: dict[str, str] = setting(
        'what is removed once it is old and summarised; while this is empty, nothing. preset = "short", "medium" or\n'
        '"long"; or, instead of what it says too, an age or "keep" for working (messages), day, week, month, quarter\n'
        'and year, as in working = "48h", day = "30d", week = "6w", month = "6mo", quarter = "4q", year = "2y"',
        {},
        retention,
    )
