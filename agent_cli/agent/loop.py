"""The agent loop, one turn: the model replies, its tool calls run, and so on until a reply calls no tool.

When the iterator is closed or an error ends it, the text that has arrived stays in the log, marked as incomplete.

Every word of a reply is on disk before it is shown. At most a twentieth of the time goes into writing: after a commit
text is buffered for twenty times as long as it took, and never for longer than a second. Time in which nothing was
written is made up for: words that come together before a pause are shown before it.

A model cites memory by handle, as in [f12], and only what it was shown: invented citations are left out. Text that may
become a citation is held back until that is decided. A bracket in code, or right after a name or another bracket, is an
index; one before a parenthesis is a link. In scripts without spaces a citation needs no space before it.
"""

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace

from agent_cli import kinds
from agent_cli.agent import carry_over, model_context, policy, profile
from agent_cli.agent.events import Event, Noticed, QuestionLogged, ToolFinished, ToolStarted, TurnEnded
from agent_cli.agent.model_context import Agent
from agent_cli.errors import AgentError, Cancelled, ModelFailed
from agent_cli.llm import repair
from agent_cli.llm.model import Cancel, Done, Notice, PriorTextWasThinking, Text, Thinking
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.messages import Message, Part, ToolCall, ToolResult
from agent_cli.store import events, ids
from agent_cli.text import without_fences
from agent_cli.tools import tool as tools
from agent_cli.tools.tool import Tool, ToolContext
from agent_cli.values import frozen

# Why a turn was ended.
REPEATED = "the model repeated itself"
CUT_OFF = "the answer reached its limit of tokens (settings answer_tokens and num_ctx)"
STOPPED = "stopped"  # the finish of the last reply of a turn that the guard ended
FINAL_ANSWER = "⟦ {reason}. Answer now in words, with what you have; no further call will run. ⟧"
EMPTY_ANSWER = "⟦ Your answer was empty. Answer the person in words. ⟧"

_WRITE_RATIO = 20  # time between two commits for each unit of time that a commit takes
_LONGEST_DELAY = 1.0  # seconds between two commits
_MOST_SAVED = 5.0  # seconds without a commit that are made up for later
_LETTERS = kinds.letters(kinds.FORGETTABLE)
_HANDLE = re.compile(rf"\b{_LETTERS}\d{{1,9}}\b")
_CITATION = rf"\[{_LETTERS}\d{{1,9}}(?:, ?{_LETTERS}\d{{1,9}}){{0,9}}\]"
_MARK = re.compile(
    rf"(?P<ticks>`+)|(?P<line>\n)|(?P<before> |(?<![A-Za-z0-9_)\]!\\\"']))(?P<cited>(?:{_CITATION})++)(?!\()"
)
_BRACKET = rf"\[(?:{_LETTERS}|[0-9, ]){{0,120}}"
# An end that the next piece may complete.
_OPEN = re.compile(rf"(?:(?<!`)`++|(?:\s|(?<!\]))(?:{_BRACKET}\])*+(?:{_BRACKET})?)\Z")
_FENCE = 3  # backticks that open a block


@frozen
class Question:
    context: ToolContext
    parts: Sequence[Part]
    approve: policy.Approve = policy.no_approver  # called before a tool call that needs approval
    cancel: Cancel = field(default_factory=Cancel)
    at_keyboard: bool = False  # whether the person typed the message
    instructions: str = ""  # additional ones for the model
    parent: int | None = None  # the session in front of a side question
    replaced_message: int | None = None  # the number of a message that, with all later ones, this message replaces
    rounds: int = policy.ROUNDS


MakeAgent = Callable[[], tuple[Agent, str]]
"""Returns what makes the turn, and a notice or an empty text; called, and may fail, once the message is in the log."""


def run_turn(make_agent: MakeAgent, question: Question) -> Generator[Event, None, None]:
    """Run one turn. Each message is committed before it is sent or shown. Raises AgentError."""
    context = question.context
    prepare_session(context)
    if question.replaced_message is None:
        asked = log.add_user_message(context.db, context.session, context.scope, question.parts, context.time())
    else:
        from agent_cli.memory.lifecycle import rewind  # all that is made from messages, which few turns need

        asked = rewind.replace(
            context.db, context.session, context.scope, question.parts, question.replaced_message, context.time
        )
    yield QuestionLogged(ids.handle("message", asked))
    agent, notice = make_agent()
    if notice:
        yield Noticed(notice)
    if agent.recall:
        agent.recall(context, asked, "".join(part.text for part in question.parts))
    yield from _rounds(agent, context, question.cancel)


