"""Stops a turn that calls too many tools or repeats itself."""

import json
from collections.abc import Sequence

from agent_cli.messages import ToolCall
from agent_cli.values import frozen

ROUNDS = 6  # of tool calls in a turn of a conversation


@frozen
class Limits:
    """The limits of one turn."""

    rounds: int = ROUNDS
    repeats: int = 3
    calls: int = 40  # in all: a reply may hold any number
    seconds: float = 60.0  # for one tool call


def fingerprint(call: ToolCall) -> str:
    """SHA-256 of the name and the arguments in canonical form."""
    import hashlib  # 3 ms, for the turns in which a tool is called

    canonical = json.dumps([call.name, call.arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def reason_to_stop(calls: Sequence[ToolCall], limits: Limits) -> str:
    """Why neither the last of these calls nor any further one may run, or an empty string."""
    latest = [fingerprint(call) for call in calls[-limits.repeats :]]
    if len(latest) == limits.repeats and len(set(latest)) == 1:
        return f"the same call of {calls[-1].name} was made {limits.repeats} times in a row"
    if len(calls) > limits.calls:
        return f"{limits.calls} calls were made"
    return ""
