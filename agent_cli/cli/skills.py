"""`agent skills`: procedures that the person wrote or approved."""

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from agent_cli import text
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import report_skipped
from agent_cli.cli.options import AsJson, ConfirmRead, EveryState, Hidden, Limit, argument, flag, noun, option
from agent_cli.errors import UsageError
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED, MemoryContext
from agent_cli.memory.review import review
from agent_cli.memory.skills import skills
from agent_cli.messages import Origin
from agent_cli.store import ids
from agent_cli.terminal import edited
from agent_cli.tools.memory_tools import MAX_STEPS

app = noun("How things are done.")

SkillName = Annotated[str, Argument(help="The skill's name, or its handle as in k3.")]
InVersion = Annotated[int | None, Option("--version", min=1, help="As it was in this version.")]

_PLACEHOLDER = "what it does: use when …"
_STEPS = "1. …"
_USUAL = ".agents/skills"  # folder of skills that other assistants read too; the project's comes first
_FILES_NAMED = 3  # files beside a SKILL.md that are listed
_PATH_WIDTH = 300  # characters of a path that are shown


@app.command("list")
def list_(
    app_: App,
    limit: Limit = 100,
    as_json: AsJson = False,
    pending: bool = flag("--pending", "Those that wait for your yes."),
    every: EveryState = False,
    hidden: Hidden = False,
) -> None:
    """List skills by name."""
    if pending + every + hidden > 1:
        raise UsageError("say one of --pending, --all and --hidden")
    states = (ACCEPTED, PENDING, REJECTED, skills.MERGED, EXPIRED) if every else (PENDING if pending else ACCEPTED,)
    found = skills.listing(app_.db, app_.scope.owner, limit, states=states, hidden=hidden)
    limited = pending or every or hidden
    empty = "there are no such skills" if limited else "there are no skills; `agent skills add NAME` adds one"
    output.listing(found, as_json, skills.Skill.describe, "id mark name what", _row, empty, "mark")


def _row(skill: skills.Skill) -> tuple[str, ...]:
    changes = f", changes {ids.handle('skill', skill.target_id)}" if skill.target_id else ""
    mark = "" if skill.state == ACCEPTED else f"{skill.state}{changes}"
    return skill.handle, mark, skill.name, text.one_line(skill.description, 160)


@app.command()
def show(
    app_: App,
    name: SkillName,
    as_json: AsJson = False,
    versions: bool = flag("--versions", "List its versions."),
    version: InVersion = None,
    file: str = option("--file", "Print one of its files, as in scripts/build.sh.", ""),
) -> None:
    """Show a skill whole, as it is or was."""
    skill = skills.named(app_.db, app_.scope.owner, name)
    if file:
        output.say(text.visible(skills.file_text(skill, file)).rstrip("\n"))
        return
    if versions:
        _versions(app_, skill, as_json)
        return
    shown = version or skill.version
    texts = {each.was["version"]: each.was["text"] for each in skills.former(app_.db, skill)}
    texts[skill.version] = skill.text
    if shown not in texts:
        known = f"`agent skills show {skill.name} --versions` lists them"
        raise UsageError(f"{skill.name} has no version {version}; {known}")
    words = str(texts[shown])
    if as_json:
        output.put_json(skill.describe() | {"text": words, "version": shown, "versions": list(texts)})
        return
    decided = f" on {skill.local_day(skill.decided_at)}" if skill.decided_at else ""
    older = f" of {skill.version}" if shown != skill.version else ""
    base = f", version {skill.base}" if skill.base else ""
    rows = [
        ("skill", f"{skill.handle} {skill.name}, version {shown}{older}"),
        ("state", f"{skill.state}{decided}{', hidden' if skill.hidden_at else ''}"),
        ("changes", f"{skill.describe()['changes']}{base}" if skill.target_id else ""),
        ("origin", f"{skill.origin}{f', made from {skill.trust}' if skill.trust != skill.origin else ''}"),
        ("changed", skill.local_day(skill.changed_at)),
        ("files", ", ".join(map(text.one_line, skills.file_texts(skill.files)))),
    ]
    output.fields([row for row in rows if row[1]], 8)
    output.say()
    output.say(text.visible(words).rstrip("\n"))
    _note_altered(skill.name, words)


def _versions(app_: App, skill: skills.Skill, as_json: bool) -> None:
    changes = [(e.was["version"], e.change, e.actor, e.at, e.was["text"]) for e in skills.former(app_.db, skill)]
    changes.append((skill.version, "", "", skill.changed_at, skill.text))
    names = ("version", "change", "actor", "at", "text")
    found = [dict(zip(names, each, strict=True)) for each in changes]

    def row(each: dict[str, Any]) -> tuple[Any, ...]:
        ended = (f"until {skill.local_day(each['at'])}", f"{each['change']} by the {each['actor']}")
        return each["version"], *(ended if each["change"] else ("now", ""))

    output.listing(found, as_json, dict, "version until how", row, "")


