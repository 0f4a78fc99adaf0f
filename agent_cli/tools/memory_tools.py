"""Tools that search memory and write to it, and arithmetic. No tool accepts a fact. The model passes times in the
person's words. Few tools of a request are called: what one works with is imported when it runs."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from agent_cli import clock, kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log
from agent_cli.memory.dates import moments, periods
from agent_cli.memory.planner import tasks
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Origin, Receipt, ToolResult
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from agent_cli.memory.skills.skills import Skill


@tool(risk="propose")
def propose_fact(
    context: ToolContext, statement: str, quote: Annotated[str, "their exact words"] = "", replaces: str = ""
) -> ToolResult:
    """Propose a lasting fact about the person, in their voice; they decide."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.facts import adoption, facts
    from agent_cli.memory.language import triples

    if not triples.is_fact(" ".join(statement.split())):
        raise ToolFailed("a fact is a statement of at most 300 characters, not a question or an instruction")
    target = facts.get(context.db, ids.number("fact", replaces), context.scope.owner) if replaces.strip() else None
    if target and not target.is_open(context.time()):
        raise ToolFailed(f"{target.handle} is not true now, so nothing can replace it")
    said = log.history(context.db, context.session)
    source = readings.find(reversed(said), quote)
    asked = next((entry.id for entry in reversed(said) if entry.message.role == "user"), None)
    reading = readings.before_proposal(context.db, asked, statement, source) if asked else None
    message = source.message if source else reading.message if reading else asked
    details = readings.claim_sources(source, reading, message)
    details |= {"operation": "update", "target": target.id} if target else {"operation": "insert"}
    found = adoption.claims(statement, "model", source.at if source else context.time(), **details)
    waiting, known = adoption.propose_each(MemoryContext(context.db, context.scope, context.time), found)
    sentences = [f"proposed as {each.handle}; it is not saved until the person says yes" for each in waiting]
    sentences += [f"not proposed: {each}" for each in known]
    return ToolResult("\n".join(sentences), receipt="; ".join([*map(facts.pending_receipt, waiting), *known]))


MAX_STEPS = 8000  # characters: a quarter of a small context
_MAX_NAMED = 20  # skills listed when one is not found


@tool(risk="read", reads_memory=True, listed=False)
def read_skill(
    context: ToolContext, name: str, file: Annotated[str, "one of its files, as in references/hosts.md"] = ""
) -> str:
    """Read the steps of a skill, or one of its files: the person approved them, follow them where they fit."""
    from agent_cli.memory.skills import skills

    owner = context.scope.owner
    try:
        skill = skills.named(context.remembered, owner, name)
    except UsageError:
        skill = None
    if skill is None or not skill.is_accepted:
        names = [each.name for each in skills.listing(context.remembered, owner, _MAX_NAMED)]
        known = f"there are {', '.join(names)}" if names else "there are no skills"
        raise ToolFailed(f"there is no skill {one_line(name, 60)!r}; {known}")
    return _cut(skills.file_text(skill, file)) if file else format_steps(skill)


def format_steps(skill: "Skill") -> str:
    from agent_cli.memory.skills import skills

    steps, files = _cut(skill.body), ", ".join(map(text.one_line, skills.file_texts(skill.files)))
    return f"{steps}\n\n[its files, for read_skill(name, file); scripts are only shown: {files}]" if files else steps


def _cut(words: str) -> str:
    words = text.visible(words)
    left = len(words) - MAX_STEPS
    return words if left <= 0 else f"{words[:MAX_STEPS]}\n[cut off here: {left} more characters; tell the person]"


_MAX_TASKS = 50


