"""What the tests stand on: tables, quiet moments, forked commands, and the servers of models."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.quiet import Stopwatch, Timed, p50, p95
from tests import engines, warm
from tests.ollama_server import script
from tests.tables import for_each


def test_every_row_that_fails_is_told():
    @for_each(("one", "other"), [(1, 1), (1, 2), (2, 2), (3, 2)])
    def are_alike(one, other):
        assert one == other

    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows") as failed:
        are_alike()
    told = [note for error in failed.value.exceptions for note in error.__notes__]
    assert told == ["in the row {'one': 1, 'other': 2}", "in the row {'one': 3, 'other': 2}"]


def test_a_row_that_raises_nothing_where_it_should_fails():
    @for_each("text", ["one", "1"])
    def is_no_number(text):
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows"):
        is_no_number()


def test_each_table_is_run_with_each_of_the_other():
    met = []

    @for_each("one", "ab")
    @for_each("other", [1, 2])
    def meet(one, other):
        met.append((one, other))

    meet()
    assert met == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="no rows of text"):
        for_each("text", [])


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


COMMANDS = [
    (["notes", "list", "--json"], ""),
    (["config", "path"], ""),
    (["ask", "is", "anybody", "there?"], "nobody is, café"),
    (["facts", "add", "I live in Linz", "--nonsense"], ""),
    (["search", "when do I see the doctor?", "--json"], ""),
]


def test_a_forked_command_says_and_ends_as_one_from_nothing(program, monkeypatch):
    program.env["AGENT_NOW"] = "2026-01-02T12:00:00+00:00"  # what is found grows older
    program("notes", "add", "dentist appointment Friday 3pm")
    program("search", "dentist")  # the index and its vectors are made
    forked = [program(*arguments, stdin=stdin) for arguments, stdin in COMMANDS]
    monkeypatch.setattr(program, "cold", True)
    assert [program(*arguments, stdin=stdin) for arguments, stdin in COMMANDS] == forked


def test_a_command_that_takes_too_long_is_killed(program, server):
    server.play(script.silence(20, script.reply("at last")))
    with pytest.raises(subprocess.TimeoutExpired):
        program.use(server)("ask", "hello", timeout=0.5)
    server.wait_until_idle()


def test_what_the_interpreter_reads_at_its_start_is_never_forked(program):
    assert warm.can(program.env)
    assert not warm.can({**program.env, "PYTHONUTF8": "0"})
    assert not warm.can({**program.env, "LC_ALL": "C"})


TESTS = Path(__file__).parent
_FUNCTION = re.compile(r"^def (\w+)\((.*?)\)(?: ->[^\n]*)?:", re.MULTILINE | re.DOTALL)
_ARGUMENT = re.compile(r"(?:^|,)\s*(\w+)")
_MARK = re.compile(r"^pytestmark = (.*)$", re.MULTILINE)


def functions(file: Path) -> dict[str, set[str]]:
    """The functions of a file with the names of their arguments and of the fixtures that they are marked to use."""
    text = file.read_text(encoding="utf-8")
    marked = {name for told in _MARK.findall(text) for name in re.findall(r'"(\w+)"', told)}
    return {name: {*_ARGUMENT.findall(arguments)} | marked for name, arguments in _FUNCTION.findall(text)}


def having_a_server() -> Iterator[str]:
    """The tests that have a server, by themselves or by another fixture."""
    for file in TESTS.rglob("test_*.py"):
        known: dict[str, set[str]] = {}
        for folder in (*reversed(file.relative_to(TESTS).parent.parents), file.relative_to(TESTS).parent):
            if (shared := TESTS / folder / "conftest.py").exists():
                known |= functions(shared)
        own = functions(file)
        known |= own
        for name in own:
            if name.startswith("test_") and "server" in _all_of(name, known):
                yield f"{file.relative_to(TESTS).as_posix()}::{name}"


def _all_of(name: str, known: dict[str, set[str]]) -> set[str]:
    found, new = set[str](), {name}
    while new:
        found |= new
        new = {each for one in new for each in known.get(one, ())} - found
    return found


def test_each_row_names_tests_that_have_a_server_and_no_test_is_named_twice():
    rows = {test: [*engines.reasons(test)] for test in having_a_server()}
    assert set().union(*rows.values()) == engines.OLLAMA_ALONE.keys()
    assert {test: named for test, named in rows.items() if len(named) > 1} == {}
