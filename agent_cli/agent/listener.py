"""What the program itself hears in a turn: words to remember, a promise that nothing keeps, something to learn from.

It stands around the loop's events, in the session and in `ask` alike. What was typed at the prompt is accepted, with a
receipt, before the model is asked and also when none answers; all else waits for a yes. No model has a part in it.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import field
from datetime import timedelta

from agent_cli.agent.events import Asked, Event, Noticed, ToolFinished, TurnEnded
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

LEARN = "learn"  # the job that reads what was said
REFLECT = "reflect"  # and the one that looks back on a session, when it has rested
REST = timedelta(minutes=10)
NOT_KEPT = "nothing of this is kept: the conversation is incognito"


@frozen
class Ear:
    """How a turn is listened to."""

    at_keyboard: bool = False  # whether what was typed came from the person's own keys
    learns: bool = False  # whether a job is to read the turn
    single: frozenset[str] = field(default=SINGLE_VALUED)
    keeps: bool = True  # whether anything is kept at all

    @property
    def offer(self) -> str:
        """How to keep what a reply only promised to keep."""
        if not self.keeps:
            return NOT_KEPT
        if self.at_keyboard:
            return "nothing was saved in this turn: /remember keeps your last words, /remember WORDS others"
        return 'nothing was saved in this turn: agent facts add "…" keeps what you write there'


def listen(
    events: Generator[Event, None, None], context: ToolContext, parts: Sequence[Part], options: Ear
) -> Generator[Event, None, None]:
    """The events of a turn, and among them what the program has to say of memory."""
    saved, message = False, 0
    with closing(events):
        for event in events:
            yield event
            match event:
                case Asked(handle):
                    message = ids.number("message", handle)
                    for line in hear(context, message, parts, options):
                        saved = True
                        yield Noticed(line)
                case ToolFinished(_, result):
                    saved = saved or bool(result.receipt and not result.failed)
                case TurnEnded(reply):
                    if not saved and promises.is_promise(reply.text):
                        yield Noticed(options.offer)
                    for each in _against(context, message, parts, options):
                        yield Noticed(each.told())
                    if options.learns and event.model not in ("", "offline"):
                        _queue(context)


def _against(context: ToolContext, message: int, parts: Sequence[Part], options: Ear) -> list[Contradiction]:
    """What was typed against what is known, where memory counts and the person can answer."""
    if not (options.at_keyboard and context.reads):
        return []
    return contradictions.find(
        context.db, context.scope, context.session, message, parts, context.time(), options.single
    )


def _queue(context: ToolContext) -> None:
    """Have the turn read for facts, and a conversation for skills; a one-shot is over too soon to teach one."""
    session, now = ids.handle("session", context.session), context.time()
    jobs.add(context.db, LEARN, session, now)
    if sessions.get(context.db, context.session, context.scope.owner).kind == "chat":
        jobs.add(context.db, REFLECT, session, now, now + REST)


def hear(context: ToolContext, message: int, parts: Sequence[Part], options: Ear) -> list[str]:
    """Keep what the person's words say is to be remembered; gives a receipt for each."""
    if not options.keeps:
        return [NOT_KEPT] if capture.capture(parts) else []
    receipt_lines = []
    for each in capture.capture(parts):
        claim = _claim(context, message, each)
        accepts = options.at_keyboard and each.trust == "typed"
        receipt_lines.append(_accepted(context, claim, options) if accepts else _waiting(context, claim, options))
    return receipt_lines


def _accepted(context: ToolContext, claim: Claim, options: Ear) -> str:
    return receipts.kept(adoption.add(context.db, context.scope, claim, context.time, options.single))


def _waiting(context: ToolContext, claim: Claim, options: Ear) -> str:
    fact = adoption.propose(context.db, context.scope, claim, context.time, actor="person")
    if fact is None:
        return receipts.known(context.db, context.scope.owner, claim.statement)
    return f"{receipts.waits(fact)} ({'/review' if options.at_keyboard else 'agent facts review'})"


def _claim(context: ToolContext, message: int, captured: CapturedStatement) -> Claim:
    statement = absolute_dates.resolve(captured.statement, context.time())
    return adoption.claim(statement, captured.trust, quote=captured.quote, message=message)
