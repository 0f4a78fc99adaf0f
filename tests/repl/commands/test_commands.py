"""The slash commands: what is one, what is not, and what each does."""

import re
from dataclasses import replace

import pytest
import typer

from agent_cli.cli import usage
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.documents import documents
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import notes, tasks
from agent_cli.messages import Message
from agent_cli.render.styles import Display
from agent_cli.repl.commands import commands
from agent_cli.store import jobs
from tests import recalling
from tests.llm.asking import engine_of
from tests.tables import columns, for_each, listed

NAMES = sorted(commands.registry())


def run(conversation, line):
    """What a command answers."""
    command, argument = commands.find(line)
    return command.run(conversation, argument)


def say(conversation, words):
    """As if the person had said it."""
    app = conversation.app
    recalling.say(app.db, conversation.ensure_session(), words, app.time(), app.scope)


@for_each(
    ("message", "shown"),
    [
        ("there is no task t9; `agent tasks list` shows them all", "there is no task t9; /tasks shows them all"),
        ("there is no fact f9; `agent facts list --all` shows them all", "there is no fact f9; /facts shows them all"),
        ("take that back first: `agent facts undo f3`", "take that back first: /undo f3"),
        ("raise it with `agent config set num_ctx 16384`", "raise it with /set num_ctx 16384"),
        ("`agent docs rm` removes it, or `agent docs list`", "/docs rm removes it, or /docs"),
        ("`agent search --kind file WORDS` finds some", "/search WORDS finds some"),
        ("`agent tasks edit` sets a time", "`agent tasks edit` in a shell sets a time"),
        ("`agent forget --verify Graz` looks again", "`agent forget --verify Graz` in a shell looks again"),
        ("start it with `ollama serve`", "start it with `ollama serve`"),
        ("kept f1 “`agent tasks list` is my start page”", "kept f1 “`agent tasks list` is my start page”"),
    ],
)
def test_an_error_names_the_slash_command_or_says_that_one_is_typed_in_a_shell(message, shown):
    assert commands.in_session(message) == shown


def test_the_commands_that_a_slash_command_replaces_are_commands_of_the_shell():
    for shell, slash in commands.SLASH.items():
        name, *rest = shell.split()
        found = typer.main.get_command(usage.app(name))
        if rest and not rest[0].startswith("-"):
            assert rest[0] in found.commands, shell
        assert slash.split()[0] in commands.registry()


@for_each("line", ["help", " Help ", "/", "/help"])
def test_help_is_given_to_whoever_asks_for_it_without_a_slash_or_with_it_alone(line):
    assert commands.find(line) == (commands.registry()["/help"], "")
    assert commands.find("/note --help") == commands.find("/help /note")


def test_the_log_tells_what_happened_newest_last(conversation):
    assert run(conversation, "/log") == "there are no events"
    run(conversation, "/note milk")
    run(conversation, "/note bread")
    assert run(conversation, "/log 1").split()[3:6] == ["note", "written", "n2"]
    assert len(run(conversation, "/log").splitlines()) == 2
    with pytest.raises(UsageError, match="'x' is not a number"):
        run(conversation, "/log x")


def test_stats_count_answers_and_say_what_is_due(conversation):
    assert run(conversation, "/stats") == "there are no answers to count"
    say(conversation, "hello")
    app = conversation.app
    reply = log.open_reply(app.db, conversation.id, app.scope, "m", app.time())
    log.close_reply(app.db, reply, Message("assistant", "hi"), "stop", log.Usage("m", 30, 12), app.time())
    run(conversation, "/remind milk")
    page = run(conversation, "/stats").draw(Display(width=lambda: 80))
    assert re.search(r"answers +tokens in +tokens out", page)
    assert re.search(r" 1 +30 +12 .*█", page)
    assert page.splitlines()[-1] == "tasks: 1 open"


def test_tools_are_listed_with_what_becomes_of_a_call(conversation):
    listed = {line.split()[0]: line.split()[1] for line in run(conversation, "/tools").splitlines()}
    assert (listed["search_memory"], listed["save_note"]) == ("allow", "ask")
    conversation.app.change_setting("rules", '{ save_note = "deny" }')
    assert "save_note        deny   Save a note" in run(conversation, "/tools")


@pytest.mark.parametrize(("columns", "most"), [(40, 36), (80, 24), (200, 24)])
def test_help_lists_them_all_in_six_groups_on_one_screen(conversation, columns, most):
    page = run(conversation, "/help").draw(Display(width=lambda: columns))
    listed = [line.split() for line in page.splitlines() if line.startswith("  /")]
    assert sorted(name for names in listed for name in names) == NAMES
    assert len([line for line in page.splitlines() if line[0].isupper()]) == 6
    assert max(map(len, page.splitlines())) <= columns
    assert len(page.splitlines()) <= most


