import json
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from agent_cli import text
from tests.tables import for_each

UNSAFE = some.sampled_from(
    "\x00\x07\x08\x0b\x0c\r\x1b\x7f\x80\x9b\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069\U000e0041\ud800"
)
BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
HOSTILE = some.text(some.one_of(UNSAFE, some.characters(), some.sampled_from("a\r\n\t [2J")))


@given(HOSTILE)
@example("\r\r\n\x1b\r")
def test_no_control_bidi_or_tag_character_survives_and_cleaning_twice_is_cleaning_once(words):
    assert text.clean(text.clean(words)) == text.clean(words)
    for character in text.clean(words):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")
        assert unicodedata.bidirectional(character) not in BIDI
        assert character not in "\u200e\u200f\u061c"
        assert not 0xE0000 <= ord(character) <= 0xE007F


@given(some.text(some.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))))
def test_what_people_write_is_left_as_it_is(words):
    assert text.clean(words) == words == text.without_surrogates(words)


def test_ends_of_lines_become_newlines_and_families_stay_together():
    assert text.clean("a\r\nb\rc\n\td") == "a\nb\nc\n\td"
    assert text.clean("👨\u200d👩\u200d👧 ❤\ufe0f") == "👨\u200d👩\u200d👧 ❤\ufe0f"


