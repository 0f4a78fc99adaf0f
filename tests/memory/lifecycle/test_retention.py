from datetime import date, datetime, timedelta

import pytest

from agent_cli import clock
from agent_cli.agent.jobs import worker
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.config import settings_file
from agent_cli.errors import Cancelled, ConfigError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import forget
from agent_cli.memory.lifecycle import retention
from agent_cli.memory.planner import schedules, tasks
from agent_cli.memory.search import index, recall, word_tables
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary, Source
from agent_cli.messages import Part
from agent_cli.store import jobs
from tests import forgetting, years
from tests.agent.jobs.test_worker import NO_EMBEDDER
from tests.conftest import HERE, empty, memory_of
from tests.tables import for_each
from tests.years import ZONE, at

NOW = datetime(2026, 3, 15, 12, tzinfo=ZONE)
FIRST = date(2023, 3, 15)
SHORT = {"preset": "short"}


def now():
    return NOW


def opened(first):
    db = empty()
    years.live(db, first, NOW)
    return db


@pytest.fixture(scope="module")
def files():
    """Three years, and a season: from the end of a year to the middle of March."""
    made = {"lived": opened(FIRST), "season": opened(date(2025, 12, 15))}
    yield made
    for db in made.values():
        db.close()


def copy_of(made, db):
    for _ in made.copy_into(db):
        pass
    return db


@pytest.fixture
def lived(files, db):
    return copy_of(files["lived"], db)


@pytest.fixture
def season(files, db):
    return copy_of(files["season"], db)


def run(db, table, time=now):
    """What was removed, in rows of each grain."""
    gone = {}
    for grain, count in retention.run(db, retention.policy(table), time):
        gone[grain] = gone.get(grain, 0) + count
    return gone


def messages(db):
    """The days on which something that is still there was said."""
    return {date.fromisoformat(day) for (day,) in db.rows("select distinct date(at, '60 minutes') from message")}


def of_sessions(db):
    rows = db.rows("select s.started_at from summary y join session s on s.id = y.session_id")
    return {datetime.fromisoformat(started).date() for (started,) in rows}


def keys(db, grain):
    return {key for (key,) in db.rows("select period from summary where grain = ?", (grain,))}


def summary_texts(db):
    """All that summaries say and where they have it from."""
    rows = db.rows("select id, text, details, method, at from summary")
    return {row[0]: (*row[1:], summaries.sources(db, row[0])) for row in rows}


def every(grain, after):
    """The keys of what lies in the file and ended after a moment, counted day by day."""
    days = [FIRST + timedelta(days=n) for n in range((NOW.date() - FIRST).days)]
    found = {periods.containing(day, grain) for day in days}
    return {each.key for each in found if at(each.end, 0) > after and each.end <= NOW.date()}


LIMITS = {  # of each grain, what ended by then goes
    "short": ((2026, 3, 13), (2026, 2, 13), (2026, 2, 1), (2025, 9, 15), (2025, 3, 15), (2024, 3, 15)),
    "medium": ((2026, 3, 10), (2026, 1, 14), (2025, 12, 21), (2025, 3, 15), (2024, 3, 15), (2022, 3, 15)),
    "long": ((2026, 3, 5), (2025, 11, 15), (2025, 9, 28), (2024, 3, 15), (2022, 3, 15), (2018, 3, 15)),
}


@pytest.mark.parametrize("preset", LIMITS)
def test_each_preset_removes_what_is_older_than_it_says_and_nothing_else(lived, preset):
    before, said = summary_texts(lived), messages(lived)
    assert (run(lived, {}), messages(lived)) == ({}, said)  # while it is off
    run(lived, {"preset": preset})
    working, *coarser = (at(date(*limit), 12) for limit in LIMITS[preset])
    days = {FIRST + timedelta(days=n) for n in range((NOW.date() - FIRST).days + 1)}
    assert messages(lived) == {each for each in days if at(each, 10, 1) >= working}
    assert of_sessions(lived) == {each for each in days if at(each + timedelta(days=1), 0) > coarser[0]}
    assert {grain: keys(lived, grain) for grain in periods.UNITS} == {
        grain: every(grain, limit) for grain, limit in zip(periods.UNITS, coarser, strict=True)
    }
    after = summary_texts(lived)
    assert after == {id: row for id, row in before.items() if id in after}


