"""One turn that nobody watches: how it ends is a value."""

from contextlib import closing as closing_database

import pytest

from agent_cli.agent import policy
from agent_cli.app import models, turns
from agent_cli.app.app import open_app
from agent_cli.errors import Cancelled, ModelFailed
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import notes
from agent_cli.memory.summaries import period_summaries
from agent_cli.messages import Part
from agent_cli.store import holder
from agent_cli.store.db import Database
from tests.recalling import EMBEDDED


@pytest.fixture
def app(tmp_path):
    """The program with a model that plays a script, and nobody at the keyboard."""
    opened = []

    def make(script, **env):
        (tmp_path / "script.toml").write_text(script)
        environ = {"AGENT_DB": str(tmp_path / "m.db"), "AGENT_MODEL": f"scripted:{tmp_path}/script.toml", **env}
        opened.append(open_app({}, lambda text: None, config_file=tmp_path / "none.toml", environ=environ))
        return opened[-1]

    yield make
    for each in opened:
        each.db.close()


def run(app, cancel=None):
    return turns.run_once(app, [Part("What is new?", "schedule")], "schedule", cancel or Cancel())


def test_an_answer_is_a_value_and_its_session_is_over(app):
    opened = app('[[reply]]\nsay = "Nothing."\n')
    said = run(opened)
    turn = said.transcript
    assert (said.session, turn.answer, turn.finish, turn.model) == (1, "Nothing.", "stop", "scripted")
    assert (said.refused, said.error, turn.notices) == ((), None, [])
    session = sessions.get(opened.db, 1, "person")
    assert (session.kind, session.closed_at is None) == ("schedule", False)
    assert (sessions.latest(opened.db, "person"), sessions.abandoned(opened.db)) == (None, [])


def test_what_needs_a_yes_is_refused_and_named_once(app):
    call = '{ name = "save_note", arguments = { text = "x" } }'
    opened = app(f'[[reply]]\nsay = "I try."\ncalls = [{call}, {call}]\n[[reply]]\nsay = "It was refused."\n')
    said = run(opened)
    assert (said.transcript.answer, said.refused, said.error) == ("I try.\n\nIt was refused.", ("save_note",), None)
    assert opened.db.rows("select text from message where role = 'tool' limit 1") == [
        ("refused: nobody can be asked here",)
    ]


def test_what_the_settings_allow_is_run(app):
    script = '[[reply]]\ncalls = [{ name = "save_note", arguments = { text = "x" } }]\n[[reply]]\nsay = "Kept."\n'
    opened = app(script, AGENT_RULES='{ save_note = "allow" }')
    assert (run(opened).refused, opened.db.rows("select text from note")) == ((), [("x",)])


def test_an_error_is_a_value_beside_what_arrived(app):
    said = run(app('[[reply]]\nsay = "It is"\nfail = "broken"\n'))
    assert (said.transcript.answer, said.transcript.finish, type(said.error)) == ("It is", "", ModelFailed)


def test_without_a_server_memory_answers_and_that_is_said(app):
    said = run(app("", AGENT_MODEL="auto", OLLAMA_HOST="127.0.0.1:9"))
    assert said.transcript.model == "offline"
    assert said.transcript.notices[0].startswith("no model server at http://127.0.0.1:9; answering from memory only")


def test_what_is_stopped_is_raised_with_its_session_over(app):
    opened, cancel = app('[[reply]]\nsay = "It is"\n'), Cancel()
    cancel()
    with pytest.raises(Cancelled):
        run(opened, cancel)
    assert sessions.get(opened.db, 1, "person").closed_at is not None


def test_a_run_whose_process_was_killed_is_closed_without_a_summary(app):
    opened = app("")
    session = sessions.start(opened.db, opened.scope, opened.time(), "schedule")
    opened.db.execute("update session set holder = ?", (holder.this_process().rsplit("/", 2)[0] + "/999999999/1",))
    closing.close_abandoned(opened.db, opened.time)
    assert sessions.get(opened.db, session, "person").closed_at is not None
    assert opened.db.rows("select kind from job where kind = 'summary'") == []


def test_the_summary_of_a_day_knows_what_a_schedule_ran(app):
    opened = app('[[reply]]\nsay = "Nothing at all is new."\n')
    run(opened)
    day = periods.containing(opened.time().date(), "day")
    items = period_summaries.collect_items(opened.db, "person", day, 1000)
    assert [item.title for item in items] == ["what a schedule ran"]


def test_a_preview_embeds_its_question_before_it_locks_the_file(app, tmp_path, monkeypatch):
    opened = app('[[reply]]\nsay = "Yes."\n')
    notes.add(opened.db, opened.scope, "The passport lies in the attic", opened.time)
    asked = []

    class Slow:
        match_words, knows_word = EMBEDDED.match_words, EMBEDDED.knows_word

        def embed_query(self, question):
            with closing_database(Database(tmp_path / "m.db")) as other:
                other.prepare()
                notes.add(other, opened.scope, "Written meanwhile", opened.time)
            asked.append(question)
            return EMBEDDED.embed_query(question)

    monkeypatch.setattr(opened.embedders, "query_embedder", lambda db, choose=True: Slow())
    agent = turns.agent(opened, models.chat(opened, opened.db)[0], policy.no_approver)
    shown = turns.preview(opened, opened.db, agent, None, [Part("where is my passport?", "typed")])
    assert asked == ["where is my passport?"]
    assert "in the attic" in str(shown.messages)
    assert opened.db.rows("select text from note where id = 2") == [("Written meanwhile",)]
