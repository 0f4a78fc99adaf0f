"""`agent config` and bad settings: every mistake is a sentence with file, line and key, and exit code 2."""

import os

import pytest

from tests.conftest import Ran


@pytest.fixture
def file(program):
    """The settings file that the program reads; not made yet."""
    for name in ("AGENT_BACKGROUND_JOBS", "OLLAMA_HOST"):
        del program.env[name]
    path = program.home / "settings" / "config.toml"
    program.env["AGENT_CONFIG"] = str(path)
    return path


def write(file, text):
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def test_path_says_where_settings_and_database_are(program, file):
    assert program("config", "path") == Ran(0, f"config    {file}\ndatabase  {program.db}\n", "")
    del program.env["AGENT_CONFIG"], program.env["AGENT_DB"]
    program.env |= {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    assert program("config", "path").out == "config    /c/agent-cli/config.toml\ndatabase  /d/agent-cli/memory.db\n"
    assert not file.parent.exists()


def test_show_tells_where_each_value_came_from(program, file):
    write(file, '# mine\n\nnum_ctx = 4096\n[rules]\nsave_note = "allow"\n')
    program.env |= {"AGENT_THINK": "off", "OLLAMA_HOST": "127.0.0.1:9"}
    rows = {row["id"]: row for row in program("-m", "qwen3:8b", "config", "show", "--json").json}
    assert rows["num_ctx"] == {"id": "num_ctx", "value": 4096, "origin": f"{file}:3"}
    assert rows["rules"] == {"id": "rules", "value": {"save_note": "allow"}, "origin": f"{file}:4"}
    assert rows["think"] == {"id": "think", "value": "off", "origin": "environment AGENT_THINK"}
    assert rows["host"] == {"id": "host", "value": "127.0.0.1:9", "origin": "environment OLLAMA_HOST"}
    assert rows["model"] == {"id": "model", "value": "qwen3:8b", "origin": "flag"}
    assert rows["patience"] == {"id": "patience", "value": 30.0, "origin": "default"}
    lines = program("config", "show", "--origin").out.splitlines()
    assert [line.split() for line in lines if line.startswith("num_ctx")] == [["num_ctx", "4096", f"{file}:3"]]
    assert ["num_ctx", "4096"] in [line.split() for line in program("config", "show").out.splitlines()]


def test_set_changes_one_value_and_keeps_comments_and_order(program, file):
    write(file, '# my settings\nmodel = "a"  # the fast one\n\n[options]\ntemperature = 0.5 # calm\n')
    assert program("config", "set", "model", "b") == Ran(0, f'model = "b" (in {file})\n', "")
    assert program("config", "set", "num_ctx", "4096").code == 0
    assert program("config", "set", "options.top_k", "20").code == 0
    assert program("config", "set", "rules.save_note", "deny").code == 0
    assert file.read_text() == (
        '# my settings\nmodel = "b"  # the fast one\nnum_ctx = 4096\n\n'
        '[options]\ntemperature = 0.5 # calm\ntop_k = 20\n\n[rules]\nsave_note = "deny"\n'
    )
    assert program("config", "show").code == 0


REFUSED = (
    ("colour", "red", "there is no setting 'colour'; `agent config show` lists them all"),
    ("modle", "x", "there is no setting 'modle'; did you mean model?"),
    ("num_ctx", "many", 'num_ctx = "many" must be a whole number'),
    ("background_jobs", "perhaps", 'background_jobs = "perhaps" must be true or false'),
    ("model", "", 'model = "" must not be empty'),
    ("model.name", "x", 'model.name: model = { name = "x" } must be a single text in quotes'),
    ("rules.save_note", "perhaps", 'rules.save_note = "perhaps" must be "allow", "ask" or "deny" for each tool'),
    ("rules", "[1", 'rules = "[1" must be a table: {} empties it, and rules.NAME sets one of its entries'),
)


def test_set_makes_a_file_refuses_what_cannot_be_and_leaves_it_then_as_it_was(program, file):
    assert program("config", "set", "background_jobs", "off").code == 0
    for key, value, said in REFUSED:
        assert program("config", "set", key, value) == Ran(2, "", f"agent: {said}\n"), key
    assert file.read_text() == "background_jobs = false\n"


def test_set_in_a_file_that_cannot_be_read_says_so(program, file):
    write(file, "model = \n")
    ran = program("config", "set", "model", "b")
    assert ran.code == 2
    assert ran.err.startswith(f"agent: {file} cannot be read: ")
    assert ran.err.endswith("; correct it with `agent config edit`\n")


def test_set_mends_a_table_that_was_none(program, file):
    write(file, "rules = 3\nnum_ctx = 4096\n")
    assert program("config", "set", "rules.save_note", "deny").code == 0
    rows = {row["id"]: row["value"] for row in program("config", "show", "--json").json}
    assert (rows["rules"], rows["num_ctx"]) == ({"save_note": "deny"}, 4096)


def test_set_keeps_who_may_read_the_file_and_a_link_to_it(program, file):
    kept = file.parent.parent / "dotfiles.toml"
    kept.write_text('model = "a"\n')
    kept.chmod(0o600)
    file.parent.mkdir()
    file.symlink_to(kept)
    assert program("config", "set", "model", "b").code == 0
    assert (file.is_symlink(), kept.read_text(), kept.stat().st_mode & 0o777) == (True, 'model = "b"\n', 0o600)


@pytest.mark.parametrize("value", ["allow", "ask", "{}"])
def test_what_the_model_may_do_is_set_at_a_terminal_alone(program, file, terminal, value):
    write(file, '[rules]\nsave_note = "deny"\n')
    key = "rules" if value == "{}" else "rules.save_note"
    assert program.let_scripts_decide()("config", "set", key, value).code == 9
    assert file.read_text() == '[rules]\nsave_note = "deny"\n'
    shell = terminal("config", "set", key, value).wait("let the model do so?")
    assert shell.type("y").ended() == 0
    assert "deny" not in file.read_text()


MISTAKES = {
    "# one\n\nnum_ctx = 'x'": ', line 3: num_ctx = "x" must be a whole number',
    "\nnum_ctx = 1\nnum_ctx = 2": ", line 3 is not valid TOML: Cannot overwrite a value (at end of document)",
    "[predicates]\na" + ".b" * 3_000 + " = 1\n": " cannot be read: it is nested too deeply",
    'db = "a\\u0000b"\n': ', line 1: db = "a\\u0000b" must not hold a null byte',
}


@pytest.mark.usefixtures("no_database")
def test_a_mistake_in_the_file_or_the_environment_is_said_with_its_place(program, file):
    for text, said in MISTAKES.items():
        write(file, text)
        assert program("ask", "hi") == Ran(2, "", f"agent: {file}{said}\n")
    assert f"NOT  database   not checked: {file}" in program("doctor").out
    file.unlink()
    said = 'agent: AGENT_NUM_CTX: num_ctx = "many" must be a whole number\n'
    assert program("ask", "hi", env={"AGENT_NUM_CTX": "many"}) == Ran(2, "", said)
    said = "agent: AGENT_NOW is 'soon': write it like 2026-11-20T18:30:00+01:00\n"
    assert program("ask", "hi", env={"AGENT_NOW": "soon"}) == Ran(2, "", said)
    assert not program.db.exists()


def test_a_file_that_is_no_text_or_no_file_is_said(program, file):
    file.parent.mkdir()
    file.write_bytes(b"model = '\xff'")
    ran = program("ask", "hi")
    assert (ran.code, ran.err.startswith(f"agent: {file} cannot be read: ")) == (2, True)
    file.unlink()
    file.mkdir()
    for arguments in (["ask", "hi"], ["config", "show"], ["config", "set", "model", "x"]):
        ran = program(*arguments)
        assert (ran.code, ran.out) == (2, ""), arguments
        assert "Traceback" not in ran.err


def editor(program, script):
    program.env["EDITOR"] = f"sh -c '{script}' sh"


def test_edit_opens_the_file_and_checks_it_after(program, file):
    editor(program, 'echo "num_ctx = 4096" > "$1"')
    assert program("config", "edit") == Ran(0, "", "agent: the settings are in order\n")
    editor(program, 'echo "num_ctx = 1" > "$1"')
    said = f"agent: {file}, line 1: num_ctx = 1 must be at least 1024\n"
    assert program("config", "edit") == Ran(2, "", said)
    del program.env["EDITOR"]
    nowhere = Ran(2, "", "agent: there is no terminal for an editor; set one, as in EDITOR='code --wait'\n")
    assert program("config", "edit", stdin="") == nowhere
    editor(program, 'echo > "$1"')
    assert program("config", "edit").code == 0  # the mistake can be mended with it


def test_what_is_made_is_for_its_owner_alone_whatever_the_umask(program, tmp_path):
    home = tmp_path / "fresh"
    home.mkdir()
    for name in ("AGENT_CONFIG", "AGENT_DB", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        program.env.pop(name, None)
    program.env["HOME"] = str(home)
    before = os.umask(0)
    try:
        assert program("config", "set", "num_ctx", "4096").code == 0
        assert program("notes", "add", "milk").code == 0
        assert program("skills", "add", "--example", "morning-briefing").code == 0
        assert program("skills", "export", "k1", "--to", str(home / "skills")).code == 0
    finally:
        os.umask(before)
    made = [each for each in home.rglob("*") if not each.is_socket()]
    assert {each.name for each in made} >= {"config.toml", "memory.db", ".config", "agent-cli", "skills"}
    assert [each for each in made if each.stat().st_mode & 0o077] == []
