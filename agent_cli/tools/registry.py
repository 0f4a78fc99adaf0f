"""The built-in tools: all those defined in modules of this folder whose names end in `_tools`."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from agent_cli import tools
from agent_cli.tools.tool import Tool, ToolContext, ToolFailed

# The model sees the tools in this order; a tool that is not named here comes last.
_ORDER = """
    jot read_jottings save_note propose_fact search_notes search_memory timeline create_reminder list_tasks
    complete_task read_skill calculate summarize_today draft_message read_file list_files search_files fetch_feed
"""

_NAMES = [module.name for module in iter_modules(tools.__path__) if module.name.endswith("_tools")]
_DEFINED = [each for name in _NAMES for each in vars(import_module(f"{tools.__name__}.{name}")).values()]
_TOOLS = [each for each in _DEFINED if isinstance(each, Tool)]
BUILT_IN = {tool.name: tool for tool in sorted(_TOOLS, key=lambda tool: [*_ORDER.split(), tool.name].index(tool.name))}
SOURCES = ("built-in", "files", "feeds")  # a rule may name one, also where this run offers no tool from it


def allowed(*, reads: bool, keeps: bool) -> Mapping[str, Tool]:
    """The tools of a run. A tool that writes is not offered where nothing is kept; a model that calls it anyway gets an
    error."""
    available = {name: tool for name, tool in BUILT_IN.items() if reads or not tool.reads_memory}
    writing = {} if keeps else {name: tool for name, tool in available.items() if tool.risk in ("propose", "write")}
    refusing = {
        name: replace(tool, risk="session", run=_keep_nothing, resolve=None, offered=lambda context: False)
        for name, tool in writing.items()
    }
    return available | refusing


def _keep_nothing(context: ToolContext, **arguments: Any) -> str:
    raise ToolFailed("nothing was kept: the conversation is incognito; tell the person")
