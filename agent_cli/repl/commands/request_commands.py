"""The slash commands for requests to the model: /model, /tools and /context."""

import json
from collections.abc import Mapping
from typing import cast

from agent_cli.agent import model_context, policy
from agent_cli.app import models, turns
from agent_cli.llm.chat import broken
from agent_cli.render.layout import Verbatim, formatted
from agent_cli.render.styles import Display
from agent_cli.repl.commands import commands, setting_commands
from agent_cli.repl.commands.commands import Page, Result, command
from agent_cli.repl.conversation import Conversation
from agent_cli.text import first_sentences, tokens


@command(
    "/model [NAME]",
    completes=("model",),
    changes=True,
    examples=("/model", "/model qwen3:4b"),
    shell={"models use": ""},
)
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
        ruling = policy.decide(each, rules, {}, {}).ruling
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
    mode = setting_commands.memory_mode(conversation)
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
