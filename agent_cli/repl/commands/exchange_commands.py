"""The slash commands for the last messages: /undo, /retry, /edit, /editor, /btw, /copy and /raw.

What is taken back stays in the log, but the model and memory do not read it any more. Over ssh a clipboard program
would fill the clipboard of the wrong machine: there, and where there is none, the terminal is asked by OSC 52.
"""

import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from agent_cli import text
from agent_cli.agent.events import Event, Noticed, Work
from agent_cli.agent.policy import Approve
from agent_cli.app import models
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import facts
from agent_cli.memory.lifecycle import rewind
from agent_cli.messages import Part, Receipt
from agent_cli.render import markdown
from agent_cli.render.layout import Verbatim
from agent_cli.render.reply_lines import marked
from agent_cli.repl.commands.commands import PromptDraft, command
from agent_cli.repl.conversation import Conversation
from agent_cli.store import ids
from agent_cli.terminal import edited

_HIDING = {"n": "agent notes rm", "k": "agent skills rm", "t": "/tasks rm"}  # by the letter of a handle


@command("/undo [FACT]", completes=("fact",), changes=True, examples=("/undo", "/undo f3"))
def undo(conversation: Conversation, argument: str) -> PromptDraft | str:
    """Take back your last message and its answer; your words come into the prompt.

    Once more takes back the message before it too. Reminders that it asked for are hidden. All of it stays in the log,
    but is not used any more. With the handle of a fact: take back your last change of that fact.
    """
    if argument:  # a fact: its last change, with all that it changed
        app = conversation.app
        app.refuse_incognito()
        if command := _HIDING.get(argument[:1]):
            raise UsageError(f"/undo takes back what was done to a fact, as in /undo f3; {command} {argument} hides it")
        fact = facts.get(app.db, ids.number("fact", argument), app.scope.owner)
        undone = {each.id: each for each in facts.undo(app.memory, fact)}  # its last state
        return Receipt("\n".join(map(facts.undone_receipt, undone.values())))
    asked = _asked(conversation)
    stay, hidden = conversation.take_back(asked.id)
    notice = f"{asked.handle} and its answer are taken back"
    if stay:
        notice += f"; {facts.format_names(stay)} {'stays' if len(stay) == 1 else 'stay'} (/undo {stay[0].handle})"
    for each in hidden:
        notice += f"; {rewind.format_hidden(each)}"
    return PromptDraft(notice, asked.message.text, asked.parts)


@command("/retry [-m MODEL]", examples=("/retry", "/retry -m qwen3:8b"))
def retry(conversation: Conversation, argument: str) -> Work:
    """Ask your last question again; the answer before is taken back.

    If no answer comes, the former one is restored; an answer that you stop replaces it.
    -m MODEL: another model answers this once.
    """
    named = re.fullmatch(r"(?:-m\s+(\S+))?", argument)
    if named is None:
        raise UsageError("/retry takes -m MODEL; nothing was asked; /help /retry says more")
    asked = _asked(conversation)
    model = models.for_one_answer(conversation.app, named[1]) if named[1] else None
    conversation.reopen()
    return conversation.turn(asked.parts, instead=asked.id, model=model)


@command("/edit [N|ID WORDS]", examples=("/edit", "/edit 3"))
def edit(conversation: Conversation, argument: str) -> PromptDraft | Work:
    """Change your last message, or your N-th last: it comes into the prompt.

    Sending it, as /edit m12 WORDS, takes back m12 and all after it. Delete the line, and nothing changes; nor does it
    when no answer comes.
    """
    match = re.fullmatch(r"(m\d+)(?:\s+(.*))?|(\d*)", argument, re.DOTALL)
    if match is None:
        raise UsageError("say which: /edit for your last message, /edit 3 for the third last, or its handle, /edit m12")
    handle, words, number = match.groups()
    if handle:
        id = ids.number("message", handle)
        found = log.history(conversation.app.db, conversation.id or 0, after=id - 1, before=id + 1)
        if not found or found[0].message.role != "user":
            raise UsageError(f"{handle} is no message of yours in this session, or was taken back; nothing was sent")
        asked = found[0]
    else:
        asked = _asked(conversation, int(number or 1))
    if words:
        conversation.reopen()
        files = [part for part in asked.parts if part.origin == "file" and part.name in words]
        return conversation.turn([*files, *_argument(conversation, words)], instead=asked.id)
    after = f"sending this takes back {asked.handle} and what came after it; delete it, and all stays as it is"
    return PromptDraft(after, f"/edit {asked.handle} {asked.message.text}", asked.parts)


@command("/editor [TEXT]", on_file=True, examples=("/editor", "/editor Dear Anna,"))
def editor(conversation: Conversation, argument: str) -> Work | str:
    """Write a message in your editor; it is shown and sent when you leave it.

    Save it empty to send nothing. It counts as typed by you, as what Ctrl-G brings back does, unless what it began with
    was pasted.
    """
    with edited(argument, conversation.app.config.editor) as typed:
        words = typed.strip()
    if not words:
        return "nothing was written, and nothing was sent"
    turn = conversation.turn([Part(words, conversation.origin)])

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        yield Noticed(Verbatim(words))
        yield from turn(cancel, approve)

    return work


