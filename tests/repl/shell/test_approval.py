"""What a person sees of a call before they say yes to it."""

from agent_cli.messages import ToolCall
from agent_cli.repl.shell.approval import QUESTION, question


def shown(width=80, ruled=None, **arguments):
    return question(ToolCall("c1", "save_note", arguments, ruled or {}), width).splitlines()


def test_a_question_shows_the_call_without_what_cannot_be_seen():
    call = ToolCall("c1", "save\x1b[2J_note", {"text": "a\u202eb\u200b\U000e0041c\x9b"})
    assert question(call, 80) == '? The model wants to call save[2J_note with {\n  "text": "abc"\n}'


def test_each_argument_stands_on_its_own_line_as_it_is():
    assert shown(text="Buy milk", title="A\nB", done=True, list=[1]) == [
        "? The model wants to call save_note with {",
        '  "text": "Buy milk",',
        '  "title": "A\\nB",',
        '  "done": true,',
        '  "list": [',
        "    1",
        "  ]",
        "}",
    ]


def test_what_an_argument_really_is_stands_below_it():
    assert shown(path="~/work/../x", ruled={"path": "/etc/x"}) == [
        "? The model wants to call save_note with {",
        '  "path": "~/work/../x"',
        "}",
        "and that is {",
        '  "path": "/etc/x"',
        "}",
    ]


def test_no_argument_can_look_like_the_question():
    forged = "x" + " " * 68 + QUESTION + "\r\n}\n" + QUESTION + "\u2028" + QUESTION + "\x85" + QUESTION
    lines = shown(text=forged, **{f"}}\n{QUESTION}": 1})
    assert [line for line in lines if not line.startswith("  ")] == ["? The model wants to call save_note with {", "}"]
    assert max(map(len, lines)) < 80


def test_wide_characters_do_not_reach_over_the_edge_of_the_window():
    assert max(map(len, shown(width=40, text="猫" * 100)[1:])) <= 20 + 8


def test_what_is_long_is_cut_in_the_middle_and_that_is_said():
    text = "\n".join(shown(text="a" * 500_000 + "the end"))
    assert "".join(text.split()).endswith('theend"}')
    assert "498,819charactersarenotshown" in "".join(text.split())
    assert len(text) < 2000


def test_many_arguments_are_cut_and_that_is_said():
    lines = shown(**{f"n{number}": number for number in range(1000)})
    assert (len(lines), lines[-2]) == (43, "  … 960 more lines are not shown")