def test_what_would_go_is_what_goes(lived):
    planned = [each for each in retention.plan(lived, retention.policy(SHORT), NOW) if not each.kept_because]
    expected = {}
    for each in planned:
        expected[each.level] = expected.get(each.level, 0) + each.count
    assert run(lived, SHORT) == expected
    assert run(lived, SHORT) == {}
    assert lived.rows("select kind, actor from event where kind = 'retention'")[0] == ("retention", "program")
    counted = [subject.split() for (subject,) in lived.rows("select subject from event where kind = 'retention'")]
    assert {grain: sum(int(n) for g, n in counted if g == grain) for grain, _ in counted} == expected


@pytest.mark.parametrize(
    ("table", "said", "day", "week"),
    [  # what stays: the first message, the first day and the first week
        ({"preset": "short", "working": "1w", "week": "keep"}, date(2026, 3, 8), "2026-02-13", "2025-W51"),
        ({"day": "30d"}, date(2025, 12, 15), "2026-02-13", "2025-W51"),
        ({"working": "60d", "day": "10d"}, date(2026, 1, 15), "2026-01-15", "2025-W51"),
    ],
    ids=["own values instead of the preset's", "a grain alone", "what a summary was made of is still to go"],
)
def test_each_grain_goes_by_its_own_limit_and_after_what_it_was_made_of(season, table, said, day, week):
    run(season, table)
    assert (min(messages(season)), min(keys(season, "day")), min(keys(season, "week"))) == (said, day, week)


@for_each(
    ("age", "now", "moment"),
    [
        ("48h", NOW, "2026-03-13T12:00:00+01:00"),
        ("3w", NOW, "2026-02-22T12:00:00+01:00"),
        ("1mo", NOW, "2026-02-15T12:00:00+01:00"),
        ("1mo", datetime(2026, 3, 31, 9, tzinfo=ZONE), "2026-02-28T09:00:00+01:00"),
        ("9 q", NOW, "2023-12-15T12:00:00+01:00"),
        ("2y", NOW, "2024-03-15T12:00:00+01:00"),
        ("9999y", NOW, "0002-01-01T00:00:00+01:00"),
    ],
)
def test_an_age_is_counted_back_by_the_calendar(age, now, moment):
    assert retention.policy({"working": age})["working"].before(now).isoformat() == moment


def test_an_age_is_told_in_words():
    assert [str(retention.policy({"month": age})["month"]) for age in ("1mo", "48h")] == ["1 month", "48 hours"]


def queue(kind, subject):
    return lambda db, session: jobs.add(db, kind, subject.format(session=session), NOW)


def make_day(whole, moment):
    """Make the summary of the day again, of the session or of nothing, at a moment."""

    def make(db, session):
        sources = (Source("session", session),) if whole else ()
        years.keep(db, periods.containing(HELD, "day"), sources, moment)
        if not whole:
            years.keep(db, periods.containing(HELD, "week"), (Source("summary", 1),), NOW)

    return make


HELD = date(2026, 3, 6)
HOLDING_UP = {  # ways in which the conversation of a day is not taken in, and what is said of it
    "its summary is missing": lambda db, session: summaries.erase(db, [summaries.of_session(db, session).id]),
    "the day is missing": lambda db, _: summaries.erase(db, [summaries.of_period(db, "person", HELD.isoformat()).id]),
    "the day was made before its summary": make_day(True, at(HELD, 10, 30)),
    "the day does not name it": make_day(False, NOW),
    "the day is to be made anew": queue("grain", HELD.isoformat()),
    "it is to be summarised": queue("summary", "s{session}"),
    "it is to be read for facts": queue("learn", "s{session}"),
    "it is to be looked back at": queue("reflect", "s{session}"),
    "it could not be read for facts": lambda db, session: jobs.add(
        db, "learn", f"m{db.value('select min(id) from message where session_id = ?', (session,))}", NOW
    ),
    "it is open": lambda db, session: sessions.reopen(db, session, HERE.owner, NOW),
    "it has an open reply": lambda db, session: log.open_reply(db, session, HERE, "m", at(HELD, 10, 5)),
}


