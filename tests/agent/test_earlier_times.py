"""What an opening tells of earlier times: the latest conversations, and the last week, month, quarter and year."""

from datetime import date, timedelta

import pytest

from agent_cli import clock
from agent_cli.agent import carry_over
from agent_cli.memory.conversations import sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.scope import CALLER_PLACE, PERSON, Scope, carried_place
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary
from tests import years
from tests.conftest import HERE
from tests.recalling import reply, say

FIRST, TODAY = date(2026, 1, 5), date(2026, 3, 19)  # a Monday, and a Thursday ten weeks later
NOW = years.at(TODAY, 18)
THERE = Scope(PERSON, "/elsewhere")


@pytest.fixture
def lived(db):
    """A conversation a day for ten weeks, and its summaries; on the last day, only those of this week are missing."""
    years.live(db, FIRST, NOW)
    return db


def starts(lines):
    return [line.partition("): ")[0] + ")" for line in lines]


def here(db, now=NOW, scope=HERE, everywhere=False):
    return carry_over.earlier_times(db, scope, now, everywhere=everywhere)


def talk(db, day, words, scope=HERE, summary="They talked."):
    now = years.at(day, 12)
    session = sessions.start(db, scope, now)
    say(db, session, words, now, scope)
    reply(db, session, "Fine.", now, scope=scope)
    with db.write():
        sessions.change(db, session, closed_at=clock.utc(now), holder=None)
        summaries.save_session(db, session, NewSummary(summary, "", "model", "m"), lambda: now)
    return session


def grains(lines):
    return [start.partition(" (")[0] for start in starts(lines) if "(y" in start]


def test_after_ten_weeks_a_start_carries_the_month_the_week_and_five_conversations(lived):
    lines = here(lived)
    assert [start[-5:] for start in starts(lines)[-5:]] == ["(s79)", "(s81)", "(s82)", "(s83)", "(s84)"]
    assert grains(lines) == ["- February 2026", "- week from 09 March 2026"]


def test_long_after_the_last_conversation_each_grain_is_told_in_whole_sentences(lived):
    """Also where retention has removed what the longer periods were made of."""
    years.live(lived, date(2026, 3, 20), years.at(date(2026, 4, 1), 9))
    for key in ("2026", "2026-Q1"):
        made = NewSummary(" ".join([f"The whole of {key} went by with oars and sails."] * 20), "", "model", "m")
        with lived.write():
            summaries.save_period(lived, PERSON, periods.parse(key), made, "2026-03-29T12:00:00.000Z", lambda: NOW)
    lines = here(lived, years.at(date(2027, 8, 1), 9))
    expected = ["- 2026", "- Q1 2026", "- March 2026", "- week from 23 March 2026"]
    assert grains(lines) == expected
    assert len(lines) == len(expected) + 5
    assert {line[-1] for line in lines} <= set(".!?") | {line[-1] for line in lines if "Word for word" in line}
    assert all("…" not in line and len(line) < 420 for line in lines[: len(expected)])
    with lived.write():
        found = [
            id for (id,) in lived.rows("select id from summary where grain in ('session', 'day') and at < '2026-03-29'")
        ]
        summaries.erase(lived, found)
    assert grains(here(lived, years.at(date(2027, 8, 1), 9))) == expected


def test_the_five_latest_of_substance_are_carried_with_those_of_this_folder_first(db):
    scopes = [HERE, THERE, THERE, HERE, THERE, THERE, THERE]
    for number, scope in enumerate(scopes, 1):
        talk(db, TODAY - timedelta(days=20 - number), f"about tree {number}", scope)
    talk(db, TODAY, "hello")
    lines = here(db, everywhere=True)
    assert [start[-4:] for start in starts(lines)[-5:]] == ["(s5)", "(s6)", "(s7)", "(s1)", "(s4)"]
    lines = here(db, NOW, Scope(PERSON, "/new"), everywhere=True)
    assert [start[-4:] for start in starts(lines)[-5:]] == ["(s3)", "(s4)", "(s5)", "(s6)", "(s7)"]


@pytest.mark.parametrize("words", ["hello", "Hi there!", "thanks a lot", "Guten Morgen", "vielen Dank"])
def test_small_talk_takes_no_place_among_the_latest(db, words):
    for number, said in enumerate(("my boat is red", "my cat is called Mia", words, words)):
        talk(db, TODAY - timedelta(days=9 - number), said, summary=f"Of {said}.")
    assert starts(here(db))[-2:] == ["- 10 March 2026 (s1)", "- 11 March 2026 (s2)"]


def test_what_no_model_summarised_is_carried_as_the_words_of_the_person(db):
    session = talk(db, FIRST, "I live in Graz.")
    with db.write():
        summaries.save_session(db, session, NewSummary("I live in Graz.", "", summaries.EXTRACT, ""), lambda: NOW)
    assert here(db) == ("- 05 January 2026 (s1): in the person's words: I live in Graz.",)


def test_a_period_with_something_said_elsewhere_is_told_by_its_parts_from_here(lived):
    talk(lived, date(2026, 2, 11), "the lawsuit in Vienna", THERE)
    talk(lived, date(2026, 3, 17), "the lawsuit goes on", THERE)
    lines = starts(here(lived))
    assert "(y" not in "".join(line for line in lines if line[2:17] == "February 2026 (")
    assert lines[0].split("(")[0] in ("- 24 February 2026 ", "- week from 23 February 2026 ")
    assert "- 17 March 2026 (s82)" in lines  # the conversation from here, not the summary of the day


def test_elsewhere_nothing_of_here_is_carried_unless_all_is(lived):
    assert here(lived, NOW, THERE) == ()
    assert starts(here(lived, NOW, THERE, everywhere=True)) == starts(here(lived))
    assert carried_place(THERE, everywhere=False) == THERE.place


def test_a_caller_carries_its_own_alone_and_nobody_carries_what_is_a_callers(lived):
    caller = Scope(PERSON, f"{CALLER_PLACE}bot")
    assert carried_place(caller, everywhere=True) == caller.place
    before = here(lived, everywhere=True)
    talk(lived, TODAY, "what the bot said", caller)
    told = here(lived, everywhere=True)
    assert [line for line in starts(told) if "(s" in line] == [line for line in starts(before) if "(s" in line]
    assert here(lived, NOW, Scope("caller:bot", HERE.place), everywhere=True) == ()


def test_what_was_hidden_is_not_carried_by_the_summary_of_its_month(lived):
    hidden = lived.value("select id from session where last_at glob '2026-02-11*'")
    assert starts(here(lived))[0].startswith("- February 2026 (y")
    sessions.change(lived, hidden, hidden_at=clock.utc(NOW))
    month = periods.parse("2026-02")
    assert sessions.any_not_carried(lived, PERSON, HERE.place, month.first, month.end)
    assert not any(start.startswith("- February 2026") for start in starts(here(lived)))
