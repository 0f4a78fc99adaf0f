"""The slash command for documents: /docs."""

from collections.abc import Iterator
from pathlib import Path

from agent_cli.agent.events import Event, Noticed, Progressed
from agent_cli.agent.jobs.job_context import INDEX
from agent_cli.agent.policy import Approve
from agent_cli.agent.runner import Work
from agent_cli.app import upkeep
from agent_cli.errors import UsageError
from agent_cli.llm.model import Cancel
from agent_cli.memory.documents import document_sync, documents
from agent_cli.memory.scope import short_path
from agent_cli.memory.search import word_tables
from agent_cli.repl.commands.command import command
from agent_cli.repl.session.conversation import Conversation
from agent_cli.store import jobs
from agent_cli.text import counted


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
    pattern = documents.absolute(path.strip().strip('"'), str(Path.cwd())) if path.strip() else ""
    if verb == "":
        return _listing(conversation)
    if verb == "rm" and pattern:
        count, condense = documents.remove(app.db, app.scope.owner, pattern, app.time)
        for _ in word_tables.condense(app.db) if condense else ():
            pass
        files = "1 file is" if count == 1 else f"{count} files are"
        return f"{short_path(pattern)}: {files} out of memory; on the disk nothing changed"
    if verb == "add" and pattern:
        if not Path(documents.base(pattern)).exists():
            raise UsageError(f"there is no file or folder {path.strip()!r}")
        documents.add(app.db, app.scope, pattern, app.time)
        return _sync(conversation, [pattern])
    if argument == "sync":
        return _sync(conversation, None)
    raise UsageError("say /docs, /docs add PATH, /docs sync or /docs rm PATH")


def _listing(conversation: Conversation) -> str:
    app = conversation.app
    lines = [
        f"{short_path(row['pattern'])}: {counted(row['files'], 'file')}, {counted(row['sections'], 'section')}"
        + (f", {row['failed']} not readable (`agent docs list --failed` in a shell says why)" if row["failed"] else "")
        for row in documents.listing(app.db, app.scope.owner)
    ]
    return "\n".join(lines) or "there are no documents; /docs add PATH reads a file or a folder"


def _sync(conversation: Conversation, only: list[str] | None) -> Work:
    app = conversation.app

    def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
        db, tally = app.db.another_connection(), document_sync.SyncResult()
        try:
            for step in document_sync.sync(db, app.scope.owner, app.time, tally, only):
                cancel.check()
                yield Progressed(step)
            for done, total in upkeep.index_rows(app, db) if tally.anything else ():
                cancel.check()
                yield Progressed(f"vectors: {done} of {total} sections")
            if tally.anything:
                jobs.add(db, INDEX, "all", app.time())  # merges what was added
            for line in tally.warnings:
                yield Noticed(line)
            yield Noticed(tally.sentence())
        finally:
            db.close()

    return work
