"""The tools for tasks and reminders. The model passes times in the person's words; the program parses them."""

from typing import Annotated, Any

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log
from agent_cli.memory.dates import zones
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Task
from agent_cli.messages import Receipt, ToolResult
from agent_cli.store import ids
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_MAX_TASKS = 50


def _check_reminder(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the moment that is meant. Raises ToolFailed for a time that cannot be read or is past."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    try:
        due = due_times.parse(arguments.get("when", ""), now, context.access.zone or zones.local_name())
    except UsageError as error:
        raise ToolFailed(str(error)) from error
    if due is None:
        return arguments
    moment = zones.format_moment(due.due, now)
    return arguments | {"when": f"{due.words}, next {moment}" if due.repeats else moment}


def _check_task(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the name of the task. Raises ToolFailed where there is no such task."""
    return arguments | {"task": f"{(task := _task(context, arguments['task'])).handle} “{task.name}”"}


def _task(context: ToolContext, handle: str) -> Task:
    try:
        return tasks.get(context.db, ids.number("task", handle), context.scope.owner)
    except UsageError as error:
        raise ToolFailed(str(error)) from error


@tool(risk="write", resolve=_check_reminder)
def create_reminder(
    context: ToolContext,
    text: str,
    when: str = "",
) -> ToolResult:
    """Keep a task or reminder in the person's words, when they ask."""
    from agent_cli.memory.dates import due_times

    now = context.time()
    try:
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
    except UsageError as error:
        raise ToolFailed(str(error)) from error
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
    try:
        done = tasks.complete(context.db, found, context.time, actor="model")
    except UsageError as error:
        raise ToolFailed(str(error)) from error
    name = f"{done.handle} “{done.name}”"
    following = f"; {tasks.format_due(done, context.time())}" if done.state == "open" else ""
    return ToolResult(f"done: {done.handle}{following}", receipt=Receipt(f"done {name}{following}"))
