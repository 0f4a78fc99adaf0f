"""The slash command for skills: /skills."""

from agent_cli import text
from agent_cli.memory.skills import skills
from agent_cli.render.layout import Verbatim
from agent_cli.repl.commands.command import command
from agent_cli.repl.session.conversation import Conversation

_SHOWN = 50


@command(
    "/skills [NAME]",
    completes=("skill",),
    on_file=True,
    examples=("/skills", "/skills publish-the-site"),
    shell={"skills list": "", "skills show": ""},
)
def skills_(conversation: Conversation, argument: str) -> str:
    """List the skills there are, or show one."""
    app = conversation.app
    owner = app.scope.owner
    if argument:
        skill = skills.named(app.db, owner, argument)
        state = "" if skill.is_accepted else f", {'hidden' if skill.hidden_at else skill.state}"
        return Verbatim(f"{skill.handle} {skill.name}, version {skill.version}{state}\n\n{skill.text.strip()}")
    found = skills.listing(app.db, owner, _SHOWN)
    lines = [f"{each.handle:<6} {each.name}: {text.one_line(each.description, 120)}" for each in found]
    lines = lines or ["there are no skills; `agent skills add NAME` in a shell adds one"]
    if waiting := len(skills.pending(app.db, owner)):
        lines.append(f"{text.counted(waiting, 'skill')} to review: /review")
    return "\n".join(lines)
