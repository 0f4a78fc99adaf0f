"""The session that is played: what is typed, what the model says, and what must stand there before it goes on.

The words of the model are those of a loopback server, the same every time; everything else is the program's.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests import warm
from tests.conftest import CHAT, EMBEDDER, Program
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer
from tests.pictures.screen import Frame, PictureScreen, text
from tests.terminal import ENTER, Terminal

_CLEAR = "\x0c"
_ENV = {"TZ": "Europe/Vienna", "AGENT_PREVIEW": "false", "AGENT_WARM": "false", "AGENT_LEARN": "off"}
_FRIDAY, _NEXT_FRIDAY = "2026-11-20T18:00:00+01:00", "2026-11-27T18:00:00+01:00"


class Shot(NamedTuple):
    """A screen, the seconds that it stays in the moving picture (0: not there), what stands above it, and the name
    of its still; empty: it is none."""

    frame: Frame
    seconds: float
    title: str
    still: str = ""


class Step(NamedTuple):
    typed: str
    until: str  # words that stand there when it is done
    seconds: float = 3.0
    still: str = ""
    answers: tuple[tuple[str, str], ...] = ()  # what is answered to its questions, and the words that then stand there


_FACT = {"statement": "I live in Wels", "quote": "I live in Wels now"}
_BREAD = """\
A loaf of 900 g needs:

| | weight | per cent |
|---|---|---|
| flour | 520 g | 100 |
| water | 360 g | 69 |
| salt | 10 g | 2 |

- Let the dough **rest for an hour**, and fold it twice.
- Bake it at 230 °C; in a shell `sleep 45m` waits for it:

```sh
sleep 45m && printf '\\a'
```
"""
REPLIES = (
    script.reply("Anna, the sister, is allergic to nuts. The person moved to Linz in June 2026."),
    script.reply("A lemon cake: she cannot eat nuts."),
    script.reply("A risotto with peas."),
    script.reply(calls=[("propose_fact", _FACT)]),
    script.reply("Welcome to Wels."),
    script.reply(_BREAD),
)
FIRST = (
    Step("Remember that my sister Anna is allergic to nuts.", "kept f1"),
    Step("Remember that I live in Graz.", "kept f2"),
    Step("Remember that I moved to Linz in June 2026.", "takes it back", 4.0),
    Step("Remember that I am vegetarian.", "kept f4"),
    Step("/close", "closed s1"),
)
LATER = (
    Step("What can I bake for my sister Anna?", "A lemon cake", 4.0),
    Step("/why", "always told", 5.0, "why"),
    Step("What shall I cook tonight?", "A risotto", 4.0),
    Step("I live in Wels now.", "Welcome", 4.0),
    Step("/review", "quit", 5.0, "review", (("y", "1 kept"),)),
    Step("/search Anna", "Facts", 5.0, "search"),
    Step("How do I bake a loaf of bread?", "sleep 45m", 0, "answer"),
    Step("Remind me on Friday at 3pm to call the dentist", "kept t1", 0),
    Step("/tasks", "dentist", 0, "tasks"),
    Step("/facts", "Anna", 0, "facts"),
    Step("/profile", "vegetarian", 0, "profile"),
    Step("/forget f1", "to erase these too", 4.0, "forget", (("all" + ENTER, "left"),)),
)


def since_typed(shot: Shot) -> Shot:
    """The shot without what stood there before its last line was typed, and without empty rows in a row."""
    rows = [number for number, row in enumerate(shot.frame) if re.match("❯ .", text((row,)))]
    frame = shot.frame[rows[-1] if rows else 0 :]
    return shot._replace(
        frame=tuple([row for row, below in zip(frame, (*frame[1:], True), strict=True) if row or below])
    )


def play(folder: Path) -> list[Shot]:
    """Play it all in this folder."""
    with OllamaServer([CHAT, EMBEDDER]) as server:
        server.expect_stable = False
        program = Program(folder).use(server)
        program.env |= _ENV
        server.play(*REPLIES)
        start = _first_screen(program)
        with _terminal(program, _FRIDAY, PictureScreen()) as terminal:
            shots = [start, *_shots(terminal, FIRST, "agent")]
            terminal.enter("/exit").ended()
        program.work = folder / "elsewhere"  # in the same folder the last messages would be carried over
        program.work.mkdir()
        with _terminal(program, _NEXT_FRIDAY, PictureScreen()) as terminal:
            return [*shots, *_shots(terminal, LATER, "agent, a week later, in another folder")]


def _first_screen(program: Program) -> Shot:
    """The first screen with the line below the prompt, which stands where a terminal tells the row of the cursor."""
    screen = PictureScreen()
    with _terminal(program, _FRIDAY, screen, PROMPT_TOOLKIT_NO_CPR="") as terminal:
        terminal.wait(CHAT.name)
    return Shot(screen.frame(), 0, "agent", "start")


@contextmanager
def _terminal(program: Program, now: str, screen: PictureScreen, **env: str) -> Iterator[Terminal]:
    env = program.env | {"AGENT_NOW": now} | env
    terminal = Terminal((), env, program.work, warm.parent().at_terminal, screen)
    screen.reply = terminal.type
    try:
        yield terminal.wait_prompt()
    finally:
        terminal.close()


def _shots(terminal: Terminal, steps: Iterable[Step], title: str) -> Iterator[Shot]:
    screen = terminal.screen
    assert isinstance(screen, PictureScreen)
    terminal.type(_CLEAR).until(lambda: terminal.text.strip() == "❯", "an empty screen")
    for step in steps:
        for start in range(0, len(step.typed), 6):  # keys that come at once are a paste
            terminal.type(step.typed[start : start + 6]).wait_for_line(step.typed[: start + 6])
        if not step.typed.startswith("/"):  # below a command a menu may stand, or not yet
            yield Shot(screen.frame(), 1.0, title)
        terminal.type(ENTER).wait(step.until)
        if not step.answers:
            terminal.wait_prompt()
        yield Shot(screen.frame(), step.seconds, title, step.still)
        for keys, until in step.answers:
            for key in keys:
                terminal.type(key).read(0.1)
            terminal.wait(until)
        if step.answers:
            terminal.wait_prompt()
            yield Shot(screen.frame(), step.seconds, title)
