"""What comes out of ChatGPT, Claude and llm."""

import io
import json
import sqlite3

import pytest

from agent_cli import clock
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.transfers import export_files, transfer
from tests import exports
from tests.conftest import HERE, noon
from tests.exports import claude, node


@pytest.fixture
def take(db, tmp_path):
    """What an import did, and what was complained of. Several conversations stand in conversations.json."""

    def run(told, reader=export_files.chatgpt, source="chatgpt"):
        file = told
        if not hasattr(told, "exists"):
            file = tmp_path / "conversations.json"
            file.write_text(told if isinstance(told, str) else json.dumps(told), encoding="utf-8")
        said = []
        done = transfer.import_sessions(db, HERE, reader(file), source, noon, said.append)
        assert done.broken == len(said)
        return (done.sessions, done.messages), said

    return run


def said(db, session=1):
    return [(entry.message.role, entry.message.text) for entry in log.history(db, session)]


ONE = [
    node("sys", "root", "system", "You are ChatGPT", weight=0),
    node("q1", "sys", "user", "Where to?", 1704067201.25),
    node("a1", "q1", "assistant", "Rome", 1704067205.0, metadata={"model_slug": "gpt-4o"}),
    node("a2", "q1", "assistant", "Lisbon", 1704067300.0, metadata={"finish_details": {"type": "max_tokens"}}),
    node("q2", "a2", "user", "Thanks", None),
]


def test_of_a_chatgpt_conversation_the_branch_that_was_shown_is_taken_with_its_times(db, take):
    assert take([exports.chatgpt(*ONE)]) == ((1, 3), [])
    assert said(db) == [("user", "Where to?"), ("assistant", "Lisbon"), ("user", "Thanks")]
    entries = log.history(db, 1)
    assert [(each.at, each.utc_offset) for each in entries] == [
        ("2024-01-01T00:00:01.250Z", 0),
        ("2024-01-01T00:01:40.000Z", 0),
        ("2024-01-01T00:01:40.000Z", 0),  # no time is told: that of the message before
    ]
    assert [each.finish for each in entries] == ["stop", "length", "stop"]
    assert {part.origin for each in entries for part in each.parts} == {"import"}
    session = sessions.get(db, 1, "person")
    assert (session.title, session.started_at) == ("Trip", "2024-01-01T00:00:00.500Z")
    assert sessions.external_id(db, 1) == ("c1", "chatgpt")


def test_importing_twice_adds_nothing_and_a_newer_export_only_what_is_new(db, take):
    take([exports.chatgpt(*ONE)])
    assert take([exports.chatgpt(*ONE)]) == ((0, 0), [])
    more = [*ONE, node("a3", "q2", "assistant", "Enjoy", 1704067400.0)]
    assert take([exports.chatgpt(*more), exports.chatgpt(*ONE, id="c2")]) == ((1, 4), [])
    assert said(db)[-1] == ("assistant", "Enjoy")


