"""What the tools of memory do for the model: jottings, notes, searches, skills, tasks, arithmetic."""

import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import get_args

import pytest
import tzlocal

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.facts import adoption
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.memory.search import vectors
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import summaries
from agent_cli.messages import Part, ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools import memory_tools
from agent_cli.tools.memory_tools import MemoryKind
from agent_cli.tools.registry import BUILT_IN, allowed
from agent_cli.tools.tool import ToolContext
from agent_cli.tools.tool import run as run_tool
from tests.conftest import HERE, memory_of, noon
from tests.recalling import EMBEDDED, catch_up, note
from tests.tables import columns, listed
from tests.turns import agent, calls, run, summarise


def called(here, name, /, **arguments):
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
    of_periods = {unit: [f"y{n}"] for n, unit in enumerate(["session", "day", "week", "month", "quarter", "year"], 1)}
    assert by_grain == {"working": ["m1"], **of_periods, "note": ["n1"]}
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


# Skills: the steps of what the person approved, and of nothing else.


STEPS = "\n".join(f"{number}. step" for number in range(1, 41))
DEPLOY = skills.compose("deploy-site", "Publish the site", STEPS)


def read(context, name):
    return called(context, "read_skill", name=name)


def test_the_steps_are_read_by_name_or_handle(context):
    skills.add(memory_of(context.db), DEPLOY)
    assert read(context, "deploy-site") == read(context, "k1") == ToolResult(STEPS)


def test_an_unknown_name_is_answered_with_those_there_are(context):
    assert read(context, "x") == ToolResult("there is no skill 'x'; there are no skills", failed=True)
    skills.add(memory_of(context.db), DEPLOY)
    assert read(context, "deploy") == ToolResult("there is no skill 'deploy'; there are deploy-site", failed=True)


@pytest.mark.parametrize("state", ["waits", "was rejected", "is hidden", "belongs to another"])
def test_what_was_not_approved_is_not_read(context, state):
    owner = "other" if state == "belongs to another" else "person"
    skill = skills.propose(MemoryContext(context.db, Scope(owner, ""), noon), DEPLOY)
    if state == "was rejected":
        skills.reject(memory_of(context.db), skill)
    elif state != "waits":
        skill = skills.accept(memory_of(context.db), skill)
        if state == "is hidden":
            skills.hide(memory_of(context.db), skill)
    assert read(context, "deploy-site").failed
    assert read(context, "k1").failed


def test_what_no_screen_shows_is_not_given_to_the_model(context):
    skills.add(memory_of(context.db), DEPLOY.replace("1. step", "1. st\u200bep\U000e0041\u202e"))
    assert read(context, "deploy-site") == ToolResult(STEPS)


def test_very_long_steps_are_cut_with_a_word(context):
    skills.add(memory_of(context.db), DEPLOY.replace(STEPS, "x" * 9000))
    steps = read(context, "deploy-site").text
    assert steps == "x" * memory_tools.MAX_STEPS + "\n[cut off here: 1000 more characters; tell the person]"


def test_the_model_sees_every_step_and_the_call_is_an_event(context):
    skills.add(memory_of(context.db), DEPLOY)
    hired = agent(calls(("read_skill", {"name": "deploy-site"})), "Done.")
    run(hired, context, "Publish the site")
    assert [message.text for message in hired.model.requests[-1] if message.role == "tool"] == [STEPS]
    [event] = events.listing(context.db, 9, ["call"])
    assert (event["kind"], event["subject"], event["actor"]) == ("call allowed", "read_skill", "program")


# Tasks: the model says when in the person's words, and every mistake comes back in words.


@pytest.fixture
def here(context):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "Europe/Vienna")
        tzlocal.reload_localzone()
        yield context
    tzlocal.reload_localzone()