@app.command()
def add(
    app_: App,
    name: str = argument("Small letters, digits and hyphens, as in deploy-site."),
    body: list[str] | None = argument("The steps; without them they are read from standard input.", None),
    description: str = option("-d, --description", "What it does and when to use it.", ""),
    example: bool = flag("--example", "Add the example skill of this name, as morning-briefing."),
) -> None:
    """Write down how something is done. What you type counts at once; what comes through a pipe waits for your yes."""
    name = skills.check_name(name)
    if example:
        if body or description:
            raise UsageError("--example brings its own words: give it a name alone")
        _queue(app_, name, skills.example(name), "file")
    elif body:
        _add(app_, _composed(name, description, " ".join(body)))
    elif sys.stdin.isatty():
        template = skills.compose(name, description.strip() or _PLACEHOLDER, _STEPS)
        with edited(template, app_.config.editor) as typed:
            if typed.strip() in ("", template.strip()):
                output.note("nothing was written")
                return
            if _PLACEHOLDER in typed:
                raise UsageError(f"the description still says “{_PLACEHOLDER}”: write there what the skill is for")
            _add(app_, typed)
    else:
        try:
            words = sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError("what came through the pipe is not UTF-8") from error
        whole = words.removeprefix("\ufeff").startswith("---")  # else only its steps were piped
        _queue(app_, name, words if whole else _composed(name, description, words), "piped")


def _composed(name: str, description: str, steps: str) -> str:
    if not description.strip():
        raise UsageError("say what it does and when to use it, with --description")
    return skills.compose(name, description, steps)


def _add(app_: App, words: str) -> None:
    consent.obtain(app_, f"save the skill {skills.parse(words).name}?", "nothing was saved")
    skill = skills.add(app_.memory, words)
    output.say(f"saved {_short(skill)}")
    _note_altered(skill.name, words)


def _queue(app_: App, name: str, words: str, origin: Origin) -> None:
    """Propose a skill that the person did not type: it waits for a yes. Raises UsageError."""
    if skills.parse(words).name != name:
        raise UsageError(f"its front matter names it {skills.parse(words).name}: add it under that name")
    skill = skills.propose(app_.memory, words, origin=origin)
    if skill is None:
        output.say(f"nothing new in {name}: it is known, waits already, or was rejected, hidden or forgotten")
        return
    output.say(f"{_short(skill)} waits for your yes (agent skills review)")
    _note_altered(name, words)


@app.command(decides=True)
def edit(app_: App, name: SkillName) -> None:
    """Change a skill in your editor; its former version stays."""
    skill = skills.named(app_.db, app_.scope.owner, name)
    if skill.hidden_at or skill.state not in (ACCEPTED, PENDING):
        how = f"; `agent skills restore {skill.name}` brings it back" if skill.hidden_at else ""
        raise UsageError(f"{skill.handle} is {'hidden' if skill.hidden_at else skill.state}, and stays as it is{how}")
    with edited(skill.text, app_.config.editor) as typed:
        if typed == skill.text:
            output.note(f"{skill.name} was left as it is")
            return
        skills.parse(typed)
        consent.obtain(app_, f"save {skill.name} as you wrote it?", "nothing was changed")
        changed = skills.edit(app_.memory, skill, typed)
    number = f", version {changed.version}" if changed.state == ACCEPTED else ""
    output.say(f"changed {_short(changed)}{number}")
    output.lines(review.difference(skill.text, changed.text))
    _note_altered(changed.name, changed.text)


@app.command(decides=True)
def rm(app_: App, names: list[str] = argument(metavar="NAME...")) -> None:
    """Hide skills; `restore` brings them back, `agent forget` erases."""
    chosen = list(dict.fromkeys(skills.named(app_.db, app_.scope.owner, name) for name in names))
    for skill in chosen:
        if skill.state == PENDING:
            raise UsageError(f"{skill.handle} waits for your yes or no: `agent skills review` asks for it")
        if not skill.is_accepted:
            raise UsageError(f"{skill.handle} is {'hidden already' if skill.hidden_at else skill.state}")
    with app_.db.write():
        for skill in chosen:
            skills.hide(app_.memory, skill)
    output.lines(f"hidden {_short(skill)} (agent skills restore {skill.name})" for skill in chosen)


@app.command(decides=True)
def restore(app_: App, name: SkillName, version: InVersion = None) -> None:
    """Bring a hidden skill back, or an older version of one."""
    skill = skills.named(app_.db, app_.scope.owner, name, hidden=version is None)
    if skill.state != ACCEPTED:
        raise UsageError(f"{skill.handle} is {skill.state}: only a skill that was accepted can be brought back")
    if skill.hidden_at is None and version in (None, skill.version):
        state = f"has version {version} now" if version else "is not hidden"
        raise UsageError(f"{skill.name} {state}; `agent skills show {skill.name} --versions` lists what it was before")
    consent.obtain(app_, f"restore {_short(skill)}?", "nothing was restored")
    back = skills.restore(app_.memory, skill, version)
    output.say(f"restored {_short(back)}, version {back.version}")
    output.lines(review.difference(skill.text, back.text))


