"""`agent ask`: one question.

The answer alone goes to standard output and ends with exactly one newline; the rest goes to standard error.
"""

import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import closing as closed_after
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_cli.agent import loop
from agent_cli.agent.events import Asked, Event, Noticed, TextArrived, TextWasThinking, ToolFinished, TurnEnded
from agent_cli.app import App, background
from agent_cli.cli import output
from agent_cli.cli.run import Run
from agent_cli.errors import Cancelled, TimedOut, UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory import closing, log, sessions
from agent_cli.messages import Message, Part, ToolCall, joined
from agent_cli.repl.stream import Paper

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_LARGEST = 20_000_000  # bytes of one input; no model's context holds a tenth of it


@dataclass
class Question:
    words: list[str]
    files: list[Path] = field(default_factory=list)
    system: str = ""
    latest: bool = False
    session: str | None = None
    as_json: bool = False
    stream: bool = True
    timeout: float | None = None
    dry_run: bool = False


@app.command(context_settings={"ignore_unknown_options": False})
def ask(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(help="The question; quotes are optional.", show_default=False)
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option("-f", "--file", help="Put a file before the question; - is standard input.")
    ] = None,
    system: Annotated[str, typer.Option("-s", "--system", help="Instructions for this run.")] = "",
    continue_: Annotated[bool, typer.Option("-c", "--continue", help="Continue the latest session.")] = False,
    session: Annotated[str | None, typer.Option("--session", help="Continue this session.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Print the answer when it is whole.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, help="Seconds until it is given up (exit 7).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the request, and send and keep nothing.")] = False,
) -> None:
    """Ask one question."""
    run: Run = context.obj
    if continue_ and session:
        raise UsageError("-c and --session exclude each other: continue the latest session, or a named one")
    question = Question(
        words or [], file or [], system, continue_, session, as_json, not (no_stream or as_json), timeout, dry_run
    )
    answer(run, question)


def answer(run: Run, question: Question) -> None:
    """Ask, print, and leave the file in order. Raises AgentError."""
    parts = _parts(question)
    run.latest, run.resume = run.latest or question.latest, question.session or run.resume
    app = run.app()
    if question.dry_run:
        _show_request(app, run, question, parts)
        return
    chosen = run.chosen()
    session = sessions.reopen(app.db, chosen.id, app.scope.owner, app.time()).id if chosen else None
    session = session or sessions.start(app.db, app.scope, app.time(), "ask")
    try:
        _turn(app, run, question, parts, session)
    finally:
        if chosen is None:
            closing.end_one_shot(app.db, session, app.time)
        elif chosen.closed_at:
            closing.close(app.db, session, app.time)
        sessions.release(app.db, session)
    app.after_turn(app.db)
    background(app)


def _turn(app: App, run: Run, question: Question, parts: Sequence[Part], session: int) -> None:
    cancel, late = Cancel(), threading.Event()

    def give_up() -> None:
        late.set()
        cancel()

    timer = threading.Timer(question.timeout or 0, give_up)
    timer.daemon = True
    _stop_on_interrupt(cancel)
    if question.timeout:
        timer.start()
    try:
        here = app.here(app.db, session)
        # Closed at once when the reader has gone, so that what arrived is kept as cut off.
        turn = loop.run_turn(lambda: _agent(app, run, question), here, parts, cancel)
        with closed_after(app.listen(turn, here, parts, at_keyboard=False)) as events:
            _print(events, run, question, session)
    except Cancelled:
        if late.is_set():
            raise TimedOut(f"no whole answer within {question.timeout:g} s; what arrived is kept (--timeout)") from None
        raise
    finally:
        timer.cancel()


def _agent(app: App, run: Run, question: Question) -> loop.Agent:
    model, notice = app.chat_model(app.db)
    if notice and (model.name == "offline" or run.verbose):
        run.note(notice)

    def refuse(call: ToolCall) -> None:
        run.note(f"the model wanted to call {call.name}; that needs your yes, so it was refused here")

    agent = app.agent(model, refuse)
    return replace(agent, instructions=f"{agent.instructions}\n\n{question.system}") if question.system else agent


def _print(events: Generator[Event, None, None], run: Run, question: Question, session: int) -> None:
    """Draw a turn: the answer to standard output, everything else to standard error."""
    paper = Paper(sys.stdout)
    turn = ""
    try:
        for event in events:
            match event:
                case Asked(handle):
                    turn = handle
                case TextArrived(text) if question.stream:
                    paper.write(text)
                case TextWasThinking() if question.stream:
                    paper.gap()
                    run.note("what was printed so far is the model's thinking, not its answer")
                case ToolFinished(call, result):
                    paper.gap()
                    if result.receipt:
                        run.note(result.receipt)
                    elif run.verbose:
                        run.note(f"{call.name}: {result.text[:200]}")
                case Noticed(text):
                    run.note(text)
                case TurnEnded() as ended:
                    _print_end(ended, paper, run, question, session, turn)
    finally:
        paper.end()


def _print_end(ended: TurnEnded, paper: Paper, run: Run, question: Question, session: int, turn: str) -> None:
    if question.as_json:
        output.put_line(_as_json(ended, session, turn))
    elif not question.stream:
        paper.write(ended.reply.text)
    if ended.stopped_by:
        paper.end()
        run.note(f"the turn was ended: {ended.stopped_by}")


def _as_json(ended: TurnEnded, session: int, turn: str) -> dict[str, Any]:
    return {
        "schema": 1,
        "answer": ended.reply.text.strip(),
        "model": ended.model,
        "session": f"s{session}",
        "turn": turn,
        "used": [],
        "usage": {"tokens_in": ended.tokens_in, "tokens_out": ended.tokens_out},
        "finish": ended.finish,
    }


def _parts(question: Question) -> Sequence[Part]:
    """The question in the order standard input, files, words. Raises UsageError when nothing is said."""
    parts = []
    if not sys.stdin.isatty() and Path("-") not in question.files:
        parts.append(Part(_read(sys.stdin.buffer.read(_LARGEST + 1), "standard input"), "piped"))
    for file in question.files:
        if file == Path("-"):
            parts.append(Part(_read(sys.stdin.buffer.read(_LARGEST + 1), "standard input"), "piped"))
            continue
        try:
            with file.open("rb") as opened:
                parts.append(Part(_read(opened.read(_LARGEST + 1), str(file)), "file", str(file)))
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    parts.append(Part(" ".join(question.words), "typed"))
    parts = [part for part in parts if part.text.strip()]
    if not parts:
        raise UsageError('nothing was asked: `agent ask "your question"`, or pipe some words in')
    return joined(parts)


def _read(raw: bytes, name: str) -> str:
    if len(raw) > _LARGEST:
        raise UsageError(f"{name} is larger than {_LARGEST // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{name} is no text")
    return raw.decode("utf-8", "replace").strip("\n")


def _stop_on_interrupt(cancel: Cancel) -> None:
    """The first Ctrl-C ends the answer in order; a second one does not wait."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=cancel).start()  # what the handler interrupts may hold the locks that this needs

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)


class _Undo(Exception):
    """Takes a dry run back."""


def _show_request(app: App, run: Run, question: Question, parts: Sequence[Part]) -> None:
    """Build the request in a transaction that is taken back."""
    chosen = run.chosen()
    agent = _agent(app, run, question)
    try:
        with app.db.write():
            session = chosen.id if chosen else sessions.start(app.db, app.scope, app.time(), "ask")
            here = app.here(app.db, session)
            loop.begin(here)
            log.say(app.db, session, app.scope, parts, app.time())
            shown, tools = loop.request(agent, here), loop.offered(agent, here)
            raise _Undo
    except _Undo:
        pass
    messages = [{"role": message.role, **_sent(message)} for message in shown.messages]
    output.put({"model": agent.model.name, "num_ctx": agent.num_ctx, "messages": messages, "tools": tools})


def _sent(message: Message) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"content": message.content, **({"calls": calls} if calls else {})}
