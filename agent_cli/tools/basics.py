"""Tools that need nothing but the clock."""

from agent_cli.tools.tool import ToolContext, tool


@tool(risk="read")
def now(context: ToolContext) -> str:
    """The present date, weekday and time."""
    return f"{context.time():%A, %d %B %Y, %H:%M (%z)}"
