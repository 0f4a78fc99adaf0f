"""What is forgotten leaves the summaries of its day, week, month, quarter and year."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_cli.agent.jobs import worker
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption
from agent_cli.memory.forgetting import erasure_receipt
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.search import index
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store import jobs
from tests.agent.jobs.test_worker import job_context
from tests.conftest import HERE, NOON, memory_of, noon
from tests.forgetting import about, keep_period, planned, traces
from tests.recalling import handles, reply, say
from tests.turns import close_with, summarise

SECRET = "Xk7Qv2Rm9Tz4Wb8Yc3Hd5Jf6"
LATER = NOON + timedelta(days=400)


def message(handle):
    return summaries.Source("message", int(handle[1:]))


def summary(id):
    return summaries.Source("summary", id)


def erase(db, *told, time=noon):
    return erasure_receipt.erase(db, planned(db, *told), time)


def told(db):
    """What the summaries of periods say."""
    return dict(db.rows("select period, text from summary where period <> '' order by id"))


def queued(db):
    """The subjects of the jobs that wait, in the order in which they will run."""
    rows = db.rows("select kind, subject from job where state = 'ready' and kind <> 'forget' order by due_at, id")
    return [subject for _, subject in rows]


def take(db, *found):
    """As retention would."""
    with db.write():
        for source in found:
            if source.kind == "message":
                index.erase(db, "m", [source.row])
                log.erase(db, [source.row])
            else:
                summaries.erase(db, [source.row])


def ladder(db, source, words):
    """The summaries of the day of a message and of all that holds it, each made from the one before."""
    for grain in periods.UNITS:
        source = summary(keep_period(db, grain, words, "", source))


def test_a_message_leaves_every_grain_and_each_is_made_again_the_finest_first(db, session):
    gone = say(db, session, "My piano is out of tune.")
    say(db, session, "My cat is called Mia.")
    close_with(db, session, "They spoke of a piano and a cat.")
    ladder(db, summary(1), "They own a piano.")
    keep_period(db, "day", "They baked.", "", at=NOON - timedelta(days=1))
    plan = planned(db, gone)
    assert (
        plan.format_lines()[-1] == "s1, 2026-01-02, 2026-W01, 2026-01, 2026-Q1, 2026: summarised anew from what is left"
    )
    assert plan.counts["summaries"] == 6
    erasure_receipt.erase(db, plan, lambda: LATER)
    assert told(db) == {"2026-01-01": "They baked."}
    assert queued(db) == ["2026-01-02", "s1", "2026-W01", "2026-01", "2026-Q1", "2026"]
    assert db.rows("select * from summary_source where summary_id <> 7") == []


def test_a_period_that_is_not_over_is_made_again_when_it_is(db, session):
    gone = say(db, session, "My piano is out of tune.")
    keep_period(db, "month", "They own a piano.", "", message(gone))
    erase(db, gone)
    assert db.rows("select subject, due_at from job where kind = 'grain'") == [("2026-01", "2026-02-01T00:00:00.002Z")]


def test_a_sentence_whose_sources_retention_took_stays_and_nothing_else(file):
    session = sessions.start(file, HERE, NOON)
    old, gone, left = (say(file, session, words) for words in ("I sold a boat.", f"It is {SECRET}.", "I have a cat."))
    sentences = ["They sold a boat.", f"The code is {SECRET}.", "They have a cat.", "All was well."]
    id = keep_period(file, "year", " ".join(sentences), f"{SECRET}; 7 May")
    with file.write():
        for n, each in enumerate((old, gone, left), 1):
            file.execute("insert into summary_source values (?, ?, 'message', ?)", (id, n, int(each[1:])))
    index.refresh_all(file)
    take(file, message(old))
    plan = planned(file, gone)
    assert plan.format_lines()[-1] == "y1: keeps 1 sentence that could not be made again"
    assert (plan.described()["summaries_in_part"], plan.format_counts) == (["y1"], "1 message, 1 summary in part")
    receipt = erasure_receipt.erase(file, plan, noon)
    assert receipt.clean, receipt
    assert file.rows("select text, details, pinned from summary") == [("They sold a boat.", "", 0)]
    assert summaries.sources(file, id) == {1: [message(old)]}
    assert traces(file.path, SECRET) == 0
    assert handles(file, "boat") == ["y1"]
    assert handles(file, SECRET) == []
    assert queued(file) == ["2026"]
    again = summaries.orphaned_sentences(file, summaries.get(file, id, "person"))
    assert again == [("They sold a boat.", (message(old),))]


def test_what_is_left_of_a_summary_of_a_session_is_made_again(db, session):
    old = say(db, session, "I sold a boat.")
    summarise(db, session, "They sold a boat.")
    gone = say(db, session, "My piano is out of tune.")
    say(db, session, "I have a cat.")
    take(db, message(old))
    close_with(db, session, "They tune a piano.")
    assert summaries.of_session(db, session).text == "They sold a boat. They tune a piano."
    erase(db, gone)
    left = summaries.of_session(db, session)
    assert (left.text, left.method, queued(db)) == ("They sold a boat.", "extract", ["s1", "2026-01-02"])


def test_a_summary_made_from_a_forgotten_fact_is_made_again_and_that_of_its_session_stays(db, session):
    say(db, session, "We moved.")
    summarise(db, session, "They moved.")
    fact = adoption.add(memory_of(db), adoption.claim("The cat is called Mia", "typed")).fact
    day = keep_period(db, "day", "They have Mia.", "", summaries.Source("fact", fact.id))
    keep_period(db, "week", "A week with Mia.", "", summary(day))
    erase(db, fact.handle, time=lambda: LATER)
    assert (told(db), queued(db)) == ({}, ["2026-01-02", "2026-W01"])
    assert summaries.of_session(db, session).text == "They moved."


def test_a_summary_that_is_named_itself_is_not_made_again_and_what_was_made_from_it_is(db, session):
    ladder(db, message(say(db, session, "My piano is out of tune.")), "They own a piano.")
    with db.write():
        period_summaries.queue(db, "person", periods.parse("2026-01-02"), NOON)
    erase(db, "y1", time=lambda: LATER)
    assert (told(db), queued(db)) == ({}, ["2026-W01", "2026-01", "2026-Q1", "2026"])


def test_where_retention_took_a_step_the_calendar_leads_on(db, session):
    gone = say(db, session, "My piano is out of tune.")
    other = say(db, session, "I sold a boat.")
    day = keep_period(db, "day", "A piano.", "", message(gone))
    next_day = keep_period(db, "day", "A boat.", "", message(other), at=NOON + timedelta(days=1))
    id = keep_period(db, "week", "They own a piano. They sold something.", "")
    with db.write():
        db.execute_many("insert into summary_source values (?, ?, 'summary', ?)", [(id, 1, day), (id, 2, next_day)])
    take(db, summary(day), summary(next_day))
    erase(db, gone)
    assert told(db) == {"2026-W01": "They sold something."}


def test_a_topic_takes_the_sentences_that_say_it(db):
    id = keep_period(db, "year", "Anna came to stay. They sold a boat.", "Anna: 7 May", summaries.Source("summary", 99))
    erasure_receipt.erase(db, about(db, "anna"), noon)
    assert told(db) == {"2026": "They sold a boat."}
    assert summaries.get(db, id, "person").details == ""


def test_a_summary_that_is_being_made_of_what_is_forgotten_is_not_written(db, session):
    gone = say(db, session, "My piano is out of tune.")
    with db.write():
        period_summaries.queue(db, "person", periods.parse("2026-01-02"), NOON)
    job = jobs.claim(db, LATER)
    erase(db, gone)
    with pytest.raises(jobs.LeaseLost), db.write():
        jobs.finish(db, job, LATER)
    assert queued(db) == ["2026-01-02"]


def test_summaries_of_another_owner_stay(db, session):
    keep_period(db, "day", "Their day.", "", owner="caller")
    erase(db, say(db, session, "My piano is out of tune."))
    assert told(db) == {"2026-01-02": "Their day."}


def test_the_rolling_summary_of_a_window_goes_with_a_message_of_it(file):
    session = sessions.start(file, HERE, NOON)
    gone = say(file, session, f"My code is {SECRET} and I decided so.")
    reply(file, session, "Fine.")
    last = say(file, session, "I live in Graz.")
    digest.fold(file, session, int(last[1:]), NOON)
    assert SECRET in digest.rolling(file, session).text
    assert erase(file, gone).clean
    assert digest.rolling(file, session) is None
    assert traces(file.path, SECRET) == 0


def test_what_retention_took_of_a_session_that_still_stands_stays_too(db, session):
    old = sessions.start(db, HERE, NOON)
    said = say(db, old, "I sold a boat.")
    gone = say(db, session, "My piano is out of tune.")
    id = keep_period(db, "day", "They sold a boat. They own a piano.", "")
    rows = [(id, 0, old), (id, 0, session), (id, 1, old), (id, 2, session)]
    with db.write():
        db.execute_many("insert into summary_source values (?, ?, 'session', ?)", rows)
    take(db, message(said))
    erase(db, gone)
    assert told(db) == {"2026-01-02": "They sold a boat."}
    erase(db, f"s{old}")
    assert told(db) == {}


def test_what_was_made_by_jobs_up_to_the_year_is_made_again_without_it(file):
    session = sessions.start(file, HERE, NOON)
    gone = say(file, session, f"My code is {SECRET}.")
    say(file, session, "I have a cat called Mia.")
    closing.close(file, session, noon)
    later = replace(job_context(file), time=lambda: LATER)
    while worker.run_one(later):
        pass
    assert [SECRET in words for words in told(file).values()] == [True] * 5
    assert erase(file, gone, time=lambda: LATER).clean
    assert (told(file), traces(file.path, SECRET)) == ({}, 0)
    while worker.run_one(later):
        pass
    assert ["Mia" in words for words in told(file).values()] == [True] * 5
    assert traces(file.path, SECRET) == 0


def test_what_a_tool_found_of_a_summary_that_goes_is_taken_out(file):
    session, other = (sessions.start(file, HERE, NOON) for _ in range(2))
    gone = say(file, session, f"I mean {SECRET}.")
    keep_period(file, "year", f"All year they meant {SECRET}. They sold a boat.", "", message(gone))
    say(file, other, "What did I mean?")
    call = ToolCall("c1", "search", {"query": "meant"})
    log.add_tool_result(file, other, HERE, call, ToolResult(f"y1 2026: All year they meant {SECRET}."), NOON)
    assert erase(file, gone).clean
    assert traces(file.path, SECRET) == 0
    assert file.rows("select text from message where role = 'tool'") == [("(erased)",)]
