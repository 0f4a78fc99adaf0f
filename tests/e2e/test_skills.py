"""`agent skills`: written, taken in, offered, read by the model, changed and given out, in processes of their own."""

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import NOON, Ran
from tests.ollama_server import script
from tests.terminal import Terminal

pytestmark = pytest.mark.usefixtures("scripts_decide")

DEPLOY = """---
name: deploy-site
description: 'Publish the site: use when the person wants it online'
---

1. build
2. rsync
"""
LISTED = "Publish the site: use when the person wants it online"
FILES = {
    "plain": DEPLOY,
    "pdf-forms": (
        "---\nname: pdf-forms\ndescription: Fill in PDF forms. Use when a form is to be filled in.\n"
        "license: Complete terms in LICENSE.txt\nallowed-tools: Bash(pdftk:*) Read\nmetadata:\n  author: example-org\n"
        '  version: "1.0"\n---\n\n# PDF forms\n\n```sh\npdftk form.pdf dump_data_fields\n```\n\nSee [more](x.md).\n'
    ),
    "windows": "---\r\nname: windows\r\ndescription: >-\r\n  Folded over\r\n  two.\r\n---\r\nOne\r\n\r\n\ttwo \r\n",
    "bom": "\ufeff---\nname: bom\ndescription: |\n  Kept\n  as it is\n---\n\n1. no newline at the end",
    "unicode-1": (
        "---\nname: unicode-1\ndescription: Grüße 😀 送信\n# a comment\n---\n\n\n  Schließe 👩‍🚀 ab: naïve\u00a0\n\n\n"
    ),
}


@pytest.fixture
def program(program):
    program.env |= {"AGENT_NOW": NOON.isoformat(), "AGENT_LEARN": "off"}
    return program


def written(program, name, words):
    """A SKILL.md in a folder of its name."""
    file = program.work / "library" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(words.encode())
    return file


def add(program, name="deploy-site", description=LISTED, steps="1. build\n2. rsync"):
    return program("skills", "add", name, "-d", description, steps)


def states(program):
    return program.rows("select name, state, version, origin from skill order by id")


def test_what_is_typed_is_a_skill_at_once(program):
    assert add(program) == Ran(0, "saved k1 “deploy-site”\n", "")
    assert program("skills", "list").out == f"k1  deploy-site  {LISTED}\n"
    assert program("skills", "show", "deploy-site").out == (
        "skill    k1 deploy-site, version 1\nstate    accepted on 2026-01-02\norigin   typed\nchanged  2026-01-02\n\n"
        + DEPLOY
    )
    told = program("skills", "show", "k1", "--json").json
    assert (told["id"], told["name"], told["text"], told["versions"]) == ("k1", "deploy-site", DEPLOY, [1])
    assert [each["id"] for each in program("skills", "list", "--json").json] == ["k1"]


def test_what_comes_through_a_pipe_waits_for_a_yes(program):
    ran = program("skills", "add", "deploy-site", "-d", LISTED, stdin="1. build\n2. rsync\n")
    assert ran == Ran(0, "k1 “deploy-site” waits for your yes (agent skills review)\n", "")
    assert (program("skills", "list").out, program("skills", "list", "--pending").out) == (
        "",
        f"k1  pending  deploy-site  {LISTED}\n",
    )
    again = program("skills", "add", "deploy-site", stdin=DEPLOY)
    assert again.out == (
        "nothing new in deploy-site: it is known, waits already, or was rejected, hidden or forgotten\n"
    )
    assert states(program) == [("deploy-site", "pending", 1, "piped")]


def test_at_a_terminal_a_skill_is_written_in_the_editor(program, terminal):
    program.edit_with('sed -i "s/what it does: use when …/Publish it/; s/1. …/1. rsync/" "$1"')
    assert terminal("skills", "add", "deploy-site").wait("saved k1 “deploy-site”").ended() == 0
    assert program.rows("select description, text like '%1. rsync%' from skill") == [("Publish it", 1)]


