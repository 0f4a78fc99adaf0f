"""Recall tests: questions of the person, each with words that must occur in what recall finds."""

from collections.abc import Callable, Sequence
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.scope import Scope
from agent_cli.memory.search.recall import RecallResult
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

TOP = 5  # hits in which the words must occur


@frozen
class Test:
    id: int
    question: str
    mention: str  # on each line, words that must occur in one of the hits

    __test__ = False  # pytest must not collect it

    @property
    def handle(self) -> str:
        return ids.handle("test", self.id)

    @property
    def mentions(self) -> list[str]:
        return self.mention.split("\n")

    def describe(self) -> dict[str, Any]:
        return {"id": self.handle, "question": self.question, "mention": self.mentions}


def add(db: Database, scope: Scope, question: str, mentions: Sequence[str], time: clock.Clock) -> Test:
    """Add a test. Raises UsageError when the question or the expected words are empty."""
    asked, expected = _normalised(question), [_normalised(each) for each in mentions if each.strip()]
    if not asked or not expected:
        raise UsageError("a test needs a question and, with --mention, words that its answer must hold")
    now = time()
    with db.write():
        id = db.insert(
            "insert into fact_test (uid, owner, question, mention, at) values (?, ?, ?, ?, ?)",
            (ids.new(now), scope.owner, asked, "\n".join(expected), clock.utc(now)),
        )
    return get(db, id, scope.owner)


def get(db: Database, id: int, owner: str) -> Test:
    row = db.row("select id, question, mention from fact_test where id = ? and owner = ?", (id, owner))
    if row is None:
        raise UsageError(f"there is no test q{id}; `agent facts test list` shows them all")
    return Test(*row)


def listing(db: Database, owner: str, limit: int = -1) -> list[Test]:
    rows = db.rows("select id, question, mention from fact_test where owner = ? order by id limit ?", (owner, limit))
    return [Test(*row) for row in rows]


def missing(test: Test, find: Callable[[str], RecallResult]) -> list[str]:
    """The expected words that occur in none of the hits; case and spaces are ignored."""
    texts = [_normalised(hit.text).casefold() for hit in find(test.question).hits[:TOP]]
    return [words for words in test.mentions if not any(words.casefold() in each for each in texts)]


def erase(db: Database, test_ids: Sequence[int]) -> None:
    db.execute("delete from fact_test where id in (select value from json_each(?))", (test_ids,))


def _normalised(words: str) -> str:
    return " ".join(words.split())
