"""Sessions: their start, title, holder (the process that has them open), and whether they are closed or hidden. A new
session may carry over those of its place, or of all folders (`place` is None), and never hidden ones."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.language import secrets, statements
from agent_cli.memory.scope import Scope
from agent_cli.messages import decode_parts
from agent_cli.store import changes, events, holder, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_OPENING_MESSAGES, _LONGEST_OPENING = 5, 600  # messages that a title is made of, and characters of each
_LONGEST_NAME = 60  # characters
ONE_SHOTS = ("ask", "schedule")  # kinds that end with their answer, and are never carried over
_PATIENCE = timedelta(minutes=5)  # for a question without an answer: its turn may have failed
_COLUMNS = "id, owner, place, kind, title, started_at, utc_offset, last_at, closed_at, hidden_at, opening, profile"
_SHOWN = "owner = :owner and hidden_at is null and exists (select 1 from said where session_id = s.id)"
_LATEST = "order by last_at desc, id desc limit"
_DAY = "date(s.last_at, s.utc_offset || ' minutes')"
CARRIED = """(s.place = :place or :place is null and s.place not glob 'http:*') and s.kind = 'chat'
              and s.hidden_at is null"""  # what a new session may carry over from a place, or from all folders


@frozen
class Session:
    id: int
    owner: str
    place: str
    kind: str
    title: str
    started_at: str
    utc_offset: int
    last_at: str
    closed_at: str | None
    hidden_at: str | None
    opening: str | None
    profile: str | None  # see agent/profile.py

    @property
    def handle(self) -> str:
        return ids.handle("session", self.id)


def start(db: Database, scope: Scope, now: datetime, kind: str = "chat", terminal: str | None = None) -> int:
    """Begin a session of this process; returns its id. Kind: "chat" or one of ONE_SHOTS; `terminal`: see holder."""
    row = {"uid": ids.new(now), "owner": scope.owner, "place": scope.place, "kind": kind, "terminal": terminal}
    row |= {"started_at": clock.utc(now), "last_at": clock.utc(now), "holder": holder.this_process()}
    with db.write():
        session = db.insert("session", {**row, "utc_offset": clock.offset(now)})
        handle, actor = ids.handle("session", session), "schedule" if kind == "schedule" else "person"
        events.append(db, lambda: now, "session started", handle, actor=actor, session=session)
        return session


def add_imported(
    db: Database, scope: Scope, started: datetime, now: datetime, title: str, kind: str, source: str, external_id: str
) -> int:
    last = clock.utc(min(started, now))
    row = {"uid": ids.new(started), "owner": scope.owner, "place": scope.place, "kind": kind, "title": title}
    row |= {"started_at": clock.utc(started), "last_at": last, "closed_at": last, "source": source}
    return db.insert("session", {**row, "utc_offset": clock.offset(started), "external_id": external_id})


def find_imported(db: Database, owner: str, source: str, external_id: str) -> int | None:
    """The session imported under this id, or exported from this same file."""
    query = "select id from session where owner = ?3 and ((source = ?1 and external_id = ?2) or uid = ?2)"
    found: int | None = db.value(query, (source, external_id, owner))
    return found


def external_id(db: Database, id: int) -> tuple[str, str]:
    """(external id, source it was imported from or "")."""
    row = db.row("select coalesce(external_id, uid), coalesce(source, '') from session where id = ?", (id,))
    return row or ("", "")


def get(db: Database, id: int, owner: str) -> Session:
    """Raises UsageError when this owner has no such session."""
    if found := _select(db, "id = :id and owner = :owner", id=id, owner=owner):
        return found[0]
    raise UsageError(f"there is no session s{id}; `agent sessions list` shows them all")


def _select(db: Database, condition: str, **values: Any) -> list[Session]:
    return [Session(*row) for row in db.rows(f"select {_COLUMNS} from session s where {condition}", values)]


def change(db: Database, id: int, **columns: Any) -> None:
    """Write columns of a session: its title, when it was hidden or closed, what is carried over into it."""
    with db.write():
        db.update("session", id, columns)


def touch(db: Database, id: int, at: datetime) -> None:
    """Set the time of the last message, at most now. Runs in the caller's transaction."""
    db.execute("update session set last_at = max(last_at, ?) where id = ?", (clock.utc(at), id))


def is_open_elsewhere(db: Database, id: int) -> bool:
    """Whether another running process has it open."""
    held = db.value("select holder from session where id = ?", (id,))
    return bool(held) and held != holder.this_process() and holder.is_alive(held)


def is_held(db: Database, id: int) -> bool:
    """Whether a running process has it open, this one or another."""
    held = db.value("select holder from session where id = ?", (id,))
    return bool(held) and holder.is_alive(held)


