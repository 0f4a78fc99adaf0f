"""`agent retention`: what is removed when it is old, what keeps the rest, and what is pinned."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import AsJson, Decision
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.lifecycle import retention
from agent_cli.memory.lifecycle.retention import (
    HAS_SOURCES,
    NOT_SUMMARISED,
    OPEN,
    PINNED,
    SESSION,
    WORKING,
    Policy,
    RetentionCandidate,
)
from agent_cli.memory.summaries import summaries
from agent_cli.store import events, ids

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Show and remove what is old and summarised; pin what stays. Once `agent config set retention.preset short`"
    " has switched it on, it is removed automatically.",
)

_PLURALS = {
    WORKING: "messages",
    SESSION: "summaries of sessions",
    "day": "days",
    "week": "weeks",
    "month": "months",
    "quarter": "quarters",
    "year": "years",
}
_SINGULARS = {WORKING: "message", SESSION: "summary of a session"}
_LISTED = 20  # lines for each level
_BATCH_PAUSE = 0.005  # seconds between batches, so that other processes can write
_LISTED_JSON = 500  # rows
_OFF = """off: nothing is removed, however old it is
agent config set retention.preset short    48 hours, 30 days, 6 weeks, 6 months, 4 quarters, 2 years
agent config set retention.preset medium   120 hours, 60 days, 12 weeks, 12 months, 8 quarters, 4 years
agent config set retention.preset long     240 hours, 120 days, 24 weeks, 24 months, 16 quarters, 8 years
agent config set retention.week keep       another limit for one length than the preset has
agent config set retention '{}'            off again
once on, what is old and part of the next longer summary goes by itself, without a question"""

PinnableHandles = Annotated[list[str], typer.Argument(metavar="ID…", help="Sessions and summaries, as in s4, y7.")]


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed now.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how long each kind is kept, how much there is, what would go now, and what keeps the rest."""
    if context.invoked_subcommand is not None:
        return
    app_: App = context.obj.app()
    limits = retention.policy(app_.config.retention)
    items = retention.plan(app_.db, limits, app_.time())
    if as_json:
        output.put_json(_described(app_, limits, items))
    elif not limits:
        output.say(_OFF)
    else:
        output.listing(
            _table_rows(app_, limits, items), ("grain", "limit", "holds", "goes", "kept"), as_json=False, empty=""
        )
        if any(each.kept_because == NOT_SUMMARISED for each in items):
            context.obj.note("not summarised: a summary or a job still has to read it; see `agent jobs list`")
        if dry_run:
            _list(items)


@app.command(cls=Decision)
def apply(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: you have seen what will be removed.")] = False,
) -> None:
    """Remove now what would go. Without `--yes` it asks first."""
    app_: App = context.obj.app()
    limits = retention.policy(app_.config.retention)
    if not limits:
        raise UsageError("retention is off; `agent retention` says how to switch it on")
    going = [each for each in retention.plan(app_.db, limits, app_.time()) if not each.kept_because]
    if not going:
        output.note("nothing is old enough to be removed")
        return
    if not yes:
        _confirm(going)
    removed: Counter[str] = Counter()
    for level, count in retention.run(app_.db, limits, app_.time):
        removed[level] += count
        time.sleep(_BATCH_PAUSE)
    output.say(f"removed: {_format_counts(removed)}")


@app.command(cls=Decision)
def pin(context: typer.Context, handles: PinnableHandles) -> None:
    """Keep sessions with their messages, and summaries, for good."""
    _pin(context, handles, True)


@app.command(cls=Decision)
def unpin(context: typer.Context, handles: PinnableHandles) -> None:
    """Make sessions and summaries subject to retention again."""
    _pin(context, handles, False)


def _pin(context: typer.Context, handles: Sequence[str], pinned: bool) -> None:
    app_: App = context.obj.app()
    for kind, id in [_kind_and_number(app_, handle) for handle in handles]:
        with app_.db.write():
            if kind == "session":
                sessions.change(app_.db, id, pinned=pinned)
            else:
                summaries.pin(app_.db, id, pinned)
            handle, done = ids.handle(kind, id), "pinned" if pinned else "unpinned"
            events.append(app_.db, app_.time, f"{kind} {done}", handle, actor="person")
        output.say(f"{done} {handle}")


