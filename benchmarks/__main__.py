"""python -m benchmarks [NAME …]: run them all, or those named. Ends with 1 when a target is missed."""

import sys
from collections.abc import Callable, Mapping

from benchmarks import crash, startup

BENCHMARKS: Mapping[str, Callable[[], bool]] = {"startup": startup.run, "crash": crash.run}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    met = [BENCHMARKS[name]() for name in names or BENCHMARKS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
