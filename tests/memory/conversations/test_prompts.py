"""What was typed at the prompt, kept and shown again."""

from datetime import timedelta

import pytest

from agent_cli.memory.conversations import log
from tests.conftest import HERE, NOON
from tests.recalling import STRANGER


def add(db, *lines, scope=HERE):
    for line in lines:
        log.add_prompt(db, scope, None, line, NOON + timedelta(seconds=1))


def test_lines_are_kept_whole_the_newest_first(db):
    add(db, "one", "two\nlines", "drei")
    assert log.recent_prompts(db, "person", 2) == ["drei", "two\nlines"]


@pytest.mark.parametrize(
    ("lines", "kept"), [(["a", "a", "b", "a"], ["a", "b", "a"]), ([" secret"], []), (["", "  ", "\n"], [])]
)
def test_the_same_again_and_what_begins_with_a_space_is_not_kept(db, lines, kept):
    add(db, *lines)
    assert log.recent_prompts(db, "person", 9) == kept


def test_nobody_sees_anothers(db):
    add(db, "mine")
    add(db, "theirs", scope=STRANGER)
    assert log.recent_prompts(db, "person", 9) == ["mine"]
    add(db, "mine")
    assert log.recent_prompts(db, "person", 9) == ["mine"]


def test_what_was_pasted_is_known_by_its_place(db):
    log.add_prompt(db, HERE, None, "see this text", NOON, ["this text"])
    add(db, "typed")
    assert log.pasted_prompts(db, "person", 9) == {"see this text": ["this text"]}
    assert db.value("select pasted from prompt") == "[[4, 9]]"


def test_the_oldest_are_dropped(db):
    add(db, *(f"line {number}" for number in range(log.MAX_PROMPTS + 2)))
    assert db.value("select min(text) from prompt where id < 4") == "line 2"
    assert db.value("select count(*) from prompt") == log.MAX_PROMPTS


def test_what_is_erased_is_gone(db):
    add(db, "a", "b")
    with db.write():
        log.erase_prompts(db, [1])
    assert log.recent_prompts(db, "person", 9) == ["b"]
