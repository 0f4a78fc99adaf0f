"""The table of tests that run with Ollama's API alone is kept true: each row names tests that have a server, once."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests import engines

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
