"""`agent ask`: one question, in pipes and scripts; also what is piped into `agent` without a command. And `agent demo`.

Standard output gets the answer alone, or objects with --json; receipts, notices and the recall go to standard error.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing as closed_after
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Exit

from agent_cli import clock, limits, terminal
from agent_cli.agent import events, policy
from agent_cli.agent.loop import Question
from agent_cli.app import background, models, turns, upkeep
from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import argument, flag, group, option
from agent_cli.errors import AgentError, ModelUnavailable, StoreError, UsageError
from agent_cli.llm.chat import broken
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.search import recall_log
from agent_cli.messages import Failure, Part, ToolCall, join_parts
from agent_cli.render import reply_lines
from agent_cli.store import ids
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext

if TYPE_CHECKING:
    from agent_cli.render.markdown import AnswerWriter

AnswerForm = Literal["stream", "whole", "json", "events", "code"]
"""How the answer is printed: as it arrives, when whole, one JSON object, a JSON line per event, its last code alone."""


@dataclass(eq=False, repr=False)  # each costs time at the start
class AskOptions:
    invocation: Invocation
    words: list[str]
    files: list[Path] = field(default_factory=list)
    system: str = ""
    form: AnswerForm = "stream"
    timeout: float | None = None
    dry_run: bool = False
    why: bool = False  # afterwards print what was recalled
    offline_ok: bool = False  # an answer from memory alone counts as one


app = group()


@app.command()
def ask(
    invocation: Invocation,
    words: list[str] | None = argument("The question; quotes are optional.", None, show_default=False),
    file: list[Path] | None = option("-f, --file", "Put a file before the question; - is standard input."),
    system: str = option("-s, --system", "Instructions for this run.", ""),
    session: str | None = option("--session", "Continue this session."),
    as_json: bool = flag("--json", "One JSON object at the end."),
    stream_json: bool = flag("--stream-json", "A line of JSON for each event: start, used, delta, …, end or error."),
    no_stream: bool = flag("--no-stream", "Print the answer when it is whole."),
    extract: bool = flag("-x, --extract", "Print the last block of code alone; none: exit 1."),
    why: bool = flag("--why", "Then print on standard error what memory added."),
    timeout: float | None = option("--timeout", "Seconds until it is given up (exit 7).", min=0.001, max=10_000_000),
    offline_ok: bool = flag("--offline-ok", "Exit 0 also when no server answers and memory alone does (else 3)."),
    dry_run: bool = flag("--dry-run", "Print the request, and send and keep nothing."),
) -> None:
    """Ask one question. The options of `agent` itself work here too, as -c, -m and --incognito."""
    if invocation.latest and session:
        raise UsageError("-c and --session exclude each other: continue the last session here, or a named one")
    invocation.resume = session or invocation.resume
    invocation.check()
    forms: dict[AnswerForm, bool] = {"json": as_json, "events": stream_json, "code": extract}
    chosen = [form for form, wanted in forms.items() if wanted]  # --no-stream may be combined with each
    if len(chosen) > 1:
        raise UsageError("--json, --stream-json and -x exclude each other")
    form = chosen[0] if chosen else "whole" if no_stream else "stream"
    answer(AskOptions(invocation, words or [], file or [], system, form, timeout, dry_run, why, offline_ok))


def answer(asked: AskOptions) -> None:
    """Ask, print the answer, and queue what follows a turn. Raises AgentError."""
    invocation = asked.invocation
    if invocation.interactive:
        _converse(asked)
        return
    parts = _parts(asked)
    if not parts:
        raise UsageError('nothing was asked: `agent ask "your question"`, or pipe some words in')
    app, chosen = invocation.app(), invocation.chosen_session()
    if asked.dry_run:
        _show_request(asked, parts, chosen)
        return
    one_shot = turns.one_shot(app, app.db, "ask", terminal=app.terminal)
    try:
        with _resumed(invocation, chosen) if chosen else one_shot as session:
            transcript = _turn(asked, parts, session)
        upkeep.after_turn(app, app.db)
    finally:  # after a failure too: a process that ran jobs has ended for this question
        background.start(app)
    if app.keeps and not (invocation.quiet or invocation.child or asked.form in ("json", "events")):
        from agent_cli.repl import reminders  # loaded after the answer, which it must not delay

        with suppress(StoreError):  # the next run prints it
            if line := reminders.due_line(app):
                invocation.note(line)
    if asked.form == "code":
        _print_code(transcript)
    if transcript.model == "offline" and app.config.model != "offline" and not asked.offline_ok:
        raise Exit(ModelUnavailable.exit_code)  # after the answer from memory, and the notice that says so


def _converse(asked: AskOptions) -> None:
    """Start a conversation with the question, if there is one, and go on at the keyboard."""
    if asked.form != "stream" or asked.system or asked.timeout or asked.dry_run or asked.why:
        raise UsageError("-i goes on as a conversation: leave out what is about one answer, as --json or --timeout")
    if not sys.stdout.isatty():
        raise UsageError("-i goes on as a conversation, and the output is not a terminal; ask without -i")
    parts = _parts(asked)
    _take_keyboard()
    # A program may have composed these words, so none of them count as typed by the person.
    session = asked.invocation.chosen_session()
    asked.invocation.converse(session, [replace(part, origin="piped") for part in parts])


def _parts(asked: AskOptions) -> Sequence[Part]:
    """The parts of the question, perhaps none. Raises UsageError for a file that cannot be read or is not text."""
    stdin = Path("-")
    files = asked.files if sys.stdin.isatty() or stdin in asked.files else [stdin, *asked.files]
    parts = []
    for file in files:
        if file == stdin:
            parts.append(Part(limits.decoded(sys.stdin.buffer.read(limits.MAX_INPUT + 1), "standard input"), "piped"))
        else:
            parts.append(Part(limits.read(file), "file", str(file)))
    parts.append(Part(" ".join(asked.words), "typed"))
    return join_parts([part for part in parts if part.text.strip()])


def _take_keyboard() -> None:
    """Make the keyboard standard input again, after piped input was read. Raises UsageError where there is none."""
    if sys.stdin.isatty():
        return
    sys.stdin.close()
    names = ["/dev/tty"]
    with suppress(OSError, AttributeError):  # in a container it may have none; Windows knows no such names
        names.insert(0, os.ttyname(1))  # macOS cannot wait for keys of /dev/tty
    for name in names:
        with suppress(OSError):
            opened = os.open(name, os.O_RDWR)
            if opened != 0:
                os.dup2(opened, 0)
                os.close(opened)
            sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
            return
    raise UsageError("-i goes on at the keyboard, and there is none here; ask without -i")


@contextmanager
def _resumed(invocation: Invocation, chosen: sessions.Session) -> Iterator[int]:
    """The number of a session that is reopened for one question, and then left as it was."""
    app = invocation.app()
    session = sessions.reopen(app.db, chosen.id, app.scope.owner, app.time(), app.terminal).id
    if invocation.latest:
        ago = clock.ago(chosen.last_at, app.time())
        invocation.note(f"continuing {chosen.handle}, {ago}: {sessions.name(app.db, chosen)}")
    try:
        yield session
    finally:
        if chosen.closed_at:
            closing.close(app.db, session, app.time)
        sessions.release(app.db, session)


def _turn(asked: AskOptions, parts: Sequence[Part], session: int) -> events.Transcript:
    app, cancel = asked.invocation.app(), Cancel()
    cancel_on(cancel, signal.SIGINT)
    too_late = f"no whole answer within {asked.timeout or 0:g} s; what arrived is kept (--timeout)"
    with cancel.limited(asked.timeout, too_late):
        context = turns.tool_context(app, app.db, session)
        question = Question(context, parts, _approver(asked, cancel), cancel, instructions=asked.system)
        turn = turns.run(app, question, lambda: (_model(asked.invocation), ""))
        with closed_after(turn):  # when the reader has gone, so that what arrived is kept as cut off
            return _print_turn(turn, asked, context)


def cancel_on(cancel: Cancel, *signals: int) -> list[int]:
    """Let the first of these signals end the work in order; a second Ctrl-C does not wait. Returns those that came."""
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=cancel).start()  # what the handler interrupts may hold the locks that this needs

    for number in signals if threading.current_thread() is threading.main_thread() else ():
        signal.signal(number, stop)
    return came


def _model(invocation: Invocation) -> ChatModel:
    """The model that answers; a notice about it is printed where the person should know."""
    model, notice = models.chat(invocation.app(), invocation.app().db)
    if notice and (model.name == "offline" or invocation.verbose):
        invocation.note(notice)
    return model


def _approver(asked: AskOptions, cancel: Cancel) -> policy.Approve:
    """What decides on the calls that need approval: the person at this terminal, or nobody."""
    unattended = asked.invocation.child or asked.timeout or asked.form in ("json", "events")
    if unattended or not terminal.is_own(sys.stdout.fileno()):
        return policy.no_approver
    allowed_tools: set[str] = set()

    def approve(call: ToolCall) -> bool | None:
        from agent_cli.repl.keyboard import key_reader  # prompt-toolkit: only a question needs it

        if call.name in allowed_tools:
            return True
        display, key = output.display(), ""
        # Ctrl-C ends the question, and the turn with it: the handler of the turn alone would leave the key awaited.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            for shown, offered in reply_lines.questions(call, display.width()):
                output.write_stderr(shown)
                key = key_reader.ask(reply_lines.styled(offered, display), key=True)
                if key != "o":
                    break
        except KeyboardInterrupt:
            cancel()
        except terminal.NoTerminal:
            return None
        finally:
            signal.signal(signal.SIGINT, before)
        if key == "a":
            allowed_tools.add(call.name)
        return key in ("y", "a")

    return approve


def _print_turn(turn: Iterable[events.Event], asked: AskOptions, context: ToolContext) -> events.Transcript:
    """Print a turn in the chosen form; with -x `_print_code` prints the code afterwards."""
    transcript = events.Transcript(context)
    if asked.form == "events":
        for event in turn:
            for each in transcript.take(event):
                output.put_json_line(_without_notices(each))
    else:
        writer: AnswerWriter = reply_lines.PlainWriter(sys.stdout)
        if asked.form != "json" and (asked.invocation.color == "always" or sys.stdout.isatty()):
            from agent_cli.render import markdown  # not needed for a pipe

            writer = markdown.answer_writer(sys.stdout, output.display())
        try:
            for event in turn:
                transcript.take(event)
                _print_event(event, writer, asked, transcript)
        finally:
            writer.end()
    if asked.why:
        message = ids.number("message", transcript.question)
        if recall_log.recalled_for(context.db, message):
            output.write_stderr(recall_log.explain(context.db, message))
        else:
            output.note(recall_log.nothing_for(context.db, message))
    return transcript


def _print_event(event: events.Event, writer: "AnswerWriter", asked: AskOptions, transcript: events.Transcript) -> None:
    """Print the answer as it arrives or when it is whole, and everything else on standard error."""
    note, form = asked.invocation.note, asked.form
    match event:
        case events.TextArrived(text) if form == "stream":
            writer.write(text)
        case events.TextWasThinking() if form == "stream":
            writer.new_section()
            note("what was printed so far is the model's thinking, not its answer")
        case events.ToolStarted():
            writer.new_section()  # a question about the call begins a line
        case events.ToolFinished(call, result):
            writer.new_section()
            if result.receipt:
                note(result.receipt)
            elif result.text == policy.DENIED:
                note(f"the model wanted to call {one_line(call.name)}; a rule denied it")
            elif result.broke:
                note(Failure(one_line(result.text, 200)))
            elif asked.invocation.verbose:
                note(f"{call.name}: {result.text[:200]}")
        case events.Noticed(text):
            note(text)
        case events.TurnEnded():
            if event.stopped_by:
                writer.end()
                note(Failure(f"the turn was ended: {event.stopped_by}"))
            if form == "json":
                output.put_json_line(_without_notices(transcript.as_object(event.finish)))
            elif form == "whole":
                writer.write(transcript.answer)


def _without_notices(whole: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a turn without its notices: these were printed, or are events of their own."""
    return {key: value for key, value in whole.items() if key != "notices"}


