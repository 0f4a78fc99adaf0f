"""Code in colours, line by line: the state of the lexer is carried from one line to the next.

Only the sixteen colours of the terminal and no background, so that it can be read on light and dark alike. Few kinds of
token are coloured: what a reader looks for is where strings and comments end. Pygments is imported at the first block
of code with a language.
"""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

from agent_cli.render.styles import BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, RED, styled

_STYLES = {
    "Comment": DIM,
    "Comment.Preproc": CYAN,
    "Keyword": MAGENTA,
    "Operator.Word": MAGENTA,
    "Literal.String": GREEN,
    "Literal.Number": CYAN,
    "Name.Function": BLUE,
    "Name.Class": BLUE,
    "Name.Tag": MAGENTA,
    "Name.Decorator": CYAN,
    "Generic.Inserted": GREEN,
    "Generic.Deleted": RED,
    "Generic.Heading": BOLD,
    "Generic.Subheading": CYAN,
}


class Highlighter:
    """Colours one code block, line by line; an unknown language gets no colours."""

    def __init__(self, language: str):
        self._lexer = _lexer(language)
        self._stack = ["root"]

    def line(self, text: str) -> str:
        """The line with SGR codes, ending in the plain style."""
        try:
            tokens = list(self._tokens(text + "\n"))
        except Exception:  # lexers are large third-party regular expressions: a fault in one must not lose the code
            self._lexer, tokens = None, []
        if "".join(value for _, value in tokens) != text + "\n":
            return text
        coloured = ""
        for style, group in groupby(tokens, lambda token: _style(token[0])):
            value = "".join(value for _, value in group).rstrip("\n")
            core = value.strip(" ")
            coloured += value.replace(core, styled(core, style), 1) if style and core else value
        return coloured

    def _tokens(self, text: str) -> Iterator[tuple[str, str]]:
        """The type and text of each token. A lexer without rules, such as that of JSON, restarts at each line."""
        if self._lexer is None:
            return
        from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

        if type(self._lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
            context = LexerContext(text, 0, self._stack)  # holds the state of the rules at the end of the line
            found = ExtendedRegexLexer.get_tokens_unprocessed(self._lexer, None, context)
            yield from ((str(kind), value) for _, kind, value in found)
            self._stack = context.stack
        else:
            yield from ((str(kind), value) for _, kind, value in self._lexer.get_tokens_unprocessed(text))


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
    """The SGR codes of a token type such as "Token.Literal.String.Doc": its own, or those of a parent type."""
    kind = kind.removeprefix("Token.")
    while kind and kind not in _STYLES:
        kind = kind.rpartition(".")[0]
    return _STYLES.get(kind, "")
