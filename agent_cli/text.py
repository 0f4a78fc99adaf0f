"""Makes text from outside safe and small enough to show; splits it into words and sentences.

Everything from outside passes through `clean` on its way to a terminal, a pipe or JSON: a control character must never
drive the terminal, and a hidden one never make a person approve something other than what they see.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any


class Pattern:
    """A regular expression that is compiled when first used. `words`, in lower case: whatever matches contains one of
    them. A text without any need not have it compiled, nor one for which `hint` is false."""

    def __init__(
        self, pattern: str, flags: int = 0, words: Sequence[str] = (), hint: Callable[[str], bool] | None = None
    ):
        self._arguments, self._words, self._hint = (pattern, flags), words, hint

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(*self._arguments)

    def _may_match(self, text: str) -> bool:
        if "_compiled" in self.__dict__:
            return True
        if self._hint:
            return self._hint(text)
        lower = text.lower() if self._words else ""
        return not self._words or any(word in lower for word in self._words)

    def __call__(self, text: str) -> bool:
        return self.search(text) is not None

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.search(text, start) if self._may_match(text) else None

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.match(text, start) if self._may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text) if self._may_match(text) else None

    def findall(self, text: str) -> list[str]:
        return self._compiled.findall(text) if self._may_match(text) else []

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text) if self._may_match(text) else iter(())

    def sub(self, instead: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._compiled.sub(instead, text, count) if self._may_match(text) else text

    def split(self, text: str) -> list[str]:
        return self._compiled.split(text) if self._may_match(text) else [text]


# C0 without newline and tab, DEL, C1; bidi embeddings, overrides, isolates and marks; surrogates; tag characters.
_UNSAFE = Pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)
# Characters without width, which could hide content. The joiners of emoji and of Persian go only beside ASCII.
_UNSEEN = Pattern(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f]|\\Z)|(?<=[\ufe0e\ufe0f\u200c\u200d])[\ufe0e\ufe0f]"
)
FENCE = "⟦", "⟧"
"""What begins and ends the program's own words in a prompt. Nobody else can write them: see `unfenced`."""
_LIKENESS = 0.75  # of a mistyped name to the one that was meant
_WITHOUT_FENCE = str.maketrans({FENCE[0]: "[[", FENCE[1]: "]]"})
_NO_FENCE = str.maketrans(dict.fromkeys(FENCE))
_SURROGATE = Pattern("[\ud800-\udfff]")
_SENTENCE_END = Pattern(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？]+[」』”’）]*|\n+")
_ABBREVIATED = Pattern(
    r"\b(?:dr|mr|mrs|ms|prof|st|vs|no|nr|ca|approx|bzw|cf|inc|ltd|corp|jr|sr|al|fig|vol|dept|est|vgl|ggf|evtl|inkl|bspw"
    r"|sog|mag|dipl|ing|geb|abs|tel|\w\.\w|[a-z]|\d{1,2})\.$",
    re.IGNORECASE,
)
_ABBREVIATION_ROOM = 16  # characters, longer than any abbreviation
_ENDED = Pattern(r"[.!?…。！？][\"'”’»)\]]*$")
QUOTED = Pattern(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|»[^«»\n]*«"
    r"|(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)‘[^‘’\n]+’(?!\w)|^(?: {4}|\t| {0,3}>)[^\n]*",
    re.DOTALL | re.MULTILINE,
)
"""Quotations and code."""
_WORD = Pattern(r"\w+")
_PIECE = 2000  # characters of an item


def clean(text: str) -> str:
    """The text without control, bidi and tag characters and lone surrogates; CRLF and CR become newlines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines if lines.replace("\n", "").replace("\t", "").isprintable() else _UNSAFE.sub("", lines)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {change(str(key)): map_texts(item, change) for key, item in value.items()}
        case list() | tuple():
            return [map_texts(item, change) for item in value]
        case _:
            return value


def visible(text: str) -> str:
    """Cleaned, and without characters of no width: what is approved must be what is seen."""
    cleaned = clean(text)
    return cleaned if cleaned.isascii() else _UNSEEN.sub("", cleaned)


def unseen(text: str) -> set[int]:
    """The places of the characters that `visible` leaves out."""
    found = () if text.isascii() else (*_UNSAFE.finditer(text), *_UNSEEN.finditer(text))
    return {place for each in found for place in range(*each.span())}


def unfenced(text: str) -> str:
    """Cleaned, with two brackets for each mark of a fence, so that it can neither begin nor end one in a prompt."""
    return clean(text).translate(_WITHOUT_FENCE)


def without_fences(text: str) -> str:
    """The text without the marks of fences, which a model may have copied from its prompt."""
    return text.translate(_NO_FENCE)


def fenced(words: str) -> str:
    """Words of the program in a prompt, between its own marks. What is quoted in them must be `unfenced`."""
    return f"{FENCE[0]} {words} {FENCE[1]}"


def fenced_quote(heading: str, quote: str) -> str:
    """A text from outside in a prompt, as a block below a heading that says what it is."""
    return f"{FENCE[0]} {heading}:\n{unfenced(quote)}\n{FENCE[1]}"


def fenced_lines(lines: Sequence[str]) -> str:
    return f"{FENCE[0]} {unfenced(chr(10).join(lines))}\n{FENCE[1]}"


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which cannot be stored."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def one_line(text: str, limit: int = 80) -> str:
    """Cleaned, on one line, cut with an ellipsis to at most `limit` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def first_words(text: str, limit: int) -> str:
    """The same, cut between two words, unless a word is very long."""
    line = one_line(text, limit)
    if not line.endswith("…") or " ".join(clean(text).split())[len(line) - 1 :][:1] == " ":
        return line
    words = line.rpartition(" ")[0].rstrip(" ,;:–-")
    return f"{words}…" if len(words) > limit // 2 else line


