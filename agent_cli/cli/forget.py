"""`agent forget`: erase what is remembered and everything made from it, and search the files for words left over."""

from dataclasses import replace
from datetime import timedelta

from typer import Exit

from agent_cli import clock, kinds, terminal
from agent_cli.app.app import App
from agent_cli.cli import consent, output
from agent_cli.cli.invocation import parse_moment
from agent_cli.cli.options import AsJson, Until, argument, flag, group, option
from agent_cli.errors import AgentError, TracesLeft, UsageError
from agent_cli.memory.conversations import sessions
from agent_cli.memory.forgetting import erasure_receipt, forget, selection
from agent_cli.memory.language.keywords import NO_KEYWORDS

app = group()

_WHICH = f"As in {', '.join(kinds.EXAMPLES)}; or words, as --topic takes them."


@app.command("forget", decides=True)
def command(
    app_: App,
    handles: list[str] | None = argument(_WHICH, None, metavar="[ID…|WORDS]", show_default=False),
    about: str | None = option("--topic", "Everything that contains all these words."),
    session: list[str] | None = option("--session", "A session and everything said in it."),
    since: str | None = option("--since", "From this day on, as in 2026-03-01."),
    until: Until = None,
    also: str | None = option(
        "--also",
        "What else says the same and goes too: all, none, or IDs as in m31,m40. At a terminal you are asked; "
        "with --yes, none.",
        metavar="WHICH",
    ),
    verify: bool = flag("--verify", "Repeat the check of the last erasure that left something, or look for WORDs."),
    dry_run: bool = flag("--dry-run", "Show what would be erased."),
    yes: bool = flag("--yes", "Do not ask: you have seen what will be erased."),
    as_json: AsJson = False,
) -> None:
    """Erase for good, with everything made from it; `rm` only hides.

    With a message go its answer and the tasks made from it; m9.2 is only its second sentence. Replies that cite it and
    rows that share its rare words are shown before the yes, and go only when you take them. The receipt prints the
    words that it looked for and what still has them; of a session, a file or a time span, only what nothing else
    says is looked for. Of a document the stored text is erased, and no sync brings it back; the file stays on the
    disk, and --since and --until alone erase no document. Without arguments, an erasure that another program held
    up is finished. Exit code 8: it is erased, but something still holds words of it; --verify tells later whether
    that is gone. Until then the words are kept as hashes alone, so parts of words are found only when you name the
    words again: agent forget --verify WORD…
    """
    if verify:
        searched = erasure_receipt.repeat(app_.db, app_.time, [*(handles or ()), about or ""], terminal.drafts())
        _report(searched, as_json, erased=False)
        return
    if handles and not about and not selection.are_handles(handles):
        about, handles = " ".join(handles), None
    begins, ends = parse_moment(since, app_.time()), parse_moment(until, app_.time(), timedelta())
    if not (handles or session or about or begins or ends):
        _resume(app_, "", as_json)
        return
    named = [sessions.resolve(app_.db, each, app_.scope.owner).handle for each in session or ()]
    try:
        times = (clock.utc(moment) if moment else None for moment in (begins, ends))
        plan = _plan(app_, [*(handles or ()), *named], (about or "").strip(), *times)
    except UsageError:
        if app_.finished_erasure or forget.is_pending(app_.db):  # the same command is repeated to finish an erasure
            _resume(app_, about or "", as_json)
            return
        raise
    if also is not None:
        plan = forget.with_related(app_.db, plan, forget.choose_related(plan.related, also))
    if dry_run:
        _show(plan, as_json)
        return
    plan = _confirmed(app_, plan if also is None else replace(plan, related=()), yes, as_json)
    _report(erasure_receipt.erase(app_.db, plan, app_.time, terminal.drafts()), as_json, plan)


def _plan(app_: App, handles: list[str], about: str, since: str | None, until: str | None) -> forget.ErasurePlan:
    db, owner = app_.db, app_.scope.owner
    if handles and (about or since or until):
        raise UsageError("name rows by their handles, or by a topic and a time: not both at once")
    if handles:
        return forget.planned(db, selection.select_by_handle(db, owner, handles))
    chosen = selection.select_by_topic(db, owner, about, since, until)
    return forget.planned(db, chosen, None if about else NO_KEYWORDS)


def _show(plan: forget.ErasurePlan, as_json: bool) -> None:
    if as_json:
        output.put_json(plan.described())
    else:
        output.lines([*plan.format_lines(), *plan.format_related()])


def _confirmed(app_: App, plan: forget.ErasurePlan, yes: bool, as_json: bool) -> forget.ErasurePlan:
    """Show the plan and what else says the same, and ask; returns what the person chose. Raises AgentError."""
    if yes:
        consent.obtain(app_, f"erase {plan.format_counts} for good?", "nothing was erased")
        return plan
    if as_json or not consent.is_possible():
        raise UsageError("nothing was erased: look at it with --dry-run, then say --yes, or run it at a terminal")
    _show(plan, False)
    chosen = forget.agreed(app_.db, plan, consent.answer(plan.question))
    if chosen is None:
        raise AgentError("nothing was erased")
    return chosen


def _resume(app_: App, topic_words: str, as_json: bool) -> None:
    receipt = erasure_receipt.resume(app_.db, app_.time, topic_words, finished=app_.finished_erasure)
    if receipt is None:
        raise UsageError("say what to erase: handles as in m9, --topic, --session, --since or --until")
    _report(receipt, as_json)


def _report(
    receipt: erasure_receipt.Receipt, as_json: bool, plan: forget.ErasurePlan | None = None, *, erased: bool = True
) -> None:
    """Print the receipt; `erased`: not only searched. Raises TracesLeft, or ends with its exit code."""
    if as_json:
        files = list(plan.files) if plan else []
        output.put_json({"erased": plan.counts if plan else {}, "files": files, **receipt.described()})
        raise Exit(0 if receipt.clean else TracesLeft.exit_code)
    output.say(f"{'Erased. ' if erased else ''}{receipt.sentence()}")
    output.lines([*([f"rows erased: {plan.format_counts}", *plan.files] if plan else []), *receipt.details()])
    if not receipt.clean:
        raise TracesLeft("; ".join(receipt.remedies()))
