"""`agent models`: the models of the server."""

from contextlib import suppress
from typing import Annotated, Any

import typer

from agent_cli.app.app import engine_of
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Invocation, LimitOption, Noun
from agent_cli.cli.progress import ProgressLine
from agent_cli.config.values import Config
from agent_cli.errors import AgentError, UsageError
from agent_cli.llm import ollama_models
from agent_cli.llm.engine import refuse_cloud
from agent_cli.llm.ollama_models import ListedModel

_TIMEOUT = 5.0  # seconds that a list may take

app = typer.Typer(
    cls=Noun,
    add_completion=False,
    rich_markup_mode=None,
    help="List the models of the server, choose or fetch one.",
)


@app.command("list")
def list_(context: typer.Context, limit: LimitOption = 100, as_json: AsJson = False) -> None:
    """List the models: size, context, what they can, what is loaded. Cloud models are marked."""
    found = _listing(context.obj.settings().config)[:limit]
    rows = [
        {
            "id": each.name,
            "size": each.size,
            "context": each.context_length,
            "capabilities": list(each.capabilities),
            "loaded": each.loaded,
            "cloud": each.cloud,
        }
        for each in found
    ]
    output.listing(
        rows if as_json else map(_displayed, rows),
        ("id", "size", "context", "state", "capabilities"),
        as_json=as_json,
        empty="the server has no models; `agent models pull NAME` fetches one",
    )


@app.command()
def use(
    context: typer.Context, name: Annotated[str, typer.Argument(help="The model that answers from now on.")]
) -> None:
    """Choose the model: it is written to the settings."""
    from agent_cli.cli.config import set_

    refuse_cloud(name)
    config = context.obj.settings().config
    with suppress(AgentError):  # a server that does not answer now may have it
        found = ollama_models.listing(config.host) if config.engine == "ollama" and name != "offline" else []
        if found and not {name, f"{name}:latest"} & {each.name for each in found}:
            context.obj.note(f"the server has no {name} yet; `agent models pull {name}` fetches it")
    set_(context, "model", name)


@app.command()
def pull(context: typer.Context, name: Annotated[str, typer.Argument(help="As in qwen3:4b.")]) -> None:
    """Fetch a model. An interrupted download continues where it stopped."""
    invocation: Invocation = context.obj
    if (engine := invocation.settings().config.engine) != "ollama":
        raise UsageError(f"models are fetched by Ollama, and the engine is {engine}: agent config set engine ollama")
    last, percent = "", 0
    with ProgressLine(invocation.quiet) as line:
        try:
            for state in ollama_models.fetch(invocation.settings().config.host, name):
                percent = state.percent or percent
                if state.notice:
                    line.note(state.notice)
                line.show(state.line)
                if not line.live and state.coarse_line not in ("", last):
                    last = state.coarse_line
                    invocation.note(last)
        except KeyboardInterrupt:
            raise ollama_models.cancelled(name, percent) from None
    output.say(f"{name} is here; `agent models use {name}` makes it the one that answers")


def _listing(config: Config) -> list[ListedModel]:
    if config.engine == "ollama":
        return ollama_models.listing(config.host)
    engine = engine_of(config)
    return [
        ListedModel(
            tag.name,
            tag.size,
            None,
            tag.context_length,
            tag.capabilities,
            engine.loaded(tag.name) is True,
            tag.elsewhere,
        )
        for tag in engine.listing(_TIMEOUT)
    ]


def _displayed(row: dict[str, Any]) -> dict[str, Any]:
    state = "cloud, not used" if row["cloud"] else "loaded" if row["loaded"] else "-"
    size = f"{row['size'] / 1e9:.1f} GB" if row["size"] else "-"
    context = f"{row['context']} tokens" if row["context"] else "-"
    return {**row, "size": size, "context": context, "state": state, "capabilities": ", ".join(row["capabilities"])}
