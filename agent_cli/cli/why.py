"""`agent why`: what memory added to a question, and what the score of each line is made of."""

import sys
from typing import Annotated

import typer

from agent_cli.agent import profile
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson
from agent_cli.memory.search import recall_log

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def why(
    context: typer.Context,
    turn: Annotated[str | None, typer.Argument(help="The message, as in m12; without it your last one.")] = None,
    scores: Annotated[bool, typer.Option("--score", help="Also what each score is made of.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what was recalled for a question, and why."""
    app_ = context.obj.app()
    message = recall_log.message_id(app_.db, app_.scope.owner, turn)
    used = recall_log.recalled_for(app_.db, message)
    always = profile.shown_with(app_.db, app_.scope, message, app_.time(), app_.profile_tokens)
    if as_json:
        recalled = [
            {"id": each.handle, "kind": each.kind, "score": each.score, "legs": each.legs, "text": each.text}
            for each in used
        ]
        shown = [{"id": each.handle, "kind": "fact", "always": True, "text": each.statement} for each in always]
        output.put_json([*recalled, *shown])
        return
    display = output.look(sys.stdout)
    if display is None:
        output.say(recall_log.explain(app_.db, message))
    else:
        from agent_cli.repl.pages import memories  # a pipe needs none of it

        print(memories.why_page(app_.db, app_.scope.owner, message, display, scores=scores))
    if always:
        output.say(profile.always_told(always))
