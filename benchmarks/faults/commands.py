"""The commands that write, the home that each is run in, and what of it must not be lost."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from agent_cli.errors import StoreError
from agent_cli.memory.planner import notes
from agent_cli.store import file, sealing
from tests import exports
from tests.conftest import HERE, NOON, Program, noon

NOW = "2026-03-04T12:00:00+00:00"
FORGOTTEN = "Quirin hid the lantern"
COPY, SAVED, OUT = "copy.db", "saved.db", "out"
KEY, OTHER_KEY = "agent.key", "echo 5eed"  # a file, and a command that prints another
SETTINGS = Path(".config", "agent-cli", "config.toml")

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("notes", "add", "the harbour at noon"),
    ("-m", "offline", "ask", "what of the harbour?"),
    ("facts", "add", "I live in Graz"),
    ("facts", "approve", "f2"),
    ("facts", "import", "facts.jsonl", "--accept", "--yes"),
    ("forget", "n13", "--yes", "--also", "all"),
    ("import", "chatgpt", "conversations.json"),
    ("docs", "add", "papers"),
    ("db", "backup", COPY, "--force"),
    ("db", "restore", "older.db"),
    ("db", "salvage", SAVED),
    ("db", "compact"),
    ("config", "set", "num_ctx", "16384"),
    ("remind", "call the dentist friday 3pm"),
    ("tasks", "done", "t1"),
    ("schedule", "add", "0 7 * * *", "--prompt", "what is due today?"),
    ("sessions", "rm", "s1"),
    ("sessions", "close", "s2"),
    ("skills", "add", "brew-tea", "Boil water, wait, pour.", "-d", "How to brew tea"),
    ("index", "rebuild"),
    ("jobs", "run", "--until-idle"),
    ("skills", "export", "--to", OUT),
    ("db", "seal", "--key-file", KEY),
)
SEALED_COMMANDS = (*COMMANDS[:-1], ("db", "key", "change", "--command", OTHER_KEY), ("db", "unseal"))

_ROWS = {
    "note": "select text from note where hidden_at is null",
    "fact": "select state || ' ' || statement from fact where hidden_at is null",
    "message": "select role || ' ' || text from message where undone_at is null",
    "task": "select state || ' ' || text from task where hidden_at is null",
    "schedule": "select prompt from schedule where hidden_at is null",
    "document": "select path from document where error = ''",
    "session": "select id || ' ' || (closed_at is not null) from session where hidden_at is null",
    "skill": "select name || ' ' || text from skill where hidden_at is null",
    "summary": "select text from summary where hidden_at is null",
}

Row = tuple[str, str]


@dataclass(frozen=True)
class State:
    """What can be read of a home. `files`: what each file holds besides; None where it is not there."""

    rows: frozenset[Row]
    files: dict[str, object] = field(default_factory=dict)


def make_home(program: Program, *, sealed: bool = False) -> None:
    """Put into the home what the commands work on."""
    sealing.KEYS.settings = {"key_file": str(program.work / KEY), "key_command": OTHER_KEY}
    program.env["AGENT_NOW"] = NOW
    program.let_scripts_decide()
    db = file.open_file(program.db, NOON, print)
    for text in (*(f"note {number} of the harbour " + "and its boats " * 12 for number in range(12)), FORGOTTEN):
        notes.add(db, HERE, text, noon)
    db.close()
    for number in range(2):
        program("-m", "offline", "ask", f"question {number}: what of the harbour?")
    program("facts", "add", "The harbour closes at ten")
    program("remind", "water the plants tomorrow 9:00")
    program("skills", "add", "sail", "Hoist the sail, steer.", "-d", "How to sail")
    work = program.work
    shutil.copyfile(program.db, work / "older.db")
    (work / "proposed.jsonl").write_text('{"statement": "The harbour opens at six"}\n')
    program("db", "backup", COPY)
    program("facts", "import", "proposed.jsonl")
    statements = [f"The boat {number} is blue" for number in range(5)]
    (work / "facts.jsonl").write_text("".join(json.dumps({"statement": each}) + "\n" for each in statements))
    conversations = [
        exports.chatgpt(
            exports.node(f"a{number}", "root", "user", f"trip {number} to the sea", 1704067200 + number),
            exports.node(f"b{number}", f"a{number}", "assistant", "Pack a coat.", 1704067300 + number),
            id=f"c{number}",
        )
        for number in range(3)
    ]
    (work / "conversations.json").write_text(json.dumps(conversations))
    (work / "papers").mkdir()
    for number in range(3):
        (work / "papers" / f"paper{number}.txt").write_text(f"paper {number} about tides\n\n" + "ebb and flow " * 50)
    program("config", "set", "num_ctx", "8192")
    if sealed:
        assert program("db", "seal", "--key-file", KEY).code == 0


def state(program: Program) -> State:
    """What can be read now. Raises StoreError when the database cannot."""
    return State(
        read(program.db),
        {
            COPY: _whole(program.work / COPY),
            SAVED: _whole(program.work / SAVED),
            SETTINGS.name: (_text(program.home / SETTINGS) or "").partition("[seal]")[
                0
            ],  # two keys while one is changed
            "SKILL.md": _text(program.work / OUT / "sail" / "SKILL.md"),
        },
    )


def read(path: Path) -> frozenset[Row]:
    db = file.open_read_only(path)
    try:
        return frozenset((name, text) for name, sql in _ROWS.items() for (text,) in db.rows(sql))
    finally:
        db.close()


def _whole(path: Path) -> object:
    """The rows of a copy; a sentence when it cannot be read."""
    if not path.exists():
        return None
    try:
        return read(path)
    except StoreError as error:
        return str(error)


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
