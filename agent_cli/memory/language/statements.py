"""Statements: whether words state something that could be kept, and a clause after "that" as a sentence of its own.

A question, a greeting and a single word state nothing.
"""

import re

from agent_cli.memory.language import languages
from agent_cli.text import Pattern

_QUESTION = languages.pattern(r"\W*<QUESTION>")
_ENDS_AS_QUESTION = Pattern(r"\?\W*$")
_SMALL_TALK = languages.pattern(r"\W*(?:<SMALL_TALK>\b\W*)+")
_TWO_WORDS = Pattern(r"\w\W+\w")
_LONGEST_SMALL_TALK = 100  # characters


def is_question(words: str) -> bool:
    return bool(_QUESTION.match(words) or _ENDS_AS_QUESTION.search(words))


def is_small_talk(words: str) -> bool:
    """Whether it only greets, thanks, agrees or takes leave."""
    return len(words) <= _LONGEST_SMALL_TALK and _SMALL_TALK.fullmatch(words) is not None


def states_something(words: str) -> bool:
    """Whether it may be a statement, as far as rules can tell."""
    return bool(_TWO_WORDS.search(words)) and not is_small_talk(words) and not is_question(words)


def main_clause(clause: str) -> str:
    """A clause with its verb at the end as a main clause: "ich in Graz wohne" becomes "ich wohne in Graz".

    Only when safe: one clause, a plain subject, and no separable verb ("aufstehe").
    """
    for language in languages.ALL:
        match = re.fullmatch(language.VERB_LAST_CLAUSE, clause)
        if match is None or re.match(language.SEPARABLE_PREFIX, match["verb"]):
            continue
        first = re.match(r"\w+", match["rest"])
        in_second_place = first and re.fullmatch(language.FINITE_VERB, first[0])
        if not in_second_place and re.fullmatch(language.VERB_FORM, match["verb"]):
            return f"{match['subject']} {match['verb']} {match['rest']}{match['end']}"
    return clause
