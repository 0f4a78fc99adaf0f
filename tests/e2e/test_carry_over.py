"""What a new session begins with, as the model of the server gets it."""

from datetime import date, timedelta

import pytest

from agent_cli.store.db import Database
from tests import years
from tests.ollama_server.script import reply

FIRST = date(2026, 1, 5)


@pytest.fixture
def lived(program, server):
    """Ten weeks of conversations in the folder of the program."""
    program.use(server)("stats")
    file = Database(program.db)
    years.live(file, FIRST, years.at(FIRST + timedelta(weeks=10, days=3), 18))
    with file.write():
        file.execute("update session set place = ?", (str(program.work),))
        file.execute("update summary set place = ? where session_id is not null", (str(program.work),))
    file.close()
    program.env["AGENT_NOW"] = "2026-03-19T18:00:00+01:00"
    server.answer = lambda body: reply("Fine.")
    return program


def begin(program):
    """The first message of a new session, as it is sent."""
    return program("ask", "--dry-run", "and now?").json["messages"][1]["content"]


def carried(sent):
    return [line.partition("): ")[0] for line in sent.splitlines() if line.startswith("- ")]


def test_ten_weeks_later_a_session_begins_with_the_month_the_week_and_five_conversations(lived):
    month, week, *latest = carried(begin(lived))
    assert month.startswith("- February 2026 (y")
    assert week.startswith("- week from 09 March 2026 (y")
    assert len(latest) == 5
    assert latest[-2:] == ["- 18 March 2026 (s83", "- 19 March 2026 (s84"]


def test_what_was_said_in_one_folder_begins_a_session_in_another_unless_that_is_set(lived, tmp_path):
    said_here = begin(lived)
    lived.work = tmp_path / "elsewhere"
    lived.work.mkdir()
    assert carried(begin(lived)) == carried(said_here)
    assert "The end of the previous session (s84, 19 March 2026):" in begin(lived)
    shown = lived("ask", "--dry-run", "--incognito", "and now?").json["messages"][1]["content"]
    assert "From memory" not in shown
    assert lived("config", "set", "carry", "here").code == 0
    assert carried(begin(lived)) == []
    assert "⟦ From memory" not in begin(lived)
    assert lived("config", "set", "carry", "sometimes").code == 2
