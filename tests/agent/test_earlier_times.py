"""What an opening tells of earlier times: conversations, the week and the month, at the price of five summaries."""

from datetime import date, timedelta

import pytest

from agent_cli.agent import earlier_times, estimate
from agent_cli.agent.earlier_times import Reach
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.scope import CALLER_PLACE, PERSON, Scope, carried_place
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary
from agent_cli.messages import Message, Part
from tests import years
from tests.conftest import HERE

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


def here(db, now=NOW, place=HERE.place):
    return earlier_times.compose(db, Reach(PERSON, place), now)


def talk(db, day, words, scope=HERE, summary="They talked."):
    now = years.at(day, 12)
    session = sessions.start(db, scope, now)
    log.add_user_message(db, session, scope, [Part(words, "typed")], now)
    reply = log.open_reply(db, session, scope, "m", now)
    log.close_reply(db, reply, Message("assistant", "Fine."), "stop", log.Usage("m"), now)
    with db.write():
        sessions.mark_closed(db, session, now)
        summaries.save_session(db, session, NewSummary(summary, "", "model", "m"), lambda: now)
    return session


def of_five(db, place=HERE.place):
    """The tokens of the summaries of the five latest conversations, as they were carried over before."""
    found = summaries.recent(db, PERSON, place, 5)
    return sum(
        estimate.tokens(
            f"- {earlier_times.day_of(each.started_at, each.utc_offset)} (s{each.session}): {each.text}"
            f" Word for word: {each.details}\n"
        )
        for each in found
    )


def test_after_ten_weeks_a_start_carries_the_month_the_week_and_two_conversations(lived):
    lines = here(lived)

    assert starts(lines)[0] == f"- February 2026 ({summaries.of_period(lived, PERSON, '2026-02').handle})"
    assert starts(lines)[-2:] == ["- 18 March 2026 (s83)", "- 19 March 2026 (s84)"]
    assert [start[:15] for start in starts(lines)[1:-2]] == ["- 16 March 2026", "- 17 March 2026"]
    assert {each.split("(")[1][0] for each in starts(lines)[1:-2]} == {"y"}
    assert sum(estimate.tokens(f"{line}\n") for line in lines) <= of_five(lived)


def test_at_the_beginning_of_a_week_the_week_before_is_carried(lived):
    years.live(lived, date(2026, 3, 20), years.at(date(2026, 3, 23), 18))
    assert "- week from 16 March 2026" in " ".join(starts(here(lived, years.at(date(2026, 3, 23), 18))))


def test_long_after_the_last_conversation_its_weeks_are_carried(lived):
    years.live(lived, date(2026, 3, 20), years.at(date(2026, 3, 30), 9))
    lines = starts(here(lived, years.at(date(2026, 6, 10), 9)))
    assert [line.split(" (")[0] for line in lines] == [
        "- week from 16 March 2026",
        "- week from 23 March 2026",
        "- 28 March 2026",
        "- 29 March 2026",
    ]


@pytest.mark.parametrize("count", range(1, 7))
def test_a_start_never_costs_more_than_five_summaries(db, count):
    for number in range(count):
        words = "He planted a tree in the garden. " * (1 + 3 * number)
        talk(db, TODAY - timedelta(days=count - number), f"about tree {number}", summary=words.strip())
    lines = here(db)
    assert starts(lines)[-1].endswith(f"(s{count})")
    assert sum(estimate.tokens(f"{line}\n") for line in lines) <= of_five(db)


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
    assert lines[0].split("(")[0] in ("- 28 February 2026 ", "- week from 23 February 2026 ", "- 27 February 2026 ")
    assert "- 17 March 2026 (s82)" in lines  # the conversation from here, not the summary of the day
    assert "- 16 March 2026 (y" in " ".join(lines)


def test_elsewhere_nothing_of_here_is_carried_unless_all_is(lived):
    assert here(lived, place=THERE.place) == ()
    assert starts(here(lived, place=carried_place(THERE, everywhere=True))) == starts(here(lived))
    assert carried_place(THERE, everywhere=False) == THERE.place


def test_a_caller_carries_its_own_alone_and_nobody_carries_what_is_a_callers(lived):
    caller = Scope(PERSON, f"{CALLER_PLACE}bot")
    assert carried_place(caller, everywhere=True) == caller.place
    before = here(lived, place=None)
    talk(lived, TODAY, "what the bot said", caller)
    told = here(lived, place=None)
    assert [line for line in starts(told) if "(s" in line] == [line for line in starts(before) if "(s" in line]
    assert earlier_times.compose(lived, Reach("caller:bot", None), NOW) == ()


def test_what_was_hidden_is_not_carried_by_the_summary_of_its_month(lived):
    hidden = sessions.on_day(lived, PERSON, HERE.place, date(2026, 2, 11), [])[0]
    assert starts(here(lived))[0].startswith("- February 2026 (y")
    sessions.hide(lived, hidden, NOW)
    month = periods.parse("2026-02")
    assert sessions.any_not_carried(lived, PERSON, HERE.place, month.first, month.end)
    assert not any(start.startswith("- February 2026") for start in starts(here(lived)))
