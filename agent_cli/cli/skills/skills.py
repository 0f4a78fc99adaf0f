"""`agent skills`: procedures that the person wrote or approved."""

import sys
from typing import Annotated, Any

import typer

from agent_cli import text
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.facts import review
from agent_cli.cli.options import AsJson, LimitOption
from agent_cli.cli.skills import skill_files, skill_format
from agent_cli.editor import edited
from agent_cli.errors import UsageError
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED, Version
from agent_cli.memory.skills import skill_file, skill_folders, skills
from agent_cli.memory.skills.skills import MERGED, Skill
from agent_cli.messages import Origin

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="How things are done.")

SkillName = Annotated[str, typer.Argument(help="The skill's name, or its handle as in k3.")]

_PLACEHOLDER = "what it does: use when …"
_STEPS = "1. …"


@app.callback()
def group() -> None:
    """How things are done: procedures you wrote or approved."""


@app.command("list")
def list_(
    context: typer.Context,
    limit: LimitOption = 100,
    as_json: AsJson = False,
    pending: Annotated[bool, typer.Option("--pending", help="Those that wait for your yes.")] = False,
    every: Annotated[bool, typer.Option("--all", help="In every state.")] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that `rm` has hidden.")] = False,
) -> None:
    """List skills by name."""
    app_: App = context.obj.app()
    if pending + every + hidden > 1:
        raise UsageError("say one of --pending, --all and --hidden")
    states = (ACCEPTED, PENDING, REJECTED, MERGED, EXPIRED) if every else (PENDING if pending else ACCEPTED,)
    limited = pending or every or hidden
    empty = "there are no such skills" if limited else "there are no skills; `agent skills add NAME` adds one"
    skill_format.table(skills.listing(app_.db, app_.scope.owner, limit, states=states, hidden=hidden), as_json, empty)


@app.command()
def show(
    context: typer.Context,
    name: SkillName,
    as_json: AsJson = False,
    versions: Annotated[bool, typer.Option("--versions", help="List its versions.")] = False,
    version: Annotated[int | None, typer.Option("--version", min=1, help="As it was in this version.")] = None,
) -> None:
    """Show a skill whole, as it is or was."""
    app_: App = context.obj.app()
    skill = skill_format.find(app_, name)
    older = skills.former(app_.db, skill)
    if versions:
        _versions(skill, older, as_json)
        return
    words = skill.text if version in (None, skill.version) else _version_text(skill, older, version)
    if as_json:
        row = skill.describe() | {"text": words, "version": version or skill.version}
        output.put_json(row | {"versions": [each.was["version"] for each in older] + [skill.version]})
        return
    for what, value in _detail_rows(skill, version or skill.version):
        output.say(f"{what:<8} {value}")
    output.say()
    output.say(text.visible(words).rstrip("\n"))
    skill_format.note_altered(skill.name, words)


def _version_text(skill: Skill, older: list[Version], version: int | None) -> str:
    """The text of an older version. Raises UsageError when there is none."""
    for each in older:
        if each.was["version"] == version:
            return str(each.was["text"])
    raise UsageError(f"{skill.name} has no version {version}; `agent skills show {skill.name} --versions` lists them")


def _detail_rows(skill: Skill, version: int) -> list[tuple[str, str]]:
    """What there is to say of a skill beside its words."""
    decided = f" on {skill_format.day(skill, skill.decided_at)}" if skill.decided_at else ""
    older = f" of {skill.version}" if version != skill.version else ""
    rows = [("skill", f"{skill.handle} {skill.name}, version {version}{older}")]
    rows.append(("state", f"{skill.state}{decided}{', hidden' if skill.hidden_at else ''}"))
    if skill.target_id:
        base = f", version {skill.base}" if skill.base else ""
        rows.append(("changes", f"{skill.describe()['changes']}{base}"))
    rows.append(("origin", f"{skill.origin}{f', made from {skill.trust}' if skill.trust != skill.origin else ''}"))
    rows.append(("changed", skill_format.day(skill, skill.changed_at)))
    return rows


def _versions(skill: Skill, older: list[Version], as_json: bool) -> None:
    if as_json:
        now = {"version": skill.version, "change": "", "actor": "", "at": skill.changed_at, "text": skill.text}
        former = [
            {
                "version": each.was["version"],
                "change": each.change,
                "actor": each.actor,
                "at": each.at,
                "text": each.was["text"],
            }
            for each in older
        ]
        output.put_json([*former, now])
        return
    rows: list[dict[str, Any]] = [
        {
            "version": each.was["version"],
            "until": f"until {skill_format.day(skill, each.at)}",
            "how": f"{each.change} by the {each.actor}",
        }
        for each in older
    ]
    output.listing(
        [*rows, {"version": skill.version, "until": "now"}], ("version", "until", "how"), as_json=False, empty=""
    )


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Small letters, digits and hyphens, as in deploy-site.")],
    body: Annotated[
        list[str] | None, typer.Argument(help="The steps; without them they are read from standard input.")
    ] = None,
    description: Annotated[str, typer.Option("-d", "--description", help="What it does and when to use it.")] = "",
    example: Annotated[
        bool,
        typer.Option("--example", help="Add the example skill of this name, as morning-briefing."),
    ] = False,
) -> None:
    """Write down how something is done. What you type counts at once; what comes through a pipe waits for your yes."""
    app_: App = context.obj.app()
    name = skill_file.check_name(name)
    if example:
        if body or description:
            raise UsageError("--example brings its own words: give it a name alone")
        _queue(app_, name, skill_folders.example(name), "file")
    elif body:
        app_.refuse_child()
        _add(app_, skill_file.compose(name, _require_description(description), " ".join(body)))
    elif sys.stdin.isatty():
        app_.refuse_child()
        _write(app_, name, description)
    else:
        _queue(app_, name, _piped(name, description), "piped")


