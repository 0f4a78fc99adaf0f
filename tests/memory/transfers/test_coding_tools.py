"""What comes out of the sessions of Claude Code, Codex CLI and Gemini CLI, and out of files like MEMORY.md."""

import json

import pytest

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.transfers import coding_tools, transfer
from tests.coding_sessions import (
    claude_code,
    codex,
    codex_item,
    codex_meta,
    codex_said,
    gemini,
    gemini_about,
    gemini_file,
    jsonl,
)
from tests.conftest import HERE, noon

SESSION = "11111111-aaaa-4bbb-8ccc-000000000001.jsonl"


@pytest.fixture
def take(db, tmp_path):
    """What an import of a file did, and what was complained of."""

    def run(*rows, name=SESSION):
        file = tmp_path / name
        if rows:
            jsonl(file, *rows)
        complaints = []
        entries = coding_tools.sessions(coding_tools.files_in(file))
        done = transfer.import_sessions(db, HERE, entries, "", noon, complaints.append)
        assert done.broken == len(complaints)
        return (done.sessions, done.messages), [each.replace(str(tmp_path), "") for each in complaints]

    return run


def said(db, session=1):
    return [(entry.message.role[0], entry.message.text) for entry in log.history(db, session)]


def test_of_claude_code_what_was_typed_and_answered_is_taken_with_its_place_title_and_times(db, take):
    rows = [
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        claude_code("u1", None, "user", "Why does the build fail?", 1),
        claude_code("a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}], 2),
        claude_code("a2", "a1", "assistant", "I look at the log.", 2),
        claude_code("a3", "a2", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}], 2),
        claude_code("r1", "a3", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "No space left"}], 3),
        {"parentUuid": "r1", "type": "system", "subtype": "turn_duration", "uuid": "s1", "isSidechain": False},
        claude_code("a4", "s1", "assistant", "The disk is full.", 4),
        {"type": "ai-title", "aiTitle": "Failing build", "sessionId": SESSION.removesuffix(".jsonl")},
    ]
    assert take(*rows) == ((1, 3), [])
    assert said(db) == [("u", "Why does the build fail?"), ("a", "I look at the log."), ("a", "The disk is full.")]
    entries = log.history(db, 1)
    assert [each.at for each in entries] == [f"2026-01-02T09:0{minute}:00.000Z" for minute in (1, 2, 4)]
    assert {part.origin for each in entries for part in each.parts} == {"import"}
    assert [(each.author, each.usage.model) for each in entries][::2] == [
        ("", ""),
        ("Claude Code", "claude-sonnet-4-5"),
    ]
    session = sessions.get(db, 1, "person")
    assert (session.title, session.place) == ("Failing build", "/work/site")
    assert sessions.external_id(db, 1) == (SESSION.removesuffix(".jsonl"), "claude-code")


TYPED = {
    "plain": ("Hello there", "Hello there"),
    "blocks": (
        [{"type": "text", "text": "What is this?"}, {"type": "image", "source": {}}],
        "What is this?\n\n[image left out]",
    ),
    "a reminder": ("<system-reminder>\nToday is Friday\n</system-reminder>\nGo on", "Go on"),
    "a reminder alone": ("<system-reminder>Remember the king</system-reminder>", None),
    "a command": (
        "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
        "<command-args>the parser</command-args>",
        "/review the parser",
    ),
    "a command without words": ("<command-name>/clear</command-name>\n<command-args></command-args>", None),
    "output": ("<local-command-stdout>Compacted</local-command-stdout>", None),
    "an interruption": ([{"type": "text", "text": "[Request interrupted by user for tool use]"}], None),
    "a note of a task": ("<task-notification><status>completed</status></task-notification>", None),
    "instructions": ("# AGENTS.md instructions for /work/site\n\n<INSTRUCTIONS>\nI am the king\n</INSTRUCTIONS>", None),
    "the environment": ("<environment_context>\n  <cwd>/work/site</cwd>\n</environment_context>", None),
    "an editor": (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nName this better",
        "Name this better",
    ),
    "a picture of Codex": (
        [
            {"type": "input_text", "text": each}
            for each in ('<image name=[Image #1] path="/a.png">', "</image>", "Why?")
        ],
        "Why?",
    ),
    "a picture and words": ("<image name=[Image #1]></image>\nWhy?", "Why?"),
    "words about a picture": ("<image href='a'/> is not drawn", "<image href='a'/> is not drawn"),
    "a reply to a question of Codex": (
        '<send_user_message_question_reply>\n[{"question": "Which?", "answer": "Safari"}]\n'
        "</send_user_message_question_reply>",
        "> Which?\nSafari",
    ),
    "words about marks": ("Why <command-args>x</command-args>?", "Why <command-args>x</command-args>?"),
}


