"""Background jobs: their context, and the process that is left running for them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from agent_cli import text
from agent_cli.agent import loop, policy
from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.app import engines, models, turns
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.llm import ollama, repair
from agent_cli.llm.model import Cancel, Text
from agent_cli.memory.conversations import log, sessions
from agent_cli.messages import Message
from agent_cli.store import jobs
from agent_cli.store.db import Database

_CHARACTERS_A_TOKEN = 3  # of a transcript, a low estimate
_LOW_PRIORITY = (("nice", "-n", "10"), ("ionice", "-c", "3", "-t"))  # of processor and disk, where these commands are


def job_context(app: App, db: Database, cancel: Cancel) -> JobContext:
    """The context of jobs. `db`: the connection of the thread that runs them."""
    room = (app.config.num_ctx - 1024) * _CHARACTERS_A_TOKEN
    retention, shares = app.config.retention if app.keeps else {}, app.config.cheap_model in ("", app.config.model)
    engine = engines.of(app.config)
    return JobContext(
        db,
        app.time,
        lambda: models.cheap(app, db),
        app.embedders,
        max(2000, room),
        cancel,
        app.close_after,
        app.may_learn,
        retention,
        lambda session, cancel: _ask_after(app, db, session, cancel) if shares else None,
        lambda: shares and not (engine.name == "ollama" and ollama.keeps_prompts(engine.url)),
    )


def _ask_after(app: App, db: Database, session: int, cancel: Cancel) -> Callable[[str, bool], Iterator[str]] | None:
    """How the model is asked something behind the messages of a session (see job_context.AskAfter).

    None where no model answers, for a session whose requests this app would begin otherwise, and while a tool call has
    no result: no template accepts another message before it.
    """
    model = models.cheap(app, db)
    try:
        begun = sessions.get(db, session, app.scope.owner).opening is not None
    except UsageError:  # a caller's
        return None
    if model is None or not begun or log.calls_without_result(db, session):
        return None

    def ask(instruction: str, may_think: bool) -> Iterator[str]:
        agent, context = turns.agent(app, model, policy.no_approver), turns.tool_context(app, db, session)
        extra = Message("user", after=text.fenced(text.unfenced(instruction)))
        request = loop.build_request(agent, context, extra, folds=False)
        think = agent.think if may_think else False
        for chunk in repair.without_repetition(
            model.reply(request.messages, request.tools, think=think, cancel=cancel)
        ):
            if isinstance(chunk, Text):
                yield chunk.text

    return ask


def start(app: App) -> None:
    """Start a process of low priority that runs the due jobs, like `git gc --auto`.

    -P: it imports nothing from the current folder.
    """
    if not app.keeps or not app.config.background_jobs or not jobs.any_due(app.db, app.time()):
        return
    import shutil  # imported only when a job is due
    import subprocess

    lowered = [word for name, *options in _LOW_PRIORITY if shutil.which(name) for word in (name, *options)]
    python = [*lowered, sys.executable, "-P"]
    command = [*python, "-m", "agent_cli", "--db", app.db.path, "-q", "jobs", "run", "--due"]
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # no process available: the next run of the program starts one
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
