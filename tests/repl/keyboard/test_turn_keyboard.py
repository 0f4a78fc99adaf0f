"""Keys typed while an answer comes."""

import asyncio
import threading
import time

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead

from agent_cli.repl.keyboard.key_reader import TurnKeyboard
from agent_cli.repl.keyboard.keys import bursts

TYPED = "I play the cello"


def typed_during(pieces, pause):
    """The keys for the next prompt, when these pieces arrive while the event loop is busy, as with a long table.

    Each is typed so many seconds after the one before has been read, however slow the machine is.
    """
    come = threading.Semaphore(0)

    async def answer(pipe):
        with TurnKeyboard(pipe, lambda: None, lambda _: come.release()):
            for piece in pieces:
                pipe.send_text(piece)
                for _ in piece:
                    assert come.acquire(timeout=30)
                time.sleep(pause)
        return get_typeahead(pipe)

    with create_pipe_input() as pipe:
        return asyncio.run(answer(pipe))


def test_typing_is_typing_also_while_the_program_is_busy_drawing():
    keys = typed_during(TYPED, 0.04)
    assert "".join(key.data for key in keys) == TYPED
    assert not any(bursts([key.at for key in keys]))
    assert len(keys) == len(TYPED), "no mark"


@pytest.mark.parametrize("pieces", [[TYPED], [TYPED[:8], TYPED[8:]]], ids=["at once", "in pieces"])
def test_a_paste_that_arrives_meanwhile_is_none(pieces):
    keys = typed_during(pieces, 0.01)
    assert "".join(key.data for key in keys) == TYPED
    assert all(bursts([key.at for key in keys]))
    assert len(keys) == len(TYPED) + 1, "the line is marked"
