"""`agent mcp`: this memory for other assistants, and the tools of other programs for this one."""

import shlex
import time
from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer

from agent_cli.agent import policy
from agent_cli.app import turns
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson
from agent_cli.errors import UsageError
from agent_cli.tools.mcp import redacted_address
from agent_cli.tools.tool import Tool

_NO_SERVER = "there are no tool servers; [mcp.NAME] in the settings, with a command or a url, sets one up"

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Offer this memory to other assistants, and see the tools of other programs (MCP).",
)


@app.callback()
def mcp() -> None:
    """Offer this memory to other assistants, and see the tools of other programs (MCP)."""


@app.command()
def serve(
    context: typer.Context,
    write: Annotated[
        bool, typer.Option("--write", help="Notes may be saved too, and facts proposed; those wait for your yes.")
    ] = False,
) -> None:
    """Serve what is remembered, on standard input and output. Another assistant starts this."""
    from agent_cli.serve import mcp  # the library takes 0.6 s

    mcp.serve(context.obj.app(), writes=write)


@app.command("list")
def list_(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="One server, with the arguments of its tools.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the servers in the settings, and which of their tools may run. Starts none."""
    from agent_cli.tools import mcp

    app_: App = context.obj.app()
    servers = turns.servers(app_)
    rows: list[dict[str, Any]] = []
    for each in _server_names(app_, name):
        known = mcp.stored_descriptions(app_.db, servers, each)
        tools = mcp.make_tools(servers, each, known or [], 0)
        rows.append(
            {
                "id": each,
                "reached": _address(app_.config.mcp[each]),
                "started": known is not None,
                "tools": [_described(app_, tool) for tool in tools],
            }
        )
    if as_json:
        output.put_json(rows)
        return
    for row in rows:
        output.say(f"{row['id']}  {row['reached']}{'' if row['started'] else '  (not started yet: agent mcp test)'}")
        for tool in row["tools"]:
            output.say(f"  {tool['rule']:<5}  {tool['name']}  {tool['description']}")
            if name:
                output.say("".join(f"         {each}\n" for each in tool["arguments"]).rstrip("\n"))
    if not rows:
        output.note_empty(_NO_SERVER)


@app.command("test")
def try_(context: typer.Context, name: str, as_json: AsJson = False) -> None:
    """Start a server and ask it for its tools."""
    from agent_cli.tools import mcp

    app_: App = context.obj.app()
    _server_names(app_, name)
    started = time.monotonic()
    known = mcp.fetch_descriptions(app_.db, turns.servers(app_), name)
    seconds = time.monotonic() - started
    tools = mcp.make_tools(turns.servers(app_), name, known, 0)
    if as_json:
        output.put_json({"id": name, "seconds": round(seconds, 2), "tools": [_described(app_, tool) for tool in tools]})
        return
    omitted = f"; of {len(known)} no more are offered" if len(known) > len(tools) else ""
    output.say(f"{name} answers, within {seconds:.1f} s: {len(tools)} tools{omitted}")
    for tool in tools:
        output.say(f"  {tool.name}  {tool.description}")


def _server_names(app_: App, name: str | None) -> list[str]:
    """The names of the servers, or the given one alone. Raises UsageError when the settings do not have it."""
    names = list(app_.config.mcp)
    if name is not None and name not in names:
        raise UsageError(f"the settings have no server {name!r}; there are {', '.join(names)}" if names else _NO_SERVER)
    return [name] if name else names


def _address(server: Mapping[str, Any]) -> str:
    """The command or URL of a server without what may be secret: environment, headers and query."""
    return (
        redacted_address(str(server["url"]))
        if "url" in server
        else shlex.join([server["command"], *server.get("args", [])])
    )


def _described(app_: App, tool: Tool) -> dict[str, Any]:
    rules = cast(Mapping[str, policy.Ruling], app_.config.rules)
    arguments = [
        f"{name} ({schema.get('type', 'anything')}) {schema.get('description', '')}".rstrip()
        for name, schema in tool.parameters["properties"].items()
    ]
    return {
        "name": tool.name,
        "description": tool.description,
        "rule": policy.decide(tool, rules, {}, {}).ruling,
        "arguments": arguments,
    }