def _write(app_: App, name: str, description: str) -> None:
    template = skill_file.compose(name, description.strip() or _PLACEHOLDER, _STEPS)
    with edited(template, app_.config.editor) as typed:
        if typed.strip() in ("", template.strip()):
            output.note("nothing was written")
            return
        if _PLACEHOLDER in typed:
            raise UsageError(f"the description still says “{_PLACEHOLDER}”: write there what the skill is for")
        _add(app_, typed)


def _add(app_: App, words: str) -> None:
    consent.obtain(app_, f"save the skill {skill_file.parse(words).name}?", "nothing was saved")
    skill = skills.add(app_.db, app_.scope.owner, words, app_.time)
    output.say(f"saved {skill_format.short(skill)}")
    skill_format.note_altered(skill.name, words)


def _piped(name: str, description: str) -> str:
    """The SKILL.md from a pipe, composed when only its steps were piped. Raises UsageError."""
    try:
        piped = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("what came through the pipe is not UTF-8") from error
    whole = piped.removeprefix("\ufeff").startswith("---")
    return piped if whole else skill_file.compose(name, _require_description(description), piped)


def _queue(app_: App, name: str, words: str, origin: Origin) -> None:
    """Propose a skill that the person did not type: it waits for a yes. Raises UsageError."""
    if skill_file.parse(words).name != name:
        raise UsageError(f"its front matter names it {skill_file.parse(words).name}: add it under that name")
    skill = skills.propose(app_.db, app_.scope.owner, words, app_.time, origin=origin)
    if skill is None:
        output.say(f"nothing new in {name}: it is known, waits already, or was rejected, hidden or forgotten")
        return
    output.say(f"{skill_format.short(skill)} waits for your yes (agent skills review)")
    skill_format.note_altered(name, words)


def _require_description(description: str) -> str:
    if not description.strip():
        raise UsageError("say what it does and when to use it, with --description")
    return description


@app.command()
def edit(context: typer.Context, name: SkillName) -> None:
    """Change a skill in your editor; its former version stays."""
    app_: App = context.obj.app()
    app_.refuse_child()
    skill = skill_format.find(app_, name)
    if skill.hidden_at or skill.state not in (ACCEPTED, PENDING):
        how = f"; `agent skills restore {skill.name}` brings it back" if skill.hidden_at else ""
        raise UsageError(f"{skill.handle} is {'hidden' if skill.hidden_at else skill.state}, and stays as it is{how}")
    with edited(skill.text, app_.config.editor) as typed:
        if typed == skill.text:
            output.note(f"{skill.name} was left as it is")
            return
        skill_file.parse(typed)
        consent.obtain(app_, f"save {skill.name} as you wrote it?", "nothing was changed")
        changed = skills.edit(app_.db, skill, typed, app_.time)
    number = f", version {changed.version}" if changed.state == ACCEPTED else ""
    output.say(f"changed {skill_format.short(changed)}{number}")
    for line in skill_format.difference(skill.text, changed.text):
        output.say(line)
    skill_format.note_altered(changed.name, changed.text)


@app.command()
def rm(context: typer.Context, names: Annotated[list[str], typer.Argument(metavar="NAME...")]) -> None:
    """Hide skills; `restore` brings them back, `agent forget` erases."""
    app_: App = context.obj.app()
    app_.refuse_child()
    chosen = list(dict.fromkeys(skill_format.find(app_, name) for name in names))
    for skill in chosen:
        if skill.state == PENDING:
            raise UsageError(f"{skill.handle} waits for your yes or no: `agent skills review` asks for it")
        if not skill.is_accepted:
            raise UsageError(f"{skill.handle} is {'hidden already' if skill.hidden_at else skill.state}")
    with app_.db.write():
        for skill in chosen:
            skills.hide(app_.db, skill, app_.time)
    for skill in chosen:
        output.say(f"hidden {skill_format.short(skill)} (agent skills restore {skill.name})")


@app.command()
def restore(
    context: typer.Context,
    name: SkillName,
    version: Annotated[int | None, typer.Option("--version", min=1, help="As it was in this version.")] = None,
) -> None:
    """Bring a hidden skill back, or an older version of one."""
    app_: App = context.obj.app()
    app_.refuse_child()
    skill = skill_format.find(app_, name, hidden=version is None)
    if skill.state != ACCEPTED:
        raise UsageError(f"{skill.handle} is {skill.state}: only a skill that was accepted can be brought back")
    if skill.hidden_at is None and version in (None, skill.version):
        state = f"has version {version} now" if version else "is not hidden"
        raise UsageError(f"{skill.name} {state}; `agent skills show {skill.name} --versions` lists what it was before")
    consent.obtain(app_, f"restore {skill_format.short(skill)}?", "nothing was restored")
    back = skills.restore(app_.db, skill, app_.time, version)
    output.say(f"restored {skill_format.short(back)}, version {back.version}")
    for line in skill_format.difference(skill.text, back.text):
        output.say(line)


app.command()(review.review)
app.command()(skill_files.export)
app.command("import")(skill_files.import_)
