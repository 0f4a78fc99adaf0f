"""The lines at the start, and what comes to wait later."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from agent_cli.agent import model_context
from agent_cli.app.app import open_app
from agent_cli.memory.conversations import digest, sessions
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.render.styles import Display
from agent_cli.repl import greeting
from agent_cli.repl.commands import commands
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.greeting import Notices
from agent_cli.store import jobs
from tests import facts
from tests.conftest import NOON, empty, memory_of
from tests.recalling import reply, say
from tests.tables import listed
from tests.turns import close_with


def talked(app, turns, days_ago=0, scope=None):
    """A session with so many questions and answers."""
    now, scope = app.time() - timedelta(days=days_ago), scope or app.scope
    session = sessions.start(app.db, scope, now)
    for number in range(turns):
        say(app.db, session, f"Question {number}?", now, scope)
        reply(app.db, session, f"Answer {number}.", now, scope=scope)
    return session


def test_on_an_empty_file_nothing_is_carried_over(app):
    notes.add(app.db, app.scope, "Buy milk", app.time)
    assert greeting.carried_over(app) == ""


def test_what_is_carried_over_is_counted(app):
    close_with(app.db, talked(app, 1, 3), "One.")
    talked(app, 40, 1)
    close_with(app.db, talked(app, 3, 1), "Two.")
    assert greeting.carried_over(app) == (
        "carried over: 2 summaries and the last 6 messages of s3 “Question 0?” (yesterday) · agent -c goes on with it"
    )


@pytest.mark.parametrize(("days", "when"), [(0, "today"), (1, "yesterday"), (3, "{:%A}"), (400, "{0.day} {0:%b %Y}")])
def test_the_day_is_said_as_a_person_would(app, days, when):
    talked(app, 1, days)
    day = when.format(app.time() - timedelta(days=days))
    assert f"the last 2 messages of s1 “Question 0?” ({day})" in greeting.carried_over(app)


def test_when_the_latest_session_was_elsewhere_the_one_from_here_is_named(app):
    elsewhere = Scope(app.scope.owner, "/elsewhere")
    talked(app, 1, 1, elsewhere)
    assert greeting.carried_over(app).endswith("of s1 “Question 0?” (yesterday) · agent -r s1 goes on with it")
    talked(app, 1, 2)
    assert greeting.carried_over(app).endswith(" · agent -c goes on with it")


def test_where_only_this_folder_is_carried_over_the_session_elsewhere_is_named(tmp_path):
    environ = {"AGENT_DB": str(tmp_path / "memory.db"), "AGENT_MODEL": "offline", "AGENT_CARRY": "here"}
    app = open_app({}, print, config_file=tmp_path / "none.toml", environ=environ)
    talked(app, 1, 1, Scope(app.scope.owner, "/elsewhere"))
    assert greeting.carried_over(app) == "last: s1 “Question 0?” (agent -r s1 goes on with it) · /help"
    app.db.close()


def test_a_session_that_goes_on_says_what_was_folded(app):
    short, long = talked(app, 1), talked(app, 30)
    assert greeting.resumed(app, sessions.get(app.db, short, "person")) == (
        "s1 “Question 0?” goes on: the model sees all of it (2 messages)"
    )
    told = "s2 “Question 0?” goes on: the model sees its last 10 messages, and the 50 before them in short"
    assert greeting.resumed(app, sessions.get(app.db, long, "person")) == told
    last = model_context.visible(app.db, long, app.window)[0] - 1
    digest.fold(app.db, long, last, app.time())
    assert greeting.resumed(app, sessions.get(app.db, long, "person")) == told


def test_a_message_that_asked_for_no_answer_is_shown_without_a_hint(app):
    id = sessions.start(app.db, app.scope, app.time())
    for said, hint in (("What is tea?", "no answer came: /retry asks again\n"), ("Remember that I drink tea.", "")):
        say(app.db, id, said, app.time(), app.scope)
        assert greeting.last_exchange(app, sessions.get(app.db, id, "person"), Display()) == f"❯ {said}\n{hint}"


LISTED = "Two things:\n\n- bread\n- milk, which is in the door of the fridge\n\n```\nmake tea\n```"


@pytest.mark.parametrize(
    ("look", "shown"),
    [
        (
            Display(markdown=True, wrap=True, width=lambda: 30),
            "❯ What do I buy?\n\nTwo things:\n\n- bread\n- milk, which is in the door\n  of the fridge\n\nmake tea\n",
        ),
        (Display(), f"❯ What do I buy?\n\n{LISTED}\n"),
        (Display(screen_reader=True), f"You: What do I buy?\nAnswer: {LISTED}\n"),
    ],
)
def test_the_last_exchange_keeps_its_lists_and_its_code(app, look, shown):
    assert greeting.last_exchange(app, answered(app, LISTED), look) == shown


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("word " * 200, f"{('word ' * 120).rstrip()}…\n"),
        ("line\n" * 30, "line\n" * 12 + "…\n"),
        ("- kept f1", "│ - kept f1\n"),
    ],
)
def test_a_long_answer_is_shown_by_its_beginning_and_poses_as_nothing(app, answer, shown):
    assert greeting.last_exchange(app, answered(app, answer), Display()) == f"❯ What do I buy?\n\n{shown}"


def answered(app, answer):
    session = sessions.start(app.db, app.scope, app.time())
    say(app.db, session, "What do I buy?", app.time(), app.scope)
    reply(app.db, session, answer, app.time(), scope=app.scope)
    return sessions.get(app.db, session, "person")


def test_a_look_at_the_context_shows_what_is_carried_over_and_leaves_no_session_behind(app):
    close_with(app.db, talked(app, 2), "Two questions.")
    conversation = Conversation(app)
    look, argument = commands.find("/context")
    shown = look.run(conversation, argument).draw(Display()).splitlines()
    parts = "instructions | tools | summaries | last session | conversation | free"
    assert [line[:14].strip() for line in shown[:-1]] == listed(parts)
    assert "Summaries of earlier sessions:" in look.run(conversation, "--full")
    assert (conversation.id, app.db.rows("select id from session")) == (None, [(1,)])
    assert conversation.ensure_session() == 2


def test_the_parts_and_what_is_free_add_up_to_the_room(app):
    conversation = Conversation(app, sessions.get(app.db, talked(app, 30), "person"))
    *parts, total = commands.find("/context")[0].run(conversation, "").draw(Display()).splitlines()
    sizes = {line[:14].strip(): int(line[14:22].replace(",", "")) for line in parts}
    assert list(sizes) == ["instructions", "tools", "earlier", "conversation", "free"]
    assert sum(sizes.values()) == 8192 - 1024
    used = f"{sum(sizes.values()) - sizes['free']:,}"
    assert total == f"{used} of 7,168 tokens, estimated; the window has 8,192, the rest is for the answer"


@pytest.mark.parametrize("factor", [0.5, 1.7])
def test_the_parts_never_exceed_the_window_whatever_a_token_of_the_model_is(app, factor):
    conversation = Conversation(app, sessions.get(app.db, talked(app, 30), "person"))
    shown = conversation.context()
    conversation.context = lambda: replace(shown, room=int(7168 / factor))
    *parts, _ = commands.find("/context")[0].run(conversation, "").draw(Display()).splitlines()
    sizes = [int(line[14:22].replace(",", "")) for line in parts]
    assert (sum(sizes), min(sizes) >= 0) == (7168, True)


def test_what_comes_to_wait_is_told_once_and_what_waited_before_is_not(tmp_path):
    here = empty(tmp_path / "memory.db")
    other = here.another_connection()
    facts.propose(here, "I live in Graz")
    notices = Notices(SimpleNamespace(db=here, memory=memory_of(here)))
    assert notices.news() == []
    facts.propose(other, "My cat is Mia")
    assert notices.news() == ["2 facts to review: /review"]
    assert notices.news() == []
    jobs.add(other, "learn", "s1", NOON)
    job = jobs.claim(other, NOON)
    with other.write():
        jobs.park(other, job, "it cannot be read", "m1")
    assert notices.news() == ["some background work failed: /doctor says more"]
    assert notices.news() == []
    for db in (here, other):
        db.close()
