"""Whether what is typed at the prompt may come from a process that the assistant started: then it is nobody's word."""

import asyncio
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer

from agent_cli.app.app import App


class TypistCheck:
    """Looks at the first key of a line, on a thread: a process that types it cannot have ended by then."""

    def __init__(self, app: App, buffer: Buffer, say: Callable[[str], None]):
        self._app, self._say = app, say
        self._look: asyncio.Future[str] | None = None  # at the current line
        self._said = False
        buffer.on_text_changed += self._begin

    async def reason(self, line: str) -> str:
        """Why this line, which was just sent, may not be the person's; empty where it is. Said once, of words."""
        look, self._look = self._look, None
        if look:
            await look
        reason = self._app.why_no_yes(look=look is None)  # the editor was opened since its first key, perhaps
        if reason and not self._said and not line.startswith("/"):
            self._said = True
            self._say(f"what is typed here does not count as yours: {reason}")
        return reason

    def _begin(self, buffer: Buffer) -> None:
        if buffer.text and self._look is None:
            self._look = asyncio.get_running_loop().run_in_executor(None, self._app.why_no_yes)
