"""An answer with everything that has ever broken a screen: for the tests of the renderer and its benchmark.

Every other of its words is a number, so that what is missing or stands twice can be counted on any screen.
`python -m tests.torture ours|live SECONDS DONE [HUGE]` streams it to the terminal: as the program does, or by Rich.
"""

import itertools
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_cli.render import styles
from agent_cli.render.markdown import MarkdownWriter

SIZES = ((60, 20), (100, 30), (40, 15), (120, 40), (70, 24), (80, 24))

PARAGRAPHS, LINES = 60, 70
HUGE = 2_000_000  # characters of the long line
_PIECES = 200

_WORDS = ("the", "router", "keeps", "an", "address", "for", "each", "host", "and", "lease", "may", "give", "it", "back")
_WIDE = ("你好世界", "今日は", "안녕하세요", "👩‍👩‍👧", "👍🏽", "é", "ﷺ", "❤️", "עברית", "🇩🇪")
_OPEN = ("**never closed", "a `tick", "2 * 3 * 4", "_half", "[no link", "__init__", "snake_case_name", "5 < 6 | 7")


def numbers(shown: str) -> list[str]:
    """The numbered words, in the order they stand there."""
    return re.findall(r"w\d+", shown)


def text(seed: int = 1) -> str:
    chance, number = random.Random(seed), itertools.count()

    def some(count: int) -> str:
        told = []
        for word in chance.choices(_WORDS, k=count):
            told.append(word if chance.random() < 0.5 else f"w{next(number)}")
        return " ".join(told)

    def paragraph(n: int) -> str:
        marked = f"**{some(3)}** and *{some(2)}* with `code {n}`"
        told = f"{some(20)} {marked} {chance.choice(_WIDE)} {some(15)} {chance.choice(_OPEN)} {some(10)}"
        match n % 6:
            case 0:
                return f"## {some(3)}\n\n{told}."
            case 1:
                return "\n".join(f"- {some(18)}\n  - {some(4)}" for _ in range(3))
            case 2:
                return f"> {told}\n\n1. {some(16)}\n2. {some(5)}"
            case 3:
                return f"{told} [{some(2)}](https://example.org/{n}) {some(8)}\n{''.join(chance.choices(_WIDE, k=60))}"
        return told

    def table() -> str:
        rows = [f"| {some(2)} | {chance.choice(_WIDE)} | {n} |" for n in range(5)]
        return "\n".join([f"| {some(1)} | b | c |", "| --- | :-: | --: |", *rows])

    code = "\n".join(
        f'    value_{n} = compute("{n}", depth={n})  # w{next(number)}' if n % 5 else "" for n in range(LINES)
    )
    pieces = [paragraph(n) for n in range(PARAGRAPHS)]
    pieces.insert(20, f"```python\ndef run():\n{code}\n```")
    pieces.insert(40, table())
    return "\n\n".join(pieces) + "\n"


def huge(characters: int = HUGE) -> str:
    """A line of so many characters, numbered on."""
    line = "".join(f"w{n} " for n in range(100_000, 100_000 + characters // 8))
    return f"{line}\n"


def pieces(told: str, count: int = _PIECES) -> Iterator[str]:
    size = len(told) // count + 1
    for start in range(0, len(told), size):
        yield told[start : start + size]


def ours(told: Iterable[str]) -> None:
    writer = MarkdownWriter(sys.stdout, styles.detect(sys.stdout, os.environ, "always"))
    for piece in told:
        writer.write(piece)
    writer.end()


def live(told: Iterable[str]) -> None:
    """As most do: all of it is drawn again with each piece."""
    from rich.live import Live
    from rich.markdown import Markdown as Rich

    whole = ""
    with Live(vertical_overflow="visible", refresh_per_second=10) as screen:
        for piece in told:
            whole += piece
            screen.update(Rich(whole))


STREAMS: dict[str, Callable[[Iterable[str]], None]] = {"ours": ours, "live": live}


@contextmanager
def tmux(folder: Path, command: str) -> Iterator[Callable[..., str]]:
    """A server of its own with the command in a window of 80 by 24; gives what runs a command of tmux."""
    settings = folder / "tmux.conf"
    settings.write_text("set -g history-limit 300000\nset -g remain-on-exit on\n")
    environ = {**os.environ, "LC_ALL": "C.UTF-8"}

    def run(*words: str) -> str:
        base = ["tmux", "-u", "-S", str(folder / "tmux"), "-f", str(settings)]
        return subprocess.run([*base, *words], check=True, capture_output=True, text=True, env=environ).stdout

    run("new-session", "-d", "-x", "80", "-y", "24", command)
    try:
        yield run
    finally:
        run("kill-server")


def in_tmux(folder: Path, name: str, seconds: float, characters: int) -> str:
    """Everything a person could scroll back to, after six resizes while it streamed."""
    done = folder / f"done-{name}"
    command = f"{sys.executable} -m tests.torture {name} {seconds} {done} {characters}"
    with tmux(folder, command) as run:
        for columns, rows in SIZES:
            time.sleep(seconds / (len(SIZES) + 1))  # they must fall into the stream, wherever it is by then
            run("resize-window", "-x", str(columns), "-y", str(rows))
        end = time.monotonic() + 120
        while not done.exists():
            assert time.monotonic() < end, f"it did not end:\n{run('capture-pane', '-p')}"
            time.sleep(0.02)
        return run("capture-pane", "-p", "-J", "-S", "-")


def main(name: str, seconds: str, done: str, characters: str) -> None:
    def told() -> Iterator[str]:
        for piece in pieces(text()):
            yield piece
            time.sleep(float(seconds) / _PIECES)
        yield from pieces(huge(int(characters)))

    STREAMS[name](told())
    sys.stdout.flush()
    Path(done).touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
