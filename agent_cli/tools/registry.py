"""The built-in tools: all those defined in modules of this folder whose names end in `_tools`."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from agent_cli import tools
from agent_cli.tools.tool import Tool

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
    """The tools of a run: none that writes where nothing is kept."""
    without = () if keeps else ("propose", "write")
    return {
        each.name: each for each in BUILT_IN.values() if (reads or not each.reads_memory) and each.risk not in without
    }
