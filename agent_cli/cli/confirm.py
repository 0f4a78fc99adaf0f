"""Asking the person for a typed line at the terminal of this process, whatever its input is."""

import sys

from agent_cli.errors import NobodyAsked
from agent_cli.presence import terminal
from agent_cli.text import clean


def is_possible() -> bool:
    """Whether input and output are the terminal of this process, so that a person sees the question and can answer."""
    return terminal.is_own(sys.stdin.fileno(), sys.stdout.fileno())


def require_own_terminal() -> None:
    """Raises NobodyAsked where what is typed could be anybody's."""
    if not is_possible():
        raise NobodyAsked(terminal.NOT_OWN)


def is_given(question: str) -> bool:
    """Whether the answer is yes."""
    return answer(question) == "yes"


def answer(question: str) -> str:
    """The typed line in lower case. Only where `is_possible`."""
    sys.stdout.flush()
    return terminal.line(clean(question))
