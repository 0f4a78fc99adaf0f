"""The slash command /summary: a day, week, month, quarter or year as it stands now."""

from collections.abc import Iterator

from agent_cli import text
from agent_cli.agent.events import Event, Noticed, TextArrived
from agent_cli.agent.jobs import summariser
from agent_cli.agent.policy import Approve
from agent_cli.agent.runner import Work
from agent_cli.app import background
from agent_cli.llm.model import Cancel
from agent_cli.memory.dates import periods
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.repl.commands.command import command
from agent_cli.repl.session.conversation import Conversation


@command("/summary [PERIOD]", completes=("period",), on_file=True, examples=("/summary week", "/summary 2026-11"))
def summary(conversation: Conversation, argument: str) -> Work:
    """Show the summary of today, or of a week or month; what is missing is made now.

    Name it: day, week, month, quarter, year, or 2026-11-20, 2026-W47, 2026-11, 2026-Q4, 2026. Ctrl-C stops it.
    """
    app = conversation.app
    period, owner = periods.from_words(argument or "today", app.time()), app.scope.owner

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        db = app.db.another_connection()
        try:
            context = background.job_context(app, db, cancel)
            *parts, _ = period_summaries.parts_with_messages(db, owner, period)
            for part in parts:
                if "".join(summariser.write_period(context, owner, part)):
                    yield Noticed(f"{part.key} is summarised")
            shown = ""
            for piece in summariser.write_period(context, owner, period):
                shown += piece
                yield TextArrived(piece)
            found = summaries.of_period(db, owner, period.key)
            if found is None:
                yield Noticed(f"nothing is kept of {period.key}")
                return
            if older := found.text.removesuffix(" ".join(text.sentences(shown))).strip():
                yield TextArrived(f"\n{older}" if shown else older)
            if found.details:
                yield Noticed(f"verbatim: {found.details}")
            how, why = ("extracted", ": no model answered") if found.method == summaries.EXTRACT else ("summarised", "")
            yield Noticed(f"{period.key} ({found.handle}), {how}{' just now' if shown else ''}{why}")
        finally:
            db.close()

    return work
