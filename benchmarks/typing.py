"""How long a key takes at the prompt, with a file that has been in use for years and a long draft.

The session is the real one, on a pipe for a keyboard and a terminal that shows nothing; a key is done when the prompt
has been drawn anew.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from prompt_toolkit.application import Application, create_app_session, get_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from agent_cli.app.app import App, open_app
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.search import index, word_tables
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.repl.keyboard import keys
from agent_cli.repl.shell import prompt_input
from agent_cli.repl.shell.prompt_input import PromptCompleter, PromptInput
from benchmarks.quiet import percentile_95
from benchmarks.world import PORTION, World

SESSIONS, MESSAGES, LINES, DRAFT = 200, 50, 2000, 5000
KEYS, LISTS = 100, 20
TARGET = 20.0  # milliseconds
Taken = tuple[float, float]
"""Milliseconds that passed, and of the processor in all threads: less than those when others use it too."""
Times = dict[str, list[Taken]]
_WORDS = "the router in the hall has the address and the printer has another one that nobody wrote down "


class _Nowhere:
    """A terminal of 100 by 50 that nobody sees: all is drawn and nothing shown."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


def run(options: Sequence[str] = ()) -> bool:
    """Measure and print; whether each kind of key stays under the target."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks typing")
    parser.add_argument("--rows", type=int, default=0, help="so many messages besides")
    parser.add_argument("--db", type=Path, help="a file to keep: made if it is not there, otherwise used again")
    told = parser.parse_args(options)
    rows: int = told.rows
    with tempfile.TemporaryDirectory() as folder:
        path: Path = told.db or Path(folder) / "memory.db"
        new = not path.exists()
        environ = {"AGENT_DB": str(path), "AGENT_MODEL": "offline"}
        app = open_app({}, print, config_file=Path(folder) / "none.toml", environ=environ)
        if new:
            began = time.perf_counter()
            _fill(app, rows)
            print(f"made in {time.perf_counter() - began:.0f} s")
        drafts = _drafts(World())
        output = Vt100_Output(_Nowhere(), lambda: Size(rows=50, columns=100))  # type: ignore[arg-type]
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
            found = asyncio.run(_typed(app, keyboard, drafts))
        found |= _completed(app)
        app.db.close()
    messages = SESSIONS * MESSAGES + rows
    print(f"\ntyping: {messages:,} messages, {LINES:,} lines of history, a draft of {DRAFT:,} characters, ms")
    print(f"{'':<44} median    p95   most  target         processor: median    p95")
    for name, taken in found.items():
        times, used = zip(*taken, strict=True)
        met = "ok " if percentile_95(times) < TARGET else "NOT"
        row = f"{name:<44} {statistics.median(times):>6.1f} {percentile_95(times):>6.1f} {max(times):>6.1f}"
        print(f"{row}  p95 < {TARGET:.0f}  {met}  {statistics.median(used):>16.1f} {percentile_95(used):>6.1f}")
    return all(percentile_95([elapsed for elapsed, _ in taken]) < TARGET for taken in found.values())


def _fill(app: App, rows: int) -> None:
    """What years have left, and besides so many messages of made-up words; all is indexed."""
    with app.db.write():
        for number in range(SESSIONS):
            id = sessions.start(app.db, app.scope, app.time())
            for each in range(MESSAGES):
                log.add_user_message(app.db, id, app.scope, [Part(f"{number} {each}: {_WORDS}", "typed")], app.time())
        for number in range(LINES):
            words = f"line {number} {_WORDS * (number % 7)}" + "\nand more" * (number % 5)
            log.add_prompt(app.db, app.scope, None, words, app.time())
    world = World()
    for first in range(0, rows, PORTION):
        lines = world.sessions(first, min(PORTION, rows - first))
        transfer.import_lines(app.db, app.scope, lines, "benchmark", app.time, print)
        index.refresh_all(app.db, 0)
    for _ in chain(index.refresh_steps(app.db), word_tables.condense(app.db)):
        pass


def _drafts(world: World) -> dict[str, list[str]]:
    """What is typed while memory is searched for it, as its line above the prompt: short, and with all that counts."""
    short = [_WORDS, *(world.question(profile) for profile in ("common", "mixed", "rare") for _ in range(3))]
    return {
        "a letter, while a question is looked up": short,
        "a letter, while a long draft is looked up": [" ".join([each] * 4 + short * 4)[:DRAFT] for each in short],
    }


async def _typed(app: App, keyboard: PipeInput, drafts: dict[str, list[str]]) -> Times:
    line = PromptInput(app, lambda: None, lambda text: None, Display())
    keys.spare_loaded()  # as a session does
    asking = asyncio.create_task(line.ask())
    key = _key(line.application, keyboard)
    while line.buffer.working_index < LINES:  # the history is read once the prompt stands
        await asyncio.sleep(0.01)
    keys.spare_loaded()  # as a session does, once the prompt stands and the commands are loaded
    found = {"a letter, on an empty prompt": [await key("x") for _ in range(KEYS)]}
    line.buffer.document = Document(_WORDS * (DRAFT // len(_WORDS)))
    await asyncio.sleep(0.1)
    found["a letter, at the end of the draft"] = [await key("x") for _ in range(KEYS)]
    line.buffer.cursor_position = DRAFT // 2
    found["a letter, in the middle of the draft"] = [await key("x") for _ in range(KEYS)]
    line.buffer.document = Document("\n".join(_WORDS for _ in range(DRAFT // len(_WORDS))))
    line.buffer.cursor_position = DRAFT // 2
    found["Up and Down in a draft of many lines"] = [await key(each) for each in ("\x1b[A", "\x1b[B") * (KEYS // 2)]
    line.buffer.document = Document("")
    found["Up, a step in the history"] = [await key("\x1b[A") for _ in range(KEYS)]
    found["Down, a step in the history"] = [await key("\x1b[B") for _ in range(KEYS)]
    found |= await _searched(line, keyboard)
    for name, told in drafts.items():
        found[name] = [taken for draft in told for taken in await _looked_up(line, key, draft)]
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    return found


async def _searched(line: PromptInput, keyboard: PipeInput) -> Times:
    """Ctrl-R until its list is drawn, and the keys in it."""
    opened, letters, steps = "Ctrl-R, until the list stands", "a letter in its list", "Ctrl-R again, a step in its list"
    found: Times = {opened: [], letters: [], steps: []}
    for words in ("line 77 the router in the hall", "nobody wrote down", "e", *[""] * LISTS):
        await asyncio.sleep(0.2)  # nobody opens it again at once
        watch = _watch()
        keyboard.send_text("\x12")
        while not (get_app() is not line.application and get_app().render_counter):
            await asyncio.sleep(0)
        found[opened].append(watch())
        key = _key(get_app(), keyboard)
        found[letters] += [await key(each) for each in words]
        found[steps] += [await key("\x12") for _ in range(KEYS if words else 0)]
        keyboard.send_text("\x07")
        while get_app() is not line.application:
            await asyncio.sleep(0.01)
    return found


async def _looked_up(line: PromptInput, key: Callable[[str], Awaitable[Taken]], draft: str) -> list[Taken]:
    """Keys from the moment that a search for a draft begins, for a quarter of a second."""
    line.buffer.document = Document(draft)
    await asyncio.sleep(prompt_input.PAUSE)
    began, taken = time.perf_counter(), []
    while time.perf_counter() - began < prompt_input.PAUSE - 0.05:  # a pause so long begins the next
        taken.append(await key("x"))
        await asyncio.sleep(0.01)
    return taken


def _key(app: "Application[Any]", keyboard: PipeInput) -> Callable[[str], Awaitable[Taken]]:
    """Presses a key; until the prompt, or its list, is drawn anew."""
    drawn = asyncio.Event()
    app.after_render += lambda _: drawn.set()

    async def press(key: str) -> Taken:
        drawn.clear()
        watch = _watch()
        keyboard.send_text(key)
        await drawn.wait()
        return watch()

    return press


def _completed(app: App) -> Times:
    """Until the menu has its lines, on the thread that makes them."""
    found = {}
    for told in ("/", "/resume ", "/resume s1", "/forget router"):
        found[f"the menu for {told!r}"] = [_offered(app, told) for _ in range(KEYS // 4)]
    return found


def _offered(app: App, told: str) -> Taken:
    watch = _watch()
    list(PromptCompleter(app).get_completions(Document(told), CompleteEvent(completion_requested=True)))
    return watch()


def _watch() -> Callable[[], Taken]:
    """Gives the times since now."""
    began, used = time.perf_counter(), time.process_time()
    return lambda: (1000 * (time.perf_counter() - began), 1000 * (time.process_time() - used))
