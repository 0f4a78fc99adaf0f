"""Runs a command for each of some words, one after the other, and ends one that takes too long. A process of its own.

    python -m agent_cli.repl.session.timed_commands SECONDS COUNT COMMAND… WORDS…

COUNT is how many of the arguments are the command. There is no shell: the words are one argument, whatever is in them.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress


def main(arguments: Sequence[str]) -> None:
    seconds, count, rest = float(arguments[0]), int(arguments[1]), arguments[2:]
    for words in rest[count:]:
        with suppress(OSError):
            _run([*rest[:count], words], seconds)


def _run(command: Sequence[str], seconds: float) -> None:
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
