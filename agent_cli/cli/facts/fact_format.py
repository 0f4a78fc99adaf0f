"""How a fact is named, listed and confirmed on the command line."""

import sys
from collections.abc import Sequence
from datetime import datetime

import typer

from agent_cli import clock
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.memory.facts import adoption, facts, receipts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.store import ids


def find(context: typer.Context, handle: str) -> tuple[App, Fact]:
    """Raises UsageError when the handle names no fact."""
    app_: App = context.obj.app()
    return app_, facts.get(app_.db, ids.number("fact", handle), app_.scope.owner)


def short(fact: Fact) -> str:
    return f"{fact.handle} “{facts.name(fact)}”"


def day(fact: Fact, moment: str | None) -> str:
    """The local day of a moment, by the UTC offset of the fact; empty without a moment."""
    return f"{clock.local(moment, fact.utc_offset):%Y-%m-%d}" if moment else ""


def place(fact: Fact) -> str:
    """Where a fact holds; empty: everywhere."""
    if fact.session_id:
        return f"in session {ids.handle('session', fact.session_id)} alone"
    return f"in {fact.place}" if fact.place else ""


def table(rows: Sequence[Fact], as_json: bool, now: datetime, empty: str, *, marks: bool = True) -> None:
    """Facts as lines, or as one array of objects; `empty` is said at a terminal where there are none."""
    if as_json:
        output.put_json([each.describe() | {"planned": each.is_planned(now)} for each in rows])
        return
    lines = [
        {
            "id": each.handle,
            "day": each.day,
            "mark": _mark(each, now) if marks else "",
            "fact": each.statement + _notes(each, now),
        }
        for each in rows
    ]
    display = output.look(sys.stdout)
    if lines and display:
        from agent_cli.repl.pages import fact_page  # a pipe needs none of it

        words = [f"{line['fact']}{f' ({mark})' if (mark := line['mark']) else ''}" for line in lines]
        print(fact_page.page(list(zip(rows, words, strict=True)), display))
        return
    marked = ["mark"] if any(line["mark"] for line in lines) else []
    output.listing(lines, ["id", "day", *marked, "fact"], as_json=False, empty=empty)


def receipt(adopted: Adopted, now: datetime, verb: str = "saved") -> str:
    """The line printed after a fact was written."""
    fact, dates = adopted.fact, receipts.dates(adopted.fact, now)
    if adopted.new and fact.operation == "delete":
        return receipts.ended(adopted, now)
    if not adopted.new:
        return f"known already: {short(fact)}{f'; now {dates}' if adopted.dated else ''}"
    text = f"{verb} {short(fact)}{f', {dates}' if dates else ''}"
    if adopted.replaced:
        then = " from then on" if fact.is_planned(now) else ""
        text += f"; it replaces {adoption.format_names(adopted.replaced)}{then}"
    return text


def note_masked(fact: Fact, words: str) -> None:
    """Print a note when a secret in the fact was masked."""
    if "[masked: " in fact.statement and "[masked: " not in words:
        output.note(f"a secret in it was masked; `agent facts edit {fact.handle} WORDS` keeps what you write there")


def _mark(fact: Fact, now: datetime) -> str:
    if fact.state != ACCEPTED:
        return fact.state
    return "planned" if fact.is_planned(now) else "ended" if fact.is_over(now) else ""


def _notes(fact: Fact, now: datetime) -> str:
    """Where a fact is true, if not everywhere, and until when, if that is known."""
    until = f"until {day(fact, fact.valid_to)}" if fact.valid_to and fact.is_open(now) else ""
    notes = [note for note in (place(fact), until) if note]
    return f" ({'; '.join(notes)})" if notes else ""
