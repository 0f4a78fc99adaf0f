"""The assistant for editors and terminals that speak the Agent Client Protocol, on standard input and output.

The person types there, but another program sends the words: none count as typed, what they ask to remember waits for a
yes at the keyboard, as over HTTP. A tool call that needs approval is shown there, and the person's choice counts for
that call, or for the tool until the program ends; not where the assistant itself has started this process. What the
program says beside the answer stands apart, as a call does, where no model can write it.
"""

import asyncio
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import acp
from acp import schema

from agent_cli import __version__, limits
from agent_cli.agent import events, policy
from agent_cli.agent.loop import Question
from agent_cli.app import background, turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.scope import Scope, place_of
from agent_cli.messages import Part, ToolCall, join_parts
from agent_cli.store import ids
from agent_cli.text import clean, map_texts, one_line, visible, without_surrogates

_LISTED = 100  # sessions
_OPTIONS = [
    schema.PermissionOption(option_id="once", name="Allow once", kind="allow_once"),
    schema.PermissionOption(option_id="always", name="Allow until this program ends", kind="allow_always"),
    schema.PermissionOption(option_id="no", name="Do not allow", kind="reject_once"),
]
_STOPS: dict[str, schema.StopReason] = {"length": "max_tokens", "stopped": "max_turn_requests"}  # by the finish
_WAS_THINKING = "\n\n(What stands above was the model's thinking, not its answer.)\n\n"


def serve(app: App) -> None:
    """Answer on standard input and output until they close, then close the sessions. Raises UsageError."""
    if not all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in (os.fstat(0).st_mode, os.fstat(1).st_mode)):
        raise UsageError("an editor starts this, and talks to it through pipes: name `agent acp` in its settings")
    app.db.person = "editor"
    door = Door(app)
    logging.disable()  # the library prints a traceback for what the other side does wrong, and answers it
    try:
        with redirect_stdout(os.fdopen(os.dup(1), "w")):  # the library closes it
            asyncio.run(_talk(door))
    finally:
        door.close()


async def _talk(door: Any) -> None:  # without what is optional in the protocol
    reader, writer = await acp.stdio_streams(limit=limits.MAX_INPUT)
    await acp.run_agent(door, _Lines(reader, writer))


