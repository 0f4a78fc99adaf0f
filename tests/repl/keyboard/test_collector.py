"""What a session loads and draws gives the garbage collector little to look through."""

import asyncio
import gc
import io

from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.repl.keyboard import keys


def test_what_is_loaded_when_a_session_begins_is_not_searched():
    before = gc.get_threshold()
    try:
        gc.unfreeze()
        keys.spare_loaded()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (20_000, 20, 20)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def test_a_drawing_is_emptied_when_the_next_one_stands():
    output = Vt100_Output(io.StringIO(), lambda: Size(rows=24, columns=80), term="xterm")

    async def draw_twice():
        window = Window(FormattedTextControl("a draft of some words"))
        app = Application(layout=Layout(window))
        keys.spare_drawn(app)
        running = asyncio.create_task(app.run_async())
        drawings = []
        for _ in range(2):
            while app.render_counter == len(drawings):
                await asyncio.sleep(0)
            drawings.append((window.render_info, app.renderer.last_rendered_screen))
            app.invalidate()
        left = [(len(places._rowcol_to_yx), len(characters.data_buffer)) for places, characters in drawings]
        app.exit()
        await running
        return left

    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
        first, (places, lines) = asyncio.run(draw_twice())
    assert first == (0, 0)
    assert places == len("a draft of some words")
    assert lines
