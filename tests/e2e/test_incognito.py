"""Of an incognito conversation nothing is left: what was said stands nowhere under the home or the temporary folder."""

import pytest

from tests.ollama_server import script

WORD = "Zq7vXk29LmPw4RtYb81NcHs5"  # 24 characters


@pytest.fixture
def program(program, server, tmp_path):
    (tmp_path / "tmp").mkdir()
    program.env["TMPDIR"] = program.env["SQLITE_TMPDIR"] = str(tmp_path / "tmp")
    program.env["AGENT_BACKGROUND_JOBS"] = "true"
    return program.use(server)


def holding(program, word=WORD):
    """The files in which the word stands, as bytes."""
    files = [path for path in program.home.rglob("*") if path.is_file()]
    return [str(path) for path in files if word.encode() in path.read_bytes()]


def play(server):
    server.play(
        script.reply(f"I note {WORD}.", calls=[("save_note", {"text": WORD}), ("jot", {"text": WORD})]),
        script.reply("Let me see.", calls=[("search_memory", {"query": WORD})]),
        script.reply(f"Your word is {WORD}."),
    )


def test_what_is_asked_as_usual_is_found_in_the_file(program, server):
    server.play(script.reply("Fine."))
    program("ask", f"my word is {WORD}")
    assert any(name.startswith(str(program.db)) for name in holding(program))


@pytest.mark.parametrize("read", [[], ["--memory"]], ids=["unread", "read"])
def test_an_incognito_question_leaves_its_words_nowhere(program, server, read):
    program("notes", "add", "the router is in the cellar")
    play(server)
    ran = program("ask", "--incognito", *read, f"Remember that my word is {WORD}")
    assert ran.code == 0
    assert f"Your word is {WORD}." in ran.out
    assert "nothing of this is kept: the conversation is incognito" in ran.err
    assert holding(program) == []
    program("ask", "--session", "s1", "hi")
    assert program.rows("select count(*) from session") == [(0,)]


@pytest.mark.parametrize("read", [[], ["--memory"]], ids=["unread", "read"])
def test_an_incognito_conversation_leaves_its_words_nowhere(program, terminal, server, read):
    program("notes", "add", "the router is in the cellar")
    play(server)
    shell = terminal("--incognito", *read).wait("incognito: ").wait_prompt()
    shell.enter(f"Remember that my word is {WORD}").wait(f"Your word is {WORD}.")
    assert "save_note failed: there is no tool 'save_note'" in shell.text
    shell.wait_prompt().enter(f"/search {WORD}").wait_prompt()
    shell.enter(f"/note {WORD}").wait("an incognito conversation leaves alone").wait_prompt()
    shell.type("a draft with ").type(WORD).wait_for_line(WORD).type("\x03").wait_prompt()
    assert shell.type("\x04").ended() == 0
    assert shell.text.endswith("nothing of this conversation is kept")
    assert holding(program) == []
    assert program.rows("select count(*) from message union all select count(*) from prompt") == [(0,), (0,)]


@pytest.mark.usefixtures("no_database")
def test_an_incognito_conversation_whose_window_is_closed_leaves_its_words_nowhere(program, terminal, server):
    server.play(script.pieces(script.Piece(f"It is {WORD} "), *(script.Piece(f"{n} ", delay=0.1) for n in range(200))))
    shell = terminal("--incognito").wait_prompt()
    shell.enter(f"my word is {WORD}").wait(f"It is {WORD}")
    assert shell.hang_up() == 129
    assert (holding(program), program.db.exists()) == ([], False)


def test_what_is_piped_in_is_asked_first_and_the_keyboard_goes_on(program, terminal, server):
    server.play(script.reply("A log."), script.reply("Fine."))
    program.command = ["sh", "-c", 'echo "Remember that it rains" | "$@"', "sh", *program.command]
    shell = terminal("ask", "-i", "what is it?").wait("A log.").wait_prompt()
    shell.enter("and now?").wait("Fine.").wait_prompt()
    assert shell.type("\x04").ended() == 0
    assert [text.split("\n")[0] for (text,) in program.rows("select text from message where role = 'user'")] == [
        "Remember that it rains",
        "and now?",
    ]
    assert program.rows("select count(*) from fact") == [(0,)]  # a pipe is not the person's own keys


def test_with_a_closed_standard_input_the_keyboard_goes_on(program, terminal, server):
    server.play(script.reply("Fine."))
    program.command = ["sh", "-c", '"$@" <&-', "sh", *program.command]
    shell = terminal("-i").wait_prompt()
    shell.enter("hi").wait("Fine.").wait_prompt()
    assert shell.type("\x04").ended() == 0


def test_a_conversation_without_memory_says_so_and_is_kept(program, terminal, server):
    program.env["AGENT_BACKGROUND_JOBS"] = "false"  # they would ask the model too
    program("ask", "my name is Ada")
    program("ask", "--session", "s1", "remember it")
    server.play(script.reply("Who knows."))
    shell = terminal("--no-memory").wait("nothing of memory is read in this run; what is said is kept")
    shell.wait("memory is not read").wait_prompt().enter("who am I?").wait("Who knows.").wait_prompt()
    assert shell.type("\x04").ended() == 0
    assert "Ada" not in str(server.turns[-1]["messages"])
    assert program.rows("select count(*) from message where text = 'who am I?'") == [(1,)]
