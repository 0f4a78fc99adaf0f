from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent_cli import clock
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.messages import Message, Part
from agent_cli.store import jobs
from agent_cli.text import sentences
from tests.conftest import HERE, NOON, empty
from tests.tables import for_each, listed
from tests.turns import close_with, summarise

SEVEN = "One. Two! Three? Four. Five… Six. Seven."


def asking(*pieces):
    asked = []

    def ask(question):
        asked.append(question)
        yield from pieces

    return ask, asked


def say(db, session, words, role="user", now=NOON):
    if role == "user":
        return log.add_user_message(db, session, HERE, [Part(words, "typed")], now)
    id = log.open_reply(db, session, HERE, "m", now)
    return log.close_reply(db, id, Message("assistant", words), "stop", log.Usage(), now)


@for_each("size", [1, 2, 5, 9, 100])
def test_a_summary_streams_at_most_five_sentences_and_asks_for_no_more(size):
    left = []

    def ask(question):
        for start in range(0, len(SEVEN), size):
            yield SEVEN[start : start + size]
        left.append("all was read")

    assert "".join(summaries.stream("…", ask)).rstrip() == "One. Two! Three? Four. Five…"
    assert left == []


def test_the_fifth_sentence_is_whole_however_the_pieces_fall_and_the_question_holds_the_transcript():
    ask, asked = asking("One.\nTwo.  Three. Four. Fi", "ve. Six.")
    assert "".join(summaries.stream("person: {braces} and %s", ask)) == "One.\nTwo.  Three. Four. Five."
    assert "<conversation>\nperson: {braces} and %s\n</conversation>" in asked[0]


@given(some.text(some.sampled_from("aB. \n!。"), max_size=60), some.integers(1, 9))
def test_what_streams_is_how_the_words_begin(words, size):
    ask, _ = asking(*(words[start : start + size] for start in range(0, len(words), size)))
    shown = "".join(summaries.stream("…", ask))
    assert words.startswith(shown)
    assert sentences(shown) == sentences(words)[:5]


def test_without_a_model_the_sentences_that_say_most_are_taken_in_their_order():
    said = listed("""person: Hi. | assistant: How can I help?
        person: The trip to Trogir begins on 12 May. The trip needs a car.
        assistant: A car for the trip is booked. Anything else? | person: The trip ends in Split. Thank you.
        assistant: You are welcome.""")
    (made,) = summaries.stream("\n".join(said), None)
    assert made == (
        "The trip to Trogir begins on 12 May. The trip needs a car. The assistant answered: “A car "
        "for the trip is booked.” “Anything else?” The trip ends in Split."
    )


def test_an_extract_is_in_the_words_of_the_person_without_the_request_to_remember():
    said = "person: Remember that I live in Graz. What can I bake?\nassistant: Bread.\nBob: Me too\nperson: Thanks."
    assert summaries.extract(said) == ("I live in Graz. What can I bake? The assistant answered: “Bread.” Bob: Me too.")


def test_small_talk_is_extracted_where_nothing_else_was_said_and_nothing_where_nothing_was():
    assert summaries.extract("person: Hello.\nassistant: Hi.") == "Hello. The assistant answered: “Hi.”"
    assert list(summaries.stream("", None)) == [""]


def test_a_transcript_has_what_was_said_a_line_each(db, session):
    say(db, session, "Hello\n  there")
    say(db, session, "", "assistant")
    say(db, session, "Hi.", "assistant")
    assert digest.transcript(log.history(db, session), 1000) == "person: Hello there\nassistant: Hi."


def test_of_long_messages_the_middle_is_left_out_first(db, session):
    say(db, session, "begin " + "word " * 500 + "end")
    say(db, session, "Yes.", "assistant")
    words = digest.transcript(log.history(db, session), 300)
    assert words.startswith("person: begin word")
    assert words.endswith("word end\nassistant: Yes.")
    assert "word … " in words


@settings(max_examples=50)
@given(some.lists(some.tuples(some.integers(0, 300), some.integers(0, 60)), max_size=30), some.integers(100, 3000))
def test_a_transcript_is_never_longer_than_told_and_has_the_end(said, characters):
    db = empty()
    session = sessions.start(db, HERE, NOON)
    for number, (length, name) in enumerate(said):
        with db.write():
            message = log.ImportedMessage(str(number), NOON, "user", "x" * length, "N" * name)
            log.append_imported(db, session, HERE, [message])
    words = digest.transcript(log.history(db, session), characters)
    db.close()
    assert len(words) <= characters
    spoken = [(length, name) for length, name in said if length]
    assert len(words.splitlines()) <= len(spoken)
    assert bool(words) == bool(spoken)


