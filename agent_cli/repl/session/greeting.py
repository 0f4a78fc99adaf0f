"""What is said around a conversation: at its start what the model sees of earlier ones, and above the prompt what is
new: proposals that wait for approval, jobs that failed.

News is reported once: proposals that waited at the start are reported there, failed jobs once in a session.
"""

from collections.abc import Callable
from datetime import datetime
from io import StringIO

from agent_cli import clock
from agent_cli.agent import carry_over, model_context
from agent_cli.app.app import App
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.review import review
from agent_cli.messages import Failure
from agent_cli.render import markdown
from agent_cli.render.layout import formatted
from agent_cli.render.reply_lines import with_sign
from agent_cli.render.styles import YOU, Display
from agent_cli.store import jobs
from agent_cli.text import counted, one_line

_SHOWN, _SHOWN_LINES = 600, 12  # characters and lines of a message of the last exchange


def opening(app: App) -> list[str]:
    """The lines at the start of a new session."""
    if shown := carried_over(app):
        return [shown]
    return [
        "agent, an assistant that remembers. It talks to the model on this machine.",
        f"Everything is kept in one file of yours: {app.db.path}",
        "Nothing is remembered without your yes. /help lists the commands.",
    ]


def carried_over(app: App) -> str:
    """What a new session carries over from earlier ones; empty when there are none."""
    if not app.reads:
        return "nothing of memory is read in this run; what is said is kept"
    db, scope = app.db, app.scope
    composed, previous = carry_over.compose(db, scope, app.time(), everywhere=app.carries_everywhere)
    shown = carry_over.fit_context(composed, app.config.num_ctx)
    latest = sessions.last_here(db, scope, app.terminal)
    if previous is None or not shown.text:
        return _elsewhere(app, latest)
    summaries, messages = len(shown.summaries), len(shown.messages)
    parts = [counted(summaries, "summary", "summaries")] if summaries else []
    if messages:
        day = _day_name(clock.local(previous.last_at, previous.utc_offset), app.time())
        last = "the last message" if messages == 1 else f"the last {messages} messages"
        parts.append(f"{last} of {_label(app, previous)} ({day})")
    option = "-c" if latest and latest.id == previous.id else f"-r {previous.handle}"
    return f"carried over: {' and '.join(parts)} · agent {option} goes on with {'it' if messages else previous.handle}"


def _elsewhere(app: App, latest_here: Session | None) -> str:
    """Which session can be continued when none of this place is carried over; empty when there is none at all."""
    if latest_here:
        return f"last: {_label(app, latest_here)} (agent -c goes on with it) · /help"
    latest = sessions.latest(app.db, app.scope.owner)
    return f"last: {_label(app, latest)} (agent -r {latest.handle} goes on with it) · /help" if latest else ""


def incognito(app: App) -> str:
    """The line for a conversation that is not stored."""
    read = "memory is read, and" if app.reads else "nothing of memory is read, and"
    return f"incognito: {read} nothing is written: when you leave, this conversation is gone"


def resumed(app: App, session: Session) -> str:
    """How much the model sees of a resumed session."""
    seen = model_context.visible(app.db, session.id, app.window)
    whole, shown = log.count_spoken(app.db, session.id), log.count_spoken(app.db, session.id, seen[0]) if seen else 0
    if not whole:
        return f"{_label(app, session)} goes on"
    if shown == whole:
        extent = f"all of it ({counted(whole, 'message')})"
    else:
        extent = f"its last {shown} messages, and the {whole - shown} before them in short"
    return f"{_label(app, session)} goes on: the model sees {extent}"


def last_exchange(app: App, session: Session, display: Display) -> str:
    """The last question of a session and the beginning of its answer, drawn as they were, and whether the answer was
    cut off; empty without a question."""
    asked = log.nth_last(app.db, session.id, "user", 1)
    if asked is None:
        return ""
    answer = log.nth_last(app.db, session.id, "assistant", 1)
    question = one_line(asked.message.text, _SHOWN)
    if display.screen_reader:
        lines = [f"You: {question}"]
    else:
        lines = [with_sign(formatted(question, display, 2).split("\n"), display, YOU)]
    if answer is None or answer.id < asked.id:
        if not log.undecided_calls(app.db, session.id):
            lines.append("no answer came: /retry asks again")
    else:
        lines.append(_drawn(answer.message.text, display))
        if answer.finish in ("cancelled", "interrupted"):
            lines.append("the answer was cut off there: /retry asks again")
    return "".join(f"{line}\n" for line in lines)


def _drawn(answer: str, display: Display) -> str:
    """The first lines of an answer, as they stood on the screen."""
    lines, left = list[str](), _SHOWN
    for line in answer.strip().split("\n")[:_SHOWN_LINES]:
        if len(line) > left:
            lines += [f"{line[: left - 1].rstrip()}…"] if not lines else []
            break
        lines.append(line)
        left -= len(line)
    out = StringIO()
    writer = markdown.answer_writer(out, display)
    writer.write("\n".join(lines))
    writer.end()
    shown = out.getvalue().strip("\n")
    whole = "\n".join(lines) == answer.strip() or shown.endswith("…")
    return f"{'Answer: ' if display.screen_reader else ''}{shown}{'' if whole else f'{chr(10)}…'}"


def _label(app: App, session: Session) -> str:
    return f"{session.handle} “{sessions.name(app.db, session)}”"


def _day_name(said: datetime, now: datetime) -> str:
    days = (now.date() - said.date()).days
    if days in (0, 1):
        return ("today", "yesterday")[days]
    return f"{said:%A}" if 1 < days < 7 else f"{said.day} {said:%b %Y}"


class Notices:
    def __init__(self, reviewer: Callable[[], MemoryContext]):
        self._reviewer = reviewer
        self._waiting: frozenset[review.ProposalKey] | None = None
        self._given_up = 0
        self._failure_reported = False
        self._version: object = None

    def news(self) -> list[str]:
        """Lines about what is new since the last call. Takes microseconds while no other connection has written."""
        reviewer = self._reviewer()
        version = reviewer.db.value("pragma data_version")
        if version == self._version:
            return []
        self._version = version
        waiting, given_up = frozenset(review.pending(reviewer)), jobs.count_parked(reviewer.db)
        before, self._waiting = self._waiting, waiting
        failed, self._given_up = given_up - self._given_up, given_up
        if before is None:
            return []
        lines = []
        if waiting - before:
            lines.append(review.waiting_notice(sorted(waiting)))
        if failed > 0 and not self._failure_reported:
            self._failure_reported = True
            lines.append(Failure("some background work failed: /doctor says more"))
        return lines
