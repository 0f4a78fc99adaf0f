"""The keys of the prompt, one by one, without a terminal."""

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from agent_cli.messages import Part
from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.keys import KeyAhead, Pastes


class Whole(InMemoryHistory):
    """Holds large pastes whole, as ours does in the file."""

    def __init__(self, pastes):
        super().__init__()
        self._pastes = pastes

    def append_string(self, string):
        super().append_string(self._pastes.expanded(string))


class Typist:
    """Types at a prompt with our keys; `said` is what stood above it, `edited` what the editor was given."""

    def __init__(self, collapse=0, **options):
        self.said, self.edited = [], []
        self.pastes = Pastes(collapse)
        self.history = Whole(self.pastes)
        self.edit = lambda text: text
        self.last = []
        self.ahead = []
        self.options = options

    def __call__(self, *typed):
        """What was sent in the end. Each text arrives at once, the next when the prompt has taken it in."""
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            prompt = PromptSession(
                multiline=True,
                history=self.history,
                complete_in_thread=True,
                **self.options,
                key_bindings=keys.bindings(self.pastes, self.said.append, self._edit, self._last),
            )
            prompt.app.ttimeoutlen, prompt.app.timeoutlen = 0.01, 0.2
            prompt.default_buffer.on_text_changed += self.pastes.follow
            store_typeahead(pipe, [*keys.typed_ahead(self.ahead)])
            rest = iter(typed)

            def more(_=None):
                drawn = prompt.default_buffer._load_history_task  # begun when a line is drawn that is empty anew
                if not (drawn and drawn.done()):
                    prompt.app.loop.call_later(0.01, more)
                elif piece := next(rest, ""):
                    pipe.send_text(piece)
                    prompt.app.loop.call_later(0.05 if piece.startswith("\x1b") else 0.02, more)

            return prompt.prompt("> ", handle_sigint=False, pre_run=more)

    def _edit(self, text):
        self.edited.append(text)
        return self.edit(text)

    def _last(self):
        return "".join(part.text for part in self.last), self.last

    def parts(self, *typed):
        return self.pastes.parts(self(*typed))


@pytest.fixture
def typist():
    return Typist()


PASTE, UP, CTRL_C = "\x1b[200~{}\x1b[201~", "\x1b[A", "\x03"
SENT = {
    "Enter sends": (["hello", "\r"], "hello"),
    **{
        f"{name} is a new line": (["one", keys, "two", "\r"], "one\ntwo")
        for name, keys in {
            "Alt-Enter": "\x1b\r",
            "Ctrl-J": "\n",
            "backslash Enter": "\\\r",
            "Shift-Enter": "\x1b[13;2u",
            "Shift-Enter of xterm": "\x1b[27;2;13~",
            "Ctrl-Enter": "\x1b[13;5u",
            "Ctrl-Enter of xterm": "\x1b[27;5;13~",
        }.items()
    },
    "lines that arrive at once are a paste": (["one\rtwo\rthree", " four", "\r"], "one\ntwo\nthree four"),
    "a bracketed paste sends nothing": (["see ", PASTE.format("one\r\ntwo\rthree"), "\r"], "see one\ntwo\nthree"),
    "a paste is cleaned": ([PASTE.format("a\x07b\x1b[31mc\x00d\te\u202ef"), "\r"], "ab[31mcd\tef"),
    "Ctrl-C clears the line": (["draft", CTRL_C, "sent", "\r"], "sent"),
    "Ctrl-C keeps it in the history": (["draft", CTRL_C, UP, "\r"], "draft"),
    "Ctrl-D deletes when something is written": (["ab", "\x01", "\x04", "\r"], "b"),
    "Ctrl-L changes nothing": (["one", "\x0c", " two", "\r"], "one two"),
}
PARTS = {
    "pasted text is known as pasted": (["at ", PASTE.format("this text"), " please", "\r"], "at |this text| please"),
    "a paste that was changed makes all of it pasted": (["see ", PASTE.format("this"), "\x7f", "\r"], "|see thi"),
    "a paste that was taken out leaves the rest typed": ([PASTE.format("this"), "\x15", "/help", "\r"], "/help"),
    "of two pastes one holds the other": ([PASTE.format("ab"), "-", PASTE.format("xaby"), "\r"], "|ab|-|xaby"),
    "Ctrl-C forgets the paste it cleared": ([PASTE.format("pasted"), CTRL_C, "pasted", "\r"], "pasted"),
    "a pasted line that is recalled still is": ([PASTE.format("/notes"), CTRL_C, UP, "\r"], "|/notes"),
    "a typed one recalled past it is typed": (["/help", CTRL_C, PASTE.format("/notes"), CTRL_C, UP, UP, "\r"], "/help"),
    "one that was pasted in an earlier run still is": (["see this text", CTRL_C, UP, "\r"], "see |this text"),
}


@pytest.mark.parametrize(("typed", "sent"), SENT.values(), ids=SENT)
def test_what_is_sent(typist, typed, sent):
    assert typist(*typed) == sent
    assert typist.said == []


@pytest.mark.parametrize(("typed", "sent"), PARTS.values(), ids=PARTS)
def test_which_parts_of_what_is_sent_were_pasted(typist, typed, sent):
    typist.pastes.history_pieces = {"see this text": ["this text"]}
    assert typist.parts(*typed) == parts(sent)


