"""What has changed in memory since a session was taken up."""

import pytest

from agent_cli import clock
from agent_cli.memory.conversations import sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.review import review as changes
from agent_cli.memory.scope import PERSON, Scope
from tests.conftest import HERE, memory_of
from tests.facts import add, claim, later, lives, propose


@pytest.fixture
def session(db):
    """Begun the day after the facts that were there."""
    return sessions.start(db, HERE, later(1)())


def told(db, session, review="/review"):
    return changes.changed_since_opened(db, session, PERSON, review)


def test_nothing_is_told_when_nothing_changed_but_what_others_learn(db, session):
    add(db, "My cat is Mia")
    add(db, "My cat is Rex", Scope("somebody else", HERE.place), later(2))
    assert told(db, session) == []


def test_what_is_new_changed_ended_and_waits_is_told(db, session):
    graz = add(db, lives("Graz", "2025-03-01")).fact
    cat = add(db, "My cat is Mya").fact
    dog = add(db, "My dog is Rex").fact
    add(db, "My boat is Anna")
    add(db, lives("Linz", "2025-06-01", "I moved to Linz"), time=later(2))
    adoption.edit(memory_of(db, later(2)), cat, "My cat is Mia")
    facts.hide(memory_of(db, later(2)), dog)
    propose(db, "I like tea", time=later(2))
    propose(db, "I sail a dinghy", time=later(2))
    assert told(db, session) == [
        "+ f5 I moved to Linz",
        f"~ {cat.handle} My cat is Mia",
        f"- {graz.handle} I live in Graz",
        f"- {dog.handle} My dog is Rex",
        "2 to review: /review",
    ]


def test_what_waited_before_is_new_once_it_is_accepted_and_no_news_otherwise(db, session):
    tea, coffee, milk = [propose(db, f"I like {drink}") for drink in ("tea", "coffee", "warm milk")]
    assert told(db, session) == []
    adoption.accept(memory_of(db, later(2)), tea)
    facts.reject(memory_of(db, later(2)), coffee)
    assert told(db, session) == [f"+ {tea.handle} I like tea"]
    assert milk.state == "pending"


def test_what_was_changed_and_changed_back_is_no_news(db, session):
    cat = add(db, "My cat is Mya").fact
    adoption.edit(memory_of(db, later(2)), cat, "My cat is Mia")
    facts.undo(memory_of(db, later(2)))
    add(db, "My dog is Rex", time=later(2))
    facts.undo(memory_of(db, later(2)))
    assert told(db, session) == []


def test_of_a_session_that_goes_on_only_what_came_since_counts(db, session):
    add(db, "My cat is Mia", time=later(2))
    sessions.change(db, session, closed_at=clock.utc(later(3)()), holder=None)
    sessions.reopen(db, session, PERSON, later(4)())
    assert told(db, session) == []
    propose(db, "I like tea", time=later(5))
    assert told(db, session, "agent facts review") == ["1 to review: agent facts review"]


def test_at_most_ten_lines_and_how_many_more(db, session):
    for number in range(13):
        add(db, claim(f"Box number {number} {'x' * number} is blue"), time=later(2))
    propose(db, "I like tea", time=later(2))
    lines = told(db, session)
    assert len(lines) == 12
    assert lines[-2:] == ["and 3 more", "1 to review: /review"]


def test_a_changed_skill_is_told_by_its_name(db, session):
    def skill(name, text, state="accepted"):
        return db.insert(
            """insert into skill (uid, owner, name, description, text, state, origin, at, utc_offset, changed_at)
               values (?1, 'person', ?1, 'd', ?2, ?3, 'typed', '', 0, '')""",
            (name, text, state),
        )

    def version(id, was, time):
        db.execute(
            """insert into skill_version (skill_id, change, was, batch, actor, at, utc_offset)
               values (?, 'x', ?, 'b', 'person', ?, 0)""",
            (id, was, time),
        )

    at = "2026-01-04T12:00:00.000Z"
    with db.write():
        version(skill("deploy", "new"), '{"state": "accepted", "name": "deploy", "text": "old"}', at)
        version(skill("backup", "x"), None, at)
        version(skill("water-plants", "x", "pending"), None, at)

    assert told(db, session) == ["+ k2 backup", "~ k1 deploy", "1 to review: /review"]


def test_a_statement_is_shown_safe_and_short(db, session):
    add(db, f"My cat \x1b[2J is {'very ' * 30}old", time=later(2))
    (line,) = told(db, session)
    assert ("\x1b" in line, len(line) <= 106) == (False, True)
