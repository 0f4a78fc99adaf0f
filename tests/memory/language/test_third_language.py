"""One more language is one more module: no other has a word of it."""

import ast
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_cli.memory.language import languages, spans, statements
from agent_cli.text import Pattern
from tests.structure import FILES, module, nodes
from tests.tables import for_each

SCRIPT = """
import json
from datetime import UTC, datetime
from agent_cli.memory.language import languages
from tests.memory.language import toy
languages.ALL = (*languages.ALL, toy)
from agent_cli.memory.dates import due_times
from agent_cli.memory.language import spans
from agent_cli.memory.language import secrets, statements, triples
now = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
day = lambda moment: moment and moment.date().isoformat()
parts = lambda triple: triple and [triple.subject, triple.predicate, triple.object]
print(json.dumps({
    "a relative date": spans.resolve("mi zo en Graz yup", now),
    "a count of weeks": spans.resolve("biru semo poste mi zo en Graz", now),
    "since when": day(spans.of_statement("mi zo en Graz ekde 3-a unu 2026", now).since),
    "the time of a question": day(spans.of_question("kie mi zo yup?", now).since),
    "when it is due": due_times.parse("tup vespo", now, "UTC").due.isoformat(),
    "how often": due_times.parse("ciu ven vespo", now, "UTC").repeats,
    "a fact": parts(triples.parse("mi zo en Graz ekde 3-a unu 2026")),
    "a relation": parts(triples.parse("mia frato nomas Tom")),
    "what is over": triples.parse_ending("mi neplu zo en Graz").over,
    "a promise": statements.claim("Bone, mi memoros tion."),
    "small talk": statements.is_small_talk("saluto!"),
    "a question": statements.is_question("kie mi zo"),
    "a password": secrets.mask("mia pasvo estas hunter22"),
    "English": parts(triples.parse("I live in Graz since 2020")),
    "German": parts(triples.parse("ich wohne seit 2020 in Graz")),
}))
"""
GERMAN = re.compile(r"[a-z][äöüß][a-z]|\b(?:und|oder|nicht|ich|das|heute|gestern|morgen|kein|nach|mein|wohne)\b")


def test_a_third_language_is_one_module():
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=Path.cwd())
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "a relative date": "mi zo en Graz je 19-a Dekunu 2026",
        "a count of weeks": "je la semo de 2-a Dekunu 2026 mi zo en Graz",
        "since when": "2026-01-03",
        "the time of a question": "2026-11-19",
        "when it is due": "2026-11-21T18:00:00+00:00",
        "how often": "FREQ=WEEKLY;BYDAY=FR",
        "a fact": ["person", "lives_in", "Graz"],
        "a relation": ["person", "brother", "Tom"],
        "what is over": "mi zo en Graz",
        "a promise": "saved",
        "small talk": True,
        "a question": True,
        "a password": "mia pasvo estas [masked: password]",
        "English": ["person", "lives_in", "Graz"],
        "German": ["person", "lives_in", "Graz"],
    }


def test_only_the_module_of_german_has_german_words():
    found = {}
    for file in FILES:
        documented = {id(each.value) for each in nodes(file) if isinstance(each, ast.Expr)}
        constants = (each for each in nodes(file) if isinstance(each, ast.Constant) and id(each) not in documented)
        words = (each.value for each in constants if isinstance(each.value, str))
        if german := [each for each in words if GERMAN.search(each)]:
            found[module(file)] = german
    assert found.keys() - {"memory.language.english"} == {"memory.language.german"}, found


LATIN = st.characters(max_codepoint=0xFF)


def matching(pattern: Pattern | re.Pattern[str]) -> st.SearchStrategy[str]:
    expression, flags = pattern._arguments if isinstance(pattern, Pattern) else (pattern.pattern, pattern.flags)
    return st.from_regex(re.compile(expression, flags), alphabet=LATIN)


TOLD_BY = [  # each pattern, what every text that it matches must pass, and how many are tried
    *(
        (languages.pattern(f"<{name}>"), partial(languages.mentions, name="MEMORY_WORDS"), 40)
        for name in ("REMEMBER", "REMEMBER_QUESTION", "NOTE", "FORGET")
    ),
    *((claim, partial(languages.mentions, name="PROMISE_WORDS"), 60) for claim in statements._CLAIMS.values()),
    (spans.PHRASE, spans.PHRASE._hint, 10),
]


@pytest.mark.parametrize(("pattern", "may_match", "examples"), TOLD_BY)
def test_whatever_a_pattern_matches_has_one_of_the_words_without_which_it_is_not_tried(pattern, may_match, examples):
    @settings(derandomize=True, max_examples=examples)
    @given(matching(pattern))
    def every(words):
        assert may_match(words)

    every()


@for_each("sentence", ["Check your email today.", "Maybe they remain on stage.", "My son is a person."])
def test_a_word_that_only_holds_the_name_of_a_month_or_a_unit_compiles_nothing(sentence):
    assert not spans.PHRASE._hint(sentence)
