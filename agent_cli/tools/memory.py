"""Tools that keep words and find them again."""

from typing import Annotated

from agent_cli import clock, text
from agent_cli.memory import jottings, notes
from agent_cli.messages import ToolResult
from agent_cli.tools.tool import ToolContext, ToolFailed, tool


@tool(risk="session")
def jot(context: ToolContext, text: Annotated[str, "what to keep in mind"]) -> str:
    """Keep something in mind for the rest of this session only."""
    jottings.add(context.db, context.session, text, context.time())
    return "kept until the session closes"


@tool(risk="read")
def read_jottings(context: ToolContext) -> str:
    """Read what you have jotted down in this session."""
    return "\n".join(jottings.of(context.db, context.session)) or "nothing is jotted down"


@tool(risk="write")
def save_note(
    context: ToolContext,
    text: Annotated[str, "the note, in the person's words"],
    title: Annotated[str, "a short title"] = "",
) -> ToolResult:
    """Save a note for the person. Only when they ask for it."""
    if not text.strip():
        raise ToolFailed("an empty note says nothing")
    note = notes.add(
        context.db, context.scope, text, context.time, title=title, origin="model", session=context.session
    )
    return ToolResult(f"saved as {note.handle}", receipt=f"saved {note.handle} “{note.name}”")


@tool(risk="read")
def search_notes(context: ToolContext, query: Annotated[str, "words to look for"]) -> str:
    """Search the person's notes. Gives a line for each, with its handle and date."""
    found = notes.search(context.db, context.scope.owner, query, 50)
    lines = [
        f"{note.handle} ({clock.local(note.at, note.utc_offset):%d %b %Y}) {text.one_line(note.text, 300)}"
        for note in found
    ]
    return "\n".join(lines) or "no note has these words"
