"""Forgetting what is no conversation: tasks, schedules and what stands in files; and that no sync brings it back."""

import os

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.documents import documents
from agent_cli.memory.forgetting import erasure_receipt, forget, selection
from agent_cli.memory.planner import notes, schedules, tasks
from agent_cli.memory.search import recall_log
from agent_cli.memory.search.recall import Hit
from agent_cli.messages import Part, ToolCall, ToolResult
from agent_cli.store import ids
from tests.conftest import HERE, NOON, noon
from tests.forgetting import about, erase, planned, sync, traces
from tests.recalling import STRANGER, find, say


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    return made


def add(db, path):
    documents.add(db, HERE, str(path), noon)
    return sync(db)


def read_again(db, place):
    """What is counted when a file or folder is added once more."""
    documents.add(db, HERE, str(place), noon)
    tally = documents.SyncResult()
    assert list(documents.sync(db, "person", noon, tally, [str(place)]))
    return tally


def texts(db):
    return [text for (text,) in db.rows("select text from section order by document_id, position")]


def task(db, words, **made):
    return tasks.add(db, HERE, words, None, noon, **made)


def test_what_will_go_is_shown_with_the_file_that_stays(db, folder):
    (folder / "bank.md").write_text("# Bank\n\nThe vault number is 4711.\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    task(db, "open the vault")
    schedules.add(db, HERE, "0 7 * * *", noon, prompt="how is the vault?", zone="UTC")
    plan = about(db, "vault")
    day = f"{NOON:%Y-%m-%d}"
    written = db.value("select substr(at, 1, 10) from section")
    assert plan.format_lines() == [
        f"t1     {day}  open the vault",
        f"c1     {day}  0 7 * * * how is the vault?",
        f"d1     {written}  bank.md:3 The vault number is 4711.",
        "to be erased: 1 task, 1 schedule, 1 section of a file",
        f"{folder}/bank.md stays on the disk: no sync brings these words of it back",
    ]
    assert plan.described()["files"] == [plan.format_lines()[-1]]
    assert planned(db, "t1", "d1", "c1").format_lines() == plan.format_lines()


def test_beyond_what_is_shown_or_named_it_is_counted(db, folder):
    for n in range(25):
        task(db, f"oil door {n}")
    assert about(db, "oil door").format_lines()[20:] == ["       and 5 more", "to be erased: 25 tasks"]
    for n in range(5):
        (folder / f"{n}.md").write_text("Beans in May.\n")
    add(db, folder)
    [told] = planned(db, *(f"d{n}" for n in range(1, 6))).files
    assert told.endswith(f"{folder}/2.md and 2 more stay on the disk: no sync brings these words of them back")


def test_a_task_of_an_exchange_goes_with_it_and_those_made_by_hand_or_another_owner_and_schedules_stay(db, session):
    asked = int(say(db, session, "Remind me to oil the door.")[1:])
    task(db, "oil the door", session=session, message=asked, origin="model")
    task(db, "buy milk", session=session)
    tasks.add(db, STRANGER, "oil the door", None, noon)
    say(db, session, "and on")

    erase(db, f"m{asked}")

    assert db.rows("select text, session_id from task") == [("buy milk", session), ("oil the door", None)]
    with pytest.raises(UsageError, match="there is no task t3"):
        planned(db, "t3")
    with pytest.raises(UsageError, match="nothing is remembered about 'oil'"):
        about(db, "oil")
    with db.write():
        db.execute("delete from task where id = 3")
    schedules.add(db, HERE, "0 7 * * *", noon, prompt="brief me", zone="UTC")
    other = sessions.start(db, HERE, NOON)
    task(db, "feed the cat", session=other, origin="model")  # retention has taken its message
    task(db, "shut the door", session=other)
    say(db, other, "hello")
    with db.write():
        db.execute("update schedule set last_session = ?", (other,))
    erase(db, f"s{other}")
    assert [each.last_session for each in schedules.listing(db, "person")] == [None]
    assert db.rows("select text, session_id from task") == [("buy milk", session), ("shut the door", None)]
    assert db.rows("pragma foreign_key_check") == []


def test_sessions_named_after_a_schedule_lose_its_words(db, session):
    prompt = "what is new about the alpaca farm?"
    schedules.add(db, HERE, "0 7 * * *", noon, prompt=prompt, zone="UTC")
    sessions.change(db, session, title=f"scheduled: {prompt}")
    asked = say(db, session, prompt)
    assert erase(db, "c1").rows == [asked]
    assert sessions.get(db, session, "person").title == ""


def test_a_time_alone_means_tasks_and_no_file(db, folder):
    (folder / "a.md").write_text("Beans in May.\n")
    os.utime(folder / "a.md", (NOON.timestamp(), NOON.timestamp()))
    add(db, folder)
    task(db, "sow beans")
    plan = forget.planned(db, selection.select_by_topic(db, "person", "", since="2026-01-01", until="2026-02-01"))
    assert plan.counts == {"tasks": 1}


def test_other_rows_that_say_an_erased_line_are_named(db, session, folder):
    words = "the safe opens with swordfish and a key"
    (folder / "a.md").write_text(f"# One\n\n{words}\n\n# Two\n\nelse\n")
    (folder / "b.md").write_text(f"# Three\n\nRemember: {words}!\n")
    add(db, folder)
    task(db, words)
    schedules.add(db, HERE, "0 7 * * *", noon, prompt=words, zone="UTC")
    said = say(db, session, words)
    receipt = erase(db, "d1")
    assert (receipt.clean, sorted(receipt.rows)) == (False, ["c1", "d3", said, "t1"])
    assert sorted(erase(db, said).rows) == ["c1", "d3", "t1"]
    assert erase(db, "t1", "c1", "d3").clean


def test_what_was_recalled_and_found_of_a_section_goes_with_it(file, folder, tmp_path):
    session = sessions.start(file, HERE, NOON)
    (folder / "a.md").write_text("The zebrafinch sings in the second room.\n\n")
    add(file, folder)
    asked = log.add_user_message(file, session, HERE, [Part("Who is it?", "typed")], NOON)
    hit = Hit("section", 1, None, None, 0.0, 1.0, "x", {"words": 1.0})
    recall_log.record(file, asked, [(hit, "- d1, a.md:1: The zebrafinch sings in the second room.")], "", NOON)
    call = ToolCall("c1", "read_file", {"path": "a.md"})
    log.add_tool_result(file, session, HERE, call, ToolResult("1: The zebrafinch sings in the second room."), NOON)
    assert erase(file, "d1").clean
    assert file.rows("select * from recollection") == []
    assert file.rows("select text from message where role = 'tool'") == [("(erased)",)]
    assert traces(file.path, "zebrafinch") == 0


def test_what_a_tool_read_is_kept_where_other_files_say_it_too(db, session, folder):
    license = "Licensed under the terms of the gardener's union"
    for name in ("a.py", "b.py"):
        (folder / name).write_text(f"# {license}\n\n\ndef {name[0]}():\n    return 1\n")
    add(db, folder)
    log.add_tool_result(db, session, HERE, ToolCall("c1", "read_file", {}), ToolResult(f"1: # {license}"), NOON)
    erase(db, "d1")
    assert db.rows("select text from message") == [(f"1: # {license}",)]


def test_a_forgotten_section_stays_out_whatever_becomes_of_the_file(db, folder):
    path = folder / "a.md"
    path.write_text("# Bank\n\nThe vault is deep.\n\nPIN: 4711\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    erase(db, "d1")
    assert texts(db) == ["Beans in May."]
    assert sync(db).unchanged == 1
    os.utime(path)
    assert sync(db).unchanged == 1
    path.write_text("# Bank\n\nThe vault is deep.\n\nPIN: 4711\n\nOpen till five.\n\n# Garden\n\nBeans in June.\n")
    tally = sync(db)
    assert (tally.changed, tally.erased) == (1, 1)
    assert tally.sentence().endswith("\nof 1 file what you had erased is not read again; write it anew to have it back")
    assert texts(db) == ["Open till five.", "Beans in June."]
    moved = folder / "moved.md"
    path.rename(moved)
    sync(db)
    moved.write_text("# Bank\n\nThe vault is deep. It is dry.\n\n- PIN: 4711\n- the PIN is 4711\n\n# Garden\n\nNone.\n")
    sync(db)
    assert texts(db) == ["It is dry.\n\n- the PIN is 4711", "None."], "in other words it is another text"
    assert find(db, "the vault is deep", kinds=("section",)).hits == ()


def test_a_line_or_a_sentence_of_it_stays_out_when_another_beside_it_changes(db, folder):
    path = folder / "a.md"
    path.write_text(
        "# Codes\n\n- router: marmot\n- milk\n\nAsk Anna, she knows. The alarm is off at\nnoon. So be it.\n\n"
        "# Z\n\n- milk\n"
    )
    add(db, folder)
    erase(db, "d1")
    path.write_text(
        "# Codes\n\n* router: marmot\n- milk\n- eggs\n\nAsk Anna, she knows. The alarm is off\nat noon. So it is.\n\n"
        "# Z\n\n- milk\n"
    )
    sync(db)
    assert db.rows("select heading, text from section order by position") == [
        ("", "- milk\n- eggs\n\nSo it is."),
        ("Z", "- milk"),
    ]


def test_code_that_other_functions_have_too_stays_in(db, folder):
    body = "    if not ready:\n        return None\n    count = 1\n" * 12
    code = "def open_vault():\n    code = 4711\n{0}\n\ndef close():\n{0}\n\ndef wait():\n{0}{1}"
    (folder / "a.py").write_text(code.format(body, ""))
    add(db, folder)
    before = texts(db)
    assert len(before) == 3
    erase(db, "d1")
    (folder / "a.py").write_text(code.format(body, "    return 5\n"))
    sync(db)
    after = texts(db)
    assert [text for text in after if "4711" in text or "open_vault" in text] == []
    assert after[-2:] == [before[1], before[2].rstrip() + "\n    return 5"]


def test_a_file_that_was_forgotten_by_its_name_is_not_read_again_even_when_it_is_added_by_name(db, folder):
    path = folder / "alpaca farm.md"
    path.write_text("Wool is sold in May.\n")
    (folder / "b.md").write_text("Beans in May.\n")
    add(db, folder)
    plan = about(db, "alpaca farm")
    assert plan.format_lines()[-1] == f"{path} stays on the disk: no sync reads it again"
    erasure_receipt.erase(db, plan, noon)
    for words in ("Wool is sold in May.\n", "Wool is sold in June.\n"):
        path.write_text(words)
        assert (sync(db).erased, texts(db)) == (0, ["Beans in May."])
    assert (read_again(db, path).erased, texts(db)) == (1, ["Beans in May."])


def test_a_file_that_is_added_once_more_says_what_stays_out(db, folder):
    (folder / "a.md").write_text("# Bank\n\nThe vault is deep.\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    erase(db, "d1")
    tally = read_again(db, folder)
    assert (tally.unchanged, tally.erased, texts(db)) == (1, 1, ["Beans in May."])


def test_a_collection_that_says_it_goes_with_all_its_files(db, tmp_path):
    for name in ("alpaca farm", "garden"):
        (tmp_path / name).mkdir()
        for n in range(2):
            (tmp_path / name / f"{n}.txt").write_text(f"The {name} has {n} gates.\n")
        add(db, tmp_path / name)
    plan = about(db, "alpaca farm")
    assert plan.counts == {"sections of files": 2, "documents": 2, "collections": 1}
    erasure_receipt.erase(db, plan, noon)
    assert [each["pattern"] for each in documents.listing(db, "person")] == [str(tmp_path / "garden")]
    assert texts(db) == ["The garden has 0 gates.", "The garden has 1 gates."]


def test_the_name_of_your_home_says_nothing_of_the_files_in_it(db, tmp_path, monkeypatch):
    home = tmp_path / "anna"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("garden.txt", "anna.txt"):
        (home / name).write_text(f"Of {name[0]} there is a lot.\n")
    add(db, home)
    assert about(db, "anna").counts == {"sections of files": 1, "documents": 1}


def test_the_receipts_kept_for_a_repeated_answer_are_forgotten_with_what_they_tell(file):
    asked = say(file, sessions.start(file, HERE, NOON), "Keep what I wrote down yesterday")
    notes.add(file, HERE, "The safe opens with swordfish", noon)
    lines = '{"receipts": ["saved n1 “The safe opens with swordfish”"]}'
    with file.write():  # as a program before wrote them
        kept = "insert into answered values (1, 'person', '1/k1', 'hash', 1, ?, ?, '')"
        file.execute(kept, (ids.number("message", asked), lines))
    assert erase(file, "n1").traces == 0
    assert file.value("select lines from answered") == "{}"
    assert file.value("select count(*) from answered where lines like '%swordfish%'") == 0
