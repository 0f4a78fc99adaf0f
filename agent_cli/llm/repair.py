"""What local models get wrong in a reply, repaired: thinking left in the text, endless repetition, printed tool calls.

Models print a call as text instead of calling, give arguments as a string, wrap them twice, or quote a number. Only
what can be read in one way is repaired. A reply that consists of calls of known tools is taken as calls; prose is never
searched for calls. Unknown names and arguments stay: the model gets an error for them and tries again.
"""

import json
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from typing import Any

from agent_cli.llm.model import Chunk, Done, PriorTextWasThinking, Text, Thinking
from agent_cli.messages import has_json_type
from agent_cli.text import Pattern

OPENING, CLOSING = "<think>", "</think>"

_THINK_TAG = re.compile(r"</?think>")
_QUOTES = ("`", "'", '"')

ParsedChunk = Text | Thinking | PriorTextWasThinking


class ThinkingParser:
    """Fed the content piece by piece; returns chunks of text and of thinking. Old servers and some templates leave
    `<think>` tags in the content: a block at its beginning is thinking. A closing tag alone means that all text before
    it was thinking, which `PriorTextWasThinking` takes back. No more is held back than could become a tag."""

    def __init__(self) -> None:
        self._buffer = ""
        self._last_character = ""  # the last character of text given out
        self.ignore_tags = False  # from here on tags are ordinary text
        self._state = "beginning"

    def feed(self, piece: str) -> list[ParsedChunk]:
        self._buffer += piece
        chunks: list[ParsedChunk] = []
        while self._buffer and self._step(chunks):
            pass
        return chunks

    def flush(self) -> list[ParsedChunk]:
        held, self._buffer = self._buffer, ""
        if not held or self._state in ("opened", "closed"):
            return []
        return [Thinking(held) if self._state == "inside" else Text(held)]

    def _step(self, chunks: list[ParsedChunk]) -> bool:
        """Consume what can be of the buffer in this state; whether there is more to do."""
        match self._state:
            case "beginning":
                start = self._buffer.lstrip()
                if start.startswith(OPENING):
                    self._buffer, self._state = start[len(OPENING) :], "opened"
                elif not OPENING.startswith(start):
                    self._state = "answer"
                return self._state != "beginning"
            case "opened" | "closed":
                self._buffer = self._buffer.lstrip()
                if self._buffer:
                    self._state = "inside" if self._state == "opened" else "answer"
                return bool(self._buffer)
            case "inside":
                thought, closed, answer = self._buffer.partition(CLOSING)
                if not closed:
                    thought, answer = _split_partial_tag(self._buffer)
                if thought:
                    chunks.append(Thinking(thought))
                self._buffer = answer
                if closed:
                    self._state, self.ignore_tags = "closed", True
                return bool(closed)
        tag = None if self.ignore_tags else _THINK_TAG.search(self._buffer)
        if not tag:
            text, self._buffer = (self._buffer, "") if self.ignore_tags else _split_partial_tag(self._buffer)
            self._emit(text, chunks)
            return False
        before = self._buffer[: tag.start()]
        if tag[0] == OPENING or (self._last_character + before).endswith(_QUOTES):
            self.ignore_tags = True  # the answer is about such tags
            return True
        self._emit(before, chunks)
        if self._last_character:
            chunks.append(PriorTextWasThinking())
        self._buffer, self._state, self.ignore_tags = self._buffer[tag.end() :], "closed", True
        return True

    def _emit(self, text: str, chunks: list[ParsedChunk]) -> None:
        if text:
            chunks.append(Text(text))
            self._last_character = text[-1]


def _split_partial_tag(buffer: str) -> tuple[str, str]:
    """The text before a possible partial tag, and that partial tag."""
    start = buffer.rfind("<")
    tail = buffer[start:] if start >= 0 else ""
    may_be_tag = tail and (OPENING.startswith(tail) or CLOSING.startswith(tail))
    return (buffer[:start], tail) if may_be_tag else (buffer, "")


FINISH = "repetition"
_TOO_MUCH = 80  # what has stood twice before in a row counts, when the reply is stopped
_RUN, _NEW = 4, 8
_ENDS = ("\n", ".", "!", "?", "。", "！", "？")
_TIMES_SAID, _SHORT = 3, 2  # how often a sentence may stand, and the words of one that may three times as often
_TIMES = 2  # that a run has stood before
_FAR = 400  # words between two places that are still one loop
_SINGLE = "\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af"  # characters of scripts without spaces, each a word
_WORD = Pattern(rf"\n|```|[{_SINGLE}]|[^\W\d_{_SINGLE}]{{1,12}}|\d{{1,6}}|[^\w\s]|_")
_UNFINISHED = Pattern(r"[^\W_]{0,24}`{0,3}\Z")
_LONGEST = 27  # characters of what is unfinished


