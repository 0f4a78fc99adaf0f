"""What waits for the person's yes, in one queue: facts today, any other kind of proposal by a row of `KINDS`.

A proposal is a value that holds all that a person is shown of it. A decision checks inside its write that the file
still says just that: of two reviewers only one decides, and nobody approves words that were never on the screen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_cli.errors import UsageError
from agent_cli.memory import adoption, log, proposed_facts
from agent_cli.memory.proposals import Proposal, Reviewer, counted, one_line
from agent_cli.store import ids

Ticket = tuple[str, int]
"""The kind of a proposal and its number there."""


@dataclass(frozen=True)
class Decision:
    """What was decided at once, to be undone at once."""

    proposals: tuple[Proposal, ...]
    kept: bool
    receipts: tuple[str, ...]
    batch: str


@dataclass(frozen=True)
class Said:
    """A message of a passage; `source` when it is the one the proposal comes from."""

    handle: str
    role: str
    text: str
    source: bool


@dataclass(frozen=True)
class Kind:
    """How proposals of a kind are found, read and decided. What decides runs in the caller's transaction."""

    waiting: Callable[[Reviewer, int | None], list[int]]
    read: Callable[[Reviewer, int, str], Proposal | None]
    state: Callable[[Reviewer, int], str]
    accept: Callable[[Reviewer, Proposal, bool, str], str]
    reject: Callable[[Reviewer, Proposal, str], str]
    take_back: Callable[[Reviewer, str], list[str]]


def waiting(reviewer: Reviewer, session: int | None = None) -> list[Ticket]:
    """What waits, the oldest of each kind first; with a session, what was said in it or is true in it alone."""
    return [(name, id) for name, kind in KINDS.items() for id in kind.waiting(reviewer, session)]


def read(reviewer: Reviewer, ticket: Ticket, words: str = "") -> Proposal | None:
    """A proposal as it would be shown, with other words for it or its own; None when it waits no more."""
    return KINDS[ticket[0]].read(reviewer, ticket[1], one_line(words))


def keep(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """The person's yes. Raises UsageError when it was decided or changed since it was read."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, False, batch))


def supersede(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """Yes, and what it contradicts ends. Raises UsageError like `keep`."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, True, batch))


def reject(reviewer: Reviewer, proposal: Proposal) -> Decision:
    """The person's no. Raises UsageError like `keep`."""
    decision = _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].reject(reviewer, each, batch))
    return replace(decision, kept=False)


def keep_all(reviewer: Reviewer, proposals: Sequence[Proposal]) -> Decision:
    """Yes to all of these that still are as they were read."""

    def accept(each: Proposal, batch: str) -> str:
        return KINDS[each.kind].accept(reviewer, each, False, batch)

    with reviewer.db.write():
        batch = ids.new(reviewer.time())
        done = []
        for each in proposals:
            try:
                done.append(_decide(reviewer, [each], accept, batch))
            except UsageError:
                continue  # decided meanwhile, or one of these contradicts another: it is shown by itself
        return Decision(
            tuple(each.proposals[0] for each in done), True, tuple(each.receipts[0] for each in done), batch
        )


def undo(reviewer: Reviewer, decision: Decision) -> list[str]:
    """Take a decision back; what was decided waits again. Raises UsageError when a later change stands in the way."""
    with reviewer.db.write():
        return [
            receipt
            for kind in dict.fromkeys(each.kind for each in decision.proposals)
            for receipt in KINDS[kind].take_back(reviewer, decision.batch)
        ]


def passage(reviewer: Reviewer, proposal: Proposal) -> list[Said]:
    """Its source message with two messages before and after. Raises UsageError when there is none."""
    if proposal.message is None:
        raise UsageError(f"{proposal.handle} comes from no message")
    return [
        Said(entry.handle, entry.message.role, entry.message.text, entry.id == proposal.message)
        for entry in log.around(reviewer.db, reviewer.scope.owner, proposal.message, 2, 2)
    ]


def expired(reviewer: Reviewer) -> str:
    """That proposals went unread, if any did since this was last told."""
    count = adoption.expire(reviewer.db, reviewer.scope.owner, reviewer.time)
    limits = f"each waits for {adoption.WAIT.days} days at most, and {adoption.CAP} at once"
    return f"{counted(count, 'proposal')} expired unread: {limits}" if count else ""


def news(reviewer: Reviewer) -> list[str]:
    """What a person is told at the start: what expired, and what waits."""
    told = [expired(reviewer)]
    count = len(waiting(reviewer))
    told.append(f"{count} {'memory waits' if count == 1 else 'memories wait'} for your yes: /review" if count else "")
    return [line for line in told if line]


def _decide(
    reviewer: Reviewer, proposals: Sequence[Proposal], decide: Callable[[Proposal, str], str], batch: str = ""
) -> Decision:
    """Decide, if each still is what was shown."""
    batch = batch or ids.new(reviewer.time())
    with reviewer.db.write():
        for each in proposals:
            _check(reviewer, each)
        return Decision(tuple(proposals), True, tuple(decide(each, batch) for each in proposals), batch)


def _check(reviewer: Reviewer, shown: Proposal) -> None:
    kind = KINDS[shown.kind]
    now = kind.read(reviewer, shown.id, shown.statement if shown.edited else "")
    if now is None:
        raise UsageError(f"{shown.handle} was decided meanwhile: it is {kind.state(reviewer, shown.id)}")
    if now != shown:
        raise UsageError(f"{shown.handle} has changed since it was shown; look at it again")


KINDS: dict[str, Kind] = {
    "fact": Kind(
        proposed_facts.waiting,
        proposed_facts.read,
        proposed_facts.state,
        proposed_facts.accept,
        proposed_facts.reject,
        proposed_facts.take_back,
    ),
}
