"""What was only said or noted: of two statements about the same, the one that became true last comes first."""

import pytest

from agent_cli.memory.facts import adoption
from tests.conftest import HERE, noon
from tests.recalling import EMBEDDED, day, find, handles, note, reply, say, session_of, take_in


@pytest.mark.parametrize("meaning", [None, EMBEDDED], ids=["words", "vectors"])
@pytest.mark.parametrize(
    ("earlier", "later", "question"),
    [
        ("I live in Graz", "I moved to Linz in June", "where do I live?"),
        ("I live in Graz", "by the way, I moved to Linz in June 2025", "Which city do I live in?"),
        ("My dentist is Dr. Novak", "My dentist is Dr. Amsel", "who is my dentist?"),
        ("I work at Siemens", "I started at Bosch in May", "where do I work?"),
        ("Ich wohne in Graz", "Ich bin im Juni nach Linz gezogen", "wo wohne ich?"),
        ("My favourite editor is vim", "my favourite editor is emacs", "what is my favourite editor?"),
    ],
)
def test_what_was_said_later_comes_first(db, earlier, later, question, meaning):
    session = session_of(db)
    first = say(db, session, earlier, day("2026-06-01"))
    reply(db, session, "Good to know.", day("2026-06-01"))
    for n in range(20):
        say(db, session, f"My parcel number {n} is at the post office in Graz", day("2026-06-02"))
    second = say(db, session, later, day("2026-07-01"))
    found = find(db, question, now=day("2026-07-02"), meaning=meaning)

    shown = [hit.handle for hit in found.hits]
    assert (shown[0], found.verdict) == (second, "known")
    assert {hit.handle: hit.label for hit in found.hits}.get(first, f"(said otherwise later, in {second})") == (
        f"(said otherwise later, in {second})"
    )


def test_dates_decide_not_the_order(db):
    session = session_of(db)
    newer = say(db, session, "I moved to Wels on 3 March 2026", day("2026-04-01"))
    say(db, session, "I moved to Linz in June 2025", day("2026-04-02"))

    assert handles(db, "where did I move to", now=day("2026-05-01"))[0] == newer


def test_what_will_be_true_replaces_nothing_yet(db):
    session = session_of(db)
    now = say(db, session, "I live in Graz", day("2026-04-01"))
    planned = say(db, session, "I am moving to Vienna on 1 October 2026", day("2026-04-02"))

    assert handles(db, "which city do I live in", now=day("2026-05-01"))[0] == now
    assert [(hit.handle, hit.label) for hit in find(db, "moving to Vienna", now=day("2026-05-01")).hits] == [
        (planned, "")
    ]
    assert handles(db, "which city do I live in", now=day("2026-11-01"))[0] == planned


def test_a_fact_replaces_what_was_only_said_before(db):
    said = say(db, session_of(db), "I live in Graz", day("2026-01-01"))
    kept = adoption.add(db, HERE, adoption.claim("I live in Linz", "typed"), noon).fact

    found = find(db, "where do I live", now=day("2026-02-01")).hits
    assert [hit.handle for hit in found] == [kept.handle, said]
    assert found[1].label == f"(said otherwise later, in {kept.handle})"


def test_notes_replace_one_another_too(db):
    note(db, "My dentist is Dr. Novak", day("2026-01-01"))
    second = note(db, "My dentist is Dr. Amsel", day("2026-02-01"))
    assert handles(db, "my dentist", now=day("2026-03-01"))[0] == second


@pytest.mark.parametrize(
    "later",
    [
        "My sister lives in Linz",  # of somebody else
        "I like Linz",  # of something else
        "I live in Graz",  # the same
        "Perhaps I live in Linz",
        "Do I live in Linz?",
    ],
)
def test_what_says_nothing_else_replaces_nothing(db, later):
    session = session_of(db)
    say(db, session, "I live in Graz", day("2026-01-01"))
    say(db, session, later, day("2026-02-01"))

    assert all(hit.label == "" for hit in find(db, "do I live in Graz", now=day("2026-03-01")).hits)


def test_what_another_says_replaces_nothing(db):
    session = session_of(db)
    take_in(db, session, "I live in Graz", "Anna", day("2026-01-01"))
    take_in(db, session, "I moved to Linz", "Ben", day("2026-02-01"))

    assert all(hit.label == "" for hit in find(db, "where do I live", now=day("2026-03-01")).hits)