def reopen(db: Database, id: int, owner: str, now: datetime, terminal: str | None = None) -> Session:
    """Continue an earlier session, at this terminal. Raises UsageError while another process has it open."""
    session = get(db, id, owner)
    with db.write():
        if is_open_elsewhere(db, id):
            raise UsageError(f"{session.handle} is open in another terminal; close it there, or start a new session")
        query = """update session set holder = ?, opened_at = ?, closed_at = null, kind = 'chat',
                      terminal = coalesce(?, terminal) where id = ?"""
        db.execute(query, (holder.this_process(), clock.utc(now), terminal, id))
    return get(db, id, owner)


def abandoned(db: Database) -> list[tuple[int, str, Scope]]:
    """(id, kind, scope) of each session whose process ended without closing it."""
    rows = db.rows("select id, kind, owner, place, holder from session where holder is not null")
    return [(id, kind, Scope(owner, place)) for id, kind, owner, place, held in rows if not holder.is_alive(held)]


def idle(db: Database, before: datetime) -> list[int]:
    """Open conversations without messages since then that were not continued and wait for no answer."""
    query = """select id, holder, (select role from said where session_id = s.id order by id desc limit 1)
               from session s where kind = 'chat' and closed_at is null and max(last_at, coalesce(opened_at, '')) < ?
                 and exists (select 1 from message where session_id = s.id)
                 and not exists (select 1 from message where session_id = s.id and finish is null)"""
    rows = db.rows(query, (clock.utc(before),))
    return [id for id, held, role in rows if role in ("assistant", None) or not held or not holder.is_alive(held)]


def release(db: Database, id: int) -> None:
    with db.write():
        db.execute("update session set holder = null where id = ? and holder = ?", (id, holder.this_process()))


def read_position(db: Database, id: int, column: str = "read_to") -> tuple[Scope, int] | None:
    """(scope, last message that this column says was read, see schema.sql); None when it is hidden or deleted."""
    row = db.row(f"select owner, place, {column} from session where id = ? and hidden_at is null", (id,))
    return (Scope(row[0], row[1]), row[2]) if row else None


def set_read_position(db: Database, id: int, message: int, *columns: str) -> None:
    """Record in these columns that all messages up to this one were read. Runs in the caller's transaction."""
    assignments = ", ".join(f"{name} = max({name}, :message)" for name in columns)
    db.execute(f"update session set {assignments} where id = :id", {"message": message, "id": id})


def skip_learning(db: Database, id: int, message: int) -> None:
    """Record that nothing is learned from the messages up to this one."""
    with db.write():
        set_read_position(db, id, message, "read_to", "reflected_to", "unlearned_to")


def latest(db: Database, owner: str) -> Session | None:
    """The latest conversation, without one-shots, empty and hidden sessions."""
    return next(iter(_select(db, f"{_SHOWN} and kind = 'chat' {_LATEST} 1", owner=owner)), None)


def last_here(db: Database, scope: Scope, terminal: str) -> Session | None:
    """What `-c` continues: the latest conversation or single question of this terminal, else of this place."""
    typed = "(kind = 'chat' or kind = 'ask' and terminal is not null)"
    for column, value in (("terminal", terminal), ("place", scope.place)):
        where = f"{_SHOWN} and {column} = :value and {typed} {_LATEST} 1"
        if found := _select(db, where, owner=scope.owner, value=value) if value or column == "place" else []:
            return found[0]
    return None


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete sessions; one that a running process has open, which will write to it, is emptied but stays."""
    for id in found:
        if is_held(db, id):
            change(db, id, title="", opening=None, source=None, external_id=None)
            changes.rename(db, "session", id)
        else:
            db.execute("delete from session where id = ?", (id,))


def drop_openings(db: Database, found: Sequence[int]) -> None:
    """Delete the carried-over text, to be made again when these sessions continue. Runs in the caller's transaction."""
    db.execute("update session set opening = null where id in (select value from json_each(?))", (found,))


def opened_with(db: Database, handles: Iterable[str]) -> list[int]:
    """The sessions whose opening carries over text of one of these sessions and summaries, by the handles in it."""
    query = """select distinct s.id from json_each(?) c join session s
                 on instr(s.opening, '(' || c.value || ')') or instr(s.opening, '(' || c.value || ',')
               where s.opening is not null order by s.id"""
    return db.column(query, (list(handles),))


def resolve(db: Database, words: str, owner: str) -> Session:
    """The session with this handle, else the one whose title or messages contain the text. Raises UsageError."""
    try:
        return get(db, ids.number("session", words), owner)
    except UsageError:
        if words.strip().lower().lstrip("s").isdigit():
            raise
    mentions = """owner = :owner and hidden_at is null and (instr(fold(title), :words) or exists (
                  select 1 from said m where m.session_id = s.id and instr(fold(m.text), :words)))
                  order by last_at desc limit 6"""
    found = _select(db, mentions, owner=owner, words=words.casefold())
    if not found:
        raise UsageError(f"no session mentions {words!r}; `agent sessions list` shows them all")
    if len(found) > 1:
        lines = "\n".join(f"  {session.handle}  {name(db, session)}" for session in found[:5])
        raise UsageError(f"several sessions mention {words!r}; name one by its handle:\n{lines}")
    return found[0]


