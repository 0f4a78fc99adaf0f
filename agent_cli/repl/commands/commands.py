"""Slash commands: a function each, its docstring the help. Completion, /help and the README come from here."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from inspect import getdoc
from pathlib import Path

from agent_cli import clock, text
from agent_cli.agent.runner import Work
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import prompts, sessions
from agent_cli.memory.forgetting import erasure_receipt, forget, provenance, topic
from agent_cli.memory.planner import notes
from agent_cli.memory.search import recall, recall_log
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.render.prose import Exact
from agent_cli.repl.commands import (
    answer_commands,
    document_commands,
    exchange_commands,
    fact_commands,
    setting_commands,
    skill_commands,
    summary_commands,
    task_commands,
)
from agent_cli.repl.commands.exchange_commands import Draft
from agent_cli.repl.commands.fact_commands import Screen
from agent_cli.repl.commands.setting_commands import Theme
from agent_cli.repl.session import greeting  # fmt: skip
from agent_cli.repl.session.conversation import Conversation
from agent_cli.text import one_line
from agent_cli.values import frozen


@frozen
class Question:
    """Something that is done when the person answers `ask` with a typed "yes"; `yes` gives what is said then."""

    text: str
    ask: str
    yes: Callable[[], str]
    no: str


Result = Work | Screen | Question | Draft | Theme | str | None
"""Work is run and drawn like a turn; a screen has the terminal until left; a question is asked; a draft comes into the
prompt; a theme is taken on; a text is printed."""


class Leave(Exception):
    """The person wants to go, or to go on with another app in a conversation of its own."""

    def __init__(self, to: App | None = None):
        self.to = to


@frozen
class Command:
    name: str
    usage: str
    help: str
    run: Callable[[Conversation, str], Result]
    aliases: tuple[str, ...] = ()
    completes: tuple[str, ...] = ()  # what its argument may be, by the names in completion.py


COMMANDS: dict[str, Command] = {}
_ON_THE_FILE = {
    "/close", "/docs", "/doctor", "/editor", "/facts", "/forget", "/note", "/notes", "/remember", "/remind", "/rename",
    "/resume", "/review", "/sessions", "/skills", "/summary", "/tasks",
}  # fmt: skip


def command(
    usage: str, *aliases: str, completes: tuple[str, ...] = ()
) -> Callable[[Callable[[Conversation, str], Result]], Command]:
    """Register `/name ARGUMENTS` and its other names."""

    def register(function: Callable[[Conversation, str], Result]) -> Command:
        name = usage.split()[0]
        COMMANDS[name] = Command(name, usage, getdoc(function) or "", function, aliases, completes)
        return COMMANDS[name]

    return register


def find(line: str) -> tuple[Command, str] | None:
    """The command of a line and its argument; None when the line is meant for the model.

    A command is a slash and a word: `/etc/hosts is empty` is text. Raises UsageError for an unknown one, which never
    reaches the model, and for words behind one that takes none.
    """
    match = re.fullmatch(r"(/[a-z?-]+)(?:\s+(.*))?", line.strip(), re.DOTALL)
    if match is None:
        return None
    told, argument = match[1], (match[2] or "").strip()
    names = {name: each for each in COMMANDS.values() for name in (each.name, *each.aliases)}
    begin = {names[name].name for name in names if name.startswith(told)}
    if told in names or len(begin) == 1:
        found = names[told] if told in names else COMMANDS[begin.pop()]
        if argument and found.usage == found.name:
            raise _alone(found.name, argument)
        return found, argument
    near = sorted(begin) or get_close_matches(told, names, 1)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; /help lists them all"
    raise UsageError(f"there is no {told}{hint}")


def run(conversation: Conversation, found: Command, argument: str) -> Result:
    """Run a command. Raises UsageError where it is about the file and the conversation is incognito."""
    if found.name in _ON_THE_FILE:
        conversation.app.refuse_incognito()
    return found.run(conversation, argument)


@command("/help [COMMAND]", "/?", completes=("command",))
def help(conversation: Conversation, argument: str) -> Result:
    """List the commands, or explain one."""
    if argument:
        found = find("/" + argument.removeprefix("/"))
        each = found[0] if found else help
        others = f" (also {', '.join(each.aliases)})" if each.aliases else ""
        return f"{each.usage}{others}\n{each.help}"
    shown = sorted(COMMANDS.values(), key=lambda each: each.name)
    return "\n".join(f"{each.usage:<21}  {each.help.splitlines()[0]}" for each in shown)


@command("/new", "/clear")
def new(conversation: Conversation, argument: str) -> Result:
    """Start a fresh session. Nothing is deleted: the old one is closed and kept."""
    left = conversation.leave()
    return (
        f"{left.handle} is closed and kept; what you say next begins a new session" if left else "this session is new"
    )


@command("/close")
def close(conversation: Conversation, argument: str) -> Result:
    """Close the session and write its summary. Ctrl-C keeps it open."""
    session = conversation.session
    if session is None:
        return "nothing has been said yet"
    return conversation.closing(session)


@command("/sessions [COUNT]")
def sessions_(conversation: Conversation, argument: str) -> Result:
    """List the latest sessions."""
    rows = sessions.listing(conversation.app.db, conversation.app.scope.owner, _count(argument))
    counts = [f"{row['turns']:>4} turn{' ' if row['turns'] == 1 else 's'}" for row in rows]
    lines = [
        f"{row['id']:<6} {row['last_at'][:10]}  {count}  {row['title']}"
        for row, count in zip(rows, counts, strict=True)
    ]
    return "\n".join(lines) or "there are no sessions yet"


@command("/resume SESSION|TEXT", completes=("session",))
def resume(conversation: Conversation, argument: str) -> Result:
    """Go on with an earlier session: its handle, or words that stand in it."""
    if not argument:
        raise UsageError("name a session, as in /resume s4; /sessions lists them")
    app = conversation.app
    session = sessions.resolve(app.db, argument, app.scope.owner)
    conversation.resume(session)
    return greeting.goes_on(app, session)


@command("/rename TITLE")
def rename(conversation: Conversation, argument: str) -> Result:
    """Give the session a title."""
    session = conversation.session
    if session is None:
        raise UsageError("nothing has been said yet: there is no session to give a title to")
    if not argument:
        name = sessions.name(conversation.app.db, session)
        raise UsageError(f"write the title behind it, as in /rename Tax return; now it is “{name}”")
    sessions.rename(conversation.app.db, session.id, argument)
    return f"{session.handle} is now “{argument}”"


@command("/export [FILE]", completes=("file",))
def export(conversation: Conversation, argument: str) -> Result:
    """Write the session as Markdown to a file, or show it."""
    session = conversation.session
    if session is None:
        return "nothing has been said yet"
    written = transfer.markdown(conversation.app.db, session)
    if not argument:
        return Exact(written)
    file = Path(argument).expanduser()
    try:
        with file.open("x", encoding="utf-8", errors="replace") as opened:
            opened.write(written)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    return f"written to {file}"


@command("/note TEXT")
def note(conversation: Conversation, argument: str) -> Result:
    """Save a note."""
    app = conversation.app
    written = notes.add(app.db, app.scope, argument, app.time, origin=conversation.origin, session=conversation.id)
    return f"saved {written.handle} “{written.name}”"


@command("/notes [WORDS]")
def notes_(conversation: Conversation, argument: str) -> Result:
    """List the latest notes, or those with these words."""
    app = conversation.app
    owner = app.scope.owner
    found = notes.search(app.db, owner, argument, 20, app.time()) if argument else notes.listing(app.db, owner, 20)
    lines = [f"{each.handle:<6} {clock.local(each.at, each.utc_offset):%Y-%m-%d}  {each.name}" for each in found]
    return "\n".join(lines) or ("no note has these words" if argument else "there are no notes yet")


@command("/search WORDS")
def search(conversation: Conversation, argument: str) -> Result:
    """Find what was said, noted, summarised, learned or stands in your documents."""
    if not argument:
        raise UsageError("say what to find, as in /search dentist")
    app = conversation.app
    meaning = app.ready_to_search(app.db)
    allowed = Filter(app.scope.owner, here=app.scope.place, within=conversation.id)
    found = recall.find(app.db, argument, allowed, app.time(), 10, meaning)
    lines = [
        f"{hit.handle:<6} {clock.at(hit.at):%Y-%m-%d}  {one_line(f'{hit.label} {hit.text}'.strip(), 120)}"
        for hit in found.hits
    ]
    return "\n".join(lines) if lines and found.verdict != "nothing" else "nothing is known of it"


@command("/why [MESSAGE]")
def why(conversation: Conversation, argument: str) -> Result:
    """Show what memory added to your last question, or to another, and why."""
    app = conversation.app
    asked = recall_log.asked(app.db, app.scope.owner, argument or None)
    return recall_log.explained(app.db, asked)


command("/remember [TEXT]")(fact_commands.remember)
command("/update")(fact_commands.update)
command("/facts [WORDS]")(fact_commands.facts_)
command("/review")(fact_commands.review_)
command("/skills [NAME]", completes=("skill",))(skill_commands.skills_)
command("/docs [add PATH|sync|rm PATH]", completes=("documents",))(document_commands.docs)
command("/summary [PERIOD]", completes=("period",))(summary_commands.summary)
command("/remind TEXT WHEN")(task_commands.remind)
command("/tasks [done|… ID]", completes=("task",))(task_commands.tasks_)
command("/undo")(exchange_commands.undo)
command("/retry [OPTIONS]")(exchange_commands.retry)
command("/edit [N|ID WORDS]")(exchange_commands.edit)
command("/editor [TEXT]")(exchange_commands.editor)
command("/btw QUESTION")(exchange_commands.btw)
command("/copy [N|code]")(answer_commands.copy)
command("/raw [N]")(answer_commands.raw)
command("/think [HOW]")(setting_commands.think)
command("/memory [on|read|off]")(setting_commands.memory)
command("/theme [ansi|none]")(setting_commands.theme)
command("/set [KEY [VALUE]]", completes=("setting",))(setting_commands.set_)
command("/doctor")(setting_commands.doctor)
command("/keys")(setting_commands.keys)


@command("/forget ID…|TOPIC", completes=("handle",))
def forget_(conversation: Conversation, argument: str) -> Result:
    """Erase what is remembered and all that came of it. Asks first.

    Name handles, as in m9 n4 t4 d12, or words it was about. Of files the words go; the files stay on the disk. Alone
    it finishes what another program held up."""
    app = conversation.app
    app.refuse_child()
    words = argument.split()
    if not words:
        told = erasure_receipt.resume(app.db, app.time)
        return told.sentence() if told else "nothing waits to be erased; name it, as in /forget m9 or /forget Graz"
    handles = all(re.fullmatch(r"[smnfyktdc]\d+", word.lower()) for word in words)
    owner = app.scope.owner
    if handles:
        plan = forget.planned(app.db, provenance.named(app.db, owner, words))
    else:
        plan = forget.planned(app.db, topic.named(app.db, owner, argument, app.time()), argument)

    if set(plan.counts) == {"prompts"} and prompts.only(app.db, plan.verbatim_copies.rows["prompts"], "/forget"):
        erasure_receipt.erase(app.db, plan, app.time)  # the line that was just typed, and may name what no file should
        return f"nothing is remembered about {argument!r}; the line that you typed is erased too"

    def yes() -> str:
        return "\n".join([*plan.files, erasure_receipt.erase(app.db, plan, app.time).sentence()])

    return Question("\n".join(plan.told()), "erase it for good? type yes: ", yes, "nothing was erased")


@command("/model [NAME]", completes=("model",))
def model(conversation: Conversation, argument: str) -> Result:
    """Say which model answers, or answer with another from now on."""
    app = conversation.app
    chosen, notice = app.use_model(argument) if argument else app.chat_model(app.db)
    return notice or f"{chosen.name} answers"


@command("/context [--full]")
def context(conversation: Conversation, argument: str) -> Result:
    """Show what the model sees, in tokens by part; --full shows every word.

    Before anything is said: what the first question will stand beside."""
    if argument not in ("", "--full"):
        raise _alone("/context", argument)
    shown = conversation.context()
    if argument == "--full":
        return Exact("\n\n".join(f"── {message.role}\n{message.content}" for message in shown.messages))
    parts = {**shown.sizes, "free": shown.room - sum(shown.sizes.values())}
    lines = [f"{part:<14} {size:>6}  {_bar(size, shown.room)}" for part, size in parts.items()]
    mode = setting_commands.memory_mode(conversation)
    lines[-1] += f" of {shown.room} tokens, estimated"
    return "\n".join([*lines, *([f"memory is {mode}: /memory"] if mode != "on" else [])])


@command("/incognito [read]")
def incognito(conversation: Conversation, argument: str) -> Result:
    """Leave this session for a conversation that is kept nowhere.

    It ends with the program. Nothing of memory is read in it either, unless "read" stands behind it.
    """
    if argument not in ("", "read"):
        raise _alone("/incognito", argument)
    if not conversation.app.keeps:
        return "this conversation is incognito already; /exit ends it"
    raise Leave(conversation.app.incognito(reads=argument == "read"))


@command("/exit", "/quit", "/bye")
def exit(conversation: Conversation, argument: str) -> Result:
    """Leave. The session is kept, and its summary is written in the background."""
    raise Leave


def _alone(name: str, argument: str) -> UsageError:
    return UsageError(
        f"{name} takes no {text.one_line(argument, 40)!r}; it was not run, /help {name} says how it is used"
    )


def _count(argument: str) -> int:
    if argument and not argument.isdigit():
        raise UsageError(f"{argument!r} is no number")
    return int(argument or 20)


def _bar(size: int, room: int) -> str:
    share = size / room
    return f"{'█' * round(30 * share)} {100 * share:.0f} %"
