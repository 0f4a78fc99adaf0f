"""`agent facts test`: saved questions, to check whether memory still answers them."""

from typing import Annotated

import typer

from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, LimitOption
from agent_cli.memory.facts import fact_tests
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.search.recall import RecallResult
from agent_cli.store import ids

_EMPTY = "there are no tests; `agent facts test add QUESTION --mention WORDS` adds one"

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Ask saved questions, and check whether memory answers them."
)


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Ask saved questions, and check whether memory answers them. Exit 1 when it does not."""
    if context.invoked_subcommand is None:
        _run(context.obj.app(), as_json=False)


@app.command()
def add(
    context: typer.Context,
    question: Annotated[list[str], typer.Argument(help="What will be asked.")],
    mention: Annotated[
        list[str], typer.Option("--mention", help="Words that one of the best hits must contain; may be given again.")
    ],
) -> None:
    """Save a question."""
    app_: App = context.obj.app()
    test = fact_tests.add(app_.db, app_.scope, " ".join(question), mention, app_.time)
    output.say(f"saved {test.handle} “{test.question}”")


@app.command("list")
def list_(context: typer.Context, limit: LimitOption = 100, as_json: AsJson = False) -> None:
    """List the questions."""
    app_: App = context.obj.app()
    found = fact_tests.listing(app_.db, app_.scope.owner, limit)
    rows = [each.describe() for each in found]
    if not as_json:
        rows = [{**row, "mention": " + ".join(row["mention"])} for row in rows]
    output.listing(rows, ("id", "question", "mention"), as_json=as_json, empty=_EMPTY)


@app.command()
def rm(context: typer.Context, handles: list[str]) -> None:
    """Erase questions."""
    app_: App = context.obj.app()
    owner = app_.scope.owner
    found = [fact_tests.get(app_.db, ids.number("test", handle), owner) for handle in handles]
    with app_.db.write():
        fact_tests.erase(app_.db, [each.id for each in found])
    for each in found:
        output.say(f"erased {each.handle} “{each.question}”")


@app.command()
def run(context: typer.Context, as_json: AsJson = False) -> None:
    """Ask all of them. Exit 1 when an answer is not found."""
    _run(context.obj.app(), as_json)


def _run(app_: App, as_json: bool) -> None:
    embedder, allowed = upkeep.prepare_search(app_, app_.db), Filter(app_.scope.owner)

    def find(question: str) -> RecallResult:
        found = recall.find(app_.db, question, allowed, app_.time(), fact_tests.TOP, embedder)
        upkeep.report_damage(app_, app_.db, found.damaged)
        return found

    tests = fact_tests.listing(app_.db, app_.scope.owner)
    missing = {each.handle: fact_tests.missing(each, find) for each in tests}
    if as_json:
        output.put_json([{**each.describe(), "missing": missing[each.handle]} for each in tests])
    for each in tests if not as_json else ():
        lacks = missing[each.handle]
        output.say(f"{'✗' if lacks else '✓'} {each.handle}  {each.question}{_format_missing(lacks)}")
    if not tests and not as_json:
        output.note(_EMPTY)
    if any(missing.values()):
        raise typer.Exit(1)


def _format_missing(words: list[str]) -> str:
    return f"  (not found: {', '.join(words)})" if words else ""
