"""The structure of the package, read from its source: folders, imports, tables, names. Nothing of it is run.

`python -m tests.structure` prints the figures that tests/test_layers.py holds to its tables.
"""

import ast
import io
import re
import sys
import tokenize
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
