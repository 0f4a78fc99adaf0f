"""The state of an interactive session, and what can be done with it. Draws nothing.

The session's row is made with the first words said, so that opening the program and leaving it leaves no trace.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from agent_cli.agent import loop
from agent_cli.agent.context import Context, Thread
from agent_cli.agent.events import Asked, Event, Noticed, TextArrived
from agent_cli.agent.jobs.summariser import summariser
from agent_cli.agent.policy.policy import Approve
from agent_cli.agent.runner import Work
from agent_cli.agent.transcript import Transcript
from agent_cli.app import background, models, turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import AgentError, StoreBusy, UsageError
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.llm.ollama import tags
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.facts import memory_changes
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.lifecycle import closing, rewind
from agent_cli.memory.planner.tasks import Task
from agent_cli.memory.review.proposals import Reviewer
from agent_cli.memory.summaries import session_summary
from agent_cli.messages import Origin, Part, ToolCall
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext

_OFFLINE = "answering from memory only"


class _TakenBack(Exception):
    """Takes back what was begun for a look."""

    def __init__(self, context: Context):
        self.context = context


class Conversation:
    def __init__(self, app: App, session: Session | None = None):
        self.app = app
        self.id: int | None = None
        self.allowed: set[str] = set()  # tools the person allowed until the session ends
        self.origin: Origin = "typed"  # of the line that is being run: one with a paste in it is pasted
        self.parts: Sequence[Part] = ()  # of that line
        self.without: frozenset[tuple[str, int]] = frozenset()  # (kind, number) of what memory is not to add to it
        self.show_thinking = False
        self.waiting = ""  # what is known of the wait for the model's first word
        self._offline_told = False
        if session:
            self.resume(session)
        closing.sweep(app.db, app.time)
        closing.close_silent(app.db, app.time, app.silence)

    @property
    def session(self) -> Session | None:
        """The session, once something has been said in it."""
        if self.id is None or not log.began(self.app.db, self.id):
            return None
        return sessions.get(self.app.db, self.id, self.app.scope.owner)

    @property
    def status(self) -> str:
        """What stands above the prompt, a line that is ended; mostly nothing."""
        told = [] if self.app.keeps else ["incognito"]
        if self.app.reads != self.app.keeps:
            told.append("memory is read" if self.app.reads else "memory is not read")
        if self.app.keeps and not self.app.learns:
            told.append("nothing is learned")
        return f"{' · '.join(told)}\n" if told else ""

    @property
    def reviewer(self) -> Reviewer:
        """The person at this prompt, as the one who decides what is kept."""
        return Reviewer(self.app.db, self.app.scope, self.app.time, self.app.single)

    def begun(self) -> int:
        """The number of the session, begun now if it has not been."""
        if self.id is None:
            self.id = sessions.start(self.app.db, self.app.scope, self.app.time())
        return self.id

    def turn(self, parts: Sequence[Part], *, instead: int | None = None, model: ChatModel | None = None) -> Work:
        """What answers these words. `instead`: of this message and all after it, in the same session, which are taken
        back. `model`: answers this once.
        """
        ended = "" if instead else self._ended()
        id = self.begun()
        self.waiting = "looking into memory"

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            db = self.app.db.another_connection()
            try:
                if ended:
                    yield Noticed(
                        f"{ended} was closed after a long silence; this begins a new session (/resume {ended})"
                    )
                here = replace(turns.context(self.app, db, id), excluded=self.without)
                try:
                    yield from self.answer(self.app, here, parts, cancel, approve, model=model, instead=instead)
                except AgentError as error:
                    yield from self._after_trying_anew(db, id, instead, error)
                    raise
                yield from self._after_trying_anew(db, id, instead)
                upkeep.after_turn(self.app, db)
            finally:
                db.close()

        return work

    def answer(
        self, app: App, here: ToolContext, parts: Sequence[Part], cancel: Cancel, approve: Approve, *,
        model: ChatModel | None = None, beside: Thread | None = None, instead: int | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """Its events. `model`: another than the app's. `beside`: what stands before a question on the side."""

        def choose() -> tuple[ChatModel, str]:
            chosen, notice = (model, "") if model else models.chat(app, here.db)
            self.waiting = _wait_for(chosen.name, app.config.host)
            return chosen, notice

        learns, transcript = app.learns, Transcript(here)
        turn = turns.run(
            app,
            here,
            parts,
            choose=choose,
            approve=lambda call: self._allowed(call) or approve(call),
            at_keyboard=True,
            beside=beside,
            cancel=cancel,
            instead=instead,
        )
        try:
            for event in turn:
                transcript.take(event)
                if isinstance(event, Asked) and not learns:
                    _pass_over(here.db, here.session)  # a crash during the answer must change nothing of that
                if not isinstance(event, Noticed) or self._is_news(event.text):
                    yield event
        finally:
            if not learns:
                _pass_over(here.db, here.session)
        if used := [each["id"] for each in transcript.used]:
            yield Noticed(f"used {' '.join(used)} · /why")

    def held(self) -> int:
        """The number of the session, taken up again if it was closed meanwhile.

        Raises UsageError when nothing has been said in it, or another process has it open.
        """
        if self.session is None or self.id is None:
            raise UsageError("nothing has been said in this session yet")
        sessions.reopen(self.app.db, self.id, self.app.scope.owner, self.app.time())
        return self.id

    def take_back(self, since: int) -> tuple[list[Fact], list[Task]]:
        """Have this message of the session and all after it count no more; gives the facts from there that stay.

        And the reminders that were hidden with it.
        """
        db, owner = self.app.db, self.app.scope.owner
        gone = rewind.take_back(db, self.held(), owner, since, self.app.time)
        with suppress(StoreBusy):  # it is done: said to be busy, it would be done to the message before too
            upkeep.after_turn(self.app, db)
        return rewind.staying(db, owner, gone), rewind.hidden(db, owner, gone)

    def _after_trying_anew(
        self, db: Database, id: int, instead: int | None, error: AgentError | None = None
    ) -> Iterator[Event]:  # fmt: skip
        """Have what was there stand again where no answer came in its place, and say which of both stands."""
        if instead is None:
            return
        if back := rewind.heal(db, id, self.app.scope, self.app.time):
            yield Noticed(f"{back} stands again, with what came after it")
            return
        if error:
            yield Noticed("what came of it stands in place of what was there before")
        for each in rewind.hidden(db, self.app.scope.owner, rewind.replaced(db, id)):
            yield Noticed(rewind.told(each))

    def _ended(self) -> str:
        """The handle of the session when it was left alone for too long: what is said next begins another."""
        closing.close_silent(self.app.db, self.app.time, self.app.silence)
        session = self.session
        if session is None or session.closed_at is None:
            return ""
        self._forget_state()
        return session.handle

    def _is_news(self, notice: str) -> bool:
        """That memory alone answers is said once: the answers say it too."""
        if _OFFLINE not in notice:
            return True
        told, self._offline_told = self._offline_told, True
        return not told

    def _allowed(self, call: ToolCall) -> bool:
        return call.name in self.allowed

    def closing(self, session: Session) -> Work:
        """Write the summary as it comes, then close. Cancelled, the session stays as it was."""

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            db = self.app.db.another_connection()
            try:
                rounds = tombstones.rounds(db)
                desk = background.job_context(self.app, db, cancel)
                said = session_summary.transcript(db, session.id, desk.characters)
                ask, method, name = summariser(desk)
                words = ""
                for piece in session_summary.stream(said, ask):
                    words += piece
                    yield TextArrived(piece)
                made = session_summary.make(db, session.id, words, method, name)
                closing.close_with(db, session.id, made, self.app.time, rounds)
                self._forget_state()
                yield Noticed(f"closed {session.handle} · resume: agent -r {session.handle}")
                for line in memory_changes.since_opened(db, session.id, session.owner, "/review"):
                    yield Noticed(line)
            finally:
                db.close()

        return work

    def leave(self) -> Session | None:
        """Close it and leave its summary to a job; gives the session that was left."""
        session, left = self.session, self.id and sessions.get(self.app.db, self.id, self.app.scope.owner)
        if left and left.closed_at is None:  # be it that all that was said in it was taken back
            rewind.heal(self.app.db, left.id, self.app.scope, self.app.time)
            closing.close(self.app.db, left.id, self.app.time)
        self._forget_state()
        return session if self.app.keeps else None

    def resume(self, session: Session) -> None:
        """Go on with an earlier session. Raises UsageError while another process has it open."""
        taken = sessions.reopen(self.app.db, session.id, self.app.scope.owner, self.app.time())
        if self.id is not None and self.id != taken.id:
            self.leave()
        self.id = taken.id
        rewind.heal(self.app.db, taken.id, self.app.scope, self.app.time)

    def context(self) -> Context:
        """What the model would see now. Where nothing has been said the session is begun and taken back."""
        model, _ = models.chat(self.app, self.app.db)
        agent = turns.agent(self.app, model, lambda call: False)
        if self.id is not None:
            return self._request(agent, self.id)
        try:
            with self.app.db.write():
                raise _TakenBack(self._request(agent, sessions.start(self.app.db, self.app.scope, self.app.time())))
        except _TakenBack as shown:
            return shown.context

    def _request(self, agent: loop.Agent, session: int) -> Context:
        here = turns.context(self.app, self.app.db, session)
        loop.begin(here)
        return loop.request(agent, here)

    def _forget_state(self) -> None:
        self.id = None
        self.allowed.clear()
        self._offline_told = False


def _pass_over(db: Database, session: int) -> None:
    """What was said while nothing was to be learned is read for facts and skills later neither."""
    with db.write():
        last = log.latest(db, session)
        sessions.set_read_to(db, session, last)
        sessions.set_reflected_to(db, session, last)


def _wait_for(model: str, host: str) -> str:
    """What a person waits for when a request is sent now, as far as it is certain."""
    if model in ("offline", "scripted"):
        return f"waiting for {model}"
    loaded = tags.loaded(host, model)
    return {True: "reading the prompt", False: f"loading {model}", None: f"waiting for {model}"}[loaded]