def parts(sent):
    """Typed and pasted parts take turns."""
    return [Part(text, "pasted" if n % 2 else "typed") for n, text in enumerate(sent.split("|")) if text]


def test_ctrl_c_twice_on_an_empty_prompt_leaves_and_once_does_not(typist):
    assert typist(CTRL_C, "still here", "\r") == "still here"
    with pytest.raises(EOFError):
        typist("draft", CTRL_C, CTRL_C, CTRL_C)
    assert typist.said == ["press Ctrl-C again to leave, or Ctrl-D"] * 2
    with pytest.raises(EOFError):
        typist("\x04")


def sent_before(typist, *lines):
    for line in lines:
        typist.history.append_string(line)


def test_up_moves_within_several_lines_and_then_through_what_was_sent(typist):
    sent_before(typist, "before")
    assert typist("one\ntwo", "\x1b[A", "\x1b[A", "\r") == "before"
    assert typist("one\ntwo", "\x1b[A", "!", "\r") == "one!\ntwo"


@pytest.mark.parametrize("keys_", [["\x18\x05"], ["\x07"]], ids=["Ctrl-X Ctrl-E", "Ctrl-G"])
def test_the_editor_has_the_draft_sends_nothing_and_brings_no_control_characters(typist, keys_):
    typist.edit = lambda text: text + " there\nand here\n\n"
    assert typist.parts("hello", *keys_, "!", "\r") == [Part("hello there\nand here!", "typed")]
    assert typist.edited == ["hello"]
    typist.edit = lambda text: "a\x1b[2Jb\x07"
    assert typist("x", "\x07", "\r") == "a[2Jb"


def test_esc_esc_on_an_empty_prompt_brings_the_last_message_back(typist):
    typist.last = [Part("what is it?", "typed")]
    assert typist("\x1b\x1b", "!", "\r") == "what is it?!"
    assert typist("draft", "\x1b\x1b", "x", "\r") == "draftx"


def test_a_question_mark_on_an_empty_prompt_shows_the_keys(typist):
    assert typist("?", "why?", "\r") == "why?"
    assert typist.said == [keys.HELP]
    assert max(map(len, keys.HELP.splitlines())) < 80


def test_in_vi_mode_esc_leaves_the_insertion_and_alt_enter_is_still_a_new_line(typist):
    typist.options["editing_mode"] = EditingMode.VI
    assert typist("one two", "\x1b", "b", "dw", "A", "three", "\r") == "one three"
    assert typist("one", "\x1b\r", "two", "\r") == "one\ntwo"
    assert typist("one", "\x1b", "\r") == "one"


def test_in_vi_mode_what_is_typed_after_ctrl_c_is_a_new_line(typist):
    typist.options["editing_mode"] = EditingMode.VI
    assert typist("one", "\x1b", "\x03", "over", "\r") == "over"


def test_enter_takes_what_is_chosen_in_the_menu_or_sends_and_esc_gives_back_what_was_typed(typist):
    typist.options["completer"] = WordCompleter(["/notes", "/note", "/new"], sentence=True)
    assert typist("/n", "\t", "\t", "\r", " x", "\r") in ("/notes x", "/note x", "/new x")
    typist.options["complete_while_typing"] = True
    assert typist("/n", "\r") == "/n"
    del typist.options["complete_while_typing"]
    assert typist("/n", "\t", "\t", "\x1b", "ew", "\r") == "/new"


def test_keys_typed_ahead_and_never_seen_are_words_for_the_history():
    pressed = [KeyAhead("a"), KeyAhead(Keys.ControlM, "\r"), KeyAhead(Keys.Up, "\x1b[A"), KeyAhead("b")]
    assert keys.text_of(keys.typed_ahead(pressed)) == "a\nb"


def pressed(line, pause, since=0.0):
    """The keys of a line with Enter, one after each pause."""
    codes = [*line, Keys.ControlM]
    return [KeyAhead(key, "\r" if key == Keys.ControlM else key, since + n * pause) for n, key in enumerate(codes)]


@pytest.mark.parametrize(("pause", "fast"), [(0.0, True), (0.012, True), (0.02, False), (0.04, False)])
def test_a_line_typed_ahead_counts_as_typed_unless_it_came_faster_than_anyone_types(typist, pause, fast):
    typist.ahead = pressed("remember that I row", pause)
    assert (typist(), typist.pastes.at_once) == ("remember that I row", fast)


def test_of_two_lines_typed_ahead_the_one_that_came_at_once_is_pasted(typist):
    typed, pasted = pressed("remember that I row", 0.04), pressed("remember that I sing", 0.0, since=9.0)
    typist.ahead = [*typed, *pasted]
    assert [key.data for key in keys.typed_ahead(typist.ahead)].index("") == len(typed), "the mark"
    assert (typist(), typist.pastes.at_once) == ("remember that I row", False)


def test_a_few_keys_that_arrive_late_together_are_typing_and_eight_are_not():
    assert not any(keys.bursts([0.0, 0.2, *[0.5] * 7, 0.7]))
    assert keys.bursts([0.0, *[0.5] * 8, 0.7]) == [False, *[True] * 8, False]
