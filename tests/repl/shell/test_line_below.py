"""A line below an answer that comes, on a small screen that scrolls."""

import io

import pyte
import pytest

from agent_cli.render import markdown
from agent_cli.render.styles import Display
from agent_cli.repl.shell.shell import LineBelow, Spinner

ANSWER = "".join(f"word{n} " for n in range(60))
ROWS = 12


class Window(io.StringIO):
    """A terminal of so many columns: what is written is drawn at once."""

    def __init__(self, columns):
        super().__init__()
        self._screen = pyte.Screen(columns, ROWS)
        self._stream = pyte.Stream(self._screen)

    def write(self, text):
        self._stream.feed(text.replace("\n", "\r\n"))
        return super().write(text)

    @property
    def lines(self):
        return [line.rstrip() for line in self._screen.display]


def display(columns, **look):
    return Display(weight=True, markdown=True, spinner=True, wrap=True, width=lambda: columns, **look)


@pytest.mark.parametrize("columns", [50, 120])
def test_the_line_stands_below_each_word_of_the_answer_and_leaves_no_trace(columns):
    alone, window = Window(columns), Window(columns)
    below = LineBelow(window, display(columns))
    writers = [markdown.answer_writer(each, display(columns)) for each in (alone, below)]
    typed = ""
    for n in range(0, len(ANSWER), 3):
        for writer in writers:
            writer.write(ANSWER[n : n + 3])
        typed += "typed "[n % 6]
        below.show(typed)
        *answer, last = filter(None, window.lines)
        assert last.startswith("❯ ")
        assert len(last) < columns
        assert answer == written(alone)[-len(answer) :] or not answer
    below.show("")
    for writer in writers:
        writer.end()
    assert written(window) == written(alone)[-len(written(window)) :]


def written(window):
    return [line for line in window.lines if line]


def test_without_a_line_not_a_byte_is_added():
    plain, passed = io.StringIO(), io.StringIO()
    for out in (plain, LineBelow(passed, display(80))):
        writer = markdown.answer_writer(out, display(80))
        for n in range(0, len(ANSWER), 5):
            writer.write(ANSWER[n : n + 5])
        writer.end()
    assert passed.getvalue() == plain.getvalue()


def test_the_line_stands_below_what_is_waited_for():
    window = Window(80)
    below = LineBelow(window, display(80))
    below.show("next")
    spinner = Spinner(below, display(80), now=lambda: 0.0)
    spinner._draw("waiting for the model …")
    assert window.lines[:2] == ["waiting for the model …", "❯ next"]
    spinner._drawn = ""
    below.write("\r\x1b[K")
    below.flush()
    assert window.lines[:2] == ["", "❯ next"]


def test_where_lines_cannot_be_erased_nothing_is_shown():
    out = io.StringIO()
    LineBelow(out, Display()).show("typed")
    assert out.getvalue() == ""
