"""The time that a turn may take."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agent_cli.errors import Cancelled, TimedOut
from agent_cli.llm.model import Cancel


@contextmanager
def limited(cancel: Cancel, seconds: float | None, message: str) -> Iterator[None]:
    """Cancel what runs inside after so many seconds; None: never. Then raises TimedOut with the message."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        cancel()

    timer = threading.Timer(seconds or 0, give_up)
    timer.daemon = True
    if seconds:
        timer.start()
    try:
        yield
    except Cancelled:
        if late.is_set():
            raise TimedOut(message) from None
        raise
    finally:
        timer.cancel()
