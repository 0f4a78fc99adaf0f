"""What was only said or noted: of two statements about the same, the one that became true last comes first, and what
is told of Lukas answers what is asked of "my brother"."""

import pytest

from agent_cli.memory.facts import adoption
from tests.conftest import memory_of
from tests.recalling import EMBEDDED, day, find, handles, note, reply, say, session_of, take_in
from tests.tables import columns, listed


@pytest.mark.parametrize("meaning", [None, EMBEDDED], ids=["words", "vectors"])
@pytest.mark.parametrize(
    ("earlier", "later", "question"),
    columns("""I live in Graz → I moved to Linz in June → where do I live?
        I live in Graz → by the way, I moved to Linz in June 2025 → Which city do I live in?
        My dentist is Dr. Novak → My dentist is Dr. Amsel → who is my dentist?
        I work at Siemens → I started at Bosch in May → where do I work?
        Ich wohne in Graz → Ich bin im Juni nach Linz gezogen → wo wohne ich?
        My favourite editor is vim → my favourite editor is emacs → what is my favourite editor?"""),
)
def test_what_was_said_later_comes_first(db, session, earlier, later, question, meaning):
    first = say(db, session, earlier, day("2026-06-01"))
    reply(db, session, "Good to know.", day("2026-06-01"))
    for n in range(20):
        say(db, session, f"My parcel number {n} is at the post office in Graz", day("2026-06-02"))
    second = say(db, session, later, day("2026-07-01"))
    found = find(db, question, now=day("2026-07-02"), meaning=meaning)
    shown = [hit.handle for hit in found.hits]
    assert (shown[0], found.verdict) == (second, "known")
    assert {hit.label for hit in found.hits if hit.handle == first} <= {f"(replaced by {second})"}


def test_dates_decide_not_the_order(db, session):
    newer = say(db, session, "I moved to Wels on 3 March 2026", day("2026-04-01"))
    say(db, session, "I moved to Linz in June 2025", day("2026-04-02"))
    assert handles(db, "where did I move to", now=day("2026-05-01"))[0] == newer


def test_what_will_be_true_replaces_nothing_yet(db, session):
    now = say(db, session, "I live in Graz", day("2026-04-01"))
    planned = say(db, session, "I am moving to Vienna on 1 October 2026", day("2026-04-02"))
    assert handles(db, "which city do I live in", now=day("2026-05-01"))[0] == now
    found = find(db, "moving to Vienna", now=day("2026-05-01")).hits
    assert [(hit.handle, hit.label) for hit in found] == [(planned, "")]
    assert handles(db, "which city do I live in", now=day("2026-11-01"))[0] == planned


def test_a_fact_replaces_what_was_only_said_before(db):
    said = say(db, session_of(db), "Remember that I live in Graz.", day("2026-01-01"))
    kept = adoption.add(memory_of(db), adoption.claim("I live in Linz", "typed")).fact
    found = find(db, "where do I live", now=day("2026-02-01")).hits
    assert [hit.handle for hit in found] == [kept.handle, said]
    assert found[1].label == f"(replaced by {kept.handle})"


def test_notes_replace_one_another_too(db):
    note(db, "My dentist is Dr. Novak", day("2026-01-01"))
    second = note(db, "My dentist is Dr. Amsel", day("2026-02-01"))
    assert handles(db, "my dentist", now=day("2026-03-01"))[0] == second


@pytest.mark.parametrize(
    "later",  # of somebody else, of something else, or the same
    listed("""My sister lives in Linz | I like Linz | I live in Graz | Perhaps I live in Linz | Do I live in Linz?"""),
)
def test_what_says_nothing_else_replaces_nothing(db, session, later):
    say(db, session, "I live in Graz", day("2026-01-01"))
    say(db, session, later, day("2026-02-01"))
    assert all(hit.label == "" for hit in find(db, "do I live in Graz", now=day("2026-03-01")).hits)


def test_what_another_says_replaces_nothing(db, session):
    take_in(db, session, "I live in Graz", "Anna", day("2026-01-01"))
    take_in(db, session, "I moved to Linz", "Ben", day("2026-02-01"))
    assert all(hit.label == "" for hit in find(db, "where do I live", now=day("2026-03-01")).hits)


