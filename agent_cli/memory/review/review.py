"""The queue of proposals that wait for the person: facts and skills; a further kind is a row of `KINDS`.

A proposal is a value with all that the person is shown. A decision checks, in its transaction, that the database still
holds exactly that: of two reviewers only one decides, and nobody approves words that were not shown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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

_SESSION_END = 8  # messages shown for a proposal without a source message

ProposalKey = tuple[str, int]
"""The kind of a proposal and its id."""


@frozen
class ReviewDecision:
    """Decisions of one batch, which are undone together."""

    proposals: tuple[Proposal, ...]
    accepted: bool
    receipts: tuple[str, ...]
    batch: str


@frozen
class PassageMessage:
    """A message around the source of a proposal. `source`: whether it is the source itself."""

    handle: str
    role: str
    text: str
    source: bool


@frozen
class ProposalKind:
    """How proposals of a kind are found, read and decided. Decisions run in the caller's transaction."""

    pending: Callable[[Reviewer, int | None], list[int]]
    read: Callable[[Reviewer, int, str], Proposal | None]
    parse_edit: Callable[[str], str]
    state: Callable[[Reviewer, int], str]
    accept: Callable[[Reviewer, Proposal, bool, str], str]
    reject: Callable[[Reviewer, Proposal, str], str]
    undo: Callable[[Reviewer, str], list[str]]
    changes: Callable[[Reviewer, str], list[str]]


def pending(reviewer: Reviewer, session: int | None = None) -> list[ProposalKey]:
    """The keys of pending proposals, by kind; with a session, those that belong to it.

    Of each kind those stand first that were proposed after something foreign was read, then the oldest.
    """
    return [(name, id) for name, kind in KINDS.items() for id in kind.pending(reviewer, session)]


def read(reviewer: Reviewer, ticket: ProposalKey, words: str = "") -> Proposal | None:
    """A proposal as it is shown, with other words if given; None when it is no longer pending."""
    return KINDS[ticket[0]].read(reviewer, ticket[1], parse_edit(ticket, words) if words else "")


def parse_edit(ticket: ProposalKey, words: str) -> str:
    """The reviewer's words as they would be stored. Raises UsageError when they are not valid."""
    return KINDS[ticket[0]].parse_edit(words)


