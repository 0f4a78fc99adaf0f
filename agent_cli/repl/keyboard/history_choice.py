"""The choice of a line from what was sent before, of Ctrl-R: the list filters as one types, with the whole message."""

from collections.abc import Sequence

from agent_cli.render.program_text import wrap
from agent_cli.repl.keyboard import picker
from agent_cli.repl.keyboard.picker import PickerList, PickerRow
from agent_cli.text import clean

_SHOWN = 400  # characters of a line of the list: more than a window has
_PREVIEW = 6  # lines
_PREVIEWED = 4000  # characters of which they are made


async def choose(lines: Sequence[str]) -> str:
    """The line that the person chose; empty when the person leaves."""
    chosen = await picker.choose(offered(lines))
    return lines[int(chosen)] if chosen else ""


def offered(lines: Sequence[str]) -> PickerList:
    """The list of these lines, which stand in their order."""
    nothing = "nothing that you sent has these words" if lines else "nothing was sent yet"
    rows = [PickerRow(str(number), line[:_SHOWN], line.casefold()) for number, line in enumerate(lines)]

    def preview(key: str, width: int) -> Sequence[str]:
        return wrap(clean(lines[int(key)][:_PREVIEWED]), width).split("\n")

    return PickerList("which line?", rows, nothing, preview, _PREVIEW)
