"""Files of Claude Code, Codex CLI and Gemini CLI as several of their versions write them, made up."""

import hashlib
import json

DAY = "2026-01-02"


def jsonl(file, *rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def claude_code(uuid, parent, role, content, minute=0, session="11111111-aaaa-4bbb-8ccc-000000000001", **more):
    """A line of Claude Code; `content` is text or blocks."""
    model = {"id": f"msg_{uuid}", "model": "claude-sonnet-4-5"} if role == "assistant" else {}
    if role == "assistant" and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/site",
        "sessionId": session,
        "version": "2.1.12",
        "gitBranch": "main",
        "type": role,
        "message": {"role": role, "content": content, **model},
        "uuid": uuid,
        "timestamp": f"{DAY}T09:{minute:02}:00.000Z",
        **more,
    }


def codex(kind, minute=0, **payload):
    """A line of Codex CLI since 0.32."""
    return {"timestamp": f"{DAY}T10:{minute:02}:00.000Z", "type": kind, "payload": payload}


def codex_meta(id="0199-c", **more):
    about = {
        "timestamp": f"{DAY}T10:00:00.000Z",
        "cwd": "/work/site",
        "originator": "codex_cli_rs",
        "cli_version": "0.65",
    }
    return codex("session_meta", id=id, **about, **more)


def codex_item(role, *texts):
    """An item of the conversation, bare as before 0.32."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": each} for each in texts]}


def codex_said(role, *texts, minute=0):
    return codex("response_item", minute, **codex_item(role, *texts))


def gemini_about(id="gem-1", folder="/work/site", **more):
    project = hashlib.sha256(folder.encode()).hexdigest()
    return {"sessionId": id, "projectHash": project, "startTime": f"{DAY}T11:00:00.000Z", **more}


def gemini(id, kind, content, minute=0, **more):
    return {"id": id, "timestamp": f"{DAY}T11:{minute:02}:00.000Z", "type": kind, "content": content, **more}


def gemini_file(home, folder="/work/site", name="session-2026-01-02T11-00-gem1.jsonl"):
    return home / ".gemini/tmp" / hashlib.sha256(folder.encode()).hexdigest() / "chats" / name
