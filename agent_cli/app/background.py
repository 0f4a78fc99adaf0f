"""Work that may wait: what its jobs work with, and a process that is left behind to run them."""

import sys
from contextlib import suppress

from agent_cli.agent.jobs.job_context import JobContext
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.llm.model import Cancel
from agent_cli.store import jobs
from agent_cli.store.db import Database

_CHARACTERS_A_TOKEN = 3  # of a transcript, on the safe side


def job_context(app: App, db: Database, cancel: Cancel) -> JobContext:
    """What a job works with; `db`: the connection of the thread that runs it."""
    room = (app.config.num_ctx - 1024) * _CHARACTERS_A_TOKEN
    model, retention = lambda: models.cheap(app, db), app.config.retention if app.keeps else {}
    return JobContext(db, app.time, model, app.embedders, max(2000, room), cancel, app.close_after, app.may_learn, retention)


def start(app: App) -> None:
    """Leave a process behind that runs what is queued and due, like `git gc --auto`; -P: no module of this folder."""
    if not app.keeps or not app.config.background_jobs or not jobs.any_due(app.db, app.time()):
        return
    import subprocess  # only where something is queued

    command = [sys.executable, "-P", "-m", "agent_cli", "--db", app.db.path, "-q", "jobs", "run", "--until-idle"]
    nowhere = subprocess.DEVNULL
    with suppress(OSError):  # no process to be had: the next run of the program does it
        subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