def _check_reminder(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the moment that is meant. Raises UsageError for a time that cannot be read or is past, and
    for what is kept already, as by the program itself when the person asked."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    due = due_times.parse(arguments.get("when", ""), now, moments.local_zone())
    if same := tasks.same(context.remembered, context.scope.owner, arguments["text"], due):
        raise UsageError(f"it is kept already: {tasks.receipt(same, now)}")
    if due is None:
        return arguments
    moment = moments.format_moment(due.due, now)
    return arguments | {"when": f"{due.words}, next {moment}" if due.repeats else moment}


def _check_task(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the name of the task. Raises UsageError where there is no such task."""
    return arguments | {"task": f"{(task := _task(context, arguments['task'])).handle} “{task.name}”"}


def _task(context: ToolContext, handle: str) -> tasks.Task:
    return tasks.get(context.db, ids.number("task", handle), context.scope.owner)


@tool(risk="write", resolve=_check_reminder)
def create_reminder(context: ToolContext, text: str, when: str = "") -> ToolResult:
    """Keep a task or reminder in the person's words, when they ask."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    due = due_times.parse(when, now, moments.local_zone())
    request = log.nth_last(context.db, context.session, "user", 1)
    said = {"session": context.session, "message": request.id if request else None}
    task = tasks.add(context.db, context.scope, text, due, context.time, origin="model", **said)
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
    done = tasks.complete(context.db, _task(context, task), context.time, actor="model")
    following = f"; {tasks.format_due(done, context.time())}" if done.state == "open" else ""
    receipt = Receipt(f"done {done.handle} “{done.name}”{following}")
    return ToolResult(f"done: {done.handle}{following}", receipt=receipt)


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
    log.add_note(context.db, context.session, text, context.time())
    return "kept until the session closes"


@tool(risk="read", listed=False)
def read_jottings(context: ToolContext, first: int = 1) -> str:
    """Read what you jotted down."""
    jotted = "\n".join(log.notes(context.db, context.session))
    return _page(jotted, "jottings", first) or "nothing was jotted down yet"


@tool(risk="write")
def save_note(context: ToolContext, text: str, title: str = "") -> ToolResult:
    """Save a note in the person's words, when they ask."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.planner import notes

    if not text.strip():
        raise ToolFailed("the note is empty")
    if same := notes.with_text(context.db, context.scope.owner, text):
        receipt = Receipt(f"kept {same.handle} “{same.name}” as it is")
        return ToolResult(f"{same.handle} says so already", receipt=receipt)
    asked = log.nth_last(context.db, context.session, "user", 1)
    reading = readings.after(context.db, asked.id) if asked else None
    origin: Origin = reading.origin if reading else "model"
    db, session = context.db, context.session
    note = notes.add(db, context.scope, text, context.time, title=title, origin=origin, session=session, actor="model")
    after = f", after reading {reading.name or 'a pipe'}, {reading.handle}" if reading else ""
    return ToolResult(f"saved as {note.handle}", receipt=Receipt(f"saved {note.handle} “{note.name}”{after}"))


@tool(risk="read", reads_memory=True, listed=False)
def search_notes(context: ToolContext, query: str) -> str:
    """Search the person's notes."""
    from agent_cli.memory.planner import notes

    found = notes.search(context.remembered, context.scope.owner, query, 50, context.time())
    dated = ((note, clock.local(note.at, note.utc_offset)) for note in found)
    lines = (f"{note.handle} ({at:%d %b %Y}) {one_line(note.text, 300)}" for note, at in dated)
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
        raise ToolFailed(f"there is no grain {one_line(grain, 60)!r}; there are {', '.join(_GRAINS)}")
    now = context.time()
    since, until = between_days(now, max(0, min_days_ago) or None, max(0, max_days_ago) or None)
    when: dict[str, Any] = {"since": since, "until": until, "fact_half_life": context.fact_half_life}
    around: dict[str, Any] = {"current_place": context.scope.place}
    around["current_session"] = None if context.memory else context.session
    allowed = Filter(context.scope.owner, searched[0], unit=searched[1], **when, **around)
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
    shown = [(hit, f"{hit.label} {one_line(hit.text, 200)}".strip()) for hit in hits]
    lines = [f"{hit.handle} ({clock.from_timestamp(hit.at):%d %b %Y}) {words}" for hit, words in shown]
    return "\n".join(["perhaps:", *lines] if verdict == "maybe" else lines)


@tool(risk="read", reads_memory=True, listed=False)
def timeline(context: ToolContext, around: Annotated[str, "as in m12"], first: int = 1) -> str:
    """Read a message, with those around it, or a tool's result whole."""
    number = ids.number("message", around)
    near = _CONTEXT_MESSAGES if first <= 1 else 0
    # A tool's result is of this conversation, which may be another than what is remembered.
    db = context.db if log.roles(context.db, [number]).get(number) == "tool" else context.remembered
    entries = log.context_of(db, context.scope.owner, number, near, near)
    return "\n".join(_shown(entry, first if entry.id == number else None) for entry in entries)


def _shown(entry: log.Entry, first: int | None) -> str:
    """A message with its date, from this item on; None: in short."""
    at, words = clock.local(entry.at, entry.utc_offset), entry.message.text
    if entry.message.tool_name in log.NOTE_TOOLS:
        raise ToolFailed("read_jottings reads what you jotted down")
    words = one_line(words, _SHORT) if first is None else _page(words, entry.handle, first)
    return f"{entry.handle} ({at:%d %b %Y, %H:%M}) {entry.message.role}: {words}"


def _page(words: str, name: str, first: int) -> str:
    try:
        return text.page(words, name, max(1, first))
    except ValueError as error:
        raise ToolFailed(str(error)) from error


@tool(risk="read", reads_memory=True, listed=False)
def summarize_today(context: ToolContext) -> str:
    """What was done today, and what is due."""
    from agent_cli.memory.reports import records

    summary = records.format_day(context.remembered, context.scope.owner, context.time())
    return summary or "nothing has happened today yet"


@tool(risk="write", listed=False)
def draft_message(context: ToolContext, to: str, text: str) -> ToolResult:
    """Keep a draft as a note; it is never sent."""
    from agent_cli.memory.planner import notes

    if not text.strip():
        raise ToolFailed("the message is empty")
    title = one_line(f"draft to {to.strip() or 'somebody'}", 120)
    db, session = context.db, context.session
    note = notes.add(db, context.scope, text, context.time, title=title, origin="model", session=session)
    sentence = f"kept as the draft {note.handle}; it was not sent: the person has to send it"
    return ToolResult(sentence, receipt=Receipt(f"saved {note.handle} “{note.name}”, not sent"))


_OPERATORS = ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "USub", "UAdd")
_MAX_CHARACTERS = 500  # of an expression
_MAX_DIGITS = 300  # of a result: more are of no use
# Of intermediate results: Python computes larger ones for minutes, and blocks every other thread.
_LIMIT = 10 ** (2 * _MAX_DIGITS)
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "{": "(", "}": ")"})