def _print_code(transcript: events.Transcript) -> None:
    """Print the last block of code, if it is whole: half of a command is another command. Raises AgentError."""
    from agent_cli.render import markdown  # rarely asked for

    blocks = markdown.code_blocks(transcript.answer)
    if not blocks:
        raise AgentError("no block of code is in the answer; ask without -x to see it")
    if not blocks[-1].closed and transcript.finish != "stop":
        raise AgentError("the block of code was cut off before its end; ask without -x to see it")
    output.write(blocks[-1].code)


def _show_request(asked: AskOptions, parts: Sequence[Part], chosen: sessions.Session | None) -> None:
    app = asked.invocation.app()
    agent = turns.agent(app, _model(asked.invocation), instructions=asked.system)
    shown = turns.preview(app, app.db, agent, chosen.id if chosen else None, parts, "ask")
    messages = []
    for message in shown.messages:
        calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
        sent = {"role": message.role, "content": broken(message.content)}
        messages.append(sent | {"calls": calls} if calls else sent)
    output.put_json({"model": agent.model.name, "num_ctx": agent.num_ctx, "messages": messages, "tools": shown.tools})


demo_app = group()


@demo_app.command()
def demo() -> None:
    """Play short conversations on a throw-away database: memory in twenty seconds."""
    import tempfile  # a question needs none of these

    from agent_cli.app.app import open_app
    from agent_cli.render.styles import YOU, Display
    from agent_cli.repl.conversation import Conversation
    from agent_cli.repl.shell.shell import TurnRenderer

    display, question = output.look() or Display(), "What must I bring to the dentist?"

    def say(words: str) -> None:
        renderer, talk = TurnRenderer(sys.stdout, display), Conversation(app_)
        output.say(f"{display.styled(YOU.sign, YOU.style)} {words}")
        for event in talk.turn([Part(words, "typed")])(Cancel(), lambda call: False):
            renderer.draw(event)
        renderer.end()
        talk.leave()
        output.say()

    def remark(words: str) -> None:
        output.say(f"{reply_lines.announced(words, display)}\n")

    with tempfile.TemporaryDirectory() as folder:
        flags = {"db": str(Path(folder, "demo.db")), "model": f"scripted:{Path(__file__).with_name('demo.toml')}"}
        app_ = open_app(flags, output.note, config_file=Path(folder, "none.toml"), environ={"HOME": folder})
        try:
            say("I see the dentist on Friday, Dr. Huber in Linz. Remember that I must bring the X-rays.")
            remark("Another day, another session. The model is told what you asked to keep:")
            say(question)
            remark("And where no model answers, memory does:")
            models.switch(app_, "offline")
            say(question)
        finally:
            app_.db.close()
    remark("That was a throw-away database. `agent` starts your own.")
