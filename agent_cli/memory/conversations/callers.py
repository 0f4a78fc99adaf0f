"""Callers: other programs that use this memory over HTTP, and by what they know their sessions. Each is an owner whose
memory no other sees; it uses the person's own only by grant. A token is 256 random bits, shown once; the file has its
SHA-256."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.scope import CALLER_PLACE, PERSON, Scope
from agent_cli.store import events, ids, keyed_hash
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_COLUMNS = "id, name, owner, may, at, utc_offset, seen_at, revoked_at, hash"
_SEEN = timedelta(hours=1)  # how often a visit is recorded at most


@frozen
class Caller:
    id: int
    name: str
    owner: str
    may: str
    at: str
    utc_offset: int
    seen_at: str | None
    revoked_at: str | None
    hash: str  # of its token

    @property
    def writes(self) -> bool:
        return "write" in self.may.split()

    @property
    def mine(self) -> bool:
        """Whether it was granted the person's own memory."""
        return self.owner == PERSON

    @property
    def scope(self) -> Scope:
        return Scope(self.owner, f"{CALLER_PLACE}{self.name}")

    def describe(self) -> dict[str, Any]:
        shown = {"name": self.name, "memory": "yours" if self.mine else "its own", "may": self.may}
        return shown | {"at": self.at, "seen_at": self.seen_at, "revoked_at": self.revoked_at}


def add(db: Database, name: str, time: clock.Clock, *, mine: bool = False, writes: bool = True) -> tuple[Caller, str]:
    """Add a caller, or let a revoked one in again; returns it with its token. Raises UsageError for a name in use."""
    if not _NAME.fullmatch(name):
        needed = "use lower-case letters and digits, as in home-server"
        raise UsageError(f"{name!r} is not a valid name of a caller: {needed}")
    import secrets  # rarely needed

    token, now = secrets.token_urlsafe(32), time()
    owner, may = PERSON if mine else f"caller:{name}", "read write" if writes else "read"
    with db.write():
        if db.value("select 1 from caller where name = ? and revoked_at is null", (name,)):
            raise UsageError(f"there is a caller {name!r} already; `agent serve callers rm {name}` revokes its token")
        query = """insert into caller (hash, owner, may, uid, name, at, utc_offset) values (?, ?, ?, ?, ?, ?, ?)
                   on conflict (name) do update set hash = excluded.hash, owner = excluded.owner, may = excluded.may,
                      seen_at = null, revoked_at = null"""
        db.execute(query, (_hash(token), owner, may, ids.new(now), name, clock.utc(now), clock.offset(now)))
        caller = get(db, name)
        events.append(db, time, f"caller added{' to yours' if mine else ''}", f"caller {caller.id}", actor="person")
    return caller, token


def get(db: Database, name: str) -> Caller:
    row = db.row(f"select {_COLUMNS} from caller where name = ?", (name,))
    if row is None:
        raise UsageError(f"there is no caller {name!r}; `agent serve callers list` shows them all")
    return Caller(*row)


def listing(db: Database) -> list[Caller]:
    return [Caller(*row) for row in db.rows(f"select {_COLUMNS} from caller order by name")]


def revoke(db: Database, name: str, time: clock.Clock) -> Caller:
    """Revoke the token of a caller; its memory stays. Raises UsageError."""
    caller = get(db, name)
    if caller.revoked_at:
        raise UsageError(f"{name} is revoked already")
    with db.write():
        db.execute("update caller set revoked_at = ? where id = ?", (clock.utc(time()), caller.id))
        events.append(db, time, "caller revoked", f"caller {caller.id}", actor="person")
    return get(db, name)


def by_token(db: Database, token: str) -> Caller | None:
    row = db.row(f"select {_COLUMNS} from caller where revoked_at is null and hash = ?", (_hash(token),))
    return Caller(*row) if row else None


def record_visit(db: Database, caller: Caller, time: clock.Clock) -> None:
    """Record a visit, at most once an hour."""
    now = time()
    if caller.seen_at is None or caller.seen_at < clock.utc(now - _SEEN):
        with db.write():
            db.execute("update caller set seen_at = ? where id = ?", (clock.utc(now), caller.id))


def open_sessions(db: Database) -> list[int]:
    """Open conversations of callers that no turn holds."""
    query = """select id from session where closed_at is null and kind = 'chat' and holder is null
               and place between 'http:' and 'http;' order by id"""
    return db.column(query)


# The transcripts by which a session is recognised.


def record_transcript(
    db: Database, caller: Caller, transcript: str, session: int, message: int, time: clock.Clock
) -> None:
    """Record the transcript of a session up to this message, so that its continuation is recognized."""
    with db.write():
        db.execute("delete from answered where session_id = ?", (session,))
        query = """insert into answered (owner, key, hash, session_id, message_id, at) values (?, ?, '', ?, ?, ?)
                   on conflict (owner, key) do update set session_id = excluded.session_id,
                      message_id = excluded.message_id, at = excluded.at"""
        db.execute(query, (caller.owner, _key(db, caller, transcript), session, message, clock.utc(time())))


def find_by_transcript(db: Database, caller: Caller, transcript: str) -> Row | None:
    """(session, last message of the transcript)."""
    query = "select session_id, message_id from answered where owner = ? and key = ?"
    return db.row(query, (caller.owner, _key(db, caller, transcript)))


def erase_answered(
    db: Database, messages: Sequence[int], sessions: Sequence[int] = (), requests: Sequence[int] = ()
) -> None:
    """Erase what sessions are known by: of these messages, sessions or ids. Runs in the caller's transaction."""
    for column, erased in (("message_id", messages), ("session_id", sessions), ("id", requests)):
        db.execute(f"delete from answered where {column} in (select value from json_each(?))", (erased,))


def _hash(token: str) -> str:
    import hashlib  # rarely needed

    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _key(db: Database, caller: Caller, transcript: str) -> str:
    """The stored key: callers that share the person's memory share no transcripts."""
    return f"{caller.id}/{keyed_hash.digest(db, transcript)}"