def test_a_reminder_has_a_receipt_that_says_what_was_understood_and_knows_what_asked_for_it(here):
    asked = log.add_user_message(
        here.db, here.session, HERE, [Part("Remind me to call the dentist on Friday at 3pm", "typed")], noon()
    )
    kept = called(here, "create_reminder", text="call the dentist", when="Friday at 3pm")
    receipt = "kept t1 “call the dentist”, Friday 2 Jan 2026, 15:00"
    assert (kept.failed, kept.text, kept.receipt) == (False, receipt.replace("kept", "kept:"), receipt)
    assert here.db.rows("select session_id, message_id, origin, zone from task") == [
        (here.session, asked, "model", "Europe/Vienna")
    ]


IMPOSSIBLE = [("yesterday", "is past"), ("at the crack of doom", "cannot be understood as a time")]


@pytest.mark.parametrize(("when", "why"), [*IMPOSSIBLE, ("31 Feb", "there is no 31 Feb")])
def test_a_time_that_cannot_be_is_told_to_the_model_and_nothing_is_kept(here, when, why):
    result = called(here, "create_reminder", text="call the dentist", when=when)
    assert (result.failed, why in result.text) == (True, True)
    assert here.db.rows("select * from task") == []


def test_a_reminder_is_asked_for_first_and_a_no_keeps_nothing(here):
    hired = agent(
        calls(("create_reminder", {"text": "call the dentist", "when": "friday 3pm"})),
        "As you wish.",
        approve=lambda call: False,
    )
    run(hired, here, "Remind me")
    assert here.db.rows("select * from task") == []


def test_what_is_open_is_listed_and_completed(here):
    for text, when in (("call the dentist", "friday 3pm"), ("water the plants", "every monday 9:00")):
        called(here, "create_reminder", text=text, when=when)
    assert called(here, "list_tasks").text == (
        "t1 “call the dentist”, Friday 2 Jan 2026, 15:00\n"
        "t2 “water the plants”, every monday 9:00, next Monday 5 Jan 2026, 09:00"
    )
    assert called(here, "complete_task", task="t1").receipt == "done t1 “call the dentist”"
    assert called(here, "complete_task", task="t2").text == (
        "done: t2; every monday 9:00, next Monday 12 Jan 2026, 09:00"
    )
    for wrong, why in (("t1", "t1 is done already"), ("t9", "there is no task t9"), ("the dentist", "is not a handle")):
        result = called(here, "complete_task", task=wrong)
        assert (result.failed, why in result.text) == (True, True)


def test_where_memory_is_not_read_no_task_is_shown_and_incognito_keeps_none():
    assert {"list_tasks", "complete_task"} & set(allowed(reads=False, keeps=True)) == set()
    writing = {"save_note", "propose_fact", "create_reminder", "complete_task", "draft_message"}
    assert writing & set(allowed(reads=True, keeps=False)) == set()


def test_words_that_hide_something_are_shown_without_it(here):
    result = called(here, "create_reminder", text="pay \x1b[31mMallory\u202e now", when="friday 3pm")
    assert result.receipt.startswith("kept t1 “pay [31mMallory now”")
    assert datetime.fromisoformat(tasks.get(here.db, 1, "person").due_at).hour == 14


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (ToolCall("1", "create_reminder", {"text": "a", "when": "friday 3pm"}), "Friday 2 Jan 2026, 15:00"),
        (ToolCall("1", "create_reminder", {"text": "a", "when": "the day the cows come home"}), ""),
        (ToolCall("1", "create_reminder", {"text": "a", "when": "yesterday"}), ""),
        (ToolCall("1", "create_reminder", {"text": "Water plants"}), ""),
        (ToolCall("1", "create_reminder", {"text": "water the roses", "when": ""}), ""),
        (ToolCall("1", "create_reminder", {"text": "water plants", "when": "friday 3pm"}), "Friday 2 Jan 2026, 15:00"),
        (ToolCall("1", "complete_task", {"task": "t1"}), "t1 “water the plants”"),
        (ToolCall("1", "complete_task", {"task": "t9"}), ""),
    ],
    ids=[
        "a time",
        "no time",
        "a time that is past",
        "kept already",
        "another",
        "at another time",
        "a task",
        "no such task",
    ],
)
def test_a_call_is_checked_before_the_person_is_asked(here, call, shown):
    tasks.add(here.db, HERE, "water the plants", None, noon)
    seen = []
    run(agent(calls((call.name, call.arguments)), "Well.", approve=lambda each: seen.append(each.resolved)), here)
    assert [value for each in seen for value in each.values()] == ([shown] if shown else [])