def test_every_file_that_is_taken_in_is_given_out_the_same_byte_by_byte(program):
    files = {name: written(program, name, words) for name, words in FILES.items()}
    ran = program("skills", "import", "library", "--accept", "--yes")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "imported 5 skills, accepted")
    assert program("skills", "export", "--to", "out").code == 0
    given = {file.parent.name: file.read_bytes() for file in (program.work / "out").glob("*/SKILL.md")}
    assert given == {name.replace("plain", "deploy-site"): file.read_bytes() for name, file in files.items()}
    for name, file in files.items():
        with (program.work / "printed").open("wb") as printed:
            process = program.start("skills", "export", name.replace("plain", "deploy-site"), stdout=printed)
            process.communicate()
        assert (program.work / "printed").read_bytes() == file.read_bytes()


def test_what_is_imported_waits_and_twice_makes_no_doubles(program):
    written(program, "a", DEPLOY).with_name("run.sh").write_text("rm -rf /")
    (program.work / "library" / "empty").mkdir()
    one = program("skills", "import", "library")
    assert one == Ran(
        0,
        "k1 “deploy-site” waits for your yes\nimported 1 skill, pending (agent skills review)\n",
        "agent: deploy-site: what stands beside its SKILL.md was left: run.sh\n",
    )
    said = (
        "nothing new in library/a/SKILL.md: deploy-site is known, waits already, or was rejected, hidden or forgotten"
    )
    for path in ("library", "library/a", "library/a/SKILL.md"):
        assert program("skills", "import", path) == Ran(0, "imported 0 skills, pending\n", f"agent: {said}\n")
    assert program("skills", "import", "library", "--accept", "--yes").out == (
        "k1 “deploy-site” is accepted\nimported 1 skill, accepted\n"
    )
    assert states(program) == [("deploy-site", "accepted", 1, "file")]


def test_skills_are_found_where_people_have_them_the_projects_first_and_wait_for_a_yes(program):
    assert program("skills", "import").code == 2
    for folder, names in ((program.home, ("deploy-site", "bake")), (program.work, ("deploy-site",))):
        for name in names:
            file = folder / ".agents" / "skills" / name / "SKILL.md"
            file.parent.mkdir(parents=True)
            file.write_text(f"---\nname: {name}\ndescription: How to\n---\n\nAs in {folder.name}.\n")
    ran = program("skills", "import")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "imported 2 skills, pending (agent skills review)")
    rows = program.rows("select name, state, text from skill order by name")
    assert [(name, state) for name, state, _ in rows] == [("bake", "pending"), ("deploy-site", "pending")]
    assert "As in work." in rows[1][2]


def test_a_changed_file_waits_as_a_change_and_becomes_the_next_version(program):
    add(program)
    written(program, "a", DEPLOY.replace("rsync", "rsync -a"))
    assert program("skills", "import", "library").out.startswith(
        "k2 “deploy-site” waits for your yes, a change to k1\n"
    )
    assert program("skills", "list", "--pending").out == f"k2  pending, changes k1  deploy-site  {LISTED}\n"
    assert program("skills", "import", "library", "--accept", "--yes").out.startswith(
        "k1 “deploy-site” is accepted, version 2\n"
    )
    assert program("skills", "show", "k1", "--versions").out == ("1  until 2026-01-02  changed by the person\n2  now\n")


def test_broken_files_are_skipped_and_said(program):
    written(program, "a", DEPLOY)
    broken = {
        "b": "# no front matter",
        "c": "---\nname: C d\ndescription: x\n---\ny",
        "d": "---\nname: d\n---\ny",
        "e": '---\nname: "e\\e[31m"\ndescription: x\n---\ny',
        "f": DEPLOY + "\0",
        "g": "x" * 90_000,
    }
    for name, words in broken.items():
        written(program, name, words)
    written(program, "h", "").write_bytes(b"---\xff")
    ran = program("skills", "import", "library")
    *skipped, last = ran.err.splitlines()
    assert (ran.code, last) == (1, "agent: 7 broken files were skipped; the others are imported")
    assert [line.split(" was skipped: ")[0] for line in skipped] == [
        f"agent: library/{name}/SKILL.md" for name in "bcdefgh"
    ]
    assert "\x1b" not in ran.err
    assert states(program) == [("deploy-site", "pending", 1, "file")]


