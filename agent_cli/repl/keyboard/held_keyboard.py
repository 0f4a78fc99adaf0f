"""The keyboard while it is held, and given away for a question that has it in between."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class Held(ABC):
    """Holds the keyboard while it is entered."""

    @abstractmethod
    def _open(self) -> None:
        """Take the keyboard."""

    @abstractmethod
    def _shut(self) -> None:
        """Give it back, as it was."""

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._shut()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the keyboard to something else; what was typed before is no answer to that."""
        self._shut()
        try:
            yield
        finally:
            self._open()