@command("/btw QUESTION", examples=("/btw what does idempotent mean?", "/btw how many grams are in an ounce?"))
def btw(conversation: Conversation, argument: str) -> Work:
    """Ask a side question: it and its answer stay out of the conversation.

    The model sees the conversation; both are logged in a session of their own.
    """
    if not argument:
        raise UsageError("write the question after it, as in /btw what does idempotent mean?")
    return conversation.ask_beside(_argument(conversation, argument))


def _asked(conversation: Conversation, n: int = 1) -> log.Entry:
    """The n-th last message of the person. Raises UsageError."""
    found = log.nth_last(conversation.app.db, conversation.id, "user", n) if n else None
    if found is None:
        if not n:
            raise UsageError("/edit 1 is your last message, /edit 2 the one before")
        raise UsageError("you have said nothing in this session" if n == 1 else f"you have not said {n} messages here")
    return found


def _argument(conversation: Conversation, words: str) -> Sequence[Part]:
    """The parts of the line that make up its last words `words`, with their origins."""
    parts: list[Part] = []
    left = len(words)
    for part in reversed(conversation.parts):
        if left > 0:
            text = part.text.rstrip() if not parts else part.text
            parts.insert(0, Part(text[-left:], part.origin, part.name))
            left -= len(parts[0].text)
    return parts if "".join(part.text for part in parts) == words else [Part(words, conversation.origin)]


@command("/copy [N|code]", examples=("/copy", "/copy code"))
def copy(conversation: Conversation, argument: str) -> str:
    """Copy the last answer, the N-th last, or the last code in it."""
    code = argument == "code"
    answer = _answer(conversation, "" if code else argument)
    words = answer.message.text.strip()
    if code:
        blocks = markdown.code_blocks(answer.message.text)
        if not blocks:
            raise UsageError(f"there is no code in {answer.handle}; /copy takes all of it")
        words = blocks[-1].code.removesuffix("\n")
    words = text.clean(words)  # what is pasted into a shell must not be able to steer its terminal
    how = to_clipboard(words, os.environ, sys.stdout)
    return Receipt(f"copied {'the code of ' if code else ''}{answer.handle}, {len(words):,} characters, {how}")


@command("/raw [N]", examples=("/raw", "/raw 2"))
def raw(conversation: Conversation, argument: str) -> str:
    """Show the last answer, or the N-th last, as the model wrote it."""
    return Verbatim(marked(_answer(conversation, argument).message.text.strip()))


def _answer(conversation: Conversation, argument: str) -> log.Entry:
    """The last answer or the n-th last. Raises UsageError."""
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError(f"{argument!r} is not the number of an answer: 1 is the last, 2 the one before")
    found = log.nth_last(conversation.app.db, conversation.id, "assistant", int(argument or 1))
    if found is None:
        raise UsageError("there is no such answer in this session" if argument else "nothing was answered here yet")
    return found


_MAX_BASE64 = 74_994  # characters; some terminals silently drop longer sequences
_TIMEOUT = 3.0  # seconds
_ALTERNATIVES = "/raw shows it to be selected, /export FILE writes the session"


def to_clipboard(text: str, environ: Mapping[str, str], out: TextIO) -> str:
    """Copy the text and return by what means, as in "with xclip". Raises UsageError when nothing can copy."""
    local = not (environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    programs = (  # whether one may work here, the most reliable first
        (environ.get("TMUX"), ["tmux", "load-buffer", "-w", "-"]),  # also to the clipboard outside
        (local and sys.platform == "darwin", ["pbcopy"]),
        (local and environ.get("WAYLAND_DISPLAY"), ["wl-copy"]),
        (local and environ.get("DISPLAY"), ["xclip", "-selection", "clipboard"]),
    )
    encoded = text.encode("utf-8", "replace")
    null = subprocess.DEVNULL  # some programs stay running to serve the text, and would hold a pipe open
    for program in (words for may_work, words in programs if may_work and shutil.which(words[0])):
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                program, input=encoded, stdout=null, stderr=null, timeout=_TIMEOUT, check=True, start_new_session=True
            )
            return f"with {program[0]}"
    if not out.isatty() or environ.get("TERM", "dumb") == "dumb":
        raise UsageError(f"there is nothing here to copy with: {_ALTERNATIVES}")
    sequence = base64.b64encode(encoded).decode()
    if len(sequence) > _MAX_BASE64:
        raise UsageError(f"{len(text):,} characters are more than a terminal takes at once: {_ALTERNATIVES}")
    out.write(f"\x1b]52;c;{sequence}\x07")
    out.flush()
    return "through the terminal; if nothing arrives, it is set to refuse that: /raw shows the words to be selected"
