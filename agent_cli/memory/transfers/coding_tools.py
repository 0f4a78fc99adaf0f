"""Reads what Claude Code, Codex CLI and Gemini CLI keep of their sessions, a file for each, as sessions.

What the person typed and what the tool answered in words is imported, the messages as of that tool. Left out is what
the tool put among them: instructions and context in messages of the person, output of commands, summaries of compacted
conversations, sessions and branches of subagents; and what fills most of these files: calls, their results, thoughts.
Of branches that going back leaves behind, the one last shown is imported. A session may go on while it is read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from agent_cli import limits
from agent_cli.errors import UsageError
from agent_cli.memory.documents import document_sections
from agent_cli.memory.scope import place_of
from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.text import sentences
from agent_cli.values import frozen

_HEAD = 1 << 16  # characters by which a file is recognised
_MESSAGES = 250  # of a session, about
_Timed = tuple[Any, dict[str, Any] | None]  # when it was said, and a message
_Session = tuple[Any, Any, Any, Sequence[_Timed], str]  # id, title, begin, messages, folder


@frozen
class CodingTool:
    source: str
    name: str
    variable: str  # of the environment, which may name its folder
    folder: str  # in the home folder
    sessions: str  # patterns of the files
    facts: str  # patterns of the files that hold what it remembers or is to know
    read: Callable[[Iterable[dict[str, Any]]], _Session]

    def home(self, environ: Mapping[str, str]) -> Path:
        return Path(environ.get(self.variable) or Path.home() / self.folder).expanduser()


def found(environ: Mapping[str, str], *, facts: bool = False) -> list[tuple[CodingTool, Path]]:
    """The sessions of all tools in the home folder, or what they hold of facts."""
    patterns = [(tool, each) for tool in TOOLS for each in (tool.facts if facts else tool.sessions).split()]
    return [(tool, file) for tool, each in patterns for file in sorted(tool.home(environ).glob(each)) if file.is_file()]


def files_in(path: Path) -> list[tuple[CodingTool, Path]]:
    """The sessions of these tools that a file or folder holds; none for another file. Raises UsageError."""
    paths = sorted(path.rglob("*.json*")) if path.is_dir() else [path]
    files = [(tool, each) for each in paths if (tool := _tool_of(each))]
    if path.is_dir() and not files:
        raise UsageError(f"there are no sessions of {NAMES} in {path}")
    return files


def _tool_of(file: Path) -> CodingTool | None:
    """The tool that wrote a file. The words of no message are taken for a key: quotes in them are escaped."""
    claude_code, codex, gemini = TOOLS
    if not file.is_file():  # what is read of a pipe is gone
        return None
    if file.name.startswith("rollout-") and ".jsonl" in file.suffixes:
        return codex
    with suppress(OSError), file.open(encoding="utf-8", errors="replace") as opened:
        head = opened.read(_HEAD)
        keys = {"session_meta": codex, "projectHash": gemini, "sessionId": claude_code, "leafUuid": claude_code}
        return next((tool for key, tool in keys.items() if f'"{key}"' in head), None)
    return None


def sessions(files: Iterable[tuple[CodingTool, Path]]) -> Iterator[ExternalSession]:
    for tool, file in files:
        yield ExternalSession(str(file), _MESSAGES, partial(_session, tool, file))


def _session(tool: CodingTool, file: Path) -> dict[str, Any] | None:
    broken = list[str]()
    id, title, started, timed, folder = tool.read(_records(file, broken))
    row = export_files.to_row(id or file.stem, title, started, timed)
    if row is None and broken:
        raise ValueError(f"line {broken[0]}")
    for message in row["messages"] if row else ():
        if message["role"] == "assistant":
            message |= {"author": tool.name, "model": message["model"] or tool.name}
    folder = folder or _gemini_folder(file)
    return row and {**row, "source": tool.source, "folder": folder, "unique": True, "broken": broken}


def _records(file: Path, broken: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects in a file. `broken` gets the lines that are none, the last excepted: it may be half written."""
    if file.suffix == ".zst":
        raise ValueError("it is compressed: unpack it with `unzstd`")
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            whole = file.suffix == ".json"
            for number, line in enumerate([opened.read(limits.MAX_LINE)] if whole else limits.lines(opened), 1):
                try:
                    if not isinstance(record := limits.load_json(line.strip() or "{}"), dict):
                        raise ValueError("it is not a JSON object")
                    yield record
                except ValueError as error:
                    if whole or line.endswith("\n"):
                        broken.append(f"{number}: {error}")
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error


