"""The parts of README and docs/ that are made from the program: tables of commands, exit codes, tools, HTTP and MCP.

`make docs` writes them between the marks `<!-- NAME: begin -->` and `<!-- NAME: end -->`; test_docs.py compares them.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import typer

from agent_cli import errors
from agent_cli.agent import policy
from agent_cli.app.app import App
from agent_cli.cli import usage
from agent_cli.config import settings_file
from agent_cli.config.values import Config
from agent_cli.repl.commands.commands import listing
from agent_cli.tools import registry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---"] * len(heads)
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (heads, rules, *rows)) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def commands(app: App) -> str:
    rows = [("`agent`", "Start a conversation.")]
    for name, help in usage.COMMANDS.items():
        group = typer.main.get_command(usage.app(name))
        parts = f" {'|'.join(group.commands)}" if hasattr(group, "commands") else ""
        rows.append((_cell(f"`agent {name}{parts}`"), help))
    return table(("command", ""), rows)


def options(app: App) -> str:
    return table(("option", ""), ((_cell(f"`{name}`"), help) for name, help in usage.OPTIONS.items()))


def slash(app: App) -> str:
    rows = []
    for each in listing():
        others = f" ({', '.join(f'`{alias}`' for alias in each.aliases)})" if each.aliases else ""
        rows.append((_cell(f"`{each.usage}`") + others, each.help.splitlines()[0]))
    return table(("", ""), rows)


def exit_codes(app: App) -> str:
    kinds = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each is not errors.AgentError]
    found: dict[int, list[type[errors.AgentError]]] = {}
    for each in sorted(kinds, key=lambda each: (each.exit_code, len(each.__mro__))):
        found.setdefault(each.exit_code, []).append(each)
    rows = [("0", "", "Done.")]
    for code, classes in found.items():
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(each.code for each in classes))
        rows.append((str(code), names, " ".join(" ".join((each.__doc__ or "").split()) for each in classes)))
    return table(("code", "in JSON", "what happened"), rows)


def tools(app: App) -> str:
    rows = []
    for each in registry.BUILT_IN.values():
        rows.append((f"`{each.name}`", each.source, policy.BY_RISK[each.risk], _first_sentence(each.description)))
    return table(("tool", "source", "without a rule", "what it does"), rows)


def http(app: App) -> str:
    from agent_cli.serve import http as server
    from agent_cli.serve.state import ServerLimits, ServerState

    paths = server.application(ServerState(app, ServerLimits())).openapi()["paths"]
    routes = ((method.upper(), path, route) for path, methods in paths.items() for method, route in methods.items())
    return table(("", "path", ""), ((method, f"`{path}`", _cell(route["summary"])) for method, path, route in routes))


def mcp(app: App) -> str:
    from agent_cli.serve import mcp as server

    offered = asyncio.run(server.server(app, writes=True).list_tools())
    return table(("tool", ""), ((f"`{each.name}`", _first_sentence(each.description or "")) for each in offered))


PARTS: dict[str, Callable[[App], str]] = {
    each.__name__.replace("_", "-"): each for each in (commands, options, slash, exit_codes, tools, http, mcp)
}


def sections(text: str) -> Iterator[re.Match[str]]:
    """The generated parts of a page: name, and what stands there."""
    return re.finditer(
        r"(?<=<!-- )(?P<name>[\w-]+)(?P<head>: begin -->\n)(?P<body>.*?)(?=<!-- (?P=name): end -->)", text, re.DOTALL
    )


def renewed(text: str, app: App) -> str:
    """A page with its generated parts as the program of today makes them."""
    for found in reversed([*sections(text)]):
        text = text[: found.start("body")] + PARTS[found["name"]](app) + text[found.end("body") :]
    return text


def _first_sentence(text: str) -> str:
    return _cell(re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0])


def example_settings() -> str:
    """config.example.toml: every setting with its comment and default."""
    plain, tables = [], []
    for each in fields(Config):
        comment = [f"# {line}" for line in each.metadata["comment"].split("\n")]
        value = getattr(Config(), each.name)
        if isinstance(value, dict):
            tables += [*comment, f"# [{each.name}]", ""]
        else:
            plain += [*comment, f"# {each.name} = {settings_file.toml_line(value)}", ""]
    head = "# Every setting with its default. Copy what you change to the file that `agent config path` names."
    return "\n".join([head, "", *plain, *tables])
