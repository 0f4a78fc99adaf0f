import os
from dataclasses import replace

import pytest

from agent_cli.messages import ToolCall, ToolResult
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import Access
from agent_cli.tools.tool import run as run_tool
from tests.turns import agent, calls, run


@pytest.fixture
def folder(tmp_path):
    """A folder that may be read, beside one that may not."""
    (tmp_path / "open" / "sub").mkdir(parents=True)
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "secret.txt").write_text("the key is 4711")
    (tmp_path / "open" / "router.md").write_text("# Router\n\nThe router answers at 192.168.1.1.\n")
    (tmp_path / "open" / "sub" / "nas.txt").write_text("The NAS stands in the cellar.\n")
    return (tmp_path / "open").resolve()


@pytest.fixture
def here(context, folder):
    return replace(context, access=Access((folder,)))


def called(here, name, **arguments):
    return run_tool(BUILT_IN[name], ToolCall("1", name, arguments), here)


def test_no_file_tool_is_offered_while_no_folder_is_named(context, here):
    tools = [BUILT_IN[name] for name in ("read_file", "list_files", "search_files")]
    assert [tool.offered(context) for tool in tools] == [False] * 3
    assert [tool.offered(here) for tool in tools] == [True] * 3
    assert called(context, "read_file", path="/etc/hostname").failed


def test_a_file_is_read_by_any_name_of_it(here, folder):
    words = "# Router\n\nThe router answers at 192.168.1.1."
    for path in ("router.md", str(folder / "router.md"), "sub/../router.md", str(folder / "sub" / ".." / "router.md")):
        assert called(here, "read_file", path=path) == ToolResult(words)


def test_a_long_file_is_read_on_where_it_was_left(here, folder):
    (folder / "long.txt").write_text("".join(f"line {number:04} {'x' * 50}\n" for number in range(1, 301)))
    first = called(here, "read_file", path="long.txt").text
    assert first.endswith("[lines 1 to 98 of 300: go on with line 99]")
    assert called(here, "read_file", path="long.txt", line=99).text.startswith("line 0099")
    assert called(here, "read_file", path="long.txt", line=300).text.endswith("x")
    assert called(here, "read_file", path="long.txt", line=301) == ToolResult("the file has 300 lines", failed=True)
    (folder / "wide.txt").write_text("y" * 10_000)
    said = "\n[line 1 is cut off here: 4000 more characters]"
    assert called(here, "read_file", path="wide.txt").text == "y" * 6000 + said


def test_an_empty_file_says_nothing(here, folder):
    (folder / "empty").write_text("")
    assert called(here, "read_file", path="empty") == ToolResult("")


@pytest.mark.parametrize(
    "path",
    ["../shut/secret.txt", "{shut}/secret.txt", "sub/../../shut/secret.txt", "link", "door/secret.txt", "/etc/passwd"],
)
def test_nothing_outside_is_read_whichever_way_it_is_named(here, folder, path):
    (folder / "link").symlink_to(folder.parent / "shut" / "secret.txt")
    (folder / "door").symlink_to(folder.parent / "shut")
    result = called(here, "read_file", path=path.format(shut=folder.parent / "shut"))
    assert result.failed
    assert "4711" not in result.text
    assert result.text.endswith(f"may not be read: only files that are not hidden, in {folder}")


def test_a_link_within_the_folder_is_followed(here, folder):
    (folder / "other.md").symlink_to(folder / "router.md")
    assert not called(here, "read_file", path="other.md").failed
    assert called(here, "search_files", words="router").text.count("router.md:1:") == 1


def test_what_is_hidden_stays_hidden(here, folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("password = hunter2")
    (folder / ".env").write_text("password = hunter2")
    (folder / "open.txt").symlink_to(folder / ".env")
    assert called(here, "read_file", path="open.txt").failed
    assert called(here, "read_file", path=".env").failed
    assert called(here, "read_file", path=".git/config").failed
    assert called(here, "list_files", folder=".").text.split("\n")[0] == "sub/"
    assert called(here, "search_files", words="hunter2") == ToolResult("no line has 'hunter2'")


def test_a_pipe_a_folder_and_what_is_no_text_are_not_read(here, folder):
    os.mkfifo(folder / "pipe")
    for name in ("photo", "photo.jpg"):
        (folder / name).write_bytes(b"\xff\xd8\xff\0\x10JFIF")
    (folder / "huge.log").write_bytes(b"x" * 5_000_001)
    for name, said in {
        "pipe": f"{folder}/pipe is not read: it is not a file",
        "sub": f"{folder}/sub is a folder; list_files lists it",
        "photo.jpg": f"{folder}/photo.jpg is not read: it is not text: .jpg files are not read",
        "photo": f"{folder}/photo is not read: it is not text but binary",
        "huge.log": f"{folder}/huge.log is not read: it is too large: 5 MB, and at most 5 are read",
        "nowhere": f"there is no nowhere in {folder}; list_files shows what there is",
    }.items():
        assert called(here, "read_file", path=name) == ToolResult(said, failed=True)
    assert called(here, "read_file", path="a\0b").failed


def test_other_encodings_are_read(here, folder):
    for name, encoding in (("a", "utf-16"), ("b", "cp1252"), ("c", "utf-8-sig")):
        (folder / name).write_bytes("Grüße".encode(encoding))
        assert called(here, "read_file", path=name) == ToolResult("Grüße")


def test_folders_are_listed_and_searched(here, folder):
    assert called(here, "list_files") == ToolResult(str(folder))
    listed = called(here, "list_files", folder=str(folder)).text.split("\n")
    assert [line.split(",")[0] for line in listed] == ["sub/", "router.md  45 bytes"]
    assert called(here, "list_files", folder="router.md").failed
    assert called(here, "search_files", words="the NAS") == ToolResult(
        f"{folder}/sub/nas.txt:1: The NAS stands in the cellar."
    )
    assert called(here, "search_files", words="router", folder="sub") == ToolResult("no line has 'router'")
    assert called(here, "search_files", words=" ").failed


def test_a_rule_sees_where_a_path_leads(here, folder):
    for path, leads_to in (
        ("sub/../router.md", str(folder / "router.md")),
        ("../shut/secret.txt", "../shut/secret.txt"),
    ):
        assert BUILT_IN["read_file"].resolve(here, {"path": path}) == {"path": leads_to}


def test_the_deepest_folder_is_searched(context, abyss):
    here = replace(context, access=Access(folders=(abyss,)))
    assert called(here, "search_files", words="treasure").text.endswith("the treasure lies here")


@pytest.mark.parametrize("rule", ["read_file path={}/Private/*", "search_files folder={}/Private/*"])
def test_what_a_rule_keeps_from_being_read_is_not_found_by_a_search_above_it(context, tmp_path, rule):
    for name in ("Private", "open"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"the treasure is {name}")
    here = replace(context, access=Access(folders=(tmp_path.resolve(),)))
    for arguments in ({"words": "treasure"}, {"words": "treasure", "folder": str(tmp_path)}):
        rules = {rule.format(tmp_path): "deny"}
        hired = agent(calls(("search_files", arguments)), "Found.", tools=BUILT_IN, rules=rules)
        run(hired, here)
        [result] = [m.text for m in hired.model.requests[-1] if m.role == "tool"][-1:]
        assert ("is open" in result, "is Private" in result) == (True, False)
