"""Tools that write notes and search memory."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from agent_cli import clock, kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, session_notes
from agent_cli.memory.dates import periods
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import ToolResult
from agent_cli.store import ids
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_CONTEXT_MESSAGES = 3  # shown before a message and after it

# Messages are named `working`, summaries by their period, and skills have tools of their own.
_NAMED_OTHERWISE = ("message", "summary", "skill")
_KINDS: dict[str, tuple[str, ...]] = {
    "any": (),
    "working": ("message",),
    **{kind.shown: (kind.name,) for kind in kinds.SEARCHABLE if kind.name not in _NAMED_OTHERWISE},
}
_GRAINS = ("any", "working", "session", *periods.UNITS, *list(_KINDS)[2:])
if TYPE_CHECKING:
    MemoryKind = str
else:
    MemoryKind = Literal[_GRAINS]


@tool(risk="session")
def jot(context: ToolContext, text: str) -> str:
    """Keep something in mind for this session."""
    session_notes.add(context.db, context.session, text, context.time())
    return "kept until the session closes"


def _has_session_notes(context: ToolContext) -> bool:
    return bool(session_notes.listed(context.db, context.session))


@tool(risk="read", offered=_has_session_notes)
def read_jottings(context: ToolContext) -> str:
    """Read what you jotted down."""
    return "\n".join(session_notes.listed(context.db, context.session)) or "nothing is jotted down"


@tool(risk="write")
def save_note(
    context: ToolContext,
    text: Annotated[str, "in their words"],
    title: str = "",
) -> ToolResult:
    """Save a note, when the person asks for it."""
    if not text.strip():
        raise ToolFailed("an empty note says nothing")
    note = notes.add(
        context.db, context.scope, text, context.time, title=title, origin="model", session=context.session
    )
    return ToolResult(f"saved as {note.handle}", receipt=f"saved {note.handle} “{note.name}”")


@tool(
    risk="read", offered=lambda context: notes.any_visible(context.remembered, context.scope.owner), reads_memory=True
)
def search_notes(context: ToolContext, query: str) -> str:
    """Search the person's notes."""
    found = notes.search(context.remembered, context.scope.owner, query, 50, context.time())
    lines = [
        f"{note.handle} ({clock.local(note.at, note.utc_offset):%d %b %Y}) {text.one_line(note.text, 300)}"
        for note in found
    ]
    return "\n".join(lines) or "no note has these words"


@tool(risk="read", reads_memory=True)
def search_memory(
    context: ToolContext,
    query: str,
    grain: Annotated[MemoryKind, "working: messages; session to year: summaries"] = "any",
    min_days_ago: int = 0,
    max_days_ago: int = 0,
    max_results: int = 5,
) -> str:
    """Search earlier sessions, notes, facts and files: snippets, each with its handle."""
    now = context.time()
    allowed = Filter(
        context.scope.owner,
        _KINDS.get(grain, ("summary",)),
        unit=None if grain in _KINDS else grain,
        since=(now - timedelta(days=max_days_ago)).timestamp() if max_days_ago > 0 else None,
        until=(now - timedelta(days=min_days_ago)).timestamp() if min_days_ago > 0 else None,
        current_place=context.scope.place,
        current_session=None if context.memory else context.session,
    )
    if not context.memory:
        index.refresh(context.db)
    found = recall.find(context.remembered, query, allowed, now, max(1, min(20, max_results)), context.embed)
    lines = [_dated(hit.handle, hit.at, f"{hit.label} {text.one_line(hit.text, 200)}".strip()) for hit in found.hits]
    return "\n".join(lines) if found.verdict != "nothing" and lines else "nothing is known of it"


@tool(risk="read", reads_memory=True)
def timeline(context: ToolContext, around: Annotated[str, "as in m12"]) -> str:
    """Read a message whole, with those around it."""
    try:
        entries = log.context_of(
            context.remembered, context.scope.owner, ids.number("message", around), _CONTEXT_MESSAGES, _CONTEXT_MESSAGES
        )
    except UsageError as error:
        raise ToolFailed(str(error)) from error
    lines = [(entry, clock.local(entry.at, entry.utc_offset)) for entry in entries]
    return "\n".join(
        f"{entry.handle} ({at:%d %b %Y, %H:%M}) {entry.message.role}: {entry.message.text}" for entry, at in lines
    )


def _dated(handle: str, at: float, words: str) -> str:
    return f"{handle} ({clock.from_timestamp(at):%d %b %Y}) {words}"
