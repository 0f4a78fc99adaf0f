"""Whether a tool call may run: what the person's rules say of it, else what its risk asks for.

The most specific rule counts: one whose arguments fit before one for the tool, that before one for its source. Of
several that fit the strictest counts. A rule that loosens counts only where the arguments fit as they really are, with
links and .. followed; one that is stricter counts where they fit in any form, whatever the case of their letters.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from agent_cli.agent.policy import rules
from agent_cli.messages import ToolCall
from agent_cli.tools.tool import Tool
from agent_cli.values import frozen

Ruling = Literal["allow", "ask", "deny"]
Approve = Callable[[ToolCall], bool | None]
"""Asks the person about one call, with its real arguments; None where there is nobody to ask."""

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


def decide(tool: Tool, configured: Mapping[str, Ruling], written: Mapping[str, Any], ruled: Mapping[str, Any]) -> PolicyDecision:
    """What is said of a call. `written`: its arguments as the model wrote them; `ruled`: as they really are."""
    written, ruled = {**tool.defaults, **written}, {**tool.defaults, **ruled}
    mine = [(each, value) for key, value in configured.items() if (each := rules.read(key)).tool == tool.name]
    fitting = [(each, value) for each, value in mine if each.patterns]
    for_tool = [value for each, value in mine if not each.patterns]
    for_source = [value for key, value in configured.items() if rules.read(key).source == tool.source]
    matching = [value for each, value in fitting if rules.matches_exactly(each, ruled)]
    applicable = matching or for_tool or for_source
    base: Ruling = _strictest(applicable) if applicable else BY_RISK[tool.risk]
    stricter = [value for each, value in fitting if rules.may_match(each, written, ruled)]
    ruling = _strictest([base, *stricter])
    return PolicyDecision(ruling, "rule" if applicable or ruling != base else "default")


def denied_paths(configured: Mapping[str, Ruling]) -> Callable[[str], bool]:
    """Whether a rule for some paths keeps a file from being read as it is: a search above it would read it too."""
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
    """The approval of a run without a person: what would be asked is denied, and said with `unasked`."""


def refusal_notice(call: ToolCall) -> str:
    """What is said where a call needs a yes and there is nobody to give it. The loop tells it as a notice."""
    return f"the model wanted to call {call.name}; that needs your yes, so it was refused here"


def _strictest(rulings: Iterable[Ruling]) -> Ruling:
    return max(rulings, key=_STRICTNESS.__getitem__)
