"""An answer with everything that has ever broken a screen: for the tests of the renderer and its benchmark.

Each of its words carries a number, so that what is missing or stands twice can be counted on any screen.
"""

import itertools
import random

PARAGRAPHS, LINES = 60, 70
HUGE = 2_000_000  # characters of the long line

_WORDS = "the router keeps an address for each host and printer which a lease of the network may give back late".split()
_WIDE = ("你好世界", "今日は", "안녕하세요", "👩‍👩‍👧", "👍🏽", "é", "ﷺ", "❤️", "עברית", "🇩🇪")
_OPEN = ("**never closed", "a `tick", "2 * 3 * 4", "_half", "[no link", "__init__", "snake_case_name", "5 < 6 | 7")


def words(seed: int = 1) -> list[str]:
    """The numbered words of `text`, in order."""
    return [word for word in text(seed).split() if _numbered(word)]


def _numbered(word: str) -> bool:
    return word.startswith("w") and word[1:].isdigit()


def text(seed: int = 1) -> str:
    chance, number = random.Random(seed), itertools.count()

    def some(count: int) -> str:
        told = []
        for word in chance.choices(_WORDS, k=count):
            told.append(word if chance.random() < 0.5 else f"w{next(number)}")
        return " ".join(told)

    def paragraph(n: int) -> str:
        marked = f"**{some(3)}** and *{some(2)}* with `code {n}`"
        told = f"{some(20)} {marked} {chance.choice(_WIDE)} {some(15)} {chance.choice(_OPEN)} {some(10)}"
        match n % 6:
            case 0:
                return f"## {some(3)}\n\n{told}."
            case 1:
                return "\n".join(f"- {some(18)}\n  - {some(4)}" for _ in range(3))
            case 2:
                return f"> {told}\n\n1. {some(16)}\n2. {some(5)}"
            case 3:
                return f"{told} [{some(2)}](https://example.org/{n}) {some(8)}\n{''.join(chance.choices(_WIDE, k=60))}"
        return told

    def table() -> str:
        rows = [f"| {some(2)} | {chance.choice(_WIDE)} | {n} |" for n in range(5)]
        return "\n".join([f"| {some(1)} | b | c |", "| --- | :-: | --: |", *rows])

    code = "\n".join(
        f'    value_{n} = compute("{n}", depth={n})  # w{next(number)}' if n % 5 else "" for n in range(LINES)
    )
    pieces = [paragraph(n) for n in range(PARAGRAPHS)]
    pieces.insert(20, f"```python\ndef run():\n{code}\n```")
    pieces.insert(40, table())
    return "\n\n".join(pieces) + "\n"
