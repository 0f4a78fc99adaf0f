"""How a fact is named, listed and confirmed on the command line."""

from collections.abc import Sequence

import typer

from agent_cli import clock
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.adoption import Adopted
from agent_cli.memory.facts.facts import ACCEPTED, REJECTED, Fact
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


def table(rows: Sequence[Fact], as_json: bool, *, marks: bool = True) -> None:
    """Facts as lines, or as one array of objects."""
    if as_json:
        output.put_json([each.describe() for each in rows])
        return
    lines = [
        {
            "id": each.handle,
            "day": each.day,
            "mark": _mark(each) if marks else "",
            "fact": each.statement + (f" ({place(each)})" if place(each) else ""),
        }
        for each in rows
    ]
    marked = ["mark"] if any(line["mark"] for line in lines) else []
    output.listing(lines, ["id", "day", *marked, "fact"], as_json=False)


def receipt(adopted: Adopted, verb: str = "saved") -> str:
    """The line printed after a fact was written."""
    fact = adopted.fact
    if not adopted.new:
        return f"known already: {short(fact)}"
    text = f"{verb} {short(fact)}"
    if adopted.replaced:
        text += f"; it replaces {adoption.format_names(adopted.replaced)}"
    elif fact.valid_to:
        text += f"; it was true until {day(fact, fact.valid_to)}"
    return text


def undo_result(fact: Fact) -> str:
    """The state of a fact after an undo; a fact that the undone change had added is rejected."""
    if fact.state == REJECTED:
        return "is not kept"
    return f"is {fact.state} again{', hidden' if fact.hidden_at else ''}"


def note_masked(fact: Fact, words: str) -> None:
    """Print a note when a secret in the fact was masked."""
    if "[masked: " in fact.statement and "[masked: " not in words:
        output.note(f"a secret in it was masked; `agent facts edit {fact.handle} WORDS` keeps what you write there")


def _mark(fact: Fact) -> str:
    return fact.state if fact.state != ACCEPTED else ""
