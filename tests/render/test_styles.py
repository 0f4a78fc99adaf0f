"""What is drawn and sent where: decided by the stream, the environment, the flags and what the terminal says it can."""

import io
import re

from agent_cli.render import styles, terminal_features
from agent_cli.render.styles import detect
from agent_cli.render.terminal_features import Features, linked, plain_keys
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
        ({"ACCESSIBLE": "1"}, {"color": "always"}, "screen_reader"),
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


@for_each(
    ("variables", "can"),
    [
        ("TERM=xterm-256color", ""),
        ("TERM=dumb", ""),
        ("TERM=xterm-kitty", "links marks title at_once focus notify keys"),
        ("TERM=xterm-256color TERM_PROGRAM=ghostty", "links marks title at_once focus notify keys"),
        ("TERM=foot-extra", "links marks title at_once focus notify keys"),
        ("TERM=alacritty", "links title at_once focus notify keys"),
        ("TERM=xterm-256color TERM_PROGRAM=vscode", "links marks title focus notify"),
        ("TERM=xterm-256color VTE_VERSION=7800", "links title focus notify"),
        ("TERM=xterm-256color XTERM_VERSION=XTerm(390)", "title focus notify keys"),
        ("TERM=screen-256color KITTY_WINDOW_ID=1", ""),
        ("TERM=tmux-256color TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.3a TMUX=x", "title focus notify keys"),
        ("TERM=tmux-256color TERM_PROGRAM=tmux TERM_PROGRAM_VERSION=3.5 TMUX=x", "links marks title focus notify keys"),
    ],
)
def test_a_terminal_gets_what_it_says_it_can(variables, can):
    features = terminal_features.detect(dict(each.split("=", 1) for each in variables.split()))
    assert " ".join(name for name in Features.__annotations__ if _has(features, name)) == can


def _has(features, name):
    value = getattr(features, name)
    return any(value) if isinstance(value, tuple) else bool(value)


KITTY = terminal_features.detect({"TERM": "xterm-kitty"})


def test_addresses_in_a_text_are_links_without_the_full_stop_behind_them():
    text = "see https://example.org/a(b)?c=d. And (http://x.at), not javascript:alert(1)"
    first, second = "https://example.org/a(b)?c=d", "http://x.at"
    wanted = text.replace(first, f"\x1b]8;;{first}\x1b\\{first}\x1b]8;;\x1b\\")
    assert linked(text, KITTY) == wanted.replace(second, f"\x1b]8;;{second}\x1b\\{second}\x1b]8;;\x1b\\")
    assert linked(text, Features()) == text


def test_nothing_in_a_name_or_an_address_ends_its_sequence():
    assert KITTY.titled("a\x07b\x1b]0;c") == "\x1b]2;ab]0;c\x1b\\"
    assert KITTY.notification("a;b\x1b\\c") == "\x1b]9;a,b\\c\x1b\\"
    assert KITTY.link("https://x.at/\x1b\\ä", "x") == "\x1b]8;;https://x.at/%1B%5C%C3%A4\x1b\\x\x1b]8;;\x1b\\"
    assert KITTY.link("javascript:alert(1)", "x") == "x"


@for_each(
    ("sent", "plain"),
    [
        ("\x1b[99;5u", "\x03"),  # Ctrl-C
        ("\x1b[99;133u", "\x03"),  # with Num Lock
        ("\x1b[27u", "\x1b"),
        ("\x1b[97;3u", "\x1ba"),  # Alt-A
        ("\x1b[97;4u", "\x1bA"),
        ("\x1b[49;3u", "\x1b1"),
        ("\x1b[120;7u", "\x1b\x18"),  # Ctrl-Alt-X
        ("\x1b[13;2u", "\x1b[27;2;13~"),
        ("\x1b[13;3u", "\x1b\r"),
        ("\x1b[9;2u", "\x1b[Z"),
        ("\x1b[127;3u", "\x1b\x7f"),
        ("\x1b[32;5u", "\0"),
        ("\x1b[57404u", "5"),  # of the number pad
        ("\x1b[1;129A", "\x1b[A"),  # Up, with Num Lock
        ("\x1b[1;133D", "\x1b[1;5D"),
        ("\x1b[3;129~", "\x1b[3~"),
        ("\x1b[1;129P", "\x1bOP"),
        ("äöü \x1b[A\x1b[200~x\x1b[201~\x1b[12;40R", "äöü \x1b[A\x1b[200~x\x1b[201~\x1b[12;40R"),
    ],
)
def test_keys_of_the_protocol_of_kitty_mean_what_they_did_before(sent, plain):
    assert plain_keys(sent) == plain
    assert plain_keys(f"x{sent}y") == f"x{plain}y"


def test_what_is_written_at_once_and_where_keys_are_read_is_ended_again():
    assert KITTY.at_once == ("\x1b[?2026h", "\x1b[?2026l")
    assert KITTY.prompt_modes == ("\x1b[>1u\x1b[?1004h", "\x1b[?1004l\x1b[<u")
    assert Features().at_once == ("", "")
    assert Features().prompt_modes == ("", "")
    assert Features().mark("A") + Features().titled("x") + Features().notification("x") == ""
    assert terminal_features.Features(marks=True).mark("C") == "\x1b]133;C\x1b\\"
