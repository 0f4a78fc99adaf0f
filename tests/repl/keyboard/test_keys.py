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


def test_enter_sends(typist):
    assert typist("hello", "\r") == "hello"


@pytest.mark.parametrize(
    "newline",
    ["\x1b\r", "\n", "\\\r", "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~"],
    ids=["Alt-Enter", "Ctrl-J", "backslash Enter", "Shift-Enter", "Shift-Enter", "Ctrl-Enter", "Ctrl-Enter"],
)
def test_newline_without_sending(typist, newline):
    assert typist("one", newline, "two", "\r") == "one\ntwo"


def test_lines_that_arrive_at_once_are_a_paste_and_send_nothing(typist):
    assert typist("one\rtwo\rthree", " four", "\r") == "one\ntwo\nthree four"


def test_bracketed_paste_sends_nothing(typist):
    assert typist("see ", "\x1b[200~one\r\ntwo\rthree\x1b[201~", "\r") == "see one\ntwo\nthree"


def test_pasted_text_is_cleaned_of_control_characters(typist):
    assert typist("\x1b[200~a\x07b\x1b[31mc\x00d\te\u202ef\x1b[201~", "\r") == "ab[31mcd\tef"


def test_pasted_text_is_known_as_pasted(typist):
    said = typist.parts("look at ", "\x1b[200~this text\x1b[201~", " please", "\r")
    assert said == [Part("look at ", "typed"), Part("this text", "pasted"), Part(" please", "typed")]


def test_pasted_text_that_was_changed_makes_all_of_it_pasted(typist):
    assert typist.parts("see ", "\x1b[200~this\x1b[201~", "\x7f", "\r") == [Part("see thi", "pasted")]


def test_pasted_text_that_was_taken_out_leaves_what_is_typed_after_it_typed(typist):
    assert typist.parts("\x1b[200~this\x1b[201~", "\x15", "/help", "\r") == [Part("/help", "typed")]


def test_two_pastes_of_which_one_holds_the_other(typist):
    said = typist.parts("\x1b[200~ab\x1b[201~", "-", "\x1b[200~xaby\x1b[201~", "\r")
    assert said == [Part("ab", "pasted"), Part("-", "typed"), Part("xaby", "pasted")]


def test_ctrl_c_clears_the_line_and_keeps_it_in_the_history(typist):
    assert typist("draft", "\x03", "sent", "\r") == "sent"
    assert typist("draft", "\x03", "\x1b[A", "\r") == "draft"
    assert typist.said == []


def test_ctrl_c_forgets_the_paste_it_cleared(typist):
    assert typist.parts("\x1b[200~pasted\x1b[201~", "\x03", "pasted", "\r") == [Part("pasted", "typed")]


def test_a_pasted_line_that_is_recalled_is_still_pasted(typist):
    pasted = typist.parts("\x1b[200~/notes\x1b[201~", "\x03", "\x1b[A", "\r")
    assert pasted == [Part("/notes", "pasted")]


def test_a_typed_line_that_is_recalled_past_a_pasted_one_is_typed(typist):
    said = typist.parts("/help", "\x03", "\x1b[200~/notes\x1b[201~", "\x03", "\x1b[A", "\x1b[A", "\r")
    assert said == [Part("/help", "typed")]


def test_a_line_that_was_pasted_in_an_earlier_run_is_still_pasted(typist):
    typist.pastes.load({"see this text": ["this text"]})
    assert typist.parts("see this text", "\x03", "\x1b[A", "\r") == [Part("see ", "typed"), Part("this text", "pasted")]


def test_ctrl_c_twice_on_an_empty_prompt_leaves(typist):
    with pytest.raises(EOFError):
        typist("draft", "\x03", "\x03", "\x03")
    assert typist.said == ["press Ctrl-C again to leave, or Ctrl-D"]


def test_ctrl_c_once_does_not_leave(typist):
    assert typist("\x03", "still here", "\r") == "still here"
    assert typist.said == ["press Ctrl-C again to leave, or Ctrl-D"]


def test_ctrl_d_leaves_an_empty_prompt(typist):
    with pytest.raises(EOFError):
        typist("\x04")


def test_ctrl_d_deletes_when_something_is_written(typist):
    assert typist("ab", "\x01", "\x04", "\r") == "b"


def sent_before(typist, *lines):
    for line in lines:
        typist.history.append_string(line)


def test_up_moves_within_several_lines_and_then_through_what_was_sent(typist):
    sent_before(typist, "before")
    assert typist("one\ntwo", "\x1b[A", "\x1b[A", "\r") == "before"
    assert typist("one\ntwo", "\x1b[A", "!", "\r") == "one!\ntwo"


def test_ctrl_p_and_ctrl_n_go_through_what_was_sent_from_any_line(typist):
    sent_before(typist, "first", "second")
    assert typist("one\ntwo", "\x10", "\r") == "second"
    assert typist("one\ntwo", "\x10", "\x10", "\x0e", "\r") == "second"
    assert typist("one\ntwo", "\x10", "\x0e", "\r") == "one\ntwo"


@pytest.mark.parametrize("keys_", [["\x18\x05"], ["\x07"]], ids=["Ctrl-X Ctrl-E", "Ctrl-G"])
def test_the_editor_has_the_draft_and_sends_nothing(typist, keys_):
    typist.edit = lambda text: text + " there\nand here\n\n"
    assert typist.parts("hello", *keys_, "!", "\r") == [Part("hello there\nand here!", "typed")]
    assert typist.edited == ["hello"]


def test_the_editor_brings_no_control_characters(typist):
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


def test_ctrl_l_changes_nothing(typist):
    assert typist("one", "\x0c", " two", "\r") == "one two"


def test_in_vi_mode_esc_leaves_the_insertion_and_alt_enter_is_still_a_new_line(typist):
    typist.options["editing_mode"] = EditingMode.VI
    assert typist("one two", "\x1b", "b", "dw", "A", "three", "\r") == "one three"
    assert typist("one", "\x1b\r", "two", "\r") == "one\ntwo"
    assert typist("one", "\x1b", "\r") == "one"


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ("0cwX", "X two-three  four"),
        ("02cwX", "X-three  four"),
        ("0wcWX", "one X  four"),
        ("$cwX", "one two-three  fouX"),
        ("0ecwX", "onX two-three  four"),
        ("0elcwX", "oneXtwo-three  four"),
    ],
)
def test_in_vi_mode_cw_leaves_the_blank_behind_the_word(typist, keys, sent):
    typist.options["editing_mode"] = EditingMode.VI
    assert typist("one two-three  four", "\x1b", keys, "\r") == sent


def test_in_vi_mode_what_is_typed_after_ctrl_c_is_a_new_line(typist):
    typist.options["editing_mode"] = EditingMode.VI
    assert typist("one", "\x1b", "\x03", "over", "\r") == "over"


def test_enter_takes_what_is_chosen_in_the_menu_and_sends_when_nothing_is(typist):
    typist.options["completer"] = WordCompleter(["/notes", "/note", "/new"], sentence=True)
    assert typist("/n", "\t", "\t", "\r", " x", "\r") in ("/notes x", "/note x", "/new x")
    typist.options["complete_while_typing"] = True
    assert typist("/n", "\r") == "/n"


def test_esc_closes_the_menu_and_gives_back_what_was_typed(typist):
    typist.options["completer"] = WordCompleter(["/notes", "/note", "/new"], sentence=True)
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
