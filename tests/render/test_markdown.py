"""An answer while it arrives at a terminal, and the code in it."""

import io
import re
import shutil
import time
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_cli.render import markdown
from agent_cli.render.layout import cell_width
from agent_cli.render.markdown import CodeBlock, MarkdownWriter
from agent_cli.render.reply_lines import PlainWriter, SentenceWriter
from agent_cli.render.styles import Display
from tests import torture
from tests.tables import for_each

DISPLAY = Display(colour=True, markdown=True, width=lambda: 40)
HEAD = "\x1b[1ma\x1b[m      \x1b[1mb\x1b[m"
SGR = re.compile(r"\x1b\[[\d;]*m")


def shown(text, cuts=(), display=DISPLAY):
    out = io.StringIO()
    writer = MarkdownWriter(out, display)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        writer.write(text[start:end])
    writer.end()
    return out.getvalue()


def plain(text, width=40):
    """Without colours, in lines of so many cells."""
    return shown(text, display=replace(DISPLAY, colour=False, width=lambda: width))


@for_each(
    ("text", "drawn"),
    [
        ("# A *title*\nText", "\x1b[1mA\x1b[m \x1b[1;3mtitle\x1b[m\nText\n"),
        ("one **two** `three` ~~four~~", "one \x1b[1mtwo\x1b[m \x1b[36mthree\x1b[m \x1b[9mfour\x1b[m\n"),
        ("**a *b* c**!", "\x1b[1ma\x1b[m \x1b[1;3mb\x1b[m \x1b[1mc\x1b[m!\n"),
        ("2 * 3 * 4 and 2*3*4, f(**kwargs, *args)", "2 * 3 * 4 and 2*3*4, f(**kwargs, *args)\n"),
        ("__init__ and snake_case_name", "__init__ and snake_case_name\n"),
        ("a **mark that is never closed", "a **mark that is never closed\n"),
        ("a `tick and **b", "a `tick and **b\n"),
        (r"\*no\* and \[x\] C:\dir", r"*no* and \[x\] C:\dir" + "\n"),
        ("see [this](https://x.org/a_(b)), [1] and [it](", "see this (https://x.org/a_(b)), [1] and\n[it](\n"),
        ("[https://x.org](https://x.org)", "https://x.org\n"),
        ("![a cat](https://x.org/c.png)", "a cat (https://x.org/c.png)\n"),
        ("> said\n> again", "\x1b[2m> \x1b[msaid\n\x1b[2m> \x1b[magain\n"),
        ("\n\n\na\n\n\n\nb\n\n", "a\n\nb\n"),
        ("a\r\nb\rc", "a\nb\nc\n"),
        ("- - -\n***", "\x1b[2m- - -\x1b[m\n\x1b[2m***\x1b[m\n"),
        ("    x = a * b * c\n\ty", "    x = a * b * c\n    y\n"),
        ("```\n\ta  b\n\n  c\n```\nd", "\ta  b\n\n  c\nd\n"),
        ("1. a\n   ```sh\n   ls *.py\n   ```\n2. b", "1. a\nls *.py\n2. b\n"),
        ("````md\n```\n````", "```\n"),
        ("```python\nx = 1", "x = \x1b[36m1\x1b[m\n"),
        ("```nonesuch\nx **y**\n```", "x **y**\n"),
        ("| a | b |\n|---|--:|\n| **x** | 10 |\n\nEnd", f"{HEAD}\n---  ---\n\x1b[1mx\x1b[m     10\n\nEnd\n"),
        ("| no table\nhere", "| no table\nhere\n"),
    ],
)
def test_what_is_drawn(text, drawn):
    assert shown(text) == drawn


def test_code_keeps_its_colours_from_line_to_line_and_its_text_always():
    code = 'def f(x):\n    """doc\n    more"""\n    return {"a": x}  # why\n'
    drawn = shown(f"```python\n{code}```")
    assert "\x1b[32mmore" in drawn
    assert SGR.sub("", drawn) == code
    assert not re.search(r"\x1b\[(?:[\d;]*;)?(?:4[0-8]|10\d|38)", drawn), "no background, no colours of its own"


def test_lines_are_wrapped_between_words_and_hang_under_their_item():
    assert plain(f"- {'word ' * 12}") == "- " + " ".join(["word"] * 7) + "\n  " + " ".join(["word"] * 5) + "\n"
    assert plain(f"{'word ' * 7}https://example.org/{'x' * 40} end") == (
        f"{'word ' * 7}".rstrip() + f"\nhttps://example.org/{'x' * 40} end\n"
    )


def test_wide_characters_are_counted_in_cells_and_may_be_parted():
    lines = plain("你好，世界。" * 20).splitlines()
    assert max(map(cell_width, lines)) <= 40
    assert "".join(lines) == "你好，世界。" * 20
    assert not [line for line in lines if line[0] in "，。"], "none begins with what belongs to the character before it"
    family = "👩‍👩‍👧"
    assert cell_width(family) == 2
    assert plain(f"{family} " * 15) == " ".join([family] * 13) + "\n" + " ".join([family] * 2) + "\n"