@tool(risk="read", seconds=5.0, listed=False)
def calculate(context: ToolContext, sum: Annotated[str, "as in 12.5 * sqrt(2)"]) -> str:
    """Calculate."""
    expression = sum.strip().translate(_SIGNS)
    if len(expression) > _MAX_CHARACTERS:
        raise ToolFailed(f"the expression is too long: at most {_MAX_CHARACTERS} characters")
    try:
        result = _evaluate(expression)
    except ZeroDivisionError:
        raise ToolFailed("it divides by zero") from None
    except Exception as error:  # whatever simpleeval and the functions raise, the expression is wrong
        raise ToolFailed(f"{one_line(sum)!r} cannot be calculated: {one_line(str(error), 200)}") from error
    if isinstance(result, int):
        if abs(result) >= 10**_MAX_DIGITS:
            raise ToolFailed(f"the result has more than {_MAX_DIGITS} digits")
        return f"{expression} = {result}"
    if not math.isfinite(result):
        raise ToolFailed("the result is too large")
    return f"{expression} = {result:.12g}"  # with 12 digits 0.1 + 0.2 is 0.3


def _evaluate(expression: str) -> float:
    import simpleeval  # late: only needed to calculate

    known = ("sqrt", "floor", "ceil", "log", "log10", "log2", "exp", "sin", "cos", "tan", "atan", "gcd", "lcm")
    functions: dict[str, Callable[..., Any]] = {name: getattr(math, name) for name in known}
    functions |= {"abs": abs, "round": _round, "min": min, "max": max, "factorial": _factorial}
    operators = {kind: does for kind, does in simpleeval.DEFAULT_OPERATORS.items() if kind.__name__ in _OPERATORS}
    operators[simpleeval.ast.Pow] = _power
    reader = simpleeval.SimpleEval(
        operators={kind: _bounded(does) for kind, does in operators.items()},
        functions={name: _bounded(does) for name, does in functions.items()},
        names={"pi": math.pi, "e": math.e, "tau": math.tau},
    )
    result = reader.eval(expression)
    if isinstance(result, bool) or not isinstance(result, int | float):
        raise ValueError("the result is not a number")
    return result


def _bounded(does: Callable[..., Any]) -> Callable[..., Any]:
    """The function, refusing operands that are no numbers or too large."""

    def bounded(*operands: Any) -> Any:
        if not all(isinstance(each, int | float) for each in operands):
            raise ValueError("it contains something that is not a number")
        if any(isinstance(each, int) and abs(each) > _LIMIT for each in operands):
            raise ToolFailed(f"a number in it has more than {2 * _MAX_DIGITS} digits")
        return does(*operands)

    return bounded


def _power(base: float, exponent: float) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _LIMIT.bit_length():
        raise ValueError("the power is too large")
    return base**exponent


def _round(of: float, digits: int = 0) -> float:
    """Rounds to tens and hundreds too, as in round(1234, -2)."""
    return round(of, max(-_MAX_DIGITS, digits)) if digits else round(of)


def _factorial(of: int) -> int:
    if of > 150:
        raise ValueError("the factorial is too large")
    return math.factorial(of)
