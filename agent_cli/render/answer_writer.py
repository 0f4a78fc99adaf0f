"""The writer of an answer, chosen by what the terminal can show."""

from typing import Protocol, TextIO

from agent_cli.render.display import Display
from agent_cli.render.markdown import MarkdownWriter
from agent_cli.render.plain_writer import PlainWriter, SentenceWriter
from agent_cli.render.reply_lines import ReplyCleaner


class AnswerWriter(Protocol):
    def write(self, text: str) -> None: ...

    def new_section(self) -> None:
        """Separate the text before a tool call from the text after it by a blank line."""
        ...

    def end(self) -> None:
        """Write what is held back, and end the line if it has text."""
        ...


def create(out: TextIO, display: Display, style: str = "") -> AnswerWriter:
    """A writer to `out`; `style` applies to all text, in SGR codes, where colours can be shown."""
    if display.markdown:
        return MarkdownWriter(out, display, style)
    return (SentenceWriter if display.screen_reader else PlainWriter)(out, ReplyCleaner())
