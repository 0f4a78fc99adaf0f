"""What tests of facts say and ask, in a line each."""

from datetime import timedelta

from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON
from tests.conftest import HERE, noon
from tests.recalling import day


def are_asked_for(body):
    """Whether a request to a model is that of the job that learns."""
    return '{"operations": []}' in body["messages"][-1]["content"]


def claim(statement, *triple, origin="typed", since=None, **told):
    """What is said; `since` is a day."""
    return Claim(
        statement, origin, triple=Triple(*triple) if triple else None, valid_from=day(since) if since else None, **told
    )


def lives(place, since, statement="", origin="typed"):
    return claim(statement or f"I live in {place}", "person", "lives_in", place, since=since, origin=origin)


def add(db, told, scope=HERE, time=noon):
    return adoption.add(MemoryContext(db, scope, time), told if isinstance(told, Claim) else claim(told))


def propose(db, told, scope=HERE, time=noon):
    return adoption.propose(
        MemoryContext(db, scope, time), told if isinstance(told, Claim) else claim(told, origin="model")
    )


def later(days):
    """A clock so many days after noon."""
    return lambda: noon() + timedelta(days=days)


def stand(db, owner=PERSON):
    """(statement, state) of every fact, in the order they came."""
    return db.rows("select statement, state from fact where owner = ? order by id", (owner,))


def as_of(db, when):
    return [each.statement for each in facts.listing(db, PERSON, 9, as_of=day(when))]


def rows(db):
    """All facts and marks, whole."""
    return [db.rows(f"select * from {table} order by 1, 2") for table in ("fact", "fact_mark", "fact_source")]
