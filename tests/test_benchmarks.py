"""What benchmarks count: the measurements of quiet moments."""

from benchmarks.quiet import Stopwatch, Timed, p50, p95


def timed(clock, work):
    return Timed(clock, clock, work)


def test_what_was_measured_while_the_machine_was_slow_does_not_count():
    watch = Stopwatch([1.0, 1.1, 2.0, 1.9])
    times = [timed(30.0, 2.0), timed(12.0, 1.1), timed(14.0, 1.0), timed(16.0, 1.15), timed(5.0, 1.9)]
    assert [each.clock for each in watch.quiet(times)] == [12.0, 14.0, 16.0]
    assert p50(watch.counting(times, 3)) == 14.0


def test_where_too_few_moments_were_quiet_all_count():
    watch = Stopwatch([1.0, 2.0])
    times = [timed(30.0, 2.0), timed(12.0, 1.0), timed(20.0, 2.0)]
    assert p50(watch.counting(times, 2)) == 20.0


def test_the_fixed_work_is_timed_beside_what_is_measured():
    watch, done = Stopwatch(), []
    taken = watch.time(lambda: done.append("it"))
    assert done == ["it"]
    assert len(watch.works) == 2  # before and after
    assert taken.work == max(watch.works)


def test_of_a_hundred_times_five_are_above_the_95th_percentile():
    assert p95([timed(float(number), 1.0) for number in range(1, 101)]) == 95.0
