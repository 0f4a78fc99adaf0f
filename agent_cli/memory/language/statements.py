"""Whether words state something that could be kept: a question, a greeting and a single word do not."""

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