class _Lines:
    """Messages as lines of JSON. What is none is answered with an error: the library drops it, or ends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer

    async def send(self, message: Any) -> None:
        self._writer.write(json.dumps(message, default=str).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> Any:
        """The next message; None at the end."""
        while True:
            try:
                if not (line := await self._reader.readline()):
                    return None
                match message := limits.load_json(line.decode()):
                    case {"method": str()} | {"id": int(), "result": _} | {"id": int(), "error": dict()}:
                        return message
                    case {"id": None, "error": _}:
                        continue  # of what was sent here: two sides that answer such errors never end
                refused = acp.RequestError(-32600, "that is no request, notification or response")
            except ValueError as error:  # also of a line that is too long
                refused = acp.RequestError(-32700, f"that is not JSON of at most {limits.MAX_INPUT:,} bytes: {error}")
            await self.send({"jsonrpc": "2.0", "id": None, "error": refused.to_error_obj()})

    async def close(self) -> None:
        self._writer.close()


class Door:
    """What the library calls for each request; `client` is the other side. All of it runs on the event loop, but the
    turns, each on a thread of its own."""

    client: Any

    def __init__(self, app: App):
        self._app = app
        self._apps: dict[int, App] = {}  # by session: with the folder that the editor has open
        self._turns: dict[int, events.Runner] = {}
        self._allowed: set[str] = set()  # tools
        self._numbers = count(1)

    def on_connect(self, client: Any) -> None:
        self.client = client

    def close(self) -> None:
        with suppress(AgentError):  # what is left open is closed at the next start
            for session in self._apps:
                if not sessions.is_open_elsewhere(self._app.db, session):
                    closing.close(self._app.db, session, self._app.time, actor="program")
            background.start(self._app)

    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        able = schema.AgentCapabilities(
            load_session=True,
            prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
            session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
        )
        about: dict[str, Any] = {"agent_info": schema.Implementation(name="agent", version=__version__)}
        return schema.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION, agent_capabilities=able, **about)

    async def new_session(self, cwd: str, **_: Any) -> Any:
        app = self._app_in(cwd)
        session = sessions.start(app.db, app.scope, app.time())
        sessions.release(app.db, session)
        self._apps[session] = app
        return schema.NewSessionResponse(session_id=ids.handle("session", session))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> Any:
        """Show the messages of an earlier session, which goes on."""
        app = self._app_in(cwd)
        session = _found(app, session_id)
        self._apps[session] = app
        show = {"user": acp.update_user_message_text, "assistant": acp.update_agent_message_text}
        for entry in log.history(app.db, session):
            if entry.message.text and entry.message.role in show:
                await self.client.session_update(session_id, show[entry.message.role](clean(entry.message.text)))
        return schema.LoadSessionResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> Any:
        """The latest sessions: of a folder, else of all that have one."""
        found, place = [], self._app_in(cwd).scope.place if cwd else ""
        for row in sessions.listing(self._app.db, self._app.scope.owner, _LISTED):
            if row["place"] == place if cwd else Path(row["place"]).is_absolute():
                about = {"title": row["title"], "updated_at": row["last_at"]}
                found.append(schema.SessionInfo(session_id=row["id"], cwd=cwd or row["place"], **about))
        return schema.ListSessionsResponse(sessions=found)

    async def cancel(self, session_id: str, **_: Any) -> None:
        with suppress(UsageError):
            if runner := self._turns.get(ids.number("session", session_id)):
                runner.cancel()

    async def prompt(self, prompt: Sequence[Any], session_id: str, **_: Any) -> Any:
        """Run a turn, and say how it ended. An error is one sentence."""
        session, loop = _found(self._app, session_id), asyncio.get_running_loop()
        if session in self._turns:
            raise acp.RequestError(-32600, "the session is still answering: wait for it, or cancel it")
        app = self._apps.setdefault(session, self._app)
        arriving: asyncio.Queue[events.Event | None] = asyncio.Queue()
        parts = join_parts([_part(block) for block in prompt])
        if not any(part.text.strip() for part in parts):
            raise acp.RequestError(-32602, "the prompt is empty")

        def work(cancel: Cancel, approve: policy.Approve) -> Iterator[events.Event]:
            return self._answer(app, session, parts, cancel, policy.no_approver if app.child else approve)

        def deliver(event: events.Event | None) -> None:
            loop.call_soon_threadsafe(arriving.put_nowait, event)

        runner = self._turns[session] = events.Runner(work, deliver)
        stop: schema.StopReason = "end_turn"
        asked: asyncio.Task[None] | None = None
        try:
            while (event := await arriving.get()) is not None:
                match event:
                    case events.ApprovalNeeded(call, answer):
                        asked = asyncio.create_task(self._ask(session_id, call, answer, runner.cancel))
                    case events.TurnFailed(Cancelled()):
                        stop = "cancelled"
                    case events.TurnFailed(error):
                        raise acp.RequestError(-32603, str(error)) if isinstance(error, AgentError) else error
                    case events.TurnEnded():
                        stop = _STOPS.get(event.finish, stop)
                if update := self._update(event):
                    await self.client.session_update(session_id, update)
        finally:
            runner.cancel()  # where the other side has gone
            if asked:
                asked.cancel()
            await asyncio.to_thread(runner.join)
            del self._turns[session]
        background.start(app)
        return schema.PromptResponse(stop_reason=stop)

    def _update(self, event: events.Event) -> Any:
        """How an event is shown; None where it is not."""
        match event:
            case events.ToolStarted(call):
                shown: dict[str, Any] = {"kind": "other", "status": "in_progress"}
                arguments = map_texts(call.arguments, visible)
                return acp.start_tool_call(call.id, visible(one_line(call.name)), raw_input=arguments, **shown)
            case events.ToolFinished(call, result):
                content = [acp.tool_content(acp.text_block(clean(result.receipt or result.text)))]
                return acp.update_tool_call(call.id, status="failed" if result.failed else "completed", content=content)
            case events.TextArrived(text):
                return acp.update_agent_message_text(clean(text))
            case events.TextWasThinking():
                return acp.update_agent_message_text(_WAS_THINKING)
            case events.ThinkingArrived(text):
                return acp.update_agent_thought_text(clean(text))
            case events.Noticed(text):
                notice = f"notice-{next(self._numbers)}"
                return acp.start_tool_call(notice, clean(text), kind="other", status="completed")
            case events.TurnEnded() if event.stopped_by:
                return self._update(events.Noticed(f"the turn was ended: {event.stopped_by}"))
        return None

    def _answer(
        self, app: App, session: int, parts: Sequence[Part], cancel: Cancel, approve: policy.Approve
    ) -> Iterator[events.Event]:
        """The events of a turn, on its thread."""
        with app.db.another_connection() as db:
            sessions.reopen(db, session, app.scope.owner, app.time())
            try:
                context = turns.tool_context(app, db, session)
                question = Question(context, parts, approve, cancel)
                yield from turns.run_sent(app, question, "editor", "agent facts review")
                upkeep.after_turn(app, db)
            finally:
                sessions.release(db, session)

    async def _ask(self, session_id: str, call: ToolCall, answer: Callable[[bool], None], cancelled: Cancel) -> None:
        """Whether the person allows the call there; no, where that cannot be asked, and once the turn is cancelled."""
        chosen: Any = "once" if call.name in self._allowed else "no"
        arguments = map_texts({**call.arguments, **call.resolved}, visible)
        about = schema.ToolCallUpdate(tool_call_id=call.id, title=visible(one_line(call.name)), raw_input=arguments)
        if chosen == "no":
            try:
                answered = await self.client.request_permission(session_id, about, _OPTIONS)
                chosen = getattr(answered.outcome, "option_id", "no")
            except ConnectionError:
                return  # it has gone, and the turn is cancelled
            except Exception:  # it does not know how to ask, or how to answer
                chosen = "no"
        if chosen == "always" and not cancelled:
            self._allowed.add(call.name)
        answer(chosen in ("once", "always") and not cancelled)

    def _app_in(self, cwd: str) -> App:
        if not (folder := Path(without_surrogates(cwd))).is_absolute():
            raise acp.RequestError(-32602, f"cwd is no absolute path: {visible(cwd)}")
        return replace(self._app, scope=Scope(self._app.scope.owner, place_of(folder)))


def _found(app: App, handle: str) -> int:
    try:
        session = sessions.get(app.db, ids.number("session", handle), app.scope.owner)
        if session.hidden_at:
            raise UsageError(f"{handle} is hidden; `agent sessions restore {handle}` brings it back")
    except UsageError as error:
        raise acp.RequestError(-32602, str(error)) from error
    return session.id


def _part(block: Any) -> Part:
    """A part of the question; a file that the editor puts into it is one."""
    match block:
        case schema.TextContentBlock():
            return Part(without_surrogates(block.text), "editor")
        case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as file):
            return Part(without_surrogates(file.text), "file", without_surrogates(file.uri))
        case schema.ResourceContentBlock():
            return Part(without_surrogates(f"[{block.name}]({block.uri})"), "editor")
    return Part(f"[{block.type} left out]", "editor")
