"""The languages whose sentences are understood by rules. Each is a module with the constants of english.py, most of
them regular expressions in lower case; what a language has no words for is left out, but TIME_UNITS stands in each. One
more language is one more module in `ALL`."""

import re
from functools import cache
from types import ModuleType
from typing import Any

from agent_cli.memory.language import english, german
from agent_cli.text import Pattern

NEVER = r"(?!)"  # matches nothing
ALL = (english, german)


def expression_of(language: ModuleType, name: str) -> str:
    """The regular expression of a language under a name, without its line breaks and the blanks behind them."""
    return re.sub(r"\n *", "", getattr(language, name, NEVER))


def values(name: str) -> list[Any]:
    return [getattr(language, name) for language in ALL if hasattr(language, name)]


def alternatives(name: str) -> str:
    """A regular expression for what any language has under this name."""
    return f"(?:{'|'.join(expression_of(language, name) for language in ALL if hasattr(language, name)) or NEVER})"


def ordered(name: str) -> tuple[str, ...]:
    """For each place of a list that all languages have, such as the twelve months, its names as alternatives."""
    return tuple("|".join(names) for names in zip(*(listed.split() for listed in values(name)), strict=True))


def pattern(expression: str) -> Pattern:
    """A pattern in which `<NAME>` stands for what any language has under this name."""
    return Pattern(expand(expression), re.IGNORECASE | re.DOTALL)


def expand(expression: str) -> str:
    """The expression with what any language has under the name for each `<NAME>`."""
    return re.sub(r"<([A-Z_]+)>", lambda name: alternatives(name[1]), expression)


def spaced(expression: str) -> str:
    """The expression with any blanks for each space."""
    return expression.replace(" ", r"\s++")


def table(name: str) -> dict[str, Any]:
    return {key: value for entries in values(name) for key, value in entries.items()}


def words(name: str) -> frozenset[str]:
    """The words that any language has under this name."""
    return frozenset(word for listed in values(name) for word in listed.split())


def mentions(message: str, name: str) -> bool:
    """Whether a message contains one of the phrases of this name. Unlike a pattern it need not be compiled."""
    folded = message.casefold()
    return any(phrase in folded for phrase in phrases(name))


@cache
def phrases(name: str) -> tuple[str, ...]:
    """The phrases that all languages have under this name, the longest first."""
    return tuple(sorted(alternatives(name)[len("(?:") : -1].split("|"), key=len, reverse=True))
