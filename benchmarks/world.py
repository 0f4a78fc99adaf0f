"""Messages, vectors and questions that are made up, the same at every run."""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from agent_cli.memory.scope import PERSON, Scope

DIMENSION = 768
PORTION = 25_000  # messages made at once

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope(PERSON, "/home/someone")


@dataclass
class World:
    """What messages, vectors and questions are drawn from: the same at every run."""

    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def __post_init__(self) -> None:
        drawn = random.Random(3)
        syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
        made = ("".join(drawn.choices(syllables, k=drawn.choice((2, 2, 3, 3, 4)))) for _ in range(200_000))
        self.words = np.array(list(dict.fromkeys(made))[:30_000])
        weights = 1 / np.arange(1, len(self.words) + 1)
        self.sums = np.cumsum(weights / weights.sum())
        self.centres = _units(self.chance.standard_normal((2000, DIMENSION)))

    def sessions(self, first: int, count: int, long: int = 0) -> list[str]:
        """So many messages, as JSON lines. `long`: the words of each tenth."""
        lines = []
        for start in range(first, first + count, 50):
            began = NOW - timedelta(days=3000) + timedelta(minutes=3 * start)
            drawn = [self._drawn(long if long and n % 10 == 1 else 25) for n in range(50)]
            messages = [
                {
                    "id": f"{start}:{n}",
                    "role": ("user", "assistant")[n % 2],
                    "content": " ".join(drawn[n]),
                    "at": (began + timedelta(seconds=40 * n)).isoformat(),
                }
                for n in range(50)
            ]
            line = {"id": str(start), "title": "", "started_at": began.isoformat(), "messages": messages}
            lines.append(json.dumps(line) + "\n")
        return lines

    def _drawn(self, count: int) -> Any:
        return self.words[np.searchsorted(self.sums, self.chance.random(count))]

    def vectors(self, count: int) -> Any:
        centres = self.centres[self.chance.integers(0, len(self.centres), count)]
        return _units(centres + self.chance.standard_normal((count, DIMENSION)) * 0.03)

    def question(self, profile: str) -> str:
        if profile == "Zipf":
            return " ".join(self._drawn(6))
        ranks = {"common": [(15, 60)] * 6, "rare": [(2000, 30_000)] * 6}
        ranks["mixed"] = [(15, 60)] * 2 + [(200, 1000)] * 2 + [(2000, 30_000)] * 2
        return " ".join(self.words[self.chance.integers(low, high)] for low, high in ranks[profile])


def _units(made: Any) -> Any:
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
