"""`agent jobs`: the queue of background work."""

import time
from contextlib import nullcontext
from datetime import datetime
from typing import Annotated, Any

import typer

from agent_cli import clock
from agent_cli.agent.jobs import worker
from agent_cli.app import background, upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Invocation, LimitOption, Noun
from agent_cli.llm.model import Cancel
from agent_cli.repl import reminders
from agent_cli.store import ids, jobs
from agent_cli.text import counted

app = typer.Typer(cls=Noun, add_completion=False, rich_markup_mode=None, help="See and run queued work.")
_PAUSE = 2.0  # seconds before an empty queue is read again
_SURVEY = 60.0  # seconds between surveys for work that is not queued yet: an idle session, a model server that is back


@app.command("list")
def list_(context: typer.Context, limit: LimitOption = 50, as_json: AsJson = False) -> None:
    """List jobs, those not done first."""
    app_ = context.obj.app()
    now = app_.time()
    rows = jobs.listing(app_.db, limit)
    if not as_json:
        rows = [{**row, **_displayed(row, now)} for row in rows]
    columns = ("id", "kind", "subject", "state", "attempts", "due_at", "error")
    output.listing(rows, columns, as_json=as_json, empty="there are no jobs")


def _displayed(row: dict[str, Any], now: datetime) -> dict[str, str]:
    """State and time of a job as they are shown: its local time, and "later" when it is not due yet."""
    later = row["state"] == "ready" and row["due_at"] > clock.utc(now)
    due = clock.local(row["due_at"], clock.offset(now))
    return {"state": "later" if later else row["state"], "due_at": f"{due:%Y-%m-%d %H:%M}"}


@app.command()
def run(
    context: typer.Context,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Exit when nothing is due or being run.")] = False,
    due: Annotated[bool, typer.Option("--due", hidden=True)] = False,  # exit when nothing is left to begin
) -> None:
    """Run what is due, then wait for more."""
    invocation: Invocation = context.obj
    app_ = invocation.app()
    seen = bool(app_.config.remind_command) or not invocation.quiet  # else a reminder would count as shown
    with reminders.shown_meanwhile(app_, invocation.note) if seen else nullcontext():
        done = _run(app_, until_idle=until_idle, due=due)
    invocation.note(f"{counted(done, 'job was', 'jobs were')} run")


def _run(app_: App, *, until_idle: bool, due: bool) -> int:
    """Run what is due, and go on unless only that is wanted; returns how many jobs were run.

    `until_idle`: go on while another process still runs a job.
    """
    cancel = Cancel()
    job_context = background.job_context(app_, app_.db, cancel)
    done, surveyed_again, surveyed = 0, False, float("-inf")
    while True:
        if time.monotonic() - surveyed >= _SURVEY:
            worker.queue_due(job_context)
            upkeep.queue_index(app_, app_.db)
            surveyed = time.monotonic()
        while worker.run_one(job_context):
            done += 1
        if until_idle and done and not surveyed_again:  # what the jobs have written calls for others, once
            surveyed_again, surveyed = True, float("-inf")
            continue
        if due or (until_idle and not jobs.are_running(app_.db, app_.time())):
            break
        time.sleep(_PAUSE)
    return done


@app.command()
def retry(context: typer.Context, handles: list[str]) -> None:
    """Run parked or waiting jobs next, with all their attempts again."""
    app_ = context.obj.app()
    for handle in handles:
        jobs.retry(app_.db, ids.number("job", handle), app_.time())
        output.say(f"{handle} will run next")
