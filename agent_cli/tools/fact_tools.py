"""The tool by which the model proposes facts. No tool accepts a fact: only the person does."""

from typing import TYPE_CHECKING, Annotated

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import ToolResult
from agent_cli.store import ids
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from agent_cli.memory.facts.facts import Fact


@tool(risk="propose")
def propose_fact(
    context: ToolContext,
    statement: str,
    quote: Annotated[str, "their exact words"] = "",
    replaces: str = "",
) -> ToolResult:
    """Propose a lasting fact about the person, in their voice; they decide."""
    from agent_cli.memory.conversations import readings
    from agent_cli.memory.dates import absolute_dates
    from agent_cli.memory.facts import adoption, receipts
    from agent_cli.memory.language import triples

    if not triples.is_fact(" ".join(statement.split())):
        raise ToolFailed("a fact is a statement of at most 300 characters, not a question or an instruction")
    target = _target(context, replaces) if replaces.strip() else None
    said = log.history(context.db, context.session)
    source = readings.find(reversed(said), quote)
    asked = next((entry.id for entry in reversed(said) if entry.message.role == "user"), None)
    reading = readings.before_proposal(context.db, asked, statement, source) if asked else None
    claim = adoption.claim(
        absolute_dates.resolve(statement, source.at if source else context.time()),
        "model",
        quote=source.text if source else "",
        message=source.message if source else reading.message if reading else asked,
        trust=readings.trust_after(source, reading),
        read_in=reading.message if reading else None,
        inferred=source is None,
        operation="update" if target else "insert",
        target=target.id if target else None,
    )
    fact = adoption.propose(MemoryContext(context.db, context.scope, context.time), claim)
    if fact is None:
        why = receipts.not_proposed(context.db, context.scope.owner, claim.statement)
        return ToolResult(f"not proposed: {why}", receipt=why)
    return ToolResult(
        f"proposed as {fact.handle}; it is not saved until the person says yes", receipt=receipts.pending(fact)
    )


def _target(context: ToolContext, handle: str) -> "Fact":
    from agent_cli.memory.facts import facts

    try:
        fact = facts.get(context.db, ids.number("fact", handle), context.scope.owner)
    except UsageError as error:
        raise ToolFailed(str(error)) from error
    if not fact.is_open(context.time()):
        raise ToolFailed(f"{fact.handle} is not true now, so nothing can replace it")
    return fact
