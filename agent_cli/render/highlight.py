"""Code in colours, line by line: the state of the lexer is kept from one line to the next.

Only the sixteen colours of the terminal and no background, so that it can be read on light and dark alike. Few things
are coloured: what a person looks for is where strings and comments end. Pygments is imported at the first block of code
in a language that is named.
"""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

_STYLES = {
    "Comment": "2",
    "Comment.Preproc": "36",
    "Keyword": "35",
    "Operator.Word": "35",
    "Literal.String": "32",
    "Literal.Number": "36",
    "Name.Function": "34",
    "Name.Class": "34",
    "Name.Tag": "35",
    "Name.Decorator": "36",
    "Generic.Inserted": "32",
    "Generic.Deleted": "31",
    "Generic.Heading": "1",
    "Generic.Subheading": "36",
}


class Code:
    """A block that arrives; one of an unknown language has no colours."""

    def __init__(self, language: str):
        self._lexer = _lexer(language)
        self._stack = ["root"]

    def line(self, text: str) -> str:
        """The line with SGR codes, in the plain style at its end."""
        try:
            tokens = list(self._tokens(text + "\n"))
        except Exception:  # a lexer is a thousand lines of someone's regular expressions; the code matters, not it
            self._lexer, tokens = None, []
        if "".join(words for _, words in tokens) != text + "\n":
            return text
        told = ""
        for style, group in groupby(tokens, lambda token: _style(token[0])):
            words = "".join(words for _, words in group).rstrip("\n")
            core = words.strip(" ")
            told += words.replace(core, f"\x1b[{style}m{core}\x1b[m", 1) if style and core else words
        return told

    def _tokens(self, text: str) -> Iterator[tuple[str, str]]:
        """Kinds and words. What is no lexer of rules, as that of JSON, begins anew with each line."""
        if self._lexer is None:
            return
        from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

        if type(self._lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
            context = LexerContext(text, 0, self._stack)  # tells where the rules stand at the end of the line
            found = ExtendedRegexLexer.get_tokens_unprocessed(self._lexer, None, context)
            yield from ((str(kind), words) for _, kind, words in found)
            self._stack = context.stack
        else:
            yield from ((str(kind), words) for _, kind, words in self._lexer.get_tokens_unprocessed(text))


def _lexer(language: str) -> Any:
    """The lexer of a language, None when there is none."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@cache
def _style(kind: str) -> str:
    """The SGR codes of a kind such as "Token.Literal.String.Doc": its own, or those of what it is a part of."""
    kind = kind.removeprefix("Token.")
    while kind and kind not in _STYLES:
        kind = kind.rpartition(".")[0]
    return _STYLES.get(kind, "")
