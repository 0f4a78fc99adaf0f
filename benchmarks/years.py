"""Three years of daily conversations by a simulated clock: what is left of each, what a start costs, what is found.

Every day has a session of its own, closed and summarised by jobs as they come due; the model is one on loopback that
says the beginning of what it is given. The clock is that of Vienna, with summer time. Then each preset of retention is
run on a copy of the file, and what is gone is compared with what the calendar says should be.
"""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from agent_cli import text
from agent_cli.agent.jobs import worker
from agent_cli.app import background, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.llm.model import Cancel
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.lifecycle import closing, retention
from agent_cli.messages import Message, Part
from agent_cli.store.db import Database
from benchmarks.startup import Series, prompted
from tests.conftest import CHAT, Program
from tests.ollama_server.script import Script, reply
from tests.ollama_server.server import OllamaServer

FIRST, LAST = date(2023, 11, 20), date(2026, 11, 19)
ZONE = ZoneInfo("Europe/Vienna")
TOLD = date(2024, 2, 28)
FACT, QUESTION = "My boat lies in the harbour of Vinisce, berth 4711.", "Where does my boat lie, and at which berth?"
START, STARTS = 300, 10  # milliseconds until the prompt stands; how many are timed
_TOWNS = ("Graz", "Linz", "Trogir", "Porto", "Bergen", "Turin", "Lyon", "Ghent", "Riga", "Cork", "Split", "Basel")
_DOINGS = (
    "repaired the bicycle",
    "planted beans",
    "read about bees",
    "painted the door",
    "wrote to Lea",
    "sold a sofa",
)


