"""Colours are named in one module."""

import re

from agent_cli.render import styles
from tests.structure import FILES, module

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
