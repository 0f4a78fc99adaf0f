"""What may be wrong with a value, beyond its type: each check gives the fault in words, or an empty string."""

import math
import re
from collections.abc import Callable
from typing import Any

_MOST = 1_000_000_000  # so many minutes can still be taken from a date


def at_least(least: float) -> Callable[[Any], str]:
    def check(value: float) -> str:
        if value == math.inf:
            return "must be a finite number"
        if value > _MOST:
            return f"must be at most {_MOST}"
        return "" if value >= least else f"must be at least {least}"

    return check


def not_empty(value: str) -> str:
    return "" if value.strip() else "must not be empty"


def prices(table: dict[str, Any]) -> str:
    def pair(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 2 and all(type(n) in (int, float) and n >= 0 for n in value)

    return "" if all(map(pair, table.values())) else "must be pairs of prices, as in [0.15, 0.60]"


def options(table: dict[str, Any]) -> str:
    return "must not hold num_ctx: that is a setting of its own" if "num_ctx" in table else ""


def rules(table: dict[str, Any]) -> str:
    if torn := [key for key, value in table.items() if isinstance(value, dict)]:
        return f'must have a name with a dot in quotes: "{torn[0]}.…" = "ask"'
    known = {*map(str, table.values())} <= {"allow", "ask", "deny"}
    return "" if known else 'must be "allow", "ask" or "deny" for each tool'


def texts(values: list[Any]) -> str:
    return "" if all(isinstance(each, str) and each.strip() for each in values) else "must hold texts alone"


def named_texts(table: dict[str, Any]) -> str:
    return texts(list(table.values()))


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
