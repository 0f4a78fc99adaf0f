"""What a summary loses: numbers, paths, addresses, commands and dates, lifted from a text word for word.

Of paths a model's summary was measured to keep a tenth, of numbers a fiftieth, of commands next to none.
"""

import re
from collections.abc import Iterable
from itertools import zip_longest

from agent_cli.text import Pattern

_MONTHS = (
    r"jan(?:uar[iy])?|jänner|feb(?:ruar[iy])?|mar(?:ch)?|märz|apr(?:il)?|may|mai|jun[ei]?|jul[iy]?|aug(?:ust)?"
    r"|sep(?:tember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?"
)
_LIFTED = Pattern(
    rf"""
      `[^`\n]{{2,120}}`                                              # a command
    | \bhttps?://[^\s<>"'”]+[^\s<>"'”.,;:!?)\]]                      # an address on the web
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+                      # of mail
    | (?<![\w/])(?:~|\.{{1,2}})?/[\w.@+-]+(?:/[\w.@+-]+)*/?          # a path
    | \b[A-Za-z]:\\[^\s"<>|]+                                        # and on Windows
    | \b\d{{4}}-\d\d(?:-\d\d)?(?:[T\ ]\d\d:\d\d)?\b                  # a date
    | \b\d{{1,2}}\.?(?:st|nd|rd|th)?\ (?:of\ )?(?:{_MONTHS})\b(?:\ \d{{4}})?
    | \b(?:{_MONTHS})\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?
    | (?<![\w.])(?:\+\d{{1,3}}|0\d{{2,4}})(?:[\ /-]\d{{2,9}})+\b  # a telephone number
    | (?<!\w)(?-i:[A-Z]{{1,5}})-?\d{{2,}}\w*(?:-\w+)*               # a flight, an invoice
    | (?:[€$£]\ ?)?(?<![\w.])\d+(?:[.,:]\d+)*(?:\ ?(?:%|‰|°C?|[€$£]|[A-Za-zµ]{{1,6}}\b))?   # a number with its unit
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = Pattern(r"(`[^`\n]{2,120}`|(?:(?!; ).)*)(?:; |\Z)")
_BARE = Pattern(r"\d{1,3}(?:st|nd|rd|th)?")  # says nothing alone
_NO_UNIT = Pattern(
    r"(?:an?|and|are|as|at|but|by|for|from|if|in|is|it|of|on|or|so|the|then|till|to|until|was|with"
    r"|ab|am|auf|aus|bei|bis|de[rsnm]|die|das|im|ist|mit|nach|oder|um|und|von|vor|zu)$"
)


def lift(text: str) -> list[str]:
    """The details of a text, each once, in their order."""
    return list(dict.fromkeys(filter(None, map(_trimmed, _LIFTED.findall(text)))))


def newest(texts: Iterable[str], characters: int) -> str:
    """The details of some texts, the newest first to be kept, in the order they were said, at most this long."""
    kept: list[str] = []
    room = characters
    for text in reversed(list(texts)):
        if room < 3:  # of thousands of messages most are not even looked at
            break
        for each in reversed(lift(text)):
            if each not in kept and len(each) + 2 <= room:
                room -= len(each) + 2
                kept.append(each)
    return "; ".join(reversed(kept))


def parts(told: str) -> list[str]:
    """Some details one by one; a command may hold what stands between them."""
    return [each for each in _PART.findall(told) if each]


def carried(told: Iterable[str], characters: int) -> str:
    """What some details of finer summaries become in a coarser one, at most this long: in turn one of each."""
    kept: list[str] = []
    room = characters
    for turn in zip_longest(*map(parts, told)):
        for each in turn:
            if each and each not in kept and len(each) + 2 <= room:
                room -= len(each) + 2
                kept.append(each)
    return "; ".join(kept)


def _trimmed(found: str) -> str:
    """Without a word behind a number that is no unit; nothing when only a small bare number is left."""
    found = found.strip().rstrip(".,;:!")
    number, _, unit = found.partition(" ")
    if number[:1].isdigit() and _NO_UNIT.match(unit.lower()):
        found = number
    return "" if _BARE.fullmatch(found) else found
