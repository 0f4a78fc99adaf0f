"""The slash commands for tasks, reminders and documents: /remind, /tasks and /docs."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

from agent_cli.agent.events import Event, Noticed, Progressed, Work
from agent_cli.agent.policy import Approve
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.dates import due_times, moments
from agent_cli.memory.documents import documents
from agent_cli.memory.planner import tasks
from agent_cli.memory.scope import short_path
from agent_cli.messages import Receipt
from agent_cli.repl import pages
from agent_cli.repl.commands.commands import Page, Result, command
from agent_cli.repl.conversation import Conversation
from agent_cli.text import counted

_SHOWN = 20
VERBS = ("done", "snooze", "rm", "restore", "reopen")


@command(
    "/remind TEXT WHEN",
    on_file=True,
    changes=True,
    examples=("/remind call the dentist friday 3pm", "/remind water the plants every monday 8:00"),
    shell={"remind": ""},
)
def remind(conversation: Conversation, argument: str) -> str:
    """Remind you of something: /remind call the dentist friday 3pm.

    Also "in two hours", "tomorrow at noon", "24.12. 18:00", "every monday 9:00". Without a time it is a plain task."""
    if not argument:
        raise UsageError("say what and when, as in /remind call the dentist friday 3pm")
    app = conversation.app
    words, when = due_times.find(argument, app.time(), moments.local_zone())
    task = tasks.add(app.db, app.scope, words, when, app.time, origin=conversation.origin, session=conversation.id)
    return Receipt(f"kept {tasks.receipt(task, app.time())}")


@command(
    "/tasks [done|… ID]",
    completes=("task",),
    on_file=True,
    changes=True,
    examples=("/tasks done t4", "/tasks snooze t4 1 hour"),
    shell={"tasks list": "", **{f"tasks {verb}": verb for verb in VERBS}},
)
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
    named, when = (
        tasks.named(app.db, owner, match[1].split()),
        due_times.parse_moment(match[2], now, moments.local_zone()),
    )
    snoozed = [tasks.snooze(app.db, each, when, app.time) for each in named]
    return Receipt("\n".join(f"snoozed {tasks.receipt(each, now)}" for each in snoozed))


@command(
    "/docs [add PATH|sync|rm PATH]",
    completes=("documents",),
    on_file=True,
    changes=True,
    examples=("/docs add ~/papers", "/docs rm ~/papers/old.pdf"),
    shell={"docs list": "", "docs add": "add", "docs sync": "sync", "docs rm": "rm"},
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
        with closing(app.db.another_connection()) as db:
            for what, done, total in upkeep.sync_documents(app, db, tally, only):
                cancel.check()
                yield Progressed(f"{what}: {done} of {total} sections" if total else what)
            for line in tally.warnings:
                yield Noticed(line)
            yield Noticed(tally.sentence())

    return work
