import time

import pytest

from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import notes
from agent_cli.messages import Part, ToolCall, ToolResult
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import run as run_tool
from tests.conftest import HERE, memory_of, noon
from tests.turns import agent, run


def called(here, name, **arguments):
    return run_tool(BUILT_IN[name], ToolCall("1", name, arguments), here)


@pytest.mark.parametrize(
    ("sum", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("(12.5 * 3) / 2", "18.75"),
        ("2^10", "1024"),
        ("7 × 6 ÷ 2 − 1", "20"),
        ("sqrt(2)", "1.41421356237"),
        ("round(3.14159, 2)", "3.14"),
        ("max(3, 7) % 4", "3"),
        ("factorial(20)", "2432902008176640000"),
        ("2**200", str(2**200)),
    ],
)
def test_a_sum_is_calculated(context, sum, result):
    assert called(context, "calculate", sum=sum).text.endswith(f" = {result}")


@pytest.mark.parametrize(
    "sum",
    [
        "1 / 0",
        "9**9**9**9",
        "10.0**400",
        "'a' * 10**9",
        "__import__('os').system('true')",
        "().__class__",
        "x + 1",
        "1 +",
        "factorial(10**6)",
        "10**1000",
        "True",
        "[1, 2]",
        "",
        "1" * 600,
        "lambda: 1",
    ],
)
def test_what_is_no_sum_is_said_and_costs_nothing(context, sum):
    result = called(context, "calculate", sum=sum)
    assert result.failed
    assert "Traceback" not in result.text


@pytest.mark.parametrize(
    "sum",
    [
        "4000000**4000000",
        "round(5, -100000000)",
        "lcm(3**4000000, 2**4000000)",
        "(2**4000000) * (3**4000000)",
        "'%099999999d' % 5",
        "-(9**9)**(9**4)",
        "(2**1900)**1900",
        "2**-(9**9)**99",
    ],
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
    from datetime import timedelta

    from agent_cli.memory.conversations import log, sessions
    from agent_cli.memory.scope import Scope

    old = sessions.start(db, HERE, noon() - timedelta(days=1))
    log.add_user_message(db, old, HERE, [Part("yesterday", "typed")], noon() - timedelta(days=1))
    other = Scope("caller", HERE.place)
    log.add_user_message(db, sessions.start(db, other, noon()), other, [Part("theirs", "typed")], noon())
    notes.add(db, other, "theirs too", noon)
    assert called(context, "summarize_today") == ToolResult("nothing has happened today yet")
