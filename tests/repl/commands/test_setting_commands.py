"""/think, /memory, /set, /doctor and /keys: how the program behaves, shown and changed."""

import pytest

from agent_cli.agent.events import Noticed
from agent_cli.app.app import open_app
from agent_cli.errors import ConfigError, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.repl.commands import commands
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.keyboard import keys
from tests.ollama_server import script


@pytest.fixture
def talk(tmp_path, server):
    """Opens a conversation with these environment variables."""
    opened = []

    def open_talk(**environ):
        environ = {"AGENT_DB": str(tmp_path / "memory.db"), **server.environ, **environ}
        opened.append(open_app({}, print, config_file=tmp_path / "config.toml", environ=environ))
        return Conversation(opened[-1])

    yield open_talk
    for app in opened:
        app.db.close()


def run(conversation, line):
    return commands.run(conversation, *commands.find(line))


def say(conversation, words):
    list(conversation.turn([Part(words, "typed")])(Cancel(), lambda call: True))


def test_think_is_asked_of_the_model_and_thoughts_are_shown_when_wanted(talk, server):
    conversation = talk(AGENT_MODEL="qwen3:8b")
    assert run(conversation, "/think") == "think is auto; thoughts are not shown"
    assert run(conversation, "/think show") == "think is auto; thoughts are shown as they come"
    assert conversation.show_thinking
    assert run(conversation, "/think on") == "think is on; thoughts are shown as they come"
    server.play(script.reply("Hello."))
    say(conversation, "hi")
    assert server.turns[-1]["think"] is True
    assert run(conversation, "/think hide") == "think is on; thoughts are not shown"
    with pytest.raises(ConfigError, match=r'^think = "loud" must be one of'):
        run(conversation, "/think loud")


def test_memory_that_is_only_read_learns_nothing_now_or_later(talk, server):
    conversation = talk(AGENT_MODEL="qwen3:8b")
    app = conversation.app
    assert run(conversation, "/memory").startswith("memory on: ")
    assert run(conversation, "/memory read") == (
        "memory read: memory is recalled; what you say is not read for facts, now or later"
    )
    server.play(script.reply("Nice."), script.reply("Good."))
    say(conversation, "I have a dog called Rex")
    assert app.db.rows("select kind from job where kind in ('learn', 'reflect')") == []
    assert run(conversation, "/context").draw(Display()).splitlines()[-1] == "memory is read: /memory"
    assert run(conversation, "/memory on").startswith("memory on: ")
    say(conversation, "I have a cat called Tom")
    assert sessions.read_position(app.db, 1)[1] == 2, "the dog is not made up for"
    assert "memory is" not in run(conversation, "/context").draw(Display())


def test_what_is_not_to_be_learned_is_passed_over_before_it_is_answered_and_beside_the_conversation(talk, server):
    conversation = talk(AGENT_MODEL="qwen3:8b")
    app = conversation.app
    run(conversation, "/memory read")
    server.play(script.reply("Nice."))
    next(conversation.turn([Part("I have a dog called Rex", "typed")])(Cancel(), lambda call: True))
    assert sessions.read_position(app.db, 1)[1] == 1, "though the program were killed now"
    conversation.parts = (Part("/btw I have a cat called Tom", "typed"),)
    list(run(conversation, "/btw I have a cat called Tom")(Cancel(), lambda call: True))
    assert sessions.read_position(app.db, 2)[1] == 3, "though it is taken up and learned from later"


def test_memory_that_is_off_shows_the_model_nothing(talk, server):
    conversation = talk(AGENT_MODEL="qwen3:8b")
    app = conversation.app
    adoption.add(app.memory, Claim("The NAS answers at 192.168.1.20", "typed"))
    run(conversation, "/memory off")
    server.play(script.reply("Who knows."))
    say(conversation, "Where does the NAS answer?")
    assert "192.168.1.20" not in str(server.turns[-1])
    run(conversation, "/memory on")
    server.play(script.reply("There."))
    say(conversation, "Where does the NAS answer?")
    assert "192.168.1.20" in str(server.turns[-1])
    with pytest.raises(UsageError, match="/memory takes on, read or off"):
        run(conversation, "/memory maybe")


def test_set_shows_and_changes_a_setting_for_good_and_at_once(talk, tmp_path, server):
    conversation = talk(AGENT_MODEL="qwen3:8b")
    file = tmp_path / "config.toml"
    assert "num_ctx             8192" in run(conversation, "/set").splitlines()
    assert run(conversation, "/set num_ctx") == (
        "num_ctx = 8192 (default)\n"
        "tokens of context, the same in every request: changing it makes the server load the model again"
    )
    assert run(conversation, "/set num_ctx 4096") == f"num_ctx = 4096 (in {file})"
    assert file.read_text() == "num_ctx = 4096\n"
    server.expect_stable = False
    server.play(script.reply("Hello."))
    say(conversation, "hi")
    assert server.turns[-1]["options"]["num_ctx"] == 4096
    assert run(conversation, "/set rules.save_note allow") == f'rules.save_note = "allow" (in {file})'
    assert conversation.app.config.rules == {"save_note": "allow"}
    assert run(conversation, "/set rules").startswith(f'rules = {{ save_note = "allow" }} ({file}')


def test_set_says_what_does_not_take_effect_now(talk, tmp_path):
    conversation = talk(AGENT_MODEL="offline")
    file = tmp_path / "config.toml"
    assert (
        run(conversation, "/set idle_seconds 5") == f"idle_seconds = 5.0 (in {file}); it takes effect at the next start"
    )
    assert run(conversation, "/set model auto") == (
        f'model = "auto" (in {file}); this run goes on with what its environment AGENT_MODEL says'
    )
    assert conversation.app.config.model == "offline"
    for wrong in ("/set nosuch", "/set nosuch 1", "/set num_ctx many"):
        with pytest.raises((UsageError, ConfigError)):
            run(conversation, wrong)


def test_the_assistant_changes_no_setting(talk):
    conversation = talk(AGENT_MODEL="offline")
    conversation.app.child = True
    with pytest.raises(UsageError, match="only you can say yes"):
        run(conversation, "/set learn off")


def test_doctor_is_that_of_the_command_line(talk):
    conversation = talk(AGENT_MODEL="offline")
    told = list(run(conversation, "/doctor")(Cancel(), lambda call: True))
    assert all(isinstance(event, Noticed) for event in told)
    assert next(each.text for each in told if each.text[5:13] == "database").startswith("ok ")


def test_doctor_looks_with_the_settings_of_this_run(talk):
    conversation = talk(AGENT_MODEL="offline")
    conversation.app.change_setting("host", "127.0.0.1:9")
    told = [event.text for event in run(conversation, "/doctor")(Cancel(), lambda call: True)]
    assert "NOT  server     no model server answers at http://127.0.0.1:9" in "\n".join(told)


def test_keys_tell_how_to_send_shift_enter_and_name_every_key_that_the_prompt_explains():
    told = "\n".join(event.text for event in run(None, "/keys")(Cancel(), lambda call: True))
    assert [name for name in ("WezTerm", "VS Code", "tmux") if f"\n{name} " not in told] == []
    assert [each for each in (keys.HELP, "Alt-1", "Ctrl-G") if each not in told] == []
