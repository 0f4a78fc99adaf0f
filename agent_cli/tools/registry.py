"""The tools that come with the program, in the order the model sees them."""

from collections.abc import Mapping

from agent_cli.tools import facts, memory, skills
from agent_cli.tools.tool import Tool

BUILT_IN: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        memory.jot,
        memory.read_jottings,
        memory.save_note,
        facts.propose_fact,
        memory.search_notes,
        memory.search_memory,
        memory.timeline,
        skills.read_skill,
    )
}

_READING = (memory.search_notes, memory.search_memory, memory.timeline, skills.read_skill)


def allowed(*, reads: bool, keeps: bool) -> Mapping[str, Tool]:
    """The tools of a run: those that read memory where that may be read, those that keep where anything is kept."""
    return {
        name: tool
        for name, tool in BUILT_IN.items()
        if (reads or tool not in _READING) and (keeps or tool.risk not in ("propose", "write"))
    }