_REMINDER = "system-reminder"
_TAGS = """command- local-command- bash- task-notification teammate-message agent-message cross-session-message ide_
    user-memory- environment_context user_instructions INSTRUCTIONS turn_aborted user_shell_command skill>
    recommended_plugins codex_internal_context subagent_notification apps_instructions session_context hook_context
    state_snapshot"""
_ADDED = (  # beginnings of what the tools put into messages of the person
    *(f"<{tag}" for tag in _TAGS.split()),
    *("<channel source=", "<permissions instructions>", "# AGENTS.md instructions", "[Request interrupted"),
    *("Caveat: The messages below", "This session is being continued from a previous"),
)
_EDITOR, _REQUEST = "# Context from my IDE setup:", "## My request for Codex:"
_REPLY = "send_user_message_question_reply"  # to questions of Codex
_PICTURE = re.compile(r"(?:</?image(?: (?:name=\[Image|path=)[^>]*)?>\s*)+")  # marks of Codex around one
_REFUSED = "The user doesn't want to proceed with this tool use."
_SAID, _NOTE, _CLARIFIES = "the user said:\n", "\n\nNote: The user's next message", "The user wants to clarify"


def _typed(text: str) -> str:
    """What the person typed of a message."""
    first, *rest = text.split(f"<{_REMINDER}>")
    text = "".join([first, *(each.partition(f"</{_REMINDER}>")[2] for each in rest)]).strip()
    if text.startswith("<command-") and (arguments := _between(text, "command-args")):
        return f"{_between(text, 'command-name')} {arguments}"
    if text.startswith(_EDITOR):
        text = text.partition(_REQUEST)[2].strip()
    if text.startswith(f"<{_REPLY}>"):
        with suppress(ValueError, TypeError, KeyError):
            return _replies((each["question"], each["answer"]) for each in json.loads(_between(text, _REPLY)))
    if picture := _PICTURE.match(text):
        text = text[picture.end() :]
    return "" if text.startswith(_ADDED) else text


def _replies(answers: Iterable[tuple[Any, Any]]) -> str:
    """What a person answered to questions of a tool, which stand before the answers as quotations."""
    return "\n\n".join(f"> {question}\n{answer}" for question, answer in answers)


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def _message(id: str, role: Any, content: Any, model: Any = "") -> dict[str, Any] | None:
    """A message of a person or model with its text, also in parts, and a mark for each picture; None: it has none."""
    if role not in ("user", "assistant"):
        return None
    texts = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case {"thought": thought} if thought:
                pass
            case str(words) | {"text": str(words)}:
                texts.append(_typed(words) if role == "user" else words.strip())
            case {"type": "image" | "input_image"} | {"inlineData": _}:
                texts.append("[image left out]")
    text = "\n\n".join(filter(None, texts))
    return {"id": id, "role": role, "content": text, "model": str(model or "")} if text else None


def _claude_code(records: Iterable[dict[str, Any]]) -> _Session:
    """Each line names the one that it follows. Compacting begins anew, and copies of another session keep their ids."""
    lines: list[tuple[str, str, _Timed]] = []  # id, that of the line before, message
    about, folder = dict[str, Any](), ""
    for record in records:
        about |= {key: record[key] for key in ("customTitle", "aiTitle", "summary", "sessionId") if record.get(key)}
        folder = folder or record.get("cwd") or ""
        id, message = str(record.get("uuid") or ""), _claude_code_message(record)
        if (id or message) and not record.get("isSidechain"):
            anew = not id or record.get("isCompactSummary") or record.get("subtype") == "compact_boundary"
            before = str(record.get("parentUuid") or ("anew" if anew else ""))
            lines.append((id, before, (record.get("timestamp"), message)))
    title = about.get("customTitle") or about.get("aiTitle") or about.get("summary")
    return about.get("sessionId"), title, "", _shown(lines), folder


