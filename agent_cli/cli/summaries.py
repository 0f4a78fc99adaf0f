"""`agent summaries` and `agent retention`: what remains of conversations, days, weeks and longer, and for how long."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Annotated, Any

from typer import Argument, Context

from agent_cli import clock, text
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import AsJson, Limit, PeriodUnit, argument, flag, group, noun, option
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.lifecycle import retention
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.store import events, ids

app = noun("Show and rebuild the summaries of conversations, days, weeks, months, quarters and years.")

SummaryName = Annotated[
    str, Argument(metavar="PERIOD|HANDLE", help="2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026, today, week, y4, s3.")
]


@app.command("list")
def list_(
    app_: App,
    unit: PeriodUnit | None = option("--grain", "Only those of this length."),
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List summaries, the latest first."""

    def row(each: summaries.Summary) -> tuple[str, ...]:
        marks = f"{'extracted ' if each.method == summaries.EXTRACT else ''}{'pinned' if each.pinned else ''}".strip()
        return each.handle, _subject(each), _day(each), text.one_line(each.text, 70), marks

    found = summaries.newest(app_.db, app_.scope.owner, limit, unit)
    empty = "there are no such summaries" if unit else "there are no summaries; a session gets one when it is closed"
    output.listing(found, as_json, _described, "id of day words marks", row, empty)


@app.command()
def show(
    app_: App,
    name: SummaryName,
    sources: bool = flag("--sources", "What each sentence comes from."),
    as_json: AsJson = False,
) -> None:
    """Show a summary whole, how it was made, and from what."""
    summary = _summary(app_, name)
    found = {n: [each.handle for each in rows] for n, rows in summaries.sources(app_.db, summary.id).items()}
    of_all = found.get(0, [])
    numbered = enumerate(text.sentences(summary.text), 1)
    sentences = [{"text": sentence, "sources": found.get(n, [])} for n, sentence in numbered]
    if as_json:
        output.put_json({**_described(summary), "sentences": sentences, "sources": of_all})
        return
    made = f"{clock.local(summary.at, summary.utc_offset):%d %B %Y, %H:%M}"
    if summary.method == summaries.EXTRACT:
        how = f"extracted {made}: no model answered, it is made again when one does"
    else:
        how = f"by {summary.model or 'a model'}, {made}{', pinned' if summary.pinned else ''}"
    output.say(f"{_subject(summary)} ({summary.handle}), {how}\n")
    if sources:
        output.lines(f"{each['text']}  [{' '.join(each['sources']) or 'unknown'}]" for each in sentences)
        output.say(f"\nmade from: {' '.join(of_all) or 'what was said'}")
    else:
        output.say(summary.text)
    if summary.details:
        output.say(f"\nverbatim: {summary.details}")


@app.command()
def rebuild(
    invocation: Invocation,
    names: list[str] | None = argument("As in 2026-W47, today, month, y4.", None, metavar="[PERIOD]..."),
    every: bool = flag("--all", "Every ended period in which something was said."),
) -> None:
    """Make summaries again, now.

    Missing summaries that they are made from come first; those made from them follow.
    """
    from agent_cli.agent.jobs import summariser  # what asks models, needed for this alone
    from agent_cli.app import background
    from agent_cli.llm.model import Cancel

    app_ = invocation.app()
    if bool(names) == every:
        raise UsageError("name periods, as in `agent summaries rebuild 2026-W47`, or say --all")
    requested = _all_periods(app_) if every else [_period(app_, each) for each in names or ()]
    job_context = background.job_context(app_, app_.db, Cancel())
    if summariser.summariser(job_context)[0] is None:
        output.note("no model answers: sentences are extracted, and summarised when one does")
    count = 0
    try:
        for period in _with_related(app_, requested):
            if "".join(summariser.write_period(job_context, app_.scope.owner, period, force=period in requested)):
                count += 1
                invocation.note(f"{period.key} is made")
            elif period in requested and not every:
                output.note(f"nothing is left to make {period.key} from")
    finally:
        output.say(f"made {text.counted(count, 'summary', 'summaries')}")


