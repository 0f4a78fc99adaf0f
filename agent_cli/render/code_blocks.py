"""The code in an answer: what stands between fences, exactly as it is meant to be run or copied."""

import re

from agent_cli.values import frozen

_FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")


@frozen
class CodeBlock:
    language: str
    code: str  # ends with a newline, unless it is empty
    closed: bool  # whether its end came


def of(text: str) -> list[CodeBlock]:
    """The fenced blocks, in order. A fence is closed by one of its kind that is at least as long, as CommonMark has it;
    in a list it is indented, and so much is taken off each line."""
    blocks: list[CodeBlock] = []
    opened: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line.rstrip())
        if opened is None:
            if found and not (found["fence"][0] == "`" and "`" in found["info"]):
                opened, lines = found, []
        elif found and found["fence"].startswith(opened["fence"]) and not found["info"].strip():
            blocks.append(_block(opened, lines, closed=True))
            opened = None
        else:
            lines.append(line)
    if opened:
        blocks.append(_block(opened, lines, closed=False))
    return blocks


def _block(opened: re.Match[str], lines: list[str], *, closed: bool) -> CodeBlock:
    margin = len(opened["indent"])
    kept = [line[min(margin, len(line) - len(line.lstrip(" "))) :] for line in lines]
    if not closed:
        while kept and not kept[-1].strip():
            kept.pop()
    language = (opened["info"].split() or [""])[0]
    return CodeBlock(language, "".join(f"{line}\n" for line in kept), closed)
