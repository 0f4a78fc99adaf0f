"""The slash commands for who answers, what it sees and how the program behaves: /model, /context, /set …"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import cast

from agent_cli import checks
from agent_cli.agent import model_context, policy
from agent_cli.agent.events import Event, Noticed, Work
from agent_cli.app import models, turns
from agent_cli.errors import UsageError
from agent_cli.llm.chat import broken
from agent_cli.llm.model import Cancel
from agent_cli.memory.reports import records
from agent_cli.render.layout import Verbatim, formatted
from agent_cli.render.styles import Display
from agent_cli.repl import pages
from agent_cli.repl.commands import commands
from agent_cli.repl.commands.commands import Page, Result, command
from agent_cli.repl.conversation import Conversation
from agent_cli.repl.keyboard import keys as prompt_keys
from agent_cli.store import events
from agent_cli.text import first_sentences, tokens

_LEARNED_ALONE = "nothing is recalled, and what you say is read for facts, which wait for your yes"
_MEMORY = {
    "on": "memory is recalled, and what you say is read for facts, which wait for your yes",
    "read": "memory is recalled; what you say is not read for facts, now or later",
    "off": "nothing is recalled, and what you say is not read for facts, now or later; the log has it all the same",
}
_DAYS = 7  # that /stats counts
_SHIFT_ENTER = (
    "kitty, Ghostty, iTerm2, foot, Alacritty and xterm send Shift-Enter as a key of its own. Others do so with:"
)
_SHIFT_ENTER_SETTINGS = Verbatim("""\
WezTerm  among the keys of wezterm.lua:
 {key="Enter", mods="SHIFT", action=wezterm.action.SendString("\\x1b[13;2u")}
VS Code  in keybindings.json:
         {"key": "shift+enter", "when": "terminalFocus",
          "command": "workbench.action.terminal.sendSequence",
          "args": {"text": "\\u001b[13;2u"}}
tmux     in tmux.conf:
         bind-key -n S-Enter send-keys Escape "[13;2u"
         set -s extended-keys on""")


@command("/model [NAME]", completes=("model",), changes=True, examples=("/model", "/model qwen3:4b"))
def model(conversation: Conversation, argument: str) -> Result:
    """Show which model answers, or choose another from now on.

    It stays the default of later runs, unless the settings name a model: then it holds until you leave.
    """
    app = conversation.app
    if not argument:
        chosen, notice = models.chat(app, app.db)
        return notice or f"{chosen.name} answers"
    named = models.named_by(app)
    chosen, notice = models.switch(app, argument)
    change = "" if named.startswith("environment") else f" (/set model {argument} changes that)"
    until = f" until you leave: {named} names the model{change}" if named else ""
    return f"{notice or f'{chosen.name} answers'}{until}"


@command("/tools", examples=("/tools",))
def tools(conversation: Conversation, argument: str) -> str:
    """List what the model may call, and what becomes of a call: allow, ask or deny."""
    app = conversation.app
    rows, rules = [], cast(Mapping[str, policy.Ruling], app.config.rules)
    for each in turns.tools(app).values():
        ruling = policy.decide(each, rules, {}, {})[0]
        rows.append(f"{each.name:<16} {ruling:<5}  {first_sentences(each.description, 1)}")
    return "\n".join(rows)


@command("/context [--full]", "/prompt", "/compact", examples=("/context", "/context --full"))
def context(conversation: Conversation, argument: str) -> Result:
    """Show what the model sees, in tokens by part; --full shows every word, tools too.

    Before the first message: what the model will see beside it. Older messages are summarised by themselves when it is
    full: nothing needs to be compacted."""
    if argument not in ("", "--full"):
        raise commands.unexpected("/context", argument)
    shown = conversation.context()
    if argument == "--full":
        parts = [f"── {each.role}, {tokens(each.content)} tokens\n{broken(each.content)}" for each in shown.messages]
        schemas = "\n".join(json.dumps(each, ensure_ascii=False) for each in shown.tools)
        return Verbatim("\n\n".join([*parts, f"── tools, {shown.sizes['tools']} tokens\n{schemas}"]))
    window = conversation.app.config.num_ctx
    room = model_context.prompt_room(window)
    sizes = {part: int(size * room / shown.room) for part, size in shown.sizes.items()}  # in tokens of this model
    used = min(room, sum(sizes.values()))
    mode = memory_mode(conversation)
    lines = [f"{used:,} of {room:,} tokens, estimated; the window has {window:,}, the rest is for the answer"]
    lines += [f"memory is {mode}: /memory"] if mode != "on" else []

    def page(display: Display) -> str:
        cells = 0 if display.screen_reader else max(1, min(30, display.width() - 32))
        rows = [
            f"{part:<14} {size:>7,}  " + f"{'█' * round(cells * size / room)} {100 * size / room:.0f} %".lstrip()
            for part, size in {**sizes, "free": room - used}.items()
        ]
        return "\n".join([*rows, formatted("\n".join(lines), display, 2)])

    return Page(page)


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


@command("/set [KEY [VALUE]]", completes=("setting",), changes=True, examples=("/set carry", "/set notify true"))
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


@command("/vim", examples=("/vim",))
def vim(conversation: Conversation, argument: str) -> str:
    """Type with the keys of vi, or again with those of emacs; `/set editing_mode vi` keeps it."""
    mode = "emacs" if conversation.app.config.editing_mode == "vi" else "vi"
    conversation.app.change_setting("editing_mode", mode)
    return f"the keys of the prompt are those of {mode} in this session"


@command("/doctor", on_file=True, examples=("/doctor",))
def doctor(conversation: Conversation, argument: str) -> Work:
    """Check the server, the model, the database and the terminal."""

    def work(cancel: Cancel, approve: policy.Approve) -> Iterator[Event]:
        with conversation.app.db.another_connection() as db:
            app = replace(conversation.app, db=db)
            for found in checks.findings(lambda: app.loaded, lambda: app):
                cancel.check()
                yield Noticed(checks.format_line(found, at_prompt=True))

    return work


@command("/log [COUNT]", examples=("/log", "/log 50"))
def log(conversation: Conversation, argument: str) -> Result:
    """Show what has happened, newest last: what was allowed, written, decided, forgotten."""
    rows = events.listing(conversation.app.db, commands.count(argument))
    return "\n".join(map(events.format_line, rows)) or "there are no events"


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

    def work(cancel: Cancel, approve: policy.Approve) -> Iterator[Event]:
        yield Noticed(f"{prompt_keys.HELP}\n")
        yield Noticed(_SHIFT_ENTER)
        yield Noticed(_SHIFT_ENTER_SETTINGS)

    return work
