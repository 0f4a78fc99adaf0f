"""A key that is awaited, and a Ctrl-C that comes when no system call is waiting for it."""

import os
import signal
import threading
from contextlib import contextmanager

import pytest

from agent_cli import terminal


def test_a_ctrl_c_that_interrupts_no_read_ends_the_question(monkeypatch):
    awaited, keyboard = os.pipe()
    asked, ended, in_time = threading.Event(), threading.Event(), []

    @contextmanager
    def opened():
        yield awaited

    def interrupt():
        asked.wait(10)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # to this thread: the read goes on undisturbed
        in_time.append(ended.wait(10))
        os.write(keyboard, b"y")  # the key without which it would wait for ever

    monkeypatch.setattr(terminal, "_opened", opened)
    monkeypatch.setattr(terminal, "_write", lambda *_: asked.set())
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            terminal.key("allow it? ")
    finally:
        ended.set()
        thread.join()
        os.close(awaited)
        os.close(keyboard)
    assert in_time == [True]
