"""Receipts: what the program reports about a new fact. They never come from a model."""

from agent_cli import text
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import ACCEPTED, EXPIRED, PENDING, REJECTED, SUPERSEDED, Fact
from agent_cli.memory.language import terms
from agent_cli.store.db import Database

_STATES = {
    PENDING: "waits for your yes already",
    ACCEPTED: "was known already",
    REJECTED: "was rejected before",
    SUPERSEDED: "was true before",
    EXPIRED: "was proposed before and expired",
}


def accepted(adopted: Adopted) -> str:
    """The receipt for an accepted fact."""
    named = adoption.format_names([adopted.fact])
    if not adopted.new:
        return f"{named} was known already"
    ended = f", in place of {adoption.format_names(adopted.replaced)}" if adopted.replaced else ""
    return f"kept {named}{ended} (agent facts undo takes it back)"


def pending(fact: Fact) -> str:
    return f"{fact.handle} waits for your yes: “{facts.name(fact)}”"


def not_proposed(db: Database, owner: str, statement: str) -> str:
    """Why a statement was not proposed."""
    same = [each for each in facts.similar(db, owner, statement) if terms.is_similar(each.statement, statement)]
    if not same:
        return f"“{text.one_line(statement)}” was not proposed: it is known, or you had it erased"
    return f"{adoption.format_names(same[-1:])} {_STATES[same[-1].state]}"
