"""`agent log`, `agent stats` and `agent jobs`: what has happened, what the answers took, and the background work."""

import re
import time
from datetime import datetime, timedelta
from typing import Any, Literal

from agent_cli import clock, text
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation, parse_moment
from agent_cli.cli.options import AsJson, Limit, flag, group, noun, option
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.reports import records
from agent_cli.store import events, ids, jobs

app = group()

_DEFAULT_LIMIT = 50  # rows, without --since and --limit
_ALL = 1 << 60
_AGE = re.compile(r"(\d{1,4}) ?(min|h|d|w)")
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ARGUMENTS_WIDTH = 100  # characters shown


@app.command()
def log(
    invocation: Invocation,
    kind: list[str] | None = option("--kind", "Only kinds that begin so, as in call; may be given again."),
    since: str | None = option("--since", "A day or a time, or how long ago: 30min, 2h, 3d, 1w."),
    limit: int | None = option("--limit", "Show at most this many.", min=1),
    calls: bool = flag("--calls", "What the tools were asked to do, and what came of it."),
    as_json: bool = flag("--json", "One JSON object on each line."),
) -> None:
    """Show what has happened, newest last: what was allowed, written, decided, forgotten."""
    if calls and kind:
        raise UsageError("--kind is about events, and --calls shows none: leave one of them out")
    app_: App = invocation.app()
    begins = _since(since, app_.time()) if since else None
    limit = limit or (_ALL if since else _DEFAULT_LIMIT)
    if calls:
        rows = records.tool_calls(app_.db, app_.scope.owner, limit, begins)
    else:
        rows = events.listing(app_.db, limit, kind or [], begins)
    for row in rows:
        session = ids.handle("session", row["session"]) if row["session"] else ""
        if as_json:
            shown = {name: value for name, value in row.items() if name != "utc_offset"}
            output.put_json_line({**shown, "session": session or None})
        else:
            output.say(_call_line(row, session) if calls else events.format_line(row))
    if rows:
        return
    known = events.kinds(app_.db)
    for each in kind or ():
        if known and not any(name.startswith(each) for name in known):
            invocation.note(f"there is no event of a kind that begins with {each!r}; there are {', '.join(known)}")
    if not as_json:
        output.note_empty("there are no such events" if kind or since or calls else "there are no events")


def _call_line(row: dict[str, Any], session: str) -> str:
    arguments = "" if row["arguments"] == "{}" else text.one_line(row["arguments"], _ARGUMENTS_WIDTH)
    when = f"{clock.local(row['at'], row['utc_offset']):%Y-%m-%d %H:%M:%S}"
    head = f"{row['result'] or '-':<7}  {when}  {session:<6} {row['tool']:<14} {row['outcome']:<9} "
    return f"{head}{arguments}".rstrip()


def _since(typed: str, now: datetime) -> datetime | None:
    age = _AGE.fullmatch(typed.strip())
    try:
        if age is None:
            return parse_moment(typed, now)
        return max(now - timedelta(**{_UNITS[age[2]]: int(age[1])}), datetime(1970, 1, 2, tzinfo=now.tzinfo))
    except UsageError as error:
        raise UsageError(f"{typed!r} is not a time: write it like 2026-11-20, 2h or 3d") from error


stats_app = group()


@stats_app.command()
def stats(
    app_: App,
    per: Literal["day", "model", "session", "turn"] = option("--per", "What to count by.", "day"),
    days: bool = flag("--signals", "Only what is due, and what the tools did."),
    limit: Limit = 30,
    as_json: AsJson = False,
) -> None:
    """Count tokens, time and cost of the answers, by day, model, session or turn; say what is due."""
    owner, now = app_.scope.owner, app_.time()
    if not days:
        rows = records.token_usage(app_.db, owner, per, limit)
        if as_json:
            output.put_json(rows)
            return
        if not rows:
            output.note_empty("there are no answers to count")
        elif display := output.look():
            from agent_cli.repl import pages  # a pipe needs none of it

            print(pages.stats_page(rows, display))
        else:  # with its headings in a pipe too
            columns = [name for name in rows[0] if name != "cost"] + ["cost"] * any(row["cost"] for row in rows)
            output.table([{name: name.replace("_", " ") for name in columns}, *rows], columns)
    found = records.signals(app_.db, owner, now, now - records.PERIOD)
    if as_json:
        output.put_json(found)
    else:
        lines = records.format_signals(found)
        output.lines(["", *lines] if lines and not days else lines)


jobs_app = noun("See and run queued work.")

_QUEUE_PAUSE = 2.0  # seconds before an empty queue is read again
_WORDS = {"learn": "facts", "reflect": "skills", "fold": "summary", "grain": "summary", "mend": "index"}  # of kinds
_SURVEY = 60.0  # seconds between surveys for work that is not queued yet: an idle session, a model server that is back


@jobs_app.command("list")
def list_jobs(app_: App, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List jobs, those not done first."""
    now = app_.time()

    def row(job: dict[str, Any]) -> list[Any]:
        later = job["state"] == "ready" and job["due_at"] > clock.utc(now)
        due = f"{clock.local(job['due_at'], clock.offset(now)):%Y-%m-%d %H:%M}"
        what, state = _WORDS.get(job["kind"], job["kind"]), "later" if later else job["state"]
        return [job["id"], what, job["subject"], state, job["attempts"], due, job["error"]]

    columns = "id kind subject state attempts due_at error"
    output.listing(jobs.listing(app_.db, limit), as_json, dict, columns, row, "there are no jobs")


@jobs_app.command("run")
def run_jobs(
    invocation: Invocation,
    until_idle: bool = flag("--until-idle", "Exit when nothing is due or being run."),
    due: bool = flag("--due", "", hidden=True),  # exit when nothing is left to begin
) -> None:
    """Run what is due, then wait for more."""
    from agent_cli.agent.jobs import worker  # what works, needed for this alone
    from agent_cli.app import background, upkeep
    from agent_cli.llm.model import Cancel
    from agent_cli.repl import reminders

    app_ = invocation.app()
    job_context = background.job_context(app_, app_.db, Cancel())
    done, surveyed_again, surveyed = 0, False, float("-inf")
    with reminders.shown_meanwhile(app_, invocation.note, quiet=invocation.quiet):
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
            now = app_.time()  # not idle while another process runs a job, or a person waits for the model there
            if due or (until_idle and not (jobs.are_running(app_.db, now) or sessions.awaits_model(app_.db, now))):
                break
            time.sleep(_QUEUE_PAUSE)
    invocation.note(f"{text.counted(done, 'job was', 'jobs were')} run")


@jobs_app.command()
def retry(app_: App, handles: list[str]) -> None:
    """Run parked or waiting jobs next, with all their attempts again."""
    for handle in handles:
        jobs.retry(app_.db, ids.number("job", handle), app_.time())
        output.say(f"{handle} will run next")