def accept(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """Accept a proposal. Raises UsageError when it was decided or changed since it was read."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, False, batch))


def accept_replacing(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """Accept a proposal and end the facts it contradicts. Raises UsageError like `accept`."""
    return _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].accept(reviewer, each, True, batch))


def reject(reviewer: Reviewer, proposal: Proposal) -> ReviewDecision:
    """Reject a proposal. Raises UsageError like `accept`."""
    decision = _decide(reviewer, [proposal], lambda each, batch: KINDS[each.kind].reject(reviewer, each, batch))
    return replace(decision, accepted=False)


def accept_all(reviewer: Reviewer, proposals: Sequence[Proposal]) -> ReviewDecision:
    """Accept all of these proposals that are unchanged since they were read, and end the facts they contradict.

    What rests on something foreign ends nothing in this way.
    """

    def accept(each: Proposal, batch: str) -> str:
        return KINDS[each.kind].accept(reviewer, each, not each.foreign, batch)

    with reviewer.db.write():
        batch = ids.new(reviewer.time())
        done = []
        for each in proposals:
            try:
                done.append(_decide(reviewer, [each], accept, batch))
            except UsageError:
                continue  # decided meanwhile, or changed by another of these decisions: it stays in the queue
        return ReviewDecision(
            tuple(each.proposals[0] for each in done), True, tuple(each.receipts[0] for each in done), batch
        )


def undo(reviewer: Reviewer, decision: ReviewDecision) -> list[str]:
    """Undo a decision: its proposals are pending again. Raises UsageError when one was changed since."""
    with reviewer.db.write():
        return [
            receipt
            for kind in dict.fromkeys(each.kind for each in decision.proposals)
            for receipt in KINDS[kind].undo(reviewer, decision.batch)
        ]


def last_batch(reviewer: Reviewer) -> str:
    """The batch of the last decision if it included a skill and the person has changed no fact since; else empty.

    (facts.last_batch has that of a change of facts alone.)
    """
    batch = reviewer.db.value(
        """select v.batch from skill_version v join skill s on s.id = v.skill_id
           where s.owner = ?1 and v.undone = 0 and v.change in ('accepted', 'rejected')
             and v.at >= (select coalesce(max(v.at), '') from fact_version v join fact f on f.id = v.fact_id
                          where f.owner = ?1 and v.undone = 0 and v.actor = 'person')
           order by v.id desc limit 1""",
        (reviewer.scope.owner,),
    )
    return batch or ""


def undo_batch(reviewer: Reviewer, batch: str) -> list[str]:
    """Undo a batch of decisions, whatever it included. Raises UsageError like `undo`."""
    with reviewer.db.write():
        return [receipt for kind in KINDS.values() for receipt in kind.undo(reviewer, batch)]


def changes(reviewer: Reviewer, batch: str) -> list[str]:
    """What a batch changed, the last first: `f3 “I live in Graz”, added on 22 Nov 2026`."""
    return [line for kind in KINDS.values() for line in kind.changes(reviewer, batch)]


def passage(reviewer: Reviewer, proposal: Proposal) -> list[PassageMessage]:
    """The source message with two messages before and after it, or the end of the session. Raises UsageError."""
    source = proposal.read_message or proposal.message
    if source is None and proposal.session:
        last = log.history(reviewer.db, ids.number("session", proposal.session), _SESSION_END)
        shown = [entry for entry in last if entry.message.text]
        return [PassageMessage(entry.handle, entry.message.role, entry.message.text, False) for entry in shown]
    if source is None:
        raise UsageError(f"{proposal.handle} comes from no message")
    return [
        PassageMessage(entry.handle, entry.message.role, entry.message.text, entry.id in (source, proposal.message))
        for entry in log.context_of(reviewer.db, reviewer.scope.owner, source, 2, 2)
    ]


def expiry_notice(reviewer: Reviewer) -> str:
    """A sentence about proposals that expired since the last call; empty when there are none."""
    facts = adoption.expire(reviewer.db, reviewer.scope.owner, reviewer.time)
    others = proposed_skills.expire(reviewer)
    most = (
        f"{adoption.MAX_PENDING} facts and {skill_adoption.MAX_PENDING} skills" if others else f"{adoption.MAX_PENDING}"
    )
    limits = f"each waits for {adoption.MAX_WAIT.days} days at most, and {most} at once"
    return f"{counted(facts + others, 'proposal')} expired unread: {limits}" if facts + others else ""


def start_notices(reviewer: Reviewer) -> list[str]:
    """The lines shown at the start: expired proposals, and how many are pending."""
    return [line for line in (expiry_notice(reviewer), waiting_notice(pending(reviewer))) if line]


def waiting_notice(waiting: Iterable[ProposalKey]) -> str:
    """How many of each kind are to review: `3 facts and 1 skill to review: /review`; empty where nothing waits."""
    counts = Counter(kind for kind, _ in waiting)
    return (
        f"{' and '.join(counted(count, kind) for kind, count in counts.items())} to review: /review" if counts else ""
    )


def _decide(
    reviewer: Reviewer, proposals: Sequence[Proposal], decide: Callable[[Proposal, str], str], batch: str = ""
) -> ReviewDecision:
    """Decide on proposals. Raises UsageError when one is not as it was shown."""
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
        proposed_facts.changes,
    ),
    "skill": ProposalKind(
        proposed_skills.pending,
        proposed_skills.read,
        proposed_skills.parse_edit,
        proposed_skills.state,
        proposed_skills.accept,
        proposed_skills.reject,
        proposed_skills.undo,
        proposed_skills.changes,
    ),
}
