"""A terminal held in raw mode, and released while a question needs the keyboard."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class RawKeyboard(ABC):
    """A context manager that holds the keyboard while it is entered."""

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
