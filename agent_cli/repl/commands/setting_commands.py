"""The slash commands for how the program behaves: /think, /memory, /set …"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace

from agent_cli import checks
from agent_cli.agent.events import Event, Noticed, Work
from agent_cli.agent.policy import Approve
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.reports import records
from agent_cli.render.layout import Verbatim, formatted
from agent_cli.repl import pages
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Page, Result, command
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.keyboard import keys as prompt_keys
from agent_cli.store import events

_LEARNED_ALONE = "nothing is recalled, and what you say is read for facts, which wait for your yes"
_MEMORY = {
    "on": "memory is recalled, and what you say is read for facts, which wait for your yes",
    "read": "memory is recalled; what you say is not read for facts, now or later",
    "off": "nothing is recalled, and what you say is not read for facts, now or later; the log has it all the same",
}
_DAYS = 7  # that /stats counts
_SHIFT_ENTER = Verbatim("""\
What makes a terminal send Shift-Enter as a key of its own:
iTerm2   Settings, Profiles, Keys, Key Mappings:
         Shift-Return, Send Escape Sequence, [13;2u
WezTerm  among the keys of wezterm.lua:
 {key="Enter", mods="SHIFT", action=wezterm.action.SendString("\\x1b[13;2u")}
VS Code  in keybindings.json:
         {"key": "shift+enter", "when": "terminalFocus",
          "command": "workbench.action.terminal.sendSequence",
          "args": {"text": "\\u001b[13;2u"}}
kitty    in kitty.conf:
         map shift+enter send_text all \\x1b[13;2u
tmux     in tmux.conf:
         bind-key -n S-Enter send-keys Escape "[13;2u"
         set -s extended-keys on""")


@command("/think [HOW]", examples=("/think off", "/think show"))
def think(conversation: Conversation, argument: str) -> str:
    """Have the model think first, or not: on, off, auto; show or hide what it thinks.

    "auto" leaves it to the model. Without an argument it shows the setting. It holds until you leave; /set think
    stores it.
    """
    app = conversation.app
    if argument in ("show", "hide"):
        conversation.show_thinking = argument == "show"
    elif argument:
        app.change_setting("think", argument)
    shown = "shown as they come" if conversation.show_thinking else "not shown"
    return f"think is {app.config.think}; thoughts are {shown}"


@command("/memory [on|read|off]", changes=True, examples=("/memory", "/memory off"))
def memory(conversation: Conversation, argument: str) -> str:
    """Show what memory does in this run, or change it.

    on: recalled and learned; read: recalled, and nothing is learned; off: neither. The log keeps what is said.
    """
    app = conversation.app
    if argument and argument not in _MEMORY:
        raise UsageError(f"/memory takes on, read or off, not {argument!r}; nothing was changed")
    if argument:
        app.refuse_incognito()
        app.reads, app.learns = argument != "off", argument == "on"
    mode = memory_mode(conversation)
    off = mode == "on" and app.config.learn == "off"
    note = " (learning is switched off in the settings: /set learn ask)" if off else ""
    return f"memory {mode}: {_MEMORY.get(mode, _LEARNED_ALONE)}{note}"


def memory_mode(conversation: Conversation) -> str:
    """on, read, off, or learn, as --no-memory has it."""
    app = conversation.app
    return {(True, True): "on", (True, False): "read", (False, True): "learn"}.get((app.reads, app.learns), "off")


@command(
    "/set [KEY [VALUE]]",
    completes=("setting",),
    changes=True,
    examples=("/set carry", "/set notify true"),
    shell={"config set": "", "config show": ""},
)
def set_(conversation: Conversation, argument: str) -> str:
    """Show the settings, or one; with a value, change it for good.

    As `agent config set` does, and for this run too, where that can be.
    """
    app = conversation.app
    key, _, value = argument.partition(" ")
    if value.strip():
        app.refuse_incognito()
        return app.write_setting(key, value.strip())
    known = {each.name: each for each in fields(app.config)}
    if not key:
        width = max(map(len, known))
        return "\n".join(f"{name:<{width}} {app.setting_line(name)}" for name in known)
    if key not in known:
        raise UsageError(f"there is no setting {key!r}; /set lists them all")
    return f"{key} = {app.setting_line(key)} ({app.loaded.origins[key]})\n{known[key].metadata['comment']}"


@command("/doctor", on_file=True, examples=("/doctor",), shell={"doctor": ""})
def doctor(conversation: Conversation, argument: str) -> Work:
    """Check the server, the model, the database and the terminal."""

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        with closing(conversation.app.db.another_connection()) as db:
            app = replace(conversation.app, db=db)
            for found in checks.findings(lambda: app.loaded, lambda: app):
                cancel.check()
                yield Noticed(checks.format_line(found, at_prompt=True))

    return work


@command("/log [COUNT]", examples=("/log", "/log 50"))
def log(conversation: Conversation, argument: str) -> Result:
    """Show what has happened, newest last: what was allowed, written, decided, forgotten."""
    rows = events.listing(conversation.app.db, commands.count(argument))
    return Page(lambda display: pages.log_page(rows, display)) if rows else "there are no events"


@command("/stats", examples=("/stats",))
def stats(conversation: Conversation, argument: str) -> Result:
    """Count tokens, time and cost of the answers of the last days, and say what is due."""
    app = conversation.app
    rows = records.token_usage(app.db, app.scope.owner, "day", _DAYS)
    lines = records.format_signals(records.signals(app.db, app.scope.owner, app.time(), app.time() - records.PERIOD))
    if not rows:
        return "\n".join(["there are no answers to count", *lines])
    return Page(lambda display: f"{pages.stats_page(rows, display)}\n\n{formatted(chr(10).join(lines), display, 2)}")


@command("/keys", examples=("/keys",))
def keys(conversation: Conversation, argument: str) -> Work:
    """Show what each key does, and how a terminal is made to send Shift-Enter."""

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        yield Noticed(f"{prompt_keys.HELP}\n")
        yield Noticed(_SHIFT_ENTER)

    return work
