"""The state of an interactive session, and what can be done with it. Draws nothing.

The session is stored with its first message, so that none leaves no trace. A side question has a session of its own.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agent_cli.agent.events import Event, Noticed, QuestionLogged, TextArrived, Transcript, Work
from agent_cli.agent.jobs import summariser
from agent_cli.agent.loop import Question, resume_turn
from agent_cli.agent.model_context import Context
from agent_cli.agent.policy import Approve
from agent_cli.app import background, models, turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import AgentError, StoreBusy
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.lifecycle import closing, rewind
from agent_cli.memory.planner.tasks import Task
from agent_cli.memory.review import review
from agent_cli.messages import Origin, Part, Receipt
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import counted


class Conversation:
    def __init__(self, app: App, session: sessions.Session | None = None):
        self.app = app
        self.id: int | None = None
        self.allowed_tools: set[str] = set()  # allowed by the person until the session ends
        self.origin: Origin = "typed"  # of the current line; a line with a paste in it counts as pasted
        self.parts: Sequence[Part] = ()  # of the current line
        self.excluded: frozenset[tuple[str, int]] = frozenset()  # (kind, id) of what recall must not add to it
        self.show_thinking = False
        self.waiting = ""  # what is being waited for until the model's first token
        if session:
            self.resume(session)
        closing.close_abandoned(app.db, app.time)
        closing.close_silent(app.db, app.time, app.close_after)

    @property
    def session(self) -> sessions.Session | None:
        """The session, once it has a message."""
        if self.id is None or not log.count(self.app.db, self.id):
            return None
        return sessions.get(self.app.db, self.id, self.app.scope.owner)

    @property
    def status(self) -> str:
        """A line above the prompt about unusual modes, with its newline; mostly empty."""
        modes = [] if self.app.keeps else ["incognito"]
        if self.app.reads != self.app.keeps:
            modes.append("memory is read" if self.app.reads else "memory is not read")
        if self.app.keeps and not self.app.learns:
            modes.append("nothing is learned")
        return f"{' · '.join(modes)}\n" if modes else ""

    def state(self) -> dict[str, Any]:
        """What the line below the prompt may tell; `context_percent` is None before the first answer of a model."""
        app, session, folder = self.app, self.session, ""
        with suppress(OSError):  # it may be gone
            folder = os.getcwd()
        last = log.nth_last(app.db, session.id, "assistant", 1) if session else None
        tokens, window = (last.usage.tokens_in + last.usage.tokens_out, app.config.num_ctx) if last else (0, 1)
        return {
            "session": session.handle if session else "",
            "name": sessions.name(app.db, session) if session else "",
            "model": app.model.name if app.model else last.usage.model if last else "",
            "context_percent": min(100, round(100 * tokens / window)) if tokens else None,
            "num_ctx": app.config.num_ctx,
            "folder": folder,
            "incognito": not app.keeps,
        }

    def ensure_session(self) -> int:
        """The id of the session, which is begun now if needed."""
        if self.id is None:
            self.id = sessions.start(self.app.db, self.app.scope, self.app.time(), terminal=self.app.terminal)
        return self.id

    def turn(self, parts: Sequence[Part], *, instead: int | None = None, model: ChatModel | None = None) -> Work:
        """Work that answers a message; `instead`: the id of what it replaces; `model` answers this message only."""
        ended = ""  # what is said when the session was closed after a long silence: this begins another
        if not instead:
            closing.close_silent(self.app.db, self.app.time, self.app.close_after)
            if (session := self.session) and session.closed_at is not None:
                ended = f"{session.handle} was closed after a long silence; this begins a new session"
                ended += f" (/resume {session.handle})"
                self._reset()
        id = self.ensure_session()
        self.waiting = "searching memory"

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            with self.app.db.another_connection() as db:
                if ended:
                    yield Noticed(ended)
                context = replace(turns.tool_context(self.app, db, id), excluded=self.excluded)
                try:
                    asked = Question(context, parts, approve, cancel, replaced_message=instead)
                    yield from self._answer(asked, model)
                except AgentError:
                    if instead:
                        yield from self._decide_replacement(db, id, failed=True)
                    raise
                if instead:
                    yield from self._decide_replacement(db, id)
                upkeep.after_turn(self.app, db)

        return work

    def _answer(self, question: Question, model: ChatModel | None = None) -> Iterator[Event]:
        """The events of a turn. `model`: used instead of the app's."""
        app, context, learns, transcript = self.app, question.context, self.app.learns, Transcript(question.context)
        question = replace(question, approve=self._approves(question.approve), at_keyboard=True)

        def choose() -> tuple[ChatModel, str]:
            chosen, notice = (model, "") if model else models.chat(app, context.db)
            loaded = None if chosen.name in ("offline", "scripted") else app.engine.loaded([chosen.name])
            self.waiting = f"{'loading' if loaded == [] else 'waiting for'} {chosen.name}"
            if loaded:
                self.waiting = "reading the prompt"
            return chosen, notice

        def skip_learning() -> None:  # what was said while learning was off is never read for facts and skills
            if not learns:
                db, session = context.db, context.session
                sessions.skip_learning(db, session, log.last_message(db, session))

        try:
            for event in turns.run(app, question, choose):
                transcript.take(event)
                if isinstance(event, QuestionLogged):
                    skip_learning()  # now: a crash during the answer must not undo it
                yield event
        finally:
            skip_learning()
        used = transcript.used if transcript.model != "offline" else []  # whose answers name what they quote
        if used:
            roles = log.roles(app.db, [ids.number("message", each["id"]) for each in used if each["kind"] == "message"])
            others = "assistant" in roles.values() or any(each["kind"] == "section" for each in used)
            yield Noticed(f"used {counted(len(used), 'thing')} {'from memory' if others else 'you said'} · /why")

    def _approves(self, approve: Approve) -> Approve:
        return lambda call: call.name in self.allowed_tools or approve(call)

    def reopen(self) -> int:
        """The id of the session, reopened if need be. Raises UsageError if it is open elsewhere."""
        app = self.app
        return sessions.reopen(app.db, self.id or 0, app.scope.owner, app.time(), app.terminal).id

    def take_back(self, since: int) -> tuple[list[Fact], list[Task]]:
        """Take back a message and all after it; returns facts learned from them, which stay, and hidden reminders."""
        db, owner = self.app.db, self.app.scope.owner
        taken_back = rewind.take_back(db, self.reopen(), owner, since, self.app.time)
        with suppress(StoreBusy):  # it is done; after an error the person would take back the message before it too
            upkeep.after_turn(self.app, db)
        return rewind.accepted_facts(db, owner, taken_back), rewind.hidden_tasks(db, owner, taken_back)

    def _decide_replacement(self, db: Database, id: int, *, failed: bool = False) -> Iterator[Event]:
        """Restore the replaced messages if no answer came in their place, and say which of both count."""
        if back := closing.recover(db, id, self.app.scope, self.app.time):
            yield Noticed(f"{back} is restored, with what came after it")
            return
        if failed:
            yield Noticed("the unfinished answer replaces the former one")
        for each in rewind.hidden_tasks(db, self.app.scope.owner, rewind.replaced_messages(db, id)):
            yield Noticed(rewind.format_hidden(each))

    def close(self, session: sessions.Session) -> Work:
        """Work that streams the summary, then closes the session. When cancelled, the session is unchanged."""

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            with self.app.db.another_connection() as db:
                for piece in summariser.close(background.job_context(self.app, db, cancel), session.id):
                    yield TextArrived(piece)
                self._reset()
                yield Noticed(Receipt(f"closed {session.handle} · resume: /resume {session.handle}"))
                for line in review.changed_since_opened(db, session.id, session.owner, "/review"):
                    yield Noticed(line)

        return work

    def leave(self) -> sessions.Session | None:
        """Close the session and leave its summary to a job; returns the session."""
        app, session = self.app, self.session
        left = self.id and sessions.get(app.db, self.id, app.scope.owner)
        if left and left.closed_at is None:  # also when all its messages were taken back
            closing.recover(app.db, left.id, app.scope, app.time)
            closing.close(app.db, left.id, app.time)
        self._reset()
        return session if app.keeps else None

    def resume(self, session: sessions.Session) -> None:
        """Go on with an earlier session. Raises UsageError while another process has it open."""
        app = self.app
        reopened = sessions.reopen(app.db, session.id, app.scope.owner, app.time(), app.terminal)
        if self.id is not None and self.id != reopened.id:
            self.leave()
        self.id = reopened.id
        closing.recover(app.db, reopened.id, app.scope, app.time)

    def unfinished(self) -> Work | None:
        """Work that asks again what nobody answered before the program ended, and finishes the turn; mostly None."""
        app, session = self.app, self.id
        calls = log.undecided_calls(app.db, session) if session else ()
        if session is None or not calls:
            return None

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            with app.db.another_connection() as db:
                agent = turns.agent(app, models.chat(app, db)[0], self._approves(approve))
                yield Noticed("this was asked when the program ended, and got no answer:")
                yield from resume_turn(agent, turns.tool_context(app, db, session), calls, cancel)
                upkeep.after_turn(app, db)

        return work

    def context(self) -> Context:
        model, _ = models.chat(self.app, self.app.db)
        return turns.preview(self.app, self.app.db, turns.agent(self.app, model), self.id)

    def ask_beside(self, parts: Sequence[Part]) -> Work:
        beside = self.id if self.session else None

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            with self.app.db.another_connection() as db, turns.one_shot(self.app, db, "ask") as session:
                context = turns.tool_context(self.app, db, session)
                yield from self._answer(Question(context, parts, approve, cancel, parent=beside))
                upkeep.after_turn(self.app, db)
            yield Noticed("that was a side question; the conversation goes on without it")

        return work

    def _reset(self) -> None:
        self.id = None
        self.allowed_tools.clear()
