"""Without a server the person's own words answer."""

import pytest

from agent_cli.errors import Cancelled, ModelUnavailable
from agent_cli.llm.model import Cancel, Done, Text
from agent_cli.llm.offline import OfflineModel
from agent_cli.messages import Message

MEMORIES = [
    ("m9", "20 Nov 2026", "The dentist is on Friday\nat 3pm."),
    ("n4", "3 Oct 2026", "My dentist is Dr. Ito."),
    ("m2", "1 Jan 2026", "I had a toothache."),
    ("m1", "1 Jan 2025", "The fourth best."),
]


def answer(found, *messages, asked=None, cancel=None, verdict="known"):
    def find(question, limit):
        if asked is not None:
            asked.append((question, limit))
        return verdict, found

    return list(OfflineModel(find).reply(messages or [Message("user", "When is the dentist?")], cancel=cancel))


def said(chunks):
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))


def test_up_to_three_memories_are_quoted_with_their_dates():
    chunks = answer(MEMORIES)
    assert said(chunks) == (
        "No model server answers; these are the words in memory that match your message:\n\n"
        "- 20 Nov 2026 (m9): “The dentist is on Friday at 3pm.”\n"
        "- 3 Oct 2026 (n4): “My dentist is Dr. Ito.”\n"
        "- 1 Jan 2026 (m2): “I had a toothache.”"
    )
    assert chunks[-1] == Done(model="offline")
    assert len(chunks) > 20  # by the word


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("maybe", "perhaps these words help, but none holds most of your message"),
        ("kept", "this is kept"),
        ("waiting", "this waits for your yes"),
    ],
)
def test_what_is_only_perhaps_an_answer_or_was_asked_to_be_remembered_is_called_so(verdict, sentence):
    assert said(answer(MEMORIES[1:2], verdict=verdict)) == (
        f"No model server answers; {sentence}:\n\n- 3 Oct 2026 (n4): “My dentist is Dr. Ito.”"
    )


def test_nothing_found_is_said_plainly():
    assert said(answer([], verdict="nothing")) == "No model server answers, and nothing in memory matches your message."


def test_question_is_what_the_person_wrote_last_and_no_added_context():
    asked = []
    answer(
        MEMORIES,
        Message("user", "first"),
        Message("assistant", "yes?"),
        Message("user", "When is\nthe dentist?", before="⟦ memory ⟧", after="⟦ today ⟧"),
        Message("tool", "noon"),
        asked=asked,
    )
    assert asked == [("When is\nthe dentist?", 3)]


def test_without_a_question_nothing_is_searched():
    asked = []
    assert said(answer(MEMORIES, Message("user", "", before="⟦ memory ⟧"), asked=asked)) == "No model server answers."
    assert asked == []


def test_long_memory_is_cut_and_cannot_drive_the_terminal():
    quoted = said(answer([("m1", "1 Jan 2026", "\x1b[31mword " * 200)]))
    assert "\x1b" not in quoted
    assert len(quoted) < 600
    assert quoted.endswith("…”")


def test_what_needs_a_model_is_refused():
    with pytest.raises(ModelUnavailable):
        list(OfflineModel(lambda question, limit: ("nothing", [])).reply([], format={"type": "object"}))


def test_it_can_be_stopped():
    cancel = Cancel()
    cancel()
    with pytest.raises(Cancelled):
        answer(MEMORIES, cancel=cancel)