def all_of(db: Database, owner: str) -> list[Session]:
    return _select(db, f"{_SHOWN} order by started_at, id", owner=owner)


def name(db: Database, session: Session) -> str:
    """Its title, else what its first messages say beside small talk and files, else its summary."""
    if session.title:
        return session.title
    query = "select text, parts from said where session_id = ? and role = 'user' order by id limit ?"
    said = list[str]()
    for parts in (decode_parts(*row) for row in db.rows(query, (session.id, _OPENING_MESSAGES))):
        typed = [each for each in parts if each.origin == "typed"] or [each for each in parts if each.origin != "file"]
        said += [each.text[:_LONGEST_OPENING] for each in typed if each.text]
    said = said or [db.value("select text from summary where session_id = ?", (session.id,)) or ""]
    telling = (words for words in said if not statements.is_small_talk(words))
    return text.first_words(secrets.mask(next(telling, said[0])), _LONGEST_NAME)


def listing(db: Database, owner: str, limit: int, *, hidden: bool = False) -> list[dict[str, Any]]:
    query = f"""select {_COLUMNS},
                       (select count(*) from said where session_id = s.id and role = 'user') turns,
                       (select model from said where session_id = s.id and model <> '' order by id desc limit 1) model
                from session s where owner = ? and (hidden_at is not null) = ?
                  and exists (select 1 from said where session_id = s.id) {_LATEST} ?"""
    rows = db.rows(query, (owner, hidden, limit))
    found = []
    for *columns, turns, model in rows:
        session = Session(*columns)
        day = f"{clock.local(session.last_at, session.utc_offset):%Y-%m-%d}"
        shown = {"id": session.handle, "title": name(db, session)}
        shown |= {key: getattr(session, key) for key in ("kind", "place", "started_at", "last_at")}
        found.append(shown | {"day": day, "closed_at": session.closed_at, "turns": turns, "model": model or ""})
    return found


def latest_carried(db: Database, owner: str, place: str | None, limit: int, besides: int | None) -> list[Session]:
    where = f"{_SHOWN} and {CARRIED} and id is not :besides {_LATEST} :limit"
    return _select(db, where, owner=owner, place=place, besides=besides, limit=limit)


def last_day_before(
    db: Database, owner: str, place: str | None, end: date, besides: Sequence[int], *, summarised: bool = True
) -> date | None:
    """The last local day before `end` of a conversation that may be carried over. `summarised`: only with a summary."""
    has_summary = "exists (select 1 from summary where session_id = s.id)" if summarised else "true"
    late = (end + timedelta(days=2)).isoformat()  # after the end of the day in every zone
    query = f"""select {_DAY} from session s
                where owner = :owner and last_at < :late and {CARRIED} and {_DAY} < :end
                  and id not in (select value from json_each(:besides)) and {has_summary}
                order by last_at desc limit 1"""
    values = {"owner": owner, "place": place, "end": end.isoformat(), "late": late, "besides": list(besides)}
    day = db.value(query, values)
    return date.fromisoformat(day) if day else None


def any_not_carried(db: Database, owner: str, place: str | None, first: date, end: date) -> bool:
    """Whether something was said on these days, in whatever kind of session, that is hidden or of another place."""
    days = {"first": first.isoformat(), "end": end.isoformat(), "early": (first - timedelta(days=1)).isoformat()}
    query = f"""select exists (select 1 from session s
                where owner = :owner and last_at >= :early
                  and date(started_at, utc_offset || ' minutes') < :end and {_DAY} >= :first
                  and (hidden_at is not null or (:place is null and place glob 'http:*') or place <> :place))"""
    return bool(db.value(query, {"owner": owner, "place": place, **days}))


def goes_on(db: Database, since: datetime) -> bool:
    """Whether a conversation that a running process has open had a message since then."""
    query = """select holder from session
               where kind = 'chat' and closed_at is null and holder is not null and last_at >= ?"""
    return any(holder.is_alive(held_by) for held_by in db.column(query, (clock.utc(since),)))


def awaits_model(db: Database, now: datetime) -> bool:
    """Whether another running process waits for a reply of the model, or is getting one."""
    query = """select s.holder, m.role, m.finish, m.at from session s
                 join message m on m.id = (select max(id) from message where session_id = s.id)
               where s.closed_at is null and s.holder is not null and s.holder <> ?"""
    rows = db.rows(query, (holder.this_process(),))
    patience = clock.utc(now - _PATIENCE)
    waiting = [
        held_by for held_by, role, finish, at in rows if (finish is None if role == "assistant" else at >= patience)
    ]
    return any(map(holder.is_alive, waiting))
