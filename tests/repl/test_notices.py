from types import SimpleNamespace

from agent_cli.repl.greeting import Notices
from agent_cli.store import jobs
from tests import facts
from tests.conftest import NOON, empty, memory_of


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
