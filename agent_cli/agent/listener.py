"""What the program itself does with a turn: answers what it is asked to remember or to forget, points out a model's
empty promise to save something, reports contradictions with known facts, and queues the jobs that learn.

It wraps the events of the loop, at the prompt and in `ask` alike, and uses no model. What is asked is answered before
the model is asked, and also when none answers; each such sentence gets exactly one line. A statement typed at the
prompt is kept; any other waits for the person's review. Nothing is forgotten here: the line names the command that
forgets.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import timedelta

from agent_cli import text
from agent_cli.agent.events import Event, Noticed, QuestionLogged, ToolFinished, TurnEnded
from agent_cli.memory.conversations import capture, sessions
from agent_cli.memory.conversations.capture import CaptureOptions, MemoryRequest
from agent_cli.memory.dates import spans
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import statements, terms
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Message, Part, Request, joined
from agent_cli.store import ids, jobs
from agent_cli.tools.tool import ToolContext

INCOGNITO_NOTICE = "nothing of this is kept: the conversation is incognito"
LEARN = "learn"  # kind of the job that reads a conversation for facts
REFLECT = "reflect"  # kind of the job that reads a conversation for skills
REFLECT_DELAY = timedelta(minutes=1)  # without a message, before that job runs
MAX_SHOWN = 200  # characters of a statement that was not typed: what is longer cannot be agreed to unseen
MAX_LINES = 8
_GIVEN = {"pasted": "was pasted", "piped": "came through a pipe", "file": "stands in a file"}


def listen(
    turn: Generator[Event, None, None], context: ToolContext, parts: Sequence[Part], options: CaptureOptions
) -> Generator[Event, None, None]:
    """The events of a turn, with notices about memory among them."""
    answered, message = False, 0  # whether the person has read what is saved
    with closing(turn):
        for event in turn:
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
                    if options.keeps and context.reads:
                        yield from _contradictions(context, message, parts, options)
                    if options.learns and event.model not in ("", "offline"):
                        _queue_learning(context)


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


def _contradictions(
    context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions
) -> Generator[Event, None, None]:
    """Where the message contradicts known facts."""
    from agent_cli.memory.facts import adoption  # after the reply, so that no question waits for it

    memory = MemoryContext(context.db, context.scope, context.time, options.single_valued)
    for each in adoption.contradictions(memory, context.session, message, parts):
        yield Noticed(each.message(at_keyboard=options.at_keyboard))


def _queue_learning(context: ToolContext) -> None:
    """Queue the jobs that read the session for facts and, unless it is a single question, for skills."""
    session, now = ids.handle("session", context.session), context.time()
    jobs.add(context.db, LEARN, session, now)
    if sessions.get(context.db, context.session, context.scope.owner).kind == "chat":
        jobs.add(context.db, REFLECT, session, now, now + REFLECT_DELAY)


def answer_requests(context: ToolContext, message: int, parts: Sequence[Part], options: CaptureOptions) -> list[str]:
    """Save or propose each statement that the message asks to remember; a line for each sentence that asks."""
    requests = capture.requests(parts)
    if not (requests and options.keeps):
        return [INCOGNITO_NOTICE] if requests else []
    lines = [_answer(context, message, each, options) for each in requests[:MAX_LINES]]
    more = len(requests) - len(lines)
    counted = f"{more} more sentence{'s ask' if more > 1 else ' asks'} to be remembered, and nothing of them was kept"
    return [*lines, counted] if more else lines


def _answer(context: ToolContext, message: int, request: MemoryRequest, options: CaptureOptions) -> str:
    words, keyboard = request.statement, options.at_keyboard
    shown = f"“{text.one_line(words, 60)}”"
    match request.kind:
        case "statement" | "wish":
            return _keep(context, message, request, options)
        case "given":
            command = "/remember" if keyboard else 'agent facts add "…"'
            seen = text.one_line(words, MAX_SHOWN)
            return f"not kept, because it {_GIVEN[request.trust]}: “{seen}”; {command} keeps it"
        case "forget":
            return _point_to_forget(context, words, "/forget" if keyboard else "agent forget")
        case "to do":
            command = "/remind" if keyboard else "agent remind"
            return f"{shown} is something to do, not a fact: {command} {text.one_line(words, 60)} makes it a task"
        case "too long":
            command = "/note" if keyboard else "agent notes add"
            return f"nothing was kept: {shown} is too long for a fact; {command} keeps a long text"
        case _:
            command = "/remember" if keyboard else "agent facts add"
            of = f" of {shown}" if words else ""
            return f"nothing was kept{of}: write a statement, as in {command} I live in Graz"


def _keep(context: ToolContext, message: int, request: MemoryRequest, options: CaptureOptions) -> str:
    place = context.scope.place if request.this_place else ""
    claims = [
        adoption.claim(
            spans.resolve(clause, context.time()),
            request.trust,
            quote=request.quote,
            message=message,
            place=place,
        )
        for clause in adoption.separate(request.statement)
    ]
    asked = request.kind == "statement"  # a wish may be meant for this conversation alone
    typed = asked and options.at_keyboard and request.trust == "typed"
    memory = MemoryContext(context.db, context.scope, context.time, options.single_valued).in_one_batch()
    with context.db.write():
        keep = _adopt if typed else _propose
        return joined([*dict.fromkeys(keep(memory, each, options) for each in claims)], "; ")


def _adopt(memory: MemoryContext, claim: Claim, options: CaptureOptions) -> str:
    adopted = adoption.add(memory, claim)
    return adoption.receipt(adopted, memory.time(), at_prompt=options.at_keyboard)


def _propose(memory: MemoryContext, claim: Claim, options: CaptureOptions) -> str:
    fact = adoption.propose(memory, claim, actor="person")
    if fact is None:
        return adoption.not_proposed(memory.db, memory.scope.owner, claim.statement)
    return Request(f"{adoption.pending_receipt(fact)} ({'/review' if options.at_keyboard else 'agent facts review'})")


def _point_to_forget(context: ToolContext, words: str, command: str) -> str:
    if context.reads and (known := _known(context, words)):
        return f"nothing was forgotten yet: {command} {known.handle} erases “{facts.name(known)}”, and asks first"
    topic = " ".join(terms.content_words(words)) or "WORDS"
    return f"nothing was forgotten yet: {command} {topic} shows what it would erase, and asks"


def _known(context: ToolContext, statement: str) -> Fact | None:
    """The fact that says the same."""
    owner, db, triple = context.scope.owner, context.remembered, adoption.claim(statement, "typed").triple
    similar = facts.same(db, owner, statement) + adoption.with_triple(db, owner, triple)
    return next((each for each in similar if each.is_open(context.time())), None)
