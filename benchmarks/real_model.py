"""The smallest real model (SmolLM2-135M), in a process of our own: the wait for the first word, and its loops.

What it says is nonsense; how long it reads, and that what repeats itself is ended, is real.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from agent_cli.agent.jobs import worker
from agent_cli.agent.loop import Question
from agent_cli.app import background, turns, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.llm import local, repair
from agent_cli.llm.model import Cancel, Done, Text
from agent_cli.memory.conversations import sessions
from agent_cli.messages import Message, Part
from benchmarks.first_word import _TOLD

WORDS = 12  # tokens of each answer: only the first is waited for
MORE = 1.2  # times that a question may wait longer with learning than without
LOOPS, REPEATED = 20, 200  # how many are looked at, and tokens that one may have
_LOOPING = (
    "Repeat forever: {0} {0} {0}",
    "Say {0} again and again without end: {0} {0} {0} {0}",
    "{0} {0} {0} {0} {0} {0} {0} {0}",
    "Write the word {0} a thousand times.",
)
_SOUNDS = ("la", "lard", "yes", "no", "blue", "one two", "row", "hey", "tick", "ba")


def run(options: Sequence[str] = ()) -> bool:
    """Print the figures; whether the targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks real_model")
    parser.add_argument("--turns", type=int, default=20, help="questions of each conversation")
    given = parser.parse_args(options)
    if not local.is_small_ready():
        print(f"\nthe small model is not installed: {local.INSTALL} and {local.INSTALL_SMALL}")
        return False
    with _opened(learns=True) as app:
        loops, asked = _loops(app)
        learning = _talk(app, given.turns)
    with _opened(learns=False) as app:
        none = _talk(app, given.turns)
    print("\nseconds until the first word of a real model")
    for name, waits in (("nothing learned", none), ("learned from after each", learning)):
        later = statistics.median(waits[1:])
        print(f"  {name:<26} first {waits[0]:>6.2f}, then median {later:>6.2f}, longest {max(waits[1:]):>6.2f}")
    share = statistics.median(learning[1:]) / statistics.median(none[1:])
    print(f"  learning makes it longer by {share - 1:.0%}{' ok' if share <= MORE else ' NOT (≤ 20 %)'}")
    met = len(loops) == LOOPS and max(loops) <= REPEATED
    median = statistics.median(loops or [0])
    verdict = "ok" if met else f"NOT ({LOOPS}, each ≤ {REPEATED})"
    print(
        f"  {len(loops)} of {asked} requests led into a loop; {median:g} tokens were repeated in the median, at most "
        f"{max(loops, default=0)}, before it was ended {verdict}"
    )
    return met and share <= MORE


@contextmanager
def _opened(*, learns: bool) -> Iterator[App]:
    """An empty file, and a process of the model that ends with it."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            "AGENT_DB": str(Path(folder) / "memory.db"),
            "AGENT_CONFIG": str(Path(folder) / "none.toml"),
            "AGENT_LEARN": "ask" if learns else "off",
            "AGENT_ENGINE": "local",
            "AGENT_MODEL": local.SMALL,
            "AGENT_LOCAL_IDLE": "1",
            "AGENT_ANSWER_TOKENS": str(WORDS),
            "AGENT_NUM_CTX": str(4096 + learns),  # a process of its own, which has read nothing yet
        }
        app = open_app({}, print, environ=environ)
        try:
            yield app
        finally:
            app.db.close()


def _talk(app: App, questions: int) -> list[float]:
    """Seconds until the first word of each answer; what is queued runs after each."""
    session, waits = sessions.start(app.db, app.scope, app.time()), []
    for number in range(questions):
        at_work, began = turns.tool_context(app, app.db, session), time.monotonic()
        first = 0.0
        for event in turns.run(app, Question(at_work, [Part(_TOLD[number % len(_TOLD)], "typed")], at_keyboard=True)):
            if not first and type(event).__name__ == "TextArrived":
                first = time.monotonic() - began
        waits.append(first or time.monotonic() - began)
        upkeep.after_turn(app, app.db)
        context = background.job_context(app, app.db, Cancel())
        worker.queue_due(context)
        while worker.run_one(context):
            pass
    return waits


def _loops(app: App) -> tuple[list[int], int]:
    """How many tokens each loop repeated until it was ended, and how many requests it took to see so many."""
    engine = replace(app.engine, options={"temperature": 0}, answer_tokens=1000)  # type: ignore[type-var]
    lengths: list[int] = []
    prompts = [each.format(sound) for each in _LOOPING for sound in _SOUNDS]
    for number, asked in enumerate(prompts, 1):
        *words, done = repair.without_repetition(engine.chat(local.SMALL).reply([Message("user", asked)]))
        repeated = _repeated([chunk.text for chunk in words if isinstance(chunk, Text)])
        if isinstance(done, Done) and (done.finish == repair.FINISH or repeated > REPEATED):
            lengths.append(repeated)
        if len(lengths) == LOOPS:
            return lengths, number
    return lengths, len(prompts)


def _repeated(tokens: list[str]) -> int:
    """How many tokens came since its last words were written for the first time."""
    text = "".join(tokens)
    first = text.index("".join(tokens[-6:])) + len("".join(tokens[-6:]))
    lengths = accumulate(map(len, tokens))
    return sum(length > first for length in lengths)
