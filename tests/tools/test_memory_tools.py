from dataclasses import replace
from typing import get_args

from agent_cli.memory.conversations import log
from agent_cli.memory.dates import periods
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import notes
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import vectors
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Part, ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools.memory_tools import MemoryKind
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import ToolContext
from agent_cli.tools.tool import run as run_tool
from tests.conftest import HERE, noon
from tests.recalling import EMBEDDED, catch_up, note
from tests.turns import agent, calls, run, summarise


def called(here, name, **arguments):
    return run_tool(BUILT_IN[name], ToolCall("1", name, arguments), here)


def test_what_is_jotted_down_is_read_again(context):
    assert called(context, "read_jottings") == ToolResult("nothing was jotted down yet")
    for text in ("one", "two"):
        assert called(context, "jot", text=text) == ToolResult("kept until the session closes")

    assert called(context, "read_jottings") == ToolResult("one\ntwo")


def test_jottings_of_another_session_are_not_read(context):
    called(context, "jot", text="mine")
    other = ToolContext(context.db, log.sessions.start(context.db, HERE, noon()), HERE, noon)

    assert called(other, "read_jottings") == ToolResult("nothing was jotted down yet")


def test_jottings_need_no_approval_and_are_gone_everywhere_when_the_session_closes(context):
    ask = calls(("jot", {"text": "the secret plan"}), ("jot", {"text": "the secret plan", "why": "secret"}))
    hired = agent(
        ask,
        calls("read_jottings", ("search_notes", {"query": "plan"})),
        "I keep it in mind.",
        approve=lambda call: 1 / 0,
    )
    run(hired, context, "Keep something in mind.")
    assert log.notes(context.db, context.session) == ["the secret plan"]

    closing.close(context.db, context.session, noon)

    left = context.db.rows("select text || thinking || parts from message union all select arguments from tool_call")
    assert not any("secret" in text for (text,) in left)
    assert context.db.rows("select * from jotting") == []
    erased = "(erased when the session closed)"
    results = [entry.message.text for entry in log.history(context.db, context.session) if entry.message.role == "tool"]
    assert results == [erased, erased, erased, "no note has these words"]
    assert [part.text for entry in log.history(context.db, context.session) for part in entry.parts][1:3] == [
        erased
    ] * 2


def test_a_saved_note_is_the_models_in_this_session_with_a_receipt(context):
    result = called(context, "save_note", text="Buy milk", title="Shopping")

    assert result == ToolResult("saved as n1", receipt="saved n1 “Shopping”")
    note = notes.get(context.db, 1, "person")
    assert (note.title, note.text, note.origin, note.place) == ("Shopping", "Buy milk", "model", HERE.place)
    assert context.db.value("select session_id from note") == context.session
    event = events.listing(context.db, 100)[::-1][0]
    assert (event["kind"], event["actor"], event["subject"]) == ("note written", "model", "n1")


def test_the_same_note_saved_twice_is_one_note(context):
    called(context, "save_note", text="Milk")
    again = called(context, "save_note", text="Milk", title="Shopping")
    assert again == ToolResult("n1 says so already", receipt="kept n1 “Milk” as it is")
    assert len(notes.listing(context.db, HERE.owner, 10)) == 1


def test_an_empty_note_is_not_saved(context):
    assert called(context, "save_note", text=" \n") == ToolResult("the note is empty", failed=True)
    assert context.db.rows("select * from note") == []


def test_notes_are_found_by_a_word_with_handle_and_date(context):
    notes.add(context.db, HERE, "Buy milk\nand bread", noon)
    notes.add(context.db, Scope("somebody else", HERE.place), "Buy milk too", noon)
    hidden = notes.add(context.db, HERE, "Milk is hidden", noon)
    notes.hide(context.db, hidden, noon)

    assert called(context, "search_notes", query="milk") == ToolResult("n1 (02 Jan 2026) Buy milk and bread")
    assert called(context, "search_notes", query="beer") == ToolResult("no note has these words")


def test_a_call_that_hides_control_characters_leaves_them_out_of_the_receipt(context):
    result = called(context, "save_note", text="safe\x1b[2J\u202egnp")

    assert result.receipt == "saved n1 “safe[2Jgnp”"
    result = called(context, "save_note", text="x", title="t\x1b[2J\n" + "long " * 50)
    assert "\x1b" not in result.receipt
    assert len(result.receipt) < 100


def test_the_model_finds_what_was_written_a_moment_ago(context):
    note(context.db, "The submarine is yellow")

    assert called(context, "search_memory", query="submarine") == ToolResult("n1 (02 Jan 2026) The submarine is yellow")


