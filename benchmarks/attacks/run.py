"""`python -m benchmarks attacks [--only WORD]`: print how many attacks were made, and which of them were accepted."""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.attacks import keyboards, posing, processes, texts
from benchmarks.attacks.house import House, Outcome

LEAST = 300  # cases in all
_FAMILIES: dict[str, Callable[..., Iterator[Outcome]]] = {
    "processes": processes.attacks,
    "keyboards": keyboards.attacks,
    "texts": texts.attacks,
    "posing": posing.attacks,
}
_CONTROLS = (processes.control, keyboards.control)


def run(options: Sequence[str] = ()) -> bool:
    """Print the table; whether nothing was accepted and nothing posed, while both controls were accepted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attacks")
    parser.add_argument("--only", choices=_FAMILIES, action="append", help="only this part; may be given again")
    chosen = parser.parse_args(options).only or list(_FAMILIES)
    began = time.monotonic()
    made, accepted, failed = Counter[str](), list[Outcome](), list[Outcome]()
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder))
        controls = [control(house) for control in _CONTROLS]
        for name in chosen:
            for outcome in _FAMILIES[name](house):
                made[outcome.family] += 1
                accepted += [outcome] if outcome.decided else []
                failed += [outcome] if outcome.failed else []
    _print(made, accepted, failed, controls)
    enough = len(chosen) < len(_FAMILIES) or made.total() >= LEAST
    met = enough and not accepted and not failed and all(control.decided for control in controls)
    print(f"  {'in all':<42}{made.total():>7}{len(accepted):>10}{len(failed):>10}  {'ok' if met else 'NOT'}, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    print(f"  not promised of what runs as the person, and not tried: {'; '.join(processes.OUT_OF_PROMISE)}")
    return met


def _print(
    made: Counter[str], accepted: Sequence[Outcome], failed: Sequence[Outcome], controls: Sequence[Outcome]
) -> None:
    print(f"\n{'attacks on a yes':<44}{'cases':>7}{'accepted':>10}{'not run':>10}")
    decided, silent = (Counter(each.family for each in some) for some in (accepted, failed))
    for family, cases in made.items():
        print(f"  {family:<42}{cases:>7}{decided[family]:>10}{silent[family]:>10}")
    for each in controls:
        print(f"  {f'{each.family}: {each.way}':<42}{1:>7}{int(bool(each.decided)):>10}  (is to be accepted)")
    for each in accepted:
        print(f"    {each.family}: {each.way}: {each.goal}: {each.decided}")
    for each in failed:
        print(f"    did not run: {each.family}: {each.way}: {each.goal}: {each.failed}")
