"""What is drawn where: decided by the stream, the environment and the flags; colours are named in one module."""

import io
import re

from agent_cli.render import styles
from agent_cli.render.styles import detect
from tests.structure import FILES, module
from tests.tables import for_each

COLOURS = "black red green yellow blue magenta cyan white"
NAMES_A_COLOUR = re.compile(
    rf"\\x1b\[\d+m|\"(?:\d;)?[39][0-7]\"|(?i:[\"' ](?:ansi|bright_|bold )?(?:{COLOURS.replace(' ', '|')})[\"'])"
)


def test_no_other_module_names_a_colour():
    found = {module(path): NAMES_A_COLOUR.findall(path.read_text(encoding="utf-8")) for path in FILES}
    assert [name for name, colours in found.items() if colours] == ["render.styles"], found


def test_without_colours_weight_remains():
    assert styles.Display(weight=True).shown("1;31") == "1"
    assert styles.Display(weight=True).shown("36") == ""


class Screen(io.StringIO):
    def isatty(self):
        return True


@for_each(
    ("environ", "flags", "expected"),
    [
        ({}, {}, "colour weight markdown spinner"),
        ({"NO_COLOR": "1"}, {}, "weight markdown spinner"),
        ({"NO_COLOR": ""}, {}, "colour weight markdown spinner"),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, {}, "weight markdown spinner"),
        ({"NO_COLOR": "1"}, {"color": "always"}, "colour weight markdown spinner"),
        ({"FORCE_COLOR": "1"}, {"color": "never"}, "weight markdown spinner"),
        ({}, {"color": "never"}, "weight markdown spinner"),
        ({"TERM": "dumb"}, {}, ""),
        ({}, {"plain": True}, ""),
        ({"ACCESSIBLE": "1"}, {}, "screen_reader"),
        ({"ACCESSIBLE": "0"}, {}, "colour weight markdown spinner"),
        ({}, {"screen_reader": True, "color": "always"}, "screen_reader"),
    ],
)
def test_at_a_terminal(environ, flags, expected):
    assert named(detect(Screen(), environ, **flags)) == expected


@for_each(
    ("environ", "flags", "expected"),
    [
        ({}, {}, ""),
        ({"FORCE_COLOR": "1"}, {}, "colour"),
        ({}, {"color": "always"}, "colour markdown"),
        ({"ACCESSIBLE": "1"}, {}, "screen_reader"),
    ],
)
def test_in_a_pipe(environ, flags, expected):
    assert named(detect(io.StringIO(), environ, **flags)) == expected


def test_a_pipe_is_80_wide():
    assert detect(io.StringIO(), {}).width() == 80


def named(display):
    return " ".join(
        name for name in ("colour", "weight", "markdown", "spinner", "screen_reader") if getattr(display, name)
    )
