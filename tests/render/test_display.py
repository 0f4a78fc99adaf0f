"""What is drawn where: decided by the stream, the environment and the flags."""

import io

from agent_cli.render.styles import detect
from tests.tables import for_each


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
