"""No reply stands on the screen like the program's own lines, however it is written or cut into pieces."""

import io
import random

from agent_cli.messages import Failure, Receipt, Request, ToolCall
from agent_cli.render import markdown
from agent_cli.render.markdown import MarkdownWriter
from agent_cli.render.reply_lines import (
    MORE,
    QUESTION,
    PlainWriter,
    ReplyCleaner,
    announced,
    marked,
    question,
    questions,
)
from agent_cli.render.styles import DONE, FAILED, NEEDS_YOU, PROGRAM, YOU, Display
from tests import torture
from tests.tables import for_each, listed
from tests.test_injection import CORPUS

POSING = listed("""
    kept f3: “I live in Graz” | kept f14, since 21 Nov 2026, replaces f31 | saved n1 “milk” | erased: 1 note / 0 left
    Erased. Searched the file for 13 words and lines: 0 left | used 2 things you said · /why | rejected f2
    closed s1 · resume: agent -r s1
    f3 waits for your yes: /review | 2 facts to review: /review | 2 facts and 1 skill to review: /review
    Fact 1 of 2 · f3 | Skill 1 of 2 · k3 | The model wants to call save_note with {
    allow it? y once, a for this session, anything else no: y | Review 1 of 2 · f3 | agent: kept f3 | Program: kept f3
    — stopped — | > /facts approve f3 | > y | **saved** f1 | *kept* **f3**: “I live in Graz” | ~~saved~~ _n1_ “milk”
    ｓａｖｅｄ f1 | ＞ /facts approve f3
""")
POSING.append(f"{'- ' * 40}saved f1")
ROLES = (YOU, PROGRAM, NEEDS_YOU, DONE, FAILED)
NEVER = (YOU.sign, DONE.sign, FAILED.sign)  # signs that no reply can write
AT_THE_MARGIN = (PROGRAM.sign, NEEDS_YOU.sign, "··", "??", *"\u0387‧⋅∙･・？﹖⸱")  # no line of a reply begins so
LOOKS = {"Markdown": Display(colour=True, markdown=True), "plain": Display(), "aloud": Display(screen_reader=True)}


def shown(text, look, cuts=()):
    out = io.StringIO()
    writer = markdown.answer_writer(out, LOOKS[look])
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        writer.write(text[start:end])
    writer.end()
    return out.getvalue()


@for_each("look", LOOKS)
@for_each("line", POSING)
def test_a_line_of_a_reply_that_is_worded_like_the_programs_gets_a_bar(line, look):
    for posing in (
        line,
        f"**{line}**",
        f"# {line}",
        f"k\u200b{line[1:]}" if line[0] == "k" else line,
        *(f"{role.sign} {line}" for role in ROLES),
    ):
        told = shown(f"Well.\n\n{posing}\nThat is all.", look).replace("\x1b[1m", "").replace("\x1b[2m", "")
        assert "\n│ " in told, posing
        assert not any(sign in told for sign in NEVER), told


@for_each("look", LOOKS)
@for_each("sign", NEVER)
def test_a_tick_a_cross_and_a_prompt_are_other_ones_in_a_reply_wherever_a_line_breaks(sign, look):
    assert sign not in shown("x" * 70 + f" {sign} kept f3\n```\n{sign} kept f3\n```\n| a |\n|---|\n| {sign} |", look)


@for_each("look", LOOKS)
@for_each("sign", AT_THE_MARGIN)
def test_no_line_of_a_reply_begins_with_a_dot_or_a_question_mark(sign, look):
    posing = [f"{sign} save it, y or n", f"**{sign}** save it", f"## {sign} save it", f"\u200b{sign} save it", sign]
    broken = ["x" * width + f" {sign} save it " + "y " * 60 for width in range(70, 82)] if look == "Markdown" else []
    told = shown("\n\n".join([*posing, *broken]), look).replace("\x1b[1m", "").replace("\x1b[m", "")
    assert [line for line in told.split("\n") if line.replace("\u200b", "").startswith(sign)] == []


def test_what_the_program_says_has_the_sign_of_its_role():
    colours, plain = Display(colour=True, wrap=True, width=lambda: 24), Display()
    assert announced(Receipt("kept f3"), colours) == "\x1b[32m✓\x1b[m kept f3"
    assert announced(Failure("it broke"), colours) == "\x1b[31m✗\x1b[m it broke"
    assert announced(Request("2 facts to review: /review"), plain) == "? 2 facts to review: /review"
    assert announced("used 2 things you said · /why", plain) == "· used 2 things you said · /why"
    assert announced(Failure("it broke"), plain) == "✗ it broke"
    assert announced("kept nothing: the disk is full", plain) == "· kept nothing: the disk is full"
    assert announced("a line that is longer than the window", colours).split("\n") == [
        "\x1b[2m· a line that is longer\x1b[m",
        "\x1b[2m  than the window\x1b[m",
    ]
    assert announced("kept f3", LOOKS["aloud"]) == "Program: kept f3"
    assert announced(Receipt("kept f3"), Display(weight=True)) == "✓ kept f3"


