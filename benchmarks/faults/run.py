"""`python -m benchmarks faults [--points N] [--only WORD] [--how HOW] [--sealed]`: print what faults left behind."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults import commands, injection, shim
from benchmarks.faults.injection import HOWS, Bench, Outcome

POINTS = 15  # of each kind of fault, for each command
_TOLD = 40  # sentences


def run(options: Sequence[str] = ()) -> bool:
    """Print the table; whether nothing was lost, and nothing ended in a traceback or a file that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks faults")
    parser.add_argument("--points", type=int, default=POINTS, help="calls of a command at which each fault is tried")
    parser.add_argument("--only", default="", help="only commands with this word")
    parser.add_argument("--how", choices=HOWS, action="append", help="only this kind of fault; may be given again")
    parser.add_argument("--sealed", action="store_true", help="a sealed home")
    chosen = parser.parse_args(options)
    began, total = time.monotonic(), Outcome()
    with tempfile.TemporaryDirectory() as folder:
        try:
            library = shim.compiled(Path(folder))
        except shim.Missing as missing:
            print(f"faults: {missing}", file=sys.stderr)
            return False
        bench = Bench(Path(folder), library, sealed=chosen.sealed)
        print(f"\n{'faults of the disk':<34}" + _cells("faults", "refused", "killed", "lost", "traceback", "broken"))
        for command in commands.SEALED_COMMANDS if chosen.sealed else commands.COMMANDS:
            if chosen.only in " ".join(command):
                total.add(_print(bench, command, chosen.points, chosen.how or HOWS))
        bench.close()
    met = not (total.lost or total.tracebacks or total.broken)
    print(f"  {_row('in all', total)}  {'ok' if met else 'NOT'}, {time.monotonic() - began:.0f} s")
    for sentence in [*total.lost, *total.tracebacks, *total.broken][:_TOLD]:
        print(f"    {sentence}")
    return met


def _print(bench: Bench, command: Sequence[str], points: int, hows: Sequence[str]) -> Outcome:
    found = Outcome()
    for each in injection.inject(bench, command, points, hows):
        found.add(each)
    print(f"  {_row(' '.join(command), found)}", flush=True)
    return found


def _row(name: str, found: Outcome) -> str:
    sentences = (len(each) for each in (found.lost, found.tracebacks, found.broken))
    return f"{name[:32]:<32}" + _cells(found.faults, found.refused, found.killed, *sentences)


def _cells(*values: object) -> str:
    return "".join(f"{value:>10}" for value in values)
