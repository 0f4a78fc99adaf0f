"""The built-in tools: all those defined in modules of this folder whose names end in `_tools`."""

from collections.abc import Iterator, Mapping
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


def _defined_tools() -> Iterator[Tool]:
    for module in iter_modules(tools.__path__):
        if module.name.endswith("_tools"):
            defined = vars(import_module(f"{tools.__name__}.{module.name}")).values()
            yield from (each for each in defined if isinstance(each, Tool))


BUILT_IN: dict[str, Tool] = {
    tool.name: tool for tool in sorted(_defined_tools(), key=lambda tool: [*_ORDER.split(), tool.name].index(tool.name))
}
SOURCES = ("built-in", "files", "feeds")  # a rule may name one, also where this run offers no tool from it


def allowed(*, reads: bool, keeps: bool) -> Mapping[str, Tool]:
    """The tools of a run. `reads`: whether memory may be read; `keeps`: whether anything may be written.

    A tool that writes is not offered when nothing may be written; a model that calls it anyway gets an error.
    """
    available = {name: tool for name, tool in BUILT_IN.items() if reads or not tool.reads_memory}
    writing = {} if keeps else {name: tool for name, tool in available.items() if tool.risk in ("propose", "write")}
    refusing = {
        name: replace(tool, risk="session", run=_keep_nothing, resolve=None, offered=lambda context: False)
        for name, tool in writing.items()
    }
    return available | refusing


def _keep_nothing(context: ToolContext, **arguments: Any) -> str:
    raise ToolFailed("nothing was kept: the conversation is incognito; tell the person")
