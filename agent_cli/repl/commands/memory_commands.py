"""The slash commands for what is remembered and planned: /note, /search, /why, /forget, /tasks, /docs …"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from agent_cli import clock, terminal
from agent_cli.agent import profile
from agent_cli.agent.events import Event, Noticed, Progressed, Work
from agent_cli.agent.policy import Approve
from agent_cli.app import turns, upkeep
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.documents import documents
from agent_cli.memory.forgetting import erasure_receipt, forget, selection
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.scope import short_path
from agent_cli.memory.search import recall, recall_log
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Receipt
from agent_cli.render.styles import Display
from agent_cli.repl import pages
from agent_cli.repl.commands.commands import Asking, Page, Result, changing, command, deciding
from agent_cli.repl.conversation import Conversation
from agent_cli.text import counted

_SHOWN = 20
VERBS = ("done", "snooze", "rm", "restore", "reopen")


@changing("/note TEXT", examples=("/note milk and bread", "/note the spare key hangs behind the door"))
def note(conversation: Conversation, argument: str) -> Result:
    """Save a note."""
    app = conversation.app
    written = notes.add(app.db, app.scope, argument, app.time, origin=conversation.origin, session=conversation.id)
    return Receipt(f"saved {written.handle} “{written.name}”")


@command("/notes [WORDS|#TAG]", on_file=True, examples=("/notes key", "/notes #garden"))
def notes_(conversation: Conversation, argument: str) -> Result:
    """List the latest notes, or those with these words or this tag."""
    app = conversation.app
    owner = app.scope.owner
    if argument.startswith("#"):
        found = notes.listing(app.db, owner, 20, tag=notes.tag(argument))
    else:
        found = notes.search(app.db, owner, argument, 20, app.time()) if argument else notes.listing(app.db, owner, 20)
    lines = [f"{each.handle:<6} {clock.local(each.at, each.utc_offset):%Y-%m-%d}  {each.name}" for each in found]
    return "\n".join(lines) or ("no note has these words" if argument else "there are no notes; /note TEXT adds one")


@command("/search WORDS", examples=("/search dentist", "/search what did Anna say about Linz?"))
def search(conversation: Conversation, argument: str) -> Result:
    """Search conversations, notes, summaries, facts and documents."""
    if not argument:
        raise UsageError("say what to find, as in /search dentist")
    app, scope = conversation.app, conversation.app.scope
    allowed = Filter(
        scope.owner, current_place=scope.place, current_session=conversation.id, fact_half_life=app.fact_half_life
    )
    found = upkeep.search(app, allowed, 10, recall.LEAST)(argument)
    hits = recall.to_show(app.db, argument, found, allowed, app.time(), 10)
    if not hits:
        return "nothing is known of it"
    above = "nothing states it, but these lines mention it:\n\n" if found.verdict == "nothing" else ""
    return Page(lambda display: above + pages.hits_page(app.db, app.scope.owner, argument, hits, display))


@command("/why [MESSAGE|WORDS] [--score]", examples=("/why m12 --score", "/why when is the dentist?"))
def why(conversation: Conversation, argument: str) -> Result:
    """Show what memory added to your last question, or to another, and why; of words, what it would add to them.

    --score: also what each score is made of."""
    app = conversation.app
    words = argument.split()
    scores = "--score" in words
    asked = " ".join(word for word in words if word != "--score")

    def page(display: Display, message: int) -> str:
        always = profile.shown_with(app.db, app.scope, message, app.time(), app.profile_tokens)
        below = f"\n\n{profile.always_told(always, app.time())}; /profile shows them" if always else ""
        return pages.why_page(app.db, app.scope.owner, message, display, scores=scores) + below

    if asked and not recall_log.is_handle(asked):

        def page_of_preview(display: Display) -> str:
            with turns.recall_preview(app, conversation.id, asked) as message:
                return page(display, message)

        return Page(page_of_preview)
    message = recall_log.message_id(app.db, app.scope.owner, asked or None)
    return Page(lambda display: page(display, message))


@command("/show ID", completes=("handle",), examples=("/show m12", "/show n4"))
def show(conversation: Conversation, argument: str) -> Result:
    """Show what a handle names: a message in its place, a note, a fact, a task or a session.

    A message is shown between the two before and the two after it."""
    app = conversation.app
    if not argument:
        raise UsageError("name what to show by its handle, as in /show m12; /search finds handles")
    return Page(lambda display: pages.row_page(app.db, app.scope.owner, argument, app.time(), display))


@deciding("/forget ID…|TOPIC", completes=("handle",), examples=("/forget m9 n4", "/forget my old address"))
def forget_(conversation: Conversation, argument: str) -> Result:
    """Erase what is remembered and all that came of it. Asks first.

    Name handles, as in m9 n4 t4 d12, a sentence, as in m9.2, or a topic. Replies that cite it and rows that share its
    rare words are listed, and go only when you take them. Of a document the text in memory is erased; the file
    stays on the disk. Without an argument it finishes an erasure that another program held up; /forget --verify
    repeats the last check."""
    app = conversation.app
    words = argument.split()
    if not words:
        receipt = erasure_receipt.resume(app.db, app.time)
        return _erased(receipt) if receipt else "nothing waits to be erased; name it, as in /forget m9 or /forget Graz"
    if words[0] == "--verify":
        receipt = erasure_receipt.repeat(app.db, app.time, words[1:], terminal.drafts())
        return "\n".join([receipt.sentence(), *receipt.details(), *receipt.remedies()])

    owner = app.scope.owner
    if selection.are_handles(words):
        plan = forget.planned(app.db, selection.select_by_handle(app.db, owner, words))
    else:
        plan = forget.planned(app.db, selection.select_by_topic(app.db, owner, argument))

    typed = plan.verbatim_copies.rows["lines you typed"]
    if set(plan.counts) == {"lines you typed"} and log.prompts_are_command(app.db, typed, "/forget"):
        # Only the line just typed: it may name what should not be stored.
        erasure_receipt.erase(app.db, plan, app.time, terminal.drafts())
        return f"nothing is remembered about {argument!r}; the line that you typed is erased too"

    def decided(answer: str) -> str:
        chosen = forget.agreed(app.db, plan, answer)
        if chosen is None:
            return "nothing was erased"
        return _erased(erasure_receipt.erase(app.db, chosen, app.time, terminal.drafts()), chosen.files)

    return Asking("\n".join([*plan.format_lines(), *plan.format_related()]), plan.question, decided)


def _erased(receipt: erasure_receipt.Receipt, files: Sequence[str] = ()) -> str:
    return Receipt("\n".join([f"Erased. {receipt.sentence()}", *files, *receipt.details(), *receipt.remedies()]))


@changing(
    "/remind TEXT WHEN", examples=("/remind call the dentist friday 3pm", "/remind water the plants every monday 8:00")
)
def remind(conversation: Conversation, argument: str) -> str:
    """Remind you of something: /remind call the dentist friday 3pm.

    Also "in two hours", "tomorrow at noon", "24.12. 18:00", "every monday 9:00". Without a time it is a plain task."""
    if not argument:
        raise UsageError("say what and when, as in /remind call the dentist friday 3pm")
    app = conversation.app
    words, when = due_times.find(argument, app.time(), moments.local_zone())
    task = tasks.add(app.db, app.scope, words, when, app.time, origin=conversation.origin, session=conversation.id)
    return Receipt(f"kept {tasks.receipt(task, app.time())} (/tasks rm {task.handle} takes it back)")


@changing("/tasks [done|… ID]", completes=("task",), examples=("/tasks done t4", "/tasks snooze t4 1 hour"))
def tasks_(conversation: Conversation, argument: str) -> Result:
    """List what is to be done, or change it.

    /tasks done t4 t5 · /tasks snooze t4 1 hour · /tasks rm t4 (hides it) · /tasks restore t4 · /tasks reopen t4"""
    verb, _, rest = argument.partition(" ")
    app = conversation.app
    owner, now = app.scope.owner, app.time()
    if not argument:
        found = tasks.listing(app.db, owner, limit=_SHOWN + 1)
        if not found:
            return "there are no open tasks; /remind TEXT WHEN adds one"
        more = "\nand more: `agent tasks` in a shell lists all" if len(found) > _SHOWN else ""
        return Page(lambda display: pages.tasks_page(found[:_SHOWN], now, display) + more)
    if verb not in VERBS:
        raise UsageError(f"/tasks takes {', '.join(VERBS)}, not {verb[:40]!r}; alone it lists them")
    if not rest.strip():
        raise UsageError(f"name a task, as in /tasks {verb} t4{' 1 hour' if verb == 'snooze' else ''}")
    if verb != "snooze":
        return Receipt("\n".join(tasks.change(app.db, owner, cast(tasks.Verb, verb), rest.split(), app.time, "/tasks")))
    match = re.fullmatch(r"(\d+|(?:t\d+\s*)+)(?:\s+|$)(.*)", rest.strip(), re.IGNORECASE | re.DOTALL)
    if match is None:
        raise UsageError("write the task and until when, as in /tasks snooze t4 1 hour")
    named = tasks.named(app.db, owner, match[1].split())
    when = due_times.parse_moment(match[2], now, moments.local_zone())
    snoozed = [tasks.snooze(app.db, each, when, app.time) for each in named]
    return Receipt("\n".join(f"snoozed {tasks.receipt(each, now)}" for each in snoozed))


@changing(
    "/docs [add PATH|sync|rm PATH]",
    completes=("documents",),
    examples=("/docs add ~/papers", "/docs rm ~/papers/old.pdf"),
)
def docs(conversation: Conversation, argument: str) -> Work | str:
    """List your documents; add files or a folder, look at them again, or take some out of memory.

    /docs add PATH reads files now and whenever they change; they stay where they are. Ctrl-C stops it."""
    app = conversation.app
    verb, _, path = argument.partition(" ")
    path, folder = path.strip().strip('"'), str(Path.cwd())
    if verb == "":
        lines = [
            f"{short_path(row['pattern'])}: {counted(row['files'], 'file')}, {counted(row['sections'], 'section')}"
            + (f", {row['failed']} not readable (`agent docs list --failed` in a shell says why)" * bool(row["failed"]))
            for row in documents.listing(app.db, app.scope.owner)
        ]
        return "\n".join(lines) or "there are no documents; /docs add PATH reads a file or a folder"
    if verb == "rm" and path:
        return documents.remove(app.db, app.scope.owner, documents.absolute(path, folder), app.time)
    if verb == "add" and path:
        pattern = documents.existing(path, folder)
        documents.add(app.db, app.scope, pattern, app.time)
        return _sync(app, [pattern])
    if argument == "sync":
        return _sync(app, None)
    raise UsageError("say /docs, /docs add PATH, /docs sync or /docs rm PATH")


def _sync(app: App, only: list[str] | None) -> Work:
    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        tally = documents.SyncResult()
        with app.db.another_connection() as db:
            for what, done, total in upkeep.sync_documents(app, db, tally, only):
                cancel.check()
                yield Progressed(f"{what}: {done} of {total} sections" if total else what)
            for line in tally.warnings:
                yield Noticed(line)
            yield Noticed(tally.sentence())

    return work