KINDS = {
    "multimodal_text": (
        {"parts": [{"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}, "What is it?"]},
        "[image left out]\n\nWhat is it?",
    ),
    "spoken": (
        {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "audio_transcription", "text": "Hello there"},
                {"content_type": "real_time_user_audio_video_asset_pointer"},
            ],
        },
        "Hello there",
    ),
    "code": ({"language": "python", "text": "1 + 1"}, "```python\n1 + 1\n```"),
    "code of no language": ({"content_type": "code", "language": "unknown", "text": "x"}, "```\nx\n```"),
    "execution_output": ({"text": "2"}, "2"),
    "tether_quote": ({"url": "https://a.b", "title": "A", "text": "Words"}, "Words"),
    "tether_browsing_display": ({"result": "Found"}, "Found"),
    "user_editable_context": ({"user_profile": "I am tall"}, None),
    "thoughts": ({"thoughts": [{"content": "hm"}]}, None),
    "text": ({"parts": [""]}, None),
    "something new": ({"parts": ["Words of it"]}, "Words of it"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_chatgpt_content_is_words_or_left_out(db, take, kind):
    content, words = KINDS[kind]
    asked = node("q", "root", "user", "Look", 1704067201.0)
    told = node("x", "q", "tool", at=1704067202.0, name="python", content={"content_type": kind, **content})
    assert take([exports.chatgpt(asked, told)])[1] == []
    assert said(db)[1:] == ([("tool", words)] if words else [])


def test_what_was_hidden_in_chatgpt_stays_out_and_files_are_named(db, take):
    file = {
        "attachments": [
            {"name": "plan.pdf", "mime_type": "application/pdf"},
            {"name": "a.png", "mime_type": "image/png"},
        ]
    }
    hidden = node("h", "q", "assistant", "secret", metadata={"is_visually_hidden_from_conversation": True})
    take([exports.chatgpt(node("q", "root", "user", "Read it", metadata=file), hidden)])
    assert said(db) == [("user", "Read it\n\n[file plan.pdf left out]")]


def test_broken_chatgpt_conversations_are_told_with_their_place_and_the_others_imported(db, take):
    good = exports.chatgpt(*ONE)
    no_end = exports.chatgpt(*ONE, id="c3", current="gone")
    loop = exports.chatgpt(node("q", "a", "user", "x"), node("a", "q", "assistant", "y"), id="c4", current="q")
    broken = [{"title": "No tree"}, 5, {**good, "id": "", "conversation_id": None}, {**good, "mapping": []}]
    empty = exports.chatgpt(id="c5")
    odd = exports.chatgpt(node("q", "root", "user", "half \ud83d", float("1e300")), id="c6", title=None)
    done, told = take([good, *broken, no_end, loop, empty, odd])
    assert done == (4, 9)
    assert told == [
        "conversation 2 (“No tree”) was skipped: it has no messages (mapping)",
        "conversation 3 was skipped: it is not a JSON object",
        "conversation 4 (“Trip”) was skipped: a session has no id",
        "conversation 5 (“Trip”) was skipped: it has no messages (mapping)",
    ]


def test_an_export_that_breaks_off_or_is_damaged_is_imported_as_far_as_it_goes(db, take):
    told = json.dumps([exports.chatgpt(*ONE), exports.chatgpt(*ONE, id="c2")])
    skipped = "what follows conversation 1 in conversations.json was skipped: "
    assert take(told[:-200]) == ((1, 3), [f"{skipped}the file ends in the middle of it"])
    done, [said] = take(told[: len(told) // 2 + 100] + "}" + told[len(told) // 2 + 100 :])
    assert (done, said.startswith(f"{skipped}it is not JSON ")) == ((0, 0), True)


def test_a_damaged_log_of_llm_is_refused_with_a_sentence(take, tmp_path):
    file = exports.llm(tmp_path / "logs.db", exports.OLD)
    exports.llm_said(file, "r1", "Broken", "Brie")
    exports.llm(file, "update responses set prompt = cast(x'ff68' as text)")
    with pytest.raises(StoreError, match="db cannot be read: it is damaged, or no SQLite file"):
        take(file, export_files.llm, "llm")


def test_the_archive_its_folder_and_its_parts_are_read(db, take, tmp_path):
    file = exports.archive(tmp_path / "export.zip", [exports.chatgpt(*ONE)], "conversations-000.json")
    exports.archive(file, [exports.chatgpt(*ONE, id="c2")], "conversations-001.json")
    assert take(file) == ((2, 6), [])
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / "conversations.json").write_text(json.dumps([exports.chatgpt(*ONE, id="c3")]))
    assert take(folder) == ((1, 3), [])
    take({"conversations": [exports.chatgpt(*ONE, id="c4")]})
    assert len(sessions.all_of(db, "person")) == 4


def test_a_file_that_is_no_export_is_said(take, tmp_path):
    (tmp_path / "empty").mkdir()
    damaged = exports.archive(tmp_path / "damaged.zip", [exports.chatgpt(*ONE)] * 50)
    raw = damaged.read_bytes()
    damaged.write_bytes(raw[:300] + bytes(100) + raw[400:])
    for told, words in {
        tmp_path / "gone.json": "cannot be read",
        tmp_path / "empty": "there is no conversations.json in",
        damaged: "is not an export of ChatGPT: it is damaged",
    }.items():
        with pytest.raises(UsageError, match=words):
            take(told)
    for told in ("", "words", "{}", "[{]", "[" * 100_000, "[" + "9" * 5000 + "]"):
        with pytest.raises(UsageError, match="is not an export of ChatGPT"):
            take(told)
    with pytest.raises(UsageError, match="try `agent import claude"):
        take([claude(("human", "hi"))])
    with pytest.raises(UsageError, match="try `agent import chatgpt"):
        take([exports.chatgpt(*ONE)], export_files.claude, "claude")
    assert take([]) == ((0, 0), [])


def test_a_claude_conversation_is_taken_with_its_files_and_pages(db, take):
    blocks = [
        {"type": "thinking", "thinking": "Roses…"},
        {"type": "text", "text": "Here:"},
        {
            "type": "tool_use",
            "name": "artifacts",
            "input": {"title": "Plan", "type": "text/markdown", "content": "# Beds"},
        },
        {"type": "tool_result", "content": [{"type": "text", "text": "ok"}]},
    ]
    files = {
        "attachments": [{"file_name": "beds.txt", "file_size": 9, "extracted_content": "12 roses"}],
        "files": [{"file_name": "garden.png"}],
    }
    done = take(
        [
            claude(
                ("human", "What shall I plant?", files),
                ("assistant", "This block is not supported", {"content": blocks}),
                ("human", "", {"files": [{"file_name": "two.png"}]}),
                ("assistant", "Nice", {"content": []}),
            )
        ],
        export_files.claude,
        "claude",
    )
    assert done == ((1, 4), [])
    assert said(db) == [
        ("user", "What shall I plant?\n\n12 roses\n\n[file garden.png left out]"),
        ("assistant", "Here:\n\nPlan:\n\n```\n# Beds\n```"),
        ("user", "[file two.png left out]"),
        ("assistant", "Nice"),
    ]
    first, second, *_ = log.history(db, 1)
    assert [(part.text, part.origin, part.name) for part in first.parts] == [
        ("What shall I plant?\n\n", "import", ""),
        ("12 roses\n\n", "import", "beds.txt"),
        ("[file garden.png left out]", "import", ""),
    ]
    assert second.message.thinking == "Roses…"
    assert (first.at, first.utc_offset) == ("2025-03-01T09:00:00.000Z", 0)
    assert sessions.get(db, 1, "person").title == "Garden"


def test_of_a_claude_conversation_with_branches_the_shown_one_is_taken(db, take):
    def behind(uuid):
        return {"parent_message_uuid": uuid}

    branched = claude(
        ("human", "Ask", behind("00000000")),
        ("assistant", "One", behind("u0")),
        ("assistant", "Two", behind("u0")),
        current_leaf_message_uuid="u2",
    )
    take([branched], export_files.claude, "claude")
    assert said(db) == [("user", "Ask"), ("assistant", "Two")]


def test_broken_claude_conversations_are_told(take):
    strange = claude(("robot", "hm"))
    assert take([claude(("human", "hi")), {"name": "x"}, strange, claude(uuid="")], export_files.claude, "claude") == (
        (1, 1),
        [
            "conversation 2 (“x”) was skipped: it has no messages (chat_messages)",
            "conversation 3 (“Garden”) was skipped: a message is from 'robot', neither human nor assistant",
        ],
    )


@pytest.mark.parametrize(
    "shape", [(exports.OLD,), (exports.OLD, exports.COUNTED), (exports.OLD, exports.COUNTED, exports.NEW)]
)
def test_the_log_of_llm_is_read_in_every_shape_and_only_read(db, take, tmp_path, shape):
    file = exports.llm(tmp_path / "logs.db", *shape)
    exports.llm_said(file, "r2", "More", "Brie", at="2024-05-01T08:01:00+00:00")
    exports.llm_said(file, "r1", "Ten names", "Cheddar")
    exports.llm_said(file, "r3", "Alone", "", conversation=None)
    with sqlite3.connect(file) as logging:
        logging.execute("pragma journal_mode = wal")
    logging.close()
    before = file.read_bytes()
    assert take(file, export_files.llm, "llm") == ((2, 5), [])
    assert take(file, export_files.llm, "llm") == ((0, 0), [])
    assert said(db) == [("user", "Ten names"), ("assistant", "Cheddar"), ("user", "More"), ("assistant", "Brie")]
    assert log.history(db, 1)[1].usage.model == "gpt-4o"
    assert log.history(db, 1)[0].at == "2024-05-01T08:00:00.000Z"
    assert sessions.get(db, 1, "person").title == "Cheese"
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (before, [file])


def test_a_log_of_llm_that_was_updated_brings_its_turns_once(db, take, tmp_path):
    file = exports.llm(tmp_path / "logs.db", exports.OLD, exports.COUNTED, exports.NEW)
    exports.llm_said(file, "r1", "Ten names", "Cheddar")
    take(file, export_files.llm, "llm")
    first = exports.llm_turn(file, "r1", "Ten names", "Cheddar")  # both were written for a while
    second = exports.llm_turn(file, "t2", "More", "Brie", first)
    payload = json.dumps({"text_ref": [{"literal": "Read "}, {"fragment": 4}]})
    exports.llm_turn(file, "t3", None, "Done", second, at="2026-08-02T08:00:00+00:00", payload=payload)
    exports.llm_turn(file, "t4", "Elsewhere", "Yes", thread="l2")
    assert take(file, export_files.llm, "llm") == ((1, 6), [])
    assert said(db) == [
        ("user", "Ten names"),
        ("assistant", "Cheddar"),
        ("user", "More"),
        ("assistant", "Brie"),
        ("user", "Read [fragment left out]"),
        ("assistant", "Done"),
    ]
    usage = log.history(db, 1)[-1].usage
    assert (usage.model, usage.tokens_in, usage.tokens_out) == ("gpt-5", 7, 9)


def test_a_file_that_is_no_log_of_llm_is_said(take, tmp_path):
    (tmp_path / "text").write_text("no database" * 1000)
    exports.llm(tmp_path / "other.db", "create table a (b)")
    for name, error in {"gone.db": UsageError, "text": StoreError, "other.db": UsageError}.items():
        with pytest.raises(error, match=name):
            take(tmp_path / name, export_files.llm, "llm")
    assert not (tmp_path / "gone.db").exists()


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", 1e18])
def test_a_time_that_no_clock_can_show_is_none(db, take, at):
    told = exports.claude(("human", "Where to?", {"created_at": at}), created_at=at)
    assert take([told], export_files.claude, "claude") == ((1, 1), [])
    assert log.history(db, 1)[0].at == clock.utc(noon())


def test_an_array_is_read_piece_by_piece_whatever_the_pieces(monkeypatch):
    told = [{"a": 'ü😀"]}' * 3, "b": [1.5e10, -2, True, None, [], {}]}, "x", {"c": "\\" * 5}, []]
    for indent in (None, 2):
        text = json.dumps(told, indent=indent)
        for size in (1, 2, 3, 7, 50):
            monkeypatch.setattr(export_files, "_CHUNK", size)
            assert list(export_files.elements(io.StringIO(text).read)) == told


def test_a_broken_array_is_not_read_to_its_end():
    text = io.StringIO('[{"a": 1}, {"b" 2}, ' + '{"a": "' + "x" * 50_000_000 + '"}]')
    found = export_files.elements(text.read)
    assert next(found) == {"a": 1}
    with pytest.raises(export_files.BrokenElement, match="it is not JSON"):
        next(found)
    assert text.tell() <= 2 << 20
