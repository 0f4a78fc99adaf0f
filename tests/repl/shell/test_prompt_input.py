"""The prompt as the program builds it, without a terminal: what it offers, keeps and sends along."""

import asyncio
import os
import signal
import threading

import pytest
from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.completion import CompleteEvent, ThreadedCompleter
from prompt_toolkit.cursor_shapes import CursorShape
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from agent_cli.app import upkeep
from agent_cli.app.app import open_app
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.forgetting import forget, selection
from agent_cli.memory.planner import notes
from agent_cli.messages import Part
from agent_cli.render.styles import Display
from agent_cli.repl.commands import session_commands
from agent_cli.repl.keyboard.keys import KeyAhead, typed_ahead
from agent_cli.repl.shell import prompt_input
from agent_cli.repl.shell.prompt_input import PromptCompleter, PromptInput, completion
from agent_cli.repl.shell.shell import Shell
from tests import facts


@pytest.fixture
def environ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return {"AGENT_HOST": "127.0.0.1:9", "AGENT_BACKGROUND_JOBS": "false"}


def talked(app, words, title=""):
    """The number of a session in which this was said."""
    id = sessions.start(app.db, app.scope, app.time())
    log.add_user_message(app.db, id, app.scope, [Part(words, "typed")], app.time())
    if title:
        sessions.change(app.db, id, title=title)
    return id


def offered(app, before, tab=True):
    """The lines that the menu would make of this."""
    event = CompleteEvent(text_inserted=not tab, completion_requested=tab)
    found = PromptCompleter(app).get_completions(Document(before), event)
    return [before[: len(before) + each.start_position] + each.text for each in found]


async def until(true):
    for _ in range(500):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


def with_keyboard(sit):
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        return asyncio.run(sit(keyboard))


def at_prompt(app, person):
    """Let somebody sit at the shell; `person(keyboard, line)`."""

    async def sit(keyboard):
        shell = Shell(app, None, Display())
        running = asyncio.create_task(shell.run())
        await until(lambda: shell._prompt._prompt.app.is_running)
        await person(keyboard, shell._prompt)
        keyboard.send_text("\x03\x03")
        await asyncio.sleep(0.05)
        keyboard.send_text("\x04")
        assert await running == 0

    with_keyboard(sit)


@pytest.mark.parametrize("pressed", ["/memo\t", "\t"], ids=["with the word", "after it"])
def test_tab_while_the_menu_is_being_made_is_not_lost(app, pressed):
    made = threading.Event()

    class Slow(PromptCompleter):
        def get_completions(self, document, complete_event):
            made.wait(30)
            return super().get_completions(document, complete_event)

    async def person(keyboard, line):
        line.buffer.completer = ThreadedCompleter(Slow(app))
        if pressed == "\t":
            keyboard.send_text("/memo")
            await until(lambda: line.buffer.complete_state)
        keyboard.send_text(pressed)
        await until(lambda: line.buffer.complete_state and not line.application.key_processor.input_queue)
        assert not line.buffer.complete_state.completions
        made.set()
        await until(lambda: line.buffer.text == "/memory")

    at_prompt(app, person)


def test_a_command_has_a_large_paste_whole(app):
    words = "\n".join(f"line {number}" for number in range(20))

    async def person(keyboard, line):
        for keys, shown in (("/note ", "/note "), (f"\x1b[200~{words}\x1b[201~", "/note [pasted 20 lines #1]")):
            keyboard.send_text(keys)
            await until(lambda shown=shown: line.buffer.text == shown)
        keyboard.send_text("\r")
        await until(lambda: app.db.value("select count(*) from note"))

    at_prompt(app, person)
    assert app.db.rows("select text, origin from note") == [(words, "pasted")]
    assert log.recent_prompts(app.db, app.scope.owner, 9) == [f"/note {words}"]
    assert log.pasted_prompts(app.db, app.scope.owner, 9) == {f"/note {words}": [words]}