@given(HOSTILE, some.integers(1, 30))
def test_one_line_is_one_line_and_no_longer_than_told(words, limit):
    line = text.one_line(words, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


def test_one_line_is_cut_with_an_ellipsis():
    assert text.one_line("  The quick\n\tbrown fox ", 10) == "The quick…"
    assert text.one_line("The quick", 9) == "The quick"


@for_each(
    ("words", "cut"),
    [
        ("The quick fox", "The quick fox"),
        ("The quick brown fox", "The quick…"),
        ("The quick fox jumps", "The quick fox…"),
        ("Unbelievable-adventures of it", "Unbelievable-…"),
        ("", ""),
    ],
)
def test_first_words_are_whole(words, cut):
    assert text.first_words(words, 14) == cut


@for_each(
    ("words", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("It costs 3.5 or 1.000,50 euros. Fine.", ["It costs 3.5 or 1.000,50 euros.", "Fine."]),
        ("See example.com/a.b?c=d now. Good.", ["See example.com/a.b?c=d now.", "Good."]),
        ("She said “no.” He left.", ["She said “no.”", "He left."]),
        ("(Really?) Yes.", ["(Really?)", "Yes."]),
        ("What?! No... Oh.", ["What?!", "No...", "Oh."]),
        ("Dr. Smith met J. Doe, e.g. at noon. They left.", ["Dr. Smith met J. Doe, e.g. at noon.", "They left."]),
        ("Am 3. Mai, z. B. mit Kaffee. Gut.", ["Am 3. Mai, z. B. mit Kaffee.", "Gut."]),
        ("Acme Inc. in Linz, cf. p. 3, on 5. December. Bye.", ["Acme Inc. in Linz, cf. p. 3, on 5. December.", "Bye."]),
        ("No stop\nbut a line", ["No stop", "but a line"]),
        ("你好。我是猫！你呢？「好。」他说", ["你好。", "我是猫！", "你呢？", "「好。」", "他说"]),
    ],
)
def test_a_text_falls_into_its_sentences(words, sentences):
    assert text.sentences(words) == sentences


@given(some.text(some.sampled_from("aB1.!?…。\n \"')”")))
def test_sentences_lose_nothing_but_blanks(words):
    assert "".join("".join(text.sentences(words)).split()) == "".join(words.split())


ITEMS = [f"item {number}" for number in range(1, 51)]


def test_of_fifty_items_five_are_shown_and_how_to_read_the_rest():
    rows = [{"ä": number} for number in range(1, 51)]
    more = "… m7: items 6–50 left out: timeline with around m7, first 6 reads on"
    assert text.condense("\n".join(ITEMS), "m7") == "\n".join([*ITEMS[:5], more])
    assert text.condense("\n\n".join(ITEMS), "m7") == "\n".join(["\n\n".join(ITEMS[:5]), more])
    assert text.condense(json.dumps(rows), "m7") == "\n".join([*(f'{{"ä": {n}}}' for n in range(1, 6)), more])


@for_each(
    "wrap",
    [
        lambda rows: {"tasks": rows},
        lambda rows: {"total": 50, "result": {"next": None, "tasks": rows}, "tags": ["a", "b"]},
        lambda rows: [{"page": 1, "rows": rows}],
        lambda rows: [rows],
    ],
)
@for_each("written", ["%s", "Found 50 tasks:\n%s", "```json\n%s\n```", "\n  %s\n"])
@for_each("indent", [None, 2])
def test_of_fifty_items_five_are_shown_whatever_wraps_them(wrap, written, indent):
    rows = [{"id": number, "text": "x" * 100, "tags": ["y"] * 60} for number in range(1, 51)]
    words = written % json.dumps(wrap([*rows]), indent=indent)
    shown = text.condense(words, "m7", characters=10_000)
    lines = shown.splitlines()
    *_, fifth, more = lines
    assert (json.loads(fifth), shown.count('xxx", "tags')) == (rows[4], 5)
    assert more == "… m7: items 6–50 left out: timeline with around m7, first 6 reads on"
    assert text.page(words, "m7", 50).splitlines() == [json.dumps(rows[-1]), "[m7: items 50–50 of 50]"]
    assert any(line.startswith(("{", "[")) and "…" in line for line in lines)


def test_a_heading_is_no_item():
    assert text.condense("\n".join(["Found:", *ITEMS]), "m7").splitlines()[:6] == ["Found:", *ITEMS[:5]]
    several = "\n".join(json.dumps({"id": number, "tags": ["a", "b"]}) for number in range(50))
    assert text.condense(several, "m7").count("id") == 5


def test_ten_items_are_shown_whole_and_of_a_long_text_the_beginning_and_what_is_left_out():
    lines = "\n".join(ITEMS[:10])
    assert (text.condense(lines, "m7"), text.condense("[1, 2]", "m7")) == (lines, "[1, 2]")
    more = "… m7: items 2–2 left out: timeline with around m7, first 2 reads on"
    assert text.condense("x" * 2100, "m7") == "x" * 2000 + f"\n{more}"


def test_the_pages_of_a_text_are_all_of_it():
    assert text.page("short\n\ntext", "m7") == "short\n\ntext"
    assert text.page("\n".join(ITEMS), "m7", 6) == "\n".join([*ITEMS[5:], "[m7: items 6–50 of 50]"])
    assert text.page("\n".join(ITEMS), "m7", 6, 20) == "item 6\nitem 7\n[m7: items 6–7 of 50: first 8 reads on]"
    with pytest.raises(ValueError, match="m7 has 50 items"):
        text.page("\n".join(ITEMS), "m7", 51)


@given(some.text(some.sampled_from("ab \n"), max_size=200), some.integers(1, 30))
def test_no_word_is_lost_between_pages(words, characters):
    pages, first = [], 1
    while True:
        page = text.page(words, "m7", first, characters)
        shown, _, footer = page.rpartition("\n[m7: ") if page.endswith("]") else (page, "", "")
        pages.append(shown)
        if "reads on" not in footer:
            break
        first = int(footer.split()[-3])
    assert "".join(pages).split() == words.split() or "".join("".join(pages).split()) == "".join(words.split())


@given(some.text(some.sampled_from('[]{},"1a\n :.e-'), max_size=60))
@example("[" * 5000)
@example("[NaN, Infinity]")
@example("[" + "9" * 5000 + "]")
def test_any_result_can_be_condensed(words):
    assert len(text.condense(words, "m7")) <= 2100


@for_each(
    ("hidden", "seen"),
    [
        ("pass\u200bword", "password"),
        ("a\u200d\u200cb", "ab"),
        ("tea\u00ad", "tea"),
        ("\ufefftea", "tea"),
        ("tea\U000e0041\U000e0100", "tea"),
        ("a\u2066b\x1b[2J", "ab[2J"),
        ("x\ufe0f\ufe0e\ufe0f", "x\ufe0f"),
        ("\u3164", ""),
    ],
)
def test_what_takes_no_room_is_not_visible(hidden, seen):
    assert text.visible(hidden) == seen


@for_each("words", ["👩‍👩‍👧 family", "❤️‍🔥 3️⃣", "می‌خواهم", "क्‍ष", "你好", "é", "plain\n\ttext"])
def test_what_people_write_is_visible(words):
    assert text.visible(words) == words


def test_a_line_that_can_be_printed_has_nothing_to_be_cleaned():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert not [each for each in text._UNSAFE.findall(every) if each.isprintable()]
