"""read_skill: the steps of what the person approved, and of nothing else."""

import pytest

from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.memory.skills import skills
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools import memory_tools
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import run as run_tool
from tests.conftest import memory_of, noon
from tests.turns import agent, calls, run

STEPS = "\n".join(f"{number}. step" for number in range(1, 41))
DEPLOY = skills.compose("deploy-site", "Publish the site", STEPS)


def read(context, name):
    return run_tool(BUILT_IN["read_skill"], ToolCall("1", "read_skill", {"name": name}), context)


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
