"""Checks of the settings, the server, the database and the terminal, for `agent doctor` and /doctor.

Each is independent: the settings may be broken, the server down and the file damaged all at once.
"""

import locale
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_cli.app import models, upkeep
from agent_cli.app.app import App, engine_of
from agent_cli.config.settings_file import Loaded
from agent_cli.config.values import Config
from agent_cli.errors import AgentError, ConfigError, FileRefused, StoreBusy
from agent_cli.llm import ollama
from agent_cli.llm.engine import Engine, Tag, find, refuse_cloud, same_model
from agent_cli.memory.review import review
from agent_cli.memory.search import index, vectors, word_tables
from agent_cli.messages import Failure, Receipt
from agent_cli.store import file, jobs, keyed_hash, segments
from agent_cli.text import counted, format_size
from agent_cli.values import frozen

_SHOWN = 8  # models on one line
_EDIT = "agent config edit"
_RUN_JOBS = "agent jobs run --until-idle"
_OTHER_MODEL = "choose another: agent models use NAME"
_PATIENCE = 1.0  # seconds to wait for another program that writes
_MIN_FREE = 500_000_000  # bytes free on a disk


@frozen
class Finding:
    id: str
    ok: bool
    found: str
    fix: str = ""


def findings(settings: Callable[[], Loaded], app: Callable[[], App]) -> Iterator[Finding]:
    """All findings. `settings` and `app` may raise AgentError, which becomes a finding too."""
    try:
        loaded = settings()
    except AgentError as error:
        yield Finding("settings", False, str(error), _EDIT)
        yield Finding("server", False, f"not checked: {error}")
    else:
        there = loaded.file if loaded.file.exists() else f"{loaded.file} (none, all defaults)"
        yield Finding("settings", True, str(there))
        yield from _server(loaded.config)
        yield from _missing_paths(loaded.config)
    yield from _database(app)
    yield from _shell_and_terminal()


def format_line(found: Finding, *, at_prompt: bool = False) -> str:
    """A finding for a person, and what to do about it in a second line."""
    where = "in a shell: " if at_prompt and found.fix.startswith("agent ") else ""
    fix = f"\n     {'':<10} → {where}{found.fix}" if found.fix else ""
    line = f"{found.id:<10} {found.found}{fix}"
    return Receipt(f"ok   {line}") if found.ok else Failure(f"NOT  {line}")


def _missing_paths(settings: Config) -> Iterator[Finding]:
    """Folders, files and commands in the settings that do not exist. No MCP server is started."""
    for folder in settings.folders:
        if not Path(folder).expanduser().is_dir():
            yield Finding("folders", False, f"{folder} is not a folder", f"make it, or take it out: {_EDIT}")
    for name, source in settings.feeds.items():
        local = not source.startswith(("http://", "https://"))
        if local and not Path(source.removeprefix("file://")).expanduser().is_file():
            fix = f"put it there, or correct it: {_EDIT}"
            yield Finding("feeds", False, f"{name}: {source} is not a file", fix)
    for name, mcp_server in settings.mcp.items():
        command = mcp_server.get("command")
        if command is not None and not shutil.which(os.path.expanduser(command)):
            fix = f"install it, or give its whole path in [mcp.{name}]: {_EDIT}"
            yield Finding("mcp", False, f"{name}: there is no command {command}", fix)


def _server(settings: Config) -> Iterator[Finding]:
    try:
        engine = engine_of(settings)
        tags = engine.listing()
        version = f"Ollama {ollama.version(settings.host)}, " if engine.name == "ollama" else ""
    except AgentError as error:
        start = "start it with `ollama serve`; " if settings.engine == "ollama" else ""
        yield Finding("server", False, str(error), f"{start}until then memory answers alone")
        return
    yield Finding("server", True, f"{engine.url}, {version}{counted(len(tags), 'model')}")
    if tags:
        more = [f"and {len(tags) - _SHOWN} more"] if len(tags) > _SHOWN else []
        yield Finding("models", True, "; ".join([*map(_described, tags[:_SHOWN]), *more]))
    try:
        yield from _model(settings, tags, engine)
    except AgentError as error:
        needs_pull = engine.name == "ollama" and not any(map(models.chats, tags))
        yield Finding("model", False, str(error), f"agent models pull {ollama.SUGGESTED}" if needs_pull else "")


