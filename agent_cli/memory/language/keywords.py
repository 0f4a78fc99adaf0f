"""What is particular in a text: rare words that give it away, such as names; what to search for when checking that an
erased text is gone; and details that summaries lose.

For the check lines and words are both needed: a line may be split at a page of the file, and an index stores single
words. Details are extracted word for word: a model's summary keeps a tenth of the paths and a fiftieth of the numbers.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, zip_longest

from agent_cli.memory.language import languages, spans, terms
from agent_cli.text import Pattern
from agent_cli.values import frozen

MOST = 12  # words looked for
MOST_ROWS = 100  # rows that have any of them: a person can still look through these
_MIN_LENGTH = 3
_MIN_PREFIX, _LONGEST_ENDING = 4, 3  # characters: Graz is found in Grazer, art is not found in artist
_WORD = Pattern(r"\w+")
_ACCENTS = Pattern(r"[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; the marks of kana make other syllables
_EVERYDAY = Pattern(rf"{languages.alternatives('EVERYDAY')}|(?:19|20)\d\d")  # years as well
MIN_STATEMENT = 6  # characters of a statement worth searching for
MIN_LINE = 12  # characters of a line worth searching for
MIN_PERSONAL = 20  # characters from which a line is the person's own and not a common phrase
_MAX_SEARCHED = 48  # characters of a line that are searched for
_MAX_LOOPED = 200  # terms up to which each is searched for by itself
_LONG_WORD = Pattern(r"\w{4,}")
_MONTHS = spans.SHORT_MONTH
_DETAIL = Pattern(
    rf"""
      `[^`\n]{{2,120}}`                                              # command
    | \bhttps?://[^\s<>"'”]+[^\s<>"'”.,;:!?)\]]                      # URL
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+                      # mail address
    | (?<![\w/])(?:~|\.{{1,2}})/[\w.@+-]+(?:/[\w.@+-]+)*/?           # path
    | (?<![\w/])/[\w.@+-]+(?:(?:/[\w.@+-]+)+/?|/)                  # path of two names, as one may be a slash command
    | \b[A-Za-z]:\\[^\s"<>|]+                                        # path on Windows
    | \b\d{{4}}-\d\d(?:-\d\d)?(?:[T\ ]\d\d:\d\d)?\b                  # date
    | \b\d{{1,2}}\.?(?:st|nd|rd|th)?\ (?:of\ )?(?:{_MONTHS})\b(?:\ \d{{4}})?
    | \b(?:{_MONTHS})\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?
    | (?<![\w.])(?:\+\d{{1,3}}|0\d{{2,4}})(?:[\ /-]\d{{2,9}})+\b  # telephone number
    | (?<!\w)(?-i:[A-Z]{{1,5}})-?\d{{2,}}\w*(?:-\w+)*               # flight, invoice
    | (?P<number>(?:[€$£]\ ?)?(?<![\w.])\d+(?:[.,:]\d+)*(?:\ ?(?:%|‰|°C?|[€$£]|[A-Za-zµ]{{1,6}}\b))?)  # with its unit
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = Pattern(r"((?:`[^`\n]{2,120}`|(?!; ).)*+)(?:; |\Z)")
_SMALL_NUMBER = Pattern(r"\d{1,3}(?:st|nd|rd|th)?")  # without meaning alone
_UNITS = ("am", "d", "m", "s", "t")  # which are also words
_CLAUSE_END = Pattern(r"[,;.!?…](?=\s)|[()\n]")
_LEADING = 5  # words in front of a detail, which give it sense
_LONGEST_DETAIL = 60  # characters of several that are one

Stems = Callable[[Iterable[str]], list[list[str]]]
"""The stems of each of several texts."""


@frozen
class Keywords:
    """The words to look for. `together`: none of them is rare, so a text must have all of them."""

    words: Sequence[str] = ()
    together: bool = False

    def __bool__(self) -> bool:
        return bool(self.words)

    @property
    def shown(self) -> str:
        return " ".join(self.words) if self.together else ", ".join(self.words)


NO_KEYWORDS = Keywords()