@pytest.mark.parametrize("how", HOLDING_UP)
def test_no_message_goes_that_the_next_grain_has_not_taken_in(db, how):
    years.live(db, date(2026, 3, 2), NOW)
    began = clock.utc(at(HELD, 10))
    held = db.value("select id from session where kind = 'chat' and started_at = ?", (began,))
    with db.write():
        HOLDING_UP[how](db, held)
    planned = retention.plan(db, retention.policy({"working": "48h"}), NOW)
    run(db, {"working": "48h"})
    why = "open" if "open" in how else "not summarised"
    assert [(each.handle, each.kept_because) for each in planned if each.kept_because] == [(f"s{held}", why)]
    assert messages(db) - {date(2026, 3, 13), date(2026, 3, 14), date(2026, 3, 15)} == {HELD}


@pytest.mark.parametrize("grain", ["week", "month"])
def test_no_day_of_a_torn_week_goes_before_its_week_and_its_month_took_it_in(season, grain):
    torn = periods.containing(date(2026, 1, 31), grain)
    jobs.add(season, "grain", torn.key, NOW)
    run(season, SHORT)
    expected = {"2026-01-31", "2026-01-26"} if grain == "week" else {"2026-01-31"}
    assert {key for key in keys(season, "day") if key < "2026-02-01"} >= expected
    assert ("2026-01-25" in keys(season, "day")) is False
    assert "2026-W05" in keys(season, "week")


def test_nothing_goes_that_a_coarser_summary_does_not_name(season):
    with season.write():
        years.keep(season, periods.containing(date(2026, 1, 1), "month"), (), NOW)
    run(season, SHORT)
    assert {"2026-W02", "2026-W03"} <= keys(season, "week")
    kept = {f"2026-01-{day:02}" for day in (*range(1, 5), *range(26, 32))}
    assert {key for key in keys(season, "day") if key < "2026-02"} == kept


def test_what_was_imported_into_days_that_do_not_know_it_stays(season):
    with season.write():
        started = at(date(2026, 1, 5), 20)
        session = sessions.add_imported(
            season, HERE, started, started, title="", kind="ask", source="elsewhere", external_id="1"
        )
        log.append_imported(season, session, HERE, [log.ImportedMessage("1", started, "user", "From afar.")])
    run(season, SHORT)
    assert min(messages(season)) == date(2026, 1, 5)


def test_what_is_pinned_stays_and_nothing_else_however_it_came(season):
    session = season.value("select min(id) from session")
    sessions.change(season, session, pinned=True)
    pinned = summaries.of_period(season, HERE.owner, "2025-12-20").id
    summaries.pin(season, pinned, True)
    hidden, imported = season.row(
        "select min(id), max(id) from session where started_at between '2026-01' and '2026-03'"
    )
    with season.write():
        season.execute("update session set hidden_at = '' where id = ?", (hidden,))
        season.execute("update session set source = 'elsewhere', external_id = '1' where id = ?", (imported,))
    run(season, SHORT)
    assert sorted(messages(season))[:2] == [date(2025, 12, 15), date(2026, 3, 14)]
    assert (min(of_sessions(season)), min(keys(season, "day"))) == (date(2025, 12, 15), "2025-12-20")
    assert "2025-12-15" not in keys(season, "day")
    summaries.pin(season, pinned, False)
    run(season, SHORT)
    assert min(keys(season, "day")) == "2025-12-20", "what took it in is gone"


