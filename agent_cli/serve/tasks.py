"""/tasks: what is to be done in a caller's memory, kept, listed and done. Reminders come up where its owner is."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from agent_cli.errors import UsageError
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Task
from agent_cli.serve.responses import Refused
from agent_cli.serve.state import ServerState
from agent_cli.store import ids
from agent_cli.text import clean, without_surrogates

TaskHandle = Annotated[str, Path(pattern=r"^t[0-9]{1,15}$", description="Its handle, as in t4.")]


class TaskQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: Literal["open", "done", "all"] = "open"
    limit: int = Field(100, ge=1, le=1000)


class NewTask(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(pattern=r"\S", max_length=tasks.MAX_LENGTH)
    when: str = Field("", max_length=200, description="In words: friday 3pm, every monday 9:00; empty: at no time.")


class TaskAnswer(BaseModel):
    id: str
    text: str
    when: str
    due_at: str | None
    zone: str
    repeats: str
    state: Literal["open", "done"]
    done_at: str | None
    at: str


class TaskList(BaseModel):
    tasks: list[TaskAnswer]


def router(state: ServerState) -> APIRouter:
    routes = APIRouter(prefix="/tasks")

    @routes.get("", summary="What is to be done")
    def listing(request: Request, asked: Annotated[TaskQuery, Query()]) -> TaskList:
        caller: Caller = request.state.caller
        with state.pool.connection() as db:
            found = tasks.listing(db, caller.owner, asked.state, asked.limit)
        return TaskList(tasks=[_task_answer(each) for each in found])

    @routes.post("", status_code=201, summary="Add a task, with a reminder or without")
    def add(request: Request, new: NewTask) -> TaskAnswer:
        caller = _writer(request)
        now = state.app.time()
        try:
            occasion = due_times.parse(without_surrogates(new.when), now, moments.local_zone())
        except UsageError as error:
            raise Refused(422, "no_time", clean(str(error))) from None
        with state.pool.connection() as db:
            return _task_answer(
                tasks.add(db, caller.scope, without_surrogates(new.text), occasion, state.app.time, origin="http")
            )

    @routes.post("/{task}/done", summary="Mark a task as done; one that repeats moves to its next time")
    def done(request: Request, task: TaskHandle) -> TaskAnswer:
        caller = _writer(request)
        with state.pool.connection() as db:
            try:
                found = tasks.get(db, ids.number("task", task), caller.owner)
            except UsageError:
                raise Refused(404, "no_task", f"there is no task {task}") from None
            if found.state == "done" or found.hidden_at:
                raise Refused(409, "done", f"{task} is done already")
            return _task_answer(tasks.complete(db, found, state.app.time, actor="person"))

    return routes


def _writer(request: Request) -> Caller:
    caller: Caller = request.state.caller
    if not caller.writes:
        raise Refused(403, "reads_only", "this caller only reads")
    return caller


def _task_answer(task: Task) -> TaskAnswer:
    fields = task.describe()
    fields |= {"text": clean(task.text), "when": clean(task.due_words)}
    return TaskAnswer(**{name: fields[name] for name in TaskAnswer.model_fields})
