"""The turn of a request: that of `agent ask`, in the queue, read as events. Nobody is at a keyboard: what needs asking
is denied, and nothing that comes in is ever accepted as a fact. A caller that only reads is answered by a conversation
that is kept nowhere."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing as closed_after
from contextlib import suppress
from functools import partial

from starlette.requests import Request

from agent_cli.agent.events import JsonObject, Noticed, QuestionLogged, Transcript, TurnEnded
from agent_cli.agent.loop import Question
from agent_cli.app import turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.memory.planner import tasks
from agent_cli.messages import Part
from agent_cli.serve import responses
from agent_cli.serve.responses import Refused
from agent_cli.serve.state import ServerState, Turn
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

OpenSession = Callable[[Database, App], tuple[int, Sequence[Part]]]
"""Called when the turn begins: opens or resumes a session; returns its number and the message. Raises Refused."""

OnAnswer = Callable[[Database, App, int, int, str], None]
"""Is called with the session, its last message and the answer, before the caller gets this."""


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


def begin(state: ServerState, request: Request, turn_request: TurnRequest, session: str | None) -> Turn:
    """Put a turn in the queue. `session`: a name known before it begins. Raises Refused."""
    caller = turn_request.caller
    work = partial(_run_logged if caller.writes else _run_unlogged, state, turn_request)
    turn = Turn(work, caller.id, request.receive, state.limits.turn_seconds)
    state.turns.begin(turn, lock_key(caller, session) if session else None)
    return turn


def resume_session(db: Database, app: App, handle: str) -> int:
    """The number of a session that is open to this caller and to nobody else now. Raises Refused."""
    try:
        session = sessions.get(db, ids.number("session", handle), app.scope.owner)
    except UsageError:
        session = None
    if session is None or session.hidden_at:
        raise Refused(404, "no_session", f"there is no session {handle}: leave it out to begin a new one")
    if sessions.is_open_elsewhere(db, session.id):
        raise Refused(409, "in_use", f"{handle} is open elsewhere on that machine: close it there, or begin a new one")
    return sessions.reopen(db, session.id, app.scope.owner, app.time()).id


def _run_logged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller)
    with state.pool.connection() as db:
        reminders: list[tasks.Reminder] = []
        if not request.caller.mine:  # those of its own tasks that came up since its last message
            last = sessions.latest(db, app.scope.owner)
            asked = log.nth_last(db, last.id, "user", 1) if last else None
            reminders = tasks.reminded_since(db, app.scope.owner, asked.at if asked else "", app.time())
        session, parts = request.open_session(db, app)
        if not queued.claim(lock_key(request.caller, ids.handle("session", session))):
            raise responses.busy("another message of this conversation came first: ask again")
        try:
            yield from _run(app, request, turns.tool_context(app, db, session), parts, queued.cancel, reminders)
            upkeep.after_turn(app, db)
        finally:
            sessions.release(db, session)


def _run_unlogged(state: ServerState, request: TurnRequest, queued: Turn) -> Iterator[JsonObject]:
    app = state.app_of(request.caller).incognito(reads=True)
    try:
        session, parts = request.open_session(app.db, app)
        context = turns.tool_context(app, app.db, session)
        try:
            yield from _run(app, request, context, parts, queued.cancel)
        finally:
            if context.memory:
                context.memory.close()
    finally:
        app.db.close()


def _run(
    app: App,
    request: TurnRequest,
    context: ToolContext,
    parts: Sequence[Part],
    cancel: Cancel,
    reminders: Sequence[tasks.Reminder] = (),
) -> Iterator[JsonObject]:
    """The events of a turn as JSON objects; when it is cut, first what had arrived."""
    transcript = Transcript(context, scores=request.caller.mine)
    try:
        question = Question(context, parts, cancel=cancel, instructions=request.instructions)
        with closed_after(turns.run(app, question)) as arriving:
            for event in arriving:
                objects = transcript.take(event)
                if isinstance(event, TurnEnded) and request.on_answer and app.keeps:
                    last = log.last_message(context.db, context.session)
                    answer = transcript.streamed if request.streamed else transcript.clean_answer
                    request.on_answer(context.db, app, context.session, last, answer)
                yield from objects
                if isinstance(event, QuestionLogged) and app.keeps:
                    caller, message = request.caller, ids.number("message", event.handle)
                    review = "agent facts review" if caller.mine else f"agent --as {caller.name} facts review"
                    for line in turns.propose_facts(context, message, parts, "http", review):
                        yield from transcript.take(Noticed(line, receipt=True))
                    for reminder in reminders:
                        yield from transcript.take(Noticed(tasks.format_reminder(reminder, app.time())))
    except Exception:
        finish = "cancelled" if cancel else "failed"
        with suppress(StoreError):
            events.append(context.db, app.time, f"turn {finish}", "", actor="program", session=context.session)
        yield {"type": "cut", **transcript.as_object(finish)}
        raise
