"""What the program does about a sentence that asks to remember or to forget something, and the line that says so.

It uses no model, and each such sentence gets exactly one line. A statement typed at the prompt is kept; any other waits
for the person's review. Nothing is forgotten here: the line names the command that forgets.
"""

from collections.abc import Sequence

from agent_cli import text
from agent_cli.memory.conversations.capture import CaptureOptions, MemoryRequest
from agent_cli.memory.dates import absolute_dates
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import terms
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Request, joined
from agent_cli.tools.tool import ToolContext

MAX_SHOWN = 200  # characters of a statement that was not typed: what is longer cannot be agreed to unseen
MAX_LINES = 8
_GIVEN = {"pasted": "was pasted", "piped": "came through a pipe", "file": "stands in a file"}


def answer(context: ToolContext, message: int, found: Sequence[MemoryRequest], options: CaptureOptions) -> list[str]:
    """Save or propose each statement that the message asks to remember; a line for each sentence that asks."""
    lines = [_answer(context, message, each, options) for each in found[:MAX_LINES]]
    more = len(found) - len(lines)
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
            return _point_to_forget(context, words, keyboard=keyboard)
        case "to do":
            command = "/remind" if keyboard else "agent remind"
            line = text.one_line(words, 60)
            return f"{shown} is something to do, not a fact: {command} {line} makes it a task"
        case "too long":
            command = "/note" if keyboard else "agent notes add"
            return f"nothing was kept: {shown} is too long for a fact; {command} keeps a long text"
        case _:
            command = "/remember" if keyboard else "agent facts add"
            of = f" of {shown}" if words else ""
            return f"nothing was kept{of}: write a statement, as in {command} I live in Graz"


def _keep(context: ToolContext, message: int, request: MemoryRequest, options: CaptureOptions) -> str:
    claims = [_claim(context, message, request, each) for each in adoption.separate(request.statement)]
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


def _claim(context: ToolContext, message: int, request: MemoryRequest, clause: str) -> Claim:
    statement = absolute_dates.resolve(clause, context.time())
    place = context.scope.place if request.this_place else ""
    return adoption.claim(statement, request.trust, quote=request.quote, message=message, place=place)


def _point_to_forget(context: ToolContext, words: str, *, keyboard: bool) -> str:
    command = "/forget" if keyboard else "agent forget"
    if context.reads and (known := _known(context, words)):
        return f"nothing was forgotten yet: {command} {known.handle} erases “{facts.name(known)}”, and asks first"
    topic = " ".join(terms.content_words(words)) or "WORDS"
    return f"nothing was forgotten yet: {command} {topic} shows what it would erase, and asks"


def _known(context: ToolContext, statement: str) -> Fact | None:
    """The fact that says the same."""
    owner, db = context.scope.owner, context.memory or context.db
    similar = [each for each in facts.similar(db, owner, statement) if terms.is_similar(each.statement, statement)]
    triple = adoption.claim(statement, "typed").triple
    if triple:
        values = facts.accepted_values(db, owner, triple.subject, [triple.predicate])
        similar += [each for each in values if each.object.casefold() == triple.object.casefold()]
    return next((each for each in similar if each.is_open(context.time())), None)
