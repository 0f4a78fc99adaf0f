"""The choice of a session to go on with, of `agent -r` and /resume: by words, handle or the arrow keys."""

import asyncio
from collections.abc import Sequence
from functools import partial

from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.render.layout import cut
from agent_cli.repl.keyboard import picker
from agent_cli.repl.keyboard.picker import PickerList, PickerRow
from agent_cli.repl.pages import session_page
from agent_cli.store import ids
from agent_cli.text import clean, one_line

_OFFERED = 300  # sessions
_NOTHING = "no session in the list has these words; Enter looks for them in all that was said"


def pick(app: App) -> Session | None:
    """The session to resume; None when the person leaves. Raises UsageError when there is no session."""
    return asyncio.run(choose(app))


async def choose(app: App) -> Session | None:
    """The same within a running event loop."""
    rows = sessions.listing(app.db, app.scope.owner, _OFFERED)
    if not rows:
        raise UsageError("there is no session to resume yet; start one without -r")
    rows.sort(key=lambda row: row["kind"] in sessions.ONE_SHOTS)
    now = app.time()
    width = max(len(session_page.when(row, now)) for row in rows)
    choices = [
        PickerRow(row["id"], line, line.casefold(), (row["id"], row["id"][1:]))
        for row in rows
        for line in [session_page.line(row, now, width)]
    ]
    offered = PickerList("which one?", choices, _NOTHING, partial(_preview, app), elsewhere=True)
    while typed := await picker.choose(offered):
        try:
            return sessions.resolve(app.db, typed, app.scope.owner)
        except UsageError as error:
            print(clean(str(error)), flush=True)
    return None


def _preview(app: App, handle: str, width: int) -> Sequence[str]:
    """The last question of a session and its answer, each on a line."""
    id = ids.number("session", handle)
    said = [("you", log.nth_last(app.db, id, "user", 1)), ("agent", log.nth_last(app.db, id, "assistant", 1))]
    return [cut(one_line(f"{who}: {each.message.text}", width), width) for who, each in said if each]
