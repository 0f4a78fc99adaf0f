"""Which passages the word index proposes, and how words are counted around them."""

from collections import Counter

import pytest

from agent_cli.memory.conversations import log
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates, passage_context, recall, vectors
from agent_cli.memory.search.candidates import Filter, Question, Request
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, empty
from tests.recalling import EMBEDDED, STRANGER, catch_up, day, embed, handles, reply, say, session_of, take_in


def say_all(db, session, texts):
    said = [log.ImportedMessage(str(number), NOON, "user", text) for number, text in enumerate(texts)]
    with db.write():
        log.append_imported(db, session, HERE, said)
    catch_up(db)


@pytest.fixture
def garden(db, session):
    """A log in which one word is common, another in a hundred messages, and another in three."""

    def words(number):
        rare = "lantern" if number < 3 else "terrace" if number < 103 else "gravel"
        return (
            f"The garden {number} has a {rare}"
            if number % 2 and number < 3200
            else f"The {rare} of the number {number}"
        )

    say_all(db, session, map(words, range(3300)))
    return db


def proposed(db, question, **allowed):
    request = Request(db, question, Filter(PERSON, **allowed), NOON)
    return [id for id, _ in candidates.by_words(db, candidates.parse(request), request.allowed)]


def test_messages_with_only_a_common_word_are_proposed_when_few_have_a_rare_one(garden):
    found = proposed(garden, "garden lantern")
    assert len(found) == candidates.WORDS
    assert set(found[:3]) == {1, 2, 3}


def test_a_common_word_still_decides_among_messages_with_a_rarer_one(garden):
    best = proposed(garden, "garden terrace")[:50]
    assert all(4 <= id <= 103 and id % 2 == 0 for id in best)  # ids are one above their numbers


@pytest.mark.parametrize("apart", [candidates.APART, 0])
@pytest.mark.parametrize("allowed", [{}, {"since": 0.0}, {"kinds": ("message",)}])
def test_a_common_word_decides_among_messages_with_one_of_several_rarer_ones(garden, monkeypatch, apart, allowed):
    monkeypatch.setattr(candidates, "APART", apart)
    best = proposed(garden, "garden terrace lantern", **allowed)
    assert best[:3] == [2, 1, 3]  # of those with the rarest word the second has the common one too
    assert all(4 <= id <= 103 and id % 2 == 0 for id in best[3:53])
    assert all(4 <= id <= 103 and id % 2 for id in best[53:103])


def terraces(db, session, lanterns):
    """A log of 2,000 messages: some with a rare word, 200 with a less rare one, 20 of these with a common one too."""

    def words(number):
        rare = "lantern" if number < lanterns else "terrace" if 100 <= number < 300 else "gravel"
        return f"The {rare} {number} of the {'garden' if 280 <= number < 700 else 'number'}"

    say_all(db, session, map(words, range(2000)))


@pytest.mark.parametrize(("lanterns", "alone"), [(100, False), (20, True)])
def test_a_less_rare_word_counts_alone_only_where_few_have_a_rarer_one(db, session, monkeypatch, lanterns, alone):
    terraces(db, session, lanterns)
    monkeypatch.setattr(candidates, "LEADING", 150)
    monkeypatch.setattr(candidates, "MIN_BUDGET", 350)
    monkeypatch.setattr(candidates, "DECISIVE", 0.5)
    found = set(proposed(db, "lantern terrace garden"))
    assert set(range(1, lanterns + 1)) | set(range(281, 301)) <= found  # the latter with the common word
    assert bool(found & set(range(101, 281))) == alone


def test_words_that_nearly_half_of_all_hold_do_not_outweigh_a_second_rare_one(db, session):
    def words(number):
        rare = "quince" if number < 400 else "barn" if number < 800 else "plain"
        return f"{rare} {'garden letter river winter' if number % 20 < 9 else 'gravel stone'} number {number}"

    both = "the quince behind the old wooden barn carries fruit again"
    say_all(db, session, [both, *map(words, range(1, 4000))])
    assert proposed(db, "quince barn garden letter river winter")[0] == 1


@pytest.mark.parametrize("question", ["", "???"])
def test_a_question_without_words_needs_no_index(tmp_path, question):
    empty(tmp_path / "memory.db").close()
    db = Database(tmp_path / "memory.db", read_only=True)
    db.prepare()
    assert recall.mentions(db, question, Filter(PERSON), NOON, 5) == ()
    assert recall.find(db, question, Filter(PERSON), NOON).damaged == ()
    db.close()


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


MANY = recall.READ - 10  # so that those beside them are too many


@pytest.fixture
def left_out(monkeypatch):
    """How many candidates were left unread, of each time that there were too many."""
    counts, choose = [], recall._least_promising

    def counted(*arguments):
        unread = choose(*arguments)
        counts.append(len(unread))
        return unread

    monkeypatch.setattr(recall, "_least_promising", counted)
    return counts


@pytest.fixture
def others(db):
    """So much else that the words asked for are rare."""
    session = session_of(db)
    for number in range(2 * MANY):
        say(db, session, f"The train was late on day {number}")


