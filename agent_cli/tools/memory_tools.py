"""Tools that write notes and search memory."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from agent_cli import clock, kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, session_notes
from agent_cli.memory.dates import periods
from agent_cli.messages import Origin, Receipt, ToolResult
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_CONTEXT_MESSAGES = 3  # shown before a message and after it
_SHORT = 300  # characters of those

# Messages are named `working`, summaries by their period, and skills have tools of their own.
_NAMED_OTHERWISE = ("message", "summary", "skill")
_GRAINS: dict[str, tuple[tuple[str, ...], str | None]] = {  # kinds, and the unit of summaries
    "any": ((), None),
    "working": (("message",), None),
    **{unit: (("summary",), unit) for unit in ("session", *periods.UNITS)},
    **{kind.shown: ((kind.name,), None) for kind in kinds.SEARCHABLE if kind.name not in _NAMED_OTHERWISE},
}
if TYPE_CHECKING:
    MemoryKind = str
else:
    MemoryKind = Literal[tuple(_GRAINS)]


@tool(risk="session", listed=False)
def jot(context: ToolContext, text: str) -> str:
    """Keep something in mind for this session."""
    session_notes.add(context.db, context.session, text, context.time())
    return "kept until the session closes"


@tool(risk="read", listed=False)
def read_jottings(context: ToolContext, first: int = 1) -> str:
    """Read what you jotted down."""
    jotted = "\n".join(session_notes.listed(context.db, context.session))
    return _page(jotted, "jottings", first) or "nothing was jotted down yet"


@tool(risk="write")
def save_note(
    context: ToolContext,
    text: str,
    title: str = "",
) -> ToolResult:
    """Save a note in the person's words, when they ask."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.planner import notes

    if not text.strip():
        raise ToolFailed("the note is empty")
    asked = log.nth_last(context.db, context.session, "user", 1)
    reading = readings.after(context.db, asked.id) if asked else None
    origin: Origin = reading.origin if reading else "model"
    note = notes.add(
        context.db,
        context.scope,
        text,
        context.time,
        title=title,
        origin=origin,
        session=context.session,
        actor="model",
    )
    after = f", after reading {reading.name or 'a pipe'}, {reading.handle}" if reading else ""
    return ToolResult(f"saved as {note.handle}", receipt=Receipt(f"saved {note.handle} “{note.name}”{after}"))


@tool(risk="read", reads_memory=True, listed=False)
def search_notes(context: ToolContext, query: str) -> str:
    """Search the person's notes."""
    from agent_cli.memory.planner import notes

    found = notes.search(context.remembered, context.scope.owner, query, 50, context.time())
    lines = [
        f"{note.handle} ({clock.local(note.at, note.utc_offset):%d %b %Y}) {text.one_line(note.text, 300)}"
        for note in found
    ]
    return "\n".join(lines) or "no note has these words"


@tool(risk="read", reads_memory=True)
def search_memory(
    context: ToolContext,
    query: str = "",
    grain: Annotated[str, ", ".join(list(_GRAINS)[1:])] = "any",  # an enumeration would take twice the tokens
    min_days_ago: int = 0,
    max_days_ago: int = 0,
    max_results: int = 5,
) -> str:
    """Search earlier sessions, notes, facts and files."""
    from agent_cli.memory.search import index, recall
    from agent_cli.memory.search.candidates import Filter

    if (searched := _GRAINS.get(grain)) is None:
        raise ToolFailed(f"there is no grain {text.one_line(grain, 60)!r}; there are {', '.join(_GRAINS)}")
    now = context.time()
    allowed = Filter(
        context.scope.owner,
        searched[0],
        unit=searched[1],
        since=(now - timedelta(days=max_days_ago)).timestamp() if max_days_ago > 0 else None,
        until=(now - timedelta(days=min_days_ago)).timestamp() if min_days_ago > 0 else None,
        current_place=context.scope.place,
        current_session=None if context.memory else context.session,
    )
    if not context.memory:
        index.refresh(context.db)
    limit, verdict = max(1, min(20, max_results)), ""
    if query.strip():
        found = recall.find(context.remembered, query, allowed, now, limit, context.embedder, least=recall.LEAST)
        verdict, hits = found.verdict, [hit for hit in found.hits if not hit.empty]
    else:
        hits = list(recall.newest(context.remembered, allowed, now, limit))
    if not hits or verdict == "nothing":
        return "nothing is known of it" if query.strip() else "nothing is known of that time"
    lines = [_dated(hit.handle, hit.at, f"{hit.label} {text.one_line(hit.text, 200)}".strip()) for hit in hits]
    return "\n".join(["perhaps:", *lines] if verdict == "maybe" else lines)


@tool(risk="read", reads_memory=True, listed=False)
def timeline(context: ToolContext, around: Annotated[str, "as in m12"], first: int = 1) -> str:
    """Read a message, with those around it, or a tool's result whole."""
    try:
        number = ids.number("message", around)
        near = _CONTEXT_MESSAGES if first <= 1 else 0
        entries = log.context_of(_log_with(context, number), context.scope.owner, number, near, near)
    except UsageError as error:
        raise ToolFailed(str(error)) from error
    return "\n".join(_shown(entry, first if entry.id == number else None) for entry in entries)


def _log_with(context: ToolContext, message: int) -> Database:
    """The log of a message: a tool's result is of this conversation, which may be another than what is remembered."""
    return context.db if log.is_tool_result(context.db, message) else context.remembered


def _shown(entry: log.Entry, first: int | None) -> str:
    """A message with its date, from this item on; None: in short."""
    at, words = clock.local(entry.at, entry.utc_offset), entry.message.text
    if entry.message.tool_name in session_notes.TOOLS:
        raise ToolFailed("read_jottings reads what you jotted down")
    words = text.one_line(words, _SHORT) if first is None else _page(words, entry.handle, first)
    return f"{entry.handle} ({at:%d %b %Y, %H:%M}) {entry.message.role}: {words}"


def _page(words: str, name: str, first: int) -> str:
    try:
        return text.page(words, name, max(1, first))
    except ValueError as error:
        raise ToolFailed(str(error)) from error


def _dated(handle: str, at: float, words: str) -> str:
    return f"{handle} ({clock.from_timestamp(at):%d %b %Y}) {words}"
