"""Runs turns with the settings, models, tools and database of an app: for the prompt, `ask`, schedules and HTTP."""

import atexit
from collections import ChainMap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent_cli import CHILD
from agent_cli.agent import listener, loop, model_context, policy, profile, prompt_recall
from agent_cli.agent.events import Event, Noticed, QuestionLogged, Transcript
from agent_cli.agent.model_context import Agent
from agent_cli.app import models, upkeep
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import capture, log, sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.lifecycle import closing as session_closing
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.search import index
from agent_cli.messages import Origin, Part, ToolCall
from agent_cli.store import events, ids
from agent_cli.store.db import Database
from agent_cli.text import unfenced
from agent_cli.tools import registry
from agent_cli.tools.tool import Access, Tool, ToolContext
from agent_cli.values import frozen

if TYPE_CHECKING:
    from agent_cli.tools.mcp import Servers

ChooseModel = Callable[[], tuple[ChatModel, str]]
"""Returns the model that answers, and a notice or an empty text. Raises AgentError."""


def run(app: App, question: loop.Question, choose: ChooseModel | None = None) -> Generator[Event, None, None]:
    """The events of one turn. The model is chosen once the message is in the log. Closing the iterator ends it."""
    if app.child:  # nobody typed what a program says that the assistant has started
        parts = [replace(part, origin="tool") if part.origin == "typed" else part for part in question.parts]
        question = replace(question, parts=parts, at_keyboard=False)

    def make_agent() -> tuple[Agent, str]:
        model, notice = choose() if choose else models.chat(app, question.context.db)
        notice = notice if choose or model.name == "offline" else ""
        return agent(app, model, question.approve, question.parent, question.instructions, question.rounds), notice

    return listener.listen(make_agent, question)


@contextmanager
def one_shot(app: App, db: Database, kind: str, title: str = "", terminal: str | None = None) -> Iterator[int]:
    """The number of a session for one question; the session ends with the block, whether or not it was answered."""
    session = sessions.start(db, app.scope, app.time(), kind, terminal)
    if title:
        sessions.change(db, session, title=title)
    try:
        yield session
    finally:
        session_closing.end(db, session, app.time)


@frozen
class Outcome:
    """The result of a turn. Without an error the answer is complete, unless the transcript's end says otherwise."""

    session: int
    transcript: Transcript
    refused: tuple[str, ...] = ()  # names of tools whose calls needed approval
    error: AgentError | None = None


def run_once(app: App, parts: Sequence[Part], kind: str, cancel: Cancel, *, title: str = "", **asked: Any) -> Outcome:
    """Run one turn unattended, in a session of its own. `asked`: other fields of the Question. Raises Cancelled."""
    refused: dict[str, None] = {}
    error: AgentError | None = None

    def refuse(call: ToolCall) -> None:
        refused[call.name] = None

    with one_shot(app, app.db, kind, title) as session:
        context = tool_context(app, app.db, session)
        question = loop.Question(context, parts, refuse, cancel, **asked)
        transcript = Transcript(context)
        try:
            for event in run(app, question):
                transcript.take(event)
        except Cancelled:
            raise
        except AgentError as failed:
            error = failed
    upkeep.after_turn(app, app.db)
    return Outcome(session, transcript, tuple(refused), error)


def run_sent(app: App, question: loop.Question, origin: Origin, review: str) -> Generator[Event, None, None]:
    """Run a turn whose words another program has sent. What they ask to remember waits for the person's yes: nobody
    typed it. `review`: the command that decides on it, for the receipts."""
    context = question.context
    with closing(run(app, question)) as arriving:
        for event in arriving:
            yield event
            if not (isinstance(event, QuestionLogged) and app.keeps):
                continue
            sent = [replace(part, origin="typed") for part in question.parts if part.origin == origin]
            for each in capture.capture(sent):
                about: dict[str, Any] = {"quote": each.quote, "message": ids.number("message", event.handle)}
                about["place"] = context.scope.place if each.this_place and origin == "editor" else ""
                claims = adoption.claims(each.statement, origin, context.time(), **about)
                memory = MemoryContext(context.db, context.scope, context.time)
                waiting, known = adoption.propose_each(memory, claims, actor="person")
                receipts = [f"{facts.pending_receipt(fact)} ({review})" for fact in waiting]
                yield from (Noticed(line, receipt=True) for line in (*receipts, *known))


