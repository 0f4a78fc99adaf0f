"""A list to choose from opens at once, since its screen was made ahead."""

import asyncio
import io

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.cursor_shapes import CursorShape
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.repl.keyboard import picker

OFFERED = picker.offered_lines(["where is the router?"])


@pytest.fixture
def terminal():
    """Makes terminals that nobody sees."""

    def make():
        output = Vt100_Output(io.StringIO(), lambda: Size(rows=24, columns=80), term="xterm")
        return create_app_session(input=keyboard, output=output)

    with create_pipe_input() as keyboard:
        picker._blank.clear()
        yield make
        picker._blank.clear()


def test_a_list_takes_the_screen_that_was_made_ahead_and_the_next_another(terminal):
    with terminal():
        picker.prepare()
        picker.prepare()
        (ready,) = picker._blank
        assert picker.application(OFFERED) is ready
        assert picker.application(OFFERED) is not ready


def test_making_a_screen_ahead_writes_nothing_on_the_terminal_that_it_is_shown_on_later(terminal):
    with terminal() as session:
        session.output.set_cursor_shape(CursorShape.BEAM)  # as the prompt does in vi mode
        written = "".join(session.output._buffer)
        picker.prepare()
        assert "".join(session.output._buffer) == written
        shown = picker.application(OFFERED)
        assert (shown.output, shown.renderer.output, shown.input) == (session.output, session.output, session.input)


def test_after_a_choice_the_next_screen_is_made(terminal, monkeypatch):
    monkeypatch.setattr(picker, "_IDLE", 0)
    monkeypatch.delenv("ACCESSIBLE", raising=False)

    async def choose_twice():
        for _ in range(2):
            chosen = asyncio.create_task(picker.choose(OFFERED))
            keyboard.send_text("\r")
            assert await chosen == "0"
            while not picker._blank:
                await asyncio.sleep(0)

    with terminal() as session:
        keyboard = session.input
        asyncio.run(choose_twice())
