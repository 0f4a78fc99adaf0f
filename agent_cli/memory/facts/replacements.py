"""Which facts a fact replaced and which replaced it, read from the batches of its history."""

from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.store.db import Database


def replaced(db: Database, fact: Fact) -> list[Fact]:
    """The facts that ended when this one was accepted."""
    return _changed_together(db, fact, "<>", "=")


def replaced_by(db: Database, fact: Fact) -> list[Fact]:
    """The facts that ended this one when they were accepted."""
    return _changed_together(db, fact, "=", "<>")


def _changed_together(db: Database, fact: Fact, mine: str, theirs: str) -> list[Fact]:
    """Facts of the same batch; `mine` and `theirs` compare the change of each side with 'replaced'."""
    rows = db.rows(
        f"""select distinct o.fact_id from fact_version v
            join fact_version o on o.batch = v.batch and o.fact_id <> v.fact_id and o.undone = 0
            where v.fact_id = ? and v.undone = 0 and v.change {mine} 'replaced' and o.change {theirs} 'replaced'
              and 'replaced' in (v.change, o.change)
              and (v.change in ('added', 'accepted', 'edited', 'restored', 'replaced'))
              and (o.change in ('added', 'accepted', 'edited', 'restored', 'replaced'))
            order by 1""",
        (fact.id,),
    )
    return facts.many(db, [id for (id,) in rows], fact.owner)