def _summary(app_: App, name: str) -> summaries.Summary:
    """The summary named by its period, its handle or the handle of its session. Raises UsageError."""
    word, owner = name.strip().lower(), app_.scope.owner
    if re.fullmatch(r"y\d+", word):
        return summaries.get(app_.db, ids.number("summary", word), owner)
    if re.fullmatch(r"s\d+", word):
        if summary := summaries.of_session(app_.db, sessions.get(app_.db, ids.number("session", word), owner).id):
            return summary
        raise UsageError(f"{word} has no summary yet; `agent sessions close {word}` writes it")
    period = periods.from_words(name, app_.time())
    if summary := summaries.of_period(app_.db, owner, period.key):
        return summary
    if not period_summaries.active_days(app_.db, owner, period.first, period.end):
        raise UsageError(f"nothing is kept of {period.key}")
    raise UsageError(f"there is no summary of {period.key} yet; `agent summaries rebuild {period.key}` makes it now")


def _period(app_: App, name: str) -> periods.Period:
    """The period named by its words or by the handle of its summary. Raises UsageError."""
    if not re.fullmatch(r"[ys]\d+", name.strip().lower()):
        return periods.from_words(name, app_.time())
    if key := _summary(app_, name).period:
        return periods.parse(key)
    raise UsageError("the summary of a session is written when it is closed: `agent sessions close s4`")


def _with_related(app_: App, requested: list[periods.Period]) -> list[periods.Period]:
    """The shorter periods they are made from, themselves, and the longer ones that have ended or have a summary."""
    owner, now = app_.scope.owner, app_.time()
    below = {each for period in requested for each in period_summaries.parts_with_messages(app_.db, owner, period)}
    above = {each for period in requested for each in periods.with_all(periods.enclosing, period)}
    return periods.in_order(
        below | {each for each in above if each.has_ended(now) or summaries.of_period(app_.db, owner, each.key)}
    )


def _all_periods(app_: App) -> list[periods.Period]:
    now = app_.time()
    days = period_summaries.active_days(app_.db, app_.scope.owner, date(1970, 1, 3), now.date() + timedelta(days=1))
    found = {periods.containing(day, "day") for day in days}
    found |= {each for day in found for each in periods.with_all(periods.enclosing, day)}
    return periods.in_order(each for each in found if each.has_ended(now))


def _subject(summary: summaries.Summary) -> str:
    return summary.period or ids.handle("session", summary.session or 0)


def _day(summary: summaries.Summary) -> str:
    return f"{clock.local(summary.started_at, summary.utc_offset):%Y-%m-%d}"


def _described(summary: summaries.Summary) -> dict[str, Any]:
    session = ids.handle("session", summary.session) if summary.session else None
    first = {"id": summary.handle, "grain": summary.unit, "period": summary.period or None, "session": session}
    words = {name: getattr(summary, name) for name in ("text", "details", "method", "model")}
    return {**first, "day": _day(summary), **words, "made_at": summary.at, "pinned": bool(summary.pinned)}


retention_app = group(
    "Show and remove what is old and summarised; pin what stays. Once `agent config set retention.preset short`"
    " has switched it on, it is removed automatically."
)

_LEVELS = {  # one and many of each
    retention.WORKING: ("message", "messages"),
    retention.SESSION: ("summary of a session", "summaries of sessions"),
    **{unit: (unit, f"{unit}s") for unit in ("day", "week", "month", "quarter", "year")},
}
_BATCH_PAUSE = 0.005  # seconds between batches, so that other processes can write
_OFF = """off: nothing is removed, however old it is
agent config set retention.preset short    48 hours, 30 days, 6 weeks, 6 months, 4 quarters, 2 years
agent config set retention.preset medium   120 hours, 60 days, 12 weeks, 12 months, 8 quarters, 4 years
agent config set retention.preset long     240 hours, 120 days, 24 weeks, 24 months, 16 quarters, 8 years
agent config set retention.week keep       another limit for one length than the preset has
agent config set retention '{}'            off again
once on, what is old and part of the next longer summary goes by itself, without a question"""
_NOT_OLD = "nothing is old enough to be removed"

PinnableHandles = Annotated[list[str], Argument(metavar="ID…", help="Sessions and summaries, as in s4, y7.")]


@retention_app.callback(invoke_without_command=True)
def overview(
    context: Context, dry_run: bool = flag("--dry-run", "List what would be removed now."), as_json: AsJson = False
) -> None:
    """Show how long each kind is kept, how much there is, what would go now, and what keeps the rest."""
    if context.invoked_subcommand is not None:
        return
    app_: App = context.obj.app()
    limits = retention.policy(app_.config.retention)
    items = retention.plan(app_.db, limits, app_.time())
    going = [each for each in items if not each.kept_because]
    if as_json:
        shown = [{"id": each.handle, "grain": each.level, "period": each.period, "count": each.count} for each in going]
        levels = _levels(app_, limits, items)
        output.put_json({"on": bool(limits), "grains": levels, "goes": shown})
    elif not limits:
        output.say(_OFF)
    else:
        output.listing(_levels(app_, limits, items), False, dict, "grain limit holds goes kept", _row, "")
        if any(each.kept_because == retention.NOT_SUMMARISED for each in items):
            context.obj.note("not summarised: a summary or a job still has to read it; see `agent jobs list`")
        if dry_run:
            output.say()
            output.listing(going, False, str, "id period what", _going, _NOT_OLD)