def test_vi_keys_are_a_setting_and_the_cursor_shows_the_mode(app):
    vi = open_app({"editing_mode": "vi", "db": app.db.path}, print, config_file=app.loaded.file, environ={})
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        prompt = PromptInput(vi, lambda: None, print, Display()).application
    assert (prompt.editing_mode, prompt.ttimeoutlen, prompt.timeoutlen) == (EditingMode.VI, 0.05, 0.2)
    assert prompt.cursor.get_cursor_shape(prompt) == CursorShape.BEAM
    vi.db.close()


def sent_before(app, *lines):
    for line in lines:
        log.add_prompt(app.db, app.scope, None, line, app.time())


def searched(app, *pieces, ahead=()):
    """The parts of what is sent in the end; each text is typed when the one before has been taken in."""

    async def press(keyboard, line, piece):
        prompt, before = line.application, get_app()
        keyboard.send_text(piece)
        if piece in (CTRL_R, *LEAVES, "\r"):  # the list comes, or goes
            await until(lambda: (get_app() is not before and get_app().is_running) or not prompt.is_running)
        elif piece.endswith("\r"):  # a line is taken
            await until(lambda: get_app() is prompt and line.buffer.text)
        else:
            words = piece.removeprefix("\x1b[200~").removesuffix("\x1b[201~")
            await until(lambda: before.current_buffer.text.endswith(words))

    async def sit(keyboard):
        line = PromptInput(app, lambda: None, print, Display())
        store_typeahead(keyboard, [*typed_ahead(ahead)])
        asking = asyncio.create_task(line.ask())
        await until(lambda: line.application.is_running and (line.buffer.text or not ahead))
        for piece in pieces:
            await press(keyboard, line, piece)
        return line.pastes.parts(await asking)

    return with_keyboard(sit)


LEAVES = ("\x03", "\x1b", "\x07")
CTRL_R = "\x12"


def test_ctrl_r_lists_what_was_sent_and_enter_takes_a_line_without_sending_it(app):
    sent_before(app, "about Graz\nand Linz", "something else", "about Vienna\nand Wels")
    assert searched(app, CTRL_R, "ABOUT", f"{CTRL_R}\r", "!", "\r") == [Part("about Graz\nand Linz!", "typed")]
    assert searched(app, CTRL_R, "vienna WELS", "\r", "\r") == [Part("about Vienna\nand Wels", "typed")]


@pytest.mark.parametrize("leave", LEAVES, ids=["Ctrl-C", "Esc", "Ctrl-G"])
def test_the_draft_stays_when_the_list_is_left_or_nothing_has_the_words(app, leave):
    sent_before(app, "about Graz")
    assert searched(app, "draft", CTRL_R, "gra", leave, "!", "\r") == [Part("draft!", "typed")]
    assert searched(app, "draft", CTRL_R, "piano", "\r", "!", "\r") == [Part("draft!", "typed")]


def test_keys_that_come_together_with_ctrl_r_are_typed_in_its_list(app):
    sent_before(app, "about Graz", "about Wels")
    assert searched(app, f"{CTRL_R}gra\r", "\r") == [Part("about Graz", "typed")]


def test_an_enter_typed_ahead_takes_a_line_of_the_list_and_sends_nothing(app):
    sent_before(app, "about Graz", "about Wels")
    ahead = [KeyAhead(Keys.ControlR, CTRL_R), *map(KeyAhead, "Graz"), KeyAhead(Keys.ControlM, "\r")]
    assert searched(app, "!", "\r", ahead=ahead) == [Part("about Graz!", "typed")]


def test_a_line_that_was_pasted_before_still_is_and_a_paste_into_the_list_is_looked_for(app):
    log.add_prompt(app.db, app.scope, None, "see this text", app.time(), ["this text"])
    taken = [Part("see ", "typed"), Part("this text", "pasted")]
    assert searched(app, CTRL_R, "\x1b[200~this\x1b[201~", "\r", "\r") == taken


def test_the_list_closes_when_something_was_forgotten(app):
    sent_before(app, "about Graz")

    async def person(keyboard, line):
        keyboard.send_text(CTRL_R)
        await until(lambda: get_app() is not line.application)
        with app.db.write():
            tombstones.count_erasure(app.db)
        line.drop_forgotten()
        await until(lambda: get_app() is line.application)

    at_prompt(app, person)


