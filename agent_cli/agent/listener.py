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
    events: Generator[Event, None, None], here: ToolContext, parts: Sequence[Part], ear: Ear
) -> Generator[Event, None, None]:
    """The events of a turn, and among them what the program has to say of memory."""
    kept, message = False, 0
    with closing(events):
        for event in events:
            yield event
            match event:
                case Asked(handle):
                    message = ids.number("message", handle)
                    for line in hear(here, message, parts, ear):
                        kept = True
                        yield Noticed(line)
                case ToolFinished(_, result):
                    kept = kept or bool(result.receipt and not result.failed)
                case TurnEnded(reply):
                    if not kept and promises.is_promise(reply.text):
                        yield Noticed(ear.offer)
                    for each in _against(here, message, parts, ear):
                        yield Noticed(each.told())
                    if ear.learns and event.model not in ("", "offline"):
                        _queue(here)


def _against(here: ToolContext, message: int, parts: Sequence[Part], ear: Ear) -> list[Contradiction]:
    """What was typed against what is known, where memory counts and the person can answer."""
    if not (ear.at_keyboard and here.reads):
        return []
    return contradictions.find(here.db, here.scope, here.session, message, parts, here.time(), ear.single)


def _queue(here: ToolContext) -> None:
    """Have the turn read for facts, and a conversation for skills; a one-shot is over too soon to teach one."""
    session, now = ids.handle("session", here.session), here.time()
    jobs.add(here.db, LEARN, session, now)
    if sessions.get(here.db, here.session, here.scope.owner).kind == "chat":
        jobs.add(here.db, REFLECT, session, now, now + REST)


def hear(here: ToolContext, message: int, parts: Sequence[Part], ear: Ear) -> list[str]:
    """Keep what the person's words say is to be remembered; gives a receipt for each."""
    if not ear.keeps:
        return [NOT_KEPT] if capture.capture(parts) else []
    lines = []
    for each in capture.capture(parts):
        claim = _claim(here, message, each)
        accepts = ear.at_keyboard and each.trust == "typed"
        lines.append(_accepted(here, claim, ear) if accepts else _waiting(here, claim, ear))
    return lines


def _accepted(here: ToolContext, claim: Claim, ear: Ear) -> str:
    return receipts.kept(adoption.add(here.db, here.scope, claim, here.time, ear.single))


def _waiting(here: ToolContext, claim: Claim, ear: Ear) -> str:
    fact = adoption.propose(here.db, here.scope, claim, here.time, actor="person")
    if fact is None:
        return receipts.known(here.db, here.scope.owner, claim.statement)
    return f"{receipts.waits(fact)} ({'/review' if ear.at_keyboard else 'agent facts review'})"


def _claim(here: ToolContext, message: int, heard: CapturedStatement) -> Claim:
    statement = absolute_dates.resolve(heard.statement, here.time())
    return adoption.claim(statement, heard.trust, quote=heard.quote, message=message)
