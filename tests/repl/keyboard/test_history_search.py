"""Searching the history finds what prompt-toolkit finds, only sooner."""

from collections import deque

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.search import SearchDirection, SearchState

from agent_cli.repl.keyboard import history_search

LINES = ["about Graz", "Graz\nand Linz, GRAZ", "nothing", "ÄRGER in Graz", "a draft of Graz"]


def found(buffer, text, direction, ignore_case, here_too):
    return buffer._search(SearchState(text, direction, ignore_case=ignore_case), here_too)


@pytest.mark.parametrize("direction", [SearchDirection.FORWARD, SearchDirection.BACKWARD])
@pytest.mark.parametrize("text", ["graz", "Graz", "ärger", "and", "nowhere", ""])
def test_the_same_is_found(text, direction):
    plain, quick = Buffer(), Buffer()
    history_search.install(quick)
    assert "_search" in vars(quick), "prompt-toolkit has another name for it now"
    for buffer in (plain, quick):
        buffer._working_lines = deque(LINES)
    for index in range(len(LINES)):
        for place in (0, 3, len(LINES[index])):
            for buffer in (plain, quick):
                buffer.working_index, buffer.cursor_position = index, place
            for options in [(False, False), (True, False), (False, True), (True, True)]:
                same = found(plain, text, direction, *options)
                assert found(quick, text, direction, *options) == same
                assert found(quick, text, direction, *options) == same, "asked again"
