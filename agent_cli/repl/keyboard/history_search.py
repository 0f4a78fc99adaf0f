"""Ctrl-R in thousands of lines, quickly.

prompt-toolkit looks for the text six times a key, each time through every line by a regular expression made for it: 140
ms in 2,000 lines. Here a line is looked at closely only when it holds the text, and the same question is answered once.
The method that is replaced has no public name: without it all works, slower, and a test fails.
"""

from typing import Any

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.search import SearchDirection, SearchState

Found = tuple[int, int] | None
"""The number of the line among those of the history and the draft, and the place in it."""


def quicken(buffer: Buffer) -> None:
    """Let this buffer search quickly; again, to let go of what was looked for last."""
    vars(buffer).pop("_search", None)
    slow = getattr(buffer, "_search", None)
    if slow is None or not hasattr(buffer, "_working_lines"):
        return
    asked: list[Any] = [None, None]  # the last question and its answer

    def search(state: SearchState, include_current_position: bool = False, count: int = 1) -> Found:
        if count != 1:
            answer: Found = slow(state, include_current_position, count)
            return answer
        place = (buffer.working_index, buffer.cursor_position, buffer.text, len(buffer._working_lines))
        question = (state.text, state.direction, state.ignore_case(), include_current_position, place)
        if asked[0] != question:
            asked[:] = question, _find(buffer, state, include_current_position)
        return asked[1]  # type: ignore[no-any-return]

    buffer._search = search  # type: ignore[method-assign,assignment]


def _find(buffer: Buffer, state: SearchState, here_too: bool) -> Found:
    """What Buffer._search finds: in this line from the cursor on, then in the others, round and back to this one."""
    lines, index, document = buffer._working_lines, buffer.working_index, buffer.document
    forward, ignore_case = state.direction == SearchDirection.FORWARD, state.ignore_case()
    if forward:
        at = document.find(state.text, include_current_position=here_too, ignore_case=ignore_case)
    else:
        at = document.find_backwards(state.text, ignore_case=ignore_case)
    if at is not None:
        return index, document.cursor_position + at
    wanted = state.text.lower() if ignore_case else state.text
    others = range(index + 1, len(lines) + 1) if forward else range(index - 1, -2, -1)
    for number in others:
        line = lines[number % len(lines)]
        if wanted not in (line.lower() if ignore_case else line):
            continue
        start = 0 if forward else len(line)
        other = Document(line, start)
        if forward:
            at = other.find(state.text, include_current_position=True, ignore_case=ignore_case)
        else:
            at = other.find_backwards(state.text, ignore_case=ignore_case)
        if at is not None:
            return number % len(lines), start + at
    return None
