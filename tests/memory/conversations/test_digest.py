import pytest

from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.messages import Message, Part
from agent_cli.store import jobs
from tests.conftest import HERE, NOON


@pytest.fixture
def talk(db, session):
    """Says a line of the person and one of the assistant; gives the number of the latter."""

    def say(person, assistant="I see."):
        log.add_user_message(db, session, HERE, [Part(person, "typed")], NOON)
        id = log.open_reply(db, session, HERE, "m", NOON)
        log.close_reply(db, id, Message("assistant", assistant), "stop", log.Usage(), NOON)
        return id

    return say


def test_what_is_folded_away_is_told_at_once_in_short(db, session, talk):
    up_to = talk("My cat is called Mia. The NAS answers at 192.168.1.20.")
    talk("This is not folded away.")
    made = digest.fold(db, session, up_to, NOON)
    assert made == digest.rolling(db, session)
    assert made == digest.RollingSummary(
        up_to,
        "person: My cat is called Mia. person: The NAS answers at 192.168.1.20. assistant: I see.",
        "",  # nothing is lost
        "extract",
    )
    assert db.rows("select kind, subject, state from job") == [("fold", f"s{session}", "ready")]


def test_it_stays_under_150_words_and_keeps_what_the_person_says_of_themself(db, session, talk):
    talk("I live in Trogir and my sister is called Ivana.")
    for number in range(200):
        up_to = talk(f"Tell me about the {number}th thing that comes to mind.", "It is a thing like any other thing.")
    made = digest.fold(db, session, up_to, NOON)
    assert len(made.text.split()) <= digest.WORDS + 20  # the names of who said it come on top
    assert "I live in Trogir and my sister is called Ivana." in made.text


def test_the_words_of_the_model_take_the_place_of_the_extract(db, session, talk):
    up_to = talk("My cat is called Mia. She was born on 3 May 2020.")
    digest.fold(db, session, up_to, NOON)
    asked = []

    def ask(question):
        asked.append(question)
        yield "The person has a cat, "
        yield "Mia. " + "More. " * 200

    made = digest.ask_model(db, session, 4000, ask)
    with db.write():
        digest.save(db, session, made, NOON)
    assert "person: My cat is called Mia. She was born on 3 May 2020." in asked[0]
    assert made.text.startswith("The person has a cat, Mia. More.")
    assert len(made.text.split()) <= digest.WORDS
    assert digest.rolling(db, session) == made
    assert (made.details, made.method) == ("born on 3 May 2020", "model")


def test_words_of_the_model_that_come_too_late_are_dropped(db, session, talk):
    digest.fold(db, session, talk("One."), NOON)
    late = digest.ask_model(db, session, 4000, lambda question: iter(["Late."]))
    newer = digest.fold(db, session, talk("Two."), NOON)
    with db.write():
        digest.save(db, session, late, NOON)
    assert digest.rolling(db, session) == newer


def test_a_model_that_says_nothing_leaves_the_extract(db, session, talk):
    digest.fold(db, session, talk("One."), NOON)
    assert digest.ask_model(db, session, 4000, lambda question: iter(["  "])) is None
    assert digest.ask_model(db, sessions.start(db, HERE, NOON), 4000, lambda question: iter(["x"])) is None


def test_it_is_made_from_the_transcript_each_time_and_never_from_itself(db, session, talk):
    digest.fold(db, session, talk("My cat is called Mia."), NOON)
    db.execute("update rolling set text = 'The cat is a dog.'")
    made = digest.fold(db, session, talk("My dog is called Rex."), NOON)
    assert "Mia" in made.text
    assert "Rex" in made.text
    assert "The cat is a dog" not in made.text


def test_erased_it_is_made_anew_when_the_window_is_folded_again(db, session, talk):
    up_to = talk("My cat is called Mia.")
    made = digest.fold(db, session, up_to, NOON)
    with db.write():
        digest.erase(db, [session])
    assert digest.rolling(db, session) is None
    assert digest.fold(db, session, up_to, NOON) == made
    assert len(jobs.listing(db, 9)) == 1
