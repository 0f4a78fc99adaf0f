"""What is told, and how it is asked for: the values that the lists of each language are made of."""

import re
from collections.abc import Mapping, Sequence

from agent_cli.values import frozen


@frozen
class Told:
    """Something told on a day of the simulation, which begins with day 1.

    `holds`: what a row must contain to hold this truth, alternatives apart by |. `answer`: what a model says that knows
    it. `current`: whether it is the truth from this day on, and not that of another time.
    """

    day: int
    how: str  # typed, note, or the name of a file
    words: str
    holds: str
    answer: str
    current: bool = True


@frozen
class Thing:
    """Something a person tells once, perhaps tells otherwise later, and asks for again and again.

    Questions are apart by a slash: `asked` uses words with which it was told, `loosely` has few of them, mistakes, or
    leads there by a relation; behind a ~ only the meaning does. `wrong` is what a model says that makes it up.
    """

    key: str
    told: Sequence[Told]
    asked: str
    loosely: str
    wrong: str

    @property
    def wordings(self) -> Mapping[str, list[str]]:
        """By the way of asking."""
        others = phrases(self.loosely)
        by_meaning = [each.removeprefix("~") for each in others if each.startswith("~")]
        return {
            "told": phrases(self.asked),
            "loosely": [each for each in others if not each.startswith("~")],
            "by meaning": by_meaning,
        }

    def truth(self, day: int) -> Told:
        """What is true on that day."""
        return [each for each in self.told if each.current and each.day <= day][-1]

    def untrue(self, day: int) -> list[Told]:
        """What was told of another time."""
        now = self.truth(day)
        return [each for each in self.told if each.day <= day and each is not now and each.holds != now.holds]


@frozen
class Forgotten:
    """Something to be forgotten on the last day. `topic`: named by words; else by the handle of its row."""

    key: str  # of the thing
    words: Sequence[str]  # that no byte of the file may hold afterwards
    topic: str = ""


@frozen
class Period:
    """What the facts must say of a matter on any day from `since` to `until`: `holds`, and none of the other values."""

    matter: str
    holds: str  # alternatives apart by |; empty: none of the values
    since: str
    until: str


def typed(day: int, words: str, holds: str, answer: str = "", *, current: bool = True) -> Told:
    return Told(day, "typed", words, holds, answer or _repeated(words), current)


def note(day: int, words: str, holds: str, answer: str = "", *, current: bool = True) -> Told:
    return Told(day, "note", words, holds, answer or words, current)


def stands(day: int, name: str, words: str, holds: str, answer: str = "") -> Told:
    """In a file of that name."""
    return Told(day, name, words, holds, answer or words.rpartition("\n\n")[2])


def _repeated(words: str) -> str:
    """What a model says that repeats what was told."""
    said = re.sub(
        r"^(?:remember(?: that)?|note that|don't forget that|merk dir(?: bitte)?, dass|merk dir):? ",
        "",
        words,
        flags=re.I,
    )
    return re.sub(r"\bI am\b", "you are", re.sub(r"\bmy\b", "your", re.sub(r"\bI have\b", "you have", said)))


def contains(row: str, holds: str) -> bool:
    """Whether a row holds one of the alternatives."""
    folded = " ".join(row.split()).casefold()
    return any(each.casefold() in folded for each in holds.split("|"))


def phrases(listed: str) -> list[str]:
    """What is listed with a slash between."""
    return listed.split(" / ")