def plain(text: str) -> str:
    """The text case folded and without accents."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))


def choose(texts: Iterable[str], count: Callable[[str], int] = lambda word: 0, limit: int = MOST_ROWS) -> Keywords:
    """The keywords of texts, names first, then the rarest. `count`: of the remembered rows that have a word."""
    found: dict[str, bool] = {}
    for text in texts:
        for number, word in enumerate(_WORD.findall(text)):
            name = (number > 0 and word[:1].isupper()) or any(each.isdigit() for each in word)
            form = word.casefold()
            if form not in terms.STOP_WORDS and plain(form) not in terms.STOP_WORDS and len(form) >= _MIN_LENGTH:
                found[plain(form)] = found.get(plain(form), False) or name
    counts = {word: count(word) for word in found if not _EVERYDAY.fullmatch(word)}
    rare = sorted((word for word in counts if counts[word] <= limit), key=lambda word: (not found[word], counts[word]))
    totals = accumulate(counts[word] for word in rare)
    chosen = tuple(word for word, total in zip(rare[:MOST], totals, strict=False) if total <= MOST_ROWS)
    return Keywords(chosen) if chosen else Keywords(tuple(found)[:MOST], together=True)


class KeywordMatcher:
    """Finds words in texts, in any inflection. `contains`: whether a form of a word is wanted."""

    def __init__(self, keywords: Keywords, stems: Stems):
        self._keywords = keywords
        self._stems = stems
        self._unspaced = [word for word in keywords.words if terms.unspaced_runs(word)]
        words = zip(keywords.words, stems(keywords.words), strict=True)
        self._forms = {form: word for word, tokens in words for form in (word, *tokens)}
        prefixes = sorted({form[: max(_MIN_LENGTH, len(form) - 1)] for form in self._forms})
        self._prefix = re.compile("|".join(map(re.escape, prefixes)) or r"(?!)")
        self._known: dict[str, str] = {}  # the keyword that a word is a form of

    def may_match(self, text: str) -> bool:
        return bool(self._prefix.search(text))

    def found_in(self, text: str) -> frozenset[str]:
        """The keywords that a plain text has; with `together`, all or none."""
        words = set(_WORD.findall(text))
        unknown = [word for word in words if word not in self._known and self.may_match(word)]
        for word, tokens in zip(unknown, self._stems(unknown), strict=True):
            self._known[word] = self.keyword_of(forms(word, tokens))
        found = {self._known[word] for word in words if self._known.get(word)}
        found.update(word for word in self._unspaced if word in text)
        return frozenset() if self._keywords.together and len(found) < len(self._keywords.words) else frozenset(found)

    def keyword_of(self, forms: Sequence[str]) -> str:
        """The keyword that is one of these forms of a word; empty when none is. A receipt knows only their hashes."""
        return next((self._forms[each] for each in forms if each in self._forms), "")


def forms(word: str, stems: Sequence[str]) -> list[str]:
    """What a word may be a form of: itself, its stems, and its beginnings without an ending."""
    shortest = max(_MIN_PREFIX, len(word) - _LONGEST_ENDING)
    return [word, *stems, *(word[:length] for length in range(len(word) - 1, shortest - 1, -1))]


@frozen
class SearchTerms:
    """Lines and words, case folded."""

    lines: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.lines or self.words)

    def found_in(self, folded: str) -> set[str]:
        """The terms in a folded text. When there are many lines, only whole lines of the text count."""
        many_lines, many_words = (len(each) > _MAX_LOOPED for each in (self.lines, self.words))
        lines = {*line_ends([folded])} & self.lines if many_lines else {each for each in self.lines if each in folded}
        words = {*_LONG_WORD.findall(folded)} & self.words if many_words else {e for e in self.words if e in folded}
        return lines | words

    def without(self, excluded: Iterable[str]) -> "SearchTerms":
        excluded = set(excluded)
        return SearchTerms(self.lines - excluded, self.words - excluded)


def fold(text: str) -> str:
    """The text case folded, blanks collapsed within each line and removed at its ends."""
    return "\n".join(" ".join(line.split()) for line in text.casefold().splitlines())


def line_ends(texts: Iterable[str]) -> list[str]:
    """What to search for of each line: all of a short one, the beginning and the end of a long one."""
    found: dict[str, None] = {}
    for text in texts:
        for line in fold(text).split("\n"):
            if len(line) >= MIN_LINE:
                found[line[:_MAX_SEARCHED].strip()] = None
                found[line[-_MAX_SEARCHED:].strip()] = None
    return list(found)


def distinctive_words(texts: Iterable[str]) -> list[str]:
    """The words that are not stop words, case folded."""
    found = dict.fromkeys(word for text in texts for word in _LONG_WORD.findall(text.casefold()))
    return [word for word in found if word not in terms.STOP_WORDS]


def topic_matcher(topic: str, tokens: Callable[[str], list[str]]) -> Callable[[str], bool]:
    """A test whether a text mentions a topic literally, or has all its words. `tokens`: the stems of a text."""
    literal, runs = fold(topic), terms.unspaced_runs(topic)
    stems = {stem for word in terms.content_words(topic) for stem in tokens(word)}

    def mentions(words: str) -> bool:
        if literal in fold(words):
            return bool(literal)
        return bool(stems or runs) and all(run in words for run in runs) and stems <= set(tokens(words))

    return mentions


def details(text: str) -> list[str]:
    """The details of a text, each once, in order, with the words in front that give them sense. Those of a clause that
    stand near each other are one. A number without other words says nothing."""
    spans: list[tuple[int, int]] = []
    for match in _DETAIL.finditer(text):
        if not (detail := _trimmed(match[0])):
            continue
        before = spans[-1][1] if spans else 0
        between = text[before : match.start()]
        clause = _CLAUSE_END.split(between)[-1]
        pieces = clause.rsplit(maxsplit=_LEADING)
        leading = clause[len(pieces[0]) :] if len(pieces) > _LEADING else clause
        end = match.start() + match[0].index(detail) + len(detail)
        if spans and leading == between and end - spans[-1][0] <= _LONGEST_DETAIL:
            spans[-1] = spans[-1][0], end
            continue
        # The words from the first one on that says something; if none does, all from two on ("I have").
        words = list(_WORD.finditer(leading))
        telling = [word for word in words if word[0].casefold() not in terms.STOP_WORDS] or words[: len(words) - 1]
        if telling or match.lastgroup != "number":
            spans.append((match.start() - (len(leading) - telling[0].start() if telling else 0), end))
    return list(dict.fromkeys(text[start:end] for start, end in spans))


def newest_details(texts: Iterable[str], characters: int, summary: str = "") -> str:
    """The details of texts that a summary lacks, in order; beyond `characters` those of the oldest are dropped."""
    found = (each for text in reversed(list(texts)) for each in reversed(details(text)))
    return "; ".join(reversed(_fitting(found, characters, summary)))


def is_lacking(detail: str, summary: str) -> bool:
    """Whether a summary does not say all that is particular in a detail, such as its numbers."""
    particular = filter(None, (_trimmed(found[0]) for found in _DETAIL.finditer(detail)))
    return any(not re.search(rf"(?<!\w){re.escape(each)}(?!\w)", summary, re.IGNORECASE) for each in particular)


def split_details(joined: str) -> list[str]:
    """The single details of a joined text; a command in backquotes may itself contain "; "."""
    return [each for each in _PART.findall(joined) if each]


def merge_details(texts: Iterable[str], characters: int, summary: str = "") -> str:
    """The details of several texts that a summary lacks as one, taking one of each in turn, up to `characters`."""
    found = filter(None, chain.from_iterable(zip_longest(*map(split_details, texts))))
    return "; ".join(_fitting(found, characters, summary))


def _fitting(found: Iterable[str], room: int, summary: str) -> list[str]:
    """The first details that a summary lacks, as many as there is room for."""
    chosen: list[str] = []
    for each in found:
        if each not in chosen and len(each) + 2 <= room and is_lacking(each, summary):
            room -= len(each) + 2
            chosen.append(each)
        if room < 3:  # most of thousands of messages are never read
            break
    return chosen


def _trimmed(detail: str) -> str:
    """Drops a word after a number that is no unit; empty when only a small number is left."""
    detail = detail.strip().rstrip(".,;:!")
    number, _, unit = detail.partition(" ")
    if number[:1].isdigit() and unit.lower() in terms.STOP_WORDS and unit.lower() not in _UNITS:
        detail = number
    return "" if _SMALL_NUMBER.fullmatch(detail) else detail