@pytest.mark.parametrize("name", NAMES)
def test_help_explains_each_in_sentences_with_examples_that_run_it(conversation, name):
    explained, command = run(conversation, f"/help {name}"), commands.registry()[name]
    assert command.usage.split()[0] == command.name == name
    assert (command.help[0].isupper(), command.help.splitlines()[0][-1]) == (True, ".")
    assert explained.startswith(command.usage)
    assert command.help in explained
    assert run(conversation, f"/help {name.removeprefix('/')}") == explained
    assert len(command.examples) == (1 if command.usage == name else 2)
    for example in command.examples:
        assert example in explained
        assert commands.find(example)[0] is command


def test_no_name_is_given_twice():
    names = [name for command in commands.registry().values() for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))


@for_each(
    ("line", "name", "argument"),
    columns("""/exit → /exit → | /quit → /exit → | /? → /help → | /clear → /new → | /notes → /notes →
        /note buy milk → /note → buy milk | /clo → /close → | /he me → /help → me | /sess → /sessions →"""),
)
def test_names_aliases_and_unique_beginnings(line, name, argument):
    command, said = commands.find(f"  {line} ")
    assert (command.name, said) == (name, argument)


def test_a_note_may_have_several_lines():
    assert commands.find("/note two\nlines")[1] == "two\nlines"


@for_each(
    "line",
    [
        *listed("""hello | what does /help do? | /etc/hosts is empty | /usr/bin/python --version
        /tmp.txt was there | //comment | / alone | /Users are here | /2 is a half"""),
        "",
    ],
)
def test_what_is_no_command_is_text(line):
    assert commands.find(line) is None


@for_each(
    ("line", "hint"),
    columns("""/hlep → did you mean /help? | /xyzzy → /help lists them all | /etc → there is no /etc
        /exti now → did you mean /exit? | /cl → did you mean /close or /new?"""),
)
def test_unknown_command_is_told_the_nearest(line, hint):
    with pytest.raises(UsageError) as error:
        commands.find(line)
    assert str(error.value).startswith(f"there is no {line.split()[0]}; ")
    assert hint in str(error.value)


def test_looking_around_leaves_no_session_behind(conversation):
    for line in ("/help", "/sessions", "/notes", "/model", "/context"):
        run(conversation, line)
    assert run(conversation, "/close") == "nothing has been said yet"
    assert conversation.leave() is None
    assert sessions.listing(conversation.app.db, "person", 5) == []


def test_new_closes_the_session_and_keeps_it(conversation):
    assert run(conversation, "/new") == "this session is new"
    say(conversation, "hello")
    assert run(conversation, "/new") == "s1 is closed and kept; what you say next begins a new session"
    assert conversation.id is None
    assert [row["id"] for row in sessions.listing(conversation.app.db, "person", 5)] == ["s1"]
    assert [row["subject"] for row in jobs.listing(conversation.app.db, 5)] == ["s1"]


def test_resume_takes_up_an_earlier_session(conversation):
    say(conversation, "about the router")
    run(conversation, "/new")
    say(conversation, "about the garden")
    resumed = run(conversation, "/resume router")
    assert (resumed.session.handle, resumed.unfinished) == ("s1", None)
    assert conversation.id == 1
    assert sessions.get(conversation.app.db, 2, "person").closed_at is not None
    with pytest.raises(UsageError, match="no session mentions 'piano'"):
        run(conversation, "/resume piano")


def test_rename_and_sessions(conversation):
    with pytest.raises(UsageError, match="nothing has been said yet: there is no session"):
        run(conversation, "/rename Garden")
    say(conversation, "about the garden")
    with pytest.raises(UsageError, match="as in /rename Tax return; now it is “about the garden”"):
        run(conversation, "/rename")
    assert run(conversation, "/rename The garden") == "s1 is now “The garden”"
    assert run(conversation, "/sessions").endswith("    1 turn  The garden")
    with pytest.raises(UsageError, match="'many' is not a number"):
        run(conversation, "/sessions many")


def test_note_and_notes(conversation):
    assert run(conversation, "/notes") == "there are no notes; /note TEXT adds one"
    assert run(conversation, "/note buy milk") == "saved n1 “buy milk”"
    assert run(conversation, "/notes milk").endswith("buy milk")
    assert run(conversation, "/notes bread") == "no note has these words"
    [note] = notes.listing(conversation.app.db, "person", 5)
    assert (note.text, note.origin) == ("buy milk", "typed")
    conversation.origin = "pasted"
    run(conversation, "/note buy bread")
    assert [note.origin for note in notes.listing(conversation.app.db, "person", 5)] == ["pasted", "typed"]


