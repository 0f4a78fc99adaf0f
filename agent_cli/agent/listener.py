"""What the program itself does with a turn: answers what it is asked to remember or to forget, points out a model's
empty promise to save something, reports contradictions with known facts, and queues the jobs that learn.

It uses no model, and answers before one is asked; each sentence gets exactly one line. A statement typed at the prompt
is kept; any other waits for the person's review. Nothing is forgotten here: the line names the command that forgets.
"""

from collections.abc import Generator
from contextlib import closing
from datetime import timedelta
from typing import Any

from agent_cli import text
from agent_cli.agent import loop
from agent_cli.agent.events import Event, Noticed, QuestionLogged, ToolFinished, TurnEnded
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import capture, sessions
from agent_cli.memory.facts import adoption, contradictions, facts
from agent_cli.memory.language import secrets, statements, terms
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Message, Receipt, Request, joined
from agent_cli.store import ids, jobs
from agent_cli.tools.tool import ToolContext

INCOGNITO_NOTICE = "nothing of this is kept: the conversation is incognito"
LEARN = "learn"  # kind of the job that reads a conversation for facts
REFLECT = "reflect"  # kind of the job that reads a conversation for skills
REFLECT_DELAY = timedelta(minutes=1)  # without a message, before that job runs
MAX_SHOWN = 200  # characters of a statement that was not typed: what is longer cannot be agreed to unseen
MAX_LINES = 8
_GIVEN = {"pasted": "came all at once, like a paste", "piped": "came through a pipe", "file": "stands in a file"}


def listen(make_agent: loop.MakeAgent, question: loop.Question) -> Generator[Event, None, None]:
    """The events of a turn, with notices about memory among them."""
    answered, message, context = False, 0, question.context  # whether the person has read what is saved
    with closing(loop.run_turn(make_agent, question)) as events:
        for event in events:
            yield event
            match event:
                case QuestionLogged(handle):
                    message = ids.number("message", handle)
                    for line in answer_requests(question, message):
                        answered = True
                        yield Noticed(line, receipt=True)
                    if answered and question.at_keyboard and context.keeps and capture.only_asks(question.parts):
                        yield TurnEnded(Message("assistant"))  # a model would only say so in other words
                        return
                case ToolFinished(_, result):
                    answered = answered or bool(result.receipt and not result.failed)
                case TurnEnded(reply):
                    claim = "" if answered else statements.claim(reply.text)
                    if claim or (not answered and capture.seems_to_remind(question.parts)):
                        yield Noticed(_hint(claim or "reminder", question))
                    if context.keeps and context.reads:
                        memory = MemoryContext(context.db, context.scope, context.time, context.single_valued)
                        for each in contradictions.of_message(memory, context.session, message, question.parts):
                            yield Noticed(each.message(at_keyboard=question.at_keyboard))
                    if context.learns and event.model not in ("", "offline"):
                        session, now = ids.handle("session", context.session), context.time()
                        jobs.add(context.db, LEARN, session, now)
                        if sessions.get(context.db, context.session, context.scope.owner).kind == "chat":
                            jobs.add(context.db, REFLECT, session, now, now + REFLECT_DELAY)


def _hint(claim: str, question: loop.Question) -> str:
    """The notice after a reply that claims what did not happen in this turn. `claim`: see statements.claim."""
    agent = "/" if question.at_keyboard else "agent "
    if claim == "forgotten":
        return f"nothing was forgotten in this turn: {agent}forget WORDS shows what it would erase, and asks"
    if not question.context.keeps:
        return INCOGNITO_NOTICE
    if claim == "reminder":
        return f"no reminder was set in this turn: {agent}remind WHAT WHEN sets one"
    if question.at_keyboard:
        return "nothing was saved in this turn: /remember saves your last message, /remember WORDS saves these words"
    return 'nothing was saved in this turn: agent facts add "…" keeps what you write there'


