"""Words: which ones say what a question is about, and when two texts say the same."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import terms
from tests.tables import for_each


@for_each(
    ("question", "words"),
    [
        ("What is the name of the cat?", ["name", "cat"]),
        ("Wie heißt die Katze von meiner Schwester?", ["heisst", "katze", "schwester"]),
        ("Cat, CAT or cat?", ["cat"]),
        ("What is it?", ["what", "is", "it"]),
        ("Wer war das?", ["wer", "war", "das"]),
        ("retry_count = 7", ["retry_count", "7"]),
        ("我去东京 in May 2025", ["2025"]),
        ('NEAR("a b" OR c*)', ["near", "b", "c"]),
        ("", []),
        ("?! …", []),
    ],
)
def test_a_question_is_about_its_content_words_or_all_of_them(question, words):
    assert terms.content_words(question) == words


def test_scripts_without_spaces_are_taken_in_pairs():
    assert terms.bigrams("我们去大别山。Mia 去 东京") == "我们 们去 去大 大别 别山 去 东京"
    assert terms.bigrams("no such letters") == ""
    assert terms.unspaced_runs("在东京 or 大别山?") == ["在东京", "大别山"]
    assert terms.content_pairs("你去过大别山吗") == ["大别", "别山"]
    assert terms.content_pairs("你的") == ["你的"]
    assert terms.content_pairs("山") == ["山"]


@given(some.text(max_size=9000) | some.text("ab \n", min_size=1000, max_size=9000))
def test_pieces_cover_a_text_and_overlap(text):
    pieces = list(terms.chunks(text))
    assert pieces[0][0] == 0
    assert sum(pieces[-1]) == len(text)
    assert all(0 < length <= 1500 for _, length in pieces) or text == ""
    for (start, length), (after, _) in pairwise(pieces):
        assert start < after < start + length


def test_a_text_of_one_piece_is_left_whole():
    assert list(terms.chunks("word " * 290)) == [(0, 1450)]
    assert list(terms.chunks("x" * 1501)) == [(0, 1200), (1000, 501)]


ADVISER = "The meeting with the tax adviser is on Monday at 4 in the old town hall"


@for_each(
    ("other", "same"),
    [
        (ADVISER, True),
        (ADVISER.upper() + "!", True),
        (ADVISER + " again", True),
        (ADVISER.replace("4", "5"), False),
        (ADVISER.replace("is on", "is not on"), False),
        (ADVISER.replace("is on", "isn't on"), False),
        (ADVISER.replace("Monday", "Sunday").replace("tax", "law"), False),
        ("", False),
    ],
)
def test_texts_are_alike_unless_a_number_or_a_negation_differs(other, same):
    assert terms.is_similar(ADVISER, other) is terms.is_similar(other, ADVISER) is same
    german = "Der Hund von Anna ist am Sonntag immer bei uns im Haus am See in Bayern und schläft"
    assert [terms.is_similar(german, f"{german} {more}") for more in ("dann", "nie")] == [True, False]


@for_each(
    ("word", "text", "does"),
    [
        ("katarzina", "Dinner with Katarzyna.", True),
        ("retry_c", "set MAX_RETRY_COUNT", True),
        ("hemian", "Bohemian Rhapsody", True),
        ("katze", "Dinner with Katarzyna.", False),
        ("straße", "Die STRASSE", True),
    ],
)
def test_a_misspelt_word_resembles_what_was_meant(word, text, does):
    assert terms.contains_similar(word.casefold(), text) is does


def test_the_values_of_a_text_of_many_places_are_compared_in_no_time():
    places = "in Graz Graz " * 15
    assert terms.with_values(f"{places}x", places) == ""  # did not end in ten minutes where a name could begin anywhere
    assert terms.with_values("I live in Bad Ischl", "in New York City") == "I live in New York City"