def test_a_conversation_over_midnight_goes_when_both_days_have_it(db):
    years.live(db, date(2026, 3, 2), at(date(2026, 3, 5), 9))
    day = date(2026, 3, 5)
    late = years.chat(db, day, summary=False)
    log.add_user_message(db, late, HERE, [Part("Past midnight.", "typed")], at(day + timedelta(days=1), 0, 30))
    sessions.change(db, late, closed_at=clock.utc(at(day, 23)), holder=None)
    made = NewSummary("Late.", "", "model", "m")
    with db.write():
        summaries.save_session(db, late, made, lambda: at(date(2026, 3, 6), 1))
        years.keep(db, periods.containing(day, "day"), (Source("session", late),), at(date(2026, 3, 6), 0, 5))
    table = {"working": "48h", "day": "1d"}
    run(db, table)
    assert messages(db) == {day, date(2026, 3, 6)}
    with db.write():
        years.keep(
            db, periods.containing(date(2026, 3, 6), "day"), (Source("session", late),), at(date(2026, 3, 7), 0, 5)
        )
    run(db, table)
    assert messages(db) == set()
    assert summaries.of_session(db, late) is None


def test_with_the_messages_goes_what_was_kept_beside_them(season):
    first = season.value("select min(id) from message")
    session = season.value("select min(id) from session")
    with season.write():
        season.execute("insert into rolling values (?, ?, 'x', '', 'extract', '')", (session, first))
        season.execute(
            """insert into recollection (message_id, kind, row, score, legs, text, at)
               values (?, 'note', 1, 1, '{}', '', '')""",
            (first,),
        )
    sessions.change(season, session, opening="carried over")
    index.refresh_all(season)
    run(season, SHORT)
    for table in ("rolling", "recollection", "tool_call"):
        assert season.value(f"select count(*) from {table}") == 0, table
    assert season.row("select title, opening from session where id = ?", (session,)) == ("", None)
    assert season.value("select count(*) from passage where kind = 'm' and row not in (select id from message)") == 0
    assert season.value("select count(*) from passage where kind = 'y' and row not in (select id from summary)") == 0


def test_tasks_schedules_and_documents_stay_when_what_they_came_from_goes(season, tmp_path):
    first = season.value("select min(id) from message")
    session = season.value("select min(id) from session")
    made = tasks.add(season, HERE, "oil the door", None, now, origin="model", session=session, message=first)
    schedules.add(season, HERE, "0 7 * * *", now, prompt="brief me", zone="UTC")
    forgetting.keep_files(season, tmp_path / "files", "seesaw")
    with season.write():
        season.execute("update schedule set last_session = ?", (session,))
        season.execute("insert into answered values (1, 'person', 'k', '', ?, ?, '{}', '')", (session, first))
    files = season.rows("select * from section")
    run(season, SHORT)
    assert [each.id for each in tasks.listing(season, "person")] == [made.id]
    assert season.rows("select message_id from task") == [(None,)]
    assert [each.prompt for each in schedules.listing(season, "person")] == ["brief me"]
    assert season.rows("select * from section") == files
    assert season.rows("select * from answered") == season.rows("pragma foreign_key_check") == []


def test_a_fact_keeps_its_quote_when_its_message_goes(season):
    old, young = (season.value(f"select {which}(id) from message") for which in ("min", "max"))

    def learn(statement, message):
        claim = adoption.claim(statement, "typed", quote=f"quote of {statement}", message=message)
        return adoption.add(memory_of(season, now), claim).fact

    alone, supported = learn("Runs 7 km", old), learn("Lives in Split", old)
    with season.write():
        facts.add_source(season, supported, young, "said again", NOW)
    run(season, SHORT)
    left = [facts.get(season, each.id, HERE.owner) for each in (alone, supported)]
    assert [(each.statement, each.state, each.message_id, each.quote) for each in left] == [
        ("Runs 7 km", "accepted", None, "quote of Runs 7 km"),
        ("Lives in Split", "accepted", young, "said again"),
    ]


