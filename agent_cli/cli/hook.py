"""`agent hook install` and `remove`: the setting by which Claude Code or Codex CLI runs `agent hook` (hook_event)."""

import difflib
import json
import os
import shlex
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from typer import Context

from agent_cli import atomic_file, limits
from agent_cli.cli import consent, hook_event, output
from agent_cli.cli.options import Yes, group
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.transfers import coding_tools
from agent_cli.text import one_line

app = group("Let Claude Code or Codex CLI use this memory: the command that they run at each event of a session.")

Tool = Literal["claude", "codex"]
_EVENTS: Mapping[Tool, tuple[str, ...]] = {
    "claude": ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop"),
}
_TIMEOUT = 10  # seconds until the tool goes on without an answer
_TRUST = "Codex runs it once you have trusted it: start codex, and review its hooks when it asks, or with /hooks"


@app.callback(invoke_without_command=True)
def hook(context: Context) -> None:
    """Answer an event, read as JSON from standard input. `agent hook install` has Claude Code or Codex run this."""
    if not context.invoked_subcommand:
        hook_event.answer(context.obj.app)


@app.command(decides=True)
def install(tool: Tool, yes: Yes = False) -> None:
    """Show what changes in the settings of the tool, and write it after a yes. Its other hooks stay."""
    command = f"{_program()} hook"

    def add(hooks: Any) -> None:
        for event in _EVENTS[tool]:
            entries = [each for entry in hooks.setdefault(event, []) for each in entry["hooks"] if _is_ours(each)]
            for each in entries:
                each["command"] = command
            if not entries:
                hooks[event].append({"hooks": [{"type": "command", "command": command, "timeout": _TIMEOUT}]})

    if _change(tool, add, yes=yes) and tool == "codex":
        output.note(_TRUST)


@app.command(decides=True)
def remove(tool: Tool, yes: Yes = False) -> None:
    """Take out of the settings of the tool what `install` has written, after a yes."""

    def drop(hooks: Any) -> None:
        for event in _EVENTS[tool]:
            entries = hooks.get(event, [])
            for at in reversed(range(len(entries))):
                ours = [n for n, each in enumerate(entries[at]["hooks"]) if _is_ours(each)]
                for n in reversed(ours):
                    del entries[at]["hooks"][n]
                if ours and not entries[at]["hooks"]:
                    del entries[at]
            if event in hooks and not entries:
                del hooks[event]

    _change(tool, drop, yes=yes)


def _program() -> str:
    """How this program is started, whatever the tool has on its path: others are called `agent` too."""
    started = Path(sys.argv[0]).absolute()
    return shlex.quote(str(started)) if started.name in _NAMES else f"{shlex.quote(sys.executable)} -m agent_cli"


_NAMES = ("agent", "agent-cli")


def _is_ours(entry: Any) -> bool:
    try:
        program, *words = shlex.split(str(entry.get("command")))
    except ValueError:
        return False
    return words[:3] == ["-m", "agent_cli", "hook"] or (words[:1] == ["hook"] and Path(program).name in _NAMES)


def _change(tool: Tool, change: Callable[[Any], None], *, yes: bool) -> bool:
    """Change the hooks in the settings of a tool; whether anything was written. Raises UsageError and AgentError."""
    file = _settings(tool)
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        after = _changed(before, change, toml=file.suffix == ".toml")
        content, target = after.encode(), file.resolve()  # a link stays one
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or one_line(str(error), 120)
        raise UsageError(f"{file} has no hooks that can be read, and nothing was changed: {why}") from error
    except (TypeError, KeyError, AttributeError, RuntimeError) as error:
        why = "they have another form than the tool writes"
        raise UsageError(f"{file} has no hooks that can be read, and nothing was changed: {why}") from error
    if after == before:
        output.say(f"{file} needs no change")
        return False
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm="")
    output.lines(lines)
    if not yes:
        consent.confirm("write this?", "nothing was changed", look="")
    try:
        atomic_file.make_folder(target.parent)
        atomic_file.write(target, content, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
    except OSError as error:
        raise AgentError(f"{file} cannot be written, and nothing was changed: {error.strerror}") from error
    output.say(f"{file} is written")
    return True


def _settings(tool: Tool) -> Path:
    """The file of the tool's own hooks; of Codex that in which there are some, since it advises against two."""
    claude_code, codex, _ = coding_tools.TOOLS
    if tool == "claude":
        return claude_code.home(os.environ) / "settings.json"
    folder = codex.home(os.environ)
    with suppress(OSError, ValueError, AttributeError):
        inline = limits.load_toml((folder / "config.toml").read_text(encoding="utf-8")).get("hooks", {})
        if any(event in inline for event in _EVENTS[tool]):
            return folder / "config.toml"
    return folder / "hooks.json"


def _changed(before: str, change: Callable[[Any], None], *, toml: bool) -> str:
    """The text of a settings file with its hooks changed; comments and order of TOML are kept, of JSON the order."""
    if toml:
        import tomlkit  # 40 ms

        document: Any = tomlkit.parse(before)
    else:
        document = json.loads(before) if before.strip() else {}
    unchanged = json.dumps(document, default=str)
    change(document.setdefault("hooks", {}))
    if not document["hooks"]:
        del document["hooks"]
    if json.dumps(document, default=str) == unchanged:
        return before
    if toml:
        return tomlkit.dumps(document)
    rest = before.partition("\n")[2]
    indent = rest[: len(rest) - len(rest.lstrip(" \t"))] or "  "
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
