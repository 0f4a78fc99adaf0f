"""Decides whether a tool call may run: by the person's rules, else by the tool's risk.

The most specific rule counts: one with matching arguments before one for the tool, and that before one for its source.
Of several the strictest counts. A rule that permits more counts only where the resolved arguments match, with links and
.. followed; one that is stricter counts where the arguments match in any form, in upper or lower case.

A rule is for a tool (save_note), for all tools of a source (source:files), or for a tool whose arguments fit
(read_file path=~/notes/*). A glob must match the whole value as text: * is any characters, also /, ? is one, [ab] one
of these. One that begins with / or ~ is a path, and links in its folder are followed. A tool of an MCP server is named
SERVER__TOOL; rules for these tools and for their source, mcp.SERVER, are not checked, for they are not known here.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from agent_cli.errors import ConfigError
from agent_cli.messages import ToolCall
from agent_cli.text import Pattern
from agent_cli.tools.tool import Tool
from agent_cli.values import frozen

Ruling = Literal["allow", "ask", "deny"]
Approve = Callable[[ToolCall], bool | None]
"""Asks the person about a call with resolved arguments; returns None where nobody can be asked."""

NOT_ALLOWED = "refused: the person did not allow this call"
DENIED = "refused: a rule of the person's does not allow this call"
BY_RISK: dict[str, Ruling] = {"read": "allow", "session": "allow", "propose": "allow", "write": "ask", "network": "ask"}
_STRICTNESS: tuple[Ruling, ...] = ("allow", "ask", "deny")


def decide(
    tool: Tool, configured: Mapping[str, Ruling], written: Mapping[str, Any], resolved: Mapping[str, Any]
) -> tuple[Ruling, bool]:
    """The decision on a call, and whether a rule made it. `written`: the arguments as the model wrote them; `resolved`:
    without links and `..`."""
    written, resolved = {**tool.defaults, **written}, {**tool.defaults, **resolved}
    rules = [(read(key), value) for key, value in configured.items()]
    for_tool = [(rule, value) for rule, value in rules if rule.tool == tool.name]
    applicable = (
        [value for rule, value in for_tool if rule.patterns and matches_exactly(rule, resolved)]
        or [value for rule, value in for_tool if not rule.patterns]
        or [value for rule, value in rules if rule.source == tool.source]
    )
    base: Ruling = max(applicable, key=_STRICTNESS.index) if applicable else BY_RISK[tool.risk]
    stricter = [value for rule, value in for_tool if rule.patterns and may_match(rule, written, resolved)]
    ruling = max(base, *stricter, key=_STRICTNESS.index) if stricter else base
    return ruling, bool(applicable) or ruling != base


def denied_paths(configured: Mapping[str, Ruling]) -> Callable[[str], bool]:
    """A function that tells whether a path is not simply allowed by a rule, so that searches leave it out."""
    patterns = [each for key, value in configured.items() if value != "allow" for each in read(key).patterns]
    path_rules = [Rule(patterns=(("path", glob),)) for name, glob in patterns if name in ("path", "folder")]
    return lambda path: any(may_match(each, {"path": path}) for each in path_rules)


def no_approver(call: ToolCall) -> None:
    """The `Approve` of a run without a person: a call that needs approval is refused with a notice."""


_SOURCE = "source:"
_MCP_SOURCE = Pattern(r"mcp\.[\w-]+", re.ASCII)
_MCP_TOOL = Pattern(r"(?>[\w-]+?__)[\w-]+", re.ASCII)
_ARGUMENT = Pattern(r"(?<!\s)\s++(\w++)=")
_GLOB = Pattern(r"[*?\[]")


@frozen
class Rule:
    tool: str = ""
    source: str = ""
    patterns: tuple[tuple[str, str], ...] = ()  # (argument, glob)


@cache
def read(key: str) -> Rule:
    if key.startswith(_SOURCE):
        return Rule(source=key.removeprefix(_SOURCE).strip())
    tool, *rest = _ARGUMENT.split(key)
    return Rule(tool.strip(), patterns=tuple(zip(rest[::2], map(str.strip, rest[1::2]), strict=True)))


def check_rules(configured: Mapping[str, object], where: str = "") -> None:
    """Raises ConfigError for a rule without effect. `where`: the place of the rules, to begin the message."""
    if not configured:
        return
    from agent_cli.tools import registry  # loads all tools, which most commands do not need

    for key in configured:
        if wrong := find_error(key, registry.BUILT_IN, registry.SOURCES):
            raise ConfigError(f"{where}rules.{key}: {wrong}")


def find_error(key: str, tools: Mapping[str, Tool], sources: tuple[str, ...]) -> str:
    """What is wrong with a rule and what is possible instead, or an empty string."""
    rule = read(key)
    if rule.source or key.startswith(_SOURCE):
        if rule.source in sources or _MCP_SOURCE.fullmatch(rule.source):
            return ""
        if _ARGUMENT.search(rule.source):
            return "a rule for a source has no arguments; write one for each of its tools"
        return f"there is no such source; there are {', '.join(sources)}, and mcp.NAME for a server"
    if rule.tool not in tools:
        if _MCP_TOOL.fullmatch(rule.tool):
            return ""
        if rule.tool in sources or rule.tool.startswith("mcp."):
            written = f'is written "{_SOURCE}{rule.tool}"'
            return f"a rule for all tools of a source {written}; for a tool of a server, SERVER__TOOL"
        if " " in rule.tool:
            return "after the name of a tool comes ARGUMENT=GLOB, as in read_file path=~/notes/*"
        return f"there is no such tool; there are {', '.join(tools)}"
    properties = tools[rule.tool].parameters["properties"]
    for name, glob in sorted(rule.patterns, key=lambda each: each[0] in properties):
        if name not in properties:
            return f"{rule.tool} has no argument {name!r}; it has {', '.join(properties) or 'none'}"
        if not glob:
            return f"{name}= has no value; * matches anything"
    return ""


def matches_exactly(rule: Rule, resolved: Mapping[str, object]) -> bool:
    """Whether the resolved arguments match exactly, as a rule that permits more requires."""
    return all(
        name in resolved and any(_pattern(each).match(str(resolved[name])) for each in _paths(glob)[-1:] or [glob])
        for name, glob in rule.patterns
    )


def may_match(rule: Rule, *forms: Mapping[str, object]) -> bool:
    """Whether the arguments match in any of these forms, in upper or lower case, so that a stricter rule is not evaded.
    A missing argument matches, because the tool's default for it is unknown."""
    import unicodedata  # only where there are rules

    def folded(words: object) -> str:
        return unicodedata.normalize("NFC", str(words)).casefold()

    def matches(name: str, glob: str) -> bool:
        patterns = [_pattern(folded(each)) for each in (glob, *_paths(glob))]
        return any(name not in form or any(each.match(folded(form[name])) for each in patterns) for form in forms)

    return all(matches(name, glob) for name, glob in rule.patterns)


