"""A conversation that is kept nowhere, and one that is shown nothing of memory: what their models are told."""

from dataclasses import replace
from hashlib import sha256

import pytest

from agent_cli.agent import model_context
from agent_cli.agent.loop import Question
from agent_cli.app import models, turns, upkeep
from agent_cli.app.app import open_app
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.offline import Reply, ScriptedModel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import tasks
from agent_cli.memory.search import recall_log
from agent_cli.messages import Part
from agent_cli.store import jobs
from tests.conftest import place
from tests.recalling import fact, note, reply, say
from tests.turns import calls

QUESTION = "When is my dentist appointment?"


@pytest.fixture
def app(tmp_path):
    environ = {"HOME": str(tmp_path), "AGENT_DB": str(tmp_path / "memory.db"), "OLLAMA_HOST": "127.0.0.1:9"}
    place(tmp_path / "memory.db")
    opened = open_app({}, print, config_file=tmp_path / "config.toml", environ=environ)
    session = sessions.start(opened.db, opened.scope, opened.time())
    say(opened.db, session, "the code of the gate is 4711", scope=opened.scope)
    reply(opened.db, session, "Noted.")
    closing.close(opened.db, session, opened.time)
    note(opened.db, "dentist appointment on Friday at 3pm", scope=opened.scope)
    fact(opened.db, "My dentist is Dr. Berger")
    upkeep.prepare_search(opened, opened.db)
    yield opened
    opened.db.close()


def ask(app, *replies, words=QUESTION):
    """A turn in a new session: its model, its events and where it happened."""
    model = ScriptedModel([Reply(say=each) if isinstance(each, str) else each for each in replies or ["Friday."]])
    db = app.db.another_connection()  # as the thread of a turn does
    here = turns.tool_context(app, db, sessions.start(app.db, app.scope, app.time()))
    agent = turns.agent(app, model, lambda call: True)
    parts = [Part(words, "typed")]
    question = Question(here, parts, lambda call: True, at_keyboard=True)
    events = list(turns.run(app, question, lambda: (model, "")))
    upkeep.after_turn(app, db)
    return agent, here, events


def shown(agent, here):
    return str(model_context.build(agent, here).messages)


def offered(agent, here):
    """The tools whose schemas the model sees, and those that it knows by name."""
    schemas = [each for each in model_context.offered_tools(agent, here) if each["name"] != "use_tool"]
    named = [each.name for each in agent.tools.values() if each.offered(here) and not each.listed]
    return [*(each["name"] for each in schemas), *named]


def content(app):
    return sha256(app.path.read_bytes()).hexdigest()


def test_an_incognito_conversation_is_told_nothing_and_leaves_the_file_as_it_was(app):
    app.db.truncate_journal()
    before = content(app)
    agent, here, _ = ask(app.incognito())
    assert [(entry.message.role, entry.message.text) for entry in log.history(here.db, here.session)] == [
        ("user", QUESTION),
        ("assistant", "Friday."),
    ]
    assert [word for word in ("dentist appointment on", "4711", "Berger") if word in shown(agent, here)] == []
    assert offered(agent, here) == ["jot", "read_jottings", "calculate"]
    assert (jobs.any_due(here.db, app.time()), content(app)) == (False, before)


def test_an_incognito_conversation_that_may_read_is_told_what_is_known_and_leaves_the_file_as_it_was(app):
    app.db.truncate_journal()
    before = content(app)
    private = app.incognito(reads=True)
    looking = calls(("search_memory", {"query": "dentist"}), ("search_notes", {"query": "dentist"}))
    agent, here, _ = ask(private, looking, calls(("timeline", {"around": "m1"})), "Friday.")
    assert [word for word in ("dentist appointment on", "4711", "Berger") if word not in shown(agent, here)] == []
    readers = "search_memory jot read_jottings search_notes timeline list_tasks read_skill calculate summarize_today"
    assert offered(agent, here) == readers.split()
    assert {each.handle for each in recall_log.recalled_for(here.db, 1)} == {"n1", "f1"}
    answers = [e.message.text for e in log.history(here.db, here.session) if e.message.role == "tool"]
    assert ["dentist" in answers[0], "n1 (" in answers[1], "4711" in answers[2]] == [True, True, True]
    assert content(app) == before
    assert models.find_memories(private, "dentist", 3)


def test_what_is_to_be_remembered_in_an_incognito_conversation_is_said_not_to_be(app):
    _, here, events = ask(app.incognito(), words="Remember that my cat is called Mia")
    assert [event.text for event in events if hasattr(event, "text") and "incognito" in event.text] == [
        "nothing of this is kept: the conversation is incognito"
    ]
    assert here.db.value("select count(*) from fact") == 0
    with pytest.raises(UsageError, match="incognito"):
        app.incognito().refuse_incognito()


def test_without_memory_a_session_is_logged_and_shown_nothing_of_it(app):
    agent, here, _ = ask(replace(app, reads=False))
    assert [word for word in ("dentist appointment on", "4711", "Berger") if word in shown(agent, here)] == []
    agent, before, _ = ask(app)  # a session in which memory was read shows nothing of it once it is not
    assert [word for word in ("dentist appointment on", "4711") if word not in shown(agent, before)] == []
    off = turns.tool_context(replace(app, reads=False), app.db, before.session)
    assert [word for word in ("dentist appointment on", "4711") if word in shown(agent, off)] == []
    agent = turns.agent(replace(app, reads=False), agent.model)
    assert {"save_note", "propose_fact"} <= set(agent.tools)
    assert not {"search_notes", "search_memory", "timeline", "summarize_today", "read_skill"} & set(agent.tools)
    assert app.db.value("select count(*) from message where text = ?", (QUESTION,)) == 2


def test_a_file_of_an_older_program_is_not_read_before_it_was_brought_up_to_date(app):
    app.db.execute("delete from meta where key = 'schema'")
    with pytest.raises(StoreError, match="an older agent wrote this file"):
        turns.tool_context(app.incognito(reads=True), app.db, 1)


def test_a_file_in_which_nothing_was_ever_indexed_can_be_read(tmp_path):
    environ = {"HOME": str(tmp_path), "AGENT_DB": str(tmp_path / "memory.db"), "OLLAMA_HOST": "127.0.0.1:9"}
    opened = open_app({}, print, config_file=tmp_path / "config.toml", environ=environ)
    looking = calls(("search_memory", {"query": "dentist"}), ("search_notes", {"query": "dentist"}))
    _, here, _ = ask(opened.incognito(reads=True), looking, "I know of nothing.")
    assert [e.message.text for e in log.history(here.db, here.session) if e.message.role == "tool"] == [
        "nothing is known of it",
        "no note has these words",
    ]


def test_a_model_that_would_change_what_is_to_be_done_in_an_incognito_conversation_changes_nothing(app):
    tasks.add(app.db, app.scope, "oil the door", None, app.time)
    changing = [("create_reminder", {"text": "tea"}), ("complete_task", {"task": "t1"})]
    writing = [("draft_message", {"to": "Anna", "text": "tea"}), ("save_note", {"text": "tea"})]
    asked = calls(*changing, *writing, ("propose_fact", {"statement": "I drink tea."}))
    _, here, _ = ask(app.incognito(reads=True), asked, "I cannot.")
    answers = [entry.message.text for entry in log.history(here.db, here.session) if entry.message.role == "tool"]
    assert [each.startswith("there is no tool") for each in answers] == [True] * 5
    for db, open_tasks in ((app.db, [("oil the door", "open")]), (here.db, [])):
        assert db.rows("select text, state from task") == open_tasks
        assert db.rows("select text from note where text = 'tea'") == []
