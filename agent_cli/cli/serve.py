"""`agent serve` and `agent mcp`: the assistant for other programs, over HTTP and MCP, and the tools of others."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from typer import Argument, Context, Exit

from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import AsJson, argument, flag, group, noun, option
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import callers
from agent_cli.repl import reminders

app = group("Serve the assistant to other programs over HTTP (API of OpenAI included); callers: who may connect.")
callers_app = noun("Which programs may connect: add, list, rm.")
app.add_typer(callers_app, name="callers")

CallerName = Annotated[str, Argument(help="Small letters and digits, as in home-server.")]


@app.callback(invoke_without_command=True)
def serve(
    context: Context,
    host: str = option("--host", "The address to listen on.", "127.0.0.1"),
    port: int = option("--port", "0: any that is free.", 8177, min=0, max=65535),
    insecure_bind: bool = flag("--insecure-bind", "Allow an address that other machines can reach, unencrypted."),
    name: list[str] | None = option("--name", "Another host name of the server, as behind a proxy."),
    turns: int = option("--turns", "Turns that run at once; others wait.", 4, min=1, max=64),
    seconds: float = option("--timeout", "Seconds until a turn is given up.", 600, min=1, max=10_000_000),
    grace: float = option(
        "--grace", "Seconds that running turns have left when the server stops.", 10, min=0, max=10_000_000
    ),
) -> None:
    """Serve the assistant to other programs, on this machine alone unless told otherwise."""
    if context.invoked_subcommand:
        return
    invocation: Invocation = context.obj
    try:
        from agent_cli.serve import http
    except ImportError as error:
        missing = "the server needs libraries that are not installed: pip install 'agent-cli[serve]'"
        raise UsageError(missing) from error
    from agent_cli.serve.state import ServerLimits  # as above

    app_: App = invocation.app()
    if not any(each.revoked_at is None for each in callers.listing(app_.db)):
        invocation.note("no program may connect yet: `agent serve callers add NAME` adds one")
    if insecure_bind:
        invocation.note("other machines may reach this server, and what is said goes over the network unencrypted")
    limits = ServerLimits(turns=turns, turn_seconds=seconds, grace_seconds=grace)
    with reminders.shown_meanwhile(app_, invocation.note, quiet=invocation.quiet):

        def ready(address: str) -> None:
            invocation.note(f"serving at {address} (Ctrl-C ends; try: curl {address}/health)")

        code = http.serve(app_, host, port, limits, name or [], allow_remote=insecure_bind, ready=ready)
    raise Exit(code)


@callers_app.command(decides=True)
def add(
    invocation: Invocation,
    name: CallerName,
    read_only: bool = flag("--read-only", "It may look and ask; nothing of it is kept."),
    mine: bool = flag("--mine", "It reaches your own memory instead of one of its own."),
) -> None:
    """Allow a program to connect. Its token is printed once and kept nowhere."""
    app_: App = invocation.app()
    if mine:
        if not consent.is_possible():
            raise UsageError("--mine gives a program your own memory, and needs your yes: run it at a terminal")
        what = "read all you have said" if read_only else "read all you have said, and add to it"
        more = "with the folders, feeds and tools of your settings, until you revoke it"
        if consent.answer(f"{name} will {what}, {more}. Type yes: ") != "yes":
            raise UsageError("nothing was changed")
    caller, token = callers.add(app_.db, name, app_.time, mine=mine, writes=not read_only)
    output.say(token)
    which = "your own memory" if caller.mine else "a memory of its own"
    invocation.note(f"{name} reaches {which}{'' if caller.writes else ', and only reads'}; this token is shown once")
    if not caller.mine:
        invocation.note(f"`agent --as {name} facts review` decides on what waits there; no other way does")


@callers_app.command("list")
def list_(app_: App, as_json: AsJson = False) -> None:
    """List the callers."""

    def row(caller: dict[str, Any]) -> list[str]:
        seen = "never came" if not caller["seen_at"] else caller["seen_at"][:10]
        return [*(caller[name] for name in ("name", "memory", "may")), "revoked" if caller["revoked_at"] else seen]

    rows = [each.describe() for each in callers.listing(app_.db)]
    empty = "there are no callers; `agent serve callers add NAME` adds one"
    output.listing(rows, as_json, dict, "name memory may state", row, empty)


@callers_app.command()
def rm(app_: App, name: CallerName) -> None:
    """Revoke the token of a program. Its memory stays, and a new token of the same name reaches it again."""
    callers.revoke(app_.db, name, app_.time)
    output.say(f"revoked {name}")


_NO_SERVER = "there are no tool servers; [mcp.NAME] in the settings, with a command or a url, sets one up"

mcp_app = noun("Offer this memory to other assistants, and see the tools of other programs (MCP).")


@mcp_app.command("serve")
def serve_mcp(
    app_: App, write: bool = flag("--write", "Notes may be saved too, and facts proposed; those wait for your yes.")
) -> None:
    """Serve what is remembered, on standard input and output. Another assistant starts this."""
    from agent_cli.serve import mcp  # the library takes 0.6 s

    mcp.serve(app_, writes=write)


acp_app = group()


@acp_app.command()
def acp(app_: App) -> None:
    """Serve the assistant on standard input and output to an editor that speaks the Agent Client Protocol and starts
    this."""
    try:
        from agent_cli.serve import acp as door  # the library takes a second
    except ImportError as error:
        raise UsageError("this needs a library that is not installed: pip install 'agent-cli[acp]'") from error
    door.serve(app_)


@mcp_app.command("list")
def list_servers(
    app_: App,
    name: str | None = argument("One server, with the arguments of its tools.", None),
    as_json: AsJson = False,
) -> None:
    """List the servers in the settings, and which of their tools may run. Starts none."""
    from agent_cli.app import turns as app_turns  # no other command of this module needs these
    from agent_cli.tools import mcp

    servers = app_turns.servers(app_)
    rows: list[dict[str, Any]] = []
    for each in _server_names(app_, name):
        known = mcp.stored_descriptions(app_.db, servers, each)
        tools = _described(app_, mcp.make_tools(servers, each, known or [], 0))
        server = app_.config.mcp[each]
        if "url" in server:  # without what may be secret: environment, headers and query
            reached = mcp.redacted_address(str(server["url"]))
        else:
            reached = shlex.join([server["command"], *server.get("args", [])])
        rows.append({"id": each, "reached": reached, "started": known is not None, "tools": tools})
    if as_json:
        output.put_json(rows)
        return
    for row in rows:
        output.say(f"{row['id']}  {row['reached']}{'' if row['started'] else '  (not started yet: agent mcp test)'}")
        for tool in row["tools"]:
            output.say(f"  {tool['rule']:<5}  {tool['name']}  {tool['description']}")
            if name:
                output.say("\n".join(f"         {each}" for each in tool["arguments"]))
    if not rows:
        output.note_empty(_NO_SERVER)


@mcp_app.command("test")
def try_(app_: App, name: str, as_json: AsJson = False) -> None:
    """Start a server and ask it for its tools."""
    from agent_cli.app import turns as app_turns
    from agent_cli.tools import mcp

    _server_names(app_, name)
    started = time.monotonic()
    known = mcp.fetch_descriptions(app_.db, app_turns.servers(app_), name)
    seconds = time.monotonic() - started
    tools = mcp.make_tools(app_turns.servers(app_), name, known, 0)
    if as_json:
        output.put_json({"id": name, "seconds": round(seconds, 2), "tools": _described(app_, tools)})
        return
    omitted = f"; of {len(known)} no more are offered" if len(known) > len(tools) else ""
    output.say(f"{name} answers, within {seconds:.1f} s: {len(tools)} tools{omitted}")
    output.lines(f"  {tool.name}  {tool.description}" for tool in tools)


def _server_names(app_: App, name: str | None) -> list[str]:
    """The names of the servers, or the given one alone. Raises UsageError when the settings do not have it."""
    names = list(app_.config.mcp)
    if name is not None and name not in names:
        raise UsageError(f"the settings have no server {name!r}; there are {', '.join(names)}" if names else _NO_SERVER)
    return [name] if name else names


def _described(app_: App, tools: Sequence[Any]) -> list[dict[str, Any]]:
    """Tools with the rule of each, and its arguments in words."""
    from agent_cli.agent import policy

    rules = cast(Mapping[str, policy.Ruling], app_.config.rules)
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "rule": policy.decide(tool, rules, {}, {})[0],
            "arguments": [
                f"{name} ({schema.get('type', 'anything')}) {schema.get('description', '')}".rstrip()
                for name, schema in tool.parameters["properties"].items()
            ],
        }
        for tool in tools
    ]
