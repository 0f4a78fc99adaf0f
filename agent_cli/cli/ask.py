"""`agent ask`: one question.

The answer alone goes to standard output and ends with exactly one newline; the rest goes to standard error.
"""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextlib import closing as closed_after
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agent_cli import clock
from agent_cli.agent import policy
from agent_cli.agent.transcript import Transcript
from agent_cli.app import background, models, turns, upkeep
from agent_cli.app.app import App
from agent_cli.cli import answer as answers
from agent_cli.cli import ask_options, call_approval, output, time_limit
from agent_cli.cli.ask_options import AnswerForm, AskOptions
from agent_cli.cli.invocation import Invocation
from agent_cli.errors import ModelUnavailable, StoreError, UsageError
from agent_cli.llm.model import Cancel, ChatModel
from agent_cli.llm.template_tokens import broken
from agent_cli.memory.conversations import sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.lifecycle import closing
from agent_cli.messages import Message, Part

app = typer.Typer(add_completion=False, rich_markup_mode=None)


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
    continue_: Annotated[
        bool,
        typer.Option("-c", "--continue", help="Continue what was last said in this terminal, else in the folder."),
    ] = False,
    session: Annotated[str | None, typer.Option("--session", help="Continue this session.")] = None,
    interactive: Annotated[
        bool, typer.Option("-i", "--interactive", help="Go on as a conversation at the keyboard.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
    stream_json: Annotated[
        bool, typer.Option("--stream-json", help="A line of JSON for each event: start, used, delta, …, end or error.")
    ] = False,
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Print the answer when it is whole.")] = False,
    extract: Annotated[
        bool, typer.Option("-x", "--extract", help="Print the last block of code alone; none: exit 1.")
    ] = False,
    why: Annotated[bool, typer.Option("--why", help="Then print on standard error what memory added.")] = False,
    render: Annotated[bool, typer.Option("--render", help="Style Markdown even where the output is a pipe.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="The text as the model wrote it.")] = False,
    color: Annotated[
        Literal["auto", "always", "never"] | None, typer.Option("--color", help="Whether to use colours.")
    ] = None,
    no_memory: Annotated[
        bool, typer.Option("--no-memory", help="Read nothing of memory; the run is still kept.")
    ] = False,
    no_save: Annotated[bool, typer.Option("--no-save", help="Answer with memory, and write nothing.")] = False,
    incognito: Annotated[
        bool, typer.Option("--incognito", help="Write nothing, and read nothing of memory unless --memory.")
    ] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Read memory in an incognito run.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.001, max=10_000_000, help="Seconds until it is given up (exit 7)."),
    ] = None,
    offline_ok: Annotated[
        bool, typer.Option("--offline-ok", help="Exit 0 also when no server answers and memory alone does (else 3).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the request, and send and keep nothing.")] = False,
) -> None:
    """Ask one question."""
    invocation: Invocation = context.obj
    if continue_ and session:
        raise UsageError("-c and --session exclude each other: continue the last session here, or a named one")
    if render and (plain or invocation.plain):
        raise UsageError("--render and --plain exclude each other")
    invocation.latest, invocation.resume = invocation.latest or continue_, session or invocation.resume
    invocation.interactive, invocation.plain, invocation.color = (
        invocation.interactive or interactive,
        invocation.plain or plain,
        color or invocation.color,
    )
    invocation.set_memory(memory, no_memory)
    invocation.incognito = invocation.incognito or incognito or no_save
    if no_save and not incognito and invocation.memory is None:
        invocation.memory = True
    invocation.check()
    form = _form({"json": as_json, "events": stream_json, "whole": no_stream, "code": extract})
    answer(invocation, AskOptions(words or [], file or [], system, form, timeout, dry_run, why, render, offline_ok))


def _form(given: dict[AnswerForm, bool]) -> AnswerForm:
    """The form that the options choose; --no-stream may be combined with each. Raises UsageError."""
    chosen = [form for form, wanted in given.items() if wanted and form != "whole"]
    if len(chosen) > 1:
        raise UsageError("--json, --stream-json and -x exclude each other")
    return chosen[0] if chosen else "whole" if given["whole"] else "stream"


def answer(invocation: Invocation, asked: AskOptions) -> None:
    """Ask, print the answer, and queue what follows a turn. Raises AgentError."""
    if invocation.interactive:
        _converse(invocation, asked)
        return
    parts = ask_options.parts(asked)
    app = invocation.app()
    if asked.dry_run:
        _show_request(app, invocation, asked, parts)
        return
    chosen = invocation.chosen_session()
    with _resumed(app, chosen, invocation) if chosen else _asked_once(app) as session:
        transcript = _turn(app, invocation, asked, parts, session)
    upkeep.after_turn(app, app.db)
    background.start(app)
    _remind(app, invocation, asked)
    if asked.form == "code":
        answers.print_code(transcript)
    if transcript.model == "offline" and app.config.model != "offline" and not asked.offline_ok:
        raise typer.Exit(ModelUnavailable.exit_code)  # after the answer from memory, and the notice that says so


def _asked_once(app: App) -> AbstractContextManager[int]:
    return turns.one_shot(app, app.db, "ask", terminal=app.terminal)


@contextmanager
def _resumed(app: App, chosen: Session, invocation: Invocation) -> Iterator[int]:
    """The number of a session that is reopened for one question, and then left as it was."""
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


def _remind(app: App, invocation: Invocation, asked: AskOptions) -> None:
    """Print a line of the reminders that are due, where a person reads it."""
    if not app.keeps or invocation.quiet or invocation.child or asked.form in ("json", "events"):
        return
    from agent_cli.repl.session import reminders  # loaded after the answer, which it must not delay

    with suppress(StoreError):  # the next run prints it
        if line := reminders.due_line(app):
            invocation.note(line)


def _converse(invocation: Invocation, asked: AskOptions) -> None:
    """Start a conversation with the question, if there is one, and go on at the keyboard."""
    if asked.form != "stream" or asked.system or asked.timeout or asked.dry_run or asked.why:
        raise UsageError("-i goes on as a conversation: leave out what is about one answer, as --json or --timeout")
    if not sys.stdout.isatty():
        raise UsageError("-i goes on as a conversation, and the output is not a terminal; ask without -i")
    parts = ask_options.optional_parts(asked)
    ask_options.take_keyboard()
    from agent_cli.cli import conversation  # most questions need none

    # A program may have composed these words, so none of them count as typed by the person.
    first = [replace(part, origin="piped") for part in parts]
    conversation.run(invocation, invocation.chosen_session(), first)


def _turn(app: App, invocation: Invocation, asked: AskOptions, parts: Sequence[Part], session: int) -> Transcript:
    cancel = Cancel()
    _stop_on_interrupt(cancel)
    too_late = f"no whole answer within {asked.timeout or 0:g} s; what arrived is kept (--timeout)"
    with time_limit.limited(cancel, asked.timeout, too_late):
        tool_context = turns.tool_context(app, app.db, session)
        # Closed at once when the reader has gone, so that what arrived is kept as cut off.
        turn = turns.run(
            app,
            tool_context,
            parts,
            choose=lambda: (_model(app, invocation), ""),
            approve=call_approval.approver(invocation, asked, cancel),
            instructions=asked.system,
            cancel=cancel,
        )
        with closed_after(turn) as events:
            return answers.print_turn(events, invocation, asked, tool_context)


def _model(app: App, invocation: Invocation) -> ChatModel:
    """The model that answers; a notice about it is printed where the person should know."""
    model, notice = models.chat(app, app.db)
    if notice and (model.name == "offline" or invocation.verbose):
        invocation.note(notice)
    return model


def _stop_on_interrupt(cancel: Cancel) -> None:
    """The first Ctrl-C ends the answer in order; a second one does not wait."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=cancel).start()  # what the handler interrupts may hold the locks that this needs

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)


def _show_request(app: App, invocation: Invocation, asked: AskOptions, parts: Sequence[Part]) -> None:
    """Print the request."""
    chosen = invocation.chosen_session()
    agent = turns.agent(app, _model(app, invocation), policy.no_approver, instructions=asked.system)
    shown = turns.preview(app, app.db, agent, chosen.id if chosen else None, parts, "ask")
    messages = [{"role": message.role, **_sent(message)} for message in shown.messages]
    output.put_json({"model": agent.model.name, "num_ctx": agent.num_ctx, "messages": messages, "tools": shown.tools})


def _sent(message: Message) -> dict[str, Any]:
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    return {"content": broken(message.content), **({"calls": calls} if calls else {})}