def test_a_skill_is_changed_in_the_editor_and_the_difference_shown(program):
    add(program)
    program.edit_with('sed -i "s/2. rsync/2. run the tests/" "$1"')
    assert program("skills", "edit", "deploy-site") == Ran(
        0,
        "changed k1 “deploy-site”, version 2\n@ from line 4\n  ---\n  \n  1. build\n- 2. rsync\n+ 2. run the tests\n",
        "",
    )
    assert program("skills", "edit", "k1") == Ran(0, "", "agent: deploy-site was left as it is\n")


def test_an_edit_leaves_the_line_ends_of_the_file(program):
    written(program, "windows", FILES["windows"])
    program("skills", "import", "library", "--accept", "--yes")
    program.edit_with('sed -i s/One/Two/ "$1"')
    assert program("skills", "edit", "windows").code == 0
    assert program.rows("select text from skill") == [(FILES["windows"].replace("One", "Two"),)]


def test_what_is_no_skill_after_the_editor_is_said_and_kept(program):
    add(program)
    program.edit_with('sed -i s/^name:.*/name:/ "$1"')
    ran = program("skills", "edit", "deploy-site")
    said, kept = ran.err.strip().split("; your text is kept in ")
    assert (ran.code, said) == (2, "agent: the front matter of a skill must have a name and a description, both texts")
    assert Path(kept).read_text() == DEPLOY.replace("name: deploy-site", "name:")
    assert states(program) == [("deploy-site", "accepted", 1, "typed")]


def test_a_skill_is_hidden_and_brought_back_and_so_is_an_older_version(program):
    add(program)
    assert program("skills", "rm", "deploy-site").out == "hidden k1 “deploy-site” (agent skills restore deploy-site)\n"
    assert program("skills", "list").out == program("search", "rsync", "--kind", "skill").out == ""
    assert program("skills", "list", "--hidden").out == f"k1  deploy-site  {LISTED}\n"
    assert program("skills", "restore", "deploy-site").out == "restored k1 “deploy-site”, version 1\n"
    assert program("search", "rsync", "--kind", "skill").out.startswith("k1 ")
    program.edit_with('sed -i "s/2. rsync/2. scp/" "$1"')
    program("skills", "edit", "deploy-site")
    assert program("skills", "show", "deploy-site", "--version", "1").out.endswith(DEPLOY)
    assert program("skills", "restore", "deploy-site", "--version", "1").out == (
        "restored k1 “deploy-site”, version 3\n@ from line 4\n  ---\n  \n  1. build\n- 2. scp\n+ 2. rsync\n"
    )


def test_the_name_of_a_file_forges_no_line(program):
    file = written(program, "a", DEPLOY)
    (file.parent / "x\nagent: imported 9 skills").touch()
    written(program, "b\nagent: all is well", "no skill")
    ran = program("skills", "import", "library")
    assert [line[:12] for line in ran.err.splitlines()] == ["agent: deplo", "agent: libra", "agent: 1 bro"]


def test_a_skill_that_is_named_twice_is_taken_once(program):
    add(program)
    assert program("skills", "export", "deploy-site", "k1", "--to", "out").out == "wrote out/deploy-site/SKILL.md\n"
    assert program("skills", "rm", "deploy-site", "k1").out == (
        "hidden k1 “deploy-site” (agent skills restore deploy-site)\n"
    )


def test_an_export_writes_over_nothing_else(program):
    add(program)
    assert program("skills", "export", "--to", "out").out == "wrote out/deploy-site/SKILL.md\n"
    assert program("skills", "export", "--to", "out").out == "the same already: out/deploy-site/SKILL.md\n"
    file = program.work / "out" / "deploy-site" / "SKILL.md"
    file.write_text("mine")
    assert program("skills", "export", "--to", "out") == Ran(
        2, "", "agent: out/deploy-site/SKILL.md exists already with other content; say --force to write over it\n"
    )
    assert file.read_text() == "mine"
    assert program("skills", "export", "deploy-site", "--to", "out", "--force").code == 0
    assert file.read_text() == DEPLOY


