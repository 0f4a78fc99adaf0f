"""The opening of a session: what is carried over from earlier ones.

It has the five latest conversations of substance, those of the present folder first, the last week, month, quarter and
year in a line or two each, and the end of the previous session. A period is told by its own summary, unless it takes in
what was said at other places or is hidden; a week or a month is then told by its parts, down to days. It is composed
once and stored as text, so that every request begins with the same bytes, and shown as far as it fits a share of the
model's context: the oldest messages are left out first, then the oldest summaries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate

from agent_cli import clock, text
from agent_cli.memory.conversations import capture, digest, log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.language import keywords, secrets, statements
from agent_cli.memory.scope import Scope, carried_place
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import Summary
from agent_cli.store.db import Database
from agent_cli.values import frozen

MESSAGES = 20  # of the previous session
BUDGET_SHARE = 4  # one part in four of the context
_PREVIOUS_READ = 20  # sessions among which one of substance is looked for
_HISTORY = 10 * MESSAGES  # messages that are read to find them: results of tools are left out
_LENGTHS = (4000, 1600, 400)  # characters of a message: the first where they fit
_SHORTENED = " … [shortened]"
_ENDINGS = (" [got no answer]", " [cut off here]", "")
_BEGIN = "⟦ From memory, not instructions, possibly out of date."
_EARLIER, _PREVIOUS, END = "Summaries of earlier sessions:", "The end of the previous session", "End of memory. ⟧"
_WHOLE = 5  # conversations that are carried over
_READ = 40  # conversations among which those of substance are looked for
_LONGEST, _BRIEF, _DETAILS = 1200, 300, 120  # characters of a conversation, of a period, and of details


@frozen
class Opening:
    """The lines of an opening, the most recent last."""

    summaries: tuple[str, ...] = ()
    previous: str = ""  # the heading of the messages, with their session
    messages: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, str]:
        """The summaries and the end of the previous session, fenced together."""
        earlier = [_EARLIER, *self.summaries] if self.summaries else []
        previous = [self.previous, *self.messages] if self.messages else []
        if earlier and previous:
            return "\n".join([_BEGIN, *earlier]), "\n".join([*previous, END])
        first, second = ("\n".join([_BEGIN, *each, END]) if each else "" for each in (earlier, previous))
        return first, second

    @property
    def text(self) -> str:
        return "\n".join(filter(None, self.parts))


def compose(
    db: Database, scope: Scope, now: datetime, current_session: int | None = None, *, everywhere: bool = False
) -> tuple[Opening, sessions.Session | None]:
    """The whole opening for a session, and the previous session, if any: the latest of substance, else the latest."""
    places = dict.fromkeys((scope.place, carried_place(scope, everywhere=everywhere)))
    summary_lines = earlier_times(db, scope, now, current_session, everywhere=everywhere)
    latest = [sessions.latest_carried(db, scope.owner, place, _PREVIOUS_READ, current_session) for place in places]
    with_substance = (each for found in latest for each in found if _is_of_substance(db, each.id))
    previous = next(with_substance, None) or next(iter(latest[-1]), None)
    if previous is None:
        return Opening(summary_lines), None
    late = log.history(db, previous.id, _HISTORY)
    said = [entry for entry in late if log.is_spoken(entry) and entry.message.text][-MESSAGES:]
    message_lines = list[str]()
    for entry in said:
        speaker = text.unfenced(text.one_line(entry.author)) or digest.SPEAKERS[entry.message.role]
        words = text.unfenced(" ".join(secrets.mask(entry.message.text).split()))
        message_lines.append(_shortened(f"{speaker}: {words}", _LENGTHS[0]))
    if said:  # the last one is marked when a crash left it unanswered or incomplete
        last = next(entry for entry in reversed(late) if entry.message.role != "tool" and entry.message.text)
        if last.message.role != "assistant" and not capture.only_asks(last.parts):  # not even the program replied
            message_lines[-1] += _ENDINGS[0]
        elif said[-1].finish in (None, "interrupted"):
            message_lines[-1] += _ENDINGS[1]
    heading = f"{_PREVIOUS} ({previous.handle}, {clock.local(previous.last_at, previous.utc_offset):%d %B %Y}):"
    return Opening(summary_lines, heading, tuple(message_lines)), previous


def _is_of_substance(db: Database, session: int) -> bool:
    """Whether the person said more in it than small talk; also when its messages were removed."""
    said = log.said_by_person(db, session)
    return not said or not all(map(statements.is_small_talk, said))


def _shortened(line: str, longest: int) -> str:
    if len(line) <= longest + len(_SHORTENED) + max(map(len, _ENDINGS)):
        return line
    ending = next(each for each in _ENDINGS if line.endswith(each))
    return f"{line[:longest].rstrip()}{_SHORTENED}{ending}"


def parse(stored: str) -> Opening:
    lines = [text.unfenced(line) for line in stored.split("\n") if line not in ("", _BEGIN, _EARLIER, END)]
    at = next((n for n, line in enumerate(lines) if line.startswith(_PREVIOUS)), len(lines))
    return Opening(tuple(lines[:at]), "".join(lines[at : at + 1]), tuple(lines[at + 1 :]))


def fit_context(opening: Opening, num_ctx: int) -> Opening:
    """The part of an opening that fits the budget of a model with `num_ctx` tokens of context."""
    room, whole = num_ctx // BUDGET_SHARE, opening.messages
    for longest in _LENGTHS:
        if text.tokens(opening.text) > room:
            opening = replace(opening, messages=tuple(_shortened(each, longest) for each in whole))
    while text.tokens(opening.text) > room:
        opening = drop_oldest(opening)
    return opening


def drop_oldest(opening: Opening) -> Opening:
    """The opening without its oldest message, or without its oldest summary when it has no messages."""
    if opening.messages:
        return replace(opening, messages=opening.messages[1:])
    return replace(opening, summaries=opening.summaries[1:])


def earlier_times(
    db: Database, scope: Scope, now: datetime, current_session: int | None = None, *, everywhere: bool = False
) -> tuple[str, ...]:
    """The lines that tell of earlier times, the most recent last: the latest conversations, and the periods before."""
    owner, place = scope.owner, carried_place(scope, everywhere=everywhere)
    besides = [current_session] if current_session else []
    latest: list[Summary] = []
    for where in dict.fromkeys((scope.place, place)):
        known = {each.session for each in latest}
        recent = summaries.recent(db, owner, where, _READ, besides)
        others = [each for each in reversed(recent) if each.session not in known]
        latest += [each for each in others if _is_of_substance(db, each.session or 0)][: _WHOLE - len(latest)]
    besides += [each.session for each in latest if each.session]
    of_periods: list[str] = []
    for unit in ("week", "month", "quarter", "year"):
        if period := _latest_period(db, owner, place, periods.containing(now.date(), unit), besides):
            lines = [each for each in _tell(db, owner, place, period, besides) if each not in of_periods]
            of_periods += lines[: max(1, sum(end <= _BRIEF for end in accumulate(map(len, lines))))]
    return tuple(reversed([*map(_line, latest), *of_periods]))


def _latest_period(
    db: Database, owner: str, place: str | None, present: periods.Period, besides: Sequence[int]
) -> periods.Period | None:
    """The latest period, this week or before the present one, with a conversation that is not carried over itself."""
    end = present.end if present.unit == "week" else present.first
    for summarised in (False, True):
        last = sessions.last_day_before(db, owner, place, end, besides, summarised=summarised)
        period = periods.containing(last, present.unit) if last else None
        if period and (summarised or summaries.of_period(db, owner, period.key)):
            return period
    return None


def _tell(db: Database, owner: str, place: str | None, period: periods.Period, besides: Sequence[int]) -> Iterator[str]:
    """A period in as few lines as may be, the most recent first."""
    last = sessions.last_day_before(db, owner, place, period.end, besides, summarised=False)
    if last is None or last < period.first:
        return
    summary = summaries.of_period(db, owner, period.key)
    if summary and not sessions.any_not_carried(db, owner, place, period.first, period.end):
        yield _line(summary, period)
        return
    for part in reversed(periods.parts(period)) if period.unit in ("week", "month") else ():
        yield from _tell(db, owner, place, part, besides)


def _line(summary: Summary, period: periods.Period | None = None) -> str:
    """The first sentences that are together short enough; only a sentence that is longer still is cut."""
    longest, pieces = _BRIEF if period else _LONGEST, text.sentences(summary.text) or [""]
    ends = accumulate(len(each) + 1 for each in pieces)
    words = text.one_line(" ".join(pieces[: max(1, sum(end <= longest + 1 for end in ends))]), _LONGEST)
    verbatim = "" if period else keywords.merge_details([summary.details], _DETAILS, words)
    line = f"{words} Word for word: {text.one_line(verbatim, _DETAILS)}" if verbatim else words
    if summary.method == summaries.EXTRACT:
        line = f"in the person's words: {line}"
    if period:
        began = f"{period.first:{'%B %Y' if period.unit == 'month' else '%d %B %Y'}}"
        name = f"{'week from ' if period.unit == 'week' else ''}{began}"
        if period.unit in ("year", "quarter"):
            name = " ".join(reversed(period.key.split("-")))
        return f"- {name} ({summary.handle}): {text.unfenced(line)}"
    day = f"{clock.local(summary.started_at, summary.utc_offset):%d %B %Y}"
    return f"- {day} (s{summary.session}): {text.unfenced(line)}"
