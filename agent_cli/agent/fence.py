"""Text that the program puts into a prompt beside the person's words: kept apart from them, and measured."""

import re

from agent_cli import text

_FENCE = re.compile(r"([\[\]])(?=\1)")


def unfenced(words: str) -> str:
    """Text that cannot end the fence it is put in, nor begin one."""
    return _FENCE.sub(r"\1 ", text.clean(words))


def tokens(words: str) -> int:
    """About how many tokens a text is: four ASCII characters each, or one other character.

    On the safe side for English (4.2 to 4.7) and for scripts without spaces (0.7 to 1 per character); code is denser.
    """
    plain = sum(1 for character in words if character < "\x80") if not words.isascii() else len(words)
    return (plain + 3) // 4 + len(words) - plain