def test_export_writes_a_new_file_and_never_over_another(conversation, tmp_path):
    say(conversation, "hello")
    file = tmp_path / "talk.md"
    assert run(conversation, f"/export {file}") == f"written to {file}"
    assert "hello" in file.read_text()
    with pytest.raises(UsageError, match="cannot be written"):
        run(conversation, f"/export {file}")
    assert run(conversation, "/export") == file.read_text()


def test_context_shows_what_the_model_sees(conversation):
    say(conversation, "hello")
    shown = run(conversation, "/context").draw(Display()).splitlines()
    assert [line.split()[0] for line in shown[:-1]] == ["instructions", "tools", "conversation", "free"]
    full = run(conversation, "/context --full")
    assert re.match(r"── system, \d+ tokens\nYou are agent", full)
    assert re.search(r"\n\n── tools, \d+ tokens\n\{\"name\": \"save_note\"", full)
    assert re.search(r"── user, \d+ tokens\nhello", full)


@pytest.mark.parametrize("line", ["/new and on", "/close it", "/exit now", "/context /exit"])
def test_words_that_a_command_does_not_take_are_refused(conversation, line):
    name, _, rest = line.partition(" ")
    with pytest.raises(UsageError, match=f"{name} takes no '{rest}'; it was not run"):
        run(conversation, line)


def test_model_is_said_and_changed(conversation, server):
    engine = engine_of(server)
    conversation.app.loaded = replace(
        conversation.app.loaded, config=replace(conversation.app.config, engine=engine.name, host=engine.host)
    )
    assert run(conversation, "/model") == "offline answers"
    assert run(conversation, "/model qwen3:8b") == (
        "qwen3:8b answers until you leave: environment AGENT_MODEL names the model"
    )
    for name in ("nosuch", "x:cloud", "scripted:/nope", "nomic-embed-text"):
        with pytest.raises(AgentError):
            run(conversation, f"/model {name}")
        assert run(conversation, "/model") == "qwen3:8b answers"


def test_model_of_a_server_that_does_not_answer_is_used_when_it_does(conversation):
    conversation.app.loaded = replace(
        conversation.app.loaded, config=replace(conversation.app.config, host="127.0.0.1:9")
    )
    assert run(conversation, "/model qwen3:8b") == (
        "no model server answers at http://127.0.0.1:9: qwen3:8b could not be checked, and is used when one does"
        " until you leave: environment AGENT_MODEL names the model"
    )
    assert run(conversation, "/model") == "qwen3:8b answers"


def test_a_session_that_was_closed_can_be_left_again(conversation):
    say(conversation, "hello")
    closing.close(conversation.app.db, 1, conversation.app.time)
    assert conversation.leave().handle == "s1"


def test_where_nothing_is_kept_no_command_makes_or_changes_the_file(conversation):
    conversation.app = conversation.app.incognito()
    for line in ("/doctor", "/note milk", "/forget n1", "/review"):
        with pytest.raises(UsageError, match="incognito"):
            commands.run(conversation, *commands.find(line))


def test_forgetting_what_is_not_there_offers_nothing_and_keeps_not_even_the_line(conversation):
    app = conversation.app
    for line in ("/forget hunter2", "/notes"):
        log.add_prompt(app.db, app.scope, None, line, app.time())
    said = "nothing is remembered about 'hunter2'; the line that you typed is erased too"
    assert run(conversation, "/forget hunter2") == said
    assert log.recent_prompts(app.db, app.scope.owner, 5) == ["/notes"]
    log.add_prompt(app.db, app.scope, None, "log in with hunter2", app.time())
    assert run(conversation, "/forget hunter2").text == "to be erased: 1 line you typed"


def test_forgetting_names_tasks_and_sections_and_says_that_the_file_stays(conversation, tmp_path):
    app, file = conversation.app, tmp_path / "bank.md"
    file.write_text("The vault is deep.\n")
    tasks.add(app.db, app.scope, "open the vault", None, app.time)
    documents.add(app.db, app.scope, str(file), app.time)
    assert list(documents.sync(app.db, app.scope.owner, app.time, documents.SyncResult()))
    asked = run(conversation, "/forget t1 d1")
    assert asked.text.splitlines()[2] == "to be erased: 1 task, 1 section of a file"
    told = asked.answer("yes").splitlines()
    assert re.fullmatch(
        r"Erased\. Searched the file for \d words and lines: 0 left", told[0]
    )  # words of the path among them
    assert told[1] == f"{file} stays on the disk: no sync brings these words of it back"
    assert told[3].endswith("copies elsewhere, swap and freed blocks of the disk cannot be searched")
    assert app.db.rows("select id from task union all select id from section") == []
