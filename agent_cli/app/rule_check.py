"""Checks that the rules in the settings name existing tools, which the settings cannot check by themselves."""

from collections.abc import Callable, Mapping

from agent_cli.agent import policy
from agent_cli.config import settings_file
from agent_cli.config.settings_file import Loaded
from agent_cli.errors import ConfigError


def check_rules(configured: Mapping[str, object], where: Callable[[str], str]) -> None:
    """Raises ConfigError for a rule without effect. `where` returns the place of a rule, to begin the message."""
    if not configured:
        return
    from agent_cli.tools import registry  # loads all tools: 10 ms that most commands do not need

    for key in configured:
        if wrong := policy.find_error(key, registry.BUILT_IN, registry.SOURCES):
            raise ConfigError(f"{where(key)}rules.{key}: {wrong}")


def check_setting(key: str, value: str) -> None:
    """Raises ConfigError for a rule without effect, before it is written."""
    name, _, entry = key.partition(".")
    if name == "rules":
        configured = {entry: value} if entry else settings_file.check(name, settings_file.parse(name, value, key), key)
        check_rules(configured, lambda _: "")


def place_of_rule(loaded: Loaded, key: str) -> str:
    """Where a rule was set, as in "FILE, line 3: "."""
    file, _, line = loaded.origins["rules"].rpartition(":")
    if file != str(loaded.file):
        return f"{loaded.origins['rules']}: "
    return f"{file}, line {policy.line_number(key, loaded.file.read_text(encoding='utf-8'), int(line))}: "
