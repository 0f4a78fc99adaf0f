"""`agent hook`: memory in Claude Code and Codex CLI, which run a command at each event of a session (their hooks).

The event is JSON on standard input. When a session starts, the answer is the person's profile, at a prompt what memory
holds about it: text for the model of that tool, found by words alone, since a person waits and a server may be slow.
When a turn or a session ends, the file in which the tool keeps the session is imported. None of it counts as typed.
Whatever fails adds nothing, and the exit code is 0: others are errors to these tools, and 2 blocks the prompt.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_cli import limits
from agent_cli.agent import profile, prompt_recall
from agent_cli.app.app import App, open_app
from agent_cli.cli import output
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.language import secrets
from agent_cli.memory.search import index
from agent_cli.store import sealing
from agent_cli.text import clean, one_line
from agent_cli.tools.tool import ToolContext

_LARGEST = 20_000_000  # bytes of an event
_SOURCES = ("claude-code", "codex")  # of imported sessions


def answer(open_: Callable[[], App] = lambda: open_app({}, output.note)) -> None:
    """Read an event and print what is added to the session."""
    try:
        event = _read()
        sealing.KEYS.variable = os.environ.pop(sealing.VARIABLE, "") or sealing.KEYS.variable
        with (app := open_()).db:
            added = secrets.mask(clean(_added(app, event)))
        if added:
            answered = {"hookEventName": event["hook_event_name"], "additionalContext": added}
            print(json.dumps({"hookSpecificOutput": answered}), flush=True)
    except Exception as error:  # whatever it is, the person's work in that tool goes on
        output.note(f"memory adds nothing here: {one_line(str(error) or type(error).__name__, 300)}")


def _read() -> Mapping[str, Any]:
    if sys.stdin.isatty():
        raise UsageError("an event is read from standard input: `agent hook install claude` (or codex) sets it up")
    try:
        event = limits.load_json(sys.stdin.buffer.read(_LARGEST).decode("utf-8", "replace"))
        return {**event, "hook_event_name": str(event["hook_event_name"])}
    except (ValueError, TypeError, KeyError):
        raise UsageError("standard input holds no event of a hook as JSON") from None


def _added(app: App, event: Mapping[str, Any]) -> str:
    """What the model of the tool is given."""
    sizes: dict[str, Any] = {"profile_tokens": app.profile_tokens, "recall_tokens": app.recall_tokens}
    context = ToolContext(app.db, 0, app.scope, app.time, fact_half_life=app.fact_half_life, **sizes)
    match event["hook_event_name"]:
        case "SessionStart":
            return profile.for_program(context)
        case "UserPromptSubmit":
            index.catch_up(app.db)
            id, owner = str(event.get("session_id")), app.scope.owner
            known = (sessions.find_imported(app.db, owner, source, id) for source in _SOURCES)
            shown = [message for session in known if session for message in log.external_ids(app.db, session)]
            return prompt_recall.for_program(context, str(event.get("prompt") or ""), shown)
        case "Stop" | "SessionEnd" if file := event.get("transcript_path"):
            _import(app, Path(str(file)))
    return ""


def _import(app: App, file: Path) -> None:
    """Import what is new in the file of a session. What a later `agent sessions import` reads of it is known then."""
    from agent_cli.memory.transfers import coding_tools, transfer  # a prompt needs none of it

    read = coding_tools.sessions(coding_tools.files_in(file) if file.is_file() else [])
    transfer.import_sessions(app.db, app.scope, read, "", app.time, output.first_notes())
