"""`agent sync`: exchange what is remembered with the person's other machines, through a folder."""

import sys
from pathlib import Path

from agent_cli import kinds, terminal
from agent_cli.app import upkeep
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import argument, flag, group, option
from agent_cli.errors import UsageError
from agent_cli.memory.review import review
from agent_cli.memory.sync import exchange
from agent_cli.memory.sync.exchange import Exchange
from agent_cli.store import changes, keyed_hash, segments
from agent_cli.text import counted

app = group()


@app.command("sync", decides=True)
def command(
    invocation: Invocation,
    folder: Path | None = argument("A folder that all machines have; else the setting `sync`.", None),
    key: str = option("--key", "The key that the first machine shows; - asks for it, or takes it from a pipe.", ""),
    off: bool = flag("--off", "Take no part any more; what is remembered stays."),
    show_key: bool = flag("--show-key", "Show the key, with which another machine joins."),
) -> None:
    """Exchange what is remembered with your other machines, through a folder.

    The folder is any that gets to the others: of Syncthing or Nextcloud, on a stick, in a git repository. The first
    machine shows a key, with which the others join: agent sync FOLDER --key KEY. What you forget on one is erased on
    all. Settings, schedules and the text of documents stay on their machine.
    """
    app_ = invocation.app()
    app_.refuse_incognito()
    if not (named := folder or app_.config.sync or exchange.last_folder(app_.db)):
        raise UsageError("name a folder, as in `agent sync ~/Sync/agent`, or set it: agent config set sync FOLDER")
    root = Path(named).expanduser().absolute()
    if off:
        exchange.leave(app_.db, root)
        if app_.config.sync:
            app_.write_setting("sync", "")
        output.say("this machine takes no part any more; what is remembered here stays")
        return
    if key:
        if key == "-":
            key = (terminal.secret("key: ") if sys.stdin.isatty() else sys.stdin.readline()) or ""
        keyed_hash.adopt(app_.db, keyed_hash.read_written(key))
    with output.ProgressLine(invocation.quiet) as line:
        done = exchange.run(app_.memory, root, lambda what, many, total: line.step(what, many, total, "changes"))
    if any(done.taken.new.values()) or done.taken.changed:
        upkeep.index_all(app_, app_.db)
    output.lines(lines(app_, done))
    for sentence in done.left:
        output.note(sentence)
    if show_key or segments.open_folder(app_.db, root).machines() == [segments.machine(app_.db)]:
        copied = keyed_hash.written(keyed_hash.secret(app_.db))
        (output.say if show_key else output.note)(f"on each other machine, once: agent sync FOLDER --key {copied}")
    if not app_.config.sync:
        output.note(f"to do this at the start and the end of each session: agent config set sync {root}")


def lines(app_: App, done: Exchange) -> list[str]:
    """What an exchange did."""
    new = [
        counted(many, kind, kinds.BY_NAME[kind].shown_plural)
        for kind, many in done.taken.new.items()
        if kind in kinds.BY_NAME
    ]
    came = [*new, *([counted(done.taken.changed, "change")] if done.taken.changed else [])]
    waiting = len(review.pending(app_.memory))
    said = [
        f"read: {', '.join(came) or 'nothing new'}",
        f"written: {counted(done.sent, 'change') if done.sent else 'nothing new'}",
        *([f"{waiting} {'waits' if waiting == 1 else 'wait'} for your yes (agent facts review)"] if waiting else []),
    ]
    erased = [f"erased here, as on another machine. {done.receipt.sentence()}"] if done.receipt else []
    waits = changes.count_waiting(app_.db)
    left = [f"{counted(waits, 'change waits', 'changes wait')} for others that have not come yet"] if waits else []
    return ["; ".join(said), *erased, *left]