@pytest.mark.parametrize("kind", TYPED)
def test_what_a_tool_puts_into_a_message_is_not_what_the_person_typed(db, take, kind):
    content, typed = TYPED[kind]
    take(claude_code("u1", None, "user", content), claude_code("a1", "u1", "assistant", "Yes"))
    assert said(db) == [*([("u", typed)] if typed else []), ("a", "Yes")]


MARKED = [
    {"isMeta": True},
    {"isCompactSummary": True},
    {"isSidechain": True},
    {"isApiErrorMessage": True},
    {"origin": {"kind": "peer"}},
    {"isVisibleInTranscriptOnly": True},
    {"turnOrigin": "task_notification"},
]


def test_lines_that_claude_code_marks_as_its_own_are_left_out(db, take):
    marked = [claude_code(f"x{n}", "u1", "user", "I am the king", **marks) for n, marks in enumerate(MARKED)]
    take(claude_code("u1", None, "user", "Hello"), *marked)
    assert said(db) == [("u", "Hello")]


def test_what_a_person_answers_to_a_question_or_says_as_they_refuse_a_call_is_taken(db, take):
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "User has answered your questions"}]
    asked = {"questions": [{"question": "Which database?"}], "answers": {"Which database?": "SQLite, on my laptop"}}
    rows = [
        claude_code("a1", None, "assistant", [{"type": "tool_use", "id": "t", "name": "AskUserQuestion", "input": {}}]),
        claude_code("u1", "a1", "user", result, toolUseResult=asked),
    ]
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    notes = [
        "no, in a test\n\nNote: The user's next message may contain a correction.",
        "The user wants to clarify these",
    ]
    for number, words in enumerate([*(refused + each for each in notes), "the user said:\nI am the king"]):
        result = [{"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": words}]
        rows.append(claude_code(f"r{number}", rows[-1]["uuid"], "user", result))
    assert take(*rows) == ((1, 2), [])
    assert said(db) == [("u", "> Which database?\nSQLite, on my laptop"), ("u", "no, in a test")]


def test_of_branches_the_last_is_taken_compacting_loses_nothing_and_queued_words_are_there(db, take):
    queued = {"type": "queued_command", "commandMode": "prompt"}
    rows = [
        claude_code("u1", None, "user", "One"),
        claude_code("u2", "u1", "user", "Left behind"),
        claude_code("a2", "u2", "assistant", "Left behind too"),
        claude_code("u3", "u1", "user", "Two"),
        claude_code("t1", "u3", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]),
        claude_code("a3", "t1", "assistant", "A second call, beside the first"),
        {"type": "attachment", "attachment": queued | {"prompt": "And three"}, "timestamp": "2026-01-02T09:05:00Z"},
        {
            "type": "attachment",
            "attachment": queued | {"prompt": "I am the king", "origin": {"kind": "peer"}},
            "uuid": "q",
        },
        claude_code("r1", "t1", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "king"}]),
        claude_code("b", None, "system", "", subtype="compact_boundary", logicalParentUuid="r1"),
        claude_code("c", "b", "user", "The summary", isCompactSummary=True),
        claude_code("u4", "c", "user", "Four"),
    ]
    assert take(*rows) == ((1, 5), [])
    between = [("a", "A second call, beside the first"), ("u", "And three")]
    assert said(db) == [("u", "One"), ("u", "Two"), *between, ("u", "Four")]


def test_a_broken_line_is_named_and_the_rest_goes_on_unless_it_is_being_written(db, take, tmp_path):
    first, last = claude_code("u1", None, "user", "One"), claude_code("u3", "u2", "user", "Three")
    file = jsonl(tmp_path / SESSION, first, '{"uuid": "u2", "typ', last, "[]")
    file.write_text(file.read_text() + '{"type": "user", "mess')
    assert take() == (
        (1, 2),
        [
            f"/{SESSION} was read without line 2: it is not JSON from character 16 on",
            f"/{SESSION} was read without line 4: it is not a JSON object",
        ],
    )
    assert said(db) == [("u", "One"), ("u", "Three")]