def answer_requests(question: loop.Question, message: int) -> list[str]:
    """Save or propose each statement that the message asks to remember; a line for each sentence that asks."""
    asked = capture.requests(question.parts)
    requests = [each for each in asked if each.kind != "reminder" or question.at_keyboard]  # `agent remind` elsewhere
    if not (requests and question.context.keeps):
        return [INCOGNITO_NOTICE] if requests else []
    lines = [_answer(question, message, each) for each in requests[:MAX_LINES]]
    more = len(requests) - len(lines)
    counted = f"{more} more sentence{'s ask' if more > 1 else ' asks'} to be remembered, and nothing of them was kept"
    return [*lines, counted] if more else lines


def _answer(question: loop.Question, message: int, request: capture.MemoryRequest) -> str:
    words, agent = request.statement, "/" if question.at_keyboard else "agent "
    add_fact = "/remember" if question.at_keyboard else "agent facts add"
    short = text.one_line(words, 60)
    match request.kind:
        case "statement" | "wish":
            return _keep(question, message, request)
        case "given":
            seen, adding = text.one_line(words, MAX_SHOWN), add_fact if question.at_keyboard else f'{add_fact} "…"'
            return f"not kept, because it {_GIVEN[request.trust]}: “{seen}”; {adding} keeps it"
        case "forget":
            return _point_to_forget(question.context, words, f"{agent}forget")
        case "to do":
            return f"“{short}” is something to do, not a fact: {agent}remind {short} makes it a task"
        case "reminder":
            return _remind(question.context, message, words)
        case "too long":
            adding = "/note" if question.at_keyboard else "agent notes add"
            return f"nothing was kept: “{short}” is too long for a fact; {adding} keeps a long text"
    of = f" of “{short}”" if words else ""
    return f"nothing was kept{of}: write a statement, as in {add_fact} I live in Graz"


def _keep(question: loop.Question, message: int, request: capture.MemoryRequest) -> str:
    """Keep what was typed at the prompt, and propose all else; a wish may be meant for this conversation alone."""
    context = question.context
    memory = MemoryContext(context.db, context.scope, context.time, context.single_valued).in_one_batch()
    typed = request.kind == "statement" and question.at_keyboard and request.trust == "typed"
    place = context.scope.place if request.this_place else ""

    details: dict[str, Any] = {"quote": request.quote, "message": message, "place": place}
    claims = adoption.claims(request.statement, request.trust, context.time(), **details)
    with context.db.write():
        if typed:
            added = [adoption.add(memory, each) for each in claims]
            lines = [adoption.receipt(memory, each, at_prompt=True) for each in added]
        else:
            review = "/review" if question.at_keyboard else "agent facts review"
            waiting, lines = adoption.propose_each(memory, claims, actor="person")
            lines = [*(Request(f"{facts.pending_receipt(each)} ({review})") for each in waiting), *lines]
    if secrets.spans(request.statement):
        handle, command = ids.handle("message", message), "/forget" if question.at_keyboard else "agent forget"
        lines.append(f"the secret is in {handle} alone: {command} {handle} erases it, and what was made of it")
    return joined([*dict.fromkeys(lines)], "; ")


def _remind(context: ToolContext, message: int, words: str) -> str:
    from agent_cli.memory.dates import due_times, moments  # most turns set no reminder
    from agent_cli.memory.planner import tasks

    now = context.time()
    try:
        what, when = due_times.find(words, now, moments.local_zone())
        if same := tasks.same(context.db, context.scope.owner, what, when):
            return f"it is kept already: {tasks.receipt(same, now)}"
        task = tasks.add(context.db, context.scope, what, when, context.time, session=context.session, message=message)
    except UsageError as error:
        return f"no reminder was set: {error}"
    return Receipt(f"kept {tasks.receipt(task, now)} (/tasks rm {task.handle} takes it back)")


def _point_to_forget(context: ToolContext, words: str, command: str) -> str:
    """The line that names the command: for the fact that says the same, else for the topic."""
    if context.reads:
        owner, db, triple = context.scope.owner, context.remembered, adoption.claim(words, "typed").triple
        similar = facts.same(db, owner, words) + facts.with_triple(db, owner, triple)
        if known := next((each for each in similar if each.is_open(context.time())), None):
            return f"nothing was forgotten yet: {command} {known.handle} erases “{facts.name(known)}”, and asks first"
    topic = " ".join(terms.content_words(words)) or "WORDS"
    return f"nothing was forgotten yet: {command} {topic} shows what it would erase, and asks"
