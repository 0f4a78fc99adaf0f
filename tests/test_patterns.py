"""No text keeps the program busy: each pattern and each parser reads 20,000 characters within 100 ms.

The texts for a pattern are made from itself: what it repeats, over and over, behind what stands before it. So a new
pattern, or a new function that reads a text, is tried without a line here.
"""

import ast
import gc
import importlib
import inspect
import io
import pkgutil
import random
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, partial
from itertools import islice
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any

import pytest

import agent_cli
from agent_cli import text
from agent_cli.agent.loop import Citations
from agent_cli.errors import AgentError
from agent_cli.llm import repair
from agent_cli.memory.documents import document_sections
from agent_cli.memory.language import languages, triples
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Part
from agent_cli.render.markdown import MarkdownWriter
from agent_cli.render.reply_lines import PlainWriter
from agent_cli.render.styles import Display
from agent_cli.store.db import Database
from tests.conftest import NOON

SIZE, SECONDS = 20_000, 0.1  # of processor time
SHORT = {  # what is read by patterns that the module itself gives a short text only
    "agent_cli.memory.language.triples.": triples.MAX_LENGTH,
    "agent_cli.memory.documents.document_sections._HEADING": document_sections.MAX_HEADING,
}
RUNS = " \t\naA1,.([{\"'`\\-*_#|<?“"
MIXTURES = (
    *("é", "a ", "A ", "1 ", ", ", " \n", "a,", "a.", "1.", "a-", "[a](", "`\\", "a'", "Ab ", "ich ", "and then "),
    *("hi ", "please, ", "f1 ", "5 may ", "password is "),
)
OPENINGS = ("remember that I", "merk dir, dass ich", "I live in", "what did I do", "password is", "my", "```", "- ")
METHODS = {name: name for name in ("search", "match", "fullmatch", "findall")}
METHODS |= dict.fromkeys(("finditer", "sub", "split"), "findall")  # which find the same matches
READ_TEXT = (  # folders and modules whose public functions read what somebody wrote
    *("agent_cli.text", "agent_cli.memory.language.", "agent_cli.memory.dates.", "agent_cli.render."),
    *(
        "agent_cli.memory.conversations.capture",
        "agent_cli.memory.conversations.digest",
        "agent_cli.memory.search.graph",
    ),
    *("agent_cli.memory.documents.document_sections", "agent_cli.memory.facts.fact_extraction"),
    *("agent_cli.memory.skills.skill_", "agent_cli.memory.summaries.summaries", "agent_cli.repl.shell."),
)


@cache
def modules() -> dict[str, ModuleType]:
    names = [
        each.name for each in pkgutil.walk_packages(agent_cli.__path__, "agent_cli.") if "__main__" not in each.name
    ]
    return {name: importlib.import_module(name) for name in names}