# Arithmetic, drafts and the day.


@pytest.mark.parametrize(
    ("sum", "result"),
    [
        *columns("""0.1 + 0.2 → 0.3 | (12.5 * 3) / 2 → 18.75 | 2^10 → 1024 | 7 × 6 ÷ 2 − 1 → 20
            sqrt(2) → 1.41421356237 | round(3.14159, 2) → 3.14 | max(3, 7) % 4 → 3
            factorial(20) → 2432902008176640000"""),
        ("2**200", str(2**200)),
    ],
)
def test_a_sum_is_calculated(context, sum, result):
    assert called(context, "calculate", sum=sum).text.endswith(f" = {result}")


@pytest.mark.parametrize(
    "sum",
    [
        *listed("""1 / 0 | 9**9**9**9 | 10.0**400 | 'a' * 10**9 | __import__('os').system('true') | ().__class__
            x + 1 | 1 + | factorial(10**6) | 10**1000 | True | [1, 2] | lambda: 1"""),
        "",
        "1" * 600,
    ],
)
def test_what_is_no_sum_is_said_and_costs_nothing(context, sum):
    result = called(context, "calculate", sum=sum)
    assert result.failed
    assert "Traceback" not in result.text


@pytest.mark.parametrize(
    "sum",
    listed("""4000000**4000000 | round(5, -100000000) | lcm(3**4000000, 2**4000000) | (2**4000000) * (3**4000000)
        '%099999999d' % 5 | -(9**9)**(9**4) | (2**1900)**1900 | 2**-(9**9)**99"""),
)
def test_a_sum_over_which_python_would_brood_for_minutes_is_not_begun(context, sum):
    begun = time.process_time()
    called(context, "calculate", sum=sum)
    assert time.process_time() - begun < 1.0


def test_a_draft_is_a_note_and_never_sent(context):
    result = called(context, "draft_message", to="Anna", text="Shall we meet at eight?")
    note = notes.get(context.db, 1, HERE.owner)
    assert (note.title, note.text, note.origin) == ("draft to Anna", "Shall we meet at eight?", "model")
    assert result == ToolResult(
        "kept as the draft n1; it was not sent: the person has to send it", receipt="saved n1 “draft to Anna”, not sent"
    )
    assert called(context, "draft_message", to="Anna", text=" ") == ToolResult("the message is empty", failed=True)


def test_today_tells_what_was_said_noted_and_learned(context):
    assert called(context, "summarize_today") == ToolResult("nothing has happened today yet")
    run(agent("I see."), context, "The boat lies in Trogir.")
    notes.add(context.db, HERE, "paint it", noon, title="boat")
    adoption.add(memory_of(context.db), adoption.claim("My boat lies in Trogir", "typed"))
    assert called(context, "summarize_today").text.split("\n") == [
        "said: s1 “The boat lies in Trogir.” (1 message)",
        "noted: n1 boat",
        "learned: f1 My boat lies in Trogir",
    ]


def test_today_names_each_task_made_today_once(context):
    for words, when in (("call Anna", ""), ("water the plants", "in 1 hour"), ("pay the rent", "in 3 days")):
        assert not called(context, "create_reminder", text=words, when=when).failed
    assert called(context, "summarize_today").text.split("\n") == [
        "due: t2 water the plants",
        "planned: t3 pay the rent; t1 call Anna",
    ]


def test_today_tells_nothing_of_yesterday_or_of_others(context, db):
    old = sessions.start(db, HERE, noon() - timedelta(days=1))
    log.add_user_message(db, old, HERE, [Part("yesterday", "typed")], noon() - timedelta(days=1))
    other = Scope("caller", HERE.place)
    log.add_user_message(db, sessions.start(db, other, noon()), other, [Part("theirs", "typed")], noon())
    notes.add(db, other, "theirs too", noon)
    assert called(context, "summarize_today") == ToolResult("nothing has happened today yet")
