"""Without a server the person's own words answer, or a script."""

import threading
import time

import pytest

from agent_cli.errors import AgentError, Cancelled, ConfigError, ModelUnavailable
from agent_cli.llm import offline
from agent_cli.llm.model import Cancel, Done, Text, Thinking
from agent_cli.llm.offline import OfflineModel, Reply, ScriptedModel
from agent_cli.messages import Message, ToolCall

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


HELLO = [Message("user", "hello")]


@pytest.fixture
def load(tmp_path):
    def write(text, role="chat"):
        file = tmp_path / "script.toml"
        file.write_text(text, encoding="utf-8")
        return offline.load_script(file, role)

    return write


def test_replies_are_played_in_order(load):
    model = load(
        """
        [[reply]]
        think = "They greet me."
        say = "Hello  you.\\n"
        calls = [{ name = "now", arguments = { zone = "UTC" } }, { name = "now" }]

        [[reply]]
        say = "Noon."
        finish = "length"
        """
    )
    assert list(model.reply(HELLO)) == [
        Thinking("They greet me."),
        Text("Hello  "),
        Text("you.\n"),
        ToolCall("call_1", "now", {"zone": "UTC"}),
        ToolCall("call_2", "now", {}),
        Done("stop", "scripted"),
    ]
    assert list(model.reply([])) == [Text("Noon."), Done("length", "scripted")]


def test_calls_never_repeat_an_id_of_the_conversation():
    earlier = [Message("assistant", calls=(ToolCall("call_1", "now", {}),)), Message("tool", "noon", call_id="call_1")]
    model = ScriptedModel([Reply(calls=(("now", {}),))])
    assert next(model.reply(earlier)) == ToolCall("call_2", "now", {})


def test_each_role_plays_its_own_replies(load):
    script = """
        [[reply]]
        say = "for the person"
        [[reply]]
        role = "cheap"
        say = "for the summary"
        """
    assert next(load(script).reply(HELLO)) == Text("for ")
    assert [chunk.text for chunk in load(script, "cheap").reply(HELLO) if isinstance(chunk, Text)][-1] == "summary"


def test_script_that_is_over_says_so(load, tmp_path):
    model = load("[[reply]]\nsay = 'once'")
    list(model.reply(HELLO))
    with pytest.raises(AgentError) as raised:
        list(model.reply(HELLO))
    assert str(raised.value) == f"the script {tmp_path / 'script.toml'} has no more replies"


def test_script_without_a_file_that_is_over_says_so():
    with pytest.raises(AgentError, match=r"^the script has no more replies$"):
        list(ScriptedModel([]).reply(HELLO))


@pytest.mark.parametrize("kind", offline.FAILURES)
def test_failure_comes_after_what_was_said(load, kind):
    chunks = load(f"[[reply]]\nsay = 'half'\nfail = '{kind}'").reply(HELLO)
    assert next(chunks) == Text("half")
    with pytest.raises(type(offline.FAILURES[kind])):
        next(chunks)


def test_silence_and_pace_take_their_time():
    start = time.monotonic()
    list(ScriptedModel([Reply(wait=0.05, say="a b c", pace=0.05)]).reply(HELLO))
    assert 0.15 <= time.monotonic() - start < 3


@pytest.mark.parametrize("reply", [Reply(wait=30), Reply(say="a b", pace=30)])
def test_it_stops_at_once(reply):
    cancel = Cancel()
    threading.Timer(0.05, cancel).start()
    start = time.monotonic()
    with pytest.raises(Cancelled):
        list(ScriptedModel([reply]).reply(HELLO, cancel=cancel))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not toml", "is not TOML"),
        ("", "must be a list of [[reply]] tables"),
        ("reply = 1", "must be a list of [[reply]] tables"),
        ("reply = [1]", "reply 1: write it as a [[reply]] table"),
        ("[[reply]]\nsay = 'a'\n[other]", "must be a list of [[reply]] tables"),
        ("[[reply]]\n[[reply]]\nsays = 'a'", "reply 2: there is no 'says'; a reply has wait, think, say"),
        ("[[reply]]\nsay = 5", "reply 1: say = 5 has the wrong type"),
        ("[[reply]]\nwait = true", "reply 1: wait = True has the wrong type"),
        ("[[reply]]\nfail = 'loudly'", "must be one of broken, unavailable, missing, context"),
        ("[[reply]]\nfinish = 'late'", "must be one of stop, length"),
        ("[[reply]]\nrole = 'king'", "must be one of chat, cheap"),
        ("[[reply]]\ncalls = ['now']", "a call is written"),
        ("[[reply]]\ncalls = [{ name = 'now', arguments = 5 }]", "a call is written"),
        ("[[reply]]\ncalls = [{ name = 'now', argument = {} }]", "a call is written"),
    ],
)
def test_bad_script_is_refused_with_the_file_and_what_is_wrong(load, tmp_path, text, words):
    with pytest.raises(ConfigError) as raised:
        load(text)
    assert words in str(raised.value)
    assert str(tmp_path / "script.toml") in str(raised.value)


def test_missing_script_is_a_wrong_setting(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        offline.load_script(tmp_path / "none.toml")


def test_example_in_the_documentation_can_be_played(tmp_path):
    lines = [line[4:] for line in offline.__doc__.splitlines() if line.startswith("    ")]
    file = tmp_path / "script.toml"
    file.write_text("\n".join(lines))
    chunks = offline.load_script(file, "cheap").reply(HELLO)
    assert next(chunks) == Thinking("They greet me.")
