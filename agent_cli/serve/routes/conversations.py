"""Finds the session of a client that resends the whole conversation with each request.

A client of OpenAI's API knows no sessions: each request holds all that was said. The session is the one that has come
just so far, found by a hash of the words up to the last answer; only what comes after that is logged. Where none has,
as when the client had another answer made, or brings a conversation from elsewhere, a new session begins and takes all
of it in. So two clients never write into one session, and nothing that was said is ever taken back.
"""

import json
from collections.abc import Sequence

from agent_cli.agent.transcript import Lines
from agent_cli.app.app import App
from agent_cli.memory.conversations import callers, log, sessions
from agent_cli.memory.conversations.callers import Caller
from agent_cli.messages import Part, Role, encode_parts, join_parts
from agent_cli.serve.core.refusals import Refused
from agent_cli.serve.core.run_turn import OnAnswer, OpenSession
from agent_cli.serve.routes.chat import resume_session
from agent_cli.store.db import Database
from agent_cli.text import without_surrogates
from agent_cli.values import frozen

_ANSWERED = ("stop", "length", "stopped", "repetition")  # how a reply ended that counts as an answer


@frozen
class HistoryMessage:
    role: Role  # user or assistant
    text: str


@frozen
class History:
    """What a client sends, instructions apart; it ends with words of the user."""

    messages: tuple[HistoryMessage, ...]

    @property
    def answered(self) -> tuple[HistoryMessage, ...]:
        """All up to the last answer."""
        last = max((n for n, each in enumerate(self.messages, 1) if each.role == "assistant"), default=0)
        return self.messages[:last]

    @property
    def unanswered(self) -> tuple[HistoryMessage, ...]:
        return self.messages[len(self.answered) :]


def lock_key(db: Database, caller: Caller, history: History, named: str) -> str | None:
    """What the turn waits in line for: a session, or a name that will be one. None where it begins one."""
    if named and _is_handle(named):
        return named
    if named:
        known = callers.named_session(db, caller, named)
        return f"s{known}" if known else f"named {caller.id} {named}"
    found = callers.find_by_transcript(db, caller, fingerprint_text(history.answered)) if history.answered else None
    return f"s{found.session}" if found else None


def session_opener(caller: Caller, history: History, named: str) -> OpenSession:
    """The session that goes on, or a new one with all that was said before."""

    def begin(db: Database, app: App) -> tuple[int, Sequence[Part]]:
        with db.write():
            session = _named_session(db, app, caller, named) if named else None
            found = (
                callers.find_by_transcript(db, caller, fingerprint_text(history.answered)) if history.answered else None
            )
            if (
                session is not None
                and history.answered
                and (found is None or found.session != session or _has_later_answer(db, found))
            ):
                raise Refused(
                    409, "diverged", "what was said in that session is not what this history says: leave X-Session out"
                )
            if session is None and found and not _has_later_answer(db, found):
                session = _resume_or_none(db, app, found.session)
            if session is None:
                session = _import_history(db, app, history.answered)
                if named and not _is_handle(named):
                    callers.name_session(db, caller, named, session, app.time)
        return session, _parts(history)

    return begin


def unlogged_session(history: History) -> OpenSession:
    """All of it, in a conversation that is kept nowhere."""
    return lambda db, app: (_import_history(db, app, history.answered), _parts(history))


def recorder(caller: Caller, history: History, app: App) -> OnAnswer:
    """Remembers how far the session has come."""

    def keep(db: Database, session: int, message: int, answer: str, lines: Lines) -> None:
        said = fingerprint_text((*history.messages, HistoryMessage("assistant", answer)))
        callers.record_transcript(db, caller, said, session, message, app.time)

    return keep


def fingerprint_text(said: Sequence[HistoryMessage]) -> str:
    """What is hashed: the words, for clients do as they like with blanks."""
    return json.dumps([[each.role, " ".join(each.text.split())] for each in said], ensure_ascii=False)


def _named_session(db: Database, app: App, caller: Caller, named: str) -> int | None:
    if _is_handle(named):
        return resume_session(db, app, named)
    known = callers.named_session(db, caller, named)
    return resume_session(db, app, f"s{known}") if known else None


def _is_handle(named: str) -> bool:
    return named[0] == "s" and named[1:].isdigit()


def _resume_or_none(db: Database, app: App, session: int) -> int | None:
    """None where it is hidden, or open elsewhere: what was said is taken in anew."""
    try:
        return resume_session(db, app, f"s{session}")
    except Refused:
        return None


def _has_later_answer(db: Database, found: callers.AnsweredRequest) -> bool:
    """Whether the session has gone on since: a question that got no answer does not count."""
    later = log.history(db, found.session, after=found.message or 0)
    return any(entry.message.role == "assistant" and entry.finish in _ANSWERED for entry in later)


def _import_history(db: Database, app: App, seen: Sequence[HistoryMessage]) -> int:
    """A new session with what was said before. Its answers came of no model here, whatever the client says."""
    now = app.time()
    session = sessions.start(db, app.scope, now)
    messages = []
    for number, each in enumerate(seen, 1):
        text = without_surrogates(each.text)
        parts = encode_parts([Part(text, "http")])
        messages.append(log.ImportedMessage(f"http {number}", now, each.role, text, parts=parts))
    with db.write():
        log.append_imported(db, session, app.scope, messages)
    return session


def _parts(history: History) -> Sequence[Part]:
    return join_parts([Part(without_surrogates(each.text), "http") for each in history.unanswered])