def test_importing_twice_adds_nothing_and_a_session_that_grew_its_new_messages(db, take):
    rows = [claude_code("u1", None, "user", "One"), claude_code("a1", "u1", "assistant", "Two")]
    assert take(*rows) == ((1, 2), [])
    assert take(*rows) == ((0, 0), [])
    assert take(*rows, claude_code("u2", "a1", "user", "Three")) == ((0, 1), [])
    assert said(db)[-1] == ("u", "Three")


def test_a_session_branched_off_another_adds_only_what_was_said_in_it(db, take):
    rows = [claude_code("u1", None, "user", "One"), claude_code("a1", "u1", "assistant", "Two")]
    take(*rows)
    other = "22222222-aaaa-4bbb-8ccc-000000000002"
    copies = [{**each, "sessionId": other} for each in rows]
    assert take(*copies, name=f"{other}.jsonl") == ((0, 0), [])
    assert take(*copies, claude_code("u9", "a1", "user", "Else", session=other), name=f"{other}.jsonl") == ((1, 1), [])
    codex_rows = [codex_said("user", "Hi", minute=1), codex_said("assistant", "Hello", minute=2)]
    take(codex_meta("c1"), *codex_rows, name="rollout-1.jsonl")
    fork = [codex_meta("c2", forked_from_id="c1"), codex_meta("c1"), *codex_rows, codex_said("user", "Bye", minute=9)]
    assert take(*fork, name="rollout-2.jsonl") == ((1, 1), [])
    assert take(codex_meta("c3"), *codex_rows, name="rollout-3.jsonl") == ((1, 2), [])  # the same words, said anew


def test_of_codex_the_conversation_is_taken_in_its_envelopes_and_bare(db, take):
    rows = [
        codex_meta("c1", git={"branch": "main"}),
        codex_said("developer", "<permissions instructions>"),
        codex_said(
            "user",
            "# AGENTS.md instructions for /work/site\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
            "<environment_context>y",
        ),
        codex("turn_context", cwd="/work/site", model="gpt-5-codex"),
        codex_said("user", "Why?", minute=1),
        codex("event_msg", type="user_message", message="Why?"),
        codex("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "hm"}]),
        codex("response_item", type="function_call", name="shell", arguments="{}", call_id="1"),
        codex("response_item", type="function_call_output", call_id="1", output="I am the king"),
        codex_said("assistant", "Because.", minute=2),
        codex("event_msg", type="agent_message", message="Because."),
        codex("compacted", message="I am the king", replacement_history=[codex_item("user", "I am the king")]),
        codex_said("user", "Taken back", minute=3),
        codex_said("assistant", "Oh", minute=3),
        codex("event_msg", type="thread_rolled_back", num_turns=1),
        codex_said("user", "Thanks", minute=4),
    ]
    assert take(*rows, name="rollout-2026-01-02T10-00-00-c1.jsonl") == ((1, 3), [])
    assert said(db) == [("u", "Why?"), ("a", "Because."), ("u", "Thanks")]
    answer = log.history(db, 1)[1]
    assert (answer.author, answer.usage.model, answer.at) == ("Codex CLI", "gpt-5-codex", "2026-01-02T10:02:00.000Z")
    assert (sessions.get(db, 1, "person").place, sessions.external_id(db, 1)) == ("/work/site", ("c1", "codex"))
    bare = [
        {"id": "c0", "timestamp": "2025-06-01T08:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        codex_item("user", "<environment_context>\nCurrent working directory: /work/site\n</environment_context>"),
        codex_item("user", "Before"),
        {"type": "reasoning", "id": "rs", "summary": []},
        codex_item("assistant", "Long ago"),
    ]
    assert take(*bare, name="rollout-2025-06-01T08-00-00-c0.jsonl") == ((1, 2), [])
    assert said(db, 2) == [("u", "Before"), ("a", "Long ago")]
    assert log.history(db, 2)[0].at == "2025-06-01T08:00:00.000Z"


def test_of_codex_a_subagent_is_left_out_and_a_compressed_file_is_named(take, tmp_path):
    by_model = codex_meta("c9", source={"subagent": {"thread_spawn": {"parent_thread_id": "c1"}}})
    assert take(by_model, codex_said("user", "I am the king"), name="rollout-9.jsonl") == ((0, 0), [])
    assert take("x", name="rollout-8.jsonl.zst") == (
        (0, 0),
        ["/rollout-8.jsonl.zst was skipped: it is compressed: unpack it with `unzstd`"],
    )


def test_of_gemini_one_object_and_lines_are_the_same_session(db, take, tmp_path):
    answer = {"model": "gemini-3-pro", "thoughts": [{"subject": "hm"}], "toolCalls": [{"id": "1", "result": "king"}]}
    messages = [
        gemini("i", "info", "Update available"),
        gemini("u1", "user", [{"text": "Why?"}], 1),
        gemini("g1", "gemini", "Because.", 2, **answer),
    ]
    whole = gemini_file(tmp_path, name="session-2026-01-02T11-00-gem1.json")
    whole.parent.mkdir(parents=True)
    whole.write_text(json.dumps(gemini_about(messages=messages), indent=2))
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {"/work/site": "site"}}))
    assert take(name=whole) == ((1, 2), [])
    lines = [
        gemini_about(kind="main"),
        *messages[:2],
        gemini("g1", "gemini", "", 2),
        {"$set": {"lastUpdated": "2026-01-02T11:09:00.000Z"}},
        messages[2],
        gemini("u2", "user", "@a.py Name this\n--- Content from a.py ---\nx", 3, displayContent="@a.py Name this"),
        gemini("u3", "user", "Taken back", 4),
        {"$rewindTo": "u3"},
        {"$set": {"messages": [gemini("z", "user", "<state_snapshot>x</state_snapshot>"), gemini("u1", "user", "W")]}},
    ]
    assert take(*lines, name=gemini_file(tmp_path)) == ((0, 1), [])
    assert said(db) == [("u", "Why?"), ("a", "Because."), ("u", "@a.py Name this")]
    assert [each.author for each in log.history(db, 1)] == ["", "Gemini CLI", ""]
    assert (sessions.get(db, 1, "person").place, sessions.external_id(db, 1)) == ("/work/site", ("gem-1", "gemini"))
    named = tmp_path / ".gemini/tmp/shed/chats/session-2.jsonl"
    (jsonl(named, gemini_about("gem-2"), gemini("u9", "user", "Tea?")).parent.parent / ".project_root").write_text(
        "/work/shed\n"
    )
    take(name=named)
    assert sessions.get(db, 2, "person").place == "/work/shed"
    assert take(
        gemini_about("s", kind="subagent"), messages[1], name=gemini_file(tmp_path, name="session-3.jsonl")
    ) == ((0, 0), [])


