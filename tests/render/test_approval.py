"""What a person sees of a call before they say yes to it."""

from agent_cli.messages import ToolCall
from agent_cli.render.reply_lines import MORE, QUESTION, question, questions

HEAD = "? The model wants to call save_note:"


def shown(width=80, ruled=None, whole=False, **arguments):
    return question(ToolCall("c1", "save_note", arguments, ruled or {}), width, whole=whole).splitlines()


def test_a_question_shows_the_call_without_what_cannot_be_seen():
    call = ToolCall("c1", "save\x1b[2J_note", {"text": "a\u202eb\u200b\U000e0041c\x9b"})
    assert question(call, 80) == "? The model wants to call save[2J_note:\n    text  abc"


def test_each_argument_stands_behind_its_name_as_a_person_reads_it():
    assert shown(text="Buy milk", title="A\nB", done=True, list=[1, "a"], size=3, note="", gap=" ") == [
        HEAD,
        "    text   Buy milk",
        "    title  A",
        "           B",
        "    done   yes",
        '    list   [1, "a"]',
        "    size   3",
        "    note   (empty)",
        "    gap    (blanks)",
    ]


def test_what_an_argument_really_is_stands_below_it():
    assert shown(path="~/work/../x", ruled={"path": "/etc/x"}) == [
        HEAD,
        "    path  ~/work/../x",
        "  and that is:",
        "    path  /etc/x",
    ]


def test_a_long_line_is_wrapped_at_words_below_itself():
    assert shown(50, text="one two three four five six seven eight nine ten eleven") == [
        HEAD,
        "    text  one two three four five six seven eight",
        "          nine ten eleven",
    ]


def test_no_argument_can_look_like_the_question():
    forged = "x" + " " * 68 + QUESTION + "\r\n}\n" + QUESTION + "\u2028" + QUESTION + "\x85" + QUESTION
    for width in (40, 80, 200):
        for whole in (False, True):
            lines = shown(width, whole=whole, text=forged, **{f"}}\n{QUESTION}": 1, "x" * 300: QUESTION})
            assert [line for line in lines if not line.startswith("    ")] == [HEAD]
            assert max(map(len, lines[1:])) < width


def test_wide_characters_do_not_reach_over_the_edge_of_the_window():
    assert max(map(len, shown(width=40, text="猫" * 100)[1:])) <= 20 + 8


def test_a_long_text_is_folded_and_shown_whole_when_it_is_asked_for():
    text = "\n".join(f"line {number}" for number in range(30))
    folded = shown(text=text)
    assert (len(folded), folded[8], folded[-1]) == (12, "          … 20 lines are not shown …", "          line 29")
    whole = shown(text=text, whole=True)
    assert [line.strip() for line in whole[2:]] == text.split("\n")[1:]
    asked = [(lines.split("\n"), keys) for lines, keys in questions(ToolCall("c1", "save_note", {"text": text}), 80)]
    assert asked == [(folded, MORE), (whole, QUESTION)]
    short = ToolCall("c1", "save_note", {"text": "short"})
    assert questions(short, 80) == [(question(short, 80), QUESTION)]


def test_what_is_too_long_for_any_screen_is_cut_in_the_middle_and_that_is_said():
    text = "\n".join(shown(whole=True, text="a" * 500_000 + "the end"))
    assert text.endswith("the end")
    assert "480,007 characters are not shown" in text
    assert len(text) < 30_000


def test_many_arguments_are_cut_and_that_is_said():
    lines = shown(**{f"n{number}": number for number in range(1000)})
    assert (len(lines), lines[-1]) == (42, "  … 960 more arguments are not shown")
