"""`agent config`: where the settings are, what they are, and how to change one."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from agent_cli import config
from agent_cli.cli import output
from agent_cli.cli.options import AsJson
from agent_cli.cli.run import Run
from agent_cli.config import Config
from agent_cli.errors import ConfigError, UsageError
from agent_cli.repl.editor import open_editor

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Show and change the settings."
)


@app.command()
def path(context: typer.Context) -> None:
    """Say where the settings and the database are."""
    run: Run = context.obj
    output.say(f"config    {config.default_file()}")
    output.say(f"database  {config.database(run.settings().config)}")


@app.command()
def show(
    context: typer.Context,
    origin: Annotated[bool, typer.Option("--origin", help="Beside each value, where it came from.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show every setting as it is now."""
    loaded = context.obj.settings()
    rows = [
        {"id": each.name, "value": getattr(loaded.config, each.name), "origin": loaded.origins[each.name]}
        for each in fields(Config)
    ]
    shown = rows if as_json else [{**row, "value": repr(row["value"])} for row in rows]
    output.listing(shown, ("id", "value", "origin") if origin else ("id", "value"), as_json=as_json)


@app.command()
def edit(context: typer.Context) -> None:
    """Open the settings in your editor, and check them after."""
    file = config.default_file()
    _make(file)
    try:
        editor = context.obj.settings().config.editor
    except ConfigError:
        editor = ""  # the very mistake that is to be mended
    open_editor(file, editor)
    config.load(file)
    output.note("the settings are in order")


@app.command("set")
def set_(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="The setting, as in num_ctx; rules.save_note for one of a table.")],
    value: Annotated[str, typer.Argument(help="Its new value.")],
) -> None:
    """Change one setting; comments and order of the file are kept."""
    import tomlkit  # needed here alone: 40 ms
    from tomlkit.exceptions import TOMLKitError

    if context.obj.child and key.partition(".")[0] == "retention":
        raise UsageError("the assistant started this process, and only you say what is removed: run it at your prompt")
    file = config.default_file()
    _make(file)
    try:
        document = tomlkit.parse(file.read_text(encoding="utf-8"))
    except (TOMLKitError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}; mend it with `agent config edit`") from error
    name, _, entry = key.partition(".")
    if entry:
        if not isinstance(document.get(name), dict):  # there is none yet, or a mistake is mended so
            document[name] = tomlkit.table()
        table = document[name]
        config.check(name, {**table.unwrap(), entry: _guess(value)}, key)
        table[entry] = _guess(value)
    else:
        document[name] = config.check(name, config.parse(name, value, key), key)
    part = file.with_name(file.name + ".part")  # a full disk leaves the old file whole
    try:
        part.write_text(tomlkit.dumps(document), encoding="utf-8")
        os.replace(part, file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    output.say(f"{key} = {value} (in {file})")


def _guess(value: str) -> object:
    """A value in a table, whose kind nobody declares: a number, a list or true where it reads like one, else text."""
    import tomllib

    try:
        return tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return value


def _make(file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as error:
        raise UsageError(f"{file} cannot be made: {error.strerror}") from error
