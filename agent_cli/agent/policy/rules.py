"""Parses, checks and matches the person's rules for tool calls.

    [rules]
    save_note = "allow"                      # a tool
    "source:files" = "ask"                   # all tools of a source: built-in, files, feeds, mcp.NAME
    "read_file path=~/notes/*" = "allow"     # a tool whose arguments fit: ARG=GLOB, all that follow each other

A glob must match the whole value as text: * is any characters, also /, ? is one, [ab] one of these. One that begins
with / or ~ is a path, and links in its folder are followed. A tool of an MCP server is named SERVER__TOOL, because
models accept only letters, digits, _ and - in a name. The tools of such a server are not known here, so rules for them
and for their source, mcp.SERVER, are not checked.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agent_cli import limits
from agent_cli.text import Pattern
from agent_cli.tools.tool import Tool
from agent_cli.values import frozen

_SOURCE = "source:"
_MCP_SOURCE = Pattern(r"mcp\.[\w-]+", re.ASCII)
_MCP_TOOL = Pattern(r"(?>[\w-]+?__)[\w-]+", re.ASCII)
_ARGUMENT = Pattern(r"(?<!\s)\s++(\w++)=")
_GLOB = Pattern(r"[*?\[]")


@frozen
class Rule:
    """What a rule applies to: a tool, a tool with certain arguments, or a source."""

    tool: str = ""
    source: str = ""
    patterns: tuple[tuple[str, str], ...] = ()  # (argument, glob)


@cache
def read(key: str) -> Rule:
    """Parse a rule from its key in the settings."""
    if key.startswith(_SOURCE):
        return Rule(source=key.removeprefix(_SOURCE).strip())
    tool, *rest = _ARGUMENT.split(key)
    return Rule(tool.strip(), patterns=tuple(zip(rest[::2], map(str.strip, rest[1::2]), strict=True)))


def find_error(key: str, tools: Mapping[str, Tool], sources: tuple[str, ...]) -> str:
    """What is wrong with a rule and what is possible instead, or an empty string."""
    rule = read(key)
    if rule.source or key.startswith(_SOURCE):
        return _source_error(rule.source, sources)
    if rule.tool not in tools:
        return "" if _MCP_TOOL.fullmatch(rule.tool) else _unknown_tool_error(rule, tools, sources)
    properties = tools[rule.tool].parameters["properties"]
    unknown = next((name for name, _ in rule.patterns if name not in properties), "")
    if unknown:
        return f"{rule.tool} has no argument {unknown!r}; it has {', '.join(properties) or 'none'}"
    empty = next((name for name, glob in rule.patterns if not glob), "")
    return f"{empty}= has no value; * matches anything" if empty else ""


def line_number(key: str, settings: str, first: int) -> int:
    """The line number of a rule in the settings, searched from `first` on; `first` if it is not found."""
    for number, text_line in enumerate(settings.splitlines()[first - 1 :], first):
        try:
            table = limits.load_toml(text_line)
        except ValueError:
            continue
        if key in table or key in table.get("rules", ()):
            return number
    return first


def _source_error(source: str, sources: tuple[str, ...]) -> str:
    if source in sources or _MCP_SOURCE.fullmatch(source):
        return ""
    if _ARGUMENT.search(source):
        return "a rule for a source has no arguments; write one for each of its tools"
    return f"there is no such source; there are {', '.join(sources)}, and mcp.NAME for a server"


def _unknown_tool_error(rule: Rule, tools: Mapping[str, Tool], sources: tuple[str, ...]) -> str:
    if rule.tool in sources or rule.tool.startswith("mcp."):
        return (
            f'a rule for all tools of a source is written "{_SOURCE}{rule.tool}"; for a tool of a server, SERVER__TOOL'
        )
    if " " in rule.tool:
        return "after the name of a tool comes ARGUMENT=GLOB, as in read_file path=~/notes/*"
    return f"there is no such tool; there are {', '.join(tools)}"


def matches_exactly(rule: Rule, resolved: Mapping[str, object]) -> bool:
    """Whether the resolved arguments match exactly, as a rule that permits more requires."""
    return all(
        name in resolved and any(_pattern(each).match(str(resolved[name])) for each in _paths(glob)[-1:] or [glob])
        for name, glob in rule.patterns
    )


def may_match(rule: Rule, *forms: Mapping[str, object]) -> bool:
    """Whether the arguments match in any of these forms, in upper or lower case, so that a stricter rule is not evaded.

    A missing argument matches, because the tool's default for it is unknown.
    """
    return all(
        any(name not in form or _matches_loosely(glob, str(form[name])) for form in forms)
        for name, glob in rule.patterns
    )


def _matches_loosely(glob: str, value: str) -> bool:
    return any(_pattern(_folded(each)).match(_folded(value)) for each in (glob, *_paths(glob)))


def _folded(words: str) -> str:
    import unicodedata  # takes 3 ms, and only where there are rules

    return unicodedata.normalize("NFC", words).casefold()


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
