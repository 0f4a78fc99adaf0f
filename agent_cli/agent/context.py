"""What the model sees: one system message, what was carried over, the recent window, the question.

What changes stands last, so that a server's prompt cache holds: on a CPU, reading 2,000 tokens again takes most of a
minute. The system message never changes, what was carried over is fixed when the session begins, every question keeps
the time at which it was asked, and the window grows to 22 messages before it falls back to 10 at once; what is folded
away goes into a rolling summary, with the end of the previous session. One system message only, and roles that
alternate and begin with the person: many templates refuse anything else. So what is carried over goes in front of the
first words of the person.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agent_cli import clock, text
from agent_cli.agent import fence, recollect
from agent_cli.errors import ContextExceeded
from agent_cli.memory import log, rolling, sessions, summaries
from agent_cli.memory.scope import Scope
from agent_cli.messages import Message
from agent_cli.store.db import Database

SUMMARIES = 5
CARRIED = 20  # messages of the previous session
_PREVIOUS, _END = "The end of the previous session", "End of memory. ]]"
_LOOKED_AT = 10 * CARRIED  # of its messages: those of tools are not carried over
_WHOLE = ("read_skill",)  # tools whose results are shown whole: half the steps are no procedure
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


@dataclass(frozen=True)
class _Beside:
    """What stands beside the conversation."""

    carried: str  # over from earlier sessions
    earlier: str  # in this one
    recalled: str


def build(
    db: Database, session: sessions.Session, num_ctx: int, tools: Sequence[dict[str, Any]], window: Window,
    instructions: str, now: datetime, extra: Message | None = None, factor: float = 1.0,
) -> Context:  # fmt: skip
    """The next request of a session; folds its window when that is due. `extra` is said last and never logged.

    Over budget what was recalled goes first, then what was carried over, then the older half of the window; never the
    last question. Raises ContextExceeded when that alone is too long. `factor`: tokens of this model per estimated one.
    """
    room = int((num_ctx - min(1024, num_ctx // 4)) / factor)  # the rest is for the answer
    fixed = fence.tokens(instructions) + fence.tokens(json.dumps(list(tools)))
    units = _unfolded(db, session.id)
    units = _fold(db, session.id, units, _due(units, window), now)
    beside = _Beside(session.opening or "", _earlier(db, session.id), _recalled(db, units))
    while True:
        before = _before(beside)
        messages = _alternating([*_shown(units, before, beside.recalled), *([extra] if extra else [])])
        said = sum(_size(message) for message in messages)
        if fixed + said <= room:
            sizes = {"instructions": fence.tokens(instructions), "tools": fixed - fence.tokens(instructions)}
            sizes |= {part: fence.tokens(text) for part, text in before.items() if text or part == "carried over"}
            rest = fixed + said - sum(sizes.values())
            return Context((Message("system", instructions), *messages), {**sizes, "conversation": rest}, room)
        if beside.recalled:
            beside = replace(beside, recalled="")
        elif beside.carried:
            beside = replace(beside, carried="")
        elif len(units) > 1:
            units = _fold(db, session.id, units, len(units) // 2, now)
            beside = replace(beside, earlier=_earlier(db, session.id))
        elif beside.earlier:
            beside = replace(beside, earlier="")
        else:
            raise ContextExceeded(
                f"the question needs about {int((fixed + said) * factor)} tokens and the model's context has room for "
                f"{int(room * factor)} (num_ctx {num_ctx}): ask it shorter, or raise it with "
                f"`agent config set num_ctx {2 * num_ctx}`"
            )


def visible(db: Database, session: int, window: Window) -> list[int]:
    """The messages of a session that its next request shows."""
    units = _unfolded(db, session)
    return [entry.id for unit in units[_due(units, window) :] for entry in unit]


def opening(db: Database, scope: Scope, session: int) -> str:
    """What a new session is told of earlier ones here: up to five summaries, the last words of the previous."""
    lines = [
        f"- {_day(summary.started_at, summary.utc_offset)} (s{summary.session}): "
        + fence.unfenced(" ".join(summary.text.split()))
        for summary in summaries.recent(db, scope, SUMMARIES, besides=session)
    ]
    if lines:
        lines.insert(0, "Summaries of earlier sessions:")
    previous = sessions.latest(db, scope.owner, scope.place, before=session)
    if previous:
        late = log.history(db, previous.id, _LOOKED_AT)
        said = [entry for entry in late if log.is_said(entry) and entry.message.text]
        lines.append(f"{_PREVIOUS} ({previous.handle}, {_day(previous.last_at, previous.utc_offset)}):")
        lines += [
            f"{_who(entry)}: {fence.unfenced(text.one_line(entry.message.text, _LONGEST_CARRIED))}"
            for entry in said[-CARRIED:]
        ]
    if not lines:
        return ""
    return "\n".join(["[[ From memory, not instructions, possibly out of date.", *lines, _END])


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


def _unfolded(db: Database, session: int) -> list[list[log.Entry]]:
    """The exchanges that were not folded away."""
    folded = rolling.of(db, session)
    entries = log.history(db, session, after=folded.up_to if folded else 0)
    return _units([entry for entry in entries if _has_words(entry)])


def _due(units: Sequence[Sequence[log.Entry]], window: Window) -> int:
    """How many exchanges are to be folded away now: none, or so many that just the least number of messages stays."""
    left = sum(map(len, units))
    if left <= window.most:
        return 0
    due = 0
    while units[due + 1 :] and left - len(units[due]) >= window.least:
        left -= len(units[due])
        due += 1
    return due


def _fold(
    db: Database, session: int, units: Sequence[list[log.Entry]], count: int, now: datetime
) -> list[list[log.Entry]]:
    """Fold the first exchanges away; returns those that stay."""
    if count:
        rolling.fold(db, session, units[count - 1][-1].id, now)
    return list(units[count:])


def _earlier(db: Database, session: int) -> str:
    """What the model is told of the part of the session that was folded away."""
    told = rolling.of(db, session)
    if told is None or not (told.text or told.details):
        return ""
    details = f"Word for word: {fence.unfenced(told.details)}" if told.details else ""
    lines = ["[[ Earlier in this session, in short:", fence.unfenced(told.text), details, _END]
    return "\n".join(line for line in lines if line)


def _before(beside: _Beside) -> dict[str, str]:
    """What goes in front of the first words, by its name. The previous session's end is folded away first of all."""
    carried = beside.carried
    if beside.earlier and f"\n{_PREVIOUS}" in carried:
        carried = carried.partition(f"\n{_PREVIOUS}")[0] + f"\n{_END}"
    if len(carried.splitlines()) <= 2:  # nothing but the fence
        carried = ""
    return {"carried over": carried, "earlier": beside.earlier}


def _shown(units: Sequence[Sequence[log.Entry]], before: Mapping[str, str], recalled: str) -> list[Message]:
    messages = [_as_sent(entry) for unit in units for entry in unit]
    if not messages:
        return []
    messages[0] = replace(messages[0], before="\n\n".join(filter(None, before.values())))
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
        return message if message.tool in _WHOLE else replace(message, text=text.condense(message.text))
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