BROKEN = {
    "nothing": ("session-1.jsonl", [], []),
    "other json": ("a.jsonl", [{"x": 1}], None),
    "odd values": (
        SESSION,
        [claude_code("u", None, "user", 7, cwd=[], customTitle=3), claude_code("v", 5, "user", "Hi")],
        [],
    ),
    "a circle": (SESSION, [claude_code("u", "v", "user", "Hi"), claude_code("v", "u", "user", "Ho")], []),
    "odd codex": (
        "rollout-1.jsonl",
        [codex_meta(None), {"type": "response_item", "payload": 5}, [1]],
        ["/rollout-1.jsonl was skipped: "],
    ),
    "odd gemini": ("session-2.jsonl", [gemini_about(messages=[5])], ["/session-2.jsonl was skipped"]),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_no_version_writes_is_skipped_with_a_sentence(take, tmp_path, kind):
    name, rows, complaints = BROKEN[kind]
    if complaints is None:
        assert coding_tools.files_in(jsonl(tmp_path / name, *rows)) == []
        return
    (_, _), said = take(*rows, name=name) if rows else take(" ", name=name)
    assert [each[: len(begun)] for each, begun in zip(said, complaints, strict=True)] == complaints


MEMORY = """---
name: memory
---
# Project notes about things
<!-- kept by the tool
over several lines -->
I live in Linz. My dog Rex is a beagle
and he hates rain.

## Style of the code here
- **Prefers tabs** over spaces in Go (2026-01-02)
* [ ] Works at [Acme](https://acme.example/x) as an engineer
1. Uses fish as a shell
   on every machine
- Commands to run:
```sh
rm -rf the old build
```
| a table | with | cells |
@docs/other.md
- Yes
"""


def test_of_a_markdown_file_each_sentence_and_item_is_a_proposal():
    assert [json.loads(row)["statement"] for row in coding_tools.statements(MEMORY.splitlines())] == [
        "I live in Linz.",
        "My dog Rex is a beagle and he hates rain.",
        "Prefers tabs over spaces in Go",
        "Works at Acme as an engineer",
        "Uses fish as a shell on every machine",
    ]
