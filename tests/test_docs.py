"""README, docs/ and the example configuration say what the program does. `make docs` writes what is generated."""

import re
import shlex
from importlib import import_module

import pytest

from tests import generated_docs, serving
from tests.generated_docs import PAGES, ROOT
from tests.pictures import tour
from tests.tables import for_each

RUNNING = [page for page in PAGES if page.name != "scaling.md"]  # its commands are those of test_deploy.py


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_is_generated_in_a_page_is_what_the_program_says_today(page, tmp_path, request):
    text = page.read_text(encoding="utf-8")
    if not [*generated_docs.sections(text)]:
        return
    app = serving.opened(tmp_path)
    wanted = generated_docs.renewed(text, app)
    app.db.close()
    if request.config.getoption("--update-docs"):
        page.write_text(wanted, encoding="utf-8")
        return
    assert text == wanted, "run make docs"


def test_every_generated_part_stands_in_one_page():
    found = [each["name"] for page in PAGES for each in generated_docs.sections(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(generated_docs.PARTS)


def test_readme_is_short_enough_to_be_read_whole():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


@for_each("page", PAGES)
def test_links_of_a_page_lead_somewhere(page):
    for name, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        target = page.parent / name if name else page
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), (name, anchor)


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads]


def test_what_readme_has_one_type_is_what_its_picture_plays():
    typed = [step.typed for step in (*tour.FIRST, *tour.LATER) if step.seconds]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| [a-z]* ?\| `([^`]+)`", readme, re.MULTILINE) == typed


def test_the_table_of_contents_names_every_page():
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[[^]]*\]\(([^)]*)\)", contents, re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in PAGES if page.name != "README.md")


def test_example_configuration_lists_every_setting(request):
    file = ROOT / "config.example.toml"
    if request.config.getoption("--update-docs"):
        file.write_text(generated_docs.example_settings(), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == generated_docs.example_settings()


def shell_lines(page):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@for_each("page", RUNNING)
def test_a_page_names_no_command_that_is_not_tried_here(page):
    known = ("agent ", "echo ", "make run", "make test", "pipx install", "ollama pull")
    assert [line for line in shell_lines(page) if not line.startswith(known)] == []


@pytest.mark.parametrize("page", [page for page in RUNNING if shell_lines(page)], ids=name)
def test_every_command_of_a_page_runs(page, program, server):
    server.expect_stable = False  # one of the commands sets another num_ctx
    program.use(server).let_scripts_decide()
    (program.work / "notes.txt").write_text("buy milk")
    program("sessions", "import", "-", stdin=ONE_SESSION)
    for line in shell_lines(page):
        piped, _, command = line.partition("#")[0].rpartition("|")
        words = shlex.split(command)
        if words[0] != "agent":
            continue
        ran = program(*words[1:], stdin=piped.removeprefix("echo ").strip(' "'))
        unfound = " search " in line and "nothing is known of it" in ran.err
        assert (ran.code, "Traceback" in ran.err) == (int(unfound), False), f"{line}: {ran.err}"
        assert ran.out or page.name != "README.md", f"{line} shows a newcomer nothing: {ran.err}"


ONE_SESSION = (
    '{"id": "1", "title": "", "started_at": "2026-01-01T10:00:00", "messages": '
    '[{"id": "1", "role": "user", "content": "hello", "at": "2026-01-01T10:00:00"}]}\n'
)


def test_makefile_begins_with_the_two_commands_of_the_readme():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert targets[:2] == ["run", "test"]


def test_every_module_of_the_program_can_be_imported():
    for path in (ROOT / "agent_cli").rglob("*.py"):
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