def test_sessions_are_offered_by_handle_and_by_title(app):
    first, second = talked(app, "hello router"), talked(app, "hi", "The printer")
    assert offered(app, "/resume ") == [f"/resume s{second}", f"/resume s{first}"]
    assert offered(app, "/resume the pr") == [f"/resume s{second}"]
    assert offered(app, "/resume router") == [f"/resume s{first}"]
    assert offered(app, "/resume s1") == ["/resume s1"]
    assert offered(app, "/resume nothing") == []


def test_whatever_can_be_forgotten_is_offered_one_word_at_a_time(app):
    facts.add(app.db, "Zoë lives in Graz", app.scope)
    note = notes.add(app.db, app.scope, "buy milk", app.time)
    assert offered(app, "/forget ") == ["/forget f1", f"/forget {note.handle}"]
    assert offered(app, "/forget f1 mil") == [f"/forget f1 {note.handle}"]


def test_commands_models_settings_and_periods_are_offered(app):
    assert offered(app, "/sess") == ["/sessions"]
    assert offered(app, "/help res") == ["/help resume"]
    assert offered(app, "/model o") == ["/model offline"]
    assert offered(app, "/summary y") == ["/summary yesterday", "/summary year"]
    assert offered(app, "/note buy") == [], "words of one's own are not completed"


def test_models_of_the_server_are_offered(app, server):
    app = open_app({"db": app.db.path}, print, config_file=app.loaded.file, environ=server.environ)
    assert offered(app, "/model q") == ["/model qwen3:8b"]
    app.db.close()


def test_files_are_offered_behind_an_at(app, tmp_path):
    (tmp_path / "my notes").mkdir()
    (tmp_path / "my notes" / "today.txt").touch()
    for name in ("main.py", ".hidden", "a b.txt", "bad\x1bname"):
        (tmp_path / name).touch()
    assert offered(app, "look at @ma") == ["look at @main.py"]
    assert [each for each in offered(app, "@") if "memory.db" not in each] == ['@"a b.txt', "@main.py", '@"my notes/']
    assert offered(app, "@.h") == ["@.hidden"]
    assert offered(app, '@"my notes/t') == ['@"my notes/today.txt"']
    assert offered(app, "mail me@ma") == []


def test_the_menu_opens_by_itself_only_behind_a_slash_or_an_at():
    assert all(map(completion, ("/", "/res", "/resume s", "see @")))
    assert not any(map(completion, ("", "/note a", "see @a b", "me@home", "and/or", "/help\nx")))


def test_files_named_in_a_message_go_before_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b c.txt").write_text("beta")
    said = [Part('compare @a.txt, @"b c.txt" (@a.txt)', "typed")]
    assert prompt_input.attach(said) == [Part("alpha\n\n", "file", "a.txt"), Part("beta\n\n", "file", "b c.txt"), *said]


def test_an_at_in_prose_and_a_pasted_one_are_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("alpha")
    prose = ("mail me@a.txt", "@anna said so", "@types/node", "meet @ noon", "@", "@x" * 3000)
    for part in (*(Part(words, "typed") for words in prose), Part("see @a.txt", "pasted")):
        assert prompt_input.attach([part]) == [part]
        assert prompt_input.summary([part]) == ""
    said = prompt_input.attach([Part("is @b.txt (or @a.txt, @b.txt) right?", "typed")])
    assert prompt_input.summary(said) == "sent along: a.txt (5 characters); there is no file b.txt: sent as text"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("@./nosuch.txt", "there is no file ./nosuch.txt"),
        ('@"no such.txt"', "there is no file no such.txt"),
        ("@binary", "binary is not text"),
        ("@./folder", "folder is not a file"),
    ],
)
def test_a_file_that_cannot_be_sent_is_said_and_nothing_is(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=told):
        prompt_input.attach([Part(words, "typed")])


@pytest.mark.parametrize(("typed", "found"), [("1", 1), ("s2", 2), ("printer", 2), ("", 2), ("\x03", None)])
def test_a_session_is_picked_by_number_handle_or_words(app, typed, found):
    talked(app, "hello router"), talked(app, "hi", "The printer")
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        keyboard.send_text(f"{typed}\r")
        picked = asyncio.run(session_commands.choose(app))
    assert (picked.id if picked else None) == found