def test_a_summary_made_anew_keeps_what_came_of_the_messages_that_are_gone(season):
    session = season.value("select min(id) from session")
    before = summaries.of_session(season, session)
    run(season, {"working": "48h"})
    sessions.reopen(season, session, HERE.owner, NOW)
    log.add_user_message(season, session, HERE, [Part("Now it is 9 km.", "typed")], NOW)
    sessions.change(season, session, closed_at=clock.utc(NOW), holder=None)
    made = summaries.compose(season, session, "It became 9 km.", "model", "m")
    with season.write():
        summaries.save_session(season, session, made, now)
    after = summaries.of_session(season, session)
    assert after.text == f"{before.text} It became 9 km."
    assert after.details == ""
    assert summaries.orphaned_sentences(season, after) == summaries.orphaned_sentences(season, before)[:2]


def test_what_is_gone_is_not_summarised_again_when_a_model_answers(season):
    with season.write():
        season.execute("update summary set method = 'extract', model = ''")
    run(season, SHORT)
    left = {session for _, _, session in summaries.made_without_model(season) if session}
    there = {id for (id,) in season.rows("select distinct session_id from message")}
    assert left == there & {id for (id,) in season.rows("select session_id from summary where session_id is not null")}


def test_search_and_what_is_carried_over_know_what_is_left(season):
    index.refresh_all(season)
    run(season, SHORT)
    hits = recall.find(season, "7 km on foot", Filter(HERE.owner), NOW, 500).hits
    assert {hit.id for hit in hits if hit.kind == "message"} <= {id for (id,) in season.rows("select id from message")}
    assert [each.started_at for each in summaries.recent(season, HERE.owner, HERE.place, 2)] == [
        clock.utc(at(date(2026, 3, 14), 10)),
        clock.utc(at(date(2026, 3, 15), 10)),
    ]


def test_a_session_without_messages_is_named_by_its_summary_and_can_be_forgotten(season):
    index.refresh_all(season)
    run(season, SHORT)
    session = season.value("select session_id from summary where session_id is not null order by id limit 1")
    named = sessions.name(season, sessions.get(season, session, HERE.owner))
    assert named
    assert summaries.of_session(season, session).text.startswith(named.removesuffix("…"))
    forget.erase(season, forgetting.planned(season, f"s{session}"), now)
    assert season.value("select count(*) from session where id = ?", (session,)) == 0
    assert summaries.of_session(season, session) is None


def test_a_session_of_which_retention_left_one_message_stays_with_what_it_cannot_tell_again(season):
    index.refresh_all(season)
    run(season, SHORT)
    session = season.value("select session_id from summary where session_id is not null order by id limit 1")
    before = summaries.of_session(season, session).text
    sessions.reopen(season, session, HERE.owner, NOW)
    said = log.add_user_message(season, session, HERE, [Part("My piano is out of tune.", "typed")], NOW)
    sessions.change(season, session, closed_at=clock.utc(NOW), holder=None)
    forget.erase(season, forgetting.planned(season, f"m{said}"), now)
    assert season.value("select count(*) from message where session_id = ?", (session,)) == 0
    assert summaries.of_session(season, session).text == before


def test_a_run_that_is_killed_goes_on_where_it_was(season, files):
    limits = retention.policy(SHORT)
    for _ in range(4):
        broken = retention.run(season, limits, now)
        next(broken)
        broken.close()
    run(season, SHORT)
    whole = copy_of(files["season"], empty())
    run(whole, SHORT)
    for table in ("message", "summary", "summary_source", "session"):
        assert season.rows(f"select * from {table}") == whole.rows(f"select * from {table}"), table
    whole.close()


def test_what_is_pinned_meanwhile_stays(season):
    limits = retention.policy(SHORT)
    going = retention.run(season, limits, now)
    next(going)
    summary = summaries.of_period(season, HERE.owner, "2025-12-20")
    summaries.pin(season, summary.id, True)
    list(going)
    assert min(keys(season, "day")) == "2025-12-20"


