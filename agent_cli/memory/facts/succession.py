"""Which value of a single-valued predicate follows which: each ends where the next one begins.

Dates decide, not the order in which the person says things: who moved to Wels in March 2026 and says afterwards that
they moved to Linz in June 2025 lives in Wels. Without a date, a value was true when it was said, and what was said
later comes after it. A value that begins in the future ends the present one on that day and not before. Which facts a
fact replaced is read from the batches of its history.
"""

from collections.abc import Mapping, Sequence, Set

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import readings
from agent_cli.memory.facts import facts
from agent_cli.memory.facts.facts import ACCEPTED, SUPERSEDED, Fact
from agent_cli.memory.language import triples
from agent_cli.store.db import Database


def settle(db: Database, fact: Fact, time: clock.Clock, single_valued: Set[str], batch: str) -> tuple[Fact, ...]:
    """End each value of the fact's predicate where the next begins; returns the facts whose end has changed.

    A value that is over by a date of its own ends no other. Runs in the caller's transaction.
    """
    ended = [_close(db, fact, time, batch)] if fact.state == ACCEPTED and fact.is_over(time()) else []
    if fact.predicate not in single_valued:
        return tuple(ended)
    bound = ""  # where the next value begins
    for each in reversed(in_order(values(db, fact, single_valued))):
        if bound and (each.valid_to is None or each.valid_to > bound):
            each = replace(db, each, bound, time, batch)
            ended.append(each)
        if not (each.is_over(time()) and each.valid_to != bound):
            bound = min(filter(None, (bound, each.began_at)))
    return tuple({each.id: each for each in ended}.values())


def replace(db: Database, fact: Fact, until: str, time: clock.Clock, batch: str) -> Fact:
    """End a fact at this time because of another; in the future it stays true until then."""
    state = SUPERSEDED if until <= clock.utc(time()) else ACCEPTED
    return facts.change(db, fact, "replaced", time, actor="person", batch=batch, state=state, valid_to=until)


def redate(
    db: Database, fact: Fact, dates: Mapping[str, str | None], time: clock.Clock, single_valued: Set[str], batch: str
) -> tuple[Fact, ...]:
    """Correct `valid_from` and `valid_to`. Values that ended where the fact began follow it.

    Returns the facts whose end has changed. Runs in the caller's transaction.
    """
    moved = {column: moment for column, moment in dates.items() if moment != getattr(fact, column)}
    if "valid_from" in moved and fact.predicate in single_valued:
        others = [each for each in values(db, fact, single_valued) if each.id != fact.id]
        for each in others:
            if each.valid_to == fact.began_at:
                _reopen(db, each, time, batch)
        if fact.valid_to in [each.began_at for each in others]:
            fact = _reopen(db, fact, time, batch)
    if moved.get("valid_to"):
        moved["state"] = ACCEPTED
    changed = facts.change(db, fact, "edited", time, actor="person", batch=batch, **moved) if moved else fact
    return tuple(each for each in settle(db, changed, time, single_valued, batch) if each.id != fact.id)


def replaced(db: Database, fact: Fact) -> list[Fact]:
    """The facts that ended when this one was accepted."""
    return _changed_together(db, fact, "<>", "=")


def replaced_by(db: Database, fact: Fact) -> list[Fact]:
    """The facts that ended this one when they were accepted."""
    return _changed_together(db, fact, "=", "<>")


def in_order(found: Sequence[Fact]) -> list[Fact]:
    """Values in the order in which they became true.

    Those with a date are ordered by it. One without a date was true when it was said: it stands behind the last one
    that was said before it and had begun by then.
    """
    said = sorted(found, key=lambda each: (each.learned_at, each.id))
    dated = sorted((each for each in said if each.valid_from), key=lambda each: each.began_at)

    def position(fact: Fact) -> int:
        if fact.valid_from:
            return dated.index(fact)
        before = said[: said.index(fact)]
        begun = [n for n, each in enumerate(dated) if each in before and each.began_at <= fact.learned_at]
        return max(begun, default=-1)

    return sorted(said, key=lambda each: (position(each), each.valid_from is None))


def values(db: Database, fact: Fact, single_valued: Set[str]) -> list[Fact]:
    """The values of the fact's predicate in its place and session: one of a project does not end one of elsewhere."""
    found = facts.accepted_values(db, fact.owner, fact.subject, triples.forms(fact.predicate, single_valued))
    return [each for each in found if same_scope(each, fact)]


def same_scope(one: Fact, other: Fact) -> bool:
    """Whether both hold in the same place and session."""
    return (one.place, one.session_id) == (other.place, other.session_id)


def _close(db: Database, fact: Fact, time: clock.Clock, batch: str) -> Fact:
    """Mark a fact that is over by its own date as such."""
    return facts.change(db, fact, "ended", time, actor="person", batch=batch, state=SUPERSEDED)


def _reopen(db: Database, fact: Fact, time: clock.Clock, batch: str) -> Fact:
    return facts.change(db, fact, "edited", time, actor="person", batch=batch, state=ACCEPTED, valid_to=None)


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


def require_second_key(proposal: Fact, replaced: Sequence[Fact]) -> None:
    """Raises UsageError when a proposal of a turn in which something was read would end what the person typed."""
    typed = [f"{each.handle} “{facts.name(each)}”" for each in replaced if each.origin == "typed"]
    if typed and proposal.trust in readings.ORIGINS:
        raise UsageError(
            f"{proposal.handle} was proposed after something was read, and would end {', '.join(typed)}, which you "
            "typed: it waits until you say that it replaces that (r in `agent facts review`)"
        )
