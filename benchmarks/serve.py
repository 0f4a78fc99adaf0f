"""The server as a process: many chats at once, whatever can be sent, its memory, and its own part of a turn."""

import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import httpx

from tests import hostile
from tests.conftest import CHAT, Program
from tests.ollama_server.server import OllamaServer
from tests.serving import crowd, heard

CHATS, TURNS = 50, 20
REQUESTS, SENDERS = 10_000, 4
CASES = 60  # of each operation, good and bad
TIMED = 300  # turns, one after the other
TURN = 100.0  # milliseconds of a turn at the 95th percentile
GROWTH = 16.0  # MB that 10,000 requests may leave


def run() -> bool:
    """Print what was found; whether all targets are met."""
    print("\nagent serve, a process of its own, the loopback model answering at once")
    with tempfile.TemporaryDirectory() as folder, OllamaServer([CHAT], strict=False) as model:
        model.answer = heard
        program = Program(Path(folder)).use(model)
        program.cold = True  # as a person starts it
        tokens = [program("serve", "callers", "add", name).out.strip() for name in ("one", "two")]
        with _running(program) as (process, address):
            return all(
                [
                    _timed(address, tokens[0]),
                    _crowded(program, address, tokens),
                    _described(address, tokens[0]),
                    _hostile(process.pid, address, tokens),
                ]
            )


def _timed(address: str, token: str) -> bool:
    """A conversation of many turns, each timed by the clock of the client."""
    times: list[float] = []
    session = None
    with httpx.Client(base_url=address, headers=_bearer(token), timeout=60, trust_env=False) as client:
        for number in range(TIMED):
            began = time.perf_counter()
            answer = client.post("/chat", json={"message": f"word {number}", "session": session})
            times.append(1000 * (time.perf_counter() - began))
            session = answer.json()["session"]
    slow = quantiles(times, n=20)[-1]
    told = f"p50 {median(times):6.1f} ms   p95 {slow:6.1f} ms"
    print(f"  {'a chat turn, as its client sees it':<34} {told}{_verdict(slow <= TURN)}")
    return slow <= TURN


def _crowded(program: Program, address: str, tokens: list[str]) -> bool:
    before = program.rows("select count(*) from message")[0][0]
    began = time.perf_counter()
    wrong = crowd(address, tokens, chats=CHATS, turns=TURNS)
    took = time.perf_counter() - began
    lost = 2 * CHATS * TURNS - (program.rows("select count(*) from message")[0][0] - before)
    print(f"  {f'{CHATS} chats of {TURNS} turns at once':<34} {CHATS * TURNS / took:6.1f} turns a second")
    print(f"  {'  mixed up':<34} {len(wrong):6}{_verdict(not wrong)}\n  {'  lost':<34} {lost:6}{_verdict(not lost)}")
    for sentence in wrong[:5]:
        print(f"    {sentence[:200]}")
    return not wrong and not lost


def _described(address: str, token: str) -> bool:
    api = httpx.get(f"{address}/openapi.json", headers=_bearer(token), trust_env=False).json()
    api["paths"].pop("/events")  # it has no end
    tried = hostile.against_description(api, address, _bearer(token), CASES)  # raises what is wrong
    print(f"  {'schemathesis, cases that pass':<34} {tried.total():6}{_verdict(True)}")
    return True


def _hostile(pid: int, address: str, tokens: list[str]) -> bool:
    """Requests of chance from several sides; the memory of the process after a tenth of them, and in the end."""
    got: Counter[int] = Counter()
    failed: list[str] = []

    def send(start: int, many: int) -> None:
        sender = hostile.Sender(address, [*tokens * 4, "wrong"], start)
        for _ in range(many):
            what, status = sender.send()
            got[status] += 1
            if status == 500:
                failed.append(what)
        sender.close()

    _at_once(send, REQUESTS // 10)
    before = _memory(pid)
    _at_once(send, REQUESTS)
    grown = _memory(pid) - before
    told = ", ".join(f"{many} of {status}" for status, many in sorted(got.items()) if status)
    print(f"  {f'{got.total()} hostile requests, of 500':<34} {len(failed):6}{_verdict(not failed)}  ({told})")
    print(f"  {'memory before, and what they left':<34} {before:6.1f} MB, {grown:+.1f} MB{_verdict(grown <= GROWTH)}")
    for what in failed[:5]:
        print(f"    {what[:200]}")
    return not failed and grown <= GROWTH


def _at_once(send, many: int) -> None:
    threads = [threading.Thread(target=send, args=(many + n, many // SENDERS)) for n in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _memory(pid: int) -> float:
    """Resident, in MB."""
    return int(subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True).stdout) / 1024


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _verdict(met: bool) -> str:
    return "  ok" if met else "  NOT"


@contextmanager
def _running(program: Program) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    process = program.start("serve", "--port", "0")
    try:
        line = next(line for line in process.stderr or () if "serving at" in line)
        yield process, line.split()[3]
    finally:
        process.terminate()
        process.communicate(timeout=60)
