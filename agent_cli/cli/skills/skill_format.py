"""How a skill is found, named and listed on the command line."""

import difflib
from collections.abc import Iterator, Sequence

from agent_cli import text
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.errors import UsageError
from agent_cli.memory.proposals import ACCEPTED
from agent_cli.memory.skills import skill_file, skills
from agent_cli.memory.skills.skills import Skill
from agent_cli.store import ids
from agent_cli.tools.memory_tools import MAX_STEPS


def find(app_: App, name: str, *, hidden: bool = False) -> Skill:
    """The skill of a name or handle. Raises UsageError when there is none.

    Of several with one name an accepted one (with `hidden`, a hidden one) comes first, and a pending one last.
    """
    owner = app_.scope.owner
    try:
        return skills.named(app_.db, owner, name, hidden=hidden)
    except UsageError:
        rest = skills.listing(app_.db, owner, hidden=not hidden)
        others = [each for each in (*skills.pending(app_.db, owner), *rest) if each.name == name.strip()]
        if not others:
            raise
        return others[-1]


def short(skill: Skill) -> str:
    return f"{skill.handle} “{skill.name}”"


def table(rows: Sequence[Skill], as_json: bool, empty: str) -> None:
    """Skills as lines, or as one array of objects; `empty` is said at a terminal where there are none."""
    if as_json:
        output.put_json([each.describe() for each in rows])
        return
    lines = [
        {"id": each.handle, "mark": _mark(each), "name": each.name, "what": text.one_line(each.description, 160)}
        for each in rows
    ]
    marked = ["mark"] if any(line["mark"] for line in lines) else []
    output.listing(lines, ["id", *marked, "name", "what"], as_json=False, empty=empty)


def difference(before: str, after: str) -> Iterator[str]:
    """The difference as lines with + and -, with two lines of context."""
    lines = difflib.unified_diff(_lines(before), _lines(after), n=2, lineterm="")
    return (line for line in lines if not line.startswith(("--- ", "+++ ")))


def note_altered(name: str, words: str) -> None:
    """Print a note about parts of a skill that the model will not be given."""
    parsed = skill_file.parse(words)
    if parsed.invisible_count:
        many = "a character" if parsed.invisible_count == 1 else f"{parsed.invisible_count} characters"
        output.note(f"{name} holds {many} that no screen shows; the model is given the skill without")
    if len(parsed.body) > MAX_STEPS:
        output.note(f"{name} is long: the model is given the first {MAX_STEPS} characters of its steps")


def _lines(words: str) -> list[str]:
    return text.visible(words).splitlines()


def _mark(skill: Skill) -> str:
    if skill.state == ACCEPTED:
        return ""
    return f"{skill.state}, changes {ids.handle('skill', skill.target_id)}" if skill.target_id else skill.state
