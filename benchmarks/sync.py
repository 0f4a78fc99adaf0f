"""Three machines on which a person does by chance what they may, with a post that loses, repeats and delays: do
all have the same rows in the end, and is no erased word left in a file or a segment?"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests import syncing

_STRETCHES = 10  # of one life: then the files are searched


def run(options: Sequence[str]) -> bool:
    """Print what was found; whether all machines agreed and nothing returned."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sync")
    parser.add_argument("--runs", type=int, default=10_000, help="interleavings")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(options)
    began, found = time.monotonic(), list[str]()
    for seed in range(chosen.seed, chosen.seed + chosen.runs // _STRETCHES):
        with tempfile.TemporaryDirectory() as folder:
            found += [
                f"seed {seed}: {each}" for each in syncing.interleavings(Path(folder), seed, _STRETCHES, file=True)
            ]
    print(f"\nthree machines and a post that loses, repeats and delays, {time.monotonic() - began:.0f} s")
    print(f"  interleavings                      {chosen.runs:>6}")
    print(f"  rows that differ, words that return {len(found):>5}  {'NOT' if found else 'ok'}")
    for sentence in found[:20]:
        print(f"    {sentence[:200]}")
    return not found
