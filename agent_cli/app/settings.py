"""Reads and changes settings: for this run, or in their file."""

from dataclasses import replace
from typing import Any

from agent_cli.app import rule_check
from agent_cli.app.app import App
from agent_cli.config import settings_file

_AT_START = ("db", "host", "embed_model", "idle_seconds")  # settings that are read only at the start


def text(app: App, key: str) -> str:
    """The current value of a setting, as a line of TOML."""
    return settings_file.toml_line(getattr(app.config, key))


def change(app: App, key: str, value: str) -> None:
    """Change a setting for this run. Raises ConfigError."""
    checked = settings_file.check(key, settings_file.parse(key, value, f"/{key}"), f"/{key}")
    rule_check.check_setting(key, value)
    _apply(app, key, checked, f"/{key}")


def write(app: App, key: str, value: str) -> str:
    """Change a setting in the file and, if possible, for this run; returns a message. Raises ConfigError."""
    rule_check.check_setting(key, value)
    sentence = f"{settings_file.write(app.loaded.file, key, value)} (in {app.loaded.file})"
    name = key.partition(".")[0]
    origin = app.loaded.origins[name]
    if origin == "flag" or origin.startswith("environment"):
        return f"{sentence}; this run goes on with what its {origin} says"
    if name in _AT_START:
        return f"{sentence}; it takes effect at the next start"
    _apply(app, name, getattr(settings_file.load(app.loaded.file, {}).config, name), str(app.loaded.file))
    return sentence


def _apply(app: App, key: str, value: Any, origin: str) -> None:
    with app.lock:
        origins = {**app.loaded.origins, key: origin}
        app.loaded = replace(app.loaded, config=replace(app.config, **{key: value}), origins=origins)
        app.model = None  # it was made with the former settings
