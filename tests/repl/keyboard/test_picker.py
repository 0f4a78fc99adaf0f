"""A list to choose from opens at once, since its screen was made ahead."""

import asyncio
import io

from prompt_toolkit.application import create_app_session
from prompt_toolkit.cursor_shapes import CursorShape
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.repl.keyboard import picker

OFFERED = picker.offered_lines(["where is the router?", "and the key?"])


def test_one_screen_that_was_made_ahead_shows_each_list_on_the_terminal_of_now(monkeypatch):
    monkeypatch.delenv("ACCESSIBLE", raising=False)
    picker.prepare.cache_clear()

    async def choose_twice():
        for keys, chosen in (("\r", "0"), ("key\r", "1")):
            keyboard.send_text(keys)
            assert await picker.choose(OFFERED) == chosen

    for _ in range(2):
        output = Vt100_Output(io.StringIO(), lambda: Size(rows=24, columns=80), term="xterm")
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
            output.set_cursor_shape(CursorShape.BEAM)  # as the prompt does in vi mode
            written = "".join(output._buffer)
            made = picker.prepare()
            assert "".join(output._buffer) == written
            shown = picker.application(OFFERED)
            assert (shown, shown.output, shown.renderer.output, shown.input) == (made, output, output, keyboard)
            asyncio.run(choose_twice())
