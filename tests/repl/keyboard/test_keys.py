"""The keys of the prompt without a terminal: one by one, in large pastes, and while an answer comes."""

import asyncio
import threading
import time

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from agent_cli.messages import Part
from agent_cli.repl.keyboard import keys
from agent_cli.repl.keyboard.key_reader import TurnKeyboard
from agent_cli.repl.keyboard.keys import KeyAhead, Pastes, bursts


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


LOG = "\n".join(f"line {number}" for number in range(212))
STANDS = "[pasted 212 lines #1]"


def paste(text):
    return f"\x1b[200~{text}\x1b[201~"


@pytest.fixture
def collapsing():
    return Typist(collapse=1000)


SMALL = f"it said {STANDS}"
LARGE = {  # what is typed before Enter, and its typed and pasted parts in turns
    "it is sent whole": (["see ", paste(LOG), " now"], f"see |{LOG}| now"),
    "what stands for it and was changed stands for itself": (["see ", paste(LOG), "\x7f"], f"see {STANDS[:-1]}"),
    "two are told apart": ([paste(LOG), " and ", paste(LOG.upper())], f"|{LOG}| and |{LOG.upper()}"),
    "the history holds it whole": (["see ", paste(LOG), "\x03", "\x1b[A"], f"see |{LOG}"),
    "a small one of what stands for it is text": ([paste(LOG), " ", paste(SMALL)], f"|{LOG}| |{SMALL}"),
    "it is cut and put back": ([paste(LOG), "\x15", "\x19"], f"|{LOG}"),
}


@pytest.mark.parametrize(("typed", "sent"), LARGE.values(), ids=LARGE)
def test_a_large_paste_is_pasted_wherever_it_goes(collapsing, typed, sent):
    assert collapsing.parts(*typed, "\r") == parts(sent)


def test_a_large_paste_stands_in_short_in_the_line(collapsing):
    assert collapsing("see ", paste(LOG), " now", "\r") == f"see {STANDS} now"
    assert collapsing("see ", paste(LOG), "\x03", "\x1b[A", "\r") == f"see {LOG}"


@pytest.mark.parametrize(
    ("pasted", "shown"),
    [
        ("x" * 999, "x" * 999),
        ("x" * 1000, "[pasted 1,000 characters #1]"),
        ("\n" * 13, "\n" * 13),
        ("\n" * 14, "[pasted 14 lines #1]"),
    ],
    ids=["999 characters", "1,000 characters", "14 lines", "15 lines"],
)
def test_large_is_from_a_thousand_characters_or_fifteen_lines(collapsing, pasted, shown):
    assert collapsing("-", paste(pasted), "\r") == f"-{shown}"


def test_no_paste_is_too_large_when_the_setting_says_so():
    assert Typist(collapse=0)(paste(LOG), "\r") == LOG


def test_the_editor_is_given_a_large_paste_whole_and_it_comes_back_in_short(collapsing):
    collapsing.edit = lambda text: text.replace("see", "please see") + "\n"
    assert collapsing("see ", paste(LOG), "\x18\x05", "!", "\r") == f"please see {STANDS}!"
    assert collapsing.edited == [f"see {LOG}"]
    assert collapsing.pastes.parts(f"please see {STANDS}!") == parts(f"please see |{LOG}|!")


def test_a_large_paste_that_was_changed_in_the_editor_makes_all_of_it_pasted(collapsing):
    collapsing.edit = lambda text: text.replace("line 7\n", "")
    left = LOG.replace("line 7\n", "")
    assert collapsing.parts("see ", paste(LOG), "\x07", "\r") == [Part(f"see {left}", "pasted")]


def test_what_was_pasted_is_let_go_when_it_is_forgotten_but_for_the_present_line(collapsing):
    pastes = collapsing.pastes
    old, present = pastes.add(LOG), pastes.add(LOG.upper())
    pastes.forget_others(f"see {present}")
    assert pastes.expanded(f"{old} {present}") == f"{old} {LOG.upper()}"
    pastes.forget_others()
    assert pastes.expanded(present) == present


def test_a_message_said_before_is_pasted_where_it_was(collapsing):
    collapsing.last = [Part("read ", "typed"), Part("this text", "pasted")]
    assert collapsing.parts("\x1b\x1b", "!", "\r") == parts("read |this text|!")


def test_nothing_is_pasted_by_default():
    assert Pastes().parts("hello") == [Part("hello", "typed")]


TYPED = "I play the cello"


def typed_during(pieces, pause):
    """The keys for the next prompt, when these pieces arrive while the event loop is busy, as with a long table.

    Each is typed so many seconds after the one before has been read, however slow the machine is.
    """
    come = threading.Semaphore(0)

    async def answer(pipe):
        with TurnKeyboard(pipe, lambda: None, lambda _: come.release()):
            for piece in pieces:
                pipe.send_text(piece)
                for _ in piece:
                    assert come.acquire(timeout=30)
                time.sleep(pause)
        return get_typeahead(pipe)

    with create_pipe_input() as pipe:
        return asyncio.run(answer(pipe))


def test_typing_is_typing_also_while_the_program_is_busy_drawing():
    keys = typed_during(TYPED, 0.04)
    assert "".join(key.data for key in keys) == TYPED
    assert not any(bursts([key.at for key in keys]))
    assert len(keys) == len(TYPED), "no mark"


@pytest.mark.parametrize("pieces", [[TYPED], [TYPED[:8], TYPED[8:]]], ids=["at once", "in pieces"])
def test_a_paste_that_arrives_meanwhile_is_none(pieces):
    keys = typed_during(pieces, 0.01)
    assert "".join(key.data for key in keys) == TYPED
    assert all(bursts([key.at for key in keys]))
    assert len(keys) == len(TYPED) + 1, "the line is marked"
