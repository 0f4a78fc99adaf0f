"""The languages whose sentences are understood by rules. Each is a module with the same constants, all of them regular
expressions in lower case; one more language is one more module in `ALL`."""

from agent_cli.memory.language import english, german

ALL = (english, german)


def alternatives(name: str) -> str:
    """A regular expression for what any language has under this name."""
    return f"(?:{'|'.join(getattr(language, name) for language in ALL)})"