class Repetition:
    """Notices when a small model has fallen into a loop, by runs of four words that have stood before: from the third
    time on each counts, and a new one takes back what eight counted, so that lists and refrains, where something
    changes, never add up. What has no letters or stands in a table counts a quarter, and code a third. A whole sentence
    ends it sooner: the third time, a very short one the ninth, with nothing new since the first."""

    def __init__(self) -> None:
        self._rest, self._number, self._begins, self._code = "", "", True, False
        self._words: list[str] = []
        self._places: dict[tuple[str, ...], list[int]] = {}
        self._score = 0.0
        self._sentence: list[str] = []
        self._sentences: dict[tuple[str, ...], tuple[int, int]] = {}  # how often since something new, and new ones then

    def feed(self, piece: str) -> bool:
        """Whether the text, with this piece, repeats itself without end."""
        text = self._rest + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
        end = unfinished.start() if unfinished else len(text)
        self._rest = text[end:]
        for each in _WORD.findall(text[:end]):
            if any(self._add(word) for word in self._uncounted(each)):
                return True
            if each in _ENDS and self._ends_repeated():
                return True
        return False

    def _ends_repeated(self) -> bool:
        """Whether the sentence or line that ends here has stood too often with nothing new between."""
        sentence, self._sentence = tuple(self._sentence), []
        said = "".join(sentence)
        letters = any(map(str.isalpha, said))
        if not said.strip("".join(_ENDS)) or self._code or "|" in said or (any(map(str.isdigit, said)) and not letters):
            return False
        times, of = self._sentences.get(sentence, (0, len(self._sentences) + 1))
        known = len(self._sentences) + (sentence not in self._sentences)
        times = times + 1 if of == known else 1
        self._sentences[sentence] = (times, known)
        return times >= (_TIMES_SAID if sum(map(str.isalpha, sentence)) > _SHORT else 3 * _TIMES_SAID)

    def _uncounted(self, word: str) -> Iterator[str]:
        """The word, without the number that a line of a list begins with: it makes no line a new one."""
        number, self._number = self._number, ""
        if word == "\n":
            self._score += bool(self._score and not self._begins)  # the end of a line that has stood before
            self._begins = True
        elif self._begins and not number and word.isdigit():
            self._number = word
        else:
            self._begins = False
            yield from filter(None, () if number and word in ".)" else (number, word))

    def _add(self, word: str) -> bool:
        self._code ^= word == "```"
        self._words.append(word)
        self._sentence.append(word)
        run, at = tuple(self._words[-_RUN:]), len(self._words)
        places = self._places.get(run, [])
        if len(places) == _TIMES and at - places[0] <= _FAR:
            table_or_figures = "|" in run or not any(word[0].isalpha() for word in run)
            self._score += 1 / 4 if table_or_figures else 1 / 3 if self._code else 1
        else:
            self._score = max(0.0, self._score - _NEW)
        self._places[run] = [*places, at][-_TIMES:]
        return self._score >= _TOO_MUCH


def without_repetition(chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The chunks of a reply until its text, or its thinking, repeats itself; then Done with the finish "repetition"."""
    text, thinking = Repetition(), Repetition()
    try:
        for chunk in chunks:
            yield chunk
            match chunk:
                case Text(piece) if text.feed(piece):
                    break
                case Thinking(piece) if thinking.feed(piece):
                    break
                case PriorTextWasThinking():
                    text = Repetition()
        else:
            return
    finally:
        if isinstance(chunks, Generator):
            chunks.close()
    yield Done(FINISH)


FENCE, OPEN_TAG, CLOSE_TAG = "```", "<tool_call>", "</tool_call>"

_NAME_KEYS = ("name", "function", "tool")
_ARGUMENT_KEYS = ("arguments", "parameters")
_CALL_KEYS = {*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id"}

Schemas = Mapping[str, Mapping[str, Any]]  # the JSON Schema of each tool's parameters, by the tool's name


def coerce_arguments(raw: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object, its values converted to the schema's types where the conversion is unambiguous."""
    raw = _parsed(raw)
    if not isinstance(raw, dict):
        return {}
    properties = schema.get("properties") or {}
    if len(raw) == 1 and (key := next(iter(raw))) in _ARGUMENT_KEYS and key not in properties:
        inner = _parsed(raw[key])
        raw = inner if isinstance(inner, dict) else raw
    meant: dict[str, Any] = {}
    for key, value in raw.items():
        # In other spelling, as minimumDaysAgo, or queryText for query.
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(key)).lower()
        snake = re.sub(r"\b(min|max)imum(?=_)", r"\1", snake)
        names = [each for each in (snake, snake.removesuffix("_text")) if each in properties and each not in raw]
        name = names[0] if names and key not in properties else str(key)
        meant[name] = _coerce(value, properties.get(name))
    return meant