def test_a_table_is_aligned_by_cells_wrapped_in_a_narrow_window_and_told_row_by_row_in_a_very_narrow_one():
    table = "| x | wide |\n|---|---|\n| 你好 | é |\n| 👩‍👩‍👧 | b |\n"
    assert plain(table) == "x     wide\n----  ----\n你好  é\n👩‍👩‍👧    b\n"
    head = "| name | what it is good for | cost |\n|---|---|--:|\n"
    rows = head + "| Graz tram | to get to **work every day** | 3 |\n| x | | 4 |"
    assert plain(rows, width=32) == (
        "name       what it is good  cost\n"
        "           for\n"
        "---------  ---------------  ----\n"
        "Graz tram  to get to work      3\n"
        "           every day\n"
        "x                              4\n"
    )
    assert plain(rows, width=20) == (
        "name: Graz tram\nwhat it is good for:\nto get to work every\nday\ncost: 3\n\nname: x\ncost: 4\n"
    )
    assert plain("| a |\n|---|\n| " + "y" * 30 + " |", width=20) == f"a\n{'-' * 20}\n{'y' * 20}\n{'y' * 10}\n"


def test_a_window_made_narrower_is_noticed_at_the_next_line():
    widths = [40, 40, 20, 20, 20, 20]
    drawn = shown("word " * 24, display=replace(DISPLAY, width=lambda: widths.pop(0) if len(widths) > 1 else 20))
    assert len(drawn.splitlines()[0]) == 39
    assert {len(line) for line in drawn.splitlines()[2:]} == {19}


LONGER = ["**", "```", "~~~", "\n\n", "](http://x)", "| a |", "\n|--|\n", "- ", "👩‍👩‍👧", "\x1b[2J", "    "]
LONGER += ["word " * 9, "x" * 70, "* a *" * 60]
MARKUP = st.lists(st.sampled_from([*"*_`[]()|>#-\\!~.1 \n\t\rax你。「", *LONGER]), max_size=40).map("".join)


@settings(max_examples=150)
@given(MARKUP, st.data())
@example("**a ` b** c ` d**" + "x " * 130, None)
def test_how_a_stream_is_cut_makes_no_difference(text, data):
    whole = shown(text)
    assert shown(text, range(len(text))) == whole
    if data:
        cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
        assert shown(text, cuts) == whole


def test_the_torture_stream_is_shown_whole_once_and_without_moving_the_cursor():
    text = torture.text()
    drawn = shown(text, range(0, len(text), 7), replace(DISPLAY, width=lambda: 80))
    assert torture.numbers(drawn) == torture.numbers(text)
    left = SGR.sub("", drawn)
    assert "\x1b" not in left
    assert "\r" not in left
    assert len(drawn.encode()) <= 1.5 * len(text.encode())
    assert [line for line in drawn.splitlines() if SGR.findall(line) and SGR.findall(line)[-1] != "\x1b[m"] == []
    for each in ("**never closed", "a `tick", "2 * 3 * 4", "[no link", "__init__"):
        assert each in " ".join(left.split())


@for_each("unit", ["word ", "x", "*a ", "` ", "[a](", "你好", "| a "])
def test_a_line_of_megabytes_takes_time_by_its_length_alone(unit):
    def took(count):
        out = io.StringIO()
        writer = MarkdownWriter(out, DISPLAY)
        began = time.process_time()
        for _ in range(count):
            writer.write(unit * 100)
        writer.end()
        return time.process_time() - began

    took(5)
    assert took(80) < 8 * 3 * max(took(10), 0.01)  # a row of a table waits for the next, up to a length


def test_without_markdown_the_text_is_as_it_was_written():
    out = io.StringIO()
    writer = PlainWriter(out)
    for piece in ("\n\n**a**  \r", "\n| b |\x1b[2J\n", "\n\n"):
        writer.write(piece)
    writer.end()
    assert out.getvalue() == "**a**  \n| b |[2J\n"


def test_aloud_whole_sentences_are_given_at_once():
    class Out(io.StringIO):
        def write(self, text):
            given.append(text)
            return len(text)

    given: list[str] = []
    writer = SentenceWriter(Out())
    for piece in ("It is 3", ".", "5 m", "etres. Dr", ". No said", " so", ".\nThe", " end"):
        writer.write(piece)
    writer.end()
    assert given == ["It is 3.5 metres.", " Dr. No said so.", "\nThe end", "\n"]


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed: windows cannot be resized for real")
def test_no_line_is_lost_or_doubled_when_the_window_is_resized_six_times(tmp_path):
    seen = torture.numbers(torture.in_tmux(tmp_path, "ours", 1.2, 40_000))
    assert seen == torture.numbers(torture.text() + torture.huge(40_000))


BLOCKS = {
    "no code": [],
    "a `word` and ```inline``` alone": [],
    "```sh\nls -l\n```": [CodeBlock("ls -l\n", True)],
    "~~~ python title\n\tx = '```'\n\n~~~\nand": [CodeBlock("\tx = '```'\n\n", True)],
    "````md\n```sh\nls\n```\n````": [CodeBlock("```sh\nls\n```\n", True)],
    "1. do\n   ```sh\n   for f in *; do\n     echo $f\n done\n   ```\n": [
        CodeBlock("for f in *; do\n  echo $f\ndone\n", True)
    ],
    "```\na\n```\n\n```\nb\n```  \n": [CodeBlock("a\n", True), CodeBlock("b\n", True)],
    "```sh\nrm -r a\n\n": [CodeBlock("rm -r a\n", False)],
    "```\n```": [CodeBlock("", True)],
}


@for_each("answer", BLOCKS)
def test_the_code_of_an_answer_is_found_without_its_fences(answer):
    assert markdown.code_blocks(answer) == BLOCKS[answer]
