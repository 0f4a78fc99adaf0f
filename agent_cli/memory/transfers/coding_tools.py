"""Reads what Claude Code, Codex CLI and Gemini CLI keep of their sessions, a file for each, as sessions.

What the person typed and what the tool answered in words is imported, the messages as of that tool. Left out is what
the tool put among them: instructions and context in messages of the person, output of commands, summaries of compacted
conversations, sessions and branches of subagents; and what fills most of these files: calls, their results, thoughts.
Of branches that going back leaves behind, the one last shown is imported. A session may go on while it is read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from agent_cli import limits
from agent_cli.errors import UsageError
from agent_cli.memory.transfers import export_files
from agent_cli.memory.transfers.transfer import ExternalSession, Report
from agent_cli.text import one_line, sentences
from agent_cli.values import frozen

_HEAD = 1 << 16  # characters by which a file is recognised
_PER_MESSAGE = 2000  # bytes of these files, about
_COMPRESSED = ".zst"


@frozen
class CodingTool:
    source: str
    name: str
    variable: str  # of the environment, which may name its folder
    folder: str  # in the home folder
    sessions: tuple[str, ...]  # patterns of the files
    facts: tuple[str, ...]  # patterns of the files that hold what it remembers or is to know
    read: "Callable[[Records], dict[str, Any] | None]"

    def home(self, environ: Mapping[str, str]) -> Path:
        return Path(environ.get(self.variable) or Path.home() / self.folder).expanduser()


@frozen
class ToolFile:
    tool: CodingTool
    path: Path
    size: int  # bytes
    changed_at: float


def found(environ: Mapping[str, str], *, facts: bool = False) -> list[ToolFile]:
    """The sessions of all tools in the home folder, or what they hold of facts."""
    patterns = [(tool, tool.facts if facts else tool.sessions) for tool in TOOLS]
    return _files((tool, path) for tool, some in patterns for each in some for path in tool.home(environ).glob(each))


def files_in(path: Path) -> list[ToolFile]:
    """The sessions of these tools that a file or folder holds; none for another file. Raises UsageError."""
    paths = path.rglob("*.json*") if path.is_dir() else [path]
    files = _files((tool, each) for each in paths if (tool := _tool_of(each)))
    if path.is_dir() and not files:
        raise UsageError(f"there are no sessions of {NAMES} in {path}")
    return files


def _files(paths: Iterable[tuple[CodingTool, Path]]) -> list[ToolFile]:
    """The oldest first: a session that was branched off follows the first one."""
    files = []
    for tool, path in paths:
        with suppress(OSError):  # it was removed since
            stat = path.stat()
            files.append(ToolFile(tool, path, stat.st_size, stat.st_mtime))
    return sorted(files, key=lambda file: (file.changed_at, file.path))


@frozen
class Records:
    """The JSON objects in a file. A line that is broken is reported, unless it is the last and being written."""

    file: Path
    report: Report

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.file.suffix == _COMPRESSED:
            raise ValueError("it is compressed: unpack it with `unzstd`")
        try:
            with self.file.open(encoding="utf-8", errors="replace") as opened:
                if self.file.suffix == ".json":  # an object in lines
                    yield _object(opened.read(limits.MAX_LINE + 1))
                    return
                for number, line in enumerate(limits.lines(opened), 1):
                    try:
                        if line.strip():
                            yield _object(line)
                    except ValueError as error:
                        if line.endswith("\n"):
                            self.report(f"line {number} of {self.file} was skipped: {one_line(str(error), 120)}")
        except OSError as error:
            raise ValueError(f"it cannot be read: {error.strerror}") from error


def _object(text: str) -> dict[str, Any]:
    found = limits.load_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def sessions(files: Iterable[ToolFile], report: Report) -> Iterator[ExternalSession]:
    for file in files:
        read = partial(_session, file.tool, Records(file.path, report))
        yield ExternalSession(str(file.path), file.size // _PER_MESSAGE, read)


def _session(tool: CodingTool, records: Records) -> dict[str, Any] | None:
    row = tool.read(records)
    for message in row["messages"] if row else ():
        if message["role"] == "assistant":
            message |= {"author": tool.name, "model": message.get("model") or tool.name}
    return row and {**row, "source": tool.source}


def _tool_of(file: Path) -> CodingTool | None:
    """The tool that wrote a file. The words of no message are taken for a key: quotes in them are escaped."""
    claude_code, codex, gemini = TOOLS
    if file.name.startswith("rollout-") and ".jsonl" in file.suffixes:
        return codex
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return None
    keys = {'"session_meta"': codex, '"projectHash"': gemini, '"sessionId"': claude_code, '"leafUuid"': claude_code}
    return next((tool for key, tool in keys.items() if key in head), None)


_REMINDER = "system-reminder"
_ADDED = (  # beginnings of what the tools put into messages of the person
    *("<command-", "<local-command-", "<bash-", "<task-notification", "<teammate-message", "<ide_", "<user-memory-"),
    *("Caveat: The messages below", "[Request interrupted", "This session is being continued from a previous"),
    *("<environment_context", "<user_instructions", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<permissions"),
    *("<turn_aborted", "<user_shell_command", "<skill", "<recommended_plugins", "<codex_internal_context"),
    *("<session_context", "<hook_context", "<state_snapshot", "<subagent_notification", "<apps_instructions"),
)
_EDITOR, _REQUEST = "# Context from my IDE setup:", "## My request for Codex:"


def _typed(text: str) -> str:
    """What the person typed of a message."""
    first, *rest = text.split(f"<{_REMINDER}>")
    text = "".join([first, *(each.partition(f"</{_REMINDER}>")[2] for each in rest)]).strip()
    if arguments := _between(text, "command-args"):
        return f"{_between(text, 'command-name')} {arguments}"
    if text.startswith(_EDITOR):
        text = text.partition(_REQUEST)[2].strip()
    return "" if text.startswith(_ADDED) else text


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


_Timed = tuple[Any, dict[str, Any] | None]  # when it was said, and a message


def _claude_code(records: Records) -> dict[str, Any] | None:
    """Each line names the one that it follows. Compacting begins anew, and copies of another session keep their ids."""
    lines: list[tuple[str, str, _Timed]] = []  # id, that of the line before, message
    session, folder, titles = "", "", dict[str, Any]()
    for record in records:
        match record:
            case {"type": "custom-title" | "ai-title" | "summary" as kind}:
                titles[kind] = record.get("customTitle") or record.get("aiTitle") or record.get("summary")
        session, folder = record.get("sessionId") or session, folder or record.get("cwd") or ""
        id, message = str(record.get("uuid") or ""), _claude_code_message(record)
        if (id or message) and not record.get("isSidechain"):
            anew = not id or record.get("isCompactSummary") or record.get("subtype") == "compact_boundary"
            before = str(record.get("parentUuid") or ("anew" if anew else ""))
            lines.append((id, before, (record.get("timestamp"), message)))
    title = titles.get("custom-title") or titles.get("ai-title") or titles.get("summary")
    row = export_files.to_row(session or records.file.stem, title, "", _shown(lines))
    return row and {**row, "folder": folder, "unique": True}


def _claude_code_message(record: dict[str, Any]) -> dict[str, Any] | None:
    copied: Mapping[str, Any] = record.get("forkedFrom") or {}
    id = copied.get("messageUuid") or record.get("uuid") or record.get("timestamp")
    if any(record.get(key) for key in ("isMeta", "isCompactSummary", "isApiErrorMessage")):
        return None
    match record:
        case {"type": "user" | "assistant" as role, "message": {"content": content, **more}}:
            return _message(str(id), role, content, more.get("model"))
        case {"attachment": {"type": "queued_command", "prompt": prompt, **more}}:  # typed while the tool worked
            sender: Any = more.get("origin") or {"kind": "human"}
            return _message(str(id), "user", prompt) if sender.get("kind") == "human" else None
    return None


def _shown(lines: list[tuple[str, str, _Timed]]) -> list[_Timed]:
    """The messages on the way from the last line to the first. Where the line before is missing, another precedes it;
    a line without an id belongs to the one above it."""
    places = {id: number for number, (id, _, _) in enumerate(lines)}
    at = next((number for number, (id, _, _) in reversed([*enumerate(lines)]) if id), -1)
    path = set()
    while at >= 0:
        path.add(at)
        before = lines[at][1]
        at = min(places.get(before, at - 1), at - 1) if before else -1
    shown, found = False, []
    for number, (id, _, timed) in enumerate(lines):
        shown = number in path if id else shown
        found += [timed] if shown else []
    return found


def _codex(records: Records) -> dict[str, Any] | None:
    """Lines are items in an envelope, before version 0.32 bare. They have no ids: that of a message is made from all
    that was said up to it, the same in a session that begins with a copy of another one."""
    about, model, timed = dict[str, Any](), "", list[tuple[Any, dict[str, Any]]]()
    for record in records:
        kind, item = record.get("type"), record.get("payload", record)
        match kind, item:
            case ("session_meta", _) | (None, {"id": _}) if not about:
                about = item
                if isinstance(about.get("source"), dict) and "subagent" in about["source"]:
                    return None
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
    row = export_files.to_row(about.get("id") or records.file.stem, "", about.get("timestamp"), timed)
    return row and {**row, "folder": about.get("cwd") or "", "unique": True}


def _gemini(records: Records) -> dict[str, Any] | None:
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
    if about.get("kind") == "subagent":
        return None
    roles, timed = {"user": "user", "gemini": "assistant"}, list[_Timed]()
    for id, each in said.items():
        content = each.get("displayContent") or each.get("content")
        timed.append((each.get("timestamp"), _message(id, roles.get(each.get("type", "")), content, each.get("model"))))
    row = export_files.to_row(about.get("sessionId"), about.get("summary"), about.get("startTime"), timed)
    return row and {**row, "folder": _gemini_folder(records.file)}


def _gemini_folder(file: Path) -> str:
    """The folder of a session: in a file beside it, or the one whose name or hash stands in the path; else empty."""
    project = file.parent.parent
    try:
        if (root := project / ".project_root").is_file():
            return root.read_text(encoding="utf-8").strip()
        named: dict[str, str] = json.loads((project.parent.parent / "projects.json").read_text(encoding="utf-8"))[
            "projects"
        ]
        hashes = {hashlib.sha256(folder.encode()).hexdigest(): folder for folder in named}
        return {**hashes, **{name: folder for folder, name in named.items()}}.get(project.name, "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\[([^][]*)\]\([^()\s]*\)")
_DAY = re.compile(r" \(\d{4}-\d\d-\d\d\)$")  # which `agent facts export --format md` writes
_ENDS = {"```": "```", "~~~": "~~~", "<!--": "-->", "---": "---"}  # of code, comments and, at the top, settings
_WORDS, _CHARACTERS = 3, 300  # of a sentence at least and at most


def statements(lines: Iterable[str]) -> Iterator[str]:
    """The sentences of a Markdown file for coding tools, in its paragraphs and lists, as rows of `facts import`: no
    headings, code, tables, comments or names of other files."""
    paragraph, end = list[str](), ""
    for number, line in enumerate(chain(lines, [""])):
        words = line.strip()
        bullet = _BULLET.match(words)
        begun = "" if end else next((each for each in _ENDS if words.startswith(each)), "")
        is_text = bool(words) and not (end or begun) and not words.startswith(("#", "|", "@"))
        if bullet or not is_text:
            for sentence in sentences(_LINK.sub(r"\1", " ".join(paragraph)).replace("**", "")):
                statement = _DAY.sub("", sentence)
                if len(statement.split()) >= _WORDS and len(statement) <= _CHARACTERS and statement[-1] != ":":
                    yield json.dumps({"statement": statement})
            paragraph = []
        if is_text:
            paragraph.append(words[bullet.end() :] if bullet else words)
        elif end:
            end = "" if end in words else end
        elif begun and (begun != "---" or not number) and _ENDS[begun] not in words[len(begun) :]:
            end = _ENDS[begun]


TOOLS = (
    CodingTool(
        "claude-code",
        "Claude Code",
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ("projects/*/*-*-*-*-*.jsonl",),
        ("CLAUDE.md", "projects/*/memory/MEMORY.md"),
        _claude_code,
    ),
    CodingTool(
        "codex",
        "Codex CLI",
        "CODEX_HOME",
        ".codex",
        ("sessions/*/*/*/rollout-*.jsonl*", "archived_sessions/rollout-*.jsonl*"),
        ("AGENTS.md", "memories/MEMORY.md"),
        _codex,
    ),
    CodingTool("gemini", "Gemini CLI", "", ".gemini", ("tmp/*/chats/session-*.json*",), ("GEMINI.md",), _gemini),
)
NAMES = ", ".join(tool.name for tool in TOOLS)