def job_context(db, time=now, cancel=None, **table):
    cancel = Cancel() if cancel is None else cancel
    return JobContext(db, time, lambda: None, NO_EMBEDDER, 10_000, cancel, retention=table)


def test_the_worker_does_it_once_a_day_while_it_is_switched_on(season):
    def queued(hours, **table):
        worker.queue_due(job_context(season, lambda: NOW + timedelta(hours=hours), **table))
        return season.rows("select kind, subject, state from job")

    assert queued(0) == []
    assert queued(0, **SHORT) == [("retain", "all", "ready")]
    assert worker.run_one(job_context(season, **SHORT))
    assert min(messages(season)) == date(2026, 3, 14)
    assert queued(23, **SHORT) == [("retain", "all", "done")]
    assert queued(25, **SHORT) == [("retain", "all", "done"), ("retain", "all", "ready")]


def test_the_person_comes_first_and_what_was_queued_before_it_was_switched_off_removes_nothing(season):
    jobs.add(season, retention.JOB, "all", NOW)
    before, cancel = summary_texts(season), Cancel()
    cancel()
    with pytest.raises(Cancelled):
        worker.run_one(job_context(season, cancel=cancel, **SHORT))
    assert [(row["kind"], row["state"], row["attempts"]) for row in jobs.listing(season, 1)] == [("retain", "ready", 0)]
    assert worker.run_one(job_context(season))
    assert summary_texts(season) == before


HOW_LONG = 'must say "keep" of each grain, or how long as in "48h", "30d", "6w", "6mo", "4q" or "2y"'


def test_a_wrong_setting_is_told_with_its_line(tmp_path):
    file = tmp_path / "config.toml"
    for text, said in {
        'preset = "tiny"': 'must have "short", "medium" or "long" as preset',
        'hour = "1d"': "must not hold hour: there are preset, working, day, week, month, quarter, year",
        **dict.fromkeys(("day = 30", 'day = "0d"', 'day = "30 m"'), HOW_LONG),
    }.items():
        file.write_text(f'model = "m"\n[retention]\n{text}\n')
        with pytest.raises(ConfigError) as told:
            settings_file.load(file, {})
        assert str(told.value).startswith(f"{file}, line 2: retention = {{")
        assert str(told.value).endswith(said)


@pytest.mark.parametrize("beside", [0, 240])
def test_the_words_of_what_went_leave_the_file_and_the_indexes_stay_whole(tmp_path, beside):
    file = tmp_path / "memory.db"
    db = empty(file)
    years.live(db, date(2026, 3, 1), at(date(2026, 3, 5), 9))
    day = date(2026, 3, 5)
    years.dream(db, day + timedelta(days=1), [years.chat(db, day, "The word is Xk7Qv2Rm9Tz4.")], {})
    with db.write():
        session = years.chat(db, date(2026, 3, 2))
        for n in range(beside):
            log.add_user_message(db, session, HERE, [Part(f"Word {n}.", "typed")], at(date(2026, 3, 2), 10, 2))
        day = date(2026, 3, 2)
        told = [Source("session", id) for (id,) in db.rows("select id from session where started_at < '2026-03-03'")]
        years.keep(db, periods.containing(day, "day"), told[-2:], at(date(2026, 3, 6), 0, 10))
    index.refresh_all(db)
    assert b"xk7qv2rm9tz4" in file.read_bytes() + file.with_name("memory.db-wal").read_bytes()
    run(db, {"working": "48h"})
    assert file.with_name("memory.db-wal").read_bytes() == b""
    assert b"xk7qv2rm9tz4" not in file.read_bytes().lower()
    for name in ("words", "trigrams"):
        table = word_tables.table(db, name)
        assert db.value(f"select v from {table}_config where k = 'secure-delete'") == 1
        db.execute(f"insert into {table} ({table}, rank) values ('integrity-check', 1)")
    db.close()