def run() -> bool:
    """Print the figures; whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder, OllamaServer(models=[CHAT], strict=False) as server:
        server.answer = _answer
        program = Program(Path(folder)).use(server)
        program.env |= {"AGENT_LEARN": "off"}
        began = time.monotonic()
        _live(program)
        print(f"\n{(LAST - FIRST).days + 1} days of conversations, lived in {time.monotonic() - began:.0f} s")
        rows = [*_grains(program), *_next_start(program, server)]
        rows += [row for preset in retention.PRESETS for row in _retained(program, preset)]
    for name, value, target, met in rows:
        print(f"  {name:<46} {value:>8}  {target}{'' if not target else ' ok' if met else ' NOT'}")
    return all(met for *_, met in rows)


def _answer(body: dict[str, Any]) -> Script:
    """To a question a word, to a request for a summary the beginning of each of its lines."""
    asked = body["messages"][-1]["content"]
    lines = [line.partition(": ")[2] for line in asked.splitlines() if ": " in line]
    return (
        reply("I see.") if body.get("tools") else reply(" ".join(f"{line[:80]}." for line in lines[-6:]) or "Nothing.")
    )


def _live(program: Program) -> None:
    with _environment(program, FIRST):
        app = open_app({}, print)
        for number in range((LAST - FIRST).days + 1):
            day = FIRST + timedelta(days=number)
            _set_clock(day, 18)
            _talk(app, number, day)
            _set_clock(day + timedelta(days=1), 7)
            _work(app)
        app.db.close()


def _talk(app: App, number: int, day: date) -> None:
    town, doing = _TOWNS[number % len(_TOWNS)], _DOINGS[number % len(_DOINGS)]
    told = FACT if day == TOLD else f"Today I {doing} in {town}, it took {number + 10} minutes."
    session = sessions.start(app.db, app.scope, app.time())
    for words, answer in ((told, "Well done."), ("Good night.", "Sleep well.")):
        log.add_user_message(app.db, session, app.scope, [Part(words, "typed")], app.time())
        id = log.open_reply(app.db, session, app.scope, CHAT.name, app.time())
        log.close_reply(app.db, id, Message("assistant", answer), "stop", log.Usage(CHAT.name), app.time())
    closing.close(app.db, session, app.time)


def _work(app: App) -> None:
    context = background.job_context(app, app.db, Cancel())
    upkeep.after_turn(app, app.db)
    while worker.run_one(context):
        pass


def _grains(program: Program) -> Iterator[tuple[str, Any, str, bool]]:
    """How many summaries each grain has, and how many the calendar has."""
    held: Counter[str] = Counter(
        dict(program.rows("select grain, count(*) from summary where method = 'model' group by 1"))
    )
    days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1)]
    yield "sessions", held["session"], f"= {len(days)}", held["session"] == len(days)
    for grain in periods.UNITS:
        over = {period for day in days if (period := periods.containing(day, grain)).end <= LAST + timedelta(days=1)}
        yield f"{grain}s", held[grain], f"= {len(over)}", held[grain] == len(over)


def _next_start(program: Program, server: OllamaServer) -> Iterator[tuple[str, Any, str, bool]]:
    """What the next session is told, how soon it is there, and what it finds of the first year."""
    program.env["AGENT_NOW"] = _moment(LAST + timedelta(days=1), 9)
    series = Series([1000 * prompted(program) for _ in range(STARTS)])
    yield "start, p50, ms", f"{series.median:.0f}", f"≤ {START}", series.median <= START
    ran = program("ask", QUESTION)
    assert ran.code == 0, ran.err
    request = server.requests[-1]
    (opening,) = program.rows("select opening from session order by id desc limit 1")[0]
    num_ctx = request.body["options"]["num_ctx"]
    budget = num_ctx // 4
    yield "carried over, tokens", text.tokens(opening), f"≤ {budget}", 0 < text.tokens(opening) <= budget
    yield (
        "the first request, tokens",
        request.prompt_tokens,
        f"≤ {num_ctx}",
        (request.prompt_tokens or 0) <= num_ctx,
    )
    found = "berth 4711" in str(request.body["messages"])
    yield f"what was told on {TOLD} is shown to the model", "yes" if found else "no", "yes", found


def _retained(program: Program, preset: str) -> Iterator[tuple[str, Any, str, bool]]:
    """Run retention on a copy, and compare it with the calendar."""
    copy = program.home / f"{preset}.db"
    copy.unlink(missing_ok=True)
    source = Database(program.db)
    before = _held(source)
    source.execute("vacuum into ?", (str(copy),))
    source.close()
    now = datetime.fromisoformat(program.env["AGENT_NOW"])
    limits = retention.policy({"preset": preset})
    db = Database(copy)
    db.prepare()
    began = time.monotonic()
    for _ in retention.run(db, limits, lambda: now):
        pass
    seconds = time.monotonic() - began
    left = _held(db)
    db.close()
    should = {key for key in before if not _old(key, limits, now)}
    gone, wrong = len(before) - len(left), set(left) ^ should
    yield f"retention {preset}: rows removed in {seconds:.1f} s", gone, f"= {len(before) - len(should)}", not wrong
    changed = [key for key, words in left.items() if before.get(key) != words]
    yield "  of those that are left, changed", len(changed), "= 0", not changed


Key = tuple[str, str, str]


def _held(db: Database) -> dict[Key, str]:
    """(grain, period or number, until) and the words of all that retention may take."""
    rows = db.rows("""select 'working', m.id, datetime(m.at, m.utc_offset || ' minutes'), m.text from message m
                      union all select y.grain, iif(y.period = '', y.id, y.period),
                             datetime(coalesce(s.last_at, y.last_at), y.utc_offset || ' minutes'), y.text || y.details
                      from summary y left join session s on s.id = y.session_id""")
    return {(grain, str(name), until): words for grain, name, until, words in rows}


def _old(key: Key, limits: retention.Policy, now: datetime) -> bool:
    """Whether the calendar says that it goes: it is beyond its limit, and the grain above is over and was made."""
    grain, name, until = key
    limit = limits["day" if grain == "session" else grain].before(now).replace(tzinfo=None)
    if grain in ("working", "session"):
        said = datetime.fromisoformat(until)
        return said < limit and said.date() < LAST + timedelta(days=1)
    period = periods.parse(name)
    return datetime.combine(period.end, datetime.min.time()) <= limit and all(
        coarser.has_ended(now) for coarser in periods.enclosing(period)
    )


def _moment(day: date, hour: int) -> str:
    return datetime(day.year, day.month, day.day, hour, tzinfo=ZONE).isoformat()


def _set_clock(day: date, hour: int) -> None:
    os.environ["AGENT_NOW"] = _moment(day, hour)


@contextmanager
def _environment(program: Program, day: date) -> Iterator[None]:
    """As if this process were the program, on that day."""
    before, folder = dict(os.environ), Path.cwd()
    os.chdir(program.work)
    os.environ.update(program.env | {"AGENT_NOW": _moment(day, 8)})
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
