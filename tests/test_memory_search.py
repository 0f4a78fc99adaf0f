from datetime import timedelta

import pytest

from agent_cli.memory import log, notes, search, sessions, summaries
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message, Part
from tests.conftest import HERE, NOON, noon


def say(db, session, words, now=NOON, scope=HERE):
    return log.say(db, session, scope, [Part(words, "typed")], now)


def found(db, query, limit=9, **options):
    return [hit.handle for hit in search.find(db, "person", query, limit, **options)]


def test_messages_notes_and_summaries_are_found_by_a_word(db, session):
    say(db, session, "Where is Trogir?")
    notes.add(db, HERE, "The island beside it is Čiovo", lambda: NOON + timedelta(hours=1), title="Trogir")
    with db.write():
        summaries.keep(db, session, "They asked about Trogir.", "model", "m", lambda: NOON + timedelta(hours=2))

    assert search.find(db, "person", "trogir", 9) == [
        search.Hit("summary", 1, "2026-01-02T14:00:00.000Z", 0, "They asked about Trogir.", 1.0),
        search.Hit("note", 1, "2026-01-02T13:00:00.000Z", 0, "Trogir: The island beside it is Čiovo", 1.0),
        search.Hit("message", 1, "2026-01-02T12:00:00.000Z", 0, "Where is Trogir?", 1.0),
    ]
    assert found(db, "trogir", kinds=("note",)) == ["n1"]


def test_more_of_the_words_count_more_then_what_is_later(db, session):
    say(db, session, "My cat is black")
    say(db, session, "A black car", NOON + timedelta(hours=1))
    say(db, session, "A black night", NOON + timedelta(hours=2))

    assert found(db, "What colour is my black cat?") == ["m1", "m3", "m2"]
    assert found(db, "What colour is my black cat?", limit=1) == ["m1"]


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ("Die Übung war gut", "übung"),
        ("Die Übung war gut", "ÜBUNG"),
        ("In der Straße", "STRASSE"),
        ("Москва зимой", "москва"),
        ("ΑΘΗΝΑ", "αθηνα"),
        ("Բարև Ձեզ", "բարև"),
        ("Trains run daily", "train"),
        ("It's 100% sure_thing", "100"),
        ("Who are you", "who are you"),
    ],
)
def test_case_and_endings_do_not_matter_in_any_script(db, session, words, query):
    say(db, session, words)

    assert found(db, query) == ["m1"]


@pytest.mark.parametrize("query", ["", "?!", "%", "_", "zebra", "ogir", "' or 1=1 --"])
def test_what_has_none_of_the_words_is_not_found(db, session, query):
    say(db, session, "Where is Trogir?")

    assert found(db, query) == []


def test_a_question_of_a_thousand_words_is_no_trouble(db, session):
    say(db, session, "Where is Trogir?")

    assert found(db, " ".join(f"word{number}" for number in range(3000)) + " Trogir") == ["m1"]


def test_what_is_hidden_or_anothers_is_not_found(db):
    hidden = sessions.start(db, HERE, NOON)
    say(db, hidden, "Trogir one")
    with db.write():
        summaries.keep(db, hidden, "Trogir two.", "model", "m", noon)
    sessions.hide(db, hidden, NOON)
    notes.hide(db, notes.add(db, HERE, "Trogir three", noon), noon)
    other = Scope("somebody else", HERE.place)
    theirs = sessions.start(db, other, NOON)
    say(db, theirs, "Trogir four", scope=other)
    with db.write():
        summaries.keep(db, theirs, "Trogir five.", "model", "m", noon)
    notes.add(db, other, "Trogir six", noon)

    assert found(db, "trogir") == []


def test_the_session_in_which_the_question_is_asked_can_be_left_out(db, session):
    say(db, session, "Where is Trogir?")
    say(db, sessions.start(db, HERE, NOON), "Trogir is in Dalmatia.")

    assert found(db, "trogir", besides=session) == ["m2"]


def test_results_of_tools_and_answers_that_only_quote_are_not_found(db, session):
    for model in ("offline", "m"):
        id = log.open_reply(db, session, HERE, model, NOON)
        log.close_reply(db, id, Message("assistant", "Trogir"), "stop", log.Usage(model), NOON)
    call = log.ToolCall("1", "read", {})
    log.answer(db, session, HERE, call, log.ToolResult("Trogir"), NOON)

    assert found(db, "trogir") == ["m2"]
