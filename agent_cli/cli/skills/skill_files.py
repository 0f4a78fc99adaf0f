"""`agent skills export` and `import`: SKILL.md files to and from other programs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.skills import skill_format
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.proposals import PENDING
from agent_cli.memory.skills import skill_file, skill_folders, skills
from agent_cli.memory.skills.skills import Skill
from agent_cli.store import ids
from agent_cli.text import counted, one_line

_FILES_NAMED = 3  # files beside a SKILL.md that are listed
_PATH_WIDTH = 300  # characters of a path that are shown


def export(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="Without one: all, with --to.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="The folder to write NAME/SKILL.md to.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite other files.")] = False,
) -> None:
    """Print a skill as its SKILL.md, or write several to a folder."""
    app_: App = context.obj.app()
    chosen = list(dict.fromkeys(skill_format.find(app_, name) for name in names or ()))
    if to is None:
        if len(chosen) != 1:
            raise UsageError("name the one skill to print, or say with --to where to write them all")
        _print(chosen[0].text)
        return
    chosen = chosen if names else skills.listing(app_.db, app_.scope.owner)
    if not chosen:
        output.note("there are no skills; `agent skills add NAME` adds one")
    if len({each.name for each in chosen}) < len(chosen):
        raise UsageError("two of these have one name, and so one file: export them one by one")
    for written in skill_folders.write(to, chosen, force=force):
        output.say(f"{'wrote' if written.new else 'the same already:'} {written.path}")


def _print(text: str) -> None:
    """Write the exact bytes to a pipe or file; to a terminal without control characters."""
    if sys.stdout.isatty():
        output.say(text.rstrip("\r\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def import_(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="A SKILL.md, a folder with one, or a folder of such folders."),
    ],
    accept: Annotated[bool, typer.Option("--accept", help="Accept them all; needs --yes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm that you have read them.")] = False,
) -> None:
    """Read SKILL.md files, into the queue unless accepted."""
    if accept and not yes:
        raise UsageError("--accept accepts every file without a review: say --yes as well, or leave it out")
    app_: App = context.obj.app()
    files = list(dict.fromkeys(file for path in paths for file in skill_folders.files(path)))
    if accept:
        consent.obtain(app_, f"accept {counted(len(files), 'skill')} as they are?", "nothing was imported")
    batch = ids.new(app_.time())
    new = broken = 0
    for file in files:
        try:
            new += _import(app_, file, accept, batch)
        except UsageError as error:
            broken += 1
            output.note(f"{one_line(str(file), _PATH_WIDTH)} was skipped: {error}")
    waits = "" if accept or not new else " (agent skills review)"
    output.say(f"imported {counted(new, 'skill')}, {'accepted' if accept else 'pending'}{waits}")
    if broken:
        skipped = counted(broken, "broken file was", "broken files were")
        raise AgentError(f"{skipped} skipped; the others are imported")


def _format_accepted(skill: Skill) -> str:
    return "is accepted" + (f", version {skill.version}" if skill.version > 1 else "")


def _import(app_: App, file: Path, accept: bool, batch: str) -> bool:
    """Import a file; whether it was new. Raises UsageError when it is no skill."""
    text = skill_folders.text(file)
    skill = skill_folders.import_skill(app_.db, app_.scope.owner, text, app_.time, accepted=accept, batch=batch)
    if skill is None:
        name = skill_file.parse(text).name
        reason = f"{name} is known, waits already, or was rejected, hidden or forgotten"
        output.note(f"nothing new in {one_line(str(file), _PATH_WIDTH)}: {reason}")
        return False
    target = f", a change to {ids.handle('skill', skill.target_id)}" if skill.target_id else ""
    state = f"waits for your yes{target}" if skill.state == PENDING else _format_accepted(skill)
    output.say(f"{skill_format.short(skill)} {state}")
    skill_format.note_altered(skill.name, text)
    left = skill_folders.other_files(file)
    if left:
        more = f" and {len(left) - _FILES_NAMED} more" if len(left) > _FILES_NAMED else ""
        names = ", ".join(one_line(each) for each in left[:_FILES_NAMED])
        output.note(f"{skill.name}: what stands beside its SKILL.md was left: {names}{more}")
    return True
