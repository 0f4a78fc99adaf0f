"""What a slash command gives back: a text, or something that the screen carries out.

Work is run and drawn like a turn; a screen has the terminal until the person leaves it; a confirmation is asked; a
draft comes into the prompt; a theme is taken on; a text is printed; None prints nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

from agent_cli.agent.runner import Work
from agent_cli.app.app import App
from agent_cli.messages import Part
from agent_cli.values import frozen


@frozen
class Confirmation:
    """Something that is done when the person answers `ask` with a typed "yes"; `yes` returns what is printed then."""

    text: str
    ask: str
    yes: Callable[[], str]
    no: str


@frozen
class Draft:
    """A line for the person to go on with at the prompt. `parts`: its words as they once came in."""

    notice: str
    line: str
    parts: tuple[Part, ...]


@frozen
class Screen:
    """Has the terminal until the person leaves it."""

    show: Callable[[], Awaitable[None]]


@frozen
class Theme:
    """How answers are to be drawn from now on; without a name it is asked how they are."""

    name: Literal["", "ansi", "none"]


Result = Work | Screen | Confirmation | Draft | Theme | str | None


class Leave(Exception):
    """The person wants to go, or to go on with another app in a conversation of its own."""

    def __init__(self, to: App | None = None):
        self.to = to
