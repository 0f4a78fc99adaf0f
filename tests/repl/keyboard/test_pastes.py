"""Large pastes at the prompt, and pastes whose end was lost on the way."""

import pytest

from agent_cli.messages import Part
from agent_cli.repl.keyboard.keys import Pastes
from tests.repl.keyboard.test_keys import Typist, parts

LOG = "\n".join(f"line {number}" for number in range(212))
STANDS = "[pasted 212 lines #1]"


def paste(text):
    return f"\x1b[200~{text}\x1b[201~"


@pytest.fixture
def typist():
    return Typist(collapse=1000)


SMALL = f"it said {STANDS}"
SENT = {  # what is typed before Enter, and its typed and pasted parts in turns
    "it is sent whole": (["see ", paste(LOG), " now"], f"see |{LOG}| now"),
    "what stands for it and was changed stands for itself": (["see ", paste(LOG), "\x7f"], f"see {STANDS[:-1]}"),
    "two are told apart": ([paste(LOG), " and ", paste(LOG.upper())], f"|{LOG}| and |{LOG.upper()}"),
    "the history holds it whole": (["see ", paste(LOG), "\x03", "\x1b[A"], f"see |{LOG}"),
    "a small one of what stands for it is text": ([paste(LOG), " ", paste(SMALL)], f"|{LOG}| |{SMALL}"),
    "it is cut and put back": ([paste(LOG), "\x15", "\x19"], f"|{LOG}"),
}


@pytest.mark.parametrize(("typed", "sent"), SENT.values(), ids=SENT)
def test_a_large_paste_is_pasted_wherever_it_goes(typist, typed, sent):
    assert typist.parts(*typed, "\r") == parts(sent)


def test_a_large_paste_stands_in_short_in_the_line(typist):
    assert typist("see ", paste(LOG), " now", "\r") == f"see {STANDS} now"
    assert typist("see ", paste(LOG), "\x03", "\x1b[A", "\r") == f"see {LOG}"


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
def test_large_is_from_a_thousand_characters_or_fifteen_lines(typist, pasted, shown):
    assert typist("-", paste(pasted), "\r") == f"-{shown}"


def test_no_paste_is_too_large_when_the_setting_says_so():
    assert Typist(collapse=0)(paste(LOG), "\r") == LOG


def test_the_editor_is_given_a_large_paste_whole_and_it_comes_back_in_short(typist):
    typist.edit = lambda text: text.replace("see", "please see") + "\n"
    assert typist("see ", paste(LOG), "\x18\x05", "!", "\r") == f"please see {STANDS}!"
    assert typist.edited == [f"see {LOG}"]
    assert typist.pastes.parts(f"please see {STANDS}!") == parts(f"please see |{LOG}|!")


def test_a_large_paste_that_was_changed_in_the_editor_makes_all_of_it_pasted(typist):
    typist.edit = lambda text: text.replace("line 7\n", "")
    left = LOG.replace("line 7\n", "")
    assert typist.parts("see ", paste(LOG), "\x07", "\r") == [Part(f"see {left}", "pasted")]


def test_what_was_pasted_is_let_go_when_it_is_forgotten_but_for_the_present_line(typist):
    pastes = typist.pastes
    old, present = pastes.add(LOG), pastes.add(LOG.upper())
    pastes.forget_others(f"see {present}")
    assert pastes.expanded(f"{old} {present}") == f"{old} {LOG.upper()}"
    pastes.forget_others()
    assert pastes.expanded(present) == present


def test_a_message_said_before_is_pasted_where_it_was(typist):
    typist.last = [Part("read ", "typed"), Part("this text", "pasted")]
    assert typist.parts("\x1b\x1b", "!", "\r") == parts("read |this text|!")


def test_nothing_is_pasted_by_default():
    assert Pastes().parts("hello") == [Part("hello", "typed")]
