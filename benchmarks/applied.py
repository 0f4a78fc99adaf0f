"""What of what a person told is in the request for the question that calls for it.

Each question is put as `agent ask` puts it, and the request that a model would get is read. Facts were accepted, each
as the person typed it; messages were only said. The data are folders as for `recall --data`; of `prefeval` the evidence
is a preference, and the question asks for advice that must heed it.
"""

import argparse
import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import fmean

from agent_cli import kinds
from agent_cli.agent import prompt_recall
from agent_cli.agent.model_context import Agent
from agent_cli.app import turns, upkeep
from agent_cli.app.app import App, open_app
from agent_cli.llm.offline import ScriptedModel
from agent_cli.memory.facts import adoption
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part
from benchmarks.applied_pairs import GERMAN, WISHES
from benchmarks.recall import lines
from benchmarks.world import NOW

PARTS = ("profile", "recalled")  # of a request, which memory adds for a question
COUNTS = (16, 50, 163, 1000)  # facts that were accepted
LEAST = {16: 98.0, 50: 85.0, 163: 60.0, 1000: 0.0}  # per cent of questions whose fact is in the request


@dataclass
class Tally:
    """What was counted of some questions."""

    found: list[float] = field(default_factory=list)  # the share of the evidence of each in its request
    wishes: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # that memory takes in each request
    recalled: list[int] = field(default_factory=list)  # of these, what was recalled
    nothing: list[bool] = field(default_factory=list)  # whether nothing answers it, perhaps apart from preferences
    told_so: list[bool] = field(default_factory=list)  # whether the model is told that nothing is kept


def run(options: Sequence[str]) -> bool:
    """Print what the requests hold; True when all limits are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks applied")
    parser.add_argument("--data", type=Path, help="a folder with locomo, beam and prefeval; without it: German alone")
    parser.add_argument("--only", default="", help="german, accepted, said, locomo or beam")
    given = parser.parse_args(options)
    os.environ["TZ"] = "UTC"
    met = [_german()] if given.only in ("", "german") else []
    if given.data and given.only in ("", "accepted"):
        met += [_accepted(given.data, count) for count in COUNTS]
    if given.data and given.only in ("", "said"):
        met.append(_told("preferences only said", _conversations(given.data / "prefeval"), found=70.0))
    if given.data and given.only in ("", "locomo"):
        met.append(_told("locomo", _conversations(given.data / "locomo"), found=72.0, nothing=55.0))
    if given.data and given.only in ("", "beam"):
        met.append(_told("beam", _conversations(given.data / "beam"), found=58.0, nothing=85.0))
    return all(met)


def _german() -> bool:
    """All pairs at once: what is beyond the profile must be recalled."""
    with _memory() as app:
        handles = _accept(app, [fact for fact, _ in GERMAN])
        asked = [(question, [handle]) for (_, question), handle in zip(GERMAN, handles, strict=True)]
        return _told(f"German, {len(GERMAN)} facts accepted", [(_ask(app, asked, ()), Tally())], found=85.0)


def _accepted(data: Path, count: int) -> bool:
    """So many facts at a time, and the questions that call for one of them."""
    pairs = list(_preferences(data / "prefeval"))
    stated = list(dict.fromkeys(preference for preference, _ in pairs))
    others = [
        json.loads(line)["statement"]
        for path in sorted((data / "locomo").glob("*.facts.jsonl"))
        for line in lines(path.parent, path.name.removesuffix(".facts.jsonl"), "facts")
    ]
    tallies = []
    for first in range(0, len(stated), count):
        chosen = stated[first : first + count] if len(stated) - first >= count else stated[-count:]
        with _memory() as app:
            wishes = _accept(app, WISHES)
            further = dict.fromkeys(others[: max(0, count - len(chosen))])
            handles = dict(zip([*further, *chosen], _accept(app, [*further, *chosen]), strict=True))
            asked = [(question, [handles[told]]) for told, question in pairs if told in chosen]
            tallies.append((_ask(app, asked, wishes), Tally()))
    return _told(f"{count} facts accepted", tallies, found=LEAST[count], wishes=100.0)


def _preferences(folder: Path) -> Iterator[tuple[str, str]]:
    """(a preference as it was stated, a question that calls for it)."""
    for path in sorted(folder.glob("*.sessions.jsonl")):
        name = path.name.removesuffix(".sessions.jsonl")
        said = {
            each["id"]: each["content"]
            for line in lines(folder, name, "sessions")
            for each in json.loads(line)["messages"]
        }
        for line in lines(folder, name, "questions"):
            asked = json.loads(line)
            yield said[asked["evidence"][0]], asked["question"]


def _conversations(folder: Path) -> Iterator[tuple[Tally, Tally]]:
    """For each conversation what its own questions, and those of others, bring into the request."""
    for path in sorted(folder.glob("*.sessions.jsonl")):
        name = path.name.removesuffix(".sessions.jsonl")
        with _memory() as app:
            transfer.import_lines(app.db, app.scope, lines(folder, name, "sessions"), name, app.time, print)
            upkeep.prepare_search(app, app.db)
            for _ in app.embedders.fill(app.db):
                pass
            numbers = dict(app.db.rows("select external_id, id from message"))
            own, strangers = (
                [json.loads(line) for line in lines(folder, name, of)] for of in ("questions", "strangers")
            )
            asked = [(each["question"], [f"m{numbers[id]}" for id in each["evidence"]]) for each in own]
            yield _ask(app, asked, ()), _ask(app, [(each["question"], []) for each in strangers], ())


@contextmanager
def _memory() -> Iterator[App]:
    """A program with a new file."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.toml")
        config.write_text(f'db = "{folder}/memory.db"\nhost = "127.0.0.1:9"\n')
        app = open_app({}, lambda notice: None, config_file=config, environ={"HOME": folder})
        app.time = lambda: NOW
        try:
            yield app
        finally:
            app.db.close()