WRONG = [
    (["show", "x"], "there is no skill 'x'; `agent skills list` shows them all"),
    (["show", "a\x1b[31m"], "there is no skill 'a\\x1b[31m'; `agent skills list` shows them all"),
    (
        ["show", "deploy-site", "--version", "7"],
        "deploy-site has no version 7; `agent skills show deploy-site --versions` lists them",
    ),
    (["add", "x", "y"], "say what it does and when to use it, with --description"),
    (["add", "x", "-d", "y"], "a skill needs steps: write them below its front matter"),
    (
        ["add", "a\x1b[31m", "-d", "y", "z"],
        "'a[31m' is not a valid name of a skill: use lower-case letters, digits and single hyphens, at most 64, "
        "as in deploy-site",
    ),
    (
        ["add", "../../x", "-d", "y", "z"],
        "'../../x' is not a valid name of a skill: use lower-case letters, digits and single hyphens, at most 64, "
        "as in deploy-site",
    ),
    (
        ["add", "deploy-site", "-d", "y", "z"],
        "there is a skill deploy-site already; `agent skills edit deploy-site` changes it",
    ),
    (["add", "night", "--example"], "no example is called 'night'; there are morning-briefing"),
    (["import", "nowhere"], "there is no nowhere"),
    (["import", "~no-such-user/x"], "there is no ~no-such-user/x"),
    (["import", "x" * 300], f"{'x' * 300} cannot be read: File name too long"),
    (["import", "."], ". holds no SKILL.md, and no folder with one"),
    (["import", ".", "--accept"], "--accept accepts every file without a review: say --yes as well, or leave it out"),
    (["export"], "name the one skill to print, or say with --to where to write them all"),
    (["rm", "deploy-site", "k9"], "there is no skill 'k9'; `agent skills list` shows them all"),
    (
        ["restore", "deploy-site"],
        "deploy-site is not hidden; `agent skills show deploy-site --versions` lists what it was before",
    ),
    (
        ["restore", "deploy-site", "--version", "4"],
        "deploy-site has no version 4; `agent skills show deploy-site --versions` lists them",
    ),
    (["list", "--all", "--hidden"], "say one of --pending, --all and --hidden"),
]


ONE_AFTER_THE_OTHER = """
import json, os, sys
from agent_cli.cli.main import app
for command in json.loads(sys.argv[1]):
    os.environ.pop("AGENT_CHILD", None)
    try:
        app(["skills", *command])
    except SystemExit as ended:
        print(ended.code, end=" ")
"""


def test_what_is_wrong_is_said_in_a_sentence_and_changes_nothing(program):
    add(program)
    before = program.rows("select * from skill"), program.rows("select count(*) from event")
    program.command = [sys.executable, "-c", ONE_AFTER_THE_OTHER]
    ran = program(json.dumps([arguments for arguments, _ in WRONG]))
    assert (ran.out, ran.err.splitlines()) == ("2 " * len(WRONG), [f"agent: {said}" for _, said in WRONG])
    assert (program.rows("select * from skill"), program.rows("select count(*) from event")) == before


def test_hidden_characters_are_said_before_the_yes_and_left_out_where_it_is_shown(program):
    evil = DEPLOY.replace("build", "b\u200bui\U000e0041ld\u202e").replace("Publish", "Pub\u2066lish")
    file = written(program, "a", evil)
    ran = program("skills", "import", str(file))
    assert "agent: deploy-site holds 4 characters that no screen shows; the model is given the skill without" in ran.err
    shown = program("skills", "show", "k1")
    assert shown.out.endswith(DEPLOY)
    assert program("skills", "list", "--pending").out == f"k1  pending  deploy-site  {LISTED}\n"
    program("skills", "import", str(file), "--accept", "--yes")
    assert program("skills", "export", "deploy-site", "--to", "out").code == 0
    assert (program.work / "out/deploy-site/SKILL.md").read_bytes() == evil.encode()


