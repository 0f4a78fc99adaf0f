"""An answer that streams to a terminal while its window is resized: what is lost, and what stands there twice.

The torture stream (tests/torture.py) is shown by the program, and beside it by Rich's Live, which draws all of it again
with each piece. Bytes and movements of the cursor are counted on a pseudo-terminal of 80 by 24 that is not resized.
"""

import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pexpect

from tests import torture

SECONDS = 3.0  # of the stream
_UP = re.compile(rb"\x1b\[\d*[AF]")


def run() -> bool:
    """Print the figures; whether the targets are met."""
    text = torture.text()
    size = len(text.encode())
    print(f"\nan answer of {size / 1000:.0f} KB while it streams for {SECONDS:g} s")
    print(f"  {'':<12} {'bytes':>8} {'of text':>8} {'cursor-ups':>11} {'doubled':>8} {'missing':>8}")
    with tempfile.TemporaryDirectory() as folder:
        met = _told(Path(folder), "ours", text, size)
        _told(Path(folder), "live", text, size)
        began = time.perf_counter()
        huge = torture.HUGE
        whole = torture.numbers(text + torture.huge(huge))
        lost, doubled = _compare(Path(folder), "ours", whole, huge)
        took = time.perf_counter() - began
    good = not lost and not doubled
    print(
        f"  with a line of {huge / 1e6:g} MB: {doubled} doubled, {lost} missing, {took:.1f} s {'ok' if good else 'NOT'}"
    )
    return met and good


def _told(folder: Path, name: str, text: str, size: int) -> bool:
    sent = _sent(folder, name)
    ups = len(_UP.findall(sent))
    missing, doubled = _compare(folder, name, torture.numbers(text), 0)
    good = not ups and not missing and not doubled and len(sent) <= 1.5 * size
    told = f"{len(sent):>8} {len(sent) / size:>8.2f} {ups:>11} {doubled:>8} {missing:>8}"
    print(f"  {name:<12} {told}{('  ok' if good else '  NOT') if name == 'ours' else ''}")
    return good


def _sent(folder: Path, name: str) -> bytes:
    """What a terminal receives."""
    arguments = ["-m", "tests.torture", name, str(SECONDS), str(folder / f"sent-{name}"), "0"]
    child: pexpect.spawn[bytes] = pexpect.spawn(sys.executable, arguments, dimensions=(24, 80), timeout=120)
    return bytes(child.read()).replace(b"\r\n", b"\n")


def _compare(folder: Path, name: str, whole: list[str], characters: int) -> tuple[int, int]:
    """Words missing and words that stand there more than once, after six resizes in tmux; -1 without tmux."""
    if not shutil.which("tmux"):
        print("  tmux is not installed: nothing is resized")
        return -1, -1
    place = folder / f"{name}-{characters}"
    place.mkdir()
    seen = Counter(torture.numbers(torture.in_tmux(place, name, SECONDS, characters)))
    return sum(word not in seen for word in whole), sum(count - 1 for count in seen.values() if count > 1)


if __name__ == "__main__":
    sys.exit(not run())