def _paths(glob: str) -> list[str]:
    """A glob of paths with ~ expanded, and last with the links of its folder followed; empty for other globs."""
    if not glob.startswith(("/", "~")):
        return []
    try:
        whole = str(Path(glob).expanduser())
        plain = _GLOB.split(whole)[0]
        folder = plain if plain == whole else plain.rpartition("/")[0]
        return [whole, str(Path(folder or "/").resolve()).rstrip("/") + whole[len(folder) :]]
    except (OSError, RuntimeError, ValueError):  # no such home, a cycle of links, a NUL
        return [glob]


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """The compiled glob. FOLDER/* matches the folder itself too: who may read in it may list it."""
    from fnmatch import translate

    below = translate(glob)
    return re.compile(f"{translate(glob[:-2])}|{below}" if glob[:1] in ("/", "~") and glob.endswith("/*") else below)


ROUNDS = 6  # of tool calls in a turn of a conversation


@frozen
class Limits:
    rounds: int = ROUNDS
    repeats: int = 3
    calls: int = 40  # in all: a reply may hold any number
    seconds: float = 60.0  # for one tool call


def reason_to_stop(calls: Sequence[ToolCall], limits: Limits) -> str:
    """Why neither the last of these calls nor any further one may run, or an empty string."""
    latest = [json.dumps([each.name, each.arguments], sort_keys=True) for each in calls[-limits.repeats :]]
    if len(latest) == limits.repeats and len(set(latest)) == 1:
        return f"the same call of {calls[-1].name} was made {limits.repeats} times in a row"
    if len(calls) > limits.calls:
        return f"{limits.calls} calls were made"
    return ""
