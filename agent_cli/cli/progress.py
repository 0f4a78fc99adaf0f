"""How far something has come: one line on standard error that is written over, at a terminal and nowhere else."""

import shutil
import sys
from types import TracebackType

from agent_cli.cli import output
from agent_cli.text import one_line


class ProgressLine:
    """The line, erased when it ends. What is noted meanwhile stands above it."""

    def __init__(self, quiet: bool = False):
        self._shown = False
        self.live = sys.stderr.isatty() and not quiet

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._erase()

    def show(self, text: str) -> None:
        if self.live:
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[K{one_line(text, max(1, width - 1))}")
            sys.stderr.flush()
            self._shown = True

    def note(self, text: str) -> None:
        self._erase()
        output.note(text)

    def _erase(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
