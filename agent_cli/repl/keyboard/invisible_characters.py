"""What a line that is edited shows in place of characters that would turn or hide the others.

prompt-toolkit shows a control character as ^[ or <9b>, and lets through those that reorder a line, and tags that nobody
sees. A line may hold them: a message that comes back to be changed, a proposal, a name on the server. The line keeps
them, so that it stays what was said, and they are drawn in the same way as the others.
"""

from prompt_toolkit.layout.screen import Char

from agent_cli.text import clean

_AMONG = (0x061C, *range(0x2000, 0x2070), *range(0xE0000, 0xE0080))


def mark() -> None:
    """Have every line of this process show them."""
    hidden = (chr(code) for code in _AMONG if not clean(chr(code)))
    Char.display_mappings.update((each, f"<{ord(each):x}>") for each in hidden)
