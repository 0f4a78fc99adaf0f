"""`agent summaries`: the summaries of conversations, days, weeks, months, quarters and years."""

import re
from datetime import date, timedelta
from typing import Annotated, Any

import typer

from agent_cli import clock, text
from agent_cli.agent.jobs import summariser
from agent_cli.app import background
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import AsJson, Invocation, LimitOption, Noun, PeriodUnit
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.summaries.summaries import EXTRACT, Summary
from agent_cli.store import events, ids

app = typer.Typer(
    cls=Noun,
    add_completion=False,
    rich_markup_mode=None,
    help="Show and rebuild the summaries of conversations, days, weeks, months, quarters and years.",
)

SummaryName = Annotated[
    str,
    typer.Argument(metavar="PERIOD|HANDLE", help="2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026, today, week, y4, s3."),
]


SummaryNames = Annotated[
    list[str], typer.Argument(metavar="{PERIOD|HANDLE}...", help="Which, as in 2026-11-20, 2026-W47, y4, s3.")
]
_SESSION_REFUSED = "the summary of a session is written when it is closed: `agent sessions close s4`"


@app.command("list")
def list_(
    context: typer.Context,
    unit: Annotated[PeriodUnit | None, typer.Option("--grain", help="Only those of this length.")] = None,
    limit: LimitOption = 20,
    as_json: AsJson = False,
) -> None:
    """List summaries, the latest first."""
    app_: App = context.obj.app()
    found = summaries.newest(app_.db, app_.scope.owner, limit, unit)
    if as_json:
        output.put_json([_described(each) for each in found])
        return
    rows = [
        {
            "id": each.handle,
            "of": _subject(each),
            "day": _day(each),
            "words": text.one_line(each.text, 70),
            "marks": " ".join(_marks(each)),
        }
        for each in found
    ]
    empty = "there are no such summaries" if unit else "there are no summaries; a session gets one when it is closed"
    output.listing(rows, ("id", "of", "day", "words", "marks"), as_json=False, empty=empty)


