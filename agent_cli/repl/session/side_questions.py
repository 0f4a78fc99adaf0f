"""Questions beside a conversation: the model sees the conversation, but neither question nor answer enters it.

Each is a one-shot with a session of its own, so that it is logged like every message. The prompt begins like that of
the conversation, so the server's cache holds.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from agent_cli.agent.events import Event, Noticed, TextArrived, TurnEnded
from agent_cli.agent.model_context import ParentConversation
from agent_cli.agent.policy import Approve
from agent_cli.agent.runner import Work
from agent_cli.app import turns, upkeep
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.lifecycle import rewind
from agent_cli.messages import Part
from agent_cli.repl.session.conversation import Conversation
from agent_cli.text import one_line, sentences

_LONGEST = 300  # characters of a sentence that is shown as a difference


def ask(conversation: Conversation, parts: Sequence[Part]) -> Work:
    """Work that answers a side question."""
    beside = ParentConversation(conversation.id) if conversation.session and conversation.id else None

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        yield from _answer_apart(conversation, parts, cancel, approve, beside=beside)
        yield Noticed("that was a side question; the conversation goes on without it")

    return work


def compare_without_memory(conversation: Conversation, asked: Entry, answer: Entry, model: ChatModel | None) -> Work:
    """Work that shows an answer, one without memory to the same question (then discarded), and their differences."""
    beside = ParentConversation(conversation.reopen(), before=asked.id)

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        yield Noticed(f"with memory ({answer.handle}):")
        yield TextArrived(answer.message.text)
        yield Noticed("without memory, not kept:")
        other = ""
        for event in _answer_apart(
            conversation, asked.parts, cancel, approve, beside=beside, model=model, reads=False, counts=False
        ):
            if isinstance(event, TurnEnded):
                other = event.reply.text
            yield event
        for line in differences(answer.message.text, other):
            yield Noticed(line)

    return work


def differences(one: str, other: str) -> list[str]:
    """Lines for the sentences that only `one` (with memory) or only `other` has."""
    with_, without = sentences(one), sentences(other)
    lines = [f"- only with memory: {one_line(each, _LONGEST)}" for each in with_ if each not in without]
    lines += [f"+ only without: {one_line(each, _LONGEST)}" for each in without if each not in with_]
    return lines or ["both say the same"]


def _answer_apart(
    conversation: Conversation,
    parts: Sequence[Part],
    cancel: Cancel,
    approve: Approve,
    *,
    beside: ParentConversation | None,
    model: ChatModel | None = None,
    reads: bool = True,
    counts: bool = True,
) -> Iterator[Event]:
    """A turn in a session of its own. Unless `counts`, all of it is taken back when it is over."""
    app = conversation.app
    if not reads:
        app = replace(app, reads=False, learns=False)
    with (
        closing(app.db.another_connection()) as db,
        turns.one_shot(app, db, "ask" if counts else "trial") as session,
    ):
        try:
            context = turns.tool_context(app, db, session)
            yield from conversation.answer(app, context, parts, cancel, approve, model=model, beside=beside)
            upkeep.after_turn(app, db)
        finally:
            if not counts:
                rewind.take_back_all(db, session, app.scope.owner, app.time)
