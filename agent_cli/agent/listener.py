"""What the program itself does with a turn: saves what it is asked to remember, points out a model's empty promise to
save something, reports contradictions with known facts, and queues the jobs that learn from the conversation.

It wraps the events of the loop, at the prompt and in `ask` alike, and uses no model. A statement typed at the prompt is
saved, with a receipt, before the model is asked and also when none answers; any other waits for the person's review.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import field
from datetime import timedelta

from agent_cli.agent.events import Event, Noticed, QuestionLogged, ToolFinished, TurnEnded
from agent_cli.memory.conversations import capture, sessions
from agent_cli.memory.conversations.capture import CapturedStatement
from agent_cli.memory.dates import absolute_dates
from agent_cli.memory.facts import adoption, contradictions, receipts
from agent_cli.memory.facts.contradictions import Contradiction
from agent_cli.memory.language import promises
from agent_cli.memory.language.claims import Claim
from agent_cli.memory.language.predicates import SINGLE_VALUED
from agent_cli.messages import Part
from agent_cli.store import ids, jobs
from agent_cli.tools.tool import ToolContext
from agent_cli.values import frozen

LEARN = "learn"  # kind of the job that reads a conversation for facts
REFLECT = "reflect"  # kind of the job that reads a conversation for skills
REFLECT_DELAY = timedelta(minutes=10)  # without a message, before that job runs
INCOGNITO_NOTICE = "nothing of this is kept: the conversation is incognito"


@frozen
class CaptureOptions:
    """What is captured in a turn."""

    at_keyboard: bool = False  # whether the person typed the message
    learns: bool = False  # whether a job may read the turn for facts and skills
    single_valued: frozenset[str] = field(default=SINGLE_VALUED)  # predicates
    keeps: bool = True  # False: incognito, nothing is saved

    @property
    def save_hint(self) -> str:
        """The notice after a reply that claims to save something when nothing was saved."""
        if not self.keeps:
            return INCOGNITO_NOTICE
        if self.at_keyboard:
            return (
                "nothing was saved in this turn: /remember saves your last message, /remember WORDS saves these words"
            )
        return 'nothing was saved in this turn: agent facts add "…" keeps what you write there'


def listen(
    events: Generator[Event, None, None], context: ToolContext, parts: Sequence[Part], options: CaptureOptions
) -> Generator[Event, None, None]:
    """The events of a turn, with notices about memory among them."""
    saved, message = False, 0
    with closing(events):
        for event in events:
            yield event
            match event:
                case QuestionLogged(handle):
                    message = ids.number("message", handle)
                    for line in capture_statements(context, message, parts, options):
                        saved = True
                        yield Noticed(line)
                case ToolFinished(_, result):
                    saved = saved or bool(result.receipt and not result.failed)
                case TurnEnded(reply):
                    if not saved and promises.is_promise(reply.text):
                        yield Noticed(options.save_hint)
                    for each in _contradictions(context, message, parts, options):
                        yield Noticed(each.message())
                    if options.learns and event.model not in ("", "offline"):
                        _queue_learning(context)


def _contradictions(
    context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions
) -> list[Contradiction]:
    """Where the message contradicts known facts; looked for only where the person can answer."""
    if not (options.at_keyboard and context.reads):
        return []
    return contradictions.find(
        context.db, context.scope, context.session, message, parts, context.time(), options.single_valued
    )


def _queue_learning(context: ToolContext) -> None:
    """Queue the jobs that read the session for facts and, unless it is a single question, for skills."""
    session, now = ids.handle("session", context.session), context.time()
    jobs.add(context.db, LEARN, session, now)
    if sessions.get(context.db, context.session, context.scope.owner).kind == "chat":
        jobs.add(context.db, REFLECT, session, now, now + REFLECT_DELAY)


def capture_statements(context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions) -> list[str]:
    """Save or propose each statement that the message asks to remember; returns a receipt for each."""
    if not options.keeps:
        return [INCOGNITO_NOTICE] if capture.capture(parts) else []
    receipt_lines = []
    for each in capture.capture(parts):
        claim = _claim(context, message, each)
        accepts = options.at_keyboard and each.trust == "typed"
        receipt_lines.append(_accept(context, claim, options) if accepts else _propose(context, claim, options))
    return receipt_lines


def _accept(context: ToolContext, claim: Claim, options: CaptureOptions) -> str:
    adopted = adoption.add(context.db, context.scope, claim, context.time, options.single_valued)
    return receipts.accepted(adopted, context.time())


def _propose(context: ToolContext, claim: Claim, options: CaptureOptions) -> str:
    fact = adoption.propose(context.db, context.scope, claim, context.time, actor="person")
    if fact is None:
        return receipts.not_proposed(context.db, context.scope.owner, claim.statement)
    return f"{receipts.pending(fact)} ({'/review' if options.at_keyboard else 'agent facts review'})"


def _claim(context: ToolContext, message: int, captured: CapturedStatement) -> Claim:
    statement = absolute_dates.resolve(captured.statement, context.time())
    return adoption.claim(statement, captured.trust, quote=captured.quote, message=message)
