"""Words without which a sentence cannot match: where none is there, its pattern is not compiled."""

import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_cli.memory.language import languages, spans, statements
from agent_cli.text import Pattern
from tests.tables import for_each

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
