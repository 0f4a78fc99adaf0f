"""The person's rules for tool calls, as they are written: what each means, and what is wrong with one.

    [rules]
    save_note = "allow"                      # a tool
    "source:files" = "ask"                   # all tools of a source: built-in, files, feeds, mcp.NAME
    "read_file path=~/notes/*" = "allow"     # a tool whose arguments fit: ARG=GLOB, all that follow each other

A glob is read over the whole value as text: * is any characters, / too, ? is one, [ab] one of these. One that begins
with / or ~ is a path, and its folder counts as what it leads to. A tool of an MCP server is named SERVER__TOOL, for a
model accepts only letters, digits, _ and - in a name; what such a server has is not known here, so rules for it (and
for its source, mcp.SERVER) are not checked.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from agent_cli.text import Pattern
from agent_cli.tools.tool import Tool
from agent_cli.values import frozen

_SOURCE = "source:"
_MCP_SOURCE = Pattern(r"mcp\.[\w-]+", re.ASCII)
_MCP_TOOL = Pattern(r"[\w-]+__[\w-]+", re.ASCII)
_ARGUMENT = Pattern(r"\s+(\w+)=")
_GLOB = Pattern(r"[*?\[]")


@frozen
class Rule:
    """What a rule is for: a tool, a tool with certain arguments, or a source."""

    tool: str = ""
    source: str = ""
    patterns: tuple[tuple[str, str], ...] = ()  # of each argument its glob


@cache
def read(key: str) -> Rule:
    """A rule as it stands in the settings."""
    if key.startswith(_SOURCE):
        return Rule(source=key.removeprefix(_SOURCE).strip())
    tool, *rest = _ARGUMENT.split(key)
    return Rule(tool.strip(), patterns=tuple(zip(rest[::2], map(str.strip, rest[1::2]), strict=True)))


def find_error(key: str, tools: Mapping[str, Tool], sources: tuple[str, ...]) -> str:
    """What is wrong with a rule, and what there is instead; or nothing. A slip of the pen would ban nothing."""
    rule = read(key)
    if rule.source or key.startswith(_SOURCE):
        return _source_error(rule.source, sources)
    if rule.tool not in tools:
        return "" if _MCP_TOOL.fullmatch(rule.tool) else _unknown_tool_error(rule, tools, sources)
    there = tools[rule.tool].parameters["properties"]
    unknown = next((name for name, _ in rule.patterns if name not in there), "")
    if unknown:
        return f"{rule.tool} has no argument {unknown!r}; it has {', '.join(there) or 'none'}"
    empty = next((name for name, glob in rule.patterns if not glob), "")
    return f"nothing stands behind {empty}=; * fits anything" if empty else ""


def line_number(key: str, settings: str, first: int) -> int:
    """On which line of the settings a rule stands, looked for from this one on; this one where it stands on none."""
    import tomllib  # only where something is wrong

    for number, text_line in enumerate(settings.splitlines()[first - 1 :], first):
        try:
            table = tomllib.loads(text_line)
        except tomllib.TOMLDecodeError:
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
        return f'all tools of a source are meant by "{_SOURCE}{rule.tool}"; a tool of a server by SERVER__TOOL'
    if " " in rule.tool:
        return "behind the name of a tool stands ARGUMENT=GLOB, as in read_file path=~/notes/*"
    return f"there is no such tool; there are {', '.join(tools)}"


def matches_exactly(rule: Rule, ruled: Mapping[str, object]) -> bool:
    """Whether the arguments fit as they are ruled on, letter by letter: what loosens a rule must fit so."""
    return all(
        name in ruled and any(_pattern(each).match(str(ruled[name])) for each in _paths(glob)[-1:] or [glob])
        for name, glob in rule.patterns
    )


def may_match(rule: Rule, *forms: Mapping[str, object]) -> bool:
    """Whether they fit in any form, whatever the case of their letters: what forbids must not be slipped past.

    One that was left out, of which nobody knows what the tool takes instead, fits.
    """
    return all(
        any(name not in form or _matches_loosely(glob, str(form[name])) for form in forms) for name, glob in rule.patterns
    )


def _matches_loosely(glob: str, value: str) -> bool:
    return any(_pattern(_folded(each)).match(_folded(value)) for each in (glob, *_paths(glob)))


def _folded(words: str) -> str:
    import unicodedata  # like fnmatch only where there are rules: 3 ms

    return unicodedata.normalize("NFC", words).casefold()


def _paths(glob: str) -> list[str]:
    """A glob of paths with the home folder written out, and last with the links of its folder followed."""
    if not glob.startswith(("/", "~")):
        return []
    try:
        whole = str(Path(glob).expanduser())
        plain = _GLOB.split(whole)[0]
        folder = plain if plain == whole else plain.rpartition("/")[0]
        return [whole, str(Path(folder or "/").resolve()).rstrip("/") + whole[len(folder) :]]
    except (OSError, RuntimeError, ValueError):  # no such home, links in a circle, a NUL
        return [glob]


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    """All below a folder is meant with the folder itself: who may read in it may list it, and the other way round."""
    from fnmatch import translate

    below = translate(glob)
    return re.compile(f"{translate(glob[:-2])}|{below}" if glob[:1] in ("/", "~") and glob.endswith("/*") else below)
