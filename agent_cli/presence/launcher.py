"""Runs a command with the mark of what the assistant starts: a limit that it and all below it keep, on Linux.

    python launcher.py MARK COMMAND…

The mark is a limit on message queues, which hardly any program uses, of half of what is usual, or less. It can be
raised by root alone, so lowering it takes no mark off; and it outlasts an emptied environment, another parent, another
session, another namespace, and the end of the assistant. It is run as a file, so that the start takes 10 ms.
"""

import os
import sys


def is_marked(hard: int, mark: int) -> bool:
    """Whether a limit is the mark or below it; -1 is none."""
    return 0 <= hard <= mark


def main(arguments: list[str]) -> None:
    import resource

    mark, command = int(arguments[0]), arguments[1:]
    hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    if not is_marked(hard, mark):
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (mark, mark))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
