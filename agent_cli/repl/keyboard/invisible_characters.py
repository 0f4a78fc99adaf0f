"""Visible substitutes for characters that would reorder or hide text in a line that is edited.

prompt-toolkit shows a control character as ^[ or <9b>, but lets through characters that reorder a line, and invisible
tag characters. A line may contain them: a message edited again, a proposal, a name on the server. The line keeps them,
so that its text stays unchanged, and they are drawn in the same way as control characters.
"""

from prompt_toolkit.layout.screen import Char

from agent_cli.text import clean

_BLOCKS = (0x061C, *range(0x2000, 0x2070), *range(0xE0000, 0xE0080))  # where such characters are found


def show() -> None:
    """Have every prompt of this process draw them."""
    hidden = (chr(code) for code in _BLOCKS if not clean(chr(code)))
    Char.display_mappings.update((each, f"<{ord(each):x}>") for each in hidden)
