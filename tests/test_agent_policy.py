import pytest

from agent_cli.agent import policy
from agent_cli.tools.tool import tool


def of_risk(risk):
    def thing(context) -> str:
        return ""

    return tool(risk)(thing)


@pytest.mark.parametrize(
    ("risk", "ruling"), [("read", "allow"), ("session", "allow"), ("write", "ask"), ("network", "ask")]
)
def test_what_keeps_something_for_good_or_reaches_out_is_asked_for(risk, ruling):
    assert policy.rule(of_risk(risk), {}) == ruling


@pytest.mark.parametrize("risk", policy.BY_RISK)
@pytest.mark.parametrize("ruling", ["allow", "ask", "deny"])
def test_the_persons_own_rule_for_a_tool_comes_first(risk, ruling):
    assert policy.rule(of_risk(risk), {"thing": ruling, "other": "deny"}) == ruling
