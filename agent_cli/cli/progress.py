"""A progress line on standard error, overwritten as work goes on; shown at a terminal only."""

import shutil
import sys
from types import TracebackType

from agent_cli.cli import output
from agent_cli.text import one_line


class ProgressLine:
    """The progress line, erased at the end. Notes printed meanwhile stand above it."""

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
