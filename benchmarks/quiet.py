"""Times on a machine that is shared, as most are.

What else runs on its processors, or on those of its host, makes everything take up to twice as long, for seconds or for
minutes. So a fixed piece of work is timed before and after whatever is measured. A moment is quiet when that work took
hardly longer than it ever did in this run: it tells how fast the machine was, and nothing of what is measured.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_WORK = 20_000  # additions: about a millisecond
_SLOWER = 1.2  # times the shortest that the work takes, at most, in a quiet moment
_LEAST = 10  # quiet measurements that are enough


@dataclass(frozen=True)
class Timed:
    """Milliseconds that something took: of the clock, of the processor, and of the fixed work beside it."""

    clock: float
    processor: float
    work: float


@dataclass
class Stopwatch:
    """Times things, and the fixed work beside each."""

    works: list[float] = field(default_factory=list)

    def time(self, thing: Callable[[], object]) -> Timed:
        before = self._work()
        began, used = time.perf_counter(), time.process_time()
        thing()
        took, used = time.perf_counter() - began, time.process_time() - used
        return Timed(1000 * took, 1000 * used, max(before, self._work()))

    def quiet(self, times: Sequence[Timed]) -> list[Timed]:
        """Those that were measured in quiet moments."""
        bound = _SLOWER * min(self.works, default=math.inf)
        return [each for each in times if each.work <= bound]

    def counting(self, times: Sequence[Timed], least: int = _LEAST) -> list[Timed]:
        """Those that were measured in quiet moments; all, where these are fewer than `least`."""
        found = self.quiet(times)
        return found if len(found) >= least else list(times)

    def __str__(self) -> str:
        if not self.works:
            return "nothing was timed"
        least, median = min(self.works), statistics.median(self.works)
        return f"the fixed work took {least:.2f} ms at its quickest, {median:.2f} ms in the median"

    def _work(self) -> float:
        began, total = time.perf_counter(), 0
        for number in range(_WORK):
            total += number * number
        self.works.append(1000 * (time.perf_counter() - began))
        return self.works[-1]


def p50(times: Sequence[Timed]) -> float:
    return statistics.median(each.clock for each in times)


def p95(times: Sequence[Timed]) -> float:
    return percentile_95([each.clock for each in times])


def percentile_95(values: Sequence[float]) -> float:
    """The least of the values that 95 of 100 do not exceed."""
    return sorted(values)[-(-95 * len(values) // 100) - 1]
