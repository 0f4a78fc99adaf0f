"""Values at the ends of what can be said, and files that are not there: each gives one sentence and no traceback."""

import zipfile

import pytest

from agent_cli.store import schema
from tests.conftest import Ran


def test_at_the_ends_of_time_a_command_works_or_says_why_not(program):
    for now in ("0001-01-01T00:00:00+14:00", "0001-01-01", "9999-12-31T23:59:59-12:00"):
        said = f"agent: AGENT_NOW is {now!r}: name a time of the years 1000 to 9000\n"
        assert program("notes", "add", "milk", env={"AGENT_NOW": now}) == Ran(2, "", said)
    for now in ("1000-01-01T00:00:00+14:00", "9000-12-31T23:59:59-12:00"):
        for command in (
            ["notes", "add", "milk"],
            ["-m", "offline", "ask", "what of the milk?"],
            ["remind", "call her tomorrow at nine"],
            ["jobs", "run", "--until-idle"],
            ["search", "milk"],
            ["summaries", "list"],
        ):
            ran = program(*command, env={"AGENT_NOW": now})
            assert (ran.code in (0, 1, 3), "Traceback" in ran.err) == (True, False), command  # 1: nothing was found


@pytest.mark.parametrize("name", ["a" * 70 + ".example", "ä..b"])
def test_a_name_that_no_host_can_have_is_refused(program, name):
    ran = program("serve", "--port", "0", "--host", name)
    assert ran.code == 2
    assert f"{name!r} is not an address of this machine" in ran.err.splitlines()[-1]


def test_a_number_of_minutes_beyond_all_time_is_refused(program):
    ran = program("config", "set", "close_after", "1e308")
    assert ran.code == 2
    assert "must be at most 1000000000" in ran.err
    assert program("-m", "offline", "ask", "--timeout", "1e308", "hello").code == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"rules = {'[' * 100_000}", "nested too deeply"),
        (f"[rules{'.a' * 100}]", "nested too deeply"),
        ("".join(f"k{number} = 1\n" for number in range(20_000)), "line 1: there is no setting 'k0'"),
    ],
    ids=["deep", "dotted", "many"],
)
def test_settings_that_no_person_writes_are_refused_at_once(program, text, why):
    file = program.home / ".config" / "agent-cli" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    ran = program("notes", "list", timeout=20)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert why in ran.err


@pytest.mark.parametrize("command", [["config", "set", "rules", "{}"], ["config", "set", "rules.save_note", ""]])
def test_a_value_that_is_nested_too_deeply_is_refused(program, command):
    program("notes", "add", "milk")
    ran = program(*command[:3], command[3].replace("{}", "") + "[" * 3000)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "nested too deeply" in ran.err
    assert "nested too deeply" in program("notes", "list", env={"AGENT_RULES": "{a = " + "[" * 3000}).err


def test_a_skill_that_is_nested_too_deeply_is_refused(program):
    (program.work / "SKILL.md").write_text(f"---\nname: a\ndescription: {'[' * 1000}\n---\nsteps\n")
    ran = program("skills", "import", "SKILL.md")
    assert ran.code == 1
    assert "the front matter of the skill cannot be read: it is nested too deeply\n" in ran.err


def test_millions_of_entries_that_cannot_be_read_are_counted_and_not_named(program):
    file = program.work / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", f"[{'{},' * 3000}{{}}]")
    exported = program("import", "chatgpt", file)
    imported = program("facts", "import", "-", stdin="{}\n" * 3000)
    assert (exported.code, exported.err.count("\n")) == (1, 22)
    assert exported.err.splitlines()[-2:] == [
        "agent: the others are counted, but not listed",
        "agent: 3001 broken entries were skipped; the others are imported",
    ]
    assert (imported.code, imported.err.count("\n")) == (1, 22)
    assert "agent: 3000 broken lines were skipped; the others are imported\n" in imported.err


def test_a_line_that_is_nested_too_deeply_is_left_out_of_an_import(program):
    nested = '{"statement": ' + "[" * 100_000 + "]" * 100_000 + "}"
    ran = program("facts", "import", "-", stdin=f'{nested}\n{{"statement": "The person grows medlars"}}\n')
    assert ran.err.startswith("agent: line 1 was skipped: it is nested too deeply\n")
    assert program.rows("select statement from fact") == [("The person grows medlars",)]


def test_a_database_in_a_folder_that_is_not_there_is_refused_and_no_folder_made(program):
    path = program.home / "nowhere" / "memory.db"
    ran = program("--db", path, "notes", "list")
    assert (ran.code, ran.err) == (
        6,
        f"agent: {path}: there is no folder {path.parent}; make it first, or name another file\n",
    )
    assert not path.parent.exists()


def test_a_file_of_a_newer_program_is_no_reason_to_restore_one(program):
    program("notes", "add", "milk")
    program.rows(f"pragma user_version = {schema.VERSION + 1}")
    ran = program("doctor")
    assert "a newer agent wrote this file" in ran.out
    assert "restore" not in ran.out
