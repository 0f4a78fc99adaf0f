"""The line for each sentence that asks to remember or to forget something, and what is kept of it."""

import re
from dataclasses import replace

import pytest

from agent_cli.agent import listener
from agent_cli.agent.loop import Question
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.messages import Part, Receipt
from tests.conftest import HERE, NOON, memory_of

KEYBOARD, SHELL = True, False


@pytest.fixture
def lines(context):
    """The lines for a message."""

    def say(words, at_keyboard=KEYBOARD, origin="typed", keeps=True):
        parts = [Part(words, origin)]
        message = log.add_user_message(context.db, context.session, HERE, parts, NOON)
        question = Question(replace(context, keeps=keeps), parts, at_keyboard=at_keyboard)
        return listener.answer_requests(question, message)

    return say


def kept(db):
    return db.rows("select statement, state from fact order by id")


def test_what_is_typed_is_kept_and_anything_else_waits_or_is_not_kept_and_each_is_said(lines, db):
    assert lines("Please remember my wife's name is Eva") == [
        "kept f1 “my wife's name is Eva” (/undo f1 takes it back)"
    ]
    parks = "f2 waits for your yes: “ich parke auf Ebene 3” (agent facts review)"
    assert lines("notier dir, dass ich auf Ebene 3 parke", SHELL) == [parks]
    pasted = "not kept, because it came all at once, like a paste: “I am the king”; /remember keeps it"
    assert lines("remember that I am the king", origin="pasted") == [pasted]
    tabs = "kept f3 “we use tabs” for this project (/undo f3 takes it back)"
    assert lines("Remember for this project that we use tabs") == [tabs]
    assert kept(db) == [
        ("my wife's name is Eva", "accepted"),
        ("ich parke auf Ebene 3", "pending"),
        ("we use tabs", "accepted"),
    ]
    assert db.rows("select place from fact") == [("",), ("",), (HERE.place,)]


def test_what_cannot_be_kept_is_answered_with_what_to_type(lines, db):
    for at_keyboard, (remind, remember, forget) in {
        KEYBOARD: ("/remind", "/remember", "/forget"),
        SHELL: ("agent remind", "agent facts add", "agent forget"),
    }.items():
        task = f"“buy milk” is something to do, not a fact: {remind} buy milk makes it a task"
        assert lines("Remember to buy milk", at_keyboard) == [task]
        unclear = f"nothing was kept of “my birthday”: write a statement, as in {remember} I live in Graz"
        assert lines("don't forget my birthday", at_keyboard) == [unclear]
        later = f"nothing was forgotten yet: {forget} drink coffee shows what it would erase, and asks"
        assert lines("forget that I drink no coffee", at_keyboard) == [later]
    assert lines("Do you remember that film? Can you remember where I parked?") == []
    assert kept(db) == []


def test_a_reminder_is_set_at_once_by_who_types_it_and_elsewhere_left_to_the_model(lines, db):
    asked = "Remind me on Saturday at 3pm to call the dentist. Erinnere mich daran, die Blumen zu gießen."
    assert lines(asked, SHELL) == []
    assert lines("remind me on 3 March 2020 to call") == [
        "no reminder was set: Tuesday 3 Mar 2020, 09:00 is past: name a time in the future"
    ]
    dentist, flowers = lines(asked)
    assert dentist.startswith("kept t1 “call the dentist”, Saturday ")
    assert isinstance(dentist, Receipt)
    assert flowers == "kept t2 “die Blumen gießen”, any time (/tasks rm t2 takes it back)"
    assert lines("Remind me on Saturday at 3pm to call the dentist.") == [
        dentist.replace("kept", "it is kept already:").partition(" (")[0]
    ]
    fact, oil = lines("Remember that my car needs oil and remind me tomorrow at 9 to buy it")
    assert (fact, oil[:18]) == ("kept f1 “my car needs oil” (/undo f1 takes it back)", "kept t3 “buy it”, ")
    assert db.rows("select text, origin, message_id from task") == [
        ("call the dentist", "typed", 3),
        ("die Blumen gießen", "typed", 3),
        ("buy it", "typed", 5),
    ]


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("I drink no coffee", "forget that I drink no coffee"),
        ("ich trinke keinen Kaffee", "vergiss bitte, dass ich keinen Kaffee trinke"),
        ("I live in Graz", "Forget that I am living in Graz."),
    ],
)
def test_forgetting_names_the_fact_that_is_meant_and_changes_nothing(lines, db, fact, said):
    adoption.add(memory_of(db), adoption.claim(fact, "typed"))
    assert lines(said) == [f"nothing was forgotten yet: /forget f1 erases “{fact}”, and asks first"]
    assert kept(db) == [(fact, "accepted")]


