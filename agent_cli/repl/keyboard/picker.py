"""A choice from a list that filters as one types, with a preview of what is chosen; Enter takes it, Esc leaves.

Only the lines on the screen are drawn, so a list of thousands takes no longer than a short one. On a terminal without a
cursor, and for a screen reader, the list is printed with numbers and the choice is typed.
"""

import asyncio
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.render.layout import cut, wrap, wrapped
from agent_cli.render.styles import YOU
from agent_cli.repl.keyboard.key_reader import LineReader
from agent_cli.repl.keyboard.keys import SEND
from agent_cli.text import clean
from agent_cli.values import frozen

_SHOWN = 10  # lines of the list
_NUMBERED = 15  # lines of a printed list
_ESC_TIMEOUT = 0.05  # seconds after which an Esc is complete: the rest of a key code follows at once
_IDLE = 0.1  # seconds after a choice
_STEPS = {
    **dict.fromkeys(("down", "c-n", "c-r", "tab"), 1),
    **dict.fromkeys(("up", "c-p", "c-s", "s-tab"), -1),
    "pagedown": _SHOWN,
    "pageup": -_SHOWN,
}


class PickerRow(NamedTuple):  # a list has thousands: as dataclasses, with a preview each, they set off the collector
    """`key` is returned; `line` is shown; `searched`: text in which typed words are looked for, in lower case. `names`:
    what names the row alone, as its handle does."""

    key: str
    line: str
    searched: str
    names: tuple[str, ...] = ()


@frozen
class PickerList:
    """What is chosen from. `nothing`: said where no row has the typed words. `preview` gives, for a key, lines of at
    most so many cells, of which `previewed` are shown. `elsewhere`: typed words that no row has are returned, to be
    looked for elsewhere."""

    question: str
    rows: Sequence[PickerRow]
    nothing: str
    preview: Callable[[str, int], Sequence[str]]
    previewed: int = 2
    elsewhere: bool = False

    def matching(self, typed: str) -> Sequence[PickerRow]:
        """The rows that have all typed words; first the one that is named by them."""
        found, named = self.rows, typed.strip().casefold()
        for word in named.split():
            found = [each for each in found if word in each.searched]
        return sorted(found, key=lambda each: named not in each.names) if named else found

    def chosen(self, found: Sequence[PickerRow], at: int, typed: str) -> str:
        return found[at].key if found else typed if self.elsewhere else ""


async def choose(offered: PickerList) -> str:
    """The key of the choice; empty when the person leaves."""
    if not (is_dumb_terminal() or os.environ.get("ACCESSIBLE")):
        try:
            return await Screen(offered).application().run_async(handle_sigint=False)
        finally:  # what the screen leaves is searched while nobody waits
            asyncio.get_running_loop().call_later(_IDLE, gc.collect, 1)
    rows = offered.rows[:_NUMBERED]
    for number, each in enumerate(rows, 1):
        print(clean(f"{number:>3}  {each.line}"))
    sys.stdout.flush()
    ask = f"{offered.question} number, handle or words; Enter alone leaves: "
    try:
        if is_dumb_terminal():
            typed = await LineReader(get_app_session().input).read_answer(ask)
        else:
            typed = (await PromptSession[str]().prompt_async(ask)).strip()
    except (EOFError, KeyboardInterrupt):
        return ""
    if typed.isdecimal() and 1 <= int(typed) <= len(rows):
        return rows[int(typed) - 1].key
    return offered.chosen(offered.matching(typed), 0, typed) if typed else ""


@lru_cache(maxsize=1)
def _application(input: Input, output: Output) -> "Application[str]":
    """What shows each choice, made once: all keys and styles that prompt-toolkit knows take their time."""
    app = Application[str](erase_when_done=True, input=input, output=output)
    app.ttimeoutlen = _ESC_TIMEOUT
    return app


class Screen:
    def __init__(self, offered: PickerList):
        self._offered = offered
        self._typed = Buffer(multiline=False)
        self._typed.on_text_changed += lambda _: self._filter()
        self._found, self._at = offered.rows, 0

    def application(self) -> "Application[str]":
        rows, preview = max(3, min(_SHOWN, len(self._offered.rows))), 1 + self._offered.previewed
        control = BufferControl(self._typed)
        line = VSplit([Window(FormattedTextControl([("bold", YOU.sign)]), width=2), Window(control)], height=1)
        parts = [
            Window(FormattedTextControl(self._heading), dont_extend_height=True),
            line,
            Window(FormattedTextControl(self._list), height=Dimension(min=1, max=rows, preferred=rows)),
            Window(FormattedTextControl(self._preview), height=Dimension(min=0, max=preview, preferred=preview)),
        ]
        app = _application(get_app_session().input, get_app_session().output)
        app.layout, app.key_bindings = Layout(HSplit(parts), focused_element=control), self._keys()
        return app

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", eager=True)
        @keys.add(SEND)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=self._offered.chosen(self._found, self._at, self._typed.text))

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-g")
        @keys.add("c-d")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result="")

        def move(steps: int, event: KeyPressEvent) -> None:
            self._at = max(0, min(self._at + steps, len(self._found) - 1))

        for key, steps in _STEPS.items():
            keys.add(key)(partial(move, steps))
        return keys

    def _filter(self) -> None:
        self._found, self._at = self._offered.matching(self._typed.text), 0

    def _heading(self) -> StyleAndTextTuples:
        found, rows = len(self._found), len(self._offered.rows)
        shown = f"{found:,} of {rows:,}" if found < rows else f"{rows:,}"
        keys = "type to filter, arrows move, Enter takes it, Esc leaves"
        return [("bold", "\n" + wrap(f"{self._offered.question} {keys} ({shown})", _width()))]

    def _list(self) -> StyleAndTextTuples:
        if not self._found:
            return [("", wrap(f"  {self._offered.nothing}", _width()))]
        first = max(0, self._at - _SHOWN + 1)
        return [
            ("reverse" if number == self._at else "", f"  {cut(clean(row.line).replace(chr(10), ' '), _width() - 2)}\n")
            for number, row in enumerate(self._found[first : first + _SHOWN], first)
        ]

    def _preview(self) -> StyleAndTextTuples:
        if not self._found:
            return []
        lines, most = [*self._offered.preview(self._found[self._at].key, _width() - 4)], self._offered.previewed
        if len(lines) > most:
            lines[most - 1 :] = ["…"]
        return [("", "\n" + "\n".join(f"    {clean(line)}" for line in lines))]


def _width() -> int:
    return get_app().output.get_size().columns - 1


_SHOWN_CHARACTERS = 400  # characters of a line of the list: more than a window has
_PREVIEW = 6  # lines
_PREVIEWED = 4000  # characters of which they are made


def offered_lines(lines: Sequence[str]) -> PickerList:
    nothing = "nothing that you sent has these words" if lines else "nothing was sent yet"
    rows = [PickerRow(str(number), line[:_SHOWN_CHARACTERS], line.casefold()) for number, line in enumerate(lines)]

    def preview(key: str, width: int) -> Sequence[str]:
        return wrapped(clean(lines[int(key)][:_PREVIEWED]), width)

    return PickerList("which line?", rows, nothing, preview, _PREVIEW)
