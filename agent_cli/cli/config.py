"""`agent config`: where the settings are, what they are, and how to change one."""

from dataclasses import fields
from typing import Annotated

import typer

from agent_cli.cli import consent, output
from agent_cli.cli.invocation import AsJson, Decision, Invocation
from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError
from agent_cli.terminal import open_editor

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Show and change the settings."
)


@app.command()
def path(context: typer.Context) -> None:
    """Print where the settings and the database are."""
    invocation: Invocation = context.obj
    output.say(f"config    {settings_file.default_file()}")
    output.say(f"database  {settings_file.database(invocation.settings().config)}")


@app.command()
def show(
    context: typer.Context,
    origin: Annotated[bool, typer.Option("--origin", help="Also show where each value comes from.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show every setting as it is now."""
    loaded = context.obj.settings()
    rows = [
        {"id": each.name, "value": getattr(loaded.config, each.name), "origin": loaded.origins[each.name]}
        for each in fields(Config)
    ]
    columns = ("setting", "value", "origin") if origin else ("setting", "value")
    shown = [{**row, "setting": row["id"], "value": settings_file.toml_line(row["value"])} for row in rows]
    output.listing(rows if as_json else shown, columns, as_json=as_json, empty="")


@app.command(cls=Decision)
def edit(context: typer.Context) -> None:
    """Open the settings in your editor, and check them afterwards."""
    file = settings_file.default_file()
    settings_file.make(file)
    try:
        editor = context.obj.settings().config.editor
    except ConfigError:
        editor = ""  # probably the mistake that is to be corrected
    open_editor(file, editor)
    settings_file.load(file)
    output.note("the settings are in order")


@app.command("set", cls=Decision)
def set_(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="The setting, as in num_ctx; in a table, as in rules.save_note.")],
    value: Annotated[str, typer.Argument(help="Its new value.")],
) -> None:
    """Change one setting; comments and order of the file are kept."""
    from agent_cli.app.app import check_setting  # imports the tools, which only a changed setting needs

    check_setting(key, value)
    file = settings_file.default_file()
    output.say(f"{settings_file.write(file, key, value, _confirm)} (in {file})")


def _confirm(line: str) -> None:
    """Ask before the model may do more than before; a rule that denies is no more."""
    if line.startswith("rules") and not line.endswith('= "deny"'):
        consent.ask(f"{line}\nlet the model do so?", "nothing was changed")
