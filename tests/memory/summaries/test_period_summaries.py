"""Days, weeks, months, quarters and years, made by the worker as the clock goes on."""

import re
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.errors import ModelFailed
from agent_cli.llm.model import Cancel, Text
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.messages import Message, Part
from agent_cli.store import jobs
from tests.agent.jobs.test_worker import NO_EMBEDDER
from tests.conftest import HERE, empty, memory_of


class Clock:
    """A person's clock, set by the test."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now

    def to(self, *moment, tz=None):
        self.now = datetime(*moment, tzinfo=tz or self.now.tzinfo)


class Echo:
    """A model that repeats the lines about Mia, and keeps what it was asked."""

    name = "echo"

    def __init__(self):
        self.asked = []

    def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
        told = messages[0].content
        self.asked.append(told)
        yield Text(" ".join(re.findall(r"[^.\n:#]*Mia[^.\n]*\.", told)) or "Nothing was said.")

    @property
    def summarised(self):
        """The periods and conversations it was asked about."""
        return [re.search(r"^Summarise (?:the \w+ )?(\S+)", each)[1] for each in self.asked]


@pytest.fixture
def clock():
    return Clock(datetime(2026, 11, 20, 9, 0, tzinfo=UTC))


def job_context(db, clock, model=None):
    return JobContext(db, clock, lambda: model, NO_EMBEDDER, 10_000, Cancel())


def say(db, clock, session, words):
    log.add_user_message(db, session, HERE, [Part(words, "typed")], clock())
    reply = log.open_reply(db, session, HERE, "m", clock())
    log.close_reply(db, reply, Message("assistant", "Noted."), "stop", log.Usage("m"), clock())


def talk(db, clock, *words, kind="chat"):
    """A conversation that is over."""
    session = sessions.start(db, HERE, clock(), kind)
    for each in words:
        say(db, clock, session, each)
    end = closing.end if kind == "ask" else closing.close
    end(db, session, clock)
    return session


def work(db, clock, model=None):
    while worker.run_one(job_context(db, clock, model)):
        pass


def kept(db, key):
    return summaries.of_period(db, "person", key)


def whole(db, key):
    """The handles of all that it was made from, and None where there is none."""
    found = kept(db, key)
    return found and [each.handle for each in summaries.sources(db, found.id)[0]]


def keys(db):
    return [key for (key,) in db.rows("select period from summary where period <> '' order by period")]


def test_a_day_is_made_when_it_is_over_of_conversations_questions_and_facts(db, clock):
    talk(db, clock, "My cat Mia weighs 4 kg.")
    talk(db, clock, "Where does Mia sleep?", kind="ask")
    adoption.add(memory_of(db, clock), adoption.claim("The person has a cat, Mia.", "typed"))
    model = Echo()
    work(db, clock, model)
    assert (keys(db), len(model.asked)) == ([], 1)
    clock.to(2026, 11, 21)
    work(db, clock, model)
    day = kept(db, "2026-11-20")
    assert whole(db, "2026-11-20") == ["f1", "s1", "s2"]
    assert (day.text, day.details, day.method) == ("My cat Mia weighs 4 kg. The person has a cat, Mia.", "", "model")
    told = {n: [each.handle for each in found] for n, found in summaries.sources(db, day.id).items() if n}
    assert told == {1: ["s1"], 2: ["f1"]}
    assert "## 09:00, a conversation\nMy cat Mia weighs 4 kg." in model.asked[-1]
    assert "## single questions\nperson: Where does Mia sleep?\nassistant: Noted." in model.asked[-1]
    assert "## learned about the person\nThe person has a cat, Mia." in model.asked[-1]


def test_over_a_turn_of_the_year_each_grain_is_made_once_of_the_finer_one_below_it(db, clock):
    model = Echo()
    for n in range(0, 75, 3):  # every third day from Monday 30 November 2026, and the worker each morning
        day = datetime(2026, 11, 30, 9, 0, tzinfo=UTC) + timedelta(days=n)
        clock.now = day
        work(db, clock, model)
        talk(db, clock, f"On {day:%d %B} Mia weighed {n}00 g.")
    clock.to(2028, 1, 2)
    work(db, clock, model)

    def of(key):
        return [db.value("select period from summary where id = ?", (int(each[1:]),)) for each in whole(db, key)]

    assert of("2026-W50") == ["2026-12-09", "2026-12-12"]
    assert of("2026-W53") == ["2026-12-30", "2027-01-02"]  # torn: its days are told of in two months
    days = ["2026-12-03", "2026-12-06", "2026-12-30"]
    assert sorted(of("2026-12")) == [*days, "2026-W50", "2026-W51", "2026-W52"]
    assert sorted(of("2027-01")) == ["2027-01-02", "2027-W01", "2027-W02", "2027-W03", "2027-W04"]
    assert (of("2026-Q4"), of("2026")) == (["2026-11", "2026-12"], ["2026-Q4"])
    assert (of("2027-Q1"), of("2027")) == (["2027-01", "2027-02"], ["2027-Q1"])
    assert len(keys(db)) == len(set(keys(db)))
    asked = [each for each in model.summarised if each != "this"]
    assert sorted(asked) == keys(db)  # and nothing twice
    assert "300 g" in kept(db, "2026").text
    assert jobs.running_or_due(db, period_summaries.JOB, clock()) == {}


def test_a_source_that_changes_makes_the_chain_anew_and_nothing_else_is_asked_again(db, clock):
    model = Echo()
    session = talk(db, clock, "My cat Mia weighs 4 kg.")
    clock.to(2026, 11, 21)
    talk(db, clock, "Mia sleeps.")
    clock.to(2028, 1, 2)
    work(db, clock, model)
    model.asked.clear()
    with db.write():
        period_summaries.queue_session(db, session, clock())
    work(db, clock, model)
    assert model.asked == []
    clock.to(2028, 1, 2, 1)
    closing.close_with(db, session, summaries.NewSummary("Mia bit Rex.", "", "model", "m"), clock)
    work(db, clock, model)
    chain = ["2026-11-20", "2026-W47", "2026-11", "2026-Q4", "2026"]
    assert model.summarised == chain
    assert all("Mia bit Rex." in kept(db, key).text for key in chain)


def test_a_day_is_the_day_where_the_person_was(db, clock):
    tokyo, lima = timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))
    clock.to(2026, 11, 20, 23, 30, tz=tokyo)
    talk(db, clock, "Mia flew.")
    clock.to(2026, 11, 21, 23, 30, tz=lima)
    talk(db, clock, "Mia landed.")
    clock.to(2026, 11, 23, 1, tz=lima)
    work(db, clock, Echo())
    assert keys(db) == ["2026-11-20", "2026-11-21", "2026-W47"]
    assert (whole(db, "2026-11-20"), whole(db, "2026-11-21")) == (["s1"], ["s2"])


def test_the_day_on_which_clocks_are_set_back_has_all_of_its_twenty_five_hours(db, clock):
    vienna = ZoneInfo("Europe/Vienna")
    for utc in (datetime(2026, 10, 24, 22, 5, tzinfo=UTC), datetime(2026, 10, 25, 22, 55, tzinfo=UTC)):
        clock.now = utc.astimezone(vienna)
        talk(db, clock, "Mia slept.")
    clock.now = datetime(2026, 10, 26, 0, 0, 1, tzinfo=vienna)
    work(db, clock, Echo())
    assert whole(db, "2026-10-25") == ["s1", "s2"]


def test_a_conversation_past_midnight_is_told_in_both_days_by_what_was_said_on_each(db, clock):
    session = sessions.start(db, HERE, clock())
    clock.to(2026, 11, 20, 23, 50)
    say(db, clock, session, "Mia is ill.")
    clock.to(2026, 11, 21, 0, 10)
    say(db, clock, session, "Mia is well.")
    closing.close(db, session, clock)
    clock.to(2026, 11, 22)
    model = Echo()
    work(db, clock, model)
    first, second = [each for each in model.asked if "Summarise the day" in each]
    assert ("Mia is ill." in first, "Mia is well." in first) == (True, False)
    assert ("Mia is ill." in second, "Mia is well." in second) == (False, True)


def test_a_hidden_conversation_does_not_count_and_a_day_without_others_is_erased_with_all_above_it(db, clock):
    session = talk(db, clock, "Mia weighs 4 kg.")
    clock.to(2028, 1, 2)
    work(db, clock, Echo())
    assert keys(db) == ["2026", "2026-11", "2026-11-20", "2026-Q4", "2026-W47"]
    sessions.change(db, session, hidden_at="2026-11-20T10:00:00Z")
    with db.write():
        period_summaries.queue_session(db, session, clock())
    work(db, clock, Echo())
    assert keys(db) == []
    assert db.value("select count(*) from summary_source where sentence = 0") == 0


def test_what_was_imported_counts_and_queues_nothing_by_itself(db, clock):
    talk(db, clock, "Mia weighs 4 kg.")
    session = talk(db, clock, "Mia was born.")
    db.execute("update session set source = 'elsewhere', external_id = '1' where id = ?", (session,))
    clock.to(2026, 11, 21)
    work(db, clock, Echo())
    assert whole(db, "2026-11-20") == ["s1", "s2"]


def test_without_a_model_days_are_extracted_and_the_chain_is_made_again_when_one_answers(db, clock):
    talk(db, clock, "My cat Mia weighs 4 kg.", "She sleeps a lot.")
    clock.to(2026, 12, 1, 1)
    work(db, clock)
    assert {kept(db, key).method for key in ("2026-11-20", "2026-W47", "2026-11")} == {"extract"}
    assert kept(db, "2026-11").text.count("My cat Mia weighs 4 kg.") == 1
    model = Echo()
    clock.to(2026, 12, 1, 2)
    worker.queue_due(job_context(db, clock, model))
    work(db, clock, model)
    assert [kept(db, key).text for key in ("2026-11-20", "2026-W47", "2026-11")] == ["My cat Mia weighs 4 kg."] * 3
    assert model.summarised == ["this", "2026-11-20", "2026-W47", "2026-11"]
    worker.queue_due(job_context(db, clock, model))
    assert jobs.running_or_due(db, period_summaries.JOB, clock()) == {}


def test_what_retention_took_lives_on_in_the_summaries_made_from_it(db, clock):
    talk(db, clock, "My cat Mia weighs 4 kg.")
    clock.to(2026, 11, 21)
    talk(db, clock, "Mia sleeps on 9 cushions.")
    clock.to(2026, 11, 23, 1)
    work(db, clock, Echo())
    with db.write():
        summaries.erase(db, [kept(db, "2026-11-20").id])
        period_summaries.queue(db, "person", periods.parse("2026-W47"), clock())
    model = Echo()
    work(db, clock, model)
    assert model.asked == []  # all that is left of it is there
    clock.to(2026, 11, 23, 2)
    closing.close_with(db, 2, summaries.NewSummary("Mia woke on 9 cushions.", "9 cushions", "model", "m"), clock)
    work(db, clock, Echo())
    week = kept(db, "2026-W47")
    assert week.text == "My cat Mia weighs 4 kg. Mia woke on 9 cushions."
    assert week.details == ""  # its sentences say all


def test_messages_that_retention_took_leave_the_summary_of_their_conversation_to_the_day(db, clock):
    session = talk(db, clock, "Mia weighs 4 kg.")
    talk(db, clock, "Mia is how old?", kind="ask")
    clock.to(2026, 11, 21)
    work(db, clock, Echo())
    with db.write():
        log.erase(db, [id for (id,) in db.rows("select id from message")])
        period_summaries.queue_session(db, session, clock())
        period_summaries.queue(db, "person", periods.parse("2026-11-20"), clock())
    before = kept(db, "2026-11-20")
    model = Echo()
    work(db, clock, model)
    assert (model.asked, kept(db, "2026-11-20")) == ([], before)


def test_two_workers_make_each_once(tmp_path, clock):
    db = empty(tmp_path / "memory.db")
    for _ in range(8):
        talk(db, clock, "Mia sleeps.")
        clock.now += timedelta(days=1)
    clock.to(2027, 1, 2)
    other, model = db.another_connection(), Echo()
    more = True
    while more:  # in turns, each beginning what the other may have left
        more = worker.run_one(job_context(db, clock, model)) | worker.run_one(job_context(other, clock, model))
    assert sorted(each for each in model.summarised if each != "this") == keys(db)
    assert db.value("select count(*) from (select 1 from job where state = 'done' group by kind, subject)") == len(
        db.rows("select distinct kind, subject from job")
    )
    other.close()
    db.close()


def test_a_summary_whose_sources_changed_while_it_was_made_is_made_again(db, clock):
    talk(db, clock, "Mia weighs 4 kg.")
    clock.to(2026, 11, 21)
    work(db, clock, Echo())  # of the session and its day
    clock.to(2026, 11, 21, 1)
    with db.write():
        summaries.erase(db, [kept(db, "2026-11-20").id])
        period_summaries.queue(db, "person", periods.parse("2026-11-20"), clock())

    class Slow(Echo):
        def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
            if not self.asked:
                talk(db, Clock(datetime(2026, 11, 20, 20, tzinfo=UTC)), "Mia is back.", kind="ask")
            yield from super().reply(messages)

    model = Slow()
    work(db, clock, model)
    assert (len(model.asked), whole(db, "2026-11-20")) == (2, ["s1", "s2"])


def test_of_a_day_with_one_long_conversation_the_short_ones_are_told_whole():
    def item(n, words):
        return period_summaries.Item(summaries.Source("session", n), f"{n}", words, "", "", "", spoken=True)

    long = "\n".join(f"person: Sentence {n} of a long talk about nothing." for n in range(500))
    short = [item(n, f"person: The code of door {n} is blue.") for n in range(1, 6)]
    asked = period_summaries.prompt(periods.parse("2026-11-20"), [item(0, long), *short], 2000)
    assert all(each.text in asked for each in short)
    assert 1800 < len(asked) < 3000
    extracted = period_summaries.extract(periods.parse("2026-11-20"), [item(0, long), *short])
    assert all(f"The code of door {n} is blue." in extracted for n in range(1, 6))


def test_no_more_sentences_are_kept_than_the_grain_has(db, clock):
    class Chatty:
        name = "chatty"

        def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
            for n in range(99):
                yield Text(f"Number {n} is said. ")

    talk(db, clock, "Mia.")
    clock.to(2027, 1, 1, 1)
    work(db, clock, Chatty())
    counted = {key: kept(db, key).text.count("said") for key in keys(db)}
    assert counted == {"2026-11-20": 6, "2026-W47": 6, "2026-11": 8, "2026-Q4": 8, "2026": 10}


def test_a_day_does_not_wait_for_a_conversation_whose_summary_fails(db, clock):
    class Failing(Echo):
        def reply(self, messages, tools=(), *, think=None, format=None, limit=None, cancel=None):
            if "Summarise this" in messages[0].content:
                raise ModelFailed("broken")
            yield from super().reply(messages)

    talk(db, clock, "Mia weighs 4 kg.")
    clock.to(2026, 11, 21)
    with db.write():
        period_summaries.queue(db, "person", periods.parse("2026-11-20"), clock())
    model = Failing()
    work(db, clock, model)
    assert (model.summarised, whole(db, "2026-11-20")) == (["2026-11-20"], ["s1"])


def test_a_week_waits_while_another_process_makes_one_of_its_days(db, clock):
    talk(db, clock, "Mia weighs 4 kg.")
    clock.to(2026, 11, 23, 1)
    work(db, clock, Echo())
    with db.write():
        for key in ("2026-11-20", "2026-W47"):
            period_summaries.queue(db, "person", periods.parse(key), clock())
    held = jobs.claim(db, clock())
    assert held.subject == "2026-11-20"
    model = Echo()
    work(db, clock, model)
    assert db.value("select count(*) from job where subject = '2026-W47' and state = 'ready'") == 1
    jobs.release(db, held)
    clock.now += timedelta(minutes=1)
    work(db, clock, model)
    assert (model.asked, jobs.any_due(db, clock())) == ([], False)