def agent(
    app: App,
    model: ChatModel,
    approve: policy.Approve = policy.no_approver,
    parent: int | None = None,
    instructions: str = "",
    rounds: int = policy.ROUNDS,
) -> Agent:
    """The agent for a turn. `parent`: the session in front of a side question. `instructions`: additional ones."""
    settings = app.config
    return Agent(
        model,
        tools(app),
        approve,
        settings.num_ctx,
        rules=cast(Mapping[str, policy.Ruling], settings.rules),
        think={"auto": None, "on": True, "off": False}.get(settings.think, settings.think),
        limits=policy.Limits(rounds, seconds=settings.tool_seconds),
        prices={name: (price[0], price[1]) for name, price in settings.prices.items()},
        window=app.window,
        recall=partial(_recall, app, parent) if app.reads else None,
        parent=parent,
        wait_until_read=app.wait_until_read,
        instructions="\n\n".join(filter(None, (model_context.SYSTEM, unfenced(instructions)))),
    )


def tools(app: App) -> Mapping[str, Tool]:
    """The tools of a run by name. Incognito, MCP servers are left out: they could store what they are sent."""
    built_in = registry.allowed(reads=app.reads, keeps=app.keeps)
    if not (app.config.mcp and app.keeps):
        return built_in
    from agent_cli.tools import mcp

    with app.db.another_connection() as db:

        def is_allowed(tool: Tool) -> bool:
            """Whether the person's rules allow a call of the program's own; it is written down."""
            if policy.decide(tool, cast(Mapping[str, policy.Ruling], app.config.rules), {}, {})[0] != "allow":
                return False
            events.append(db, app.time, "call allowed by rule", tool.name, actor="program")
            return True

        of_servers = mcp.load_tools(db, servers(app), app.config.tool_seconds, app.notice, is_allowed)
    return ChainMap(of_servers, dict(built_in))  # a view: a server that is started in the turn adds its tools


def servers(app: App) -> "Servers":
    """The MCP servers in the settings; a server is started when it is first used."""
    with app.lock:
        if app.tool_servers is None or app.tool_servers.settings != app.config.mcp:
            from agent_cli.tools.mcp import Servers

            app.tool_servers = Servers(app.config.mcp, {CHILD: "1"})
            atexit.register(app.tool_servers.close)
        return app.tool_servers


class _Undo(Exception):
    """Rolls a preview back."""


def preview(
    app: App, db: Database, agent: Agent, session: int | None, parts: Sequence[Part] = (), kind: str = "chat"
) -> model_context.Context:
    """The next request of a session, or of one of this `kind` that begins now, with this question; nothing is kept."""
    with _before_asking(app, db, session, parts, kind, agent.recall) as (context, _):
        return model_context.build(agent, context)


@contextmanager
def recall_preview(app: App, session: int | None, words: str) -> Iterator[int]:
    """The number of the message that would ask this, with what is recalled for it; nothing of it is kept."""
    with _before_asking(app, app.db, session, [Part(words, "typed")], "ask", partial(_recall, app, None)) as asked:
        yield asked[1]


@contextmanager
def _before_asking(
    app: App, db: Database, session: int | None, parts: Sequence[Part], kind: str, recall: model_context.Recall | None
) -> Iterator[tuple[ToolContext, int]]:
    context = tool_context(app, db, 0)
    words = "".join(part.text for part in parts) if recall else ""
    if words and context.embedder:  # not in the transaction: a server may take its time, and others wait to write
        embedder = prompt_recall.EmbedOnce(context.embedder)
        embedder.embed_query(words)
        context = replace(context, embedder=embedder)
    with suppress(_Undo), db.write():
        number = sessions.start(db, app.scope, app.time(), kind) if session is None else session
        context = replace(context, session=number)
        loop.prepare_session(context)
        message = log.add_user_message(db, number, app.scope, parts, app.time()) if parts else 0
        if recall and words:
            recall(context, message, words)
        yield context, message
        raise _Undo


def tool_context(app: App, db: Database, session: int) -> ToolContext:
    settings, memory = app.config, app.open_memory()
    folders = tuple(Path(folder).expanduser().resolve() for folder in settings.folders)
    return ToolContext(
        db,
        session,
        app.scope,
        app.time,
        app.embedders.query_embedder(memory or db, choose=False) if app.reads else None,
        memory,
        app.reads,
        app.keeps,
        app.may_learn,
        settings.carry == "everywhere",
        app.profile_tokens,
        app.recall_tokens,
        access=Access(folders, settings.feeds, settings.feeds_private),
        fact_half_life=app.fact_half_life,
        single_valued=app.memory.single_valued,
    )


def _recall(app: App, parent: int | None, context: ToolContext, message: int, words: str) -> None:
    """Recall memories for a message that the model does not see already."""
    if not context.memory:
        index.refresh(context.db)
    session = parent or context.session
    shown_sessions = dict.fromkeys((session, context.session))
    seen = [each for number in shown_sessions for each in model_context.visible(context.db, number, app.window)]
    damaged = prompt_recall.recall_for_message(context, message, words, seen, profile.shown(context, session).facts)
    if not context.memory:
        upkeep.report_damage(app, context.db, damaged)