def nearest(typed: str, names: Iterable[str]) -> str:
    """The name that was probably meant by a mistyped one; empty when none is like it."""
    from difflib import get_close_matches  # only where something is wrong

    return next(iter(get_close_matches(typed, names, 1, _LIKENESS)), "")


def capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 day`, `2 days`. `many`: an irregular plural."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def listed(items: Sequence[str], most: int) -> str:
    """The first items, and how many more there are: `a, b and 3 more`."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def format_size(count: float) -> str:
    for unit, many in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= many:
            return f"{count / many:.1f} {unit}"
    return f"{count:.0f} B"


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped. Titles, initials and ordinals ("Dr.", "3.") do not end a sentence."""
    return [text[start:end] for start, end in sentence_spans(text)]


def first_sentences(text: str, count: int) -> str:
    """The text up to the end of its `count`-th sentence, with its blanks."""
    spans = sentence_spans(text)[:count]
    return text[: spans[-1][1]] if spans else ""


def split_sentences(text: str) -> list[str]:
    """The text cut after each sentence; joined, the pieces are the text."""
    pieces, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if not _ABBREVIATED.search(text[max(start, end.end() - _ABBREVIATION_ROOM) : end.end()]):
            pieces.append(text[start : end.end()])
            start = end.end()
    return [*pieces, text[start:]]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(Start, end) of each sentence of a text, without the blanks around it."""
    spans, end = [], 0
    for piece in split_sentences(text):
        end += len(piece)
        if piece.strip():
            spans.append((end - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())))
    return spans


def with_full_stop(sentence: str) -> str:
    return sentence if _ENDED.search(sentence) else f"{sentence}."


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def tokens(text: str) -> int:
    """The estimated tokens of a text, rather too many: one for four ASCII characters or for one other character."""
    plain = len(text) if text.isascii() else sum(character < "\x80" for character in text)
    return (plain + 3) // 4 + len(text) - plain


def condense(text: str, handle: str, items: int = 5, characters: int = 2000) -> str:
    """A tool result shortened for the model: the first items of a long list, else the beginning of a long text."""
    listed = _items(text)
    shown, last = _fitting(listed[:items] if len(listed) > 2 * items else listed, characters)
    if last == len(listed):
        return text
    rest = f"items {last + 1}–{len(listed)} left out: timeline with around {handle}, first {last + 1} reads on"
    return f"{shown.rstrip()}\n… {handle}: {rest}"


def page(text: str, handle: str, first: int = 1, characters: int = 6000) -> str:
    """The items of a text from `first` on, as many as fit, and how to read on. Raises ValueError when it has fewer."""
    listed = _items(text)
    if not 1 <= first <= max(1, len(listed)):
        raise ValueError(f"{handle} has {len(listed)} items")
    shown, count = _fitting(listed[first - 1 :], characters)
    last = first - 1 + count
    if first == 1 and last == len(listed):
        return text
    more = f": first {last + 1} reads on" if last < len(listed) else ""
    return "\n".join([shown.rstrip("\n"), f"[{handle}: items {first}–{last} of {len(listed)}{more}]"])


def _items(text: str) -> list[str]:
    """The rows of a list in JSON or the lines of a text, each with the blank lines after it; very long ones in pieces.
    What stands around the list, and a heading with a colon, belong to the first."""
    listed = _json_rows(text)
    for line in () if listed else text.splitlines(keepends=True):
        if line.strip() and listed and not (len(listed) == 1 and listed[0].rstrip().endswith(":")):
            listed.append(line)
        else:
            listed = [*listed[:-1], (listed[-1] if listed else "") + line]
    return [each[start : start + _PIECE] for each in listed for start in range(0, len(each), _PIECE)]


_JSON = Pattern(r"^[ \t]*+[\[{]", re.MULTILINE)


def _json_rows(text: str) -> list[str]:
    """The rows of the longest list in the JSON that a text ends with; an empty list where there is none."""
    try:
        if not (begins := _JSON.search(text)):
            return []
        value, end = json.JSONDecoder().raw_decode(text, begins.end() - 1)
        inner, lists = [value], []
        for each in inner:
            if isinstance(each, list) and len(each) > 1:
                lists.append(each)
            else:
                inner += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if not lists or text[end:].strip(" \n`"):
            return []
        longest = max(lists, key=len)
        rows = [f"{json.dumps(row, ensure_ascii=False)}\n" for row in longest]
        longest[:] = ["…"]
        around = "" if longest is value else f"{json.dumps(value, ensure_ascii=False)}\n"
    except (ValueError, RecursionError):
        return []
    return [text[: begins.start()] + around + rows[0], *rows[1:]]


def _fitting(items: Sequence[str], characters: int) -> tuple[str, int]:
    """The first items that fit, at least one, joined; and their number."""
    count = max(1, sum(end <= characters for end in accumulate(map(len, items))))
    return "".join(items[:count]), min(count, len(items))