def exchanges(db, one, other, number=MANY, **more):
    """So many sessions in which one is said, and then the other."""
    for each in range(number):
        session = session_of(db, **more)
        say(db, session, f"{one}, number {each}", **more)
        say(db, session, f"{other}, number {each}", **more)


def test_what_the_person_said_is_read_before_answers_of_the_assistant_with_more_of_the_words(db, left_out, others):
    for number in range(MANY):
        session = session_of(db)
        say(db, session, f"Tell me something else, number {number}")
        reply(db, session, f"A garden with an old pear tree is a fine thing, number {number}")
    said = say(db, session_of(db), "The pear stands by the wall")
    assert said in handles(db, "Where in my garden is my old pear tree?", limit=2 * MANY)
    assert left_out[0]


def test_what_is_near_by_its_meaning_is_read_before_what_only_has_a_common_word(db, left_out, others):
    say(db, session_of(db), "The doctor moved to another street")
    exchanges(db, "I see the river and the mill and the bridge", "It was a fine walk")
    said = say(db, session_of(db), "Dentist appointment on Friday at 3pm")
    embed(db)
    assert said in handles(db, "When do I see the doctor?", limit=2 * MANY, meaning=EMBEDDED)
    assert left_out[0]


def test_of_what_only_vectors_find_the_nearest_few_bring_what_stands_beside_them(db, others, monkeypatch):
    for number in range(2 * recall.VECTORS):
        exchanges(db, f"Dentist appointment on day {number}", "Fine", 1)
    embed(db)
    question, asked, neighbours = "When do I see the doctor?", [], passage_context.neighbours

    def watched(db, ids, alone):
        asked.append(alone)
        return neighbours(db, ids, alone)

    monkeypatch.setattr(passage_context, "neighbours", watched)
    handles(db, question, meaning=EMBEDDED)
    vector = EMBEDDED.embed_query(question)
    nearest = [id for id, _ in vectors.nearest(db, vectors.current(db), vector, recall.VECTORS)]
    assert [id in asked[0] for id in nearest] == [False] * 5 + [True] * 5


@pytest.mark.parametrize("floor", [0.15, 0.5])
def test_what_has_no_vector_yet_is_read_too(db, others, floor):
    for number in range(recall.READ + 6):
        session = session_of(db)
        for words in ("Well", "The pear in the corner of my garden", "Fine"):
            say(db, session, f"{words}, number {number}")
    embed(db, floor)
    second = say(db, session_of(db), "I water the pear in my garden, the old one, every Monday, a good day for it")
    best = say(db, session_of(db), "My old pear tree stands by the wall")
    assert handles(db, "Where is my old pear tree in my garden?", meaning=EMBEDDED)[:2] == [best, second]


def test_what_was_said_in_the_time_that_the_question_names_is_read(db, left_out, others):
    exchanges(db, "We chose the low fence for the garden", "A gate belongs to it")
    said = say(db, session_of(db), "The fence is of oak", at=day("2025-05-12"))
    assert said in handles(db, "Which is the low fence for the garden that we chose in May?", limit=2 * MANY)
    assert left_out[0]


@pytest.mark.parametrize("theirs", ["other owner", "hidden", "left out"])
def test_what_may_not_be_found_takes_no_place(db, others, theirs):
    said = say(db, session_of(db), "I water the pear every Monday")
    scope = STRANGER if theirs == "other owner" else HERE
    exchanges(db, "The old pear tree in my garden", "I see, that is good to hear", scope=scope)
    if theirs == "hidden":
        db.execute("update session set hidden_at = '2026-01-01T00:00:00.000Z' where id > 2")
    messages = [id for (id,) in db.rows("select id from message where session_id > 2")]
    left_out = {"excluded_messages": tuple(messages)} if theirs == "left out" else {}
    assert said in handles(db, "Where in my garden is my old pear tree?", **left_out)


def test_what_holds_only_similar_words_takes_no_place_of_what_has_the_word(db, others):
    colours, places = ("red", "green", "blue", "black", "white"), ("street", "market", "bridge", "river", "forest")
    for word in ("trousers", "bicycle", "umbrella", "sandwich"):
        for colour in colours:
            for place in places:
                say(db, session_of(db), f"{colour} {place} with some{word}")
    said = say(db, session_of(db), "Anna has the pomegranate on her table")
    assert handles(db, "Did Anna take pomegranate, trousers bicycle umbrella sandwich?")[0] == said


def test_what_was_found_by_its_letters_is_read(db, left_out, others):
    exchanges(db, "The old pear tree in the garden", "A gate belongs to it", recall.READ)
    said = say(db, session_of(db), "Pomegranites are ripe")
    assert said in handles(db, "Is an old pear tree or a pomegranate in the garden?", limit=2 * MANY)
    assert left_out[0]


def test_what_was_left_out_takes_the_place_of_questions(db, left_out, others):
    for number in range(MANY):
        session = session_of(db)
        say(db, session, f"What is the number of my locker at the pool, {number}?")
        say(db, session, "Well, tell me")
    said = say(db, session_of(db), "Locker 4711 it is")
    assert said in handles(db, "What is the number of my locker at the pool?")
    assert left_out[0]