def test_the_model_searches_messages_notes_or_the_summaries_of_one_grain(context):
    note(context.db, "The boat is called Anna")
    log.add_user_message(context.db, context.session, HERE, [Part("My boat is Anna.", "typed")], noon())
    summarise(context.db, context.session, "They spoke of the boat.")
    for period in map(periods.parse, ("2025-12-31", "2026-W01", "2025-12", "2025-Q4", "2025")):
        made = summaries.NewSummary(f"The boat in the {period.unit}.", "", "model", "m")
        with context.db.write():
            summaries.save_period(context.db, "person", period, made, "2025-12-31T12:00:00.000Z", noon)

    def found(grain):
        lines = called(context, "search_memory", query="boat", grain=grain, max_results=20).text.splitlines()
        return sorted(line.partition(" (")[0] for line in lines)

    by_grain = {grain: found(grain) for grain in get_args(MemoryKind) if grain not in ("any", "fact", "file")}
    assert by_grain == {
        "working": ["m1"],
        "session": ["y1"],
        "day": ["y2"],
        "week": ["y3"],
        "month": ["y4"],
        "quarter": ["y5"],
        "year": ["y6"],
        "note": ["n1"],
    }
    assert {"m1", "n1"} < set(found("any"))
    assert called(context, "search_memory", query="boat", grain="decade").failed


def test_without_a_query_the_newest_of_a_grain_is_listed_by_date(context):
    for day in ("2025-12-30", "2025-12-31", "2026-01-01"):
        made = summaries.NewSummary(f"What was done on {day}.", "", "model", "m")
        with context.db.write():
            summaries.save_period(context.db, "person", periods.parse(day), made, f"{day}T12:00:00.000Z", noon)
    note(context.db, "The boat is called Anna")
    note(context.db, "Theirs", scope=Scope("somebody else", HERE.place))
    hidden = notes.add(context.db, HERE, "Hidden", noon)
    notes.hide(context.db, hidden, noon)

    days = called(context, "search_memory", grain="day").text.splitlines()
    assert [line.partition(") ")[2] for line in days] == [
        "(summary of 2026-01-01) What was done on 2026-01-01.",
        "(summary of 2025-12-31) What was done on 2025-12-31.",
        "(summary of 2025-12-30) What was done on 2025-12-30.",
    ]
    assert called(context, "search_memory", grain="day", max_results=2).text.splitlines() == days[:2]
    assert called(context, "search_memory", grain="note").text == "n1 (02 Jan 2026) The boat is called Anna"
    assert called(context, "search_memory", grain="week") == ToolResult("nothing is known of that time")


def test_a_long_message_is_read_in_pages_and_what_is_not_there_is_said(context):
    words = "\n".join(f"line {number} " + "and so on " * 20 for number in range(100))
    log.add_user_message(context.db, context.session, HERE, [Part(words, "typed")], noon())
    read, first = "", 1
    while first:
        shown = called(context, "timeline", around="m1", first=first).text.partition(" user: ")[2]
        body, _, footer = shown.rpartition("\n[m1: items ")
        read, first = f"{read}{body}\n", int(footer.split()[-3]) if "reads on" in footer else 0
    assert read.strip().splitlines() == words.rstrip().splitlines()
    assert called(context, "timeline", around="m1", first=101) == ToolResult("m1 has 100 items", failed=True)
    assert called(context, "timeline", around="m2") == ToolResult("there is no message m2", failed=True)


def test_what_is_jotted_down_is_read_by_its_own_tool_alone(context):
    run(agent(calls(("jot", {"text": "secret"})), "Fine."), context)

    assert called(context, "timeline", around="m3").failed
    assert "secret" not in called(context, "timeline", around="m1").text


def test_the_model_finds_the_dentist_when_it_asks_for_the_doctor(context):
    for words in ("dentist appointment Friday 3pm", "Buy milk and bread", "The boat is called Anna"):
        note(context.db, words)
    catch_up(context.db)
    among = vectors.create(context.db, EMBEDDED.identity(), EMBEDDED.dimension(), EMBEDDED.similarity_floor)
    vectors.fill(context.db, among, EMBEDDED.embed_documents)
    knowing = replace(context, embedder=EMBEDDED)

    found = called(knowing, "search_memory", query="when do I see the doctor?", max_results=1)
    assert found == ToolResult("perhaps:\nn1 (02 Jan 2026) dentist appointment Friday 3pm")
    assert called(context, "search_memory", query="when do I see the doctor?").text == "nothing is known of it"
