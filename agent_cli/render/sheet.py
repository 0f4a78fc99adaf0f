"""What an answer is written on, chosen by what the terminal can show."""

from typing import Protocol, TextIO

from agent_cli.render.look import Look
from agent_cli.render.markdown import Markdown
from agent_cli.render.stream import Aloud, Paper


class Sheet(Protocol):
    def write(self, text: str) -> None: ...

    def gap(self) -> None:
        """What comes is a new piece of the answer: words before a tool was called and words after it."""
        ...

    def end(self) -> None:
        """Write what is held, and end the line, if words stand on it."""
        ...


def sheet(out: TextIO, look: Look, style: str = "") -> Sheet:
    """The paper for this look; `style` is that of all its words, in SGR codes, where they can have one."""
    if look.markdown:
        return Markdown(out, look, style)
    return Aloud(out) if look.aloud else Paper(out)