def _claude_code_message(record: dict[str, Any]) -> dict[str, Any] | None:
    id = str(record.get("uuid") or record.get("timestamp"))
    match record:
        case {"isMeta": True} | {"isCompactSummary": True} | {"isVisibleInTranscriptOnly": True}:
            return None
        case {"isApiErrorMessage": True}:
            return None
        case {"turnOrigin": str(sender)} if sender != "human":
            return None
        case {"origin": {"kind": sender}} | {"attachment": {"origin": {"kind": sender}}} if sender != "human":
            return None
        case {"type": "user", "toolUseResult": {"answers": dict(answers)}}:  # to what the tool asked
            return _message(id, "user", _replies(answers.items()))
        case {"type": "user", "message": {"content": [{"type": "tool_result", "content": str(text)}]}}:
            said = text.partition(_SAID)[2].partition(_NOTE)[0] if text.startswith(_REFUSED) else ""
            return None if said.startswith(_CLARIFIES) else _message(id, "user", said)
        case {"type": "user" | "assistant" as role, "message": {"content": content, **more}}:
            return _message(id, role, content, more.get("model"))
        case {"attachment": {"type": "queued_command", "prompt": typed, **more}}:  # while the tool worked
            return _message(id, "user", typed) if more.get("commandMode", "prompt") == "prompt" else None
    return None


def _shown(lines: list[tuple[str, str, _Timed]]) -> list[_Timed]:
    """The messages on the way from the last line to the first, where the line above precedes one that names none that
    is there; and what branches off it, as calls at the same time do, without the person having typed anew."""
    places = {id: number for number, (id, _, _) in enumerate(lines)}
    shown, at = set(), len(lines) - 1
    while at >= 0:
        shown.add(at)
        before = lines[at][1]
        at = min(places.get(before, at - 1), at - 1) if before else -1
    for number, (id, before, (_, message)) in enumerate(lines):
        anew = id and message and message["role"] == "user"
        if not anew and (places.get(before) if id else number - 1) in shown:
            shown.add(number)
    return [lines[number][2] for number in sorted(shown)]


def _codex(records: Iterable[dict[str, Any]]) -> _Session:
    """Lines are items in an envelope, before version 0.32 bare. They have no ids: that of a message is made from all
    that was said up to it, the same in a session that begins with a copy of another one."""
    about, model, timed = dict[str, Any](), "", list[tuple[Any, dict[str, Any]]]()
    for record in records:
        kind, item = record.get("type"), record.get("payload", record)
        match kind, item:
            case ("session_meta", _) | (None, {"id": _}) if not about:
                about = item
                if isinstance(about.get("source"), dict) and "subagent" in about["source"]:
                    return "", "", "", (), ""
            case "turn_context", _:
                model = item.get("model") or model
            case "event_msg", {"type": "thread_rolled_back", "num_turns": int(turns)} if turns > 0:
                typed = [number for number, (_, each) in enumerate(timed) if each["role"] == "user"]
                del timed[typed[-turns] if turns <= len(typed) else 0 :]
            case "response_item" | "message", {"type": "message", "role": role, "content": content}:
                if message := _message("", role, content, model):
                    before = timed[-1][1]["id"] if timed else about.get("forked_from_id") or about.get("id")
                    words = f"{before} {role} {message['content']}".encode("utf-8", "replace")
                    timed.append((record.get("timestamp"), message | {"id": hashlib.sha256(words).hexdigest()[:32]}))
    return about.get("id"), "", about.get("timestamp"), timed, about.get("cwd") or ""