def resume_turn(agent: Agent, context: ToolContext, calls: Sequence[ToolCall], cancel: Cancel) -> Iterator[Event]:
    """Go on with a turn whose last calls were never decided (see log.undecided_calls). Raises AgentError."""
    log.reopen_calls(context.db, context.session, calls, context.time)
    for call in calls:
        yield from _run_call(agent, context, call, "", cancel)
    yield from _rounds(agent, context, cancel)


def prepare_session(context: ToolContext) -> None:
    """Repair what a crash left incomplete in the session, and compose its opening if it has none."""
    session = sessions.get(context.db, context.session, context.scope.owner)
    closing.recover(context.db, context.session, context.scope, context.time)
    if context.reads and (session.opening is None or session.profile is None):
        start = profile.current(context)
        with context.db.write():  # also while reading: nothing forgotten meanwhile may be written back
            opening, current = session.opening, None if context.memory else context.session
            if opening is None:
                memory, now, everywhere = context.remembered, context.time(), context.everywhere
                opening = carry_over.compose(memory, context.scope, now, current, everywhere=everywhere)[0].text
            sessions.change(context.db, context.session, opening=opening, profile=start)


def _rounds(agent: Agent, context: ToolContext, cancel: Cancel) -> Generator[Event, None, None]:
    """Replies and their calls, until a reply calls no tool or the guard ends the turn."""
    calls: list[ToolCall] = []
    stop = ""
    for _ in range(agent.limits.rounds):
        reply, done = yield from _answer(agent, context, cancel)
        if not reply.calls:
            why = {repair.FINISH: REPEATED, "length": CUT_OFF}.get(done.finish, "")
            yield TurnEnded(reply, done.finish, done.model, why)
            return
        for call in reply.calls:
            calls.append(call)
            stop = stop or policy.reason_to_stop(calls, agent.limits)
            yield from _run_call(agent, context, call, stop, cancel)
        if stop:
            break
    stop = stop or f"{agent.limits.rounds} rounds of tool calls were made"
    # One more request, for text. It includes the tools, so that the beginning of the prompt stays cached.
    extra = Message("user", after=FINAL_ANSWER.format(reason=stop.capitalize()))
    reply, done = yield from _reply(agent, context, cancel, extra, finish=STOPPED)
    for call in reply.calls:
        yield from _run_call(agent, context, call, stop, cancel)
    if not reply.text.strip() or reply.calls:
        draft = Draft(context, "")
        yield from draft.receive(Text(f"I stopped here: {stop}, and no answer came of it."))
        yield from draft.flush()
        done = replace(done, finish="refused")
        reply = draft.close(done.finish, log.Usage())
    yield TurnEnded(reply, done.finish, done.model, stop)


def _answer(agent: Agent, context: ToolContext, cancel: Cancel) -> Generator[Event, None, tuple[Message, Done]]:
    """One reply with text or calls; an empty one is requested once more, without thinking. Raises ModelFailed."""
    reply, done = yield from _reply(agent, context, cancel)
    if not (reply.text.strip() or reply.calls):
        yield Noticed("the model answered nothing; asked again without thinking")
        extra, unlogged = Message("user", after=EMPTY_ANSWER), None if reply.text or reply.thinking else done
        reply, done = yield from _reply(replace(agent, think=False), context, cancel, extra, unlogged)
    if not (reply.text.strip() or reply.calls):
        whys = {"length": "it used up its tokens thinking", repair.FINISH: "it repeated itself while thinking"}
        why = whys.get(done.finish, "even when asked again")
        advice = "ask in other words, or try another model with -m"
        raise ModelFailed(f"{agent.model.name} gave an empty answer, {why}; {advice}")
    return reply, done


