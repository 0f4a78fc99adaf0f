"""The slash commands for the original text of answers: /copy and /raw."""

import os
import sys

from agent_cli import text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log
from agent_cli.memory.conversations.log import Entry
from agent_cli.messages import Receipt
from agent_cli.render import copying
from agent_cli.render.layout import Verbatim
from agent_cli.render.reply_lines import marked
from agent_cli.repl.commands.command import command
from agent_cli.repl.session.conversation import Conversation


@command("/copy [N|code]", examples=("/copy", "/copy code"))
def copy(conversation: Conversation, argument: str) -> str:
    """Copy the last answer, the N-th last, or the last code in it."""
    code = argument == "code"
    answer = _answer(conversation, "" if code else argument)
    words = _last_code(answer) if code else answer.message.text.strip()
    words = text.clean(words)  # what is pasted into a shell must not be able to steer its terminal
    how = copying.copy(words, os.environ, sys.stdout)
    return Receipt(f"copied {'the code of ' if code else ''}{answer.handle}, {len(words):,} characters, {how}")


@command("/raw [N]", examples=("/raw", "/raw 2"))
def raw(conversation: Conversation, argument: str) -> str:
    """Show the last answer, or the N-th last, as the model wrote it."""
    return Verbatim(marked(_answer(conversation, argument).message.text.strip()))


def _answer(conversation: Conversation, argument: str) -> Entry:
    """The last answer or the n-th last. Raises UsageError."""
    if argument and not (argument.isdecimal() and int(argument)):
        raise UsageError(f"{argument!r} is not the number of an answer: 1 is the last, 2 the one before")
    found = (
        log.nth_last(conversation.app.db, conversation.id, "assistant", int(argument or 1)) if conversation.id else None
    )
    if found is None:
        raise UsageError("there is no such answer in this session" if argument else "nothing was answered here yet")
    return found


def _last_code(answer: Entry) -> str:
    """The text of the last fenced block, without the end of its last line. Raises UsageError."""
    blocks = copying.code_blocks(answer.message.text)
    if not blocks:
        raise UsageError(f"there is no code in {answer.handle}; /copy takes all of it")
    return blocks[-1].code.removesuffix("\n")
