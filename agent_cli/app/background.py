"""Background jobs: their context, and the process that is left running for them."""

import sys
from contextlib import suppress

from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.llm.model import Cancel
from agent_cli.store import jobs
from agent_cli.store.db import Database

_CHARACTERS_A_TOKEN = 3  # of a transcript, a low estimate


def job_context(app: App, db: Database, cancel: Cancel) -> JobContext:
    """The context of jobs. `db`: the connection of the thread that runs them."""
    room = (app.config.num_ctx - 1024) * _CHARACTERS_A_TOKEN
    model, retention = lambda: models.cheap(app, db), app.config.retention if app.keeps else {}
    return JobContext(
        db, app.time, model, app.embedders, max(2000, room), cancel, app.close_after, app.may_learn, retention
    )


def start(app: App) -> None:
    """Start a process that runs the due jobs, like `git gc --auto`. -P: it imports nothing from the current folder."""
    if not app.keeps or not app.config.background_jobs or not jobs.any_due(app.db, app.time()):
        return
    import subprocess  # imported only when a job is due

    command = [sys.executable, "-P", "-m", "agent_cli", "--db", app.db.path, "-q", "jobs", "run", "--until-idle"]
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # no process available: the next run of the program starts one
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
