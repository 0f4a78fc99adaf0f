"""How well a passage answers: pure arithmetic."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import candidates, ranking
from agent_cli.memory.search.candidates import Question
from agent_cli.memory.search.passage_context import CandidateRow, Exchange, frequencies
from agent_cli.memory.search.ranking import WEIGHTS
from agent_cli.memory.search.vectors import VectorSet
from tests.tables import columns, for_each

IDFS = {"cat": 2.0, "mia": 4.0, "sister": 1.0}


def row(id=1, own=None, **more):
    values = {"session": 1, "length": 60, "age": 0.0, "text": "The cat is Mia.", "author": "", **more}
    made = CandidateRow(id, own_words={"cat": 1} if own is None else own, **values)
    counts = made.own_words, made.before, made.before_that, made.after, made.by, made.date, made.facts
    return made._replace(frequencies=frequencies(*counts))


def wide(row, average=60):
    return ranking.bm25(row, IDFS, average)


def score(*rows, query="the cat mia", named=frozenset(), floor=1.0, idfs=IDFS):
    stems = {word: [word] for word in idfs}
    vector_set = VectorSet(1, "", 2, floor) if floor < 1 else None
    more = {"average": 60.0, "authors": named, "vector_set": vector_set}
    context = Question(query, idfs, stems, **more)
    return ranking.score_closely(context, ranking.score(context, rows))


def test_a_rare_word_weighs_more():
    assert candidates.idf(1000, 1) > candidates.idf(1000, 10) > candidates.idf(1000, 1000) > 0
    assert candidates.idf(1000, 1) == math.log(1 + 999.5 / 1.5)
    assert candidates.idf(5, 20_000) >= 0


def test_words_count_by_where_they_stand():
    places = [
        wide(row(**{"own": {}, where: {"cat": 1}}))
        for where in ("by", "own", "facts", "before", "date", "after", "before_that")
    ]
    assert places == sorted(places, reverse=True)
    assert places[-1] > 0 == wide(row(own={}))


def test_bm25_is_that_of_the_textbook():
    norm = ranking.K1 * (1 - ranking.B + ranking.B * 60 / 30)
    assert wide(row(own={"mia": 2}), 30) == pytest.approx(4.0 * 2 * (ranking.K1 + 1) / (2 + norm))
    assert wide(row(length=600)) < wide(row(length=60))


def test_coverage_is_the_weighted_share_of_the_questions_words():
    assert ranking.coverage(row(own={"cat": 3}, after={"mia": 1}), IDFS) == pytest.approx(6 / 7)
    assert ranking.coverage(row(own={}), {}) == 0


@given(
    some.lists(
        some.builds(
            row,
            id=some.integers(1, 99),
            own=some.dictionaries(some.sampled_from(sorted(IDFS)), some.integers(1, 5)),
            age=some.floats(-5, 5000),
            author=some.sampled_from(["", "Ann"]),
            cosine=some.floats(-1, 1),
            session=some.none() | some.integers(1, 3),
            timely=some.booleans(),
            length=some.integers(0, 5000),
            text=some.sampled_from(["Mia.", "Who?", "Last week. Or when?", "", "?"]),
        ),
        max_size=9,
    ),
    some.floats(0, 1),
)
def test_the_legs_add_up_to_the_score_and_the_best_comes_first(rows, floor):
    scored = score(*rows, query="when mia", named=frozenset({"Ann"}), floor=floor)
    assert len(scored) == len(rows)
    assert [each.score for each in scored] == sorted((each.score for each in scored), reverse=True)
    for each in scored:
        assert sum(each.legs.values()) == pytest.approx(each.score)
        assert all(each.legs.values())


@for_each(("days", "share"), [(0, 1.0), (30, 0.9), (60, 0.85), (100_000, 0.8), (-7, 1.0)])
def test_age_takes_a_fifth_at_most_and_half_of_that_in_30_days(days, share):
    (new,) = score(row())
    (old,) = score(row(age=days))
    assert old.score == pytest.approx(new.score * share)


def test_a_question_seldom_holds_the_answer():
    says, asks, both = (row(text=text) for text in ("Her cat is Mia.", "Is her cat Mia?", "Her cat is Mia. Is it?"))
    by = {each.row.text: each for each in score(says, asks._replace(id=2), both._replace(id=3))}
    assert by["Her cat is Mia."].score > by["Her cat is Mia. Is it?"].score > by["Is her cat Mia?"].score
    assert by["Is her cat Mia?"].legs["question"] == WEIGHTS["question"]
    assert "question" not in by["Her cat is Mia."].legs


def test_meaning_counts_above_its_floor_and_the_nearest_most():
    near, nearer, far = row(1, cosine=0.5), row(2, cosine=0.7), row(3, cosine=0.3)
    by = {each.row.id: each.legs for each in score(near, nearer, far, floor=0.3)}
    assert by[2]["meaning"] == pytest.approx(WEIGHTS["meaning"] * 0.4 / 0.7)
    assert by[1]["meaning"] == pytest.approx(WEIGHTS["meaning"] * 0.2 / 0.7)
    assert "meaning" not in by[3]


def test_the_speaker_the_time_and_the_moment_count():
    (best,) = score(
        row(author="Ann", timely=True, text="Mia came last week."),
        query="When did Ann get Mia?",
        named=frozenset({"Ann"}),
    )
    assert {name: best.legs[name] for name in ("speaker", "time", "moment")} == {
        name: WEIGHTS[name] for name in ("speaker", "time", "moment")
    }


def test_what_is_asked_for_counts():
    texts = {
        "Where does Mia sleep?": ("place", "Mia moved in with us in Graz.", "Mia moved in with us."),
        "How many kittens has Mia?": ("number", "Mia has three.", "Mia has some."),
        "Wie viele Kätzchen hat Mia?": ("number", "Mia hat drei.", "Mia hat einige."),
        "Wo schläft Mia?": ("place", "Mia wohnt in Graz.", "Mia wohnt hier."),
    }
    for query, (leg, answer, other) in texts.items():
        by = {each.row.text: each.legs for each in score(row(1, text=answer), row(2, text=other), query=query)}
        assert (by[answer].get(leg), by[other].get(leg)) == (WEIGHTS[leg], None), query


@for_each(
    ("question", "wish", "counts"),
    [
        ("How should I name the cat?", "I prefer short names for a cat.", True),
        ("Can you help me choose a cat?", "Please always name the sources when I ask about cats.", True),
        ("Which toy would you suggest for the cat?", "Cats are fun. Never plastic for the cat.", True),
        ("Wie soll ich die Katze nennen?", "Nenne mir bitte immer drei Namen für eine Katze.", True),
        ("Kannst du mir eine Katze aussuchen?", "Bei einer Katze mag ich lange Haare. Mir sind rote lieber.", True),
        ("What should I buy for the cat?", "Please always feed the cat.", True),
        ("Which cat did I see?", "I prefer short names for a cat.", False),
        ("Can you help me remember my cat?", "I prefer short names for a cat.", False),
        ("Can you tell me the name of the cat?", "I prefer short names for a cat.", False),
        ("How should I name the cat?", "The cat has never been outside.", False),
        ("How should I name the cat?", "Never mind the cat.", False),
        ("How should I name the cat?", "I prefer tea.", False),
    ],
)
def test_what_the_person_wishes_counts_when_they_ask_for_advice_on_the_matter(question, wish, counts):
    own = {"cat": 1} if {"cat", "cats", "katze"} & set(terms.content_words(wish)) else {}
    legs = score(row(role="user", text=wish, own=own), query=question)[0].legs
    reply = score(row(role="assistant", text=wish, own=own), query=question)[0].legs
    assert ("wish" in legs, "wish" in reply) == (counts, False)


@for_each(
    ("role", "with_assistant", "counts"),
    [("user", False, True), ("user", True, False), ("assistant", True, True), ("", False, True)],
)
def test_what_was_said_before_tells_what_one_is_about_but_not_what_the_assistant_is_asked_next(
    role, with_assistant, counts
):
    found = row(role=role, with_assistant=with_assistant, cosine=0.5, cosines_around=(0.6, 0.0))
    assert ("meaning before" in score(found, floor=0.3)[0].legs) == counts


def test_who_asks_about_themselves_means_their_own_words():
    person, assistant = row(1, role="user"), row(2, role="assistant")
    assert [each.row.id for each in score(assistant, person, query="what is my cat called?")] == [1, 2]
    assert [each.row.id for each in score(assistant, person, query="wie heißt meine Katze?")] == [1, 2]
    of_replies = {query: score(assistant, query=query)[0].score for query in ("which cat", "which cat did you suggest")}
    assert of_replies["which cat did you suggest"] > of_replies["which cat"]


@for_each(
    ("question", "about"),
    columns("""Which cat did you suggest? → said | What have you already told me of cats? → said
        Welche Katze hast du mir im Mai empfohlen? → said | Welche Katze, die du mir vorgeschlagen hast? → said
        Which cat would you suggest? → | Can you explain what a cat eats? → | Welche Katze würdest du empfehlen? →"""),
)
def test_what_the_assistant_said_is_something_else_than_what_it_would_say(question, about):
    assert statements.asks_for_reply(question) is bool(about)


@for_each(
    ("question", "may_be_in_a_reply"),
    columns("""How did I organize the move to Graz? → yes | What steps did we plan for the meeting? → yes
        Which cat did you suggest? → yes | Wie habe ich den Umzug organisiert? → yes
        Welche Schritte haben wir für das Treffen geplant? → yes | In what order did we pack the boxes? → yes
        Welche Technik haben wir für die Fliesen gewählt? → yes | What did I pay for the move? →
        How do I organize a move? → | Wie organisiere ich einen Umzug? →"""),
)
def test_how_something_was_worked_out_may_be_told_by_a_reply(question, may_be_in_a_reply):
    assert Question(question, IDFS).asks_for_replies is bool(may_be_in_a_reply)


def exchange(id, **said):
    """A reply that is asked for, whose exchange holds these words so often."""
    return row(id, row=id, role="assistant", exchange=Exchange(id, 0, {"sister": (0, 0), **said}, 60))


def test_of_exchanges_that_are_asked_for_the_one_with_most_of_the_words_as_asked_counts_most():
    exact = exchange(1, cat=(1, 1), mia=(1, 1))
    inflected, other = exchange(2, cat=(0, 3), mia=(1, 1)), exchange(3, cat=(0, 3), mia=(0, 0))
    scored = score(other, inflected, exact, query="Which cat did you suggest?")
    assert [each.row.id for each in scored] == [1, 2, 3]
    assert scored[0].legs["exchange"] == WEIGHTS["exchange"]
    assert "exchange" not in scored[2].legs


def test_words_that_no_exchange_holds_as_they_are_asked_count_in_any_form():
    holds, other = exchange(1, cat=(0, 1)), exchange(2, cat=(0, 0))
    legs = {each.row.id: each.legs for each in score(holds, other, query="Which cat did you suggest?")}
    assert (legs[1].get("exchange"), legs[2].get("exchange")) == (WEIGHTS["exchange"], None)


def test_a_question_and_the_reply_to_it_count_as_one_when_the_reply_is_asked_for():
    reply = exchange(1, cat=(1, 1))
    asked = row(2, row=2, role="user", exchange=reply.exchange)
    (first, second) = score(asked, reply, query="Which cat did you suggest?")
    assert [first.row, second.row] == [reply, asked]
    assert first.legs["exchange"] == second.legs["exchange"]


def test_a_word_like_one_of_the_question_counts_as_far_as_it_is_alike():
    class Embedder:
        def match_words(self, words, texts):
            return [[0.7 if word == "sister" and "sibling" in text else 0.0 for word in words] for text in texts]

    rows = row(1, own={"mia": 1}, text="Mia, my sibling"), row(2, own={"mia": 1}, text="Mia, my neighbour")
    stems = {"mia": ["mia"], "sister": ["sister"]}
    context = Question("mia sister", {"mia": 4.0, "sister": 1.0}, stems, average=60.0)
    best, other = ranking.score_closely(context, ranking.score(context, rows), Embedder())
    assert best.row.id == 1
    assert best.legs["similar"] == pytest.approx(WEIGHTS["similar"] * 0.6 * 1 / 5)
    assert "similar" not in other.legs


def test_a_long_answer_does_not_crowd_out_a_short_statement():
    long, short = row(1, length=4000, own={"cat": 9, "mia": 9}), row(2, own={"cat": 1, "mia": 1})
    assert [each.row.id for each in score(long, short)] == [2, 1]


def test_of_equals_the_later_comes_first():
    rows = row(1, at=7, row=1), row(2, at=9), row(3, at=7, row=2), row(4, at=7, row=5, kind="n")
    assert [each.row.id for each in score(*rows)] == [2, 3, 1, 4]


def test_nothing_to_score_is_no_error():
    assert score() == []
    assert score(row(own={}), idfs={})[0].score == 0
