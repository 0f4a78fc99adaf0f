"""The tools of a run: the built-in ones, and those of the MCP servers in the settings."""

import atexit
from collections import ChainMap
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, cast

from agent_cli import CHILD
from agent_cli.agent import policy
from agent_cli.app.app import App
from agent_cli.store import events
from agent_cli.store.db import Database
from agent_cli.tools import registry
from agent_cli.tools.tool import Tool

if TYPE_CHECKING:
    from agent_cli.tools.mcp import Servers


def available(app: App) -> Mapping[str, Tool]:
    """The tools of a run by name. Incognito, MCP servers are left out: they could store what they are sent."""
    built_in = registry.allowed(reads=app.reads, keeps=app.keeps)
    if not (app.config.mcp and app.keeps):
        return built_in
    from agent_cli.tools import mcp

    with closing(app.db.another_connection()) as db:
        tools = mcp.load_tools(db, servers(app), app.config.tool_seconds, app.notice, partial(_is_allowed, app, db))
    return ChainMap(tools, dict(built_in))  # a view: a server that is started in the turn adds its tools


def _is_allowed(app: App, db: Database, tool: Tool) -> bool:
    """Whether the person's rules allow a call of the program's own; it is written down."""
    if policy.decide(tool, cast(Mapping[str, policy.Ruling], app.config.rules), {}, {}).ruling != "allow":
        return False
    events.append(db, app.time, "call allowed by rule", tool.name, actor="program")
    return True


def servers(app: App) -> "Servers":
    """The MCP servers in the settings; a server is started when it is first used."""
    with app.lock:
        if app.tool_servers is None or app.tool_servers.settings != app.config.mcp:
            from agent_cli.tools.mcp import Servers

            app.tool_servers = Servers(app.config.mcp, {CHILD: "1"})
            atexit.register(app.tool_servers.close)
        return app.tool_servers
