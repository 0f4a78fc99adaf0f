"""The languages whose sentences are understood by rules. Each is a module with the same constants, most of them regular
expressions in lower case; one more language is one more module in `ALL`."""

from agent_cli.memory.language import english, german

ALL = (english, german)


def alternatives(name: str) -> str:
    """A regular expression for what any language has under this name."""
    return f"(?:{'|'.join(getattr(language, name) for language in ALL)})"


def ordered(name: str) -> tuple[str, ...]:
    """For each place of a list that all languages have, such as the twelve months, its names as alternatives."""
    return tuple("|".join(names) for names in zip(*(getattr(language, name) for language in ALL), strict=True))