def test_the_skill_is_offered_beside_the_question_and_its_steps_are_read_by_the_tool(program, server):
    steps = "\n".join(f"{number}. step" for number in range(1, 31))
    add(program, steps=steps)
    program.use(server)
    server.play(script.reply(calls=[("read_skill", {"name": "deploy-site"})]), script.reply("It is online."))
    assert program("ask", "Please publish the site") == Ran(0, "It is online.\n", "")
    first, second = [request.body for request in server.requests if request.path == server.chat_path]
    words, offer, today = first["messages"][-1]["content"].split("\n\n")
    assert (words, today[:10]) == ("Please publish the site", "⟦ Today is")
    assert offer == f"⟦ Skills that may help; read_skill gives the steps:\n- deploy-site: {LISTED}\n⟧"
    assert first["tools"] == second["tools"]
    assert "read_skill(name)" in str(first["tools"])
    assert (second["messages"][-1]["role"], second["messages"][-1]["content"]) == ("tool", steps)
    assert program("why").out.startswith(f"- deploy-site: {LISTED}\n    2.")
    assert [(each["id"], each["kind"]) for each in program("why", "--json").json] == [("k1", "skill")]
    assert program.rows("select kind, actor from event where subject = 'read_skill'") == [("call allowed", "program")]


def test_skills_are_listed_and_shown_in_a_conversation(program, terminal):
    add(program)
    program("skills", "add", "bake", "-d", "Bake", stdin="1. mix")
    screen: Terminal = terminal().wait_prompt()
    screen.enter("/skills").wait(f"k1     deploy-site: {LISTED}").wait("1 skill to review: /review").wait_prompt()
    screen.enter("/skills deploy-site").wait("2. rsync").wait_prompt()
    screen.enter("/exit")
    assert screen.ended() == 0


BESIDE = {
    "references/hosts.md": b"The host is marmot.example.\n",
    "scripts/build.sh": b"#!/bin/sh\nmake all\n",
    "assets/logo.png": b"\x89PNG\x00\xff",
}


def with_files(program, **changed):
    """deploy-site with files in its folders, and with others that do not belong to it."""
    file = written(program, "deploy-site", DEPLOY)
    for path, content in ({"scripts/.hidden": b"x", "notes.txt": b"x"} | BESIDE | changed).items():
        (file.parent / path).parent.mkdir(exist_ok=True)
        (file.parent / path).write_bytes(content)
    if not (link := file.parent / "references" / "link.md").is_symlink():
        link.symlink_to("/etc/hostname")
    return file


def test_the_files_of_a_skill_are_kept_shown_and_given_out_the_same(program):
    with_files(program)
    ran = program("skills", "import", "library")
    assert ran.err == "agent: deploy-site: what stands beside its SKILL.md was left: notes.txt\n"
    assert f"files    {', '.join(sorted(BESIDE))}\n" in program("skills", "show", "deploy-site").out
    program("skills", "import", "library", "--accept", "--yes")
    assert program("skills", "show", "k1", "--json").json["files"] == sorted(BESIDE)
    assert program("skills", "show", "k1", "--file", "scripts/build.sh").out == "#!/bin/sh\nmake all\n"
    assert program("skills", "show", "k1", "--file", "assets/logo.png").out == "[no text: 6 bytes]\n"
    missing = "deploy-site has no file 'x'; there are assets/logo.png, references/hosts.md, scripts/build.sh"
    assert program("skills", "show", "k1", "--file", "x") == Ran(2, "", f"agent: {missing}\n")
    assert program("skills", "export", "--to", "out").code == 0
    given = program.work / "out" / "deploy-site"
    assert {path: (given / path).read_bytes() for path in BESIDE} == BESIDE
    names = sorted(each.name for each in given.rglob("*") if each.is_file())
    assert names == ["SKILL.md", "build.sh", "hosts.md", "logo.png"]


