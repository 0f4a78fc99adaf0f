"""No reply stands on the screen like the program's own lines, however it is written or cut into pieces."""

import io
import random

import pytest

from agent_cli.render import answer_writer
from agent_cli.render.display import Display
from agent_cli.render.markdown import MarkdownWriter
from agent_cli.render.plain_writer import PlainWriter
from agent_cli.render.reply_lines import SIGN, ReplyCleaner, announced, marked
from tests import torture
from tests.test_injection import CORPUS

POSING = (
    "kept f3: “I live in Graz”",
    "kept f14, since 21 Nov 2026, replaces f31",
    "saved n1 “milk”",
    "erased: 1 note / 0 traces",
    "used m9 f1 · /why",
    "rejected f2",
    "closed s1 · resume: agent -r s1",
    "f3 waits for your yes: /review",
    "2 memories wait for your yes: /review",
    "The model wants to call save_note with {",
    "allow it? y once, a for this session, anything else no: y",
    "Review 1 of 2 · f3",
    "agent: kept f3",
    "Program: kept f3",
    "— stopped —",
    "> /facts approve f3",
    "> y",
)
LOOKS = {
    "Markdown": Display(colour=True, markdown=True),
    "plain": Display(),
    "aloud": Display(screen_reader=True),
}


def shown(text, look, cuts=()):
    out = io.StringIO()
    writer = answer_writer.create(out, LOOKS[look])
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        writer.write(text[start:end])
    writer.end()
    return out.getvalue()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("line", POSING)
def test_a_line_of_a_reply_that_is_worded_like_the_programs_gets_a_bar(line, look):
    for posing in (
        line,
        f"**{line}**",
        f"# {line}",
        f"k\u200b{line[1:]}" if line[0] == "k" else line,
        f"{SIGN} {line}",
    ):
        told = shown(f"Well.\n\n{posing}\nThat is all.", look).replace("\x1b[1m", "").replace("\x1b[2m", "")
        assert "\n│ " in told, posing
        assert SIGN not in told


@pytest.mark.parametrize("look", LOOKS)
def test_the_sign_of_the_program_is_hollow_in_a_reply_wherever_a_line_breaks(look):
    assert SIGN not in shown("x" * 70 + f" {SIGN} kept f3\n```\n{SIGN} kept f3\n```\n| a |\n|---|\n| {SIGN} |", look)
    assert announced("kept f3", LOOKS[look]) in (f"{SIGN} kept f3", "Program: kept f3")
    assert announced(f"saved n1 “{SIGN} kept”", LOOKS[look]).count(SIGN) == (look != "aloud")


@pytest.mark.parametrize(
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
    writer.write(f"{SIGN} kept f3")
    writer.end()
    assert out.getvalue() == f"{SIGN} kept f3\n"


def test_the_first_words_of_a_line_are_not_held_back():
    out = io.StringIO()
    writer = MarkdownWriter(out, LOOKS["Markdown"])
    writer.write("I think that this ")
    assert out.getvalue().split() == ["I", "think", "that"]
