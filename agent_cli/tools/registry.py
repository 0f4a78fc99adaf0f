"""The tools that come with the program, in the order the model sees them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_cli.tools import basics, facts, feeds, files, memory, skills, tasks
from agent_cli.tools.tool import Tool, ToolContext, ToolFailed

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
        tasks.create_reminder,
        tasks.list_tasks,
        tasks.complete_task,
        skills.read_skill,
        basics.calculate,
        basics.summarize_today,
        basics.draft_message,
        files.read_file,
        files.list_files,
        files.search_files,
        feeds.fetch_feed,
    )
}

SOURCES = ("built-in", "files", "feeds")  # a rule may name one, also where nothing of it is there in this run

_READING = (
    memory.search_notes,
    memory.search_memory,
    memory.timeline,
    skills.read_skill,
    basics.summarize_today,
    tasks.list_tasks,
    tasks.complete_task,
)


def allowed(*, reads: bool, keeps: bool) -> Mapping[str, Tool]:
    """The tools of a run: of those that read memory none where it is not read, and none keeps where nothing is kept.

    A tool that keeps is not offered then; a model that calls it all the same is told why, and tells the person.
    """
    there = {name: tool for name, tool in BUILT_IN.items() if reads or tool not in _READING}
    return there if keeps else {name: _unkept(tool) for name, tool in there.items()}


def _unkept(tool: Tool) -> Tool:
    if tool.risk not in ("propose", "write"):
        return tool
    return replace(tool, risk="session", run=_keep_nothing, offered=lambda context: False)


def _keep_nothing(context: ToolContext, **arguments: Any) -> str:
    raise ToolFailed("nothing was kept: the conversation is incognito; tell the person")
