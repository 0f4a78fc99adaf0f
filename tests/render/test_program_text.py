"""What the program itself says, at the widths of real windows."""

from agent_cli import kinds
from agent_cli.render.layout import Verbatim, cell_width, cut, formatted, wrap
from agent_cli.render.styles import Display
from tests.tables import for_each

CARRIED = (
    "carried over: 2 summaries and the last 6 messages of s4 “the router of the office” (yesterday) · "
    "agent -r s4 goes on with it"
)


def at(text, width):
    """The lines at this width, none of them too long."""
    lines = wrap(text, width).split("\n")
    assert [line for line in lines if cell_width(line) > width and " " in line.strip()] == []
    return lines


def test_line_is_broken_between_words_and_commands_stay_whole():
    assert at(CARRIED, 80) == [
        "carried over: 2 summaries and the last 6 messages of s4 “the router of the",
        "office” (yesterday) · agent -r s4 goes on with it",
    ]
    assert at(CARRIED, 22)[-3:] == ["(yesterday) ·", "agent -r s4 goes on", "with it"]
    assert at("no server answers here: start it with `ollama serve`; or wait", 48) == [
        "no server answers here: start it with",
        "`ollama serve`; or wait",
    ]
    assert at("nothing was changed; bring it back with /resume s12, once", 49)[-1] == "/resume s12, once"


@for_each("handle", [f"{kind.letter}4" for kind in kinds.KINDS])
def test_command_stays_whole_with_the_handle_of_any_kind(handle):
    assert at(f"it can be brought back with `it` agent tasks restore {handle}, once", 48)[-1].startswith(
        f"agent tasks restore {handle}"
    )


def test_address_longer_than_the_line_is_left_in_one_piece():
    path = "/home/somebody/.local/share/agent-cli/memory.db"
    assert at(f"Everything is kept in one file of yours: {path}", 40)[-1] == path


def test_columns_go_on_below_the_last_that_leaves_room():
    row = "f12    2026-11-21  My dog is called Rex and lives in the garden with the big old oak all year"
    assert at(row, 80) == [row[:80], " " * 19 + row[81:]]
    assert at(row, 40) == [
        "f12    2026-11-21  My dog is called Rex",
        "       and lives in the garden with the",
        "       big old oak all year",
    ]


def test_wide_characters_count_twice_and_need_no_blank():
    said = "昨日、私は友達と一緒に東京の新しいレストランに行きました。とても美味しかったです。"
    lines = at(said, 40)
    assert ("".join(lines), len(lines)) == (said, 3)
    assert not any(line[0] in "、。" for line in lines)


def test_no_word_is_lost_doubled_or_broken_at_any_width():
    text = f"{CARRIED} 昨日 naïve 👩‍👩‍👧 café`s a  b\n\n  indented words that go on for a while, and further"
    for width in range(20, 120):
        assert "".join(wrap(text, width).split()) == "".join(text.split())
        assert {word for word in wrap(text, width).split() if word.isascii()} <= set(text.split())


def test_what_fits_stays_byte_for_byte_and_what_is_exact_always():
    text = "two  blanks \n\tand a tab\n" + "x" * 80
    assert wrap(text, 80) == text
    assert formatted(Verbatim("word " * 40), Display(wrap=True)) == "word " * 40
    assert formatted("word " * 40, Display()) == "word " * 40, "what is read aloud or by a program is not broken"


def test_what_is_said_is_wrapped_to_the_window_of_now():
    widths = iter([40, 80])
    display = Display(wrap=True, width=lambda: next(widths))
    said = "memory is recalled, and what you say is read for facts, which wait for your yes"
    assert formatted(said, display).split("\n") == [said[:39].rstrip(), said[39:].strip()]
    assert formatted(said, display) == said


@for_each(
    ("line", "shown"),
    [
        ("s4  the router", "s4  the router"),
        ("s4  the router of the office", "s4  the router…"),
        ("s4  東京の新しいレストラン", "s4  東京の新し…"),
        ("🙂🙂🙂🙂🙂🙂🙂🙂🙂", "🙂🙂🙂🙂🙂🙂🙂…"),
    ],
)
def test_a_line_is_cut_by_cells(line, shown):
    assert cut(line, 16) == shown
    assert cell_width(shown) <= 16