@retention_app.command(decides=True)
def apply(app_: App, yes: bool = flag("--yes", "Do not ask: you have seen what will be removed.")) -> None:
    """Remove now what would go. Without `--yes` it asks first."""
    limits = retention.policy(app_.config.retention)
    if not limits:
        raise UsageError("retention is off; `agent retention` says how to switch it on")
    going = [each for each in retention.plan(app_.db, limits, app_.time()) if not each.kept_because]
    if not going:
        output.note(_NOT_OLD)
        return
    if not yes:
        what = f"to be removed: {_format_counts(_counts(going))}"
        consent.confirm(f"{what}\nremove it for good?", "nothing was removed")
    removed: Counter[str] = Counter()
    for level, count in retention.run(app_.db, limits, app_.time):
        removed[level] += count
        time.sleep(_BATCH_PAUSE)
    output.say(f"removed: {_format_counts(removed)}")


def _pin(pinned: bool, app_: App, handles: PinnableHandles) -> None:
    done = "pinned" if pinned else "unpinned"
    for kind, id in [_pinnable(app_, handle) for handle in handles]:
        handle = ids.handle(kind, id)
        with app_.db.write():
            if kind == "session":
                sessions.change(app_.db, id, pinned=pinned)
            else:
                summaries.pin(app_.db, id, pinned)
            events.append(app_.db, app_.time, f"{kind} {done}", handle, actor="person")
        output.say(f"{done} {handle}")


_KEEP = "Keep sessions with their messages, and summaries, for good."
retention_app.command("pin", help=_KEEP, decides=True)(partial(_pin, True))
_AGAIN = "Make sessions and summaries subject to retention again."
retention_app.command("unpin", help=_AGAIN, decides=True)(partial(_pin, False))


def _pinnable(app_: App, handle: str) -> tuple[str, int]:
    """The kind and number of a handle. Raises UsageError when it names nothing that can be pinned."""
    owner, named = app_.scope.owner, handle.strip().lower()
    if named.startswith("s"):
        return "session", sessions.get(app_.db, ids.number("session", handle), owner).id
    if not named.startswith("y"):
        raise UsageError(f"{handle!r} is not a handle of a session or a summary: write it like s4 or y7")
    return "summary", summaries.get(app_.db, ids.number("summary", handle), owner).id


def _counts(items: Iterable[retention.RetentionCandidate]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for each in items:
        counted[each.level] += each.count
    return counted


def _format_counts(counts: Counter[str]) -> str:
    parts = [f"{counts[level]} {names[counts[level] > 1]}" for level, names in _LEVELS.items() if counts[level]]
    return ", ".join(parts) or "nothing"


def _going(each: retention.RetentionCandidate) -> tuple[str, ...]:
    return each.handle, each.period, _format_counts(_counts([each]))


def _levels(app_: App, limits: retention.Policy, items: Sequence[retention.RetentionCandidate]) -> list[dict[str, Any]]:
    """For each level its limit, how much there is, how much would go, and how much is kept for which reason."""
    totals = retention.stored_counts(app_.db)
    reasons = ("", retention.NOT_SUMMARISED, retention.PINNED, retention.OPEN, retention.HAS_SOURCES)
    counts = {why: _counts(each for each in items if each.kept_because == why) for why in reasons}
    return [
        {
            "grain": level,
            "limit": str(limit) if (limit := retention.limit_of(limits, level)) else None,
            "holds": totals[level],
            "goes": counts[""][level],
            "kept": {why: counts[why][level] for why in reasons[1:] if counts[why][level]},
        }
        for level in _LEVELS
    ]


def _row(level: dict[str, Any]) -> tuple[str, ...]:
    reasons = ", ".join(f"{count} {why}" for why, count in level["kept"].items())
    amounts = (f"{level['holds']} there", f"{level['goes']} would go", f"old but kept: {reasons}" if reasons else "")
    return (_LEVELS[level["grain"]][1], level["limit"] or "kept", *amounts)
