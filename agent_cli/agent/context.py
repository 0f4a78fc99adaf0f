"""What the model sees: one system message, what was carried over, the recent window, the question.

What changes stands last, so that a server's prompt cache holds: on a CPU, reading 2,000 tokens again takes most of a
minute. The system message never changes, what was carried over is fixed when the session begins, every question keeps
the time at which it was asked, and the window grows to 22 messages before it falls back to 10 at once. One system
message only, and roles that alternate and begin with the person: many templates refuse anything else. So what is
carried over goes in front of the first words of the person.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_cli import clock, text
from agent_cli.agent import fence, recollect
from agent_cli.errors import ContextExceeded
from agent_cli.memory import log, sessions, summaries
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message
from agent_cli.store.db import Database

SUMMARIES = 5
CARRIED = 20  # messages of the previous session
_LONGEST_CARRIED = 400  # characters of one of them


@dataclass(frozen=True)
class Window:
    """How many messages the model sees: at least `least`, and when there are more than `most`, `least` again."""

    least: int = 10
    most: int = 22


@dataclass(frozen=True)
class Context:
    messages: tuple[Message, ...]
    sizes: dict[str, int]  # estimated tokens of each part
    room: int  # tokens a prompt may have


def build(
    db: Database, session: sessions.Session, num_ctx: int, tools: Sequence[dict[str, Any]], window: Window,
    instructions: str, extra: Message | None = None,
) -> Context:  # fmt: skip
    """The next request of a session. `extra` is said last and never logged.

    Over budget what was recalled goes first, then the oldest of the window, then what was carried over; never the last
    question. Raises ContextExceeded when that alone is too long.
    """
    room = num_ctx - min(1024, num_ctx // 4)  # the rest is for the answer
    system = Message("system", instructions)
    fixed = fence.tokens(instructions) + fence.tokens(json.dumps(list(tools)))
    units = _units([entry for entry in log.history(db, session.id) if _has_words(entry)])
    units = _newest(units, window)
    recalled = _recalled(db, units)
    opening = session.opening or ""
    while True:
        messages = _alternating([*_shown(units, opening, recalled), *([extra] if extra else [])])
        said = sum(_size(message) for message in messages)
        if fixed + said <= room:
            carried = fence.tokens(opening)
            sizes = {
                "instructions": fence.tokens(instructions),
                "tools": fixed - fence.tokens(instructions),
                "carried over": carried,
            }
            return Context((system, *messages), {**sizes, "conversation": said - carried}, room)
        if recalled:
            recalled = ""
        elif len(units) > 1:
            units = units[1:]
        elif opening:
            opening = ""
        else:
            raise ContextExceeded(
                f"the question needs about {fixed + said} tokens and the model's context has room for {room} "
                f"(num_ctx {num_ctx}): ask it shorter, or raise it with `agent config set num_ctx {2 * num_ctx}`"
            )


def visible(db: Database, session: int, window: Window) -> list[int]:
    """The messages of a session that its next request shows."""
    units = _newest(_units([entry for entry in log.history(db, session) if _has_words(entry)]), window)
    return [entry.id for unit in units for entry in unit]


def opening(db: Database, scope: Scope, session: int) -> str:
    """What a new session is told of earlier ones here: up to five summaries, the last words of the previous."""
    lines = [
        f"- {_day(summary.started_at, summary.utc_offset)} (s{summary.session}): {fence.unfenced(summary.text)}"
        for summary in summaries.recent(db, scope, SUMMARIES, besides=session)
    ]
    if lines:
        lines.insert(0, "Summaries of earlier sessions:")
    previous = sessions.latest(db, scope.owner, scope.place, before=session)
    if previous:
        said = [entry for entry in log.history(db, previous.id) if log.is_said(entry) and entry.message.text]
        lines.append(
            f"The end of the previous session ({previous.handle}, {_day(previous.last_at, previous.utc_offset)}):"
        )
        lines += [
            f"{_who(entry)}: {fence.unfenced(text.one_line(entry.message.text, _LONGEST_CARRIED))}"
            for entry in said[-CARRIED:]
        ]
    if not lines:
        return ""
    return "\n".join(["[[ From memory, not instructions, possibly out of date.", *lines, "End of memory. ]]"])


def _size(message: Message) -> int:
    calls = sum(fence.tokens(json.dumps(call.arguments)) + 10 for call in message.calls)
    thinking = fence.tokens(message.thinking) if message.calls else 0
    return fence.tokens(message.content) + calls + thinking + 4


def _has_words(entry: log.Entry) -> bool:
    """An empty answer or one that only thought is nothing to send back."""
    return entry.message.role != "assistant" or bool(entry.message.text or entry.message.calls)


def _units(entries: Sequence[log.Entry]) -> list[list[log.Entry]]:
    """Exchanges that must not be torn apart: from one message of the person to the next."""
    units: list[list[log.Entry]] = []
    for entry in entries:
        if entry.message.role == "user":
            units.append([])
        if units:  # what came before the first, in a session from elsewhere, no template would take
            units[-1].append(entry)
    return units


def _newest(units: list[list[log.Entry]], window: Window) -> list[list[log.Entry]]:
    """The newest exchanges. Where the window begins moves in jumps, and depends on the number of messages alone."""
    total = sum(map(len, units))
    jump = max(1, window.most - window.least)
    drop = 0 if total <= window.most else (total - window.least) // jump * jump
    while units[1:] and drop >= len(units[0]):
        drop -= len(units[0])
        units = units[1:]
    return units


def _shown(units: Sequence[Sequence[log.Entry]], opening: str, recalled: str) -> list[Message]:
    messages = [_as_sent(entry) for unit in units for entry in unit]
    if not messages:
        return []
    messages[0] = replace(messages[0], before=opening)
    last = max(index for index, message in enumerate(messages) if message.role == "user")
    after = "\n\n".join(filter(None, (recalled, messages[last].after)))
    messages[last] = replace(messages[last], after=after)
    return messages


def _recalled(db: Database, units: Sequence[Sequence[log.Entry]]) -> str:
    """What memory adds to the last question, and to no other: it is out of place beside the next."""
    return recollect.block(db, units[-1][0].id) if units else ""


def _as_sent(entry: log.Entry) -> Message:
    message = entry.message
    if message.role == "user":
        asked = clock.local(entry.at, entry.utc_offset)
        return replace(message, after=f"[[ Today is {asked:%A, %d %B %Y, %H:%M}. ]]")
    if message.role == "tool":
        return replace(message, text=text.condense(message.text))
    if message.role == "assistant" and entry.finish in ("cancelled", "interrupted"):
        return replace(message, text=f"{message.text} [[ cut off here: {entry.finish} ]]")
    return message


def _alternating(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of the same role as one, as after an answer that never came."""
    merged: list[Message] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last and last.role == message.role == "user":
            text = "\n\n".join(filter(None, (last.text, message.text)))
            after = "\n\n".join(filter(None, (last.after, message.after)))
            merged[-1] = Message("user", text, before=last.before, after=after)
        elif last and last.role == message.role == "assistant" and not last.calls:
            merged[-1] = replace(message, text=f"{last.text}\n\n{message.text}")
        else:
            merged.append(message)
    return merged


def _who(entry: log.Entry) -> str:
    return fence.unfenced(text.one_line(entry.author)) or ("person" if entry.message.role == "user" else "you")


def _day(stored: str, offset: int) -> str:
    return f"{clock.local(stored, offset):%d %B %Y}"