app.command()(consent.review)


@app.command()
def export(
    app_: App,
    names: list[str] | None = argument("Without one: all, with --to.", None, metavar="[NAME...]"),
    to: Path | None = option("--to", "The folder to write NAME/SKILL.md to."),
    force: bool = flag("--force", "Overwrite other files."),
) -> None:
    """Print a skill as its SKILL.md, or write several to a folder."""
    chosen = list(dict.fromkeys(skills.named(app_.db, app_.scope.owner, name) for name in names or ()))
    if to is None:
        if len(chosen) != 1:
            raise UsageError("name the one skill to print, or say with --to where to write them all")
        if sys.stdout.isatty():
            output.say(chosen[0].text.rstrip("\r\n"))
        else:  # the exact bytes
            sys.stdout.buffer.write(chosen[0].text.encode())
        return
    chosen = chosen if names else skills.listing(app_.db, app_.scope.owner)
    if not chosen:
        output.note("there are no skills; `agent skills add NAME` adds one")
    if len({each.name for each in chosen}) < len(chosen):
        raise UsageError("two of these have one name, and so one file: export them one by one")
    written = skills.write_files(to, chosen, force=force)
    output.lines(f"{'wrote' if new else 'the same already:'} {path}" for path, new in written)


@app.command("import")
def import_(
    app_: App,
    paths: list[Path] | None = argument(
        "A SKILL.md, a folder with one, or a folder of such folders; else .agents/skills here and at home.",
        None,
        metavar="[PATH...]",
    ),
    accept: bool = flag("--accept", "Accept them all; needs --yes."),
    yes: ConfirmRead = False,
) -> None:
    """Read SKILL.md files, into the queue unless accepted."""
    if accept and not yes:
        raise UsageError("--accept accepts every file without a review: say --yes as well, or leave it out")
    folders = paths or [each for each in (Path.cwd() / _USUAL, Path.home() / _USUAL) if each.is_dir()]
    if not folders:
        raise UsageError(f"there is no {_USUAL} here or at home: name a SKILL.md or a folder with some")
    files = list(dict.fromkeys(file for path in folders for file in skills.skill_files(path)))
    if not paths:  # of one name the project's
        files = list({file.parent.name: file for file in reversed(files)}.values())[::-1]
    if accept:
        consent.obtain(app_, f"accept {text.counted(len(files), 'skill')} as they are?", "nothing was imported")
    memory = app_.memory.in_one_batch()
    new = broken = 0
    for file in files:
        try:
            new += _import(memory, file, accept)
        except UsageError as error:
            broken += 1
            output.note(f"{text.one_line(str(file), _PATH_WIDTH)} was skipped: {error}")
    waits = "" if accept or not new else " (agent skills review)"
    output.say(f"imported {text.counted(new, 'skill')}, {'accepted' if accept else 'pending'}{waits}")
    report_skipped(broken, "file", "files")


def _import(memory: MemoryContext, file: Path, accept: bool) -> bool:
    """Import a file; whether it was new. Raises UsageError when it is no skill."""
    words, (files, left) = skills.read_text(file), skills.read_folder(file)
    skill = skills.import_skill(memory, words, files, accepted=accept)
    if skill is None:
        reason = f"{skills.parse(words).name} is known, waits already, or was rejected, hidden or forgotten"
        output.note(f"nothing new in {text.one_line(str(file), _PATH_WIDTH)}: {reason}")
        return False
    target = f", a change to {ids.handle('skill', skill.target_id)}" if skill.target_id else ""
    version = f", version {skill.version}" if skill.version > 1 else ""
    state = f"waits for your yes{target}" if skill.state == PENDING else f"is accepted{version}"
    output.say(f"{_short(skill)} {state}")
    _note_altered(skill.name, words)
    if left:
        names = text.listed([*map(text.one_line, left)], _FILES_NAMED)
        output.note(f"{skill.name}: what stands beside its SKILL.md was left: {names}")
    return True


def _short(skill: skills.Skill) -> str:
    return f"{skill.handle} “{skill.name}”"


def _note_altered(name: str, words: str) -> None:
    """Print a note about parts of a skill that the model will not be given."""
    parsed = skills.parse(words)
    if parsed.invisible_count:
        many = "a character" if parsed.invisible_count == 1 else f"{parsed.invisible_count} characters"
        output.note(f"{name} holds {many} that no screen shows; the model is given the skill without")
    if len(parsed.body) > MAX_STEPS:
        output.note(f"{name} is long: the model is given the first {MAX_STEPS} characters of its steps")
