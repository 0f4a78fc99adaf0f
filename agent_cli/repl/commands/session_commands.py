"""The slash commands for sessions: /new, /close, /sessions, /resume, /rename, /export, /incognito and /exit."""

from pathlib import Path

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Receipt
from agent_cli.render.layout import Verbatim
from agent_cli.repl.commands import arguments, session_choice
from agent_cli.repl.commands.command import command
from agent_cli.repl.commands.results import Leave, Result, Resumed, Screen
from agent_cli.repl.pages import session_page
from agent_cli.repl.session.conversation import Conversation


@command("/new", "/clear", examples=("/new",))
def new(conversation: Conversation, argument: str) -> Result:
    """Start a fresh session. Nothing is deleted: the old one is closed and kept."""
    left = conversation.leave()
    return (
        f"{left.handle} is closed and kept; what you say next begins a new session" if left else "this session is new"
    )


@command("/close", on_file=True, changes=True, examples=("/close",))
def close(conversation: Conversation, argument: str) -> Result:
    """Close the session and write its summary. Ctrl-C keeps it open."""
    session = conversation.session
    if session is None:
        return "nothing has been said yet"
    return conversation.close(session)


@command("/sessions [COUNT]", on_file=True, examples=("/sessions", "/sessions 50"), shell={"sessions list": ""})
def sessions_(conversation: Conversation, argument: str) -> Result:
    """List the latest sessions."""
    rows = sessions.listing(conversation.app.db, conversation.app.scope.owner, arguments.count(argument))
    return session_page.page(rows, conversation.app.time()) or "there are no sessions"


@command("/resume [SESSION|TEXT]", completes=("session",), on_file=True, examples=("/resume s4", "/resume tax return"))
def resume(conversation: Conversation, argument: str) -> Result:
    """Go on with an earlier session: its handle, or words that stand in it; alone it shows a list that you can filter.

    The last exchange is shown. An answer that was cut says so; what you were asked and did not answer is asked again.
    """
    app = conversation.app
    if argument:
        return _resume(conversation, sessions.resolve(app.db, argument, app.scope.owner))

    async def show() -> Result:
        chosen = await session_choice.choose(app)
        return _resume(conversation, chosen) if chosen else "the session goes on"

    return Screen(show)


def _resume(conversation: Conversation, session: Session) -> Result:
    """Go on with a session, and with what was not finished in it."""
    conversation.resume(session)
    return Resumed(session, conversation.unfinished())


@command("/rename TITLE", on_file=True, changes=True, examples=("/rename Tax return", "/rename Router in the attic"))
def rename(conversation: Conversation, argument: str) -> Result:
    """Give the session a title."""
    session = conversation.session
    if session is None:
        raise UsageError("nothing has been said yet: there is no session to give a title to")
    if not argument:
        name = sessions.name(conversation.app.db, session)
        raise UsageError(f"write the title after it, as in /rename Tax return; now it is “{name}”")
    sessions.rename(conversation.app.db, session.id, argument)
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
        with file.open("x", encoding="utf-8", errors="replace") as opened:
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
        raise arguments.unexpected("/incognito", argument)
    if not conversation.app.keeps:
        return "this conversation is incognito already; /exit ends it"
    raise Leave(conversation.app.incognito(reads=argument == "read"))


@command("/exit", "/quit", "/bye", examples=("/exit",))
def exit(conversation: Conversation, argument: str) -> Result:
    """Leave. The session is kept, and its summary is written in the background."""
    raise Leave
