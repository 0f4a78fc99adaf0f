"""Words of a question are counted in a text as the word index has them."""

from collections import Counter

import pytest

from agent_cli.memory.search import candidates, passage_context
from agent_cli.memory.search.candidates import Filter, Question, Request
from tests.conftest import HERE, NOON
from tests.recalling import catch_up, reply, say, session_of, take_in

TEXTS = (
    "She runs; they were running, and the runner's run_time was re-run (RUN).",
    "Müllers Mühle: MÜLLER, Mu\u0308ller, Muller und der müllernde Rest.",
    "Straße, STRASSE, strasse und Straßen in 8010 Graz, 80101.",
    "café Café CAFE\u0301 “cafés” – caféhaus",
    "Я мой дом люблю, моя речь",
    "İstanbul ISTANBUL ıstanbul",
    "Relational relations related relate, a b c",
    "x" * 70 + " runs",
    "",
)


@pytest.mark.parametrize("question", ["running relations a", "Müller Straßen 8010", "café Istanbul", "мой дом", "b"])
def test_words_are_counted_as_the_word_index_has_them(db, question):
    stems = db.tokens(question)
    parsed = Question(idfs=dict.fromkeys(stems, 1.0))
    counted = {text: {stem: n for stem, n in Counter(db.tokens(text)).items() if stem in stems} for text in TEXTS}
    assert passage_context.count_words(db, TEXTS, parsed) == counted
    assert any(counted.values())


def test_characters_of_a_script_without_spaces_are_counted(db):
    parsed = Question(idfs={"東京": 1.0}, runs={"東京": 1})
    assert passage_context.count_words(db, ["東京と東京タワー", "大阪"], parsed) == {
        "東京と東京タワー": {"東京": 2},
        "大阪": {},
    }


def around(db, words):
    """How often a question's words stand before the one before each message, before it and after it."""
    catch_up(db)
    ids = [id for (id,) in db.rows("select id from passage order by row")]
    places = passage_context.neighbours(db, ids)
    request = Request(db, words, Filter("person"), NOON)
    rows = passage_context.fetch(request, places, candidates.parse(request))
    return [[dict(each) for each in (rows[id].before_that, rows[id].before, rows[id].after)] for id in ids]


def test_with_the_assistant_only_a_question_and_what_a_reply_answers_are_context(db, session):
    for ask, answer in (("Which boat is red?", "The red one leaks"), ("My boat is red", "A red boat is fast")):
        say(db, session, ask)
        reply(db, session, answer)
    expected = [[{}, {}, {}], [{}, {"boat": 1}, {}], [{}, {}, {}], [{}, {"boat": 1}, {}]]
    assert around(db, "boat") == expected
    take_in(db, session_of(db, HERE), "Bob has no ship", "Bob")
    assert around(db, "boat")[:4] == expected


def test_between_people_all_that_is_said_around_is_context(db, session):
    for number, words in enumerate(("A boat", "The harbour", "It leaks", "The boat is sold")):
        take_in(db, session, words, ("Anna", "Bob")[number % 2])
    assert around(db, "boat") == [[{}, {}, {}], [{}, {"boat": 1}, {}], [{"boat": 1}, {}, {"boat": 1}], [{}, {}, {}]]
