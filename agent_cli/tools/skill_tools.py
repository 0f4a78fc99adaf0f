"""The tool by which the model reads how something is done: the steps of a skill that the person approved."""

from typing import TYPE_CHECKING

from agent_cli import text
from agent_cli.errors import UsageError
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from agent_cli.memory.skills.skills import Skill

MAX_STEPS = 8000  # characters: a quarter of a small context
_MAX_NAMED = 20  # skills listed when one is not found


@tool(risk="read", reads_memory=True, listed=False)
def read_skill(context: ToolContext, name: str) -> str:
    """Read the steps of a skill: the person approved them, follow them where they fit."""
    from agent_cli.memory.skills import skills

    owner = context.scope.owner
    try:
        skill = skills.named(context.remembered, owner, name)
    except UsageError:
        skill = None
    if skill is None or not skill.is_accepted:
        names = [each.name for each in skills.listing(context.remembered, owner, _MAX_NAMED)]
        known = f"there are {', '.join(names)}" if names else "there are no skills"
        raise ToolFailed(f"there is no skill {text.one_line(name, 60)!r}; {known}")
    return format_steps(skill)


def format_steps(skill: "Skill") -> str:
    """A skill's steps as the model sees them."""
    steps = text.visible(skill.body)
    left = len(steps) - MAX_STEPS
    return steps if left <= 0 else f"{steps[:MAX_STEPS]}\n[cut off here: {left} more characters; tell the person]"
