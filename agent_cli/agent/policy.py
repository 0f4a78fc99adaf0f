"""Whether a tool call may run: the person's rule for the tool if there is one, else the rule for its risk."""

from collections.abc import Callable, Mapping
from typing import Literal

from agent_cli.messages import ToolCall
from agent_cli.tools.tool import Tool

Ruling = Literal["allow", "ask", "deny"]
Approve = Callable[[ToolCall], bool | None]
"""Asks the person about one call, with its real arguments; None where there is nobody to ask."""

BY_RISK: Mapping[str, Ruling] = {
    "read": "allow", "session": "allow", "propose": "allow", "write": "ask", "network": "ask"
}  # fmt: skip


def rule(tool: Tool, rules: Mapping[str, Ruling]) -> Ruling:
    return rules.get(tool.name, BY_RISK[tool.risk])
