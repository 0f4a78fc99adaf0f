"""A list to choose from opens at once, since its screen was made ahead."""

import asyncio
import io

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.repl.keyboard import history_choice, picker

OFFERED = history_choice.offered(["where is the router?"])


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


def test_a_screen_made_ahead_for_another_terminal_is_not_taken(terminal):
    with terminal():
        picker.prepare()
    with terminal() as session:
        assert picker.application(OFFERED).output is session.output


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
