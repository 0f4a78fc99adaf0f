"""`agent facts edit`: one fact, or all facts as one file."""

from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.facts import fact_format
from agent_cli.editor import edited
from agent_cli.memory.facts import adoption, fact_markdown, facts
from agent_cli.memory.facts.facts import Fact


def edit(
    context: typer.Context,
    handle: Annotated[str | None, typer.Argument(help="The fact's handle; without it: all facts as one file.")] = None,
    words: Annotated[list[str] | None, typer.Argument(help="Its new words; without them in your editor.")] = None,
) -> None:
    """Change a fact, or all of them as one file in your editor."""
    app_: App = context.obj.app()
    app_.refuse_child()
    if handle is None:
        _edit_all(app_)
        return
    fact = fact_format.find(context, handle)[1]
    if words:
        _edit_one(app_, fact, " ".join(words))
        return
    with edited(fact.statement, app_.config.editor) as typed:
        _edit_one(app_, fact, typed)


def _edit_one(app_: App, fact: Fact, words: str) -> None:
    if words.strip() == fact.statement.strip():
        output.note(f"{fact.handle} was left as it is")
        return
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
        applied = fact_markdown.apply(app_.db, app_.scope, changes, app_.time, app_.single_valued)
    for fact in applied.edited:
        output.say(f"changed {fact_format.short(fact)}")
    for fact in applied.hidden:
        output.say(f"hidden {fact_format.short(fact)}")
    for adopted in applied.added:
        output.say(fact_format.receipt(adopted, app_.time()))
    output.note("`agent facts undo` takes all of it back")