def _reply(
    agent: Agent,
    context: ToolContext,
    cancel: Cancel,
    extra: Message | None = None,
    unlogged: Done | None = None,
    finish: str = "stop",
) -> Generator[Event, None, tuple[Message, Done]]:
    """Stream one reply into the log. `unlogged`: the end of an earlier request, whose tokens count."""
    shown = model_context.build(agent, context, extra)
    if agent.wait_until_read:
        agent.wait_until_read(agent.model.name, shown, cancel)
    draft, done = Draft(context, agent.model.name), Done("interrupted")
    citations = Citations(handles(message.content for message in shown.messages[1:]))
    try:
        reply = agent.model.reply(shown.messages, shown.tools, think=agent.think, cancel=cancel)
        for chunk in repair.without_repetition(reply):
            match chunk:
                case Text(text):
                    yield from draft.receive(Text(citations.feed(without_fences(text))))
                case Thinking(text):
                    yield from draft.receive(Thinking(without_fences(text)))
                case PriorTextWasThinking():
                    yield from draft.receive(Text(citations.end()))
                    yield from draft.receive(PriorTextWasThinking())
                case Notice(text):
                    yield Noticed(text)
                case ToolCall():
                    call = tools.meant_call(chunk)
                    if tool := agent.tools.get(call.name):
                        call = replace(call, arguments=repair.coerce_arguments(call.arguments, tool.parameters))
                    draft.calls.append(call)
                case Done():
                    done = chunk
        yield from draft.receive(Text(citations.end()))
        yield from draft.flush()
    except BaseException as error:
        cut = isinstance(error, (Cancelled, GeneratorExit, KeyboardInterrupt, SystemExit))
        draft.buffer(Text(citations.end()))
        draft.calls.clear()  # calls of an incomplete reply are not run
        draft.close("cancelled" if cut else "interrupted", log.Usage())
        if isinstance(error, AgentError):
            yield from draft.flush()  # it is on disk, so it is shown
        raise
    done = replace(done, finish=finish) if done.finish == "stop" else done
    price_in, price_out = agent.prices.get(done.model, (0.0, 0.0))
    tokens_in = done.tokens_in + (unlogged.tokens_in if unlogged else 0)
    tokens_out = done.tokens_out + (unlogged.tokens_out if unlogged else 0)
    cost = (tokens_in * price_in + tokens_out * price_out) / 1e6
    message = draft.close(done.finish, log.Usage(done.model, tokens_in, tokens_out, cost))
    model_context.learn_factor(context.db, agent.model.name, sum(shown.sizes.values()), done.tokens_in)
    return message, done


def _run_call(agent: Agent, context: ToolContext, call: ToolCall, stop: str, cancel: Cancel) -> Iterator[Event]:
    """Run one call, or log why it was not run: each call gets a result."""
    yield ToolStarted(call)
    kind, actor, result = _ruling(agent, context, call, stop, cancel)
    name = call.name if call.name in agent.tools else ""  # one that a model made up is text
    content = str(call.arguments) if name else f"{call.name} {call.arguments}"
    events.append(context.db, context.time, kind, name, actor=actor, session=context.session, content=content)
    if result is None:
        yield Noticed(f"the model wanted to call {call.name}; that needs your yes, so it was refused here")
        result = ToolResult("refused: nobody can be asked here", failed=True, refused=True)
    if isinstance(result, Tool):
        access = replace(context.access, is_denied=policy.denied_paths(agent.rules))
        result = tools.run(result, call, replace(context, access=access), agent.limits.seconds, cancel.on_cancel)
    log.add_tool_result(context.db, context.session, context.scope, call, result, context.time())
    yield ToolFinished(call, result)
    cancel.check()


def _ruling(
    agent: Agent, context: ToolContext, call: ToolCall, stop: str, cancel: Cancel
) -> tuple[str, str, Tool | ToolResult | None]:
    """How the decision on a call is recorded, who made it, and the tool or a failed result; None: nobody is asked."""
    if stop:
        return "call stopped", "program", ToolResult(f"not run: {stop}", failed=True)
    tool = agent.tools.get(call.name)
    if tool is None:
        available = ", ".join(each.name for each in agent.offered(context))
        why = f"there is no tool {call.name!r}; there are {available}"
        return "call unknown", "program", ToolResult(why, failed=True)
    resolved = tools.resolve_arguments(tool, call, context)
    if isinstance(resolved, ToolResult):
        return "call invalid", "program", resolved
    ruling, is_rule = policy.decide(tool, agent.rules, call.arguments, resolved)
    asks = ruling == "ask"
    differing = {name: value for name, value in resolved.items() if value != call.arguments.get(name, value)}
    answer = agent.approve(replace(call, resolved=differing)) if asks else None
    cancel.check()  # a turn that was cancelled during the question got no answer
    by_rule = " by rule" if answer is None and is_rule else ""
    actor = "program" if answer is None else "person"
    if ruling == "allow" or answer:
        return f"call allowed{by_rule}", actor, tool
    refused = ToolResult(policy.NOT_ALLOWED if asks else policy.DENIED, failed=True, refused=True)
    return f"call refused{by_rule}", actor, None if asks and answer is None else refused


