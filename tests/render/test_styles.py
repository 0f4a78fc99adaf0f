"""Colours are named in one module."""

import re

from agent_cli.render import styles
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
    assert styles.without_colours("1;31") == "1"
    assert styles.without_colours("36") == ""


# The sixteen colours of four terminals as they come, dark and light: background, foreground, then the roles' colours.
THEMES = {
    "xterm, dark": ("#000000", "#e5e5e5", {"31": "#cd0000", "32": "#00cd00", "33": "#cdcd00", "36": "#00cdcd"}),
    "VS Code, dark": ("#1e1e1e", "#cccccc", {"31": "#cd3131", "32": "#0dbc79", "33": "#e5e510", "36": "#11a8cd"}),
    "VS Code, light": ("#ffffff", "#333333", {"31": "#cd3131", "32": "#107c10", "33": "#949800", "36": "#0598bc"}),
    "GNOME, dark": ("#171421", "#d0cfcc", {"31": "#c01c28", "32": "#26a269", "33": "#a2734c", "36": "#2aa1b3"}),
    "GNOME, light": ("#ffffff", "#171421", {"31": "#c01c28", "32": "#26a269", "33": "#a2734c", "36": "#2aa1b3"}),
    "Solarized, dark": ("#002b36", "#839496", {"31": "#dc322f", "32": "#859900", "33": "#b58900", "36": "#2aa198"}),
    "Solarized, light": ("#fdf6e3", "#657b83", {"31": "#dc322f", "32": "#859900", "33": "#b58900", "36": "#2aa198"}),
}
LEAST = 2.6  # of a sign beside words in the foreground: a sign is never the only thing that tells


@for_each("theme", THEMES)
@for_each("role", [styles.NEEDS_YOU, styles.DONE, styles.FAILED])
def test_the_sign_of_a_role_can_be_seen_on_dark_and_light(role, theme):
    background, foreground, colours = THEMES[theme]
    assert contrast(colours[role.style], background) >= LEAST
    assert contrast(foreground, background) >= 4.1, "the words themselves"


def contrast(one, other):
    """The contrast ratio of two colours, as WCAG 2 defines it."""
    lighter, darker = sorted(map(_luminance, (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
