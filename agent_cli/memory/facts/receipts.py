"""Receipts: what the program reports about a new fact. They never come from a model."""

from datetime import datetime

from agent_cli import clock, text
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import SUPERSEDED, Fact
from agent_cli.memory.language import terms
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED
from agent_cli.messages import Receipt
from agent_cli.store.db import Database

_STATES = {
    PENDING: "waits for your yes already",
    ACCEPTED: "was known already",
    REJECTED: "was rejected before",
    SUPERSEDED: "was true before",
    EXPIRED: "was proposed before and expired",
}


def accepted(adopted: Adopted, now: datetime, *, at_prompt: bool = False) -> str:
    """The receipt for an accepted fact; at the prompt it names the slash command that takes it back."""
    changed = adopted.replaced[0] if adopted.fact.operation == "delete" and adopted.replaced else adopted.fact
    undo = f"{f'/undo {changed.handle}' if at_prompt else 'agent facts undo'} takes it back"
    named, stated = adoption.format_names([adopted.fact]), dates(adopted.fact, now)
    if adopted.new and adopted.fact.operation == "delete":
        line = ended(adopted, now)
        return type(line)(f"{line} ({undo})")
    if not adopted.new:
        return f"{named} was known already{f'; now {stated}' if adopted.dated else ''}"
    instead = f", in place of {adoption.format_names(adopted.replaced)}" if adopted.replaced else ""
    if instead and adopted.fact.is_planned(now):
        instead += " from then on"
    where = " for this project" if adopted.fact.place else ""
    return Receipt(f"kept {named}{where}{f' ({stated})' if stated else ''}{instead} ({undo})")


def ended(adopted: Adopted, now: datetime) -> str:
    """The receipt for what the person said is over."""
    each = [f"{adoption.format_names([fact])} ({dates(fact, now)})" for fact in adopted.replaced]
    return Receipt(f"ended {', '.join(each)}") if each else "nothing was ended: it was over already"


def undone(fact: Fact) -> str:
    """The receipt for a change that was taken back; a fact that the change had added is rejected by that."""
    state = "is not kept" if fact.state == REJECTED else f"is {fact.state} again{', hidden' if fact.hidden_at else ''}"
    return Receipt(f"taken back: {fact.handle} “{facts.name(fact)}” {state}")


def pending(fact: Fact) -> str:
    stated = dates(fact)
    return f"{fact.handle} waits for your yes: “{facts.name(fact)}”{f' ({stated})' if stated else ''}"


def dates(fact: Fact, now: datetime | None = None) -> str:
    """From when until when a fact is true, as far as that was stated: `since 3 Mar 2026`, `planned from 1 Jan 2027`.

    Without `now` it is not said whether it is planned or over. Empty when nothing was stated.
    """
    since, until = (moment and clock.format_day(moment, fact.utc_offset) for moment in (fact.valid_from, fact.valid_to))
    if now and fact.is_planned(now):
        return f"planned from {since}{f' until {until}' if until else ''}"
    if now and fact.is_over(now):
        return f"true {f'from {since} ' if since and fact.began_at < (fact.valid_to or '') else ''}until {until}"
    if since:
        return f"since {since}{f', until {until}' if until else ''}"
    return f"true until {until}" if until else ""


def dates_ahead(fact: Fact, now: datetime) -> str:
    """That a fact begins or ends in the future; else empty."""
    if fact.is_planned(now):
        return dates(fact, now)
    return f"until {clock.format_day(fact.valid_to, fact.utc_offset)}" if fact.valid_to and fact.is_true(now) else ""


def not_proposed(db: Database, owner: str, statement: str) -> str:
    """Why a statement was not proposed."""
    same = [each for each in facts.similar(db, owner, statement) if terms.is_similar(each.statement, statement)]
    if not same:
        return f"“{text.one_line(statement)}” was not proposed: it is known, or you had it erased"
    return f"{adoption.format_names(same[-1:])} {_STATES[same[-1].state]}"
