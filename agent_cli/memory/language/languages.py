"""The languages whose sentences are understood by rules. Each is a module with the same constants, most of them regular
expressions in lower case; one more language is one more module in `ALL`."""

import re
from collections.abc import Sequence
from functools import cache

from agent_cli.memory.language import english, german
from agent_cli.text import Pattern

ALL = (english, german)


def alternatives(name: str) -> str:
    """A regular expression for what any language has under this name."""
    return f"(?:{'|'.join(getattr(language, name) for language in ALL)})"


def ordered(name: str) -> tuple[str, ...]:
    """For each place of a list that all languages have, such as the twelve months, its names as alternatives."""
    return tuple("|".join(names) for names in zip(*(getattr(language, name) for language in ALL), strict=True))


def pattern(expression: str, words: Sequence[str] = ()) -> Pattern:
    """A pattern in which `<NAME>` stands for what any language has under this name. `words`: see Pattern."""
    expanded = re.sub(r"<([A-Z_]+)>", lambda name: alternatives(name[1]), expression)
    return Pattern(expanded, re.IGNORECASE | re.DOTALL, words)


def words(name: str) -> frozenset[str]:
    """The words that any language has under this name."""
    return frozenset(word for language in ALL for word in getattr(language, name).split())


def mentions(text: str, name: str) -> bool:
    """Whether a text contains one of the phrases of this name. It costs nothing, where a pattern must be compiled."""
    folded = text.casefold()
    return any(phrase in folded for phrase in phrases(name))


@cache
def phrases(name: str) -> tuple[str, ...]:
    """The phrases that all languages have under this name, the longest first."""
    found = (phrase for language in ALL for phrase in getattr(language, name).split("|"))
    return tuple(sorted(found, key=len, reverse=True))
