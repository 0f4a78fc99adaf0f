"""A conversation at the keyboard, from the command line. Imported late is what only a conversation needs."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_cli.cli.invocation import Invocation
from agent_cli.messages import Part

if TYPE_CHECKING:
    from agent_cli.memory.conversations.sessions import Session


def run(invocation: Invocation, session: "Session | None", first: Sequence[Part] = ()) -> None:
    """Converse until the person leaves; `first` is sent at once. Raises AgentError."""
    _import_asyncio()
    from agent_cli.repl.shell import shell  # with prompt-toolkit 100 ms

    shell.run(invocation.app(), session, first, invocation.display())


def resume_chosen(invocation: Invocation) -> None:
    """Let the person choose a session, and go on with it. Raises AgentError."""
    _import_asyncio()
    from agent_cli.repl.commands import session_commands  # prompt-toolkit, as above

    if session := session_commands.pick(invocation.app()):
        run(invocation, session)


def _import_asyncio() -> None:
    """Import asyncio without ssl, which is hidden from it as on a Python without: 10 ms before the prompt stands.

    Nothing here speaks TLS through asyncio: requests to models and feeds go over sockets, and the HTTP client of MCP
    servers encrypts by itself.
    """
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]