@pytest.mark.parametrize(
    ("relation", "told", "question"),
    [
        ("My brother is called Lukas", "Lukas can't eat lactose", "what should I not cook for my brother"),
        ("Mein Bruder heißt Lukas", "Lukas wohnt in Berlin", "in welcher Stadt lebt mein Bruder?"),
        ("Mein Bruder heißt Lukas", "Lukas wohnt in Berlin", "which city does my brother live in?"),
        ("My dentist is Dr. Novak", "Dr. Novak is on leave in August", "is my dentist away?"),
    ],
)
def test_a_relation_that_was_only_said_is_followed(db, session, relation, told, question):
    first, second = say(db, session, relation, day("2026-06-01")), say(db, session, told, day("2026-06-02"))
    for n in range(40):
        say(db, session_of(db), f"The parcel number {n} is at the post office of a city", day("2026-06-03"))
        note(db, f"Das Paket Nummer {n} liegt auf der Post", day("2026-06-03"))
    assert {*handles(db, question, now=day("2026-07-01"))[:2]} == {first, second}


def test_a_relation_kept_as_a_fact_leads_to_what_was_only_said(db):
    adoption.add(memory_of(db), adoption.claim("My sister is called Anna", "typed"))
    said = say(db, session_of(db), "Anna is married to Jonas, he is a beekeeper", day("2026-02-01"))
    reply(db, session_of(db), "Anna is a name.", day("2026-02-02"))
    assert said in handles(db, "what is the trade of my sister's family", now=day("2026-03-01"))


def test_what_the_assistant_said_of_a_relative_does_not_answer(db, session):
    say(db, session, "My brother is called Lukas", day("2026-02-01"))
    say(db, session, "tell me of names", day("2026-02-01"))
    made_up = reply(db, session, "Lukas wants a bicycle.", day("2026-02-02"))
    assert made_up not in handles(db, "what is the hobby of my brother", now=day("2026-03-01"))


@pytest.mark.parametrize("question", ["when did I move to Linz?", "wann bin ich nach Linz gezogen?"])
def test_a_question_of_the_past_finds_what_is_no_longer_true(db, session, question):
    old = say(db, session, "I moved to Linz in June 2020", day("2026-01-01"))
    say(db, session, "Ich bin im Juli 2025 nach Wels gezogen", day("2026-02-01"))
    say(db, session, "I moved to Graz on 3 March 2026", day("2026-03-04"))
    assert handles(db, question, now=day("2026-06-01"))[0] == old


def test_a_question_of_the_past_finds_the_message_of_a_fact_that_ended(db, session):
    told = say(db, session, "I moved to Linz in June 2020", day("2026-01-01"))
    adoption.add(memory_of(db), adoption.claim("I moved to Linz in June 2020", "typed", message=int(told[1:])))
    adoption.add(memory_of(db), adoption.claim("I moved to Salzburg on 1 January 2026", "typed"))
    assert handles(db, "when did I move to Linz?", now=day("2026-06-01"))[0] == told
    assert handles(db, "where do I live?", now=day("2026-06-01"))[0] != told


@pytest.mark.parametrize(
    ("question", "planned_first"),
    columns("""which city do I live in? → | where do I live now → | where will I live next? → yes
        do I move to Vienna? → yes | wo werde ich wohnen? → yes"""),
)
def test_a_plan_stands_behind_what_holds_until_then(db, question, planned_first):
    present = adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed")).fact
    plan = adoption.add(memory_of(db), adoption.claim("I will move to Vienna on 1 October 2026", "typed")).fact
    found = handles(db, question, now=day("2026-05-01"))
    assert found[0] == (plan if planned_first else present).handle


def test_the_message_of_a_plan_stands_behind_the_present_value_too(db, session):
    present = say(db, session, "I moved to Salzburg on 1 July 2025", day("2025-07-02"))
    plan = say(db, session, "I will move to Vienna on 1 October 2026", day("2026-04-02"))
    assert handles(db, "to which city did I move", now=day("2026-05-01"))[:2] == [present, plan]
    assert handles(db, "to which city will I move", now=day("2026-05-01"))[:2] == [plan, present]


def test_words_that_only_ask_say_little(db, session):
    lukas = say(db, session, "Lukas hat eine Wohnung in Hamburg", day("2026-01-01"))
    say(db, session, "Ich habe jetzt auf Ebene 5 geparkt", day("2026-01-02"))
    say(db, session, "remember that my parcel is at the post office", day("2026-01-02"))
    assert handles(db, "wo lebt Lukas jetzt", now=day("2026-02-01"))[0] == lukas
    assert handles(db, "do you remember where Lukas lives", now=day("2026-02-01"))[0] == lukas
