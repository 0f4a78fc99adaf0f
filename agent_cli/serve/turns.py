"""The turn of a request: the loop, context, policy and audit of `agent ask`, in the queue, read as events.

There is nobody at a keyboard: what needs asking is denied and said, and nothing that comes in is ever accepted as a
fact. A caller that only reads is answered from memory by a conversation that is kept nowhere.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing as closed_after
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request

from agent_cli.agent.events import JsonObject, Lines, Noticed, QuestionLogged, Transcript, TurnEnded
from agent_cli.agent.loop import Question
from agent_cli.app import turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import StoreError
from agent_cli.llm.model import Cancel, ChatModel, Chunk
from agent_cli.memory.conversations import capture, log, sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.dates import spans
from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import tasks
from agent_cli.memory.planner.tasks import Reminder
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Part
from agent_cli.serve import responses
from agent_cli.serve.state import ServerState, Turn
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

OpenSession = Callable[[Database, App], tuple[int, Sequence[Part]]]
"""Called when the turn begins: opens or resumes a session; returns its number and the message. Raises Refused."""

OnAnswer = Callable[[Database, int, int, str, Lines], None]
"""Is called with the session, its last message, the answer and the program's lines, before the caller gets these."""


@frozen
class TurnRequest:
    caller: Caller
    open_session: OpenSession
    on_answer: OnAnswer | None = None
    instructions: str = ""  # for this run
    streamed: bool = False  # whether it is given word by word, with what turns out to have been thinking


def lock_key(caller: Caller, session: str) -> Hashable:
    """What turns wait for: a session of this owner, or the wait would tell when another is answered."""
    return caller.owner, session


def begin(state: ServerState, request: Request, turn_request: TurnRequest, session: str | None, key: str = "") -> Turn:
    """Put a turn in the queue. `session`: a name known before it begins. With a `key` it stays. Raises Refused."""
    caller = turn_request.caller
    work = partial(_run_logged if caller.writes else _run_unlogged, state, turn_request)
    turn = Turn(work, caller.id, request.receive, state.limits.turn_seconds, stays=bool(key))
    state.turns.begin(turn, lock_key(caller, session) if session else None)
    if key:
        state.turns_by_key[caller.id, key] = turn

    def on_done(_: object) -> None:
        state.metrics.time("agent_turn_waited_seconds", caller.name, turn.waited)
        if state.turns_by_key.get((caller.id, key)) is turn:
            del state.turns_by_key[caller.id, key]

    turn.task.add_done_callback(on_done)
    return turn


def _run_logged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller)
    with state.pool.connection() as db:
        reminders = [] if request.caller.mine else _new_reminders(db, app)
        session, parts = request.open_session(db, app)
        if not queued.claim(lock_key(request.caller, ids.handle("session", session))):
            raise responses.busy("another message of this conversation came first: ask again")
        try:
            yield from _run(state, app, request, turns.tool_context(app, db, session), parts, queued.cancel, reminders)
            upkeep.after_turn(app, db)
        finally:
            sessions.release(db, session)


def _run_unlogged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller).incognito(reads=True)
    try:
        session, parts = request.open_session(app.db, app)
        context = turns.tool_context(app, app.db, session)
        try:
            yield from _run(state, app, request, context, parts, queued.cancel)
        finally:
            if context.memory:
                context.memory.close()
    finally:
        app.db.close()


def _new_reminders(db: Database, app: App) -> list[Reminder]:
    """The reminders of a caller's own tasks that came up since its last message."""
    last = sessions.latest(db, app.scope.owner)
    asked = log.nth_last(db, last.id, "user", 1) if last else None
    return tasks.reminded_since(db, app.scope.owner, asked.at if asked else "", app.time())


def _run(
    state: ServerState,
    app: App,
    request: TurnRequest,
    context: ToolContext,
    parts: Sequence[Part],
    cancel: Cancel,
    reminders: Sequence[Reminder] = (),
) -> Iterator[JsonObject]:
    """The events of a turn as JSON objects; when it is cut, first what had arrived."""
    caller, began = request.caller, time.monotonic()
    transcript = Transcript(context, scores=caller.mine)
    model = _TimedModel(app, context.db)
    try:
        question = Question(context, parts, cancel=cancel, instructions=request.instructions)
        with closed_after(turns.run(app, question, model.choose)) as arriving:
            for event in arriving:
                objects = transcript.take(event)
                if isinstance(event, TurnEnded):
                    answer = transcript.streamed if request.streamed else transcript.clean_answer
                    if request.on_answer and app.keeps:
                        last = log.last_message(context.db, context.session)
                        request.on_answer(context.db, context.session, last, answer, transcript.lines)
                for each in objects:
                    took = {"own": time.monotonic() - began - model.seconds, "model": model.seconds}
                    yield {**each, "took": took} if each["type"] == "end" else each
                if isinstance(event, QuestionLogged) and app.keeps:
                    message = ids.number("message", event.handle)
                    for line in _propose_facts(context, message, parts, caller):
                        yield from transcript.take(Noticed(line, receipt=True))
                    for reminder in reminders:
                        yield from transcript.take(Noticed(tasks.format_reminder(reminder, app.time())))
    except Exception:
        finish = "cancelled" if cancel else "failed"
        with suppress(StoreError):
            events.append(context.db, app.time, f"turn {finish}", "", actor="program", session=context.session)
        yield {"type": "cut", **transcript.as_object(finish)}
        raise
    finally:
        without_model = max(0.0, time.monotonic() - began - model.seconds)
        state.metrics.time("agent_turn_own_seconds", caller.name, without_model)
        state.metrics.time("agent_turn_model_seconds", caller.name, model.seconds)


def _propose_facts(context: ToolContext, message: int, parts: Sequence[Part], caller: Caller) -> Iterator[str]:
    """Propose the facts that the message asks to remember. Nobody typed it, so they wait for the person's yes."""
    review = "agent facts review" if caller.mine else f"agent --as {caller.name} facts review"
    for each in capture.capture([replace(part, origin="typed") for part in parts]):
        statement = spans.resolve(each.statement, context.time())
        claim = adoption.claim(statement, "http", quote=each.quote, message=message)
        fact = adoption.propose(MemoryContext(context.db, context.scope, context.time), claim, actor="person")
        known = adoption.not_proposed(context.db, context.scope.owner, claim.statement) if fact is None else ""
        yield f"{adoption.pending_receipt(fact)} ({review})" if fact else known


class _TimedModel:
    """The model of one turn, and the seconds in which it was waited for."""

    def __init__(self, app: App, db: Database):
        self._app, self._db = app, db
        self.name, self.seconds = "", 0.0
        self._model: ChatModel

    def choose(self) -> tuple[ChatModel, str]:
        self._model, notice = turns.unattended_model(self._app, self._db)
        self.name = self._model.name
        return self, notice

    def reply(self, *args: Any, **named: Any) -> Iterator[Chunk]:
        chunks = iter(self._model.reply(*args, **named))
        while True:
            began = time.monotonic()
            try:
                chunk = next(chunks, None)
            finally:
                self.seconds += time.monotonic() - began
            if chunk is None:
                return
            yield chunk
