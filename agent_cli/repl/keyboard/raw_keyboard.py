"""A terminal held in raw mode, and released while a question needs the keyboard."""

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from prompt_toolkit.input import Input


class RawKeyboard(ABC):
    """A context manager that holds the keyboard while it is entered."""

    _input: Input

    @abstractmethod
    def _acquire(self) -> None:
        """Take the keyboard."""

    @abstractmethod
    def _release(self) -> None:
        """Give the keyboard back in its former mode."""

    def __enter__(self) -> Self:
        self._acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Release the keyboard for something else, which does not receive the keys typed before."""
        self._release()
        try:
            yield
        finally:
            self._acquire()

    def _hung_up(self) -> bool:
        """Whether the terminal is closed, in a process that received no signal for it."""
        try:
            os.tcgetpgrp(self._input.fileno())
        except OSError as error:
            return error.errno == errno.EIO
        return False