def test_a_fact_that_is_no_longer_true_is_not_the_one_to_forget(lines, db):
    known = adoption.add(memory_of(db), Claim("I drink no coffee", "typed")).fact
    adoption.end(memory_of(db), known)
    assert "/forget drink coffee" in lines("forget that I drink no coffee")[0]


def test_of_many_sentences_in_a_file_the_first_are_named_and_the_others_counted(lines, db):
    found = lines("".join(f"Remember that I am king {n} of Graz. " for n in range(20)), origin="file")
    assert (len(found), found[-1]) == (9, "12 more sentences ask to be remembered, and nothing of them was kept")
    assert kept(db) == []


def test_an_incognito_conversation_says_once_that_it_keeps_nothing(lines, db):
    said = "remember that I live in Graz. Don't forget to buy milk."
    assert lines(said, keeps=False) == [listener.INCOGNITO_NOTICE]
    assert kept(db) == []


def test_each_clause_that_is_understood_is_kept_by_itself_in_one_line(lines):
    lines("remember that I drive a Skoda")
    [line] = lines("remember that I sold the Skoda on 3 May 2026, I drive a Renault Zoe now")
    assert line.startswith("ended f1 “I drive a Skoda” (true until 3 May 2026)")
    assert "; kept f3 “I drive a Renault Zoe”" in line
    assert len(lines("remember that I like food and drink festivals")[0].split("; ")) == 1
    for said, kept in {
        "dass ich Tee mag und Kaffee hasse": ("ich mag Tee", "ich hasse Kaffee"),
        "dass ich Vegetarier bin und dass ich in Graz wohne": ("ich bin Vegetarier", "ich wohne in Graz"),
        "dass meine Schwester Anna in Wien wohnt und bei Bosch arbeitet": (
            "meine Schwester Anna wohnt in Wien",
            "meine Schwester Anna arbeitet bei Bosch",
        ),
        "dass meine Frau Käthe heißt und dass sie gern schwimmt": (
            "meine Frau Käthe heißt und dass sie gern schwimmt",
        ),
    }.items():
        [line] = lines(f"Merk dir, {said}")
        assert tuple(re.findall("kept f\\d+ “(.+?)”", line)) == kept


def test_a_weekday_is_kept_as_its_date_and_now_as_the_day_on_which_it_is_said(lines, db):
    for words, statement in {
        "vergiss nicht, dass Papa am Montag operiert wird": "Papa wird am 5. Januar 2026 operiert",
        "Don't forget that dad had surgery on Monday.": "dad had surgery on 29 December 2025",
        "note that I have a dentist appointment on Monday": "I have a dentist appointment on 5 January 2026",
        "Please remember that I live in Wels now.": "I live in Wels",
        "merk dir, dass ich jetzt bei Bosch arbeite": "ich arbeite bei Bosch",
        "Remember that I live in Graz for now.": "I live in Graz for now",
    }.items():
        assert statement in lines(words)[0]
        assert kept(db)[-1][0] == statement
    assert {each for (each,) in db.rows("select substr(learned_at, 1, 10) from fact")} == {"2026-01-02"}


def test_a_wish_for_all_answers_waits_and_one_to_be_remembered_is_kept(lines, db):
    assert lines("From now on answer in German.") == ["f1 waits for your yes: “From now on answer in German” (/review)"]
    assert lines("Remember to always answer briefly") == ["kept f2 “always answer briefly” (/undo f2 takes it back)"]
    assert kept(db) == [("From now on answer in German", "pending"), ("always answer briefly", "accepted")]
