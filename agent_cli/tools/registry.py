"""The tools that come with the program, in the order the model sees them."""

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
