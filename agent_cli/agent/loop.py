"""A turn: the model replies, its tool calls run, and so on until it calls none. The only loop there is.

The REPL, `ask`, jobs and tests all consume this iterator. Closing it, or an error on the way, leaves what has arrived
in the log, marked as cut.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from agent_cli.agent import carry_over, citations, estimate, model_context, prompt
from agent_cli.agent.draft import Draft
from agent_cli.agent.events import (
    Asked,
    Event,
    Noticed,
    TextArrived,
    TextWasThinking,
    ThinkingArrived,
    ToolFinished,
    ToolStarted,
    TurnEnded,
)
from agent_cli.agent.policy import policy
from agent_cli.agent.policy.guard import Limits, reason_to_stop
from agent_cli.errors import AgentError, Cancelled, ModelFailed
from agent_cli.llm.model import Cancel, ChatModel, Done, Notice, PriorTextWasThinking, Text, Thinking
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import rewind
from agent_cli.messages import Message, Part, ToolCall, ToolResult
from agent_cli.store import events, ids
from agent_cli.tools import tool as tools
from agent_cli.tools.tool import Tool, ToolContext
from agent_cli.values import frozen


@frozen
class Agent:
    model: ChatModel
    tools: Mapping[str, Tool]
    approve: policy.Approve
    num_ctx: int = 8192
    rules: Mapping[str, policy.Ruling] = field(default_factory=dict)
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # per million tokens in and out
    limits: Limits = Limits()
    window: model_context.Window = model_context.Window()
    think: bool | str | None = None
    instructions: str = prompt.SYSTEM
    recollect: Callable[[ToolContext, int, str], None] | None = None  # puts memory beside a question
    beside: model_context.Thread | None = None  # what is asked on the side, has this conversation before it


def run_turn(
    hire: Callable[[], Agent],
    here: ToolContext,
    parts: Sequence[Part],
    cancel: Cancel | None = None,
    instead: int | None = None,
) -> Generator[Event, None, None]:
    """Run one turn. Each message is committed before it is sent or given out; raises AgentError.

    `hire` finds the model, which may fail, when the person's words are already safe. `instead`: of this message and all
    after it, which are taken back.
    """
    cancel = Cancel() if cancel is None else cancel
    begin(here)
    if instead is None:
        asked = log.add_user_message(here.db, here.session, here.scope, parts, here.time())
    else:
        asked = rewind.replace(here.db, here.session, here.scope, parts, instead, here.time)
    yield Asked(ids.handle("message", asked))
    agent = hire()
    if agent.recollect:
        agent.recollect(here, asked, "".join(part.text for part in parts))
    made: list[ToolCall] = []
    stop = ""
    for _ in range(agent.limits.rounds):
        reply, done = yield from _answer(agent, here, cancel)
        if not reply.calls:
            yield _ended(reply, done)
            return
        for call in reply.calls:
            made.append(call)
            stop = stop or reason_to_stop(made, agent.limits)
            yield from _run(agent, here, call, stop, cancel)
        if stop:
            break
    stop = stop or f"{agent.limits.rounds} rounds of tool calls were made"
    yield from _last_words(agent, here, cancel, stop)


def begin(here: ToolContext) -> None:
    """Make the session fit to go on: close what a crash left open, and fix what it is told of earlier ones."""
    session = sessions.get(here.db, here.session, here.scope.owner)
    rewind.heal(here.db, here.session, here.scope, here.time)
    if session.opening is None and here.reads:
        with here.db.write():  # read in it too: what is forgotten meanwhile must not be written down once more
            told, _ = carry_over.compose(here.remembered, here.scope, None if here.memory else here.session)
            sessions.set_opening(here.db, here.session, told.text)


def offered(agent: Agent, here: ToolContext) -> list[dict[str, Any]]:
    """The tools the model is told of: the same all through a session, but for the first skill there ever is."""
    return [tool.schema() for tool in agent.tools.values() if tool.offered(here)]


def request(agent: Agent, here: ToolContext, extra: Message | None = None) -> model_context.Context:
    """The next request, as the model would get it."""
    session = sessions.get(here.db, here.session, here.scope.owner)
    schemas = offered(agent, here)
    factor = estimate.factor(here.db, agent.model.name)
    return model_context.build(
        here.db,
        session,
        agent.num_ctx,
        schemas,
        agent.window,
        agent.instructions,
        here.time(),
        extra,
        factor,
        reads=here.reads,
        beside=agent.beside,
    )


def _answer(agent: Agent, here: ToolContext, cancel: Cancel) -> Generator[Event, None, tuple[Message, Done]]:
    """One reply with words or calls; an empty one is asked for once more, without thinking. Raises ModelFailed."""
    reply, done = yield from _reply(agent, here, cancel, agent.think)
    if reply.text.strip() or reply.calls:
        return reply, done
    yield Noticed("the model answered nothing; asked again without thinking")
    unlogged = None if reply.text or reply.thinking else done
    reply, done = yield from _reply(agent, here, cancel, False, Message("user", after=prompt.EMPTY), unlogged)
    if reply.text.strip() or reply.calls:
        return reply, done
    why = "it used up its tokens thinking" if done.finish == "length" else "even when asked again"
    raise ModelFailed(
        f"{agent.model.name} gave an empty answer, {why}; ask in other words, or try another model with -m"
    )


def _reply(
    agent: Agent,
    here: ToolContext,
    cancel: Cancel,
    think: bool | str | None,
    extra: Message | None = None,
    unlogged: Done | None = None,
) -> Generator[Event, None, tuple[Message, Done]]:
    """Stream one reply into the log. `unlogged`: the end of a request before it that left no reply: it counts."""
    shown = request(agent, here, extra)
    schemas = offered(agent, here)
    draft, done = Draft(here, agent.model.name), Done("interrupted")
    cited = citations.Citations(citations.handles(message.content for message in shown.messages[1:]))
    try:
        for chunk in agent.model.reply(shown.messages, schemas, think=think, cancel=cancel):
            match chunk:
                case Text(text):
                    yield from draft.receive(TextArrived(cited.feed(text)))
                case Thinking(text):
                    yield from draft.receive(ThinkingArrived(text))
                case PriorTextWasThinking():
                    yield from draft.receive(TextArrived(cited.end()))
                    yield from draft.receive(TextWasThinking())
                case Notice(text):
                    yield Noticed(text)
                case ToolCall():
                    draft.calls.append(chunk)
                case Done():
                    done = chunk
        yield from draft.receive(TextArrived(cited.end()))
        yield from draft.flush()
    except BaseException as error:
        cut = isinstance(error, (Cancelled, GeneratorExit, KeyboardInterrupt, SystemExit))
        draft.buffer(TextArrived(cited.end()))
        draft.calls.clear()  # a call in a reply that broke off was never meant to run
        draft.close("cancelled" if cut else "interrupted", log.Usage())
        if isinstance(error, AgentError):
            yield from draft.flush()  # it is on disk: show what the error cut off
        raise
    reply = draft.close(done.finish, _usage(agent, done, unlogged))
    estimate.learn(here.db, agent.model.name, sum(shown.sizes.values()), done.tokens_in)
    return reply, done


def _run(agent: Agent, here: ToolContext, call: ToolCall, stop: str, cancel: Cancel) -> Iterator[Event]:
    """Answer one call, whatever comes: run it, or log why it was not."""
    yield ToolStarted(call)
    result = ToolResult(f"not run: {stop}", failed=True) if stop else _permitted(agent, here, call, cancel)
    if result is None:
        yield Noticed(policy.unasked(call))
        result = ToolResult("refused: nobody can be asked here", failed=True)
    if isinstance(result, Tool):
        able = replace(here, access=replace(here.access, is_denied=policy.barred(agent.rules)))
        result = tools.run(result, call, able, agent.limits.seconds, cancel.on_cancel)
    log.add_tool_result(here.db, here.session, here.scope, call, result, here.time())
    yield ToolFinished(call, result)
    cancel.check()


def _permitted(agent: Agent, here: ToolContext, call: ToolCall, cancel: Cancel) -> Tool | ToolResult | None:
    """The tool, when it may run, else what the model is told; None where a yes is needed and nobody can give it."""
    tool = agent.tools.get(call.name)
    if tool is None:
        there = ", ".join(each["name"] for each in offered(agent, here))
        return ToolResult(f"there is no tool {call.name!r}; there are {there}", failed=True)
    ruled = tools.resolve_arguments(tool, call, here)
    if isinstance(ruled, ToolResult):
        return ruled
    decision = policy.rule(tool, agent.rules, call.arguments, ruled)
    differing = {name: value for name, value in ruled.items() if value != call.arguments.get(name, value)}
    answer = agent.approve(replace(call, resolved=differing)) if decision.ruling == "ask" else None
    cancel.check()  # a turn that ends while it asks was answered by nobody
    allowed = decision.ruling == "allow" or bool(answer)
    actor = "program" if answer is None else "person"
    kind = f"call {'allowed' if allowed else 'refused'}"
    if answer is None and decision.by == "rule":
        kind += " by rule"
    events.append(here.db, here.time, kind, call.name, actor=actor, session=here.session, content=str(call.arguments))
    if allowed:
        return tool
    if decision.ruling == "ask" and answer is None:
        return None
    return ToolResult("refused: the person did not allow this call", failed=True)


def _last_words(agent: Agent, here: ToolContext, cancel: Cancel, stop: str) -> Iterator[Event]:
    """One more request, for words. The tools stay in it so that the prompt's beginning does not change."""
    extra = Message("user", after=prompt.ENOUGH.format(reason=stop.capitalize()))
    reply, done = yield from _reply(agent, here, cancel, agent.think, extra)
    for call in reply.calls:
        yield from _run(agent, here, call, stop, cancel)
    if not reply.text.strip() or reply.calls:
        sentence = f"I stopped here: {stop}, and no answer came of it."
        draft = Draft(here, "")
        yield from draft.receive(TextArrived(sentence))
        yield from draft.flush()
        reply = draft.close("refused", log.Usage())
    yield _ended(reply, done, stop)


def _ended(reply: Message, done: Done, stop: str = "") -> TurnEnded:
    return TurnEnded(reply, done.finish, done.model, stop)


def _usage(agent: Agent, done: Done, unlogged: Done | None = None) -> log.Usage:
    """What a reply took, with what the request before it took where that left nothing in the log."""
    price_in, price_out = agent.prices.get(done.model, (0.0, 0.0))
    tokens_in = done.tokens_in + (unlogged.tokens_in if unlogged else 0)
    tokens_out = done.tokens_out + (unlogged.tokens_out if unlogged else 0)
    return log.Usage(done.model, tokens_in, tokens_out, (tokens_in * price_in + tokens_out * price_out) / 1e6)
