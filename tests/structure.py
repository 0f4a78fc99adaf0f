"""The structure of the package, read from its source: folders, imports, tables, names. Nothing of it is run.

`python -m tests.structure` prints the figures that tests/test_layers.py holds to its tables.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "agent_cli"
FILES = sorted(PACKAGE.rglob("*.py"))
SCHEMA = (PACKAGE / "store" / "schema.sql").read_text(encoding="utf-8")
TABLES = frozenset(re.findall(r"^create (?:table|view) (\w+)", SCHEMA, re.MULTILINE))
UNKNOWN = "{}"  # a table whose name is only known when the program runs

_WORDS = """
    told house desk here hire ear hear hearing looking todo asking answering aside asides upward taken_in belongings
    echoes evidence forgotten surroundings beginnings grain foresight jotting occasions meaning recollect fact_told
    skill_told gone says kept again own
"""
RETIRED = frozenset(_WORDS.split())  # words that were names once and told a reader nothing

_WRITTEN = re.compile(r"\b(?:insert(?: or \w+)? into|replace into|update(?: or \w+)?|delete from) ([\w{}]+)")
_READ = re.compile(r"\b(?:from|join) ([a-z_]+)")


def module(path: Path) -> str:
    """The dotted name within the package; of an `__init__.py`, its folder."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def folder(path: Path) -> str:
    """The folder of a module within the package; a module beside the folders is a part of its own."""
    return ".".join(path.relative_to(PACKAGE).parent.parts) or path.stem


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return (*ast.walk(tree(path)),)


def imported(path: Path) -> Iterator[str]:
    """Full dotted names imported anywhere in the file, functions included."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = {module(path): path for path in FILES}


@cache
def own_imports(path: Path) -> set[str]:
    """The modules of the package that this one imports, without itself."""
    found = set()
    for name in imported(path):
        inner = name.removeprefix("agent_cli.") if name.startswith("agent_cli.") else ""
        while inner and inner not in MODULES:
            inner = inner.rpartition(".")[0]
        if inner:
            found.add(inner)
    return found - {module(path)}


def libraries(path: Path) -> set[str]:
    """The packages from elsewhere that a module imports."""
    tops = {name.partition(".")[0] for name in imported(path)}
    return tops - set(sys.stdlib_module_names) - {"agent_cli"}


@cache
def folder_imports() -> dict[str, set[str]]:
    """Of each folder, the other folders that its modules import from."""
    edges: dict[str, set[str]] = {}
    for path in FILES:
        if folder(path) != "__init__":
            edges.setdefault(folder(path), set()).update(folder(MODULES[name]) for name in own_imports(path))
    return {name: others - {name, "__init__"} for name, others in edges.items()}


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """The names that import one another in a circle, or lead into one; none where there is no circle."""
    left = {name: others & edges.keys() for name, others in edges.items()}
    while ends := [name for name, others in left.items() if not others & left.keys()]:
        for name in ends:
            del left[name]
    return sorted(left)


@cache
def _sql(path: Path) -> list[str]:
    """The string constants of a module, what is put into them as `{}`."""
    joined = [node for node in nodes(path) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in node.values}
    texts = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in node.values)
        for node in joined
    ]
    texts += [
        node.value
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside
    ]
    return [text.lower() for text in texts]


@cache
def written(path: Path) -> set[str]:
    """The tables that a module writes; UNKNOWN stands for names that are put in when it runs."""
    names = {name for text in _sql(path) for name in _WRITTEN.findall(text)}
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    tables = [each.args[0] for each in calls if ast.unparse(each.func).endswith(("db.insert", "db.update"))]
    names |= {str(each.value) if isinstance(each, ast.Constant) else UNKNOWN for each in tables}
    return {UNKNOWN if UNKNOWN in name else name for name in names if name in TABLES or UNKNOWN in name}


def read(path: Path) -> set[str]:
    """The tables and views that a module selects from."""
    return {name for text in _sql(path) if "select" in text for name in _READ.findall(text) if name in TABLES}


def identifiers(path: Path) -> Counter[str]:
    """How often each name stands in the code of a module, words in strings and comments left out."""
    values = [value for node in nodes(path) if not isinstance(node, ast.Constant) for value in vars(node).values()]
    names = [name for value in values for name in (value if isinstance(value, list) else [value])]
    return Counter(part for name in names if isinstance(name, str) for part in name.split("."))


def repeated_names() -> dict[str, list[str]]:
    """Names of classes and type aliases that are defined in two or more modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module(path))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
                names = (each.id for each in node.targets if isinstance(each, ast.Name))
                for name in filter(re.compile(r"_?[A-Z][a-z]\w*").fullmatch, names):
                    places[name].append(module(path))
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def modules_per_folder() -> Counter[str]:
    """How many modules each folder holds, its `__init__.py` not counted."""
    return Counter(folder(path) for path in FILES if path.parent != PACKAGE and path.name != "__init__.py")


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def retired(path: Path) -> dict[str, int]:
    """How often each of the retired words is a name in a module."""
    return {name: count for name, count in identifiers(path).items() if name in RETIRED}


def kept_from_the_formatter() -> int:
    return sum(path.read_text(encoding="utf-8").count("# fmt: ") for path in FILES)


def report() -> str:
    """The figures, a line each."""
    longest = max(FILES, key=lines)
    folders = Counter({name: count for name, count in modules_per_folder().items() if name != "cli"})
    [(fullest, many)] = folders.most_common(1)
    repeated = repeated_names()
    words: Counter[str] = Counter()
    for path in FILES:
        words.update(retired(path))
    rows = [
        f"lines of the package      {sum(map(lines, FILES))} in {len(FILES)} files",
        f"longest module            {lines(longest)} lines, {module(longest)}",
        f"fullest folder            {many} modules, {fullest} (cli itself holds {modules_per_folder()['cli']})",
        f"cycles between folders    {len(cycle(folder_imports()))}",
        f"retired names             {words.total()} {dict(words.most_common(8))}",
        f"repeated class names      {len(repeated)} {' '.join(repeated)}",
        f"kept from the formatter   {kept_from_the_formatter()} times",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    print(report())