@app.command()
def show(
    context: typer.Context,
    name: SummaryName,
    sources: Annotated[bool, typer.Option("--sources", help="What each sentence comes from.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a summary whole, how it was made, and from what."""
    app_: App = context.obj.app()
    summary = _summary(app_, name)
    if as_json:
        output.put_json(
            {**_described(summary), "sentences": _sentences(app_, summary), "sources": _source_handles(app_, summary)}
        )
        return
    output.say(f"{_subject(summary)} ({summary.handle}), {_how_made(summary)}\n")
    if sources:
        for sentence in _sentences(app_, summary):
            output.say(f"{sentence['text']}  [{' '.join(sentence['sources']) or 'unknown'}]")
        output.say(f"\nmade from: {' '.join(_source_handles(app_, summary)) or 'what was said'}")
    else:
        output.say(summary.text)
    if summary.details:
        output.say(f"\nverbatim: {summary.details}")


@app.command()
def rebuild(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PERIOD]...", help="As in 2026-W47, today, month, y4.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every ended period in which something was said.")] = False,
    unit: Annotated[PeriodUnit | None, typer.Option("--grain", help="With --all: only those of this length.")] = None,
) -> None:
    """Make summaries again, now.

    Missing summaries that they are made from come first; those made from them follow.
    """
    invocation: Invocation = context.obj
    app_ = invocation.app()
    if bool(names) == every or (unit and not every):
        raise UsageError("name periods, as in `agent summaries rebuild 2026-W47`, or say --all, perhaps with --grain")
    if unit is PeriodUnit.session:
        raise UsageError(_SESSION_REFUSED)
    requested = _all_periods(app_, unit) if every else [_period(app_, each) for each in names or ()]
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


@app.command()
def pin(context: typer.Context, names: SummaryNames) -> None:
    """Exempt summaries from retention."""
    _pin(context.obj.app(), names, pinned=True)


@app.command()
def unpin(context: typer.Context, names: SummaryNames) -> None:
    """Make summaries subject to retention again."""
    _pin(context.obj.app(), names, pinned=False)


def _pin(app_: App, names: list[str], *, pinned: bool) -> None:
    word = "pinned" if pinned else "unpinned"
    for summary in [_summary(app_, each) for each in names]:
        summaries.pin(app_.db, summary.id, pinned)
        events.append(app_.db, app_.time, f"summary {word}", summary.handle, actor="person")
        output.say(f"{word} {summary.handle}, the summary of {_subject(summary)}")


def _summary(app_: App, name: str) -> Summary:
    """The summary named by its period, its handle or the handle of its session. Raises UsageError."""
    word, owner = name.strip().lower(), app_.scope.owner
    if re.fullmatch(r"y\d+", word):
        if summary := summaries.get(app_.db, ids.number("summary", word), owner):
            return summary
        raise UsageError(f"there is no summary {word}; `agent summaries list` shows them all")
    if re.fullmatch(r"s\d+", word):
        summary = summaries.of_session(app_.db, ids.number("session", word))
        if summary and summaries.get(app_.db, summary.id, owner):
            return summary
        raise UsageError(f"{word} has no summary yet; `agent sessions close {word}` writes it")
    period = periods.from_words(name, app_.time())
    if summary := summaries.of_period(app_.db, owner, period.key):
        return summary
    if not period_summaries.active_days(app_.db, owner, period.first, period.end):
        raise UsageError(f"nothing is kept of {period.key}")
    raise UsageError(f"there is no summary of {period.key} yet; `agent summaries rebuild {period.key}` makes it now")


def _period(app_: App, name: str) -> Period:
    """The period named by its words or by the handle of its summary. Raises UsageError."""
    if not re.fullmatch(r"[ys]\d+", name.strip().lower()):
        return periods.from_words(name, app_.time())
    if key := _summary(app_, name).period:
        return periods.parse(key)
    raise UsageError(_SESSION_REFUSED)


def _with_related(app_: App, requested: list[Period]) -> list[Period]:
    """The shorter periods they are made from, themselves, and the longer ones that have ended or have a summary."""
    owner, now = app_.scope.owner, app_.time()
    below = {each for period in requested for each in period_summaries.parts_with_messages(app_.db, owner, period)}
    above = {each for period in requested for each in periods.all_enclosing(period)}
    return periods.in_order(
        below | {each for each in above if each.has_ended(now) or summaries.of_period(app_.db, owner, each.key)}
    )


def _all_periods(app_: App, unit: PeriodUnit | None) -> list[Period]:
    now = app_.time()
    days = period_summaries.active_days(app_.db, app_.scope.owner, date(1970, 1, 3), now.date() + timedelta(days=1))
    found = {periods.containing(day, "day") for day in days}
    found |= {each for day in found for each in periods.all_enclosing(day)}
    return periods.in_order(each for each in found if each.has_ended(now) and unit in (None, each.unit))


def _subject(summary: Summary) -> str:
    return summary.period or ids.handle("session", summary.session or 0)


def _day(summary: Summary) -> str:
    return f"{clock.local(summary.started_at, summary.utc_offset):%Y-%m-%d}"


def _marks(summary: Summary) -> list[str]:
    return [*(["extracted"] if summary.method == EXTRACT else []), *(["pinned"] if summary.pinned else [])]


def _how_made(summary: Summary) -> str:
    made = f"{clock.local(summary.at, summary.utc_offset):%d %B %Y, %H:%M}"
    if summary.method == EXTRACT:
        return f"extracted {made}: no model answered, it is made again when one does"
    return f"by {summary.model or 'a model'}, {made}{', pinned' if summary.pinned else ''}"


def _sentences(app_: App, summary: Summary) -> list[dict[str, Any]]:
    sources = summaries.sources(app_.db, summary.id)
    return [
        {"text": sentence, "sources": [each.handle for each in sources.get(n, ())]}
        for n, sentence in enumerate(text.sentences(summary.text), 1)
    ]


def _source_handles(app_: App, summary: Summary) -> list[str]:
    return [each.handle for each in summaries.sources(app_.db, summary.id).get(0, ())]


def _described(summary: Summary) -> dict[str, Any]:
    return {
        "id": summary.handle,
        "grain": summary.unit,
        "period": summary.period or None,
        "session": ids.handle("session", summary.session) if summary.session else None,
        "day": _day(summary),
        "text": summary.text,
        "details": summary.details,
        "method": summary.method,
        "model": summary.model,
        "made_at": summary.at,
        "pinned": bool(summary.pinned),
    }
