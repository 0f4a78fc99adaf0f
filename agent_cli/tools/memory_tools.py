"""Tools that search memory and write to it: notes, proposed facts, skills, tasks and reminders.

No tool accepts a fact: only the person does. The model passes times in the person's words; the program parses them.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from agent_cli import clock, kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, session_notes
from agent_cli.memory.dates import periods, zones
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Task
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Origin, Receipt, ToolResult
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from agent_cli.memory.facts.facts import Fact
    from agent_cli.memory.skills.skills import Skill


@tool(risk="propose")
def propose_fact(
    context: ToolContext, statement: str, quote: Annotated[str, "their exact words"] = "", replaces: str = ""
) -> ToolResult:
    """Propose a lasting fact about the person, in their voice; they decide."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.dates import absolute_dates
    from agent_cli.memory.facts import adoption
    from agent_cli.memory.language import triples

    if not triples.is_fact(" ".join(statement.split())):
        raise ToolFailed("a fact is a statement of at most 300 characters, not a question or an instruction")
    target = _fact_to_replace(context, replaces) if replaces.strip() else None
    said = log.history(context.db, context.session)
    source = readings.find(reversed(said), quote)
    asked = next((entry.id for entry in reversed(said) if entry.message.role == "user"), None)
    reading = readings.before_proposal(context.db, asked, statement, source) if asked else None
    claim = adoption.claim(
        absolute_dates.resolve(statement, source.at if source else context.time()),
        "model",
        quote=source.text if source else "",
        message=source.message if source else reading.message if reading else asked,
        trust=readings.trust_after(source, reading),
        read_in=reading.message if reading else None,
        inferred=source is None,
        operation="update" if target else "insert",
        target=target.id if target else None,
    )
    fact = adoption.propose(MemoryContext(context.db, context.scope, context.time), claim)
    if fact is None:
        why = adoption.not_proposed(context.db, context.scope.owner, claim.statement)
        return ToolResult(f"not proposed: {why}", receipt=why)
    return ToolResult(
        f"proposed as {fact.handle}; it is not saved until the person says yes", receipt=adoption.pending_receipt(fact)
    )


def _fact_to_replace(context: ToolContext, handle: str) -> "Fact":
    from agent_cli.memory.facts import facts

    fact = facts.get(context.db, ids.number("fact", handle), context.scope.owner)
    if not fact.is_open(context.time()):
        raise ToolFailed(f"{fact.handle} is not true now, so nothing can replace it")
    return fact


MAX_STEPS = 8000  # characters: a quarter of a small context
_MAX_NAMED = 20  # skills listed when one is not found


@tool(risk="read", reads_memory=True, listed=False)
def read_skill(context: ToolContext, name: str) -> str:
    """Read the steps of a skill: the person approved them, follow them where they fit."""
    from agent_cli.memory.skills import skills

    owner = context.scope.owner
    try:
        skill = skills.named(context.remembered, owner, name)
    except UsageError:
        skill = None
    if skill is None or not skill.is_accepted:
        names = [each.name for each in skills.listing(context.remembered, owner, _MAX_NAMED)]
        known = f"there are {', '.join(names)}" if names else "there are no skills"
        raise ToolFailed(f"there is no skill {text.one_line(name, 60)!r}; {known}")
    return format_steps(skill)


def format_steps(skill: "Skill") -> str:
    """A skill's steps as the model sees them."""
    steps = text.visible(skill.body)
    left = len(steps) - MAX_STEPS
    return steps if left <= 0 else f"{steps[:MAX_STEPS]}\n[cut off here: {left} more characters; tell the person]"


_MAX_TASKS = 50


def _check_reminder(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the moment that is meant. Raises UsageError for a time that cannot be read or is past."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    due = due_times.parse(arguments.get("when", ""), now, context.access.zone or zones.local_name())
    if due is None:
        return arguments
    moment = zones.format_moment(due.due, now)
    return arguments | {"when": f"{due.words}, next {moment}" if due.repeats else moment}


def _check_task(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the name of the task. Raises UsageError where there is no such task."""
    return arguments | {"task": f"{(task := _task(context, arguments['task'])).handle} “{task.name}”"}


def _task(context: ToolContext, handle: str) -> Task:
    return tasks.get(context.db, ids.number("task", handle), context.scope.owner)


@tool(risk="write", resolve=_check_reminder)
def create_reminder(context: ToolContext, text: str, when: str = "") -> ToolResult:
    """Keep a task or reminder in the person's words, when they ask."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    due = due_times.parse(when, now, context.access.zone or zones.local_name())
    request = log.nth_last(context.db, context.session, "user", 1)
    task = tasks.add(
        context.db,
        context.scope,
        text,
        due,
        context.time,
        origin="model",
        session=context.session,
        message=request.id if request else None,
    )
    receipt = tasks.receipt(task, now)
    return ToolResult(f"kept: {receipt}", receipt=Receipt(f"kept {receipt}"))


@tool(risk="read", reads_memory=True, listed=False)
def list_tasks(context: ToolContext) -> str:
    """List the person's open tasks and reminders."""
    found = tasks.listing(context.remembered, context.scope.owner, limit=_MAX_TASKS)
    return "\n".join(tasks.receipt(each, context.time()) for each in found) or "there are no open tasks"


@tool(risk="write", reads_memory=True, listed=False, resolve=_check_task)
def complete_task(context: ToolContext, task: Annotated[str, "as in t4"]) -> ToolResult:
    """Mark a task as done, when the person says so."""
    found = _task(context, task)
    done = tasks.complete(context.db, found, context.time, actor="model")
    name = f"{done.handle} “{done.name}”"
    following = f"; {tasks.format_due(done, context.time())}" if done.state == "open" else ""
    return ToolResult(f"done: {done.handle}{following}", receipt=Receipt(f"done {name}{following}"))


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
def save_note(context: ToolContext, text: str, title: str = "") -> ToolResult:
    """Save a note in the person's words, when they ask."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.planner import notes

    if not text.strip():
        raise ToolFailed("the note is empty")
    if same := notes.with_text(context.db, context.scope.owner, text):
        return ToolResult(
            f"{same.handle} says so already", receipt=Receipt(f"kept {same.handle} “{same.name}” as it is")
        )
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
    from agent_cli.memory.search.candidates import Filter, between_days

    if (searched := _GRAINS.get(grain)) is None:
        raise ToolFailed(f"there is no grain {text.one_line(grain, 60)!r}; there are {', '.join(_GRAINS)}")
    now = context.time()
    since, until = between_days(now, max(0, min_days_ago) or None, max(0, max_days_ago) or None)
    allowed = Filter(
        context.scope.owner,
        searched[0],
        unit=searched[1],
        since=since,
        until=until,
        current_place=context.scope.place,
        current_session=None if context.memory else context.session,
        fact_half_life=context.fact_half_life,
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
    number = ids.number("message", around)
    near = _CONTEXT_MESSAGES if first <= 1 else 0
    entries = log.context_of(_log_with(context, number), context.scope.owner, number, near, near)
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