def _kind_and_number(app_: App, handle: str) -> tuple[str, int]:
    """The kind and number of a handle. Raises UsageError when it names nothing that can be pinned."""
    owner = app_.scope.owner
    match handle.strip().lower()[:1]:
        case "s":
            return "session", sessions.get(app_.db, ids.number("session", handle), owner).id
        case "y":
            found = summaries.get(app_.db, ids.number("summary", handle), owner)
            if found is None:
                raise UsageError(f"there is no summary {handle.strip().lower()}; `agent search` finds what there is")
            return "summary", found.id
    raise UsageError(f"{handle!r} is not a handle of a session or a summary: write it like s4 or y7")


def _confirm(going: Sequence[RetentionCandidate]) -> None:
    """Show what will be removed, and ask for a yes. Raises AgentError without one."""
    if not consent.is_possible():
        raise UsageError("nothing was removed: look at it with --dry-run, then say --yes, or run it at a terminal")
    output.say(f"to be removed: {_format_counts(_counts(going))}")
    if consent.answer("remove it for good? type yes: ") != "yes":
        raise AgentError("nothing was removed")


def _counts(items: Sequence[RetentionCandidate]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for each in items:
        counted[each.level] += each.count
    return counted


def _format_counts(counts: Counter[str]) -> str:
    parts = [
        f"{counts[level]} {name if counts[level] > 1 else _SINGULARS.get(level, level)}"
        for level, name in _PLURALS.items()
        if counts[level]
    ]
    return ", ".join(parts) or "nothing"


def _table_rows(app_: App, limits: Policy, items: Sequence[RetentionCandidate]) -> list[dict[str, Any]]:
    rows = []
    for each in _levels(app_, limits, items):
        reasons = ", ".join(f"{count} {why}" for why, count in each["kept"].items())
        rows.append(
            {
                "grain": _PLURALS[each["grain"]],
                "limit": each["limit"] or "kept",
                "holds": f"{each['holds']} there",
                "goes": f"{each['goes']} would go",
                "kept": f"old but kept: {reasons}" if reasons else "",
            }
        )
    return rows


def _levels(app_: App, limits: Policy, items: Sequence[RetentionCandidate]) -> list[dict[str, Any]]:
    """For each level its limit, how much there is, how much would go, and how much is kept for which reason."""
    totals = retention.stored_counts(app_.db)
    rows = []
    for level in _PLURALS:
        of_level = [each for each in items if each.level == level]
        limit = retention.limit_of(limits, level)
        reasons = {
            why: _counts([each for each in of_level if each.kept_because == why])[level]
            for why in (NOT_SUMMARISED, PINNED, OPEN, HAS_SOURCES)
        }
        goes = _counts([each for each in of_level if not each.kept_because])[level]
        rows.append(
            {
                "grain": level,
                "limit": str(limit) if limit else None,
                "holds": totals[level],
                "goes": goes,
                "kept": {why: count for why, count in reasons.items() if count},
            }
        )
    return rows


def _described(app_: App, limits: Policy, items: Sequence[RetentionCandidate]) -> dict[str, Any]:
    going = [each for each in items if not each.kept_because]
    shown = going[:_LISTED_JSON]
    return {
        "on": bool(limits),
        "grains": _levels(app_, limits, items),
        "goes": [
            {"id": each.handle, "grain": each.level, "period": each.period, "count": each.count} for each in shown
        ],
        "more": len(going) - len(shown),
    }


def _list(items: Sequence[RetentionCandidate]) -> None:
    going = [each for each in items if not each.kept_because]
    output.say()
    for level in _PLURALS:
        of_level = [each for each in going if each.level == level]
        for each in of_level[:_LISTED]:
            output.say(f"{each.handle:<6} {each.period:<10}  {_format_counts(_counts([each]))}")
        if len(of_level) > _LISTED:
            output.say(f"       and {len(of_level) - _LISTED} more such (--json lists more)")
    if not going:
        output.note("nothing is old enough to be removed")
