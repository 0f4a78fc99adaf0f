"""The person's rules for tool calls: which one counts, and that no path slips past one."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from agent_cli.agent import policy
from agent_cli.agent.events import Noticed, ToolFinished
from agent_cli.agent.policy import Limits, reason_to_stop
from agent_cli.app.app import check_setting, open_app
from agent_cli.errors import ConfigError
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools.registry import BUILT_IN, SOURCES
from agent_cli.tools.tool import ToolFailed, tool
from tests.tables import for_each
from tests.turns import agent, calls, run


def _real(context, arguments):
    if "\0" in arguments["path"]:
        raise ToolFailed("that is no path")
    return {**arguments, "path": str(Path(arguments["path"]).expanduser().resolve())}


@tool(risk="read", source="files", resolve=_real)
def read_file(context, path: str, title: str = "") -> str:
    """Read."""
    return f"read {path}"


def of_risk(risk):
    def thing(context) -> str:
        return ""

    return tool(risk)(thing)


@for_each(("risk", "ruling"), [("read", "allow"), ("session", "allow"), ("write", "ask"), ("network", "ask")])
def test_what_keeps_something_for_good_or_reaches_out_is_asked_for(risk, ruling):
    assert policy.decide(of_risk(risk), {}, {}, {}) == (ruling, False)


@for_each("risk", policy.BY_RISK)
@for_each("ruling", ["allow", "ask", "deny"])
def test_the_persons_own_rule_for_a_tool_comes_first(risk, ruling):
    assert policy.decide(of_risk(risk), {"thing": ruling, "other": "deny"}, {}, {}) == (ruling, True)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("work/deep", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "desk").symlink_to(tmp_path / "work")
    return tmp_path


def ruled(configured, **arguments):
    return policy.decide(read_file, configured, arguments, _real(None, arguments))[0]


@for_each(
    ("configured", "decided"),
    [
        ({}, ("allow", False)),
        ({"source:files": "deny"}, ("deny", True)),
        ({"source:built-in": "deny"}, ("allow", False)),
        ({"save_note": "deny"}, ("allow", False)),
        ({"source:files": "deny", "read_file": "ask"}, ("ask", True)),
        ({"read_file": "deny", "read_file path=/a/*": "allow"}, ("allow", True)),
        ({"read_file": "deny", "read_file path=/b/*": "allow"}, ("deny", True)),
        ({"read_file path=/a/*": "allow", "read_file path=*": "ask"}, ("ask", True)),
        ({"read_file path=/a/*": "deny", "read_file path=*": "ask"}, ("deny", True)),
        ({"read_file path=/a/* title=x": "deny"}, ("allow", False)),
        ({"read_file path=/a/* title=": "deny"}, ("deny", True)),
    ],
)
def test_the_most_specific_rule_counts_and_of_several_patterns_the_strictest(configured, decided):
    arguments = {"path": "/a/b c"}
    assert policy.decide(read_file, configured, arguments, arguments) == decided


def test_no_path_slips_past_what_is_denied(home, monkeypatch):
    monkeypatch.chdir(home)
    below = "~/secret/key ~/work/../secret/key ~/work/link/key ~/SECRET/key secret/key ~/secret ~/desk/link/k"
    for path in (*below.split(), "~//secret/./key"):
        assert ruled({"read_file path=~/secret/*": "deny"}, path=path) == "deny", path


def test_only_what_really_lies_in_a_folder_is_allowed_by_it(home, monkeypatch):
    monkeypatch.chdir(home)
    inside = ["~/work/a", "~/work", "~/work/deep/../a", "~/desk/a"]
    outside = ["~/work/../secret/key", "~/work/link/key", "~/WORK/a", "/etc/passwd", "x/~/work/a"]
    for path in (*inside, *outside):
        for folder, wanted in (("work", "allow"), ("desk", "allow"), ("work", "ask")):
            configured = {"read_file": "deny", f"read_file path=~/{folder}/*": wanted}
            assert ruled(configured, path=path) == (wanted if path in inside else "deny"), (path, folder)


def test_a_left_out_argument_is_what_the_tool_takes_and_letters_written_in_another_way_are_the_same():
    assert ruled({"read_file title=*cafe\u0301*": "deny"}, path="/a", title="das CAF\u00c9") == "deny"
    assert ruled({"read_file title=*x*": "deny"}, path="/a") == "allow"
    assert ruled({"read_file title=*": "deny"}, path="/a") == "deny"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("rm", "there is no such tool; there are jot, "),
        ("files", 'a rule for all tools of a source is written "source:files"; for a tool of a server, SERVER__TOOL'),
        (
            "mcp.engram.save",
            'a rule for all tools of a source is written "source:mcp.engram.save"; for a tool of a server',
        ),
        ("save_note text", "after the name of a tool comes ARGUMENT=GLOB"),
        ("save_note words=*", "save_note has no argument 'words'; it has text, title"),
        ("save_note text=a b=c", "save_note has no argument 'b'; it has text, title"),
        ("save_note text=", "text= has no value; * matches anything"),
        ("source:", "there is no such source; there are built-in, files, feeds, and mcp.NAME for a server"),
        ("source:file", "there is no such source; there are built-in, files, feeds, and mcp.NAME for a server"),
        ("source:files path=*", "a rule for a source has no arguments; write one for each of its tools"),
    ],
)
def test_a_rule_that_would_mean_nothing_is_refused_with_what_there_is(tmp_path, key, said):
    file = tmp_path / "config.toml"
    file.write_text(f'model = "m"\n[rules]\njot = "ask"\n"{key}" = "deny"\n')
    with pytest.raises(ConfigError, match=re.escape(f"{file}:2: rules.{key}: {said}")):
        open_app({}, print, config_file=file, environ={})
    with pytest.raises(ConfigError, match=re.escape(f"rules.{key}: {said}")):
        check_setting(f"rules.{key}", "deny")


@pytest.mark.parametrize("key", ["source:mcp.engram", "engram__save", "engram__save text=*x*"])
def test_a_rule_for_a_server_is_taken_unchecked(key):
    assert policy.find_error(key, BUILT_IN, SOURCES) == ""


def test_a_name_with_a_dot_needs_quotes(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('[rules]\nmcp.engram = "deny"\n')
    with pytest.raises(ConfigError, match=r'must have a name with a dot in quotes: "mcp\.…" = "ask"'):
        open_app({}, print, config_file=file, environ={})


def test_every_tool_has_a_source_that_a_rule_may_name():
    assert {each.source for each in BUILT_IN.values()} <= set(SOURCES)


TOOLS = {"read_file": read_file}


def test_the_person_is_shown_where_a_path_really_leads(context, home):
    asked = []
    call, approve = calls(("read_file", {"path": "~/work/link/key"})), lambda call: asked.append(call) or True
    run(agent(call, "Done.", tools=TOOLS, rules={"read_file": "ask"}, approve=approve), context)
    real = {"path": str(home / "secret" / "key")}
    assert asked == [ToolCall("call_1", "read_file", {"path": "~/work/link/key"}, real)]


def test_arguments_that_cannot_be_read_are_neither_asked_about_nor_run(context):
    def results(arguments):
        shown = run(agent(calls(("read_file", arguments)), "Done.", tools=TOOLS, approve=lambda call: 1 / 0), context)
        return [event.result.text for event in shown if isinstance(event, ToolFinished)]

    assert results({"path": "a\0b"}) == ["that is no path"]
    assert results({}) == ["wrong arguments, missing: path; read_file takes path (string), title (string, optional)"]
    ruled = [(each["kind"], each["subject"]) for each in events.listing(context.db, 9, ["call"])]
    assert ruled == [("call invalid", "read_file")] * 2


def test_without_a_person_nothing_is_asked_and_that_is_said(context):
    shown = run(agent(calls(("save_note", {"text": "x"})), "Done.", approve=policy.no_approver), context)
    call = ToolCall("call_1", "save_note", {"text": "x"})
    assert shown[2:4] == [
        Noticed("the model wanted to call save_note; that needs your yes, so it was refused here"),
        ToolFinished(call, ToolResult("refused: nobody can be asked here", failed=True, refused=True)),
    ]
    [ruled] = events.listing(context.db, 9, ["call"])
    assert (ruled["kind"], ruled["actor"]) == ("call refused", "program")


def test_what_a_yes_for_the_session_allowed_is_still_denied_by_a_rule(context):
    saving = calls(("save_note", {"text": "x"}), ("save_note", {"text": "the password"}))
    run(agent(saving, "Done.", rules={"save_note text=*password*": "deny"}), context)
    assert context.db.rows("select text from note") == [("x",)]
    configured = [
        (each["kind"], each["actor"])
        for each in events.listing(context.db, 100)[::-1]
        if each["subject"] == "save_note"
    ]
    assert configured == [("call refused by rule", "program"), ("call allowed", "person")]


def made(name="read", id="1", **arguments):
    return ToolCall(id, name, arguments)


@for_each(
    ("in_turn", "stops"),
    [
        ([], False),
        ([made(a=1)] * 2, False),
        ([made(a=1)] * 3, True),
        ([made(a=1), made(a=2), made(a=1), made(a=2), made(a=1)], False),
        ([made(a=2), *[made(a=1)] * 3], True),
        ([*[made(a=1)] * 2, made(a=2), made(a=1)], False),
        ([made(a=1, b=2), made(id="2", b=2, a=1), made(id="3", a=1, b=2)], True),
    ],
)
def test_three_same_calls_in_a_row_are_enough(in_turn, stops):
    why = "the same call of read was made 3 times in a row"
    assert reason_to_stop(in_turn, Limits()) == (why if stops else "")


def test_calls_that_differ_in_name_or_arguments_are_not_the_same():
    others = (made(a=1), made(a=2), made("write", a=1), made(a="1"), made(), made(a="\ud800"), made(a="?"))
    for one, other in combinations(others, 2):
        assert reason_to_stop([one, one, other], Limits()) == ""
