"""Notes, written by the person or by the model for them. A tag is a word with # before it, as in #garden."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.planner import rows
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import index
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Origin
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

_TAG = text.Pattern(r"(?<![\w#&/.])#([^\W\d_][\w-]*)")


@frozen
class Note(ids.Handled):
    kind = "note"
    id: int
    title: str
    text: str
    origin: str
    place: str
    at: str
    utc_offset: int
    changed_at: str
    hidden_at: str | None

    @property
    def name(self) -> str:
        return text.one_line(self.title or self.text, 60)

    @property
    def tags(self) -> list[str]:
        return [*dict.fromkeys(each.casefold() for each in _TAG.findall(f"{self.title}\n{self.text}"))]

    def describe(self) -> dict[str, Any]:
        names = ("title", "text", "tags", "origin", "place", "at", "changed_at")
        return {"id": self.handle} | {name: getattr(self, name) for name in names}


_COLUMNS = ", ".join(Note.__annotations__)


def add(
    db: Database,
    scope: Scope,
    body: str,
    time: clock.Clock,
    *,
    title: str = "",
    origin: Origin = "typed",
    session: int | None = None,
    actor: str = "",
) -> Note:
    """Add a note. Raises UsageError when it is empty."""
    if not body.strip():
        raise UsageError("an empty note cannot be kept; write some words")
    now, actor = time(), actor or events.actor_of(origin)
    words = {"origin": origin, "title": title, "text": body, "changed_at": clock.utc(now)}
    id = rows.insert(db, "note", scope, now, "written", body, actor=actor, session_id=session, **words)
    return get(db, id, scope.owner)


def get(db: Database, id: int, owner: str) -> Note:
    return Note(*rows.get(db, "note", _COLUMNS, id, owner))


def with_text(db: Database, owner: str, body: str) -> Note | None:
    wanted = "owner = ? and text = ? and hidden_at is null"
    row = db.row(f"select {_COLUMNS} from note where {wanted} limit 1", (owner, body))
    return Note(*row) if row else None


def listing(db: Database, owner: str, limit: int, *, hidden: bool = False, tag: str = "") -> list[Note]:
    """The notes with the newest change first; `tag`: only those that have it."""
    found = db.rows(
        f"""select {_COLUMNS} from note where owner = ? and (hidden_at is not null) = ? and instr(title || text, ?)
            order by changed_at desc, id desc limit ?""",
        (owner, hidden, "#" if tag else "", -1 if tag else limit),
    )
    listed = [Note(*row) for row in found]
    return [note for note in listed if tag in note.tags][:limit] if tag else listed


def tag(typed: str) -> str:
    """A tag as it was typed, without # and in lower case. Raises UsageError where it is none."""
    word = typed.removeprefix("#")
    if not _TAG.fullmatch(f"#{word}"):
        raise UsageError(f"{typed!r} is not a tag: write a word of letters, digits, _ and -, as in garden")
    return word.casefold()


def tags(db: Database, owner: str) -> list[tuple[str, int]]:
    counts = Counter(each for note in listing(db, owner, -1) for each in note.tags)
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def search(db: Database, owner: str, query: str, limit: int, now: datetime) -> list[Note]:
    """Notes with a word of the query, best first."""
    index.catch_up(db)
    from agent_cli.memory.search import recall  # 5 ms that a list of notes does not need

    return [get(db, hit.id, owner) for hit in recall.find(db, query, Filter(owner, ("note",)), now, limit).hits]


def edit(db: Database, note: Note, body: str, title: str, time: clock.Clock) -> Note:
    """Replace the text and title. Raises UsageError when the text is empty."""
    if not body.strip():
        raise UsageError(f"{note.handle} was left as it is: an empty note cannot be kept (`agent notes rm` hides one)")
    now = clock.utc(time())
    with db.write():
        index.erase(db, "n", [note.id])  # before its words change
        rows.change(db, "note", note.id, time, "changed", words=body, text=body, title=title, changed_at=now)
    return replace(note, title=title, text=body, changed_at=now)


def hide(db: Database, note: Note, time: clock.Clock) -> None:
    """Exclude it from lists and search, until `restore`."""
    rows.change(db, "note", note.id, time, "hidden", hidden_at=clock.utc(time()))


def restore(db: Database, note: Note, time: clock.Clock) -> None:
    rows.change(db, "note", note.id, time, "restored", hidden_at=None)


LINEAGE = rows.owner(
    lineage.Table(
        "note",
        line="iif(title = '', text, title)",
        mentions=lineage.mentions_topic("title", "text"),
        stated_text=lineage.joined("title", "text"),
        personal_texts=("title, text",),
        statements=("text",),
        remembered=("text",),
    ),
    {"session": "session_id"},
    before=lambda db, found: index.erase(db, "n", found),
)
