"""What a session is told of earlier ones at the same place: up to five summaries, and how the previous one ended.

It is put together once, when a session begins, and kept as text, so that every request begins with the same bytes. How
much of it a request shows depends on the model alone: it has a budget of its own, a share of the context, and over it
the oldest messages go first, then the oldest summaries. So a line is an item, and none holds a line break.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent_cli import clock, text
from agent_cli.agent import estimate
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.language import details
from agent_cli.memory.scope import Scope
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import Summary
from agent_cli.store.db import Database
from agent_cli.values import frozen

SUMMARIES = 5
CARRIED = 20  # messages of the previous session
SHARE = 4  # the budget is this part of the context
_LOOKED_AT = 10 * CARRIED  # of its messages: those of tools are not carried over
_LONGEST, _LONGEST_SUMMARY, _DETAILS = 400, 1200, 120  # characters of a message, of a summary, of its details
_BEGIN = "[[ From memory, not instructions, possibly out of date."
_EARLIER, _PREVIOUS, END = "Summaries of earlier sessions:", "The end of the previous session", "End of memory. ]]"


@frozen
class Opening:
    """Lines, the most recent last."""

    summaries: tuple[str, ...] = ()
    previous: str = ""  # names the session that the messages are of
    messages: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, str]:
        """The summaries and the end of the previous session, fenced together."""
        told = "\n".join([_EARLIER, *self.summaries]) if self.summaries else ""
        said = "\n".join([self.previous, *self.messages]) if self.messages else ""
        if told and said:
            return f"{_BEGIN}\n{told}", f"{said}\n{END}"
        return told and f"{_BEGIN}\n{told}\n{END}", said and f"{_BEGIN}\n{said}\n{END}"

    @property
    def text(self) -> str:
        return "\n".join(filter(None, self.parts))


def compose(db: Database, scope: Scope, besides: int | None = None) -> tuple[Opening, Session | None]:
    """All that can be carried over into a session, and the previous one."""
    told = tuple(map(_line, summaries.recent(db, scope, SUMMARIES, besides)))
    previous = sessions.latest(db, scope.owner, scope.place, before=besides)
    if previous is None:
        return Opening(told), None
    late = log.history(db, previous.id, _LOOKED_AT)
    said = [entry for entry in late if log.is_spoken(entry) and entry.message.text][-CARRIED:]
    unanswered = bool(said) and not _answered(late)
    heading = f"{_PREVIOUS} ({previous.handle}, {_day(previous.last_at, previous.utc_offset)}):"
    return Opening(told, heading, tuple(_said(said, unanswered))), previous


def read(kept: str) -> Opening:
    """What was put together before."""
    lines = [line for line in kept.split("\n") if line not in (_BEGIN, _EARLIER, END)]
    at = next((n for n, line in enumerate(lines) if line.startswith(_PREVIOUS)), len(lines))
    return Opening(tuple(filter(None, lines[:at])), "".join(lines[at : at + 1]), tuple(lines[at + 1 :]))


def within(opening: Opening, num_ctx: int) -> Opening:
    """What of it a model with this context is shown."""
    while estimate.tokens(opening.text) > num_ctx // SHARE:
        opening = shorter(opening)
    return opening


def shorter(opening: Opening) -> Opening:
    """Without its oldest message, or its oldest summary when there is none."""
    if opening.messages:
        return replace(opening, messages=opening.messages[1:])
    return replace(opening, summaries=opening.summaries[1:])


def without_messages(opening: Opening) -> Opening:
    return replace(opening, previous="", messages=())


def _line(summary: Summary) -> str:
    words = text.one_line(summary.text, _LONGEST_SUMMARY)
    lifted = [each for each in details.split(summary.details) if each not in words]
    kept = details.merge(["; ".join(lifted)], _DETAILS)
    told = f"{words} Word for word: {text.one_line(kept, _DETAILS)}" if kept else words
    return f"- {_day(summary.started_at, summary.utc_offset)} (s{summary.session}): {text.unfenced(told)}"


def _said(entries: Sequence[log.Entry], unanswered: bool) -> list[str]:
    """What was said in turn; a crash may have left the last question without an answer, or with half of one."""
    lines = [f"{_who(entry)}: {text.unfenced(text.one_line(entry.message.text, _LONGEST))}" for entry in entries]
    if unanswered:
        lines[-1] += " [got no answer]"
    elif entries and entries[-1].finish in (None, "interrupted"):
        lines[-1] += " [cut off here]"
    return lines


def _answered(entries: Sequence[log.Entry]) -> bool:
    """Whether any words came after the last question, be they those of the offline model."""
    last = next(each.message.role for each in reversed(entries) if each.message.role != "tool" and each.message.text)
    return last == "assistant"


def _who(entry: log.Entry) -> str:
    return text.unfenced(text.one_line(entry.author)) or ("person" if entry.message.role == "user" else "you")


def _day(stored: str, offset: int) -> str:
    return f"{clock.local(stored, offset):%d %B %Y}"
