"""The days themselves: what is told, asked and chatted on each, drawn with a fixed seed."""

import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent_cli.app.app import open_app
from agent_cli.memory.review.review import Proposal
from benchmarks.life import chatter, english, german, judging
from benchmarks.life.judging import Asked, Label
from benchmarks.life.lists import Thing, contains
from benchmarks.life.model import Model
from benchmarks.life.person import Person, Said
from tests.conftest import CHAT, Program
from tests.ollama_server.server import OllamaServer

DAYS = 70
QUESTIONS = 8  # a day
WAYS = {"told": 0.75, "loosely": 0.17, "by meaning": 0.08}  # how they are worded, and how often
ANSWERS = {"no answer": 0.45, "answer": 0.35, "wrong": 0.2}  # what the model does, and how often
THINGS = (*english.THINGS, *german.THINGS)
SEED = 15


class Life:
    """The simulation, and what it has seen."""

    def __init__(self, person: Person, model: Model, chance: random.Random):
        self.person, self.model, self._chance = person, model, chance
        self.labels: dict[int, Label] = {}  # by message
        self.asked: list[Asked] = []
        self.verdicts: list[tuple[str, str, str]] = []  # kind of question, question, verdict
        self.small_talk: list[tuple[str, Said]] = []
        self.turns = 0
        self._deck: list[Thing] = []
        self._unsearched: list[tuple[str, str]] = []  # kind of question, question

    def live(self) -> None:
        for day in range(1, DAYS + 1):
            self._morning(day)
            asked = self._questions(day, 12) + self._questions(day, 19)
            self._evening(day, asked)
            self.person.set_clock(day + 1, 3)
            self.person.wait()

    def _say(self, words: str, label: Label, answer: str, answered: Label, cites: str = "") -> Said:
        self.model.says, self.model.cites = answer, cites
        said = self.person.say(words)
        self.labels |= {said.message: label, said.reply: answered}
        self.turns += 1
        return said

    def _morning(self, day: int) -> None:
        self.person.set_clock(day, 7, 30)
        self._talk_small()
        for told in (each for thing in THINGS for each in thing.told if each.day == day and each.words):
            if told.how == "note":
                self.person.command(f"/note {told.words}")
            elif told.how == "typed":
                self._say(told.words, Label("told"), self._chance.choice(chatter.ACKNOWLEDGED), Label("small talk"))
            else:
                self.person.add_file(told.how, told.words)
        self.person.leave()

    def _questions(self, day: int, hour: int) -> list[Asked]:
        self.person.set_clock(day, hour)
        asked = [self._ask(thing, day) for thing in self._things(day, QUESTIONS // 2)]
        if day % 2 == hour % 2:
            paragraphs = self._chance.sample(chatter.PARAGRAPHS, 5)
            question = self._chance.choice(chatter.WORLD)
            self._say(question, Label("question"), "\n\n".join(paragraphs), Label("talk"))
        self._talk_small()
        self.person.leave()
        return asked

    def _things(self, day: int, many: int) -> Iterator[Thing]:
        """The next to ask for: each of those told before is asked for equally often."""
        told = [each for each in THINGS if each.told[0].day < day]
        for _ in range(many if told else 0):
            if not self._deck:
                self._deck = self._chance.sample(told, len(told))
            yield self._deck.pop()

    def _ask(self, thing: Thing, day: int) -> Asked:
        words = {way: thing.wordings[way] for way in WAYS if thing.wordings[way]}
        wording = self._chance.choices([*words], [WAYS[way] for way in words])[0]
        question = self._chance.choice(words[wording])
        way = self._chance.choices([*ANSWERS], [*ANSWERS.values()])[0]
        truth = thing.truth(day)
        answer = {"no answer": self._chance.choice(chatter.UNKNOWN), "answer": truth.answer, "wrong": thing.wrong}[way]
        cites = truth.holds if way == "answer" else ""
        said = self._say(question, Label("question", thing.key), answer, Label(way, thing.key, truth.holds), cites)
        judged = judging.judge(thing, day, said.recalled, self.labels)
        self.asked.append(Asked(day, question, thing, wording, list(zip(judged, said.recalled, strict=True))))
        return self.asked[-1]

    def _evening(self, day: int, asked: Sequence[Asked]) -> None:
        """Ask what was never told, say good night; at times review what waits, and search for all that was asked."""
        self.person.set_clock(day, 21)
        never = [("never", self._chance.choice(chatter.NEVER))]
        if day > DAYS // 2:
            never.append(("near", self._chance.choice(chatter.NEAR)))
        for _, question in never:
            invented = self._chance.random() < 0.2
            answer = "It is 42, I believe." if invented else self._chance.choice(chatter.UNKNOWN)
            self._say(question, Label("question"), answer, Label("wrong" if invented else "no answer"))
        self._talk_small()
        self.person.leave()
        self._unsearched += [(each.wording, each.question) for each in asked] + never
        if day % 5 == 0:
            self.person.review(lambda proposal: _decision(proposal, day))
            self.search(self._unsearched)
            self._unsearched = []

    def search(self, questions: Sequence[tuple[str, str]]) -> None:
        """Ask `agent search` for the verdict on (kind, question)."""
        said = self.person.verdicts([question for _, question in questions])
        self.verdicts += [(*each, verdict) for each, verdict in zip(questions, said, strict=True)]

    def _talk_small(self) -> None:
        words = self._chance.choice(chatter.SMALL_TALK)
        said = self._say(words, Label("small talk"), self._chance.choice(chatter.PLEASANT), Label("small talk"))
        self.small_talk.append((words, said))


def _decision(proposal: Proposal, day: int) -> str:
    """What a person answers who knows what is true: r where an outdated fact is shown beside it."""
    for thing in (each for each in THINGS if each.told[0].day <= day):
        if thing.truth(day).words and contains(proposal.statement, thing.truth(day).holds):
            outdated = [each.holds for each in thing.untrue(day)]
            return "r" if any(contains(known.statement, each) for known in proposal.known for each in outdated) else "y"
    return "y"


@contextmanager
def begun() -> Iterator[Life]:
    """A life to be lived, in a folder of its own; in memory where the system has such folders, for speed."""
    before, here = dict(os.environ), Path.cwd()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    model = Model([each for thing in THINGS for each in thing.told])
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        OllamaServer(models=[CHAT], strict=False) as server,
    ):
        server.answer = model.answer
        program = Program(Path(folder)).use(server)
        os.chdir(program.work)
        os.environ.clear()
        os.environ.update(program.env | {"AGENT_NOW": "2026-05-31T08:00:00+02:00"})
        app = open_app({}, lambda line: None)
        try:
            yield Life(Person(app, program.work), model, random.Random(SEED))
        finally:
            app.db.close()
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)
