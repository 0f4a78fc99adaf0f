"""Two people at terminals and a runner of jobs that is killed again and again, all on one file.

For the suite and the benchmark. What must be left: every question and answer once, one summary of each closed session,
every proposal once, no job open.
"""

import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests import facts
from tests.conftest import CHAT, Program
from tests.memory.facts.test_fact_extraction import answer as operations
from tests.memory.facts.test_fact_extraction import operation
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer
from tests.terminal import CTRL_D, ENTER

TURNS = 4  # of a session
IDLE = "0.3"  # seconds after which a session runs jobs itself
_READING = 0.01  # seconds that the model takes for a word of a job: long enough to be killed in
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass
class Outcome:
    """What was counted, and what is wrong."""

    turns: int = 0
    sessions: int = 0
    kills: int = 0
    begun: int = 0  # times a job was begun
    jobs: int = 0
    proposals: int = 0
    summaries: int = 0
    wrong: list[str] = field(default_factory=list)


def run(home: Path, seconds: float, seed: int) -> Outcome:
    """Let them talk for so long, then finish what is queued and look at what is left."""
    outcome, program, over = Outcome(), Program(home), threading.Event()
    program.env |= {"AGENT_IDLE_SECONDS": IDLE}
    with OllamaServer(models=[CHAT], strict=False) as server:
        server.answer = answer
        program.use(server)
        program("sessions", "list")  # makes the file
        killer = threading.Thread(target=_kill, args=(program, random.Random(seed), over, outcome))
        talkers = [threading.Thread(target=_talk, args=(program, name, over, outcome)) for name in ("ann", "bob")]
        for thread in (killer, *talkers):
            thread.start()
        time.sleep(seconds)
        over.set()
        for thread in (*talkers, killer):
            thread.join()
        program("jobs", "run", "--until-idle", timeout=120)
        outcome.wrong += server.problems
    _check(program, outcome)
    return outcome


def answer(body: dict[str, Any]) -> script.Script:
    """A word in answer to a question; to the job that reads it a proposal, to others a sentence."""
    asked = body["messages"][-1]["content"]
    learns = facts.are_asked_for(body)
    if not body.get("format") and not learns:
        own = re.search(r"^My friend (\w+)", asked, re.MULTILINE)  # what is recalled stands within a line
        named = re.search(r"My friend (\w+)", asked)
        said = f"I see {own[1]}." if own and body.get("tools") else f"They spoke of {named[1] if named else 'nobody'}."
        return script.reply(said, delay=_READING)
    if not learns:
        return script.reply('{"skill": null}')
    shown = "\n".join(each["content"] for each in body["messages"] if each["role"] == "user")
    said = re.findall(r"^(?:PERSON: )?(My friend [^.\n]*)", shown, re.MULTILINE)
    return script.reply(operations(*(operation(statement=each, quote=each) for each in said)), delay=_READING)


def names() -> Iterator[str]:
    """Names that no two turns share."""
    chance = random.Random(7)
    return ("".join(chance.choices(_SYLLABLES, k=4)).title() + f"{number:x}" for number in count())


def _talk(program: Program, who: str, over: threading.Event, outcome: Outcome) -> None:
    """Say something, wait for the answer, now and then begin a new session."""
    shell = program.at_terminal()
    try:
        shell.wait_prompt()
        for number, name in enumerate(names()):
            if over.is_set():
                break
            shell.enter(f"My friend {who}{name} lives in {name}stadt.").wait(f"I see {who}{name}.").wait_prompt()
            outcome.turns += 1
            if number % TURNS == TURNS - 1:
                shell.enter("/new").wait("is closed and kept").wait_prompt().type("\x0c").wait_prompt()
        shell.type(CTRL_D if shell.text.endswith("❯") else ENTER + CTRL_D)
        shell.ended()
    except AssertionError as error:
        outcome.wrong.append(f"{who}: {error}")
    finally:
        shell.close()


def _kill(program: Program, chance: random.Random, over: threading.Event, outcome: Outcome) -> None:
    """Run jobs beside them, and kill the runner at a random moment."""
    while not over.is_set():
        process = program.start("jobs", "run", stdin=subprocess.DEVNULL)
        over.wait(chance.uniform(1.0, 4.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        outcome.kills += 1


def _check(program: Program, outcome: Outcome) -> None:
    said = Counter(text for (text,) in program.rows("select text from message where role = 'user'"))
    replies = program.rows("select text, finish from message where role = 'assistant'")
    facts = Counter(text for (text,) in program.rows("select statement from fact"))
    summaries = Counter(id for (id,) in program.rows("select session_id from summary where grain = 'session'"))
    closed = Counter(id for (id,) in program.rows("select session_id from event where kind = 'session closed'"))
    jobs = program.rows("select kind, subject, state, attempts, error from job where kind in ('summary', 'learn')")
    outcome.sessions, outcome.jobs, outcome.begun = len(closed), len(jobs), sum(job[3] for job in jobs)
    outcome.proposals, outcome.summaries = sum(facts.values()), sum(summaries.values())
    wrong = outcome.wrong
    wrong += [f"said {many} times: {text}" for text, many in said.items() if many != 1]
    wrong += [f"{len(said)} of {outcome.turns} turns are kept"] * (len(said) != outcome.turns)
    wrong += [f"cut: {text!r}" for text, finish in replies if finish != "stop"]
    wrong += [f"{len(replies)} replies to {outcome.turns} turns"] * (len(replies) != outcome.turns)
    wrong += [f"proposed {many} times: {text}" for text, many in facts.items() if many != 1]
    wrong += [f"never proposed: {text}" for text in said if text.strip(".") not in facts]
    wrong += [f"s{id} was summarised {many} times" for id, many in summaries.items() if many != 1]
    wrong += [f"s{id} was closed {many} times" for id, many in closed.items() if many != 1]
    wrong += [f"closed without a summary: s{id}" for id in closed if id not in summaries]
    wrong += [f"job left: {job}" for job in jobs if job[2] != "done"]
    wrong += [f"integrity: {found}" for (found,) in program.rows("pragma integrity_check") if found != "ok"]
