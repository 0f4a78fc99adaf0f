"""More candidates than are read: what may answer is read, and what follows when the best of them only ask."""

import pytest

from agent_cli.memory.search import passage_context, recall, vectors
from tests.conftest import HERE
from tests.recalling import EMBEDDED, STRANGER, day, embed, handles, reply, say, session_of

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
