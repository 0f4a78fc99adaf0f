"""The program with a real model in a process of its own: what it says is nonsense, what is kept and counted is not."""

import pytest

from agent_cli.llm.local import weights

pytestmark = pytest.mark.skipif(not weights.is_small_ready(), reason="the small model is not installed")


@pytest.fixture
def program(program, runtime):
    """It learns and closes with the same process as the tests beside it; answers are short, to be quick."""
    program.env |= {
        "AGENT_ENGINE": "local",
        "AGENT_MODEL": weights.SMALL,
        "AGENT_ANSWER_TOKENS": "8",
        "AGENT_OPTIONS": "{temperature = 0}",
        "XDG_RUNTIME_DIR": str(runtime.parent),
        "AGENT_LOCAL_IDLE": "0.05",
    }
    return program


def test_a_conversation_is_held_learned_from_and_closed(program, request):
    if not request.config.option.real:
        pytest.skip("takes a minute: pytest --real")
    first = program("ask", "we live in Graz. What is a good bakery?", timeout=120)
    second = program("ask", "-c", "and a good butcher?", timeout=120)
    assert [(each.code, bool(each.out.strip()), "Traceback" in each.err) for each in (first, second)] == [
        (0, True, False),
        (0, True, False),
    ]
    rows = program.rows("select role, model, tokens_in > 100, tokens_out > 0 from message where role = 'assistant'")
    assert rows == [("assistant", weights.SMALL, 1, 1)] * 2
    assert program("sessions", "close", "s1", timeout=120).code == 0
    program("jobs", "run", "--until-idle", timeout=200)
    assert program.rows("select count(*) from fact where state = 'accepted'") == [(0,)]
    assert {state for (state,) in program.rows("select state from job")} <= {"done", "ready", "parked"}
    assert program.rows("select closed_at is not null from session") == [(1,)]


def test_nothing_runs_for_a_command_that_asks_nothing(program):
    program.env["XDG_RUNTIME_DIR"] = str(program.home / "run")
    assert program("notes", "add", "tea").code == program("doctor").code == 0
    assert not list((program.home / "run").rglob("*.lock"))
