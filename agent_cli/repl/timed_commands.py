"""A process of its own that runs a command for each text in turn, without a shell, and kills one that takes too long.

python -m agent_cli.repl.timed_commands SECONDS COUNT COMMAND… TEXT…      COUNT: of the arguments that are COMMAND
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress


def main(arguments: Sequence[str]) -> None:
    seconds, count, rest = float(arguments[0]), int(arguments[1]), arguments[2:]
    for text in rest[count:]:
        with suppress(OSError):
            _run([*rest[:count], text], seconds)


def _run(command: Sequence[str], seconds: float) -> None:
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
