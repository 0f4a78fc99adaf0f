"""Words without which a sentence cannot match: where none is there, its pattern is not compiled."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_cli.memory.language import languages, promises
from agent_cli.text import Pattern

LATIN = st.characters(max_codepoint=0xFF)


def matching(pattern: Pattern | re.Pattern[str]) -> st.SearchStrategy[str]:
    expression, flags = pattern._arguments if isinstance(pattern, Pattern) else (pattern.pattern, pattern.flags)
    return st.from_regex(re.compile(expression, flags), alphabet=LATIN)


@pytest.mark.parametrize("name", ["REMEMBER", "REMEMBER_QUESTION", "NOTE", "FORGET"])
def test_who_asks_to_remember_or_to_forget_says_one_of_the_words_of_memory(name):
    @settings(derandomize=True, max_examples=40)
    @given(matching(languages.pattern(f"<{name}>")))
    def every(sentence):
        assert languages.mentions(sentence, "MEMORY_WORDS")

    every()


@settings(derandomize=True, max_examples=100)
@given(matching(promises._PROMISE))
def test_every_promise_contains_one_of_its_words(reply):
    assert any(word in reply.casefold() for word in promises._WORDS)
