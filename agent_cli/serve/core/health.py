"""Whether the server can work: its database can be read and written, the disk has room, a model server answers."""

import os
import shutil
from pathlib import Path

from agent_cli.app import engines
from agent_cli.app.app import App
from agent_cli.errors import AgentError
from agent_cli.memory.conversations import sessions
from agent_cli.store.db import Database

OK = "ok"
_ROOM = 50_000_000  # bytes that must be free for the work of a day


def look(app: App, db: Database) -> dict[str, str]:
    """What was found of each part: "ok", or a sentence. No paths and addresses: whoever asks needs no token."""
    return {"database": _database(app, db), "disk": _disk(db), "model": _model(app)}


def _database(app: App, db: Database) -> str:
    try:
        sessions.latest(db, app.scope.owner)
    except AgentError:
        return "it cannot be read: `agent db check` says more"
    return OK if db.in_memory or os.access(db.path, os.W_OK) else "it cannot be written"


def _disk(db: Database) -> str:
    free = shutil.disk_usage(Path(db.path).parent).free if not db.in_memory else _ROOM
    return OK if free >= _ROOM else f"{free // 1_000_000} MB are free"


def _model(app: App) -> str:
    if app.config.model == "offline" or app.config.model.startswith("scripted:"):
        return OK
    try:
        engines.of(app.config).listing()
    except AgentError:
        return "no model server answers"
    return OK
