"""The roles and colours stand in one module, and follow from the words of a line."""

import re
from pathlib import Path

import pytest

from agent_cli.render import styles
from tests.structure import FILES, module

COLOURS = "black red green yellow blue magenta cyan white"
NAMES_A_COLOUR = re.compile(
    rf"\\x1b\[\d+m|\"(?:\d;)?[39][0-7]\"|(?i:[\"' ](?:ansi|bright_|bold )?(?:{COLOURS.replace(' ', '|')})[\"'])"
)


@pytest.mark.parametrize("path", FILES, ids=module)
def test_no_other_module_names_a_colour(path: Path):
    found = NAMES_A_COLOUR.findall(path.read_text(encoding="utf-8"))
    assert bool(found) == (module(path) == "render.styles"), found


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("kept f3, in effect since 22 Nov 2026: “I live in Graz”", styles.DONE),
        ("saved n1 “milk”", styles.DONE),
        ("closed s1 · resume: agent -r s1", styles.DONE),
        ("undone: kept f3", styles.DONE),
        ("used m9 f1 · /why", styles.PROGRAM),
        ("f3 waits for your yes: /review", styles.NEEDS_YOU),
        ("2 memories wait for your yes: /review", styles.NEEDS_YOU),
        ("save_note was not allowed", styles.FAILED),
        ("the turn was ended: six rounds", styles.FAILED),
        ("some background work failed: /doctor says more", styles.FAILED),
        ("nothing is known of it", styles.PROGRAM),
    ],
)
def test_the_role_of_a_line_follows_from_its_words(line, role):
    assert styles.role_of(line) == role


def test_without_colours_weight_remains():
    assert styles.without_colours("1;31") == "1"
    assert styles.without_colours("36") == ""
