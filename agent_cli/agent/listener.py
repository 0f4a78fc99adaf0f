"""What the program itself does with a turn: answers what it is asked to remember or to forget (see `memory_requests`),
points out a model's empty promise to save something, reports contradictions with known facts, and queues the jobs that
learn from the conversation.

It wraps the events of the loop, at the prompt and in `ask` alike, and uses no model. What is asked is answered before
the model is asked, and also when none answers.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta

from agent_cli.agent.events import Event, Noticed, QuestionLogged, ToolFinished, TurnEnded
from agent_cli.memory.conversations import capture, sessions
from agent_cli.memory.conversations.capture import CaptureOptions
from agent_cli.memory.language import statements
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Message, Part
from agent_cli.store import ids, jobs
from agent_cli.tools.tool import ToolContext

INCOGNITO_NOTICE = "nothing of this is kept: the conversation is incognito"
LEARN = "learn"  # kind of the job that reads a conversation for facts
REFLECT = "reflect"  # kind of the job that reads a conversation for skills
REFLECT_DELAY = timedelta(minutes=1)  # without a message, before that job runs


def listen(
    events: Generator[Event, None, None], context: ToolContext, parts: Sequence[Part], options: CaptureOptions
) -> Generator[Event, None, None]:
    """The events of a turn, with notices about memory among them."""
    answered, message = False, 0  # whether the person has read what is saved
    with closing(events):
        for event in events:
            yield event
            match event:
                case QuestionLogged(handle):
                    message = ids.number("message", handle)
                    for line in answer_requests(context, message, parts, options):
                        answered = True
                        yield Noticed(line, receipt=True)
                    if answered and options.at_keyboard and options.keeps and capture.only_asks(parts):
                        yield TurnEnded(Message("assistant"))  # a model would only say so in other words
                        return
                case ToolFinished(_, result):
                    answered = answered or bool(result.receipt and not result.failed)
                case TurnEnded(reply):
                    if not answered and (claim := statements.claim(reply.text)):
                        yield Noticed(_hint(claim, options))
                    for line in _contradictions(context, message, parts, options):
                        yield Noticed(line)
                    if options.learns and event.model not in ("", "offline"):
                        _queue_learning(context)


def answer_requests(context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions) -> list[str]:
    """A line for each sentence of the message that asks to remember or to forget something."""
    found = capture.requests(parts)
    if not (found and options.keeps):
        return [INCOGNITO_NOTICE] if found else []
    from agent_cli.agent import memory_requests  # what writes facts, which few turns do

    return memory_requests.answer(context, message, found, options)


def _hint(claim: str, options: CaptureOptions) -> str:
    """The notice after a reply that claims what did not happen in this turn. `claim`: see statements.claim."""
    agent = "/" if options.at_keyboard else "agent "
    if claim == "forgotten":
        return f"nothing was forgotten in this turn: {agent}forget WORDS shows what it would erase, and asks"
    if claim == "reminder" and options.keeps:
        return f"no reminder was set in this turn: {agent}remind WHAT WHEN sets one"
    if not options.keeps:
        return INCOGNITO_NOTICE
    if options.at_keyboard:
        return "nothing was saved in this turn: /remember saves your last message, /remember WORDS saves these words"
    return 'nothing was saved in this turn: agent facts add "…" keeps what you write there'


def _contradictions(context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions) -> list[str]:
    """Where the message contradicts known facts; looked for only where they may be read and changed."""
    if not (options.keeps and context.reads):
        return []
    from agent_cli.memory.facts import contradictions  # after the reply, so that no question waits for it

    memory = MemoryContext(context.db, context.scope, context.time, options.single_valued)
    found = contradictions.find(memory, context.session, message, parts)
    return [each.message(at_keyboard=options.at_keyboard) for each in found]


def _queue_learning(context: ToolContext) -> None:
    """Queue the jobs that read the session for facts and, unless it is a single question, for skills."""
    session, now = ids.handle("session", context.session), context.time()
    jobs.add(context.db, LEARN, session, now)
    if sessions.get(context.db, context.session, context.scope.owner).kind == "chat":
        jobs.add(context.db, REFLECT, session, now, now + REFLECT_DELAY)