def _described(tag: Tag) -> str:
    abilities = ", ".join("chat" if each == "completion" else each for each in tag.capabilities)
    about = "in the cloud, not used" if tag.elsewhere else abilities
    return f"{tag.name} ({about})" if about else tag.name


def _model(settings: Config, tags: list[Tag], engine: Engine) -> Iterator[Finding]:
    """The chat model: its abilities, how much of its context is used, whether it is loaded."""
    name = settings.model
    if not models.needs_engine(name):
        yield Finding("model", True, f"{name}, which needs no server")
        return
    refuse_cloud(name)
    if name == "auto":
        name, _ = models.pick(engine, tags, "")
    elif (tag := find(name, tags)) is None:
        fix = f"agent models pull {name}" if engine.name == "ollama" else _OTHER_MODEL
        yield Finding("model", False, f"{name} is not on the server", fix)
        return
    elif not models.chats(tag):
        yield Finding("model", False, f"{name} cannot chat here", _OTHER_MODEL)
        return
    if engine.name != "ollama":
        yield Finding("model", True, name)
        return
    context, capabilities = ollama.model_info(settings.host, name)
    if context and settings.num_ctx > context:
        description = f"{name}, context {settings.num_ctx} tokens, and it was made for {context}"
        yield Finding("model", False, description, f"agent config set num_ctx {context}")
    else:
        trained = f" of the {context} it was made for" if context else ""
        yield Finding("model", True, f"{name}, context {settings.num_ctx} tokens{trained}")
    if capabilities and "tools" not in capabilities:
        fix = "nothing is wrong; for notes written by the model itself, choose one that has `tools`"
        yield Finding("tools", True, f"{name} cannot use tools", fix)
    running = next((each for each in ollama.running(settings.host) if same_model(each.name, name)), None)
    if running is None:
        yield Finding("loaded", True, f"{name} is not loaded: the first answer waits for that")
        return
    where = f"{100 * running.in_vram // running.size} % of it on the graphics card" if running.in_vram else "on the CPU"
    summary, fix = f"{name}, {format_size(running.size)}, {where}", ""
    if running.context and running.context != settings.num_ctx:
        summary += f", with {running.context} tokens: the next question loads it again"
        fix = "another program asks with another context; give both the same num_ctx"
    yield Finding("loaded", True, summary, fix)


def _database(open_app: Callable[[], App]) -> Iterator[Finding]:
    try:
        app = open_app()
        db = app.db
        if db.path == ":memory:":
            yield Finding("database", True, "in memory only: nothing is saved")
            return
        path = Path(db.path)
        db.busy_timeout = _PATIENCE
        check = db.value("pragma quick_check")
        messages = counted(db.value("select count(*) from message"), "message")
        version, sealed = db.value("select sqlite_version()"), ", sealed" if db.key else ""
        summary = f"{path}: {format_size(path.stat().st_size)}, {messages}, SQLite {version}{sealed}, {check}"
        fix = "" if check == "ok" else "copy the file, then restore a backup: agent db restore FILE"
        yield Finding("database", check == "ok", summary, fix)
        if key := keyed_hash.key_file(db):  # one that nobody has needed yet is no finding
            yield Finding("key", True, f"of the hashes of erased texts: {key}")
        elif keyed_hash.is_in_plain_database(db):
            problem = "is in the database, so whoever has the file can test guesses of what you erased"
            yield Finding("key", False, problem, f"let {db.key_folder} be written, or set XDG_STATE_HOME")
        if app.config.sync:
            yield _machines(app)
        yield from _indexes(app)
        yield from _pending(app)
        free = shutil.disk_usage(path.parent).free
        needed = max(_MIN_FREE, 2 * path.stat().st_size)  # a copy of the file, and room to work
        fix = "" if free >= needed else f"make room: {format_size(needed)} are needed for a backup and for work"
        yield Finding("disk", free >= needed, f"{format_size(free)} free", fix)
        if network := file.network_file_system(path):
            yield Finding("disk", True, f"on a network file system ({network}): one writer at a time")
    except ConfigError as error:
        yield Finding("database", False, f"not checked: {error}")
    except (FileRefused, StoreBusy) as error:  # nothing is wrong with the file
        yield Finding("database", False, str(error))
    except (AgentError, OSError) as error:
        yield Finding("database", False, str(error), "agent db check says what can be read of it, and what to do next")


