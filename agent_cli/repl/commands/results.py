"""What a slash command returns, for the shell to carry out.

Work is run and drawn like a turn; a resumed session is shown with its last exchange, and goes on; a screen has the
terminal until the person leaves it; a confirmation is asked for; a draft is put into the prompt; a page is drawn; a
theme is applied; a text is printed; None prints nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Literal

from agent_cli.agent.runner import Work
from agent_cli.app.app import App
from agent_cli.memory.conversations.sessions import Session
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.values import frozen


@frozen
class Confirmation:
    """An action to be confirmed by a typed "yes": `yes` does it and returns what to print; `no` is printed else."""

    text: str
    ask: str
    yes: Callable[[], str]
    no: str


@frozen
class Question:
    """A question whose typed answer, in lower case, leads to the result."""

    text: str
    ask: str
    answer: Callable[[str], "Result"]


@frozen
class PromptDraft:
    """A line to be edited at the prompt. `parts`: the parts of the message that it comes from."""

    notice: str
    line: str
    parts: tuple[Part, ...]


@frozen
class Screen:
    """Has the terminal until the person leaves it; `show` returns what follows."""

    show: Callable[[], Awaitable["Result"]]


@frozen
class Theme:
    """How answers are to be drawn from now on; an empty name asks for the current theme."""

    name: Literal["", "ansi", "none"]


@frozen
class Page:
    """A text that is drawn for the terminal as it is."""

    draw: Callable[[Display], str]


@frozen
class Resumed:
    """A session that goes on, with what was not finished in it."""

    session: Session
    unfinished: Work | None


Result = Work | Resumed | Screen | Page | Confirmation | Question | PromptDraft | Theme | str | None


class Leave(Exception):
    """The person leaves the conversation; `to` is the app to go on with, in a conversation of its own."""

    def __init__(self, to: App | None = None):
        self.to = to
