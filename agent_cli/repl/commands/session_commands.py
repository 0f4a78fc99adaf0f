"""The slash commands for sessions: /new, /close, /sessions, /resume, /rename, /export, /summary …"""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from agent_cli import text
from agent_cli.agent.events import Event, Noticed, TextArrived, Work
from agent_cli.agent.jobs import summariser
from agent_cli.agent.policy import Approve
from agent_cli.app import background
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Receipt
from agent_cli.render.layout import Verbatim, cut
from agent_cli.repl import pages
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Leave, Result, Resumed, Screen, changing, command
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.keyboard import key_reader
from agent_cli.store import ids

_OFFERED = 300  # sessions
_NOTHING = "no session in the list has these words; Enter looks for them in all that was said"


async def choose(app: App) -> sessions.Session | None:
    """The session to resume; None when the person leaves. Raises UsageError when there is no session."""
    rows = sessions.listing(app.db, app.scope.owner, _OFFERED)
    if not rows:
        raise UsageError("there is no session to resume yet; start one without -r")
    rows.sort(key=lambda row: row["kind"] in sessions.ONE_SHOTS)
    now = app.time()
    width = max(len(pages.last_said(row, now)) for row in rows)
    lines = [pages.session_line(row, now, width) for row in rows]
    choices = [
        key_reader.PickerRow(row["id"], line, line.casefold(), (row["id"], row["id"][1:]))
        for row, line in zip(rows, lines, strict=True)
    ]

    def preview(handle: str, width: int) -> Sequence[str]:  # the last question and its answer, each on a line
        id = ids.number("session", handle)
        said = [("you", log.nth_last(app.db, id, "user", 1)), ("agent", log.nth_last(app.db, id, "assistant", 1))]
        return [cut(text.one_line(f"{who}: {each.message.text}", width), width) for who, each in said if each]

    offered = key_reader.PickerList("which one?", choices, _NOTHING, preview, elsewhere=True)
    while typed := await key_reader.choose(offered):
        try:
            return sessions.resolve(app.db, typed, app.scope.owner)
        except UsageError as error:
            print(text.clean(str(error)), flush=True)
    return None


@command("/new", "/clear", examples=("/new",))
def new(conversation: Conversation, argument: str) -> Result:
    """Start a fresh session. Nothing is deleted: the old one is closed and kept."""
    if left := conversation.leave():
        return f"{left.handle} is closed and kept; what you say next begins a new session"
    return "this session is new"


@changing("/close", examples=("/close",))
def close(conversation: Conversation, argument: str) -> Result:
    """Close the session and write its summary. Ctrl-C keeps it open."""
    session = conversation.session
    return conversation.close(session) if session else "nothing has been said yet"


@command("/sessions [COUNT]", on_file=True, examples=("/sessions", "/sessions 50"))
def sessions_(conversation: Conversation, argument: str) -> Result:
    """List the latest sessions."""
    rows = sessions.listing(conversation.app.db, conversation.app.scope.owner, commands.count(argument))
    return pages.sessions_page(rows, conversation.app.time()) or "there are no sessions"


@command("/resume [SESSION|TEXT]", completes=("session",), on_file=True, examples=("/resume s4", "/resume tax return"))
def resume(conversation: Conversation, argument: str) -> Result:
    """Go on with an earlier session: its handle, or words that stand in it; alone it shows a list that you can filter.

    The last exchange is shown. An answer that was cut says so; what you were asked and did not answer is asked again.
    """
    app = conversation.app

    def resumed(session: sessions.Session) -> Result:
        conversation.resume(session)
        return Resumed(session, conversation.unfinished())

    async def show() -> Result:
        chosen = await choose(app)
        return resumed(chosen) if chosen else "the session goes on"

    return resumed(sessions.resolve(app.db, argument, app.scope.owner)) if argument else Screen(show)


@changing("/rename TITLE", examples=("/rename Tax return", "/rename Router in the attic"))
def rename(conversation: Conversation, argument: str) -> Result:
    """Give the session a title."""
    session = conversation.session
    if session is None:
        raise UsageError("nothing has been said yet: there is no session to give a title to")
    if not argument:
        name = sessions.name(conversation.app.db, session)
        raise UsageError(f"write the title after it, as in /rename Tax return; now it is “{name}”")
    sessions.change(conversation.app.db, session.id, title=argument)
    return f"{session.handle} is now “{argument}”"


@command("/export [FILE]", completes=("file",), examples=("/export", "/export ~/router.md"))
def export(conversation: Conversation, argument: str) -> Result:
    """Write the session as Markdown to a file, or show it."""
    session = conversation.session
    if session is None:
        return "nothing has been said yet"
    written = transfer.to_markdown(conversation.app.db, session)
    if not argument:
        return Verbatim(written)
    file = Path(argument).expanduser()
    try:
        with open(file, "x", encoding="utf-8", errors="replace", opener=partial(os.open, mode=0o600)) as opened:
            opened.write(written)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    return Receipt(f"written to {file}")


@command("/incognito [read]", examples=("/incognito", "/incognito read"))
def incognito(conversation: Conversation, argument: str) -> Result:
    """Leave this session for a conversation that is kept nowhere.

    It ends with the program. Memory is not read in it either, unless you add "read".
    """
    if argument not in ("", "read"):
        raise commands.unexpected("/incognito", argument)
    if not conversation.app.keeps:
        return "this conversation is incognito already; /exit ends it"
    raise Leave(conversation.app.incognito(reads=argument == "read"))


@command("/exit", "/quit", "/bye", examples=("/exit",))
def exit(conversation: Conversation, argument: str) -> Result:
    """Leave. The session is kept, and its summary is written in the background."""
    raise Leave


@command("/lock", on_file=True, examples=("/lock",))
def lock(conversation: Conversation, argument: str) -> Result:
    """Clear the screen, forget the key of the sealed file, and go on once it is given again.

    lock_after in [seal] of the settings does it after so many minutes without a key.
    """
    if not conversation.app.db.key:
        return "the file is not sealed, so there is no key to ask for: `agent db seal` seals it"
    raise Leave(conversation.app, locks=True)


@command("/summary [PERIOD]", completes=("period",), on_file=True, examples=("/summary week", "/summary 2026-11"))
def summary(conversation: Conversation, argument: str) -> Work:
    """Show the summary of today, or of a week or month; what is missing is made now.

    Name it: day, week, month, quarter, year, or 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026. Ctrl-C stops it.
    """
    app = conversation.app
    period, owner = periods.from_words(argument or "today", app.time()), app.scope.owner

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        with app.db.another_connection() as db:
            context = background.job_context(app, db, cancel)
            *parts, _ = period_summaries.parts_with_messages(db, owner, period)
            for part in parts:
                if "".join(summariser.write_period(context, owner, part)):
                    yield Noticed(f"{part.key} is summarised")
            shown = ""
            for piece in summariser.write_period(context, owner, period):
                shown += piece
                yield TextArrived(piece)
            found = summaries.of_period(db, owner, period.key)
            if found is None:
                yield Noticed(f"nothing is kept of {period.key}")
                return
            if older := found.text.removesuffix(" ".join(text.sentences(shown))).strip():
                yield TextArrived(f"\n{older}" if shown else older)
            if found.details:
                yield Noticed(f"verbatim: {found.details}")
            how, why = ("extracted", ": no model answered") if found.method == summaries.EXTRACT else ("summarised", "")
            yield Noticed(f"{period.key} ({found.handle}), {how}{' just now' if shown else ''}{why}")

    return work
