"""Finds the sentences that ask to remember or forget something ("merk dir, dass …") by rules, and what each is about.
Only at the beginning of a typed sentence, or in it behind "and", "but" or a comma, outside quotations and code. A
question asks for nothing, unless it is a polite request ("can you remember that I …?"). What is to be done ("remember
to buy milk") is no statement."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from agent_cli import text
from agent_cli.memory.conversations import readings
from agent_cli.memory.language import languages, statements
from agent_cli.messages import Origin, Part
from agent_cli.values import frozen

MAX_STATEMENT = 600  # characters; a longer text is a note
_PASTE_EDGE = 2000  # characters read at either end of a long paste
_NEAR = 150  # characters within which the words for a request stand behind "and"
_GIVEN: tuple[Origin, ...] = ("pasted", "piped", "file")  # what the person hands over with a message

Bounds = tuple[int, int]
"""Where a piece of text starts and ends."""

RequestKind = Literal["statement", "wish", "given", "to do", "reminder", "forget", "too long", "unclear"]
"""What is asked for: to keep a statement; to answer in some way from now on; to keep a statement that was not typed,
which nobody asked for; to do something; to be reminded of something; to forget something; to keep what is too long for
a fact; to remember something that the sentence does not say."""


@frozen
class MemoryRequest:
    statement: str  # what it is about, in the person's words and on one line; perhaps empty
    quote: str  # the same exactly as in the message
    trust: Origin
    kind: RequestKind = "statement"
    this_place: bool = False  # whether it holds in this project or folder alone


_OPENING = r"(?:<PLEASE>\b[,!]?\s++){0,9}+"
_LATER = r"(?:\s++<FOR_LATER>\b|,\s++<POLITE_END>\b)*+"
_REMEMBER = languages.pattern(rf"{_OPENING}(?:(?P<question><REMEMBER_QUESTION>)|<REMEMBER>|(?P<note><NOTE>))\b{_LATER}")
# "remember that": the sentence before
_REFERENCE = languages.pattern(rf"(?:\s*+,)?\s++<THAT_BEFORE>{_LATER}(?:,\s++<POLITE_END>)?[\s.!?]*+$")
_BEFOREHAND = languages.pattern(  # "I live in Graz, remember that"
    rf"(?P<statement><STATEMENT>.*?)(?:[,;–—]|\s-)\s*+{_OPENING}<REMEMBER>{_LATER}(?:\s++<THAT_BEFORE>)?{_LATER}[\s.!]*+$"
)
_THINGS_PAST = languages.pattern(r"(?:<REMIND_TO>\b)?[\s,]*+<THINGS_PAST>")
_TO_DO = languages.pattern(r"\s*+<TO_DO>")
_HERE = languages.pattern(r"\b<HERE>\b")
_STANDING, _ANSWERING = languages.pattern(r"<STANDING>\b"), languages.pattern(r"<ANSWERING>")
_FOLLOWS = languages.pattern(  # the last: "remember my name is …"
    r"\s*+(?:,\s*+)?<THAT>\b[,:]?|(?P<colon>\s*+(?:<AS_FOLLOWS>\s*+)?:)|[\s,]++(?=<STATEMENT>)"
)
_CLAUSE = languages.pattern(r"<THAT>\s++(?=<STATEMENT>)")
STATEMENT = languages.pattern(r"\s*+<STATEMENT>")  # how it begins
_OWN_STATEMENT = languages.pattern(r"\s*+<OWN_STATEMENT>")
_DO_NOT_FORGET = languages.pattern(r".*<DO_NOT_FORGET>")
_FURTHER_REQUEST = languages.pattern(r"(?<!\s)(?:\s*+[,;])?\s++<FURTHER_REQUEST>.*$")
_POLITE_END = languages.pattern(r"(?<![\s,])(?:[\s,]++<POLITE_END>){1,9}+[.!]*+$")
_REMIND = languages.pattern(rf"{_OPENING}(?P<request><REMIND>)\b,?\s*+")
_REMIND_AT = languages.pattern(
    rf"{_OPENING}(?P<request>(?P<when>\S.{{1,60}}?),?\s++(?:<PLEASE>\s++)?<REMIND>)\b,?\s*+(?!<REMIND_OF>\b)"
)
_REMIND_SOMEHOW = languages.pattern(  # "remind me before Christmas to …"
    rf"{_OPENING}<REMIND>\b(?!,?\s++<REMIND_OF>\b)(?:(?!\b(?:<ASKED>)\b)[^.!?]){{1,80}}?\s<REMIND_TO>\b"
)
_REMIND_TO = languages.pattern(r"<REMIND_TO>\b")
_FORGET = languages.pattern(rf"{_OPENING}<FORGET>\s*+<FORGETTABLE>")
_ASKS = (
    rf"{_OPENING}(?:<REMIND>\b|(?:(?:<REMEMBER>|<REMEMBER_QUESTION>){_LATER}|<FORGET>)(?:,?\s++<THAT>\b|\s*+:)"
    r"|<NOTE>,?\s++<THAT>\s++<OWN_STATEMENT>|<DO_NOT_FORGET>\s*+<TO_DO>)"
)
_REQUEST = languages.pattern(_ASKS)
_AND = r"(?<!\s)[,;]?\s++(?=<JOINT>\b)"
_JOINT = languages.pattern(
    rf"{_AND}|(?<=\d[.!?])\s++|(?P<bare>[,;–—]|(?<=\s)-)\s++(?!<JOINT>\b)"
)  # or behind "Tom is 40."
_CONDITION = languages.pattern(r"<CONDITION>\b[^,]*+")
_NO_REQUEST = languages.pattern(r"\b<NO_REQUEST>")
_BEHIND_COLON = languages.pattern(rf"(?:\n|(?:(?<=[.!?])\s++|{_AND})(?={_ASKS})).*$")


def requests(parts: Sequence[Part]) -> list[MemoryRequest]:
    """What the typed sentences of a message ask for, in order; then the statements that others ask to remember."""
    found = list(dict.fromkeys(_typed_requests(parts)))
    for part in parts:
        given = [Part(_without_middle(part).text, "typed")] if part.origin in _GIVEN else []
        for each in _typed_requests(given):
            if each.kind == "statement" and not any(each.quote in other.quote for other in found):
                found.append(MemoryRequest(each.statement, each.quote, part.origin, "given"))
    return found


def only_asks(parts: Sequence[Part]) -> bool:
    """Whether a typed message asks to remember or to forget something, in each sentence, and nothing else."""
    if any(part.origin != "typed" for part in parts):
        return False
    plain = _masked(parts).replace("’", "'")
    found = [_find(plain, each, (0, 0), parts) for each in text.sentence_spans(plain)]
    answered = all(each is not None and each[0] in ("statement", "to do", "reminder", "forget") for each in found)
    return bool(found) and answered and not _FURTHER_REQUEST.search(plain)


def parse_argument(words: str) -> MemoryRequest:
    """What the person asks for who gives these words to a command that remembers."""
    if (reminder := _reminder(words)) is not None:
        return MemoryRequest(words[reminder:], words, "typed", "reminder")
    to_do, clause = _TO_DO.match(words), _CLAUSE.match(words)
    is_wish = to_do and _is_wish(words[to_do.end() :])
    if to_do and (is_wish or not STATEMENT.match(words)):
        return MemoryRequest(words[to_do.end() :], words, "typed", "statement" if is_wish else "to do")
    statement = statements.main_clause(words[clause.end() :]) if clause else words
    kind: RequestKind = "statement" if statements.states_something(statement) else "unclear"
    return MemoryRequest(statement, words, "typed", kind)


def capture(parts: Sequence[Part]) -> list[MemoryRequest]:
    """The statements that the typed sentences of a message ask to remember, in order."""
    return [each for each in requests(parts) if each.kind == "statement"]


def typed_sentences(parts: Sequence[Part]) -> list[str]:
    """The typed sentences outside quotations and code that neither ask nor request; none for a very long message."""
    whole = "".join(part.text for part in parts)
    if len(whole) > 2 * _PASTE_EDGE:  # too long for a command
        return []
    plain = _masked(parts)
    spans = [each for each in _sentences(plain, parts) if readings.trust(parts, *each) == "typed"]
    found = [slice(*each) for each in spans if not _find(plain, each, each, parts)]
    return [whole[at] for at in found if plain[at] == whole[at] and not whole[at].endswith("?")]


def seems_to_remind(parts: Sequence[Part]) -> bool:
    """Whether a typed sentence begins like a request for a reminder, of which perhaps no time is understood."""
    plain = _masked(parts).replace("’", "'")
    spans = text.sentence_spans(plain) if languages.mentions(plain, "MEMORY_WORDS") else ()
    return any(plain[end - 1] != "?" and _REMIND_SOMEHOW.match(plain[start:end]) for start, end in spans)


def _typed_requests(parts: Sequence[Part]) -> Iterator[MemoryRequest]:
    parts = [_without_middle(part) for part in parts]
    whole, plain, before = "".join(part.text for part in parts), _masked(parts).replace("’", "'"), (0, 0)
    for sentence in _sentences(plain, parts):
        if found := _find(plain, sentence, before, parts):
            kind, span = found
            this_place = _HERE.search(plain[sentence[0] : span[0]]) is not None
            yield replace(_request(whole, kind, span, parts), this_place=this_place)
        before = sentence


def _sentences(plain: str, parts: Sequence[Part]) -> Iterator[Bounds]:
    """(Start, end) of each sentence; one ends where "and", "but" or a comma begins a request, but not at the commas
    with which a request itself begins: "Tomorrow at 9, please remind me to call Bob"."""
    for start, end in text.sentence_spans(plain):
        words, bounds = plain[start:end], [start]
        may_ask = languages.mentions(words, "MEMORY_WORDS")  # else no pattern need be compiled
        asks = may_ask and _find(plain, (start, end), (0, 0), parts) is not None
        remember = _REMEMBER.match(words) if asks else None
        opened = remember.end() if remember else len(words) if asks else 0  # commas before it begin no request
        for joint in _JOINT.finditer(words) if may_ask else ():
            rest = words[joint.end() : joint.end() + MAX_STATEMENT]
            is_own = joint["bare"] and joint.start() < opened
            if is_own or not languages.mentions(rest[:_NEAR], "MEMORY_WORDS"):
                continue
            request = _REQUEST.match(rest)
            if request is None and _reminder(rest) is None:
                continue
            if asks or not _NO_REQUEST.search(words[max(0, joint.start() - 100) : joint.end() + 20]):
                bounds += [start + joint.start(), start + joint.end()]
                asks, opened = True, joint.end() + request.end() if request else len(words)
        yield from zip(bounds[::2], [*bounds[1::2], end], strict=True)


def _find(plain: str, sentence: Bounds, before: Bounds, parts: Sequence[Part]) -> tuple[RequestKind, Bounds] | None:
    """What a sentence asks for, and (start, end) of what it is about; None when it asks for nothing."""
    start, end = sentence
    words, is_typed = plain[start:end], readings.trust(parts, start, end) == "typed"
    if _STANDING.match(words) and _is_wish(words) and is_typed:
        return "wish", sentence
    if not languages.mentions(words, "MEMORY_WORDS"):
        return None
    match = _REMEMBER.match(words)
    if match is None and is_typed:
        if (reminder := _reminder(words)) is not None:
            return "reminder", (start + reminder, end)
        if behind := _BEFOREHAND.match(words):
            return "statement", (start, start + behind.end("statement"))
        forget = _FORGET.match(words)
        if forget and not _THINGS_PAST.match(words[forget.end() :]):
            return "forget", (start + forget.end(), end)
    if match is None or readings.trust(parts, start, start + match.end()) != "typed":
        return None
    if words.endswith("?") and not match["question"]:
        return None
    at = start + match.end()
    rest = plain[at:end]
    strict = match["note"] or match["question"]  # perhaps no request
    if _REFERENCE.match(rest) and not match["note"]:  # the text pasted behind it, or the sentence before
        if pasted := _pasted_after(parts, end):
            return "statement", pasted
        if before[1] and plain[before[1] - 1] != "?":
            return "statement", before
        return None if strict else ("unclear", (0, 0))
    if _THINGS_PAST.match(rest):
        return None
    if not match["note"] and len(rest) <= MAX_STATEMENT and (to_do := _TO_DO.match(rest)):
        return "statement" if _is_wish(rest[to_do.end() :]) else "to do", (at + to_do.end(), end)
    follows = _FOLLOWS.match(rest)
    if follows is None:
        return None if strict else ("unclear", (at, end))
    at += follows.end()
    if pasted := _pasted_after(parts, at):
        return "statement", pasted
    about = _OWN_STATEMENT if match["note"] else STATEMENT
    if strict and (follows["colon"] or not about.match(plain[at:end])):
        return None
    if follows["colon"]:
        at += len(plain[at:]) - len(plain[at:].lstrip())
        is_cut = _JOINT.match(plain, end) and plain[end - 1] not in ".!?"  # by a further request
        end = end if is_cut else at + len(_BEHIND_COLON.sub("", plain[at:]))
        if _DO_NOT_FORGET.match(match[0]) and not _OWN_STATEMENT.match(plain[at:end]):
            return "to do", (at, end)  # "don't forget: milk"
    return "statement", (at, at + len(_FURTHER_REQUEST.sub("", plain[at:end])))


def _reminder(words: str) -> int | None:
    """Where a sentence begins that asks to be reminded: at some time, perhaps named in front, or to do something. None:
    it asks no such thing. "Remind me what I said on Friday" is a question."""
    match = _REMIND.match(words) or _REMIND_AT.match(words)
    if match is None or _THINGS_PAST.match(words[match.end() :]):
        return None
    from agent_cli.memory.dates import due_times  # most messages ask for no reminder

    if when := match.groupdict().get("when"):
        depends = _CONDITION.fullmatch(when) and words[match.end("when")] == ","  # then it is part of what is kept
        return match.start("request") if depends or due_times.names_time(when, alone=True) else None
    asked = _REMIND_TO.match(words[match.end() :]) or due_times.names_time(words[match.start("request") :])
    return match.start("request") if asked else None


def _is_wish(words: str) -> bool:
    """Whether words behind "remember to", or a sentence by itself, say how to answer from now on."""
    return bool(_STANDING.match(words) or _ANSWERING.match(words)) and statements.says_how_to_answer(words)


def _request(whole: str, kind: RequestKind, span: Bounds, parts: Sequence[Part]) -> MemoryRequest:
    start, end = span
    quote = whole[start:end].strip(" \t\n,:;-–?")
    start += whole[start:end].find(quote)
    words = " ".join(text.clean(quote).split())
    if kind in ("statement", "wish"):
        if len(words) > MAX_STATEMENT:
            kind = "too long"
        elif len(words) < 3 or not re.search(r"\w\W+\w|\w{3}", words) or statements.is_question(words):
            kind = "unclear"
    words = _POLITE_END.sub("", words).rstrip(".!") or words
    statement = statements.main_clause(words) if kind in ("statement", "forget") else words
    return MemoryRequest(statement, quote, readings.trust(parts, start, start + len(quote)), kind)


def _pasted_after(parts: Sequence[Part], at: int) -> Bounds | None:
    """The part that directly follows a position, if it was not typed."""
    start = 0
    for part in parts:
        end = start + len(part.text)
        if part.text[max(0, at - start) :].strip():
            return (start, end) if start >= at and part.origin != "typed" else None
        start = end
    return None


def _without_middle(part: Part) -> Part:
    if part.origin == "typed" or len(part.text) <= 2 * _PASTE_EDGE:
        return part
    return Part(part.text[:_PASTE_EDGE] + part.text[-_PASTE_EDGE:], part.origin, part.name)


def _masked(parts: Sequence[Part]) -> str:
    """The text of a message with x for what was not typed, but its blanks and ends of sentences, and for quotations."""
    typed = (each.text if each.origin == "typed" else re.sub(r"[^\s.!?]", "x", each.text) for each in parts)
    return text.QUOTED.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), "".join(typed))
