"""The fenced code blocks of an answer, exactly as they are meant to be run or copied."""

import re

from agent_cli.values import frozen

_FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")


@frozen
class CodeBlock:
    language: str
    code: str  # ends with a newline, unless it is empty
    closed: bool  # whether its closing fence was found


def parse(text: str) -> list[CodeBlock]:
    """The fenced blocks, in order. As in CommonMark, a fence is closed by one of the same character that is at least
    as long, and the indentation of an opening fence (in a list) is removed from each line."""
    blocks: list[CodeBlock] = []
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip())
        if opening is None:
            if fence and not (fence["fence"][0] == "`" and "`" in fence["info"]):
                opening, lines = fence, []
        elif fence and fence["fence"].startswith(opening["fence"]) and not fence["info"].strip():
            blocks.append(_block(opening, lines, closed=True))
            opening = None
        else:
            lines.append(line)
    if opening:
        blocks.append(_block(opening, lines, closed=False))
    return blocks


def _block(opening: re.Match[str], lines: list[str], *, closed: bool) -> CodeBlock:
    margin = len(opening["indent"])
    code = [line[min(margin, len(line) - len(line.lstrip(" "))) :] for line in lines]
    if not closed:
        while code and not code[-1].strip():
            code.pop()
    language = (opening["info"].split() or [""])[0]
    return CodeBlock(language, "".join(f"{line}\n" for line in code), closed)