def test_it_is_asked_again_after_a_session_that_is_not_there(app, monkeypatch):
    talked(app, "hello router"), talked(app, "hi", "The printer")
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        monkeypatch.setattr("builtins.print", lambda *words, **how: keyboard.send_text("s1\r"))
        keyboard.send_text("s9\r")  # a 9 alone could be of the time that is shown
        assert asyncio.run(session_commands.choose(app)).id == 1


def test_what_memory_will_add_stands_above_the_prompt_and_a_key_drops_it(app):
    lives, cat = (facts.add(app.db, words).fact for words in ("I live in Graz", "My cat Mia lives with me in Graz"))
    upkeep.after_turn(app, app.db)

    async def person(keyboard, line):
        keyboard.send_text("Who lives in Graz?")
        await until(lambda: line.preview.line)
        assert {lives.handle, cat.handle} <= set(line.preview.line.split())
        number = line.preview.line.split().index(lives.handle) - 2
        keyboard.send_text(f"\x1b{line.preview.line.split()[number + 1]}")
        await until(lambda: lives.handle not in line.preview.line.split())
        keyboard.send_text("\r")
        await until(lambda: app.db.value("select count(*) from recollection"))

    at_prompt(app, person)
    assert app.db.rows("select kind, row from recollection") == [("fact", cat.id)]


def test_what_was_forgotten_is_foreseen_no_more(app):
    lives = facts.add(app.db, "I live in Graz").fact
    upkeep.after_turn(app, app.db)

    async def person(keyboard, line):
        keyboard.send_text("Who lives in Graz?")
        await until(lambda: line.preview.line)
        forget.erase(
            app.db,
            forget.planned(app.db, selection.select_by_handle(app.db, app.scope.owner, [lives.handle])),
            app.time,
        )
        line.drop_forgotten()
        assert line.preview.line == ""
        keyboard.send_text("\x15")

    at_prompt(app, person)


def test_what_is_found_once_the_line_was_sent_is_not_shown_above_the_next(app, monkeypatch):
    found, begun, go_on = ((("fact", 1), "f1 I live in Graz"),), threading.Event(), threading.Event()
    monkeypatch.setattr(prompt_input, "items", lambda *_: begun.set() or (go_on.wait(5) and found))

    async def person(keyboard, line):
        line.buffer.text = "Who lives in Graz?"
        await until(begun.is_set)
        line.preview.take_dropped()
        go_on.set()
        await asyncio.sleep(0.05)
        assert line.preview.line == ""
        line.buffer.reset()

    at_prompt(app, person)


def test_nothing_is_foreseen_of_a_command_or_of_what_is_not_known(app):
    facts.add(app.db, "I live in Graz")
    upkeep.after_turn(app, app.db)

    async def person(keyboard, line):
        for words in ("/search Graz", "\x15What is the capital of Peru?"):
            keyboard.send_text(words)
            await asyncio.sleep(0.5)
            assert line.preview.line == ""
        keyboard.send_text("\x15")

    at_prompt(app, person)


def test_a_ctrl_c_that_comes_as_a_signal_while_something_is_printed_counts_as_one(app):
    async def person(keyboard, line):
        keyboard.send_text("\x03")
        await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: not line.application.is_running)

    at_prompt(app, person)


def test_a_file_that_cannot_be_read_ends_no_incognito_conversation(app, tmp_path, capsys):
    private = app.incognito(reads=True)
    private.path = tmp_path / "other.db"
    private.path.write_text("no database" * 1000)

    async def person(keyboard, line):
        keyboard.send_text("Who lives in Graz?")
        await until(lambda: line.buffer.text)
        keyboard.send_text("\r")
        await until(lambda: "not an SQLite database" in capsys.readouterr().out)
        await until(lambda: line.application.is_running and line.buffer.text == "Who lives in Graz?")
        keyboard.send_text("\x15")

    at_prompt(private, person)
