"""`agent facts edit`: one fact, or all facts as one file."""

from datetime import timedelta
from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.facts import fact_format
from agent_cli.cli.options import parse_moment
from agent_cli.editor import edited
from agent_cli.errors import UsageError
from agent_cli.memory.facts import adoption, fact_markdown, facts, receipts
from agent_cli.memory.facts.facts import Fact
from agent_cli.text import counted

_UNCHANGED = "nothing was changed"


def edit(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(help="The fact's handle; without it: all facts as one file.")] = None,
    words: Annotated[list[str] | None, typer.Argument(help="Its new words; without them in your editor.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="It is true since this day, as in 2026-03-01.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="It is true up to and including this day.")] = None,
) -> None:
    """Change a fact or its dates, or all facts in your editor."""
    app_: App = context.obj.app()
    if since or until:
        _redate(context, handle, words, since, until)
        return
    if handle is None:
        _edit_all(app_)
        return
    fact = fact_format.find(context, handle)[1]
    if words:
        _edit_one(app_, fact, " ".join(words))
        return
    with edited(fact.statement, app_.config.editor) as typed:
        _edit_one(app_, fact, typed)


def _redate(
    context: typer.Context, handle: str | None, words: list[str] | None, since: str | None, until: str | None
) -> None:
    if handle is None or words:
        raise UsageError(
            "--since and --until change the dates of one fact, as in: agent facts edit f1 --since 2026-03-01"
        )
    app_, fact = fact_format.find(context, handle)
    now = app_.time()
    begins = parse_moment(since, now) if since else None
    ends = parse_moment(until, now, timedelta(milliseconds=1)) if until else None
    consent.obtain(app_, f"{fact_format.short(fact)}\nchange its dates?", _UNCHANGED)
    changed = adoption.redate(app_.db, fact, begins, ends, app_.time, app_.single_valued)
    output.say(f"changed {fact_format.short(fact)}, {receipts.dates(changed, now)}")


def _edit_one(app_: App, fact: Fact, words: str) -> None:
    if words.strip() == fact.statement.strip():
        output.note(f"{fact.handle} was left as it is")
        return
    consent.obtain(app_, f"{fact_format.short(fact)}\nto “{words.strip()}”\nchange it?", _UNCHANGED)
    changed = adoption.edit(app_.db, fact, words, app_.time, single_valued=app_.single_valued)
    output.say(f"changed {fact_format.short(changed)}")


def _edit_all(app_: App) -> None:
    """Open all current facts as one file in the editor, and apply the changes."""
    opened = facts.listing(app_.db, app_.scope.owner, -1, not_over=app_.time())
    with edited(fact_markdown.render(opened), app_.config.editor) as typed:
        changes = fact_markdown.read(opened, typed)
        if not changes:
            output.note("nothing was changed")
            return
        consent.obtain(app_, f"save {counted(changes.number, 'changed line')}?", _UNCHANGED)
        applied = fact_markdown.apply(app_.db, app_.scope, changes, app_.time, app_.single_valued)
    for fact in applied.edited:
        output.say(f"changed {fact_format.short(fact)}")
    for fact in applied.hidden:
        output.say(f"hidden {fact_format.short(fact)}")
    for adopted in applied.added:
        output.say(fact_format.receipt(adopted, app_.time()))
    output.note("`agent facts undo` takes all of it back")
