"""What was recalled for a question, compared with the truth of that day.

A row is right when it holds the current truth in the person's words: a message in which something was told, a fact, a
note, a piece of a file, a summary. A reply that says the same is neither right nor wrong. Empty are questions,
greetings and replies that know nothing; wrong is what a model made up; outdated is what holds at another time.
"""

from collections.abc import Mapping, Sequence

from agent_cli.values import frozen
from benchmarks.life.lists import Thing, contains
from benchmarks.life.person import Recalled

FIRST = 5  # among so many memories the right one must be
EMPTY = ("question", "no answer", "small talk")
BAD = (*EMPTY, "wrong", "outdated")
FILE = "section"


@frozen
class Label:
    """What a message is: told, question, no answer, small talk, answer, wrong, talk; and about which thing."""

    name: str
    key: str = ""
    holds: str = ""  # of an answer: what was true when it was given


@frozen
class Asked:
    """A question and what was recalled for it: the judgement of each row beside it."""

    day: int
    question: str
    thing: Thing
    wording: str  # told, loosely, by meaning
    rows: Sequence[tuple[str, Recalled]]

    @property
    def found(self) -> bool:
        """Whether the right memory is among the first five, or among the pieces of files, which are listed apart."""
        memories = [judged for judged, row in self.rows if row.kind != FILE]
        files = [judged for judged, row in self.rows if row.kind == FILE]
        return "right" in memories[:FIRST] + files

    @property
    def bad(self) -> list[str]:
        """What is wrong, outdated or empty before the first right row; all that is, where none is right."""
        judged = [each for each, _ in self.rows]
        before = judged[: judged.index("right")] if "right" in judged else judged
        return [each for each in before if each in BAD]

    @property
    def cause(self) -> str:
        """Why it is no good answer, in words by which misses are grouped."""
        if not self.rows:
            return "nothing was recalled"
        if not self.found:
            return f"the right one is missing, shown are {', '.join(dict.fromkeys(each for each, _ in self.rows))}"
        return f"right, but after {', '.join(dict.fromkeys(self.bad))}"


def judge(thing: Thing, day: int, recalled: Sequence[Recalled], labels: Mapping[int, Label]) -> list[str]:
    """The judgement of each row."""
    return [_judge(thing, day, row, labels.get(row.row) if row.kind == "message" else None) for row in recalled]


def _judge(thing: Thing, day: int, row: Recalled, label: Label | None) -> str:
    if label and label.name in EMPTY:
        return label.name
    if label and label.name == "wrong":
        return "wrong" if label.key == thing.key else "other"
    if label and label.name == "talk":
        return "other"
    truth = thing.truth(day).holds
    if label and label.name == "answer" and label.key == thing.key:
        return "repeated" if label.holds == truth else "outdated"
    if contains(row.text, truth):
        return "repeated" if label and label.name == "answer" else "right"
    if any(contains(row.text, each.holds) for each in thing.untrue(day)):
        return "outdated"
    return "other"