class Draft:
    """One reply of a model: it is opened in the log with its first piece, and closed when it ends."""

    def __init__(self, context: ToolContext, model: str, now: Callable[[], float] = time.monotonic):
        self._context, self._model, self._now = context, model, now
        self._id: int | None = None
        self._began = self._next = now()
        self._waiting: list[Event] = []
        self.text = self.thinking = ""
        self.calls: list[ToolCall] = []

    def receive(self, event: repair.ParsedChunk) -> Iterator[Event]:
        """Add a piece; gives the events that may be shown now."""
        self.buffer(event)
        if self._now() >= self._next:
            yield from self.flush()

    def buffer(self, event: repair.ParsedChunk) -> None:
        match event:
            case Text(""):
                return
            case Text(text):
                self.text += text
                if self._waiting and isinstance(last := self._waiting[-1], Text):  # they are shown as one
                    self._waiting[-1] = Text(last.text + text)
                    return
            case Thinking(text):
                self.thinking += text
            case PriorTextWasThinking():
                self.thinking, self.text = self.thinking + self.text, ""
        self._waiting.append(event)

    def flush(self) -> Iterator[Event]:
        started = self._now()
        if self._waiting:
            log.update_reply(self._context.db, self._open(), self.text, self.thinking)
        written = self._now()
        earliest = max(self._next, started - _MOST_SAVED) + _WRITE_RATIO * (written - started)
        self._next = min(earliest, written + _LONGEST_DELAY)
        waiting, self._waiting = self._waiting, []
        yield from waiting

    def close(self, finish: str, usage: log.Usage) -> Message:
        """Finish the reply in the log and return it. A reply without text, thinking or calls is not logged."""
        message = Message("assistant", self.text, tuple(self.calls), thinking=self.thinking)
        if self._id is not None or message.text or message.calls:
            took = round(1000 * (self._now() - self._began))
            usage = replace(usage, model=usage.model or self._model, duration_ms=took)
            log.close_reply(self._context.db, self._open(), message, finish, usage, self._context.time())
        return message

    def _open(self) -> int:
        context = self._context
        if self._id is None:
            self._id = log.open_reply(context.db, context.session, context.scope, self._model, context.time())
        return self._id


def handles(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(found for text in texts for found in _HANDLE.findall(text))


class Citations:
    """Filters an answer piece by piece: citations of unknown handles are left out."""

    def __init__(self, known: frozenset[str]):
        self._known = known
        self._held = ""
        self._ticks = 0  # backticks that opened the code that is open; 0: none is
        self._previous_character = "\n"  # the character before the held text

    def feed(self, piece: str) -> str:
        """Add a piece; returns the text that is decided."""
        text = self._held + piece
        tail = _OPEN.search(text)
        self._held = tail[0] if tail else ""
        return self._filter(text[: len(text) - len(self._held)])

    def end(self) -> str:
        held, self._held = self._held, ""
        return self._filter(held)

    def _filter(self, text: str) -> str:
        if not text:
            return ""
        whole = self._previous_character + text  # so that a match sees the character before it
        self._previous_character = text[-1]
        return _MARK.sub(self._replace, whole)[1:]

    def _replace(self, found: re.Match[str]) -> str:
        if not found.start():  # the character before, which was decided with the text that it ended
            return found[0]
        if found["ticks"]:  # code ends with as many as it began with, a block with at least as many
            count = len(found["ticks"])
            if not self._ticks:
                self._ticks = count
            elif count == self._ticks or count > self._ticks >= _FENCE:
                self._ticks = 0
        elif found["line"]:
            self._ticks = self._ticks if self._ticks >= _FENCE else 0
        elif not self._ticks:
            cited = (re.split(r", ?", each) for each in found["cited"][1:-1].split("]["))
            known = [[handle for handle in handles if handle in self._known] for handles in cited]
            shown = "".join(f"[{', '.join(handles)}]" for handles in known if handles)
            return f"{found['before']}{shown}" if shown else ""
        return found[0]
