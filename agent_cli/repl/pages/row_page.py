"""What a handle names, shown in its place: a message between its neighbours, a note, a fact, a task, a session."""

from collections.abc import Callable, Iterator
from datetime import datetime

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.facts import facts
from agent_cli.memory.planner import notes, tasks
from agent_cli.render.layout import wrap
from agent_cli.render.reply_lines import marked
from agent_cli.render.styles import BOLD, DIM, Display
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import clean

_AROUND = 2  # messages before and after the one that is shown
_IN_SESSION = 20  # last messages of a session
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def page(db: Database, owner: str, handle: str, now: datetime, display: Display) -> str:
    """Raises UsageError for a handle that names nothing, or nothing that is shown here."""
    shown = _PAGES.get(handle[:1].lower())
    if shown is None or not handle[1:].isdigit():
        raise UsageError(f"{handle!r} is not shown here: name a message, note, fact, task or session, as in /show m12")
    return "\n".join(shown(db, owner, handle.lower(), now, display))


def _message(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    found = ids.number("message", handle)
    around = log.context_of(db, owner, found, _AROUND, _AROUND)
    session = sessions.get(db, log.session_of(db, found) or 0, owner)
    yield from _title(db, session, display)
    for entry in around:
        yield from _entry_lines(entry, display, chosen=entry.id == found)


def _session(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    session = sessions.get(db, ids.number("session", handle), owner)
    yield from _title(db, session, display)
    for entry in log.history(db, session.id, _IN_SESSION):
        if entry.message.text:
            yield from _entry_lines(entry, display)


def _title(db: Database, session: Session, display: Display) -> Iterator[str]:
    for line in wrap(clean(f"{session.handle} “{sessions.name(db, session)}”"), display.width() - 2).split("\n"):
        yield display.styled(line, BOLD)


def _entry_lines(entry: log.Entry, display: Display, *, chosen: bool = False) -> Iterator[str]:
    day = clock.local(entry.at, entry.utc_offset)
    speaker = _SPEAKERS.get(entry.message.role, entry.message.role)
    head = f"{entry.handle} {speaker}, {day:%-d %B %Y, %H:%M}"
    yield display.styled(head, BOLD if chosen else DIM)
    for line in wrap(marked(entry.message.text.strip()), display.width() - 4).split("\n"):
        yield f"  {line}"


def _note(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    note = notes.get(db, ids.number("note", handle), owner)
    yield display.styled(f"{note.handle}, {clock.local(note.at, note.utc_offset):%-d %B %Y}", BOLD)
    yield from _wrapped(f"{note.title}\n\n{note.text}" if note.title else note.text, display)


def _fact(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    fact = facts.get(db, ids.number("fact", handle), owner)
    yield display.styled(f"{fact.handle}, since {fact.day}, {fact.state}{', hidden' if fact.hidden_at else ''}", BOLD)
    yield from _wrapped(fact.statement, display)


def _task(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    task = tasks.get(db, ids.number("task", handle), owner)
    when = "done" if task.state == "done" else tasks.format_due(task, now) or "any time"
    yield display.styled(clean(f"{task.handle}, {when}"), BOLD)
    yield from _wrapped(task.text, display)


def _wrapped(text: str, display: Display) -> list[str]:
    return wrap(clean(text), display.width() - 2).split("\n")


_PAGES: dict[str, Callable[[Database, str, str, datetime, Display], Iterator[str]]] = {
    "m": _message,
    "s": _session,
    "n": _note,
    "f": _fact,
    "t": _task,
}
