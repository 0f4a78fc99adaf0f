"""`agent config`, `agent models` and `agent doctor`: the settings, the models of the server, and whether all works."""

from dataclasses import asdict, fields

from typer import Exit

from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import AsJson, Limit, argument, flag, group, noun
from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.errors import ConfigError, UsageError
from agent_cli.terminal import open_editor

_TIMEOUT = 5.0  # seconds that a list of models may take

app = noun("Show and change the settings.")


@app.command()
def path(invocation: Invocation) -> None:
    """Print where the settings and the database are."""
    output.say(f"config    {settings_file.default_file()}")
    output.say(f"database  {settings_file.database(invocation.settings().config)}")


@app.command()
def show(
    invocation: Invocation,
    origin: bool = flag("--origin", "Also show where each value comes from."),
    as_json: AsJson = False,
) -> None:
    """Show every setting as it is now."""
    loaded = invocation.settings()
    rows = [(each.name, getattr(loaded.config, each.name), loaded.origins[each.name]) for each in fields(Config)]
    if as_json:
        output.put_json([{"id": name, "value": value, "origin": where} for name, value, where in rows])
        return
    shown = [{"setting": name, "value": settings_file.toml_line(value), "origin": where} for name, value, where in rows]
    output.table(shown, ("setting", "value", "origin") if origin else ("setting", "value"))


@app.command(decides=True)
def edit(invocation: Invocation) -> None:
    """Open the settings in your editor, and check them afterwards."""
    file = settings_file.default_file()
    settings_file.make(file)
    try:
        editor = invocation.settings().config.editor
    except ConfigError:
        editor = ""  # probably the mistake that is to be corrected
    open_editor(file, editor)
    settings_file.load(file)
    output.note("the settings are in order")


@app.command("set", decides=True)
def set_(
    key: str = argument("The setting, as in num_ctx; in a table, as in rules.save_note."),
    value: str = argument("Its new value."),
) -> None:
    """Change one setting; comments and order of the file are kept."""
    from agent_cli.app.app import check_setting  # imports the tools, which only a changed setting needs

    check_setting(key, value)
    file = settings_file.default_file()
    output.say(f"{settings_file.write(file, key, value, _confirm)} (in {file})")


def _confirm(line: str) -> None:
    """Ask before the model may do more than before; a rule that denies is no more."""
    if line.startswith("rules") and not line.endswith('= "deny"'):
        from agent_cli.cli import consent

        consent.ask(f"{line}\nlet the model do so?", "nothing was changed")


models_app = noun("List the models of the server, choose or fetch one.")


@models_app.command("list")
def list_(invocation: Invocation, limit: Limit = 100, as_json: AsJson = False) -> None:
    """List the models: size, context, what they can, what is loaded. Cloud models are marked."""
    from agent_cli.app.app import engine_of  # what reaches the server: the settings need none of it

    engine = engine_of(invocation.settings().config)
    found = engine.listing(_TIMEOUT)[:limit]
    loaded = engine.loaded([each.name for each in found]) or ()
    output.listing(
        found,
        as_json,
        lambda each: {
            "id": each.name,
            "size": each.size,
            "context": each.context_length,
            "capabilities": list(each.capabilities),
            "loaded": each.name in loaded,
            "cloud": each.elsewhere,
        },
        "id size context state capabilities",
        lambda each: (
            each.name,
            f"{each.size / 1e9:.1f} GB" if each.size else "-",
            f"{each.context_length} tokens" if each.context_length else "-",
            "cloud, not used" if each.elsewhere else "loaded" if each.name in loaded else "-",
            ", ".join(each.capabilities),
        ),
        "the server has no models; `agent models pull NAME` fetches one",
    )


@models_app.command()
def use(invocation: Invocation, name: str = argument("The model that answers from now on.")) -> None:
    """Choose the model: it is written to the settings."""
    from agent_cli.app import models  # as above
    from agent_cli.app.app import engine_of
    from agent_cli.llm.engine import AUTO, refuse_cloud

    refuse_cloud(name)  # also where no server answers
    is_served = name != AUTO and models.needs_engine(name)
    if is_served and (unchecked := models.check(engine_of(invocation.settings().config), name)):
        invocation.note(unchecked)
    set_("model", name)


@models_app.command()
def pull(invocation: Invocation, name: str = argument("As in qwen3:4b.")) -> None:
    """Fetch a model. An interrupted download continues where it stopped."""
    from agent_cli.llm import ollama

    config = invocation.settings().config
    if config.engine != "ollama":
        raise UsageError(
            f"models are fetched by Ollama, and the engine is {config.engine}: agent config set engine ollama"
        )
    last, percent = "", 0
    with output.ProgressLine(invocation.quiet) as line:
        try:
            for state in ollama.pull(config.host, name):
                percent = state.percent or percent
                line.show(state.line)
                if not line.live and state.coarse_line not in ("", last):
                    last = state.coarse_line
                    invocation.note(last)
        except KeyboardInterrupt:
            raise ollama.pull_stopped(name, percent) from None
    output.say(f"{name} is here; `agent models use {name}` makes it the one that answers")


doctor_app = group()


@doctor_app.command()
def doctor(invocation: Invocation, as_json: AsJson = False) -> None:
    """Check the server, the model, the database and the terminal. Exit 1 when something is wrong."""
    from agent_cli import checks  # no other command of this module needs it

    found = []
    for finding in checks.findings(invocation.settings, invocation.app):
        found.append(finding)
        if not as_json:
            output.say(checks.format_line(finding))
    if as_json:
        output.put_json([asdict(finding) for finding in found])
    if not all(finding.ok for finding in found):
        raise Exit(1)
