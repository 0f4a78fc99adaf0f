"""Why memory added what it did to a question: a bar for how strongly each line speaks for itself, and the reason."""

from collections.abc import Iterator

from agent_cli.render.layout import wrap
from agent_cli.render.styles import DIM, Display, bar
from agent_cli.repl.pages import recall_reasons
from agent_cli.repl.pages.recall_reasons import Reason
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import clean

_BAR = 8  # cells


def page(db: Database, owner: str, message: int, display: Display, *, scores: bool = False) -> str:
    """The lines recalled for a message; `scores`: with what each score is made of."""
    found = recall_reasons.of_message(db, owner, message)
    if not found:
        return f"nothing was recalled for {ids.handle('message', message)}"
    return "\n".join(line for each in found for line in _lines(each, display, scores))


def _lines(reason: Reason, display: Display, scores: bool) -> Iterator[str]:
    text = clean(reason.row.text).removeprefix("- ")
    said = [reason.text, *([recall_reasons.score_line(reason.row)] if scores else [])]
    if display.screen_reader:
        yield from (f"{text} ({round(100 * reason.share)} % of the best)", *said)
        return
    indent = " " * (_BAR + 2)
    room = display.width() - len(indent) - 2
    first, *rest = [line for part in text.split("\n") for line in wrap(part, room).split("\n")]
    yield f"{bar(reason.share, _BAR):<{_BAR}}  {first}"
    yield from (indent + line for line in rest)
    for each in said:
        yield from (indent + display.styled(line, DIM) for line in wrap(clean(each), room).split("\n"))
