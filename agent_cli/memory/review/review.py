"""What waits for the person's yes, in one queue: facts and skills, any other kind of proposal by a row of `KINDS`.

A proposal is a value that holds all that a person is shown of it. A decision checks inside its write that the file
still says just that: of two reviewers only one decides, and nobody approves words that were never on the screen.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.review import proposed_facts, proposed_skills
from agent_cli.memory.review.proposals import Proposal, Reviewer, visible_line
from agent_cli.memory.skills import skill_adoption
from agent_cli.store import ids
from agent_cli.text import counted
from agent_cli.values import frozen

_SESSION_END = 8  # messages that are the end of a session

ProposalKey = tuple[str, int]
"""The kind of a proposal and its number there."""


@frozen
class ReviewDecision:
    """What was decided at once, to be undone at once."""

    proposals: tuple[Proposal, ...]
    accepted: bool
    receipts: tuple[str, ...]
    batch: str


@frozen
class PassageMessage:
    """A message of a passage; `source` when it is the one the proposal comes from."""

    handle: str
    role: str
    text: str
    source: bool


@frozen
class ProposalKind:
    """How proposals of a kind are found, read and decided. What decides runs in the caller's transaction."""

    pending: Callable[[Reviewer, int | None], list[int]]
    read: Callable[[Reviewer, int, str], Proposal | None]
    parse_edit: Callable[[str], str]
    state: Callable[[Reviewer, int], str]
    accept: Callable[[Reviewer, Proposal, bool, str], str]
    reject: Callable[[Reviewer, Proposal, str], str]
    undo: Callable[[Reviewer, str], list[str]]


def pending(reviewer: Reviewer, session: int | None = None) -> list[ProposalKey]:
    """What waits, the oldest of each kind first; with a session, what was said in it or is true in it alone."""
    return [(name, id) for name, kind in KINDS.items() for id in kind.pending(reviewer, session)]


def read(reviewer: Reviewer, ticket: ProposalKey, words: str = "") -> Proposal | None:
    """A proposal as it would be shown, with other words for it or its own; None when it waits no more."""
    return KINDS[ticket[0]].read(reviewer, ticket[1], parse_edit(ticket, words) if words else "")


def parse_edit(ticket: ProposalKey, words: str) -> str:
    """The reviewer's own words as they would be kept. Raises UsageError when they cannot be."""
    return KINDS[ticket[0]].parse_edit(words)


def accept(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """The person's yes. Raises UsageError when it was decided or changed since it was read."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, False, batch))


def accept_replacing(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """Yes, and what it contradicts ends. Raises UsageError like `keep`."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, True, batch))


def reject(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """The person's no. Raises UsageError like `keep`."""
    decision = _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].reject(reviewer, each, batch))
    return replace(decision, accepted=False)


def accept_all(reviewer: Reviewer, proposals: Sequence[Proposal]) -> ReviewDecision:
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
        return ReviewDecision(
            tuple(each.proposals[0] for each in done), True, tuple(each.receipts[0] for each in done), batch
        )


def undo(reviewer: Reviewer, decision: ReviewDecision) -> list[str]:
    """Take a decision back; what was decided waits again. Raises UsageError when a later change stands in the way."""
    with reviewer.db.write():
        return [
            receipt
            for kind in dict.fromkeys(each.kind for each in decision.proposals)
            for receipt in KINDS[kind].undo(reviewer, decision.batch)
        ]


def undo_last(reviewer: Reviewer) -> list[str]:
    """Take back the last decision where it was one on skills, or on skills too; nothing where a fact changed since.

    (Of facts alone facts.undo takes it back.) Raises UsageError like `undo`.
    """
    with reviewer.db.write():
        batch = reviewer.db.value(
            """select v.batch from skill_version v join skill s on s.id = v.skill_id
               where s.owner = ?1 and v.undone = 0 and v.change in ('accepted', 'rejected')
                 and v.at >= (select coalesce(max(v.at), '') from fact_version v join fact f on f.id = v.fact_id
                              where f.owner = ?1 and v.undone = 0 and v.actor = 'person')
               order by v.id desc limit 1""",
            (reviewer.scope.owner,),
        )
        return [receipt for kind in KINDS.values() for receipt in kind.undo(reviewer, batch)] if batch else []


def passage(reviewer: Reviewer, proposal: Proposal) -> list[PassageMessage]:
    """Its source message with two messages before and after, or how its session ended. Raises UsageError."""
    if proposal.message is None and proposal.session:
        last = log.history(reviewer.db, ids.number("session", proposal.session), _SESSION_END)
        shown = [entry for entry in last if entry.message.text]
        return [PassageMessage(entry.handle, entry.message.role, entry.message.text, False) for entry in shown]
    if proposal.message is None:
        raise UsageError(f"{proposal.handle} comes from no message")
    return [
        PassageMessage(entry.handle, entry.message.role, entry.message.text, entry.id == proposal.message)
        for entry in log.context_of(reviewer.db, reviewer.scope.owner, proposal.message, 2, 2)
    ]


def expiry_notice(reviewer: Reviewer) -> str:
    """That proposals went unread, if any did since this was last told."""
    facts = adoption.expire(reviewer.db, reviewer.scope.owner, reviewer.time)
    others = proposed_skills.expire(reviewer)
    most = (
        f"{adoption.MAX_PENDING} facts and {skill_adoption.MAX_PENDING} skills" if others else f"{adoption.MAX_PENDING}"
    )
    limits = f"each waits for {adoption.MAX_WAIT.days} days at most, and {most} at once"
    return f"{counted(facts + others, 'proposal')} expired unread: {limits}" if facts + others else ""


def start_notices(reviewer: Reviewer) -> list[str]:
    """What a person is told at the start: what expired, and what waits."""
    told = [expiry_notice(reviewer)]
    count = len(pending(reviewer))
    told.append(f"{count} {'memory waits' if count == 1 else 'memories wait'} for your yes: /review" if count else "")
    return [line for line in told if line]


def _decide(
    reviewer: Reviewer, proposals: Sequence[Proposal], decide: Callable[[Proposal, str], str], batch: str = ""
) -> ReviewDecision:
    """Decide, if each still is what was shown."""
    batch = batch or ids.new(reviewer.time())
    with reviewer.db.write():
        for each in proposals:
            _require_unchanged(reviewer, each)
        return ReviewDecision(tuple(proposals), True, tuple(decide(each, batch) for each in proposals), batch)


def _require_unchanged(reviewer: Reviewer, shown: Proposal) -> None:
    kind = KINDS[shown.kind]
    now = kind.read(reviewer, shown.id, shown.statement if shown.edited else "")
    if now is None:
        raise UsageError(f"{shown.handle} was decided meanwhile: it is {kind.state(reviewer, shown.id)}")
    if now != shown:
        raise UsageError(f"{shown.handle} has changed since it was shown; look at it again")


KINDS: dict[str, ProposalKind] = {
    "fact": ProposalKind(
        proposed_facts.pending,
        proposed_facts.read,
        visible_line,
        proposed_facts.state,
        proposed_facts.accept,
        proposed_facts.reject,
        proposed_facts.undo,
    ),
    "skill": ProposalKind(
        proposed_skills.pending,
        proposed_skills.read,
        proposed_skills.parse_edit,
        proposed_skills.state,
        proposed_skills.accept,
        proposed_skills.reject,
        proposed_skills.undo,
    ),
}