def test_a_session_has_one_summary_the_last_and_of_five_sentences(db, session):
    summarise(db, session, "Old.", "extract")
    summarise(db, session, SEVEN)
    at = "2026-01-02T12:00:00.000Z"
    assert summaries.of_session(db, session) == summaries.Summary(
        1, session, "session", "", "One. Two! Three? Four. Five…", "", "model", at, 0, at, 0, "m"
    )
    assert db.rows("select owner, place, model from summary") == [("person", HERE.place, "m")]


@pytest.mark.parametrize("words", ["", " \n"])
def test_an_empty_summary_does_not_replace_one(db, session, words):
    summarise(db, session, "Old.", "extract")
    index.refresh(db)
    summarise(db, session, words)
    assert summaries.of_session(db, session).text == "Old."
    assert [hit.handle for hit in recall.find(db, "old", Filter("person"), NOON).hits] == ["y1"]


def test_the_newest_of_conversations_here_are_carried_over(db):
    def past(number, scope=HERE, kind="chat"):
        id = sessions.start(db, scope, NOON + timedelta(hours=number), kind)
        summarise(db, id, f"Summary {number}.")
        return id

    for number in range(7):
        past(number)
    past(7, Scope("person", "/elsewhere"))
    past(8, Scope("somebody else", HERE.place))
    past(9, kind="ask")
    sessions.change(db, past(10), hidden_at=clock.utc(NOON))
    mine = past(11)
    recent = summaries.recent(db, HERE.owner, HERE.place, 5, besides=[mine])
    assert [summary.text for summary in recent] == [f"Summary {number}." for number in range(2, 7)]


def test_only_closed_sessions_summarised_without_a_model_are_done_again(db):
    for words, method in (("a", "extract"), ("b", "model"), ("c", "extract")):
        id = sessions.start(db, HERE, NOON)
        say(db, id, words)
        close_with(db, id, f"{words}.", method)
    sessions.reopen(db, 3, "person", NOON)
    period_summaries.queue_extracted(db, NOON)
    assert [row["subject"] for row in jobs.listing(db, 9) if row["kind"] == summaries.JOB] == ["s1"]


def test_each_sentence_of_a_summary_names_the_messages_it_comes_from(db, session):
    say(db, session, "My sister Lea moves to Linz in June.")
    say(db, session, "Lovely! Does she need help?", "assistant")
    say(db, session, "She needs a van, and the boiler at home leaks too.")
    summarise(db, session, "Lea moves to Linz. The boiler leaks. All went well.")
    told = summaries.sources(db, 1)
    assert {n: [each.handle for each in found] for n, found in told.items()} == {1: ["m1"], 2: ["m3"]}


def test_what_a_summary_loses_stands_beside_it_word_for_word_and_is_found(db, session):
    say(db, session, "The NAS answers at 192.168.1.20, its backups lie in /srv/backup.")
    summarise(db, session, "They told where the NAS is.")
    assert summaries.of_session(db, session).details == "NAS answers at 192.168.1.20; backups lie in /srv/backup"
    index.refresh(db)
    assert recall.find(db, "/srv/backup", Filter("person", ("summary",)), NOON).hits[0].handle == "y1"


def test_a_sentence_whose_messages_are_gone_stays_when_the_summary_is_made_anew(db, session):
    first = say(db, session, "My sister Lea moves to Linz in June.")
    summarise(db, session, "Lea moves to Linz.")
    with db.write():
        log.erase(db, [first])
    say(db, session, "The boiler leaks.")
    summarise(db, session, "The boiler leaks.")
    assert summaries.of_session(db, session).text == "Lea moves to Linz. The boiler leaks."


def test_a_summary_of_signs_or_of_one_sentence_again_and_again_is_refused():
    again = "I am not afraid of the future. " * 4
    assert [summaries.sensible(words) for words in (again, "⟦ 💡 ❁ 💡 ⟧ a", "💡")] == ["", "", ""]
    whole = "The person lives in Graz. They like tea."
    assert summaries.sensible(whole) == whole
