"""What is taken back counts no more, wherever it stood, and stays in the log."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_cli.agent import carry_over
from agent_cli.errors import UsageError
from agent_cli.memory import search_sources
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import forget, selection
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.lifecycle import closing, retention, rewind
from agent_cli.memory.planner import tasks
from agent_cli.memory.reports import records
from agent_cli.memory.search import index, recall, recall_log
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Message, Part
from tests import forgetting
from tests.conftest import HERE, NOON, memory_of, noon
from tests.turns import summarise


def exchange(db, session, question, answer):
    """A question and its answer; the number of the question."""
    asked = log.add_user_message(db, session, HERE, [Part(question, "typed")], NOON)
    reply = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, reply, Message("assistant", answer), "stop", log.Usage("m", 10, 5), NOON)
    return asked


@pytest.fixture
def last(db, session):
    """The second of two exchanges."""
    exchange(db, session, "My router is a Zyxel.", "Noted.")
    return exchange(db, session, "The printer is called Gutenberg.", "A fine name.")


def take_back(db, session, message):
    return rewind.take_back(db, session, HERE.owner, message, noon)


def said(db, session):
    return [entry.message.text for entry in log.history(db, session)]


def found(db, words):
    index.refresh_all(db)
    return [hit.handle for hit in recall.find(db, words, Filter(HERE.owner), NOON, 5).hits if hit.kind == "message"]


def test_it_stays_in_the_log_and_is_said_no_more(db, session, last):
    assert take_back(db, session, last) == [3, 4]
    assert said(db, session) == ["My router is a Zyxel.", "Noted."]
    assert (log.count(db, session), log.count(db, session, spoken=True)) == (2, 2)
    assert db.value("select count(*) from message where text like '%Gutenberg%'") == 1
    assert log.nth_last(db, session, "user", 1).message.text == "My router is a Zyxel."
    assert take_back(db, session, last) == [], "twice is once"
    assert take_back(db, session, 1) == [1, 2]
    assert said(db, session) == []


def test_it_is_found_no_more_not_even_by_its_neighbours(db, session, last):
    assert found(db, "printer Gutenberg")[:2] == ["m3", "m4"]
    take_back(db, session, last)
    assert db.value("select count(*) from passage where kind = 'm' and row >= 3") == 0, "at once"
    assert {"m3", "m4"}.isdisjoint(found(db, "printer Gutenberg"))
    for _ in index.rebuild(db):
        pass
    assert {"m3", "m4"}.isdisjoint(found(db, "printer Gutenberg"))
    assert found(db, "router Zyxel") == ["m1", "m2"]


def test_a_session_of_which_all_is_taken_back_is_in_no_list_and_is_no_latest(db, session):
    asked = exchange(db, session, "The printer is called Gutenberg.", "A fine name.")
    take_back(db, session, asked)
    assert sessions.listing(db, HERE.owner, 5) == []
    assert sessions.latest(db, HERE.owner) is None
    assert sessions.all_of(db, HERE.owner) == []
    with pytest.raises(UsageError):
        recall_log.message_id(db, HERE.owner)
    assert carry_over.compose(db, HERE, NOON)[0].text == ""
    closing.close(db, session, noon)
    assert summaries.of_session(db, session) is None


def test_a_session_is_named_after_and_offered_by_what_still_counts(db, session):
    asked = exchange(db, session, "The printer is called Gutenberg.", "A fine name.")
    assert search_sources.handles(db, HERE.owner, ["session"], "gut") == [("s1", "The printer is called Gutenberg.")]
    take_back(db, session, asked)
    assert search_sources.handles(db, HERE.owner, ["session"], "s") == []
    exchange(db, session, "My router is a Zyxel.", "Noted.")
    assert search_sources.handles(db, HERE.owner, ["session"], "s") == [("s1", "My router is a Zyxel.")]
    assert [(row["title"], row["turns"]) for row in sessions.listing(db, HERE.owner, 5)] == [
        ("My router is a Zyxel.", 1)
    ]
    assert sessions.resolve(db, "Zyxel", HERE.owner).id == session
    assert "Gutenberg" not in transfer.to_markdown(db, sessions.get(db, session, HERE.owner))
    assert "Gutenberg" not in str(transfer.export_session(db, sessions.get(db, session, HERE.owner)))


def test_what_was_folded_away_with_it_is_folded_anew(db, session, last):
    digest.fold(db, session, 4, NOON)
    assert "Gutenberg" in digest.rolling(db, session).text
    take_back(db, session, last)
    assert digest.rolling(db, session) is None
    assert "Gutenberg" not in digest.fold(db, session, 2, NOON).text
    exchange(db, session, "Now what?", "Nothing.")
    take_back(db, session, 5)
    assert digest.rolling(db, session).up_to == 2, "what was folded before stays"


def test_a_summary_that_told_of_it_goes_and_what_was_made_of_that_is_made_again(db, session, last):
    def material():
        return period_summaries.collect(db, HERE.owner, periods.parse("2026-01-02"), 1000)

    told = "The printer is called Gutenberg."
    summarise(db, session, told)
    with db.write():
        made = period_summaries.compose(material(), told, "model", "m")
        period_summaries.save(db, material(), made, noon)
    assert summaries.of_period(db, HERE.owner, "2026-01-02").text == told
    take_back(db, session, last)
    assert summaries.of_session(db, session) is None
    assert summaries.of_period(db, HERE.owner, "2026-01-02") is None
    assert db.rows("select subject from job where kind = 'grain' and subject = '2026-01-02'") == [("2026-01-02",)]
    assert ["Gutenberg" in item.text for item in material().items] == [False]
    closing.close(db, session, noon)
    assert "Gutenberg" not in summaries.of_session(db, session).text
    sessions.reopen(db, session, HERE.owner, NOON)
    take_back(db, session, 1)
    assert (material().items, material().orphaned) == ((), ()), "of all of a day nothing is kept"


def test_sessions_that_were_told_of_it_are_told_anew(db, session, last):
    later = sessions.start(db, HERE, NOON)
    told, _ = carry_over.compose(db, HERE, NOON, later)
    sessions.change(db, later, opening=told.text)
    assert "Gutenberg" in told.text
    take_back(db, session, last)
    assert sessions.get(db, later, HERE.owner).opening is None
    assert "Gutenberg" not in carry_over.compose(db, HERE, NOON, later)[0].text


def test_facts_that_wait_are_withdrawn_and_accepted_ones_stay(db, session, last):
    claim = Claim("The printer is called Gutenberg", "model", quote="The printer is called Gutenberg", message=last)
    waits = adoption.propose(memory_of(db), claim)
    kept = adoption.add(memory_of(db), replace(claim, statement="I own a Heidelberg press", origin="typed")).fact
    also = adoption.propose(memory_of(db), replace(claim, statement="Paper is bought at Hofer's"))
    facts.add_source(db, also, 1, "My router", NOON)
    take_back(db, session, last)
    states = [facts.get(db, each.id, HERE.owner).state for each in (waits, kept, also)]
    assert states == ["expired", "accepted", "pending"]
    assert [version.change for version in facts.history(db, waits.id)] == ["proposed", "withdrawn"]
    assert adoption.propose(memory_of(db), replace(claim, message=1)) is not None, "said anew it may be proposed"


def test_reminders_that_a_model_made_are_hidden_and_those_made_by_hand_stay(db, session, last):
    asked, done = (tasks.add(db, HERE, f"oil it {n}", None, noon, origin="model", message=last) for n in range(2))
    tasks.complete(db, done, noon)
    tasks.add(db, HERE, "buy ink", None, noon, session=session)
    gone = take_back(db, session, last)
    assert [each.id for each in rewind.hidden_tasks(db, HERE.owner, gone)] == [asked.id]
    assert [each.text for each in tasks.listing(db, HERE.owner)] == ["buy ink"]
    assert [each.text for each in tasks.listing(db, HERE.owner, "done")] == ["oil it 1"]


def test_reminders_come_back_with_what_was_replaced_in_vain_but_for_what_the_person_has_hidden(db, session, last):
    kept, away = (tasks.add(db, HERE, words, None, noon, origin="model", message=last) for words in ("oil", "paper"))
    tasks.hide(db, away, lambda: NOON - timedelta(minutes=1))
    rewind.replace(db, session, HERE, [Part("How is it called?", "typed")], last, noon)
    assert tasks.listing(db, HERE.owner) == []
    assert closing.recover(db, session, HERE, noon) == f"m{last}"
    assert [each.id for each in tasks.listing(db, HERE.owner)] == [kept.id]


def test_skills_proposed_since_are_withdrawn_and_others_stay(db, session, last):
    other = sessions.start(db, HERE, NOON)
    skill = "---\nname: {0}\ndescription: How to do {0}.\n---\n\n1. Do it.\n"
    earlier = NOON - timedelta(minutes=1)
    made = [("before", earlier, session), ("since", NOON, session), ("kept", NOON, session), ("elsewhere", NOON, other)]
    for name, at, of in made:
        skills.propose(memory_of(db, lambda at=at: at), skill.format(name), session=of)
    skills.accept(memory_of(db), skills.get(db, 3, HERE.owner))
    take_back(db, session, last)
    states = [(each.name, each.state) for each in skills.many(db, [1, 2, 3, 4], HERE.owner)]
    assert states == [("before", "pending"), ("since", "expired"), ("kept", "accepted"), ("elsewhere", "pending")]
    assert skills.propose(memory_of(db), skill.format("since")), "learned anew it may be proposed"


def replace_last(db, session, last, answer="", finish="stop", model="m"):
    """Ask the last question anew; the number of the message that takes its place."""
    asked = rewind.replace(db, session, HERE, [Part("Which printer?", "typed")], last, noon)
    if answer:
        reply = log.open_reply(db, session, HERE, model, NOON)
        log.close_reply(db, reply, Message("assistant", answer), finish, log.Usage(model), NOON)
    return asked


def test_what_is_said_in_its_place_takes_it_back_and_gives_it_back_when_nothing_came_of_it(db, session, last):
    before = said(db, session)
    for answer, finish in (("", ""), ("Guten", "interrupted"), ("Guten", None)):
        replace_last(db, session, last, answer, finish)
        assert said(db, session)[:3] == [*before[:2], "Which printer?"]
        closing.recover(db, session, HERE, noon)
        assert said(db, session) == before
    assert found(db, "printer Gutenberg")[:2] == ["m3", "m4"]
    replace_last(db, session, last, "Gutenberg.")
    closing.recover(db, session, HERE, noon)
    assert said(db, session) == [*before[:2], "Which printer?", "Gutenberg."]


def test_what_was_taken_back_for_good_is_not_given_back(db, session, last):
    take_back(db, session, last)
    log.add_user_message(db, session, HERE, [Part("Which printer?", "typed")], NOON)
    closing.recover(db, session, HERE, noon)
    assert said(db, session) == ["My router is a Zyxel.", "Noted.", "Which printer?"]


def test_what_waited_and_was_jotted_is_given_back_too(db, session, last):
    later = lambda: NOON + timedelta(minutes=1)  # noqa: E731
    claim = Claim("The printer is called Gutenberg", "model", quote="The printer is called Gutenberg", message=last)
    waits = adoption.propose(memory_of(db), claim)
    log.add_note(db, session, "the printer", NOON)
    asked = rewind.replace(db, session, HERE, [Part("Which printer?", "typed")], last, later)
    assert log.notes(db, session) == []
    anew = adoption.propose(memory_of(db), replace(claim, message=asked))
    closing.recover(db, session, HERE, later)
    assert [facts.get(db, each.id, HERE.owner).state for each in (waits, anew)] == ["pending", "expired"]
    assert [version.change for version in facts.history(db, waits.id)] == ["proposed", "withdrawn", "proposed again"]
    assert log.notes(db, session) == ["the printer"]


def test_tokens_are_still_counted_and_forgetting_still_reaches_it(db, session, last):
    take_back(db, session, last)
    [row] = records.token_usage(db, HERE.owner, "session", 5)
    assert (row["answers"], row["tokens_in"]) == (2, 20)
    assert 3 in selection.select_by_topic(db, HERE.owner, "Gutenberg").rows["message"]
    forget.erase(db, forgetting.planned(db, "m3"), noon)
    assert db.value("select count(*) from message where text like '%Gutenberg%'") == 0
    assert said(db, session) == ["My router is a Zyxel.", "Noted."]


def test_a_crash_leaves_no_answer_open_in_what_was_taken_back(db, session, last):
    log.open_reply(db, session, HERE, "m", NOON)
    take_back(db, session, last)
    log.repair(db, session, HERE, NOON)
    assert said(db, session) == ["My router is a Zyxel.", "Noted."]


def test_an_older_export_does_not_bring_it_back(db, session, last):
    rows = [json.dumps(transfer.export_session(db, sessions.get(db, session, HERE.owner)))]
    take_back(db, session, last)
    transfer.import_lines(db, HERE, rows, "agent", noon, print)
    assert said(db, session) == ["My router is a Zyxel.", "Noted."]


def test_retention_takes_a_session_of_which_all_was_taken_back(db, session):
    take_back(db, session, exchange(db, session, "The printer is called Gutenberg.", "A fine name."))
    closing.close(db, session, noon)
    db.execute("update job set state = 'done'")
    [item] = retention.plan(db, retention.policy({"working": "1d"}), NOON + timedelta(days=3))
    assert (item.count, item.kept_because) == (2, "")
