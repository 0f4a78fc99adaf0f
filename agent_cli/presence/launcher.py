"""Runs a command with the mark of what the assistant starts: a limit that it and all below it keep, on Linux.

    python launcher.py MARK COMMAND…

The mark is what the limit on message queues, which hardly any program uses, leaves when it is divided by 4096. A limit
can be lowered by anyone and raised by root alone, and it outlasts an emptied environment, another parent, another
session, another namespace, and the end of the assistant. It is run as a file, so that the start takes 10 ms.
"""

import os
import sys


def limit(hard: int, mark: int) -> int:
    """The highest limit that bears the mark and is not above this one; 0 or less where there is none."""
    return hard - (hard - mark) % 4096


def main(arguments: list[str]) -> None:
    import resource

    mark, command = int(arguments[0]), arguments[1:]
    hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    wanted = limit(1 << 20 if hard == resource.RLIM_INFINITY else hard, mark)
    if wanted > 0:
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (wanted, wanted))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
