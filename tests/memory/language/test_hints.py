"""Words without which a sentence cannot match: where none is there, its pattern is not compiled."""

import re
from itertools import product
from re import _parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_cli.memory.language import date_phrases, languages, statements
from agent_cli.text import Pattern
from tests.tables import for_each

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


@pytest.mark.parametrize("claim", statements._CLAIMS.values())
def test_every_promise_contains_one_of_its_words(claim):
    @settings(derandomize=True, max_examples=100)
    @given(matching(claim))
    def every(reply):
        assert languages.mentions(reply, "PROMISE_WORDS")

    every()


@settings(derandomize=True, max_examples=10)
@given(matching(date_phrases.PHRASE))
def test_every_phrase_with_a_date_contains_one_of_its_names(phrase):
    assert date_phrases.PHRASE._hint(phrase)


@pytest.mark.parametrize("pattern", [statements._CLAUSE_WORD, statements._INTRODUCTION])
def test_what_begins_a_clause_contains_one_of_its_words(pattern):
    @settings(derandomize=True, max_examples=20)
    @given(matching(pattern))
    def every(clause):
        assert pattern._hint(clause)

    every()


@for_each("sentence", ["Check your email today.", "Maybe they remain on stage.", "My son is a person."])
def test_a_word_that_only_holds_the_name_of_a_month_or_a_unit_compiles_nothing(sentence):
    assert not date_phrases.PHRASE._hint(sentence)
    assert not statements._CLAUSE_WORD._hint(sentence)


@pytest.mark.parametrize("language", languages.ALL)
def test_all_small_talk_is_known_by_how_its_words_begin(language):
    every = expansions(_parser.parse(languages.expression_of(language, "SMALL_TALK")))
    assert [each for each in every if not statements.is_small_talk(each)] == []


def expansions(pattern):
    """Every text that a pattern matches; of what it repeats without end, the first few."""
    texts = [""]
    for operator, value in pattern:
        match str(operator):
            case "LITERAL":
                some = [chr(value)]
            case "SUBPATTERN":
                some = expansions(value[3])
            case "BRANCH":
                some = [each for branch in value[1] for each in expansions(branch)]
            case "MAX_REPEAT":
                least, most, repeated = value
                times = range(least, min(most, least + 3) + 1)
                some = ["".join(each) for n in times for each in product(expansions(repeated), repeat=n)]
            case "IN":
                some = [chr(each) for _, each in value]
        texts = [one + other for one in texts for other in some]
    return texts
