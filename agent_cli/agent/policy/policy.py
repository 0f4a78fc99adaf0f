"""Decides whether a tool call may run: by the person's rules, else by the tool's risk.

The most specific rule counts: one with matching arguments before one for the tool, and that before one for its source.
Of several the strictest counts. A rule that permits more counts only where the resolved arguments match, with links and
.. followed; one that is stricter counts where the arguments match in any form, in upper or lower case.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from agent_cli.agent.policy import rules
from agent_cli.messages import ToolCall
from agent_cli.tools.tool import Tool
from agent_cli.values import frozen

Ruling = Literal["allow", "ask", "deny"]
Approve = Callable[[ToolCall], bool | None]
"""Asks the person about a call with resolved arguments; returns None where nobody can be asked."""

NOT_ALLOWED = "refused: the person did not allow this call"
DENIED = "refused: a rule of the person's does not allow this call"

BY_RISK: Mapping[str, Ruling] = {
    "read": "allow",
    "session": "allow",
    "propose": "allow",
    "write": "ask",
    "network": "ask",
}
_STRICTNESS: Mapping[Ruling, int] = {"allow": 0, "ask": 1, "deny": 2}


@frozen
class PolicyDecision:
    ruling: Ruling
    by: Literal["default", "rule"] = "default"


def decide(
    tool: Tool, configured: Mapping[str, Ruling], written: Mapping[str, Any], resolved: Mapping[str, Any]
) -> PolicyDecision:
    """The decision on a call. `written`: the arguments as the model wrote them; `resolved`: without links and `..`."""
    written, resolved = {**tool.defaults, **written}, {**tool.defaults, **resolved}
    tool_rules = [(each, value) for key, value in configured.items() if (each := rules.read(key)).tool == tool.name]
    fitting = [(each, value) for each, value in tool_rules if each.patterns]
    for_tool = [value for each, value in tool_rules if not each.patterns]
    for_source = [value for key, value in configured.items() if rules.read(key).source == tool.source]
    matching = [value for each, value in fitting if rules.matches_exactly(each, resolved)]
    applicable = matching or for_tool or for_source
    base: Ruling = _strictest(applicable) if applicable else BY_RISK[tool.risk]
    stricter = [value for each, value in fitting if rules.may_match(each, written, resolved)]
    ruling = _strictest([base, *stricter])
    return PolicyDecision(ruling, "rule" if applicable or ruling != base else "default")


def denied_paths(configured: Mapping[str, Ruling]) -> Callable[[str], bool]:
    """A function that tells whether a path is not simply allowed by a rule, so that searches leave it out."""
    globs = {
        glob
        for key, value in configured.items()
        if value != "allow"
        for name, glob in rules.read(key).patterns
        if name in ("path", "folder")
    }
    path_rules = [rules.Rule(patterns=(("path", glob),)) for glob in globs]
    return lambda path: any(rules.may_match(each, {"path": path}) for each in path_rules)


def no_approver(call: ToolCall) -> None:
    """The `Approve` of a run without a person: a call that needs approval is refused with a `refusal_notice`."""


def refusal_notice(call: ToolCall) -> str:
    """The notice where a call needs approval and nobody can be asked."""
    return f"the model wanted to call {call.name}; that needs your yes, so it was refused here"


def _strictest(rulings: Iterable[Ruling]) -> Ruling:
    return max(rulings, key=_STRICTNESS.__getitem__)