def test_a_changed_file_of_a_skill_is_a_change_that_waits_and_can_be_taken_back(program, terminal):
    with_files(program)
    program("skills", "import", "library", "--accept", "--yes")
    file = with_files(program, **{"scripts/build.sh": b"#!/bin/sh\nmake site\n"})
    (file.parent / "references" / "hosts.md").unlink()
    assert program("skills", "import", "library").out.startswith(
        "k2 “deploy-site” waits for your yes, a change to k1\n"
    )
    assert program("skills", "show", "k1", "--file", "scripts/build.sh").out == "#!/bin/sh\nmake all\n"
    screen: Terminal = terminal("skills", "review")
    screen.wait("references/hosts.md goes").wait("- make all").wait("+ make site").wait("? help").type("y")
    assert screen.ended() == 0
    assert program("skills", "show", "k1", "--file", "scripts/build.sh").out == "#!/bin/sh\nmake site\n"
    assert program("skills", "restore", "k1", "--version", "1").code == 0
    assert program("skills", "show", "k1", "--file", "references/hosts.md").out == "The host is marmot.example.\n"


def test_too_many_or_too_large_files_of_a_skill_are_refused_in_a_sentence(program):
    with_files(program, **{"assets/film.mp4": b"x" * 1_000_001})
    limit = "a skill has at most 100 files of 1000 kB together beside its SKILL.md, and this has more"
    assert f"library/deploy-site/SKILL.md was skipped: {limit}\n" in program("skills", "import", "library").err
    assert states(program) == []


def test_the_model_is_told_of_the_files_of_a_skill_and_reads_them(program, server):
    with_files(program)
    program("skills", "import", "library", "--accept", "--yes")
    program.use(server)
    read = [
        ("read_skill", {"name": "deploy-site"}),
        ("read_skill", {"name": "deploy-site", "file": "scripts/build.sh"}),
    ]
    wrong = ("read_skill", {"name": "deploy-site", "file": "x"})
    server.play(script.reply(calls=[*read, wrong]), script.reply("It is online."))
    program("ask", "Please publish the site")
    steps, build, missing = [each["content"] for each in server.chats[-1]["messages"] if each["role"] == "tool"]
    assert steps == (
        "1. build\n2. rsync\n\n[its files, for read_skill(name, file); scripts are only shown: "
        "assets/logo.png, references/hosts.md, scripts/build.sh]"
    )
    assert build == "#!/bin/sh\nmake all\n"
    assert missing == ("deploy-site has no file 'x'; there are assets/logo.png, references/hosts.md, scripts/build.sh")


def test_a_topic_in_a_file_of_a_skill_is_forgotten_with_it(program):
    with_files(program)
    program("skills", "import", "library", "--accept", "--yes")
    assert "1 skill" in program("forget", "--topic", "marmot", "--yes").out
    assert program.rows("select count(*) from skill") == [(0,)]
    assert b"marmot" not in program.db.read_bytes()


def test_a_slash_and_the_name_of_a_skill_gives_the_model_its_steps(program, server, terminal):
    add(program)
    program("skills", "add", "bake", "-d", "Bake", stdin="1. mix")  # waits, so that it is no command
    program.use(server)
    server.play(script.reply("It is online."), script.reply("Again."))
    screen: Terminal = terminal().wait_prompt()
    screen.enter("/deploy-site to staging").wait("It is online.").wait_prompt()
    question = server.chats[-1]["messages"][-1]["content"]
    assert question.startswith(
        "/deploy-site to staging\n\n⟦ The person asks for this skill; follow its steps:\n1. build\n2. rsync\n⟧"
    )
    screen.enter("/retry").wait("Again.").wait_prompt()
    assert server.chats[-1]["messages"][-1]["content"] == question
    screen.enter("/bake").wait("there is no /bake").wait_prompt()
    screen.by_hand("/depl").wait("Publish the site")  # is completed
    screen.type("\x03").enter("/exit")
    assert screen.ended() == 0