def _machines(app: App) -> Finding:
    try:
        machines = segments.open_folder(app.db, Path(app.config.sync).expanduser()).machines()
    except AgentError as error:
        return Finding("sync", False, str(error))
    return Finding("sync", True, f"{app.config.sync}, used by {', '.join(machines) or 'no machine yet'}")


def _indexes(app: App) -> Iterator[Finding]:
    db = app.db
    try:
        damaged = index.check(db)
        upkeep.report_damage(app, db, damaged)
        summary = f"sound, {counted(index.count_stale(db), 'row waits', 'rows wait')} to be indexed"
        if without := word_tables.count_without_trigrams(db):
            summary += f", {counted(without, 'passage is', 'passages are')} not found by parts of words yet"
        if damaged:
            summary = f"damaged: {', '.join(damaged)}"
        yield Finding("indexes", not damaged, summary, _RUN_JOBS if damaged or without else "")
    except AgentError as error:
        yield Finding("indexes", False, str(error))
    yield Finding("embedder", True, *app.embedders.report(db))
    current, filling = vectors.current(db), vectors.being_filled(db)
    if current is None:
        yield Finding("vectors", True, "none yet")
        return
    missing = vectors.count_missing(db, current)
    more = f", {counted(missing, 'passage has', 'passages have')} none yet" if missing else ", complete"
    more += "; another set is being made" if filling else ""
    yield Finding("vectors", True, f"{vectors.count(db, current)} made{more}", _RUN_JOBS if missing or filling else "")


def _pending(app: App) -> Iterator[Finding]:
    listed = jobs.listing(app.db, 1000)
    parked = sum(job["state"] == "parked" for job in listed)
    if parked:
        yield Finding("jobs", False, f"{parked} given up", "agent jobs list says why; then agent jobs retry ID")
    else:
        ready = sum(job["state"] == "ready" for job in listed)
        yield Finding("jobs", True, f"{ready} queued, none given up")
    waiting = len(review.pending(app.memory))
    if waiting:
        yield Finding("review", True, f"{counted(waiting, 'proposal')} to review", "agent facts review")


def _shell_and_terminal() -> Iterator[Finding]:
    first = shutil.which("agent")
    ours = Path(sys.argv[0]).resolve().parent
    if first and Path(first).resolve().parent != ours and Path(sys.argv[0]).name in ("agent", "agent-cli"):
        yield Finding("command", False, f"another `agent` comes first on PATH: {first}", "call this one agent-cli")
    else:
        yield Finding("command", True, first or "agent is not on PATH")
    columns, rows = shutil.get_terminal_size()
    variables = {
        "TERM": os.environ.get("TERM") or "not set",
        "COLORTERM": os.environ.get("COLORTERM"),
        "NO_COLOR": os.environ.get("NO_COLOR"),
        "size": f"{columns}x{rows}",
        "ssh": "yes" if os.environ.get("SSH_CONNECTION") else None,
        "PROMPT_TOOLKIT_NO_CPR": os.environ.get("PROMPT_TOOLKIT_NO_CPR"),
    }
    fix = ""
    if variables["ssh"] and not variables["PROMPT_TOOLKIT_NO_CPR"]:
        fix = "if ^[[12;1R appears at your prompt: export PROMPT_TOOLKIT_NO_CPR=1"
    yield Finding("terminal", True, ", ".join(f"{name} {value}" for name, value in variables.items() if value), fix)
    encoding = locale.getencoding()
    is_utf8 = encoding.lower().replace("-", "") == "utf8" or bool(sys.flags.utf8_mode)
    fix = "" if is_utf8 else "export LC_ALL=C.UTF-8, or what is typed beyond ASCII is lost"
    yield Finding("encoding", is_utf8, encoding, fix)