def _coerce(value: Any, schema: Any) -> Any:
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    types = [declared] if isinstance(declared, str) else declared or []
    if not types or any(has_json_type(value, kind) for kind in types):
        return value
    for kind in types:
        if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and kind != "string":
            parsed = _parsed(value.strip().lower() if kind == "boolean" else value)
            if has_json_type(parsed, kind) and (parsed is not None or value == "null"):
                return parsed
    return value


def _parsed(value: Any) -> Any:
    """The value that a text is the JSON of, None where it is not JSON; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


class PrintedCallDetector:
    """Fed the chunks of a reply piece by piece; holds back the beginning of a text that may be a printed call."""

    def __init__(self, schemas: Schemas):
        self._schemas = schemas
        self._held = ""
        self._holding = bool(schemas)

    def feed(self, chunks: Iterable[ParsedChunk]) -> Iterator[ParsedChunk]:
        """The chunks whose text is certainly no call."""
        for chunk in chunks:
            if isinstance(chunk, PriorTextWasThinking):  # the answer begins here
                yield from self.flush()
                self._holding = bool(self._schemas)
            if not (isinstance(chunk, Text) and self._holding):
                yield chunk
                continue
            self._held += chunk.text
            if not _may_become_call(self._held, self._schemas) or _is_followed(self._held):
                yield from self.flush()

    def flush(self) -> Iterator[Text]:
        held, self._held, self._holding = self._held, "", False
        if held:
            yield Text(held)

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        return parse_calls(self._held, self._schemas)


_OPENERS = (OPEN_TAG, "```json", "```tool_call", "```tool_code", FENCE, "")


def _may_become_call(text: str, schemas: Schemas) -> bool:
    """Whether a reply that begins with `text` may become a printed call of one of the tools."""
    names = [f'"{name}"' for name in schemas]
    values = {
        '"name"': names,
        '"tool"': names,
        '"function"': ["{", *names],
        '"arguments"': ["{", '"'],
        '"parameters"': ["{", '"'],
        '"type"': ['"function"'],
        '"tool_calls"': ["["],
    }
    steps: list[Collection[str]] = [_OPENERS, ["{"], values, [":"]]
    for expected in steps:
        text = text.lstrip()
        if any(each.startswith(text) for each in expected):
            return True  # all that has arrived
        found = next((each for each in expected if text.startswith(each)), None)
        if found is None:
            return False
        text = text.removeprefix(found)
        if expected is values:
            steps.append(values[found])
    return True


def _is_followed(text: str) -> bool:
    """Whether other text follows the finished object, so that the reply is not a call."""
    if "}" not in text:
        return False
    try:
        _, end = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return False
    closing = FENCE if text.lstrip().startswith(FENCE) else CLOSE_TAG
    tail = text[end:].strip().removeprefix(closing).lstrip()
    return not any(each.startswith(tail) for each in (closing, OPEN_TAG)) and not tail.startswith(OPEN_TAG)


def parse_calls(text: str, schemas: Schemas) -> list[tuple[str, dict[str, Any]]]:
    """The calls (name, arguments) when the whole text consists of calls of known tools; else an empty list."""
    body = text.strip()
    if body.startswith(OPEN_TAG):
        blocks = [block for block in body.replace(CLOSE_TAG, "").split(OPEN_TAG) if block.strip()]
    else:
        fenced = re.fullmatch(r"```(?:json|tool_call|tool_code)?\s*+(.*\S|)\s*+```", body, re.DOTALL)
        blocks = [fenced[1] if fenced else body]
    calls: list[tuple[str, dict[str, Any]]] = []
    for value in map(_parsed, blocks):
        several = isinstance(value, dict) and set(value) == {"tool_calls"} and isinstance(value["tool_calls"], list)
        for each in value["tool_calls"] if several else [value]:
            call = each["function"] if isinstance(each, dict) and isinstance(each.get("function"), dict) else each
            if not isinstance(call, dict) or not set(call) <= _CALL_KEYS:
                return []
            name = next((call[key] for key in _NAME_KEYS if isinstance(call.get(key), str)), "")
            raw = _parsed(next((call[key] for key in _ARGUMENT_KEYS if key in call), None))
            if name not in schemas or not isinstance(raw, dict):
                return []
            calls.append((name, coerce_arguments(raw, schemas[name])))
    return calls
