"""`agent doctor`: what is in order, what is not, and what to do about it."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from agent_cli.app import App
from agent_cli.cli import output
from agent_cli.cli.options import AsJson
from agent_cli.cli.run import Run
from agent_cli.errors import AgentError
from agent_cli.llm import address, choose, faults, tags
from agent_cli.memory import index, soundness
from agent_cli.store import file, jobs

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True)
class Finding:
    id: str
    ok: bool
    found: str
    fix: str = ""


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Check the server, the model, the database and the terminal. Exit 1 when something is wrong."""
    findings = [
        finding for check in (_settings, _server, _database, _command, _terminal) for finding in check(context.obj)
    ]
    if as_json:
        output.put([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            output.say(f"{'ok ' if finding.ok else 'NOT'}  {finding.id:<10} {finding.found}")
            if finding.fix:
                output.say(f"     {'':<10} → {finding.fix}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _settings(run: Run) -> Iterator[Finding]:
    try:
        loaded = run.settings()
    except AgentError as error:
        yield Finding("settings", False, str(error), "agent config edit")
        return
    there = loaded.file if loaded.file.exists() else f"{loaded.file} (none, all defaults)"
    yield Finding("settings", True, str(there))


def _server(run: Run) -> Iterator[Finding]:
    try:
        settings = run.settings().config
        url = address.parse(settings.host).url
        found = tags.tags(settings.host)
    except AgentError as error:
        yield Finding("server", False, str(error), "start it with `ollama serve`; until then memory answers alone")
        return
    yield Finding("server", True, f"{url}, {len(found)} models")
    try:
        name = settings.model
        faults.refuse_cloud(name)
        if name == "auto":
            name, _ = choose.pick(found, "", url)
        elif not name.startswith("scripted:") and name != "offline" and tags.find(name, found) is None:
            yield Finding("model", False, f"{name} is not on the server", f"ollama pull {name}")
            return
        yield Finding("model", True, f"{name}, context {settings.num_ctx} tokens")
    except AgentError as error:
        yield Finding("model", False, str(error))
    there = tags.find(settings.embed_model, found) is not None
    fix = "" if there else f"ollama pull {settings.embed_model}"
    yield Finding("embedder", True, settings.embed_model if there else "none on the server: search by words alone", fix)


def _database(run: Run) -> Iterator[Finding]:
    try:
        app_ = run.app()
        path = Path(app_.db.path)
        sound = app_.db.value("pragma quick_check")
    except AgentError as error:
        yield Finding("database", False, str(error))
        return
    rows = app_.db.value("select count(*) from message")
    size = f"{path.stat().st_size / 1e6:.1f} MB, {rows} messages, SQLite {app_.db.value('select sqlite_version()')}"
    fix = "" if sound == "ok" else "copy the file away, then bring a backup back"
    yield Finding("database", sound == "ok", f"{path}: {size}, {sound}", fix)
    yield from _indexes(app_)
    network = file.network_file_system(path)
    if network:
        yield Finding("disk", True, f"on a network file system ({network}): one writer at a time")
    parked = sum(job["state"] == "parked" for job in jobs.listing(app_.db, 1000))
    if parked:
        yield Finding("jobs", False, f"{parked} given up after five tries", "agent jobs list, then agent jobs retry")


def _indexes(app_: App) -> Iterator[Finding]:
    try:
        damaged = soundness.check(app_.db, app_.time())
        app_.report_damage(app_.db, damaged)
    except AgentError as error:
        yield Finding("indexes", False, str(error))
        return
    told = f"damaged: {', '.join(damaged)}" if damaged else f"sound, {index.waiting(app_.db)} rows wait to be indexed"
    yield Finding("indexes", not damaged, told, "agent jobs run --until-idle" if damaged else "")


def _command(run: Run) -> Iterator[Finding]:
    first = shutil.which("agent")
    ours = Path(sys.argv[0]).resolve().parent
    if first and Path(first).resolve().parent != ours and Path(sys.argv[0]).name in ("agent", "agent-cli"):
        yield Finding("command", False, f"another `agent` comes first on PATH: {first}", "call this one agent-cli")
    else:
        yield Finding("command", True, first or "agent is not on PATH")


def _terminal(run: Run) -> Iterator[Finding]:
    facts: dict[str, Any] = {
        "TERM": os.environ.get("TERM", "not set"),
        "encoding": sys.stdout.encoding,
        "tmux": "yes" if os.environ.get("TMUX") else "no",
        "ssh": "yes" if os.environ.get("SSH_CONNECTION") else "no",
    }
    yield Finding("terminal", True, ", ".join(f"{name} {value}" for name, value in facts.items()))
