"""Lives through the days and prints the figures beside the aims."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.life import days, ending, judging, misses, times, truths
from benchmarks.life.days import DAYS, THINGS, Life

KINDS = {
    "told": "told, in its words",
    "loosely": "told, loosely",
    "by meaning": "told, by meaning alone",
    "never": "never told",
    "near": "never told, of what is known",
    "forgotten": "forgotten",
}
RIGHT = {
    "told": "known",
    "loosely": "known maybe",
    "by meaning": "known maybe",
    "never": "nothing",
    "near": "nothing maybe",
    "forgotten": "nothing maybe",
}


def run(options: Sequence[str] = ()) -> bool:
    """Print the figures; whether the aims are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks life")
    parser.add_argument("--version", type=Path, help="a checkout of another version, to be measured in its place")
    parser.add_argument("--misses", type=Path, help="a file to write what went wrong to")
    given = parser.parse_args(options)
    if given.version:
        return _of_version(given.version.resolve(), given.misses)
    began = time.monotonic(), time.process_time()
    with days.begun() as life:
        life.live()
        of_dates = list(ending.dates(life.person))
        left = ending.forget(life)
        rows = [*_recalled(life), *_verdicts(life)]
        timed, opened = list(times.asked(life.person)), list(times.opened(life.person))
        taken = f"{time.monotonic() - began[0]:.0f} s ({time.process_time() - began[1]:.0f} s of processor)"
    timely = sum(each.right for each in timed)
    is_timely = timely >= 0.95 * len(timed)
    right = sum(each.right for each in of_dates)
    many = sum(len(thing.told) for thing in THINGS)
    rows += [
        (f"facts right on {len(truths.DATES)} dates", _share(right, len(of_dates)), "100 %", right == len(of_dates)),
        ("right day or summary among the first three", _share(timely, len(timed)), "≥ 95 %", is_timely),
        *(
            (
                f"opening after {each.pause} days: each period, five sessions",
                "yes" if each.right else "no",
                "yes",
                each.right,
            )
            for each in opened
        ),
        (f"traces of {len(left)} forgotten words", str(sum(left.values())), "0", not any(left.values())),
    ]
    print(f"\n{DAYS} days, {life.turns} turns, {many} things told, {len(life.asked)} times asked for; lived in {taken}")
    for name, value, target, met in rows:
        print(f"  {name:<50} {value:>16}  {target}{'' if not target else ' ok' if met else ' NOT'}")
    if given.misses:
        given.misses.write_text(misses.listed(life, of_dates, left, RIGHT, timed, opened), encoding="utf-8")
    return all(met for *_, met in rows)


def _of_version(folder: Path, misses: Path | None) -> bool:
    """Measure another checkout with this benchmark, in a process of its own."""
    python = folder / ".venv/bin/python"
    with tempfile.TemporaryDirectory() as joined:
        for name, where in (("agent_cli", folder), ("tests", folder), ("benchmarks", Path(__file__).parents[2])):
            Path(joined, name).symlink_to(where / name)
        program = "import sys; from benchmarks.life import run; sys.exit(not run.run(sys.argv[1:]))"
        options = ["--misses", str(misses.resolve())] if misses else []
        command = [str(python) if python.exists() else sys.executable, "-c", program, *options]
        return subprocess.run(command, cwd=joined, check=False).returncode == 0


Row = tuple[str, str, str, bool]


def _recalled(life: Life) -> Iterator[Row]:
    found = [each.found for each in life.asked]
    yield "right memory among the first five", _share(sum(found), len(found)), "≥ 98 %", sum(found) >= 0.98 * len(found)
    for wording, name in misses.WORDED.items():
        some = [each.found for each in life.asked if each.wording == wording]
        yield f"  asked {name}", _share(sum(some), len(some)), "", True
    bad = [each.bad for each in life.asked if each.bad]
    met = len(bad) < 0.01 * len(found)
    yield "wrong, outdated or empty memory before it", _share(len(bad), len(found)), "< 1 %", met
    for name in judging.BAD:
        yield f"  {name}", _share(sum(name in each for each in bad), len(found)), "", True
    shown = sum(bool(said.recalled) for _, said in life.small_talk)
    yield "something recalled for small talk", _share(shown, len(life.small_talk)), "0 %", not shown


def _verdicts(life: Life) -> Iterator[Row]:
    right = [verdict in RIGHT[kind].split() for kind, _, verdict in life.verdicts]
    yield "verdict right", _share(sum(right), len(right)), "≥ 95 %", sum(right) >= 0.95 * len(right)
    for kind, name in KINDS.items():
        counted = Counter(verdict for each, _, verdict in life.verdicts if each == kind)
        some = sum(counted[verdict] for verdict in RIGHT[kind].split())
        yield f"  {name}: {' or '.join(RIGHT[kind].split())}", _share(some, counted.total()), "", True


def _share(some: int, of: int) -> str:
    return f"{100 * some / (of or 1):.1f} % of {of}"