def _gemini(records: Iterable[dict[str, Any]]) -> _Session:
    """One object with all messages, in newer versions lines: a message, again when it has changed; what changes of the
    session; or the message to which the person went back."""
    about, said = dict[str, Any](), dict[str, dict[str, Any]]()
    for record in records:
        if (back := record.get("$rewindTo")) in said:
            for id in [*said][[*said].index(str(back)) :]:
                del said[id]
        elif isinstance(record.get("id"), str):
            said[record["id"]] = record
        else:
            about |= (changed := record.get("$set", record))
            for message in changed.get("messages") or ():  # as a model sees them: shortened
                said.setdefault(message["id"], message)
    roles, timed = {"user": "user", "gemini": "assistant"}, list[_Timed]()
    for id, each in said.items() if about.get("kind") != "subagent" else ():
        content = each.get("displayContent") or each.get("content")
        timed.append((each.get("timestamp"), _message(id, roles.get(each.get("type", "")), content, each.get("model"))))
    return about.get("sessionId"), about.get("summary"), about.get("startTime"), timed, ""


def _gemini_folder(file: Path) -> str:
    """The folder of a session: in a file beside it, or the one whose name or hash stands in the path; else empty."""
    project = file.parent.parent
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        if (root := project / ".project_root").is_file():
            return root.read_text(encoding="utf-8").strip()
        listed = json.loads((project.parent.parent / "projects.json").read_text(encoding="utf-8"))
        for folder, name in listed["projects"].items():
            if project.name in (name, hashlib.sha256(folder.encode()).hexdigest()):
                return str(folder)
    return ""


_COMMENT = re.compile(r"(?ms)^<!--.*?(?:-->|\Z)")
_BEGIN = re.compile(r"(?m)^(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?|[|@#].*)")  # of an item; a line without text
_LINK = re.compile(r"\[([^][]*)\]\([^()\s]*\)")
_DAY = re.compile(r" \(\d{4}-\d\d-\d\d\)$")  # which `agent facts export --format md` writes
_OF_PROJECTS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "MEMORY.md")
_WORDS, _CHARACTERS = 3, 300  # of a sentence at least and at most


def project(file: Path, environ: Mapping[str, str]) -> str:
    """The place of what a Markdown file says, where a tool reads it in a project; empty: it holds everywhere."""
    folder = file.absolute().parent
    if file.name not in _OF_PROJECTS:
        return ""
    if folder.name == "memory":  # Claude Code keeps it beside the sessions of the project
        records = (record for each in sorted(folder.parent.glob("*.jsonl")) for record in _records(each, []))
        with suppress(ValueError):  # one cannot be read
            folder = next((Path(str(record["cwd"])) for record in records if record.get("cwd")), folder)
    return "" if any(folder.is_relative_to(tool.home(environ)) for tool in TOOLS) else place_of(folder)


def statements(lines: Iterable[str], place: str = "") -> Iterator[str]:
    """The sentences of a Markdown file for coding tools, in its paragraphs and lists, as rows of `facts import`: no
    headings, code, tables, comments or names of other files."""
    words = _COMMENT.sub("", "\n".join(line.strip() for line in lines))
    texts = (block.text for block in document_sections.markdown(words) if not (block.level or block.whole))
    for piece in (piece for each in texts for piece in _BEGIN.split(each)):
        for sentence in sentences(_LINK.sub(r"\1", " ".join(piece.split())).replace("**", "")):
            statement = _DAY.sub("", sentence)
            if len(statement.split()) >= _WORDS and len(statement) <= _CHARACTERS and statement[-1] != ":":
                yield json.dumps({"statement": statement, "place": place})


TOOLS = (
    CodingTool(
        "claude-code",
        "Claude Code",
        "CLAUDE_CONFIG_DIR",
        ".claude",
        "projects/*/*-*-*-*-*.jsonl",
        "CLAUDE.md projects/*/memory/MEMORY.md",
        _claude_code,
    ),
    CodingTool(
        "codex", "Codex CLI", "CODEX_HOME", ".codex", "*sessions/**/rollout-*.jsonl*", "AGENTS.md */MEMORY.md", _codex
    ),
    CodingTool("gemini", "Gemini CLI", "", ".gemini", "tmp/*/chats/session-*.json*", "GEMINI.md", _gemini),
)
NAMES = ", ".join(tool.name for tool in TOOLS)