@for_each(
    "words",
    [
        "The keys are kept in a drawer.",
        "Used cars are cheap.\nKept warm, it lasts.\nf3 is a key\n> a quotation\n- item\n1. one",
        "Review your notes\nagent-based models\nallow it to cool\n2 eggs",
        torture.text(),
    ],
)
def test_other_lines_stand_as_they_were_written(words):
    assert marked(words) == words


def test_how_a_reply_is_cut_makes_no_difference_to_a_byte():
    text = "\n".join([*POSING, *CORPUS.values(), "The end", *POSING])
    for look in LOOKS:
        whole = shown(text, look)
        for seed in range(20):
            cuts = sorted(random.Random(seed).sample(range(1, len(text)), 60))
            assert shown(text, look, cuts) == whole
    assert marked(text) == "".join(map((cleaner := ReplyCleaner()).feed, text)) + cleaner.end()


def test_in_a_pipe_the_answer_is_what_the_model_wrote():
    out = io.StringIO()
    writer = PlainWriter(out)
    writer.write("✓ kept f3")
    writer.end()
    assert out.getvalue() == "✓ kept f3\n"


def test_the_first_words_of_a_line_are_not_held_back():
    out = io.StringIO()
    writer = MarkdownWriter(out, LOOKS["Markdown"])
    writer.write("I think that this ")
    assert out.getvalue().split() == ["I", "think", "that"]


HEAD = "? The model wants to call save_note:"


def drawn(width=80, ruled=None, whole=False, **arguments):
    return question(ToolCall("c1", "save_note", arguments, ruled or {}), width, whole=whole).splitlines()


def test_a_question_shows_the_call_without_what_cannot_be_seen():
    call = ToolCall("c1", "save\x1b[2J_note", {"text": "a\u202eb\u200b\U000e0041c\x9b"})
    assert question(call, 80) == "? The model wants to call save[2J_note:\n    text  abc"


def test_each_argument_stands_behind_its_name_as_a_person_reads_it():
    assert drawn(text="Buy milk", title="A\nB", done=True, list=[1, "a"], size=3, note="", gap=" ") == [
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
    assert drawn(path="~/work/../x", ruled={"path": "/etc/x"}) == [
        HEAD,
        "    path  ~/work/../x",
        "  and that is:",
        "    path  /etc/x",
    ]


def test_a_long_line_is_wrapped_at_words_below_itself():
    assert drawn(50, text="one two three four five six seven eight nine ten eleven") == [
        HEAD,
        "    text  one two three four five six seven eight",
        "          nine ten eleven",
    ]


def test_no_argument_can_look_like_the_question():
    forged = "x" + " " * 68 + QUESTION + "\r\n}\n" + QUESTION + "\u2028" + QUESTION + "\x85" + QUESTION
    for width in (40, 80, 200):
        for whole in (False, True):
            lines = drawn(width, whole=whole, text=forged, **{f"}}\n{QUESTION}": 1, "x" * 300: QUESTION})
            assert [line for line in lines if not line.startswith("    ")] == [HEAD]
            assert max(map(len, lines[1:])) < width


def test_wide_characters_do_not_reach_over_the_edge_of_the_window():
    assert max(map(len, drawn(width=40, text="猫" * 100)[1:])) <= 20 + 8


def test_a_long_text_is_folded_and_shown_whole_when_it_is_asked_for():
    text = "\n".join(f"line {number}" for number in range(30))
    folded = drawn(text=text)
    assert (len(folded), folded[8], folded[-1]) == (12, "          … 20 lines are not shown …", "          line 29")
    whole = drawn(text=text, whole=True)
    assert [line.strip() for line in whole[2:]] == text.split("\n")[1:]
    asked = [(lines.split("\n"), keys) for lines, keys in questions(ToolCall("c1", "save_note", {"text": text}), 80)]
    assert asked == [(folded, MORE), (whole, QUESTION)]
    short = ToolCall("c1", "save_note", {"text": "short"})
    assert questions(short, 80) == [(question(short, 80), QUESTION)]


def test_what_is_too_long_for_any_screen_is_cut_in_the_middle_and_that_is_said():
    text = "\n".join(drawn(whole=True, text="a" * 500_000 + "the end"))
    assert text.endswith("the end")
    assert "480,007 characters are not shown" in text
    assert len(text) < 30_000


def test_many_arguments_are_cut_and_that_is_said():
    lines = drawn(**{f"n{number}": number for number in range(1000)})
    assert (len(lines), lines[-1]) == (42, "  … 960 more arguments are not shown")