def _accept(app: App, statements: Iterable[str]) -> list[str]:
    """Accept facts, a minute after one another; returns their handles."""
    handles = []
    for number, each in enumerate(statements):
        moment = NOW - timedelta(days=30) + timedelta(minutes=number)
        claim = adoption.claim(each, "typed")
        handles.append(adoption.add(MemoryContext(app.db, app.scope, lambda now=moment: now), claim).fact.handle)
    upkeep.prepare_search(app, app.db)
    return handles


def _ask(app: App, asked: Iterable[tuple[str, Sequence[str]]], wishes: Sequence[str]) -> Tally:
    """Put questions, each with the handles of its evidence."""
    agent: Agent = turns.agent(app, ScriptedModel([]))
    tally = Tally()
    for question, evidence in asked:
        shown = turns.preview(app, app.db, agent, None, [Part(question, "typed")], "ask")
        request = "\n".join(each.content for each in shown.messages[1:])
        held = set(re.findall(r"\b[fm]\d+\b", request.replace(question, "")))
        tally.found.append(len(held & set(evidence)) / (len(evidence) or 1))
        tally.wishes.append(len(held & set(wishes)) / (len(wishes) or 1))
        tally.tokens.append(sum(shown.sizes.get(part, 0) for part in PARTS))
        tally.recalled.append(shown.sizes.get("recalled", 0))
        tally.nothing.append(kinds.MEMORY not in request)
        tally.told_so.append(prompt_recall.VERDICTS["nothing"] in request)
    return tally


def _told(
    what: str, pairs: Iterable[tuple[Tally, Tally]], found: float, nothing: float = 0.0, wishes: float = 0.0
) -> bool:
    """Print what was counted of own questions and of strangers'."""
    own, strangers = Tally(), Tally()
    for pair in pairs:
        for whole, part in zip((own, strangers), pair, strict=True):
            for name in vars(whole):
                getattr(whole, name).extend(getattr(part, name))
    share, mean, most = 100 * fmean(own.found), fmean(own.tokens), max(own.tokens)
    print(f"{what}: {len(own.found)} questions")
    met = [_row("in the request", share, found)]
    room = (1200, 1500) if nothing else (math.inf, math.inf)  # with many facts the profile has its own budget
    met += [_row("tokens of memory, mean", mean, room[0], most=True)]
    met += [_row("tokens of memory, most", most, room[1], most=True)]
    if wishes:
        met.append(_row("wishes in the request", 100 * fmean(own.wishes), wishes))
    if strangers.found:
        met.append(_row("nothing, strangers", 100 * fmean(strangers.nothing), nothing))
        print(f"  {'nothing, own':<28} {100 * fmean(own.nothing):7.1f}")
        told_so = (100 * fmean(each.told_so) for each in (strangers, own))
        print("  {:<28} {:7.1f}, own {:.1f}".format("and the model is told so", *told_so))
        ratio = fmean(strangers.recalled) / fmean(own.recalled)
        met.append(_row("recalled, strangers / own", ratio, 0.5 if nothing else math.inf, most=True))
    return all(met)


def _row(name: str, value: float, limit: float, *, most: bool = False) -> bool:
    met = value <= limit if most else value >= limit
    print(f"  {name:<28} {value:7.1f}  {'≤' if most else '≥'} {limit:g} {'ok' if met else 'NOT'}", flush=True)
    return met
