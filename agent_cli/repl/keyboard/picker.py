"""A choice from a list that filters as one types, with a preview of what is chosen; Enter takes it, Esc leaves.

On a terminal without a cursor, and for a screen reader, the list is printed with numbers and the choice is typed.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from agent_cli.repl.keyboard import dumb_terminal
from agent_cli.text import clean, one_line
from agent_cli.values import frozen

_SHOWN = 10  # lines of the list
_NUMBERED = 15  # lines of a printed list
_PREVIEW = 2  # lines
_PLAIN = "bg:default fg:default"
MENU_STYLE = Style.from_dict(  # the terminal's own colours; what is chosen is shown in reverse
    {
        "completion-menu": _PLAIN,
        "completion-menu.completion": _PLAIN,
        "completion-menu.completion.current": f"{_PLAIN} reverse",
        "completion-menu.meta.completion": _PLAIN,
        "completion-menu.meta.completion.current": f"{_PLAIN} reverse",
        "scrollbar.background": _PLAIN,
        "scrollbar.button": _PLAIN,
    }
)


@frozen
class PickerRow:
    """`key` is returned; `line` is shown; `searched`: text in which typed words are looked for, in lower case."""

    key: str
    line: str
    searched: str
    preview: Callable[[], str]


async def choose(question: str, choices: Sequence[PickerRow]) -> str:
    """The key of the choice, or the typed words where no choice has them; empty when the person leaves."""
    if is_dumb_terminal() or os.environ.get("ACCESSIBLE"):
        return await _choose_by_number(question, choices)
    prompt: PromptSession[str] = PromptSession(
        completer=_Filter(choices),
        complete_while_typing=True,
        reserve_space_for_menu=_SHOWN,
        style=MENU_STYLE,
        erase_when_done=True,
        key_bindings=_bindings(choices),
    )
    try:
        return await prompt.prompt_async(
            lambda: _above(question, _chosen(prompt, choices), prompt.app.output.get_size().columns - 1),
            pre_run=lambda: prompt.default_buffer.start_completion(),
            handle_sigint=False,
        )
    except (EOFError, KeyboardInterrupt):
        return ""


def matching(choices: Sequence[PickerRow], typed: str) -> list[PickerRow]:
    """Those that have all typed words; first the one that is named by its key or the number in it."""
    words = typed.casefold().split()
    found = [each for each in choices if all(word in each.searched for word in words)]
    return sorted(found, key=lambda each: typed.strip().casefold() not in (each.key, each.key[1:]))


class _Filter(Completer):
    def __init__(self, choices: Sequence[PickerRow]):
        self._choices = choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for each in matching(self._choices, document.text):
            yield Completion(each.key, -len(document.text), display=clean(each.line))


def _chosen(prompt: PromptSession[str], choices: Sequence[PickerRow]) -> PickerRow | None:
    """What Enter would take: the line that is marked, else the first."""
    state = prompt.default_buffer.complete_state
    if state and state.current_completion:
        return next(each for each in choices if each.key == state.current_completion.text)
    return next(iter(matching(choices, prompt.default_buffer.text)), None)


def _above(question: str, chosen: PickerRow | None, width: int) -> StyleAndTextTuples:
    """The question and the preview of what Enter would take, above the line that is typed."""
    lines = (
        chosen.preview().split("\n")
        if chosen
        else ["nothing has these words; Enter looks for them in all that was said"]
    )
    preview = "\n".join(f"  {one_line(clean(line), width - 2)}" for line in (*lines, "", "")[:_PREVIEW])
    help_line = one_line(f"{question} type to filter, arrows move, Enter takes it, Esc leaves", width)
    return [("bold", help_line), ("", f"\n{preview}\n"), ("bold", "❯"), ("", " ")]


def _bindings(choices: Sequence[PickerRow]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", eager=True)
    def _(event: KeyPressEvent) -> None:
        state, typed = event.current_buffer.complete_state, event.current_buffer.text
        if state and state.current_completion:
            event.app.exit(result=state.current_completion.text)
        else:
            found = matching(choices, typed)
            event.app.exit(result=found[0].key if found else typed)

    @keys.add("escape", eager=True)
    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        event.app.exit(result="")

    keys.add(Keys.ControlN)(lambda event: event.current_buffer.complete_next())
    keys.add(Keys.ControlP)(lambda event: event.current_buffer.complete_previous())
    return keys


async def _choose_by_number(question: str, choices: Sequence[PickerRow]) -> str:
    for number, each in enumerate(choices[:_NUMBERED], 1):
        print(clean(f"{number:>3}  {each.line}"))
    sys.stdout.flush()
    ask = f"{question} number, handle or words; Enter alone leaves: "
    try:
        if is_dumb_terminal():
            typed = await dumb_terminal.LineReader(sys.stdin.fileno()).read_answer(ask)
        else:
            typed = await PromptSession[str]().prompt_async(ask)
    except (EOFError, KeyboardInterrupt):
        return ""
    typed = typed.strip()
    return choices[int(typed) - 1].key if typed.isdecimal() and 1 <= int(typed) <= len(choices[:_NUMBERED]) else typed
