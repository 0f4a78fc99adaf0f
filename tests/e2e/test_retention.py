"""A person lets old things go: off by default, looked at before, then done, each in a process of its own."""

import shutil
from datetime import date, datetime

import pytest

from agent_cli.store import jobs
from agent_cli.store.db import Database
from tests import years
from tests.conftest import Ran, empty
from tests.years import ZONE

NOW = datetime(2026, 3, 15, 12, tzinfo=ZONE)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """Made once: a file with six weeks of daily conversations."""
    path = tmp_path_factory.mktemp("lived") / "memory.db"
    db = empty(path)
    years.live(db, date(2026, 2, 1), NOW)
    db.close()
    return path


@pytest.fixture
def program(program, lived):
    """The program on the last day."""
    program.env |= {"AGENT_NOW": NOW.isoformat(), "AGENT_MODEL": "offline"}
    shutil.copy(lived, program.db)
    return program


def switch_on(program, preset="short"):
    assert program("config", "set", "retention.preset", preset).code == 0
    return program


def messages(program):
    return program.rows("select count(*) from message")[0][0]


def test_off_by_default_it_says_so_and_how_to_switch_it_on(program):
    ran = program("retention")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "off: nothing is removed, however old it is",
        "agent config set retention.preset short    48 hours, 30 days, 6 weeks, 6 months, 4 quarters, 2 years",
    ]
    assert ran.out.splitlines()[-1] == (
        "once on, what is old and part of the next longer summary goes by itself, without a question"
    )
    assert program("retention", "apply", "--yes") == Ran(
        2, "", "agent: retention is off; `agent retention` says how to switch it on\n"
    )
    assert program("jobs", "run", "--until-idle").code == 0
    assert messages(program) == 100


def test_switched_on_it_shows_what_is_kept_how_long_and_why(program):
    switch_on(program)
    assert program("retention", "pin", "s3", "y1", "y2") == Ran(0, "pinned s3\npinned y1\npinned y2\n", "")
    assert program("retention", "unpin", "y2") == Ran(0, "unpinned y2\n", "")
    assert program("retention").out.splitlines() == [
        "messages               48 hours    100 there  92 would go  old but kept: 2 pinned",
        "summaries of sessions  30 days     43 there   10 would go  old but kept: 2 pinned",
        "days                   30 days     42 there   12 would go",
        "weeks                  6 weeks     6 there    0 would go",
        "months                 6 months    1 there    0 would go",
        "quarters               4 quarters  0 there    0 would go",
        "years                  2 years     0 there    0 would go",
    ]


def test_what_waits_for_a_job_says_where_to_look(program):
    switch_on(program)
    db = Database(program.db)
    db.prepare()
    jobs.add(db, "learn", "s1", NOW)
    db.close()
    ran = program("retention")
    assert "old but kept: 2 not summarised" in ran.out.splitlines()[0]
    assert ran.err == "agent: not summarised: a summary or a job still has to read it; see `agent jobs list`\n"
    assert program("-q", "retention").err == ""


def test_a_dry_run_lists_what_would_go_and_removes_nothing(program):
    switch_on(program)
    shown = program("retention", "--dry-run")
    told = program("retention", "--dry-run", "--json").json
    listed = [line.split() for line in shown.out.splitlines()]
    assert ["s1", "2026-02-01", "2", "messages"] in listed
    assert ["y2", "2026-02-01", "1", "day"] in listed
    assert told["on"] is True
    assert told["grains"][0] == {"grain": "working", "limit": "48 hours", "holds": 100, "goes": 94, "kept": {}}
    assert told["goes"][0] == {"id": "s1", "grain": "working", "period": "2026-02-01", "count": 2}
    assert sum(each["count"] for each in told["goes"]) == sum(each["goes"] for each in told["grains"])
    assert messages(program) == 100


def test_it_is_done_after_a_typed_yes(program, terminal):
    switch_on(program)
    refused = terminal("retention", "apply").wait("type yes:").answer("no")
    assert refused.ended() == 1
    assert messages(program) == 100
    agreed = terminal("retention", "apply").wait("type yes:").answer("yes")
    assert agreed.ended() == 0
    assert "removed: 94 messages" in agreed.text
    assert messages(program) == 6
    assert program("retention", "apply", "--yes").err == "agent: nothing is old enough to be removed\n"


def test_without_a_terminal_it_needs_to_be_told_yes(program):
    switch_on(program)
    assert program("retention", "apply") == Ran(
        2, "", "agent: nothing was removed: look at it with --dry-run, then say --yes, or run it at a terminal\n"
    )
    assert program("retention", "apply", "--yes").out.startswith("removed: 94 messages, ")
    assert program("search", "begins with 7 km on foot", "--json").code == 0


def test_only_the_person_says_what_goes(program):
    switch_on(program)
    child = {"AGENT_CHILD": "1"}
    for command in (
        ("retention", "apply", "--yes"),
        ("retention", "pin", "s1"),
        ("config", "set", "retention.day", "1d"),
    ):
        ran = program(*command, env=child)
        assert (ran.code, ran.out, "the assistant started this process" in ran.err) == (2, "", True), command
    assert messages(program) == 100


WRONG = {
    "pin s999": "there is no session s999; `agent sessions list` shows them all",
    "pin y999": "there is no summary y999; `agent summaries list` shows them all",
    "unpin m1": "'m1' is not a handle of a session or a summary: write it like s4 or y7",
}


def test_what_cannot_be_pinned_is_told(program):
    for words, said in WRONG.items():
        assert program("retention", *words.split()) == Ran(2, "", f"agent: {said}\n")