def patterns_in(where: str, value: Any, seen: set[int]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns of a value and of all that it holds, each with the name of what holds it."""
    if isinstance(value, text.Pattern):
        value = value._compiled
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield where, value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    inner: Any = ()
    if isinstance(value, Mapping):
        inner = (*value.keys(), *value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif hasattr(value, "cache_info") and value.__module__ in modules() and not inspect.signature(value).parameters:
        inner = (value(),)
    elif type(value).__module__ in modules() and hasattr(value, "__dict__"):
        inner = vars(value).values()
    for each in inner:
        yield from patterns_in(f"{where}…", each, seen)


def patterns_in_calls(name: str, module: ModuleType) -> Iterator[tuple[str, str, re.Pattern[str]]]:
    """Those that a function gives to `re` each time, where they are constant, each with what is done with it."""
    flags_at = {"sub": 4, "split": 3}
    source = inspect.getsource(module)
    for node in ast.walk(ast.parse(source if "re." in source else "")):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), method), [pattern, *_] as given) if method in METHODS:
                named = [each.value for each in node.keywords if each.arg == "flags"]
                with suppress(NameError, SyntaxError):
                    values = [
                        eval(compile(ast.Expression(each), name, "eval"), vars(module))
                        for each in (pattern, *given[flags_at.get(method, 2) :], *named)
                    ]
                    if isinstance(values[0], str):
                        yield f"{name}:{node.lineno}", method, re.compile(*values)


@cache
def patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    """Each pattern of the package with its place and the method that is called of it."""
    found: dict[tuple[str, int, str], tuple[str, str, re.Pattern[str]]] = {}
    seen: set[int] = set()
    for name, module in modules().items():
        source = inspect.getsource(module) or ""
        rows = list(patterns_in_calls(name, module))
        calls = set(re.findall(r"\b(\w+)(?=\.(\w+))", source))
        for variable, value in list(vars(module).items()):
            if inspect.ismodule(value):
                continue
            for where, pattern in patterns_in(f"{name}.{variable}", value, seen):
                called = {METHODS[method] for of, method in calls if of == variable and method in METHODS}
                called = called or {METHODS[method] for of, method in calls if of == "pattern" and method in METHODS}
                rows += [(where, method, pattern) for method in called or {"findall"}]
        for row in rows:
            found.setdefault((row[2].pattern, row[2].flags, METHODS[row[1]]), row)
    return list(found.values())


CATEGORIES = {codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_NOT_WORD: " "}


def character(choices: Any, chance: random.Random) -> str:
    """One of a set of characters, as the parser gives it."""
    if choices[0][0] is codes.NEGATE:
        refused = re.compile("".join(("[", *(f"{re.escape(character([each], chance))}" for each in choices[1:]), "]")))
        return next(each for each in "a 1.-,;\n" if not refused.match(each))
    code, value = chance.choice(choices)
    if code is codes.RANGE:
        return chr(value[0])
    return chr(value) if code is codes.LITERAL else CATEGORIES.get(value, "a")


def example(tree: Any, chance: random.Random, repeated: list[tuple[str, str]], before: str = "") -> str:
    """A text that a pattern might match. `repeated`: receives what may stand there often, and what is before it."""
    said = ""
    for code, value in tree:
        inner = partial(example, chance=chance, repeated=repeated, before=before + said)
        if code is codes.LITERAL:
            said += chr(value)
        elif code in (codes.ANY, codes.NOT_LITERAL):
            said += chance.choice("a ")
        elif code is codes.IN:
            said += character(value, chance)
        elif code is codes.BRANCH:
            said += inner(chance.choice(value[1]))
        elif code is codes.SUBPATTERN:
            said += inner(value[3])
        elif code is codes.ATOMIC_GROUP:
            said += inner(value)
        elif code is codes.ASSERT and value[0] > 0:
            inner(value[1])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, body = value
            piece = inner(body)
            if most > 9:
                repeated.append((before + said, piece))
            said += piece * (least or chance.choice((0, 1)))
    return said


def hostile(pattern: re.Pattern[str]) -> list[Callable[[int], str]]:
    """Texts of any size that begin as the pattern does and never end as it wants."""
    found, chance = dict.fromkeys(("", each) for each in RUNS), random.Random(1)
    tree = parser.parse(pattern.pattern, pattern.flags)
    for _ in range(3):
        repeated: list[tuple[str, str]] = []
        whole = example(tree, chance, repeated)
        found |= dict.fromkeys(
            [("", whole), ("", f"{whole}, "), *repeated, *(("", "".join(each)) for each in repeated)]
        )
    return [partial(text_of, before, piece, "\0") for before, piece in found if piece]


def text_of(before: str, piece: str, end: str, size: int) -> str:
    return f"{before}{(piece * (size // len(piece) + 1))[:size]}{end}"


class _TookTooLong(BaseException):
    pass


def seconds(work: Callable[[], object]) -> float:
    """Of processor time, without the collection of garbage; it is stopped after three times what is allowed."""

    def stop(*_: object) -> None:
        raise _TookTooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    began = time.thread_time()  # while there is a timer of the process, its time is that of the last tick
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, 3 * SECONDS)
    try:
        with suppress(_TookTooLong, AgentError, ValueError, LookupError):
            work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()
    return time.thread_time() - began


def is_slow(work: Callable[[str], object], text: Callable[[int], str], size: int = SIZE) -> bool:
    """Whether it takes too long each time, at moments apart: a busy machine may be slow for a while. Not where parts of
    the text take so little that all of it is read in time, be it cubic; or be it thrice what it is by their growth,
    which no sum of a linear and a cubic part exceeds."""
    ninth = seconds(partial(work, text(size // 9)))
    if ninth * 9**3 <= SECONDS:
        return False
    third = seconds(partial(work, text(size // 3)))
    if third * min(3**3, 3 * third / ninth) <= SECONDS:
        return False
    for pause in (0, 0, 0.1, 0.3, 1):
        time.sleep(pause)
        if seconds(partial(work, text(size))) <= SECONDS:
            return False
    return True


def test_no_text_keeps_a_pattern_busy():
    slow = set()
    for where, method, pattern in patterns():
        size = next((most for name, most in SHORT.items() if where.startswith(name)), SIZE)
        texts = (each for each in hostile(pattern) if is_slow(getattr(pattern, METHODS[method]), each, size))
        slow |= {(where, method, text(40)) for text in islice(texts, 1)}
    assert slow == set()


VALUES: dict[tuple[str, Any], object] = {
    ("zone", str): "Europe/Vienna",
    ("path", str): __file__,  # the name of a file, not a text
    ("element", str): "x",
    **{(name, int): 80 for name in ("characters", "limit", "width", "cells")},
}
TYPES = {datetime: NOON, Display: Display(markdown=True), bool: False}  # of parameters, beside texts


def arguments(function: Callable[..., object], words: str) -> dict[str, object]:
    """What a function needs, where it needs a text, and beside it what is known here. Raises KeyError."""
    texts = {str: words, Sequence[Part]: [Part(words, "typed")], Iterable[str]: [words], Sequence[str]: [words]}
    needed = [
        each
        for each in inspect.signature(function, eval_str=True).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if not any(each.annotation in texts for each in needed):
        raise KeyError
    return {
        each.name: VALUES.get((each.name, each.annotation)) or {**texts, **TYPES}[each.annotation] for each in needed
    }


def read(function: Callable[..., object], words: str) -> None:
    found = function(**arguments(function, words))
    if isinstance(found, Iterator):
        for _ in found:
            pass


def write(writer: Any, words: str) -> None:
    writer.write(words)
    writer.end()


@pytest.fixture
def readers(db: Database) -> dict[str, Callable[[str], object]]:
    """The public functions that read a text, and what else does."""
    found = {
        f"{name}.{each}": partial(read, function)
        for name, module in modules().items()
        for each, function in vars(module).items()
        if f"{name}.".startswith(READ_TEXT)
        and inspect.isfunction(function)
        and function.__module__ == name
        and each[0] != "_"
        and module is not languages  # which reads names of lists
    }
    return {
        "markdown": lambda words: write(MarkdownWriter(io.StringIO(), Display(markdown=True)), words),
        "plain": lambda words: write(PlainWriter(io.StringIO()), words),
        "citations": lambda words: Citations(frozenset()).feed(words),
        "calls of tools": lambda words: repair.parse_calls(words, {}),
        "search": lambda words: recall.find(db, words, Filter(PERSON), NOON),
        **found,
    }


def test_no_text_keeps_a_parser_busy(readers):
    texts = [partial(text_of, "", each, "") for each in (*RUNS, *MIXTURES)]
    texts += [partial(text_of, each, blank, "live in Graz") for each in OPENINGS for blank in (" ", "a ")]
    slow = {(name, text(40)) for name, work in readers.items() for text in texts if is_slow(work, text)}
    assert slow == set()
