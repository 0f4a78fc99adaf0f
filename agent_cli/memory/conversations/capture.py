"""Captures statements that the person asks to remember ("remember that …", "merk dir, dass …"), without a model.

Only at the beginning of a typed sentence, outside quotations and code, and never in a question. "Remember to buy milk"
is left alone, because a reminder is not true for ever, and so is "make a note", which asks for a note. Whether a
captured statement is accepted or reviewed is not decided here.
"""

import re
from collections.abc import Sequence

from agent_cli import text
from agent_cli.memory.conversations import quotes
from agent_cli.messages import Origin, Part
from agent_cli.text import Pattern
from agent_cli.values import frozen

MAX_STATEMENT = 600  # characters; a longer text is a note
_PASTE_EDGE = 2000  # characters read at either end of a long paste


@frozen
class CapturedStatement:
    statement: str  # in the person's words, on one line
    quote: str  # exactly as in the message
    trust: Origin


_PLEASE = r"(?:please|pls|kindly|bitte|mal|doch|ok(?:ay)?|so|and|also|oh|hey|hi|hello|hallo|und|now|just|always|agent)"
_OPENING = rf"(?:{_PLEASE}\b[,!]?\s+)*"
_ASKED = r"(?:(?:i(?:'d| would) like you|i want you|i need you|you should|you must)\s+to\s+)?"
_POLITE = r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
_ENGLISH = (
    r"(?:remember|(?:do\s*n['o]?t|do\s+not|never)\s+forget|keep\s+in\s+(?:mind|memory)|bear\s+in\s+mind"
    r"|note\s+for\s+(?:later|the\s+future)|commit\s+to\s+memory|take\s+note)"
)
_GERMAN = (
    r"(?:(?:merke?|behalte?)\s+(?:dir|euch)|merken\s+sie\s+sich|(?:vergiss|vergesst|vergessen\s+sie)(?:\s+bitte)?\s+"
    r"(?:nicht|nie)|denke?\s+(?:bitte\s+)?dar?an|behalte?(?:\s+bitte)?\s+im\s+(?:kopf|hinterkopf|gedächtnis)"
    r"|behalte|notiz\s+für\s+später|für\s+später)"
)
_GERMAN_POLITE = r"(?:kannst|könntest|würdest)\s+du\s+dir\s+bitte\s+merken"
_LATER = r"(?:\s+(?:please|bitte|mal|doch|gut|for\s+later|für\s+später|for\s+me|im\s+kopf))*"
# The statement follows in a clause, after a colon, or as "my name is …", "ich wohne …".
_FIRST_PERSON = (
    r"(?:i['’]m|i['’]ve|i|we['’]re|we|my\s+(?:[\w-]+\s+){1,4}?(?:is|are|was|were|has|have|lives?|likes?|works?)"
    r"|ich|wir|meine?[rsnm]?\s+(?:[\w-]+\s+){1,4}?(?:ist|sind|war|hat|haben|heißt|heißen|wohnt|mag))\b"
)
_COMMAND = Pattern(
    rf"{_OPENING}(?:{_POLITE}{_ASKED}{_ENGLISH}|{_GERMAN_POLITE}|{_GERMAN}){_LATER}"
    rf"(?:(?P<clause>\s*,?\s*(?:that|dass|daß)\b[,:]?)|(?P<colon>\s*(?:this|that|das|folgendes)?\s*:)"
    rf"|(?P<own>\s*,?\s*(?={_FIRST_PERSON})))",
    re.IGNORECASE,
)
_REFERENCE = Pattern(  # "remember that", "merk dir das": the sentence before
    rf"{_OPENING}(?:{_POLITE}{_ENGLISH}|{_GERMAN}|merke?\s+dir)\s*,?\s+(?:that|this|it|das|es)"
    r"(?:\s+(?:please|bitte|for\s+later|for\s+me|für\s+später|too|auch))*\s*[.!]*\s*$",
    re.IGNORECASE,
)
_FORGET = Pattern(r"forget|vergiss|vergess", re.IGNORECASE)
_ABOUT_PERSON = Pattern(_FIRST_PERSON, re.IGNORECASE)
_HINT = Pattern(r"remember|forget|mind|memory|note|vergiss|vergess|merk|behalt|denk|später", re.IGNORECASE)
_POINTS_BACK = Pattern(  # "remember that time in Rome", "remember that you said": not a statement
    r"(?:(?:time|day|night|evening|morning|week|summer|winter|year|one|guy|man|woman|girl|boy|movie|film|song|book"
    r"|place|trip|restaurant|story|conversation|thing)\b(?!s)(?!\s+(?:is|are|was|were|has|can|will|heals|flies)\b)"
    r"|(?:i|we)\s+(?:asked|told|said|mentioned|sent|showed|wrote)\b)",
    re.IGNORECASE,
)
_REQUEST = Pattern(  # a further request in the same sentence
    r"\s*[,;]?\s+(?:and|und|then|dann)\s+(?:then\s+|now\s+|also\s+|please\s+|dann\s+|jetzt\s+|bitte\s+)*"
    r"(?:tell|give|show|write|explain|list|what|how|why|can\s+you|could\s+you|sag|gib|zeig|schreib|erklär|was|wie"
    r"|warum|kannst\s+du)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = Pattern(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|»[^«\n]*«"
    r"|(?<!\w)'[^'\n]+'(?!\w)|(?<!\w)‘[^’\n]+’(?!\w)|^(?: {4}|\t| {0,3}>)[^\n]*",
    re.DOTALL | re.MULTILINE,
)


def capture(parts: Sequence[Part]) -> list[CapturedStatement]:
    """The statements to remember in a message, in order; only commands that were typed count."""
    if not any(part.origin == "typed" and _HINT.search(part.text) for part in parts):
        return []
    parts = [_without_middle(part) for part in parts]
    whole = "".join(part.text for part in parts)
    plain = _mask_quotations("".join(_mask_untyped(part) for part in parts)).replace("’", "'")
    found: list[CapturedStatement] = []
    before = (0, 0)
    for start, end in _sentences(plain):
        span = _statement_span(plain, start, end, before, parts)
        before = (start, end)
        made = _captured(whole, span, parts) if span else None
        if made and made.statement not in [each.statement for each in found]:
            found.append(made)
    return found


def typed_sentences(parts: Sequence[Part]) -> list[str]:
    """The typed sentences outside quotations and code, without questions; none for a very long message."""
    whole = "".join(part.text for part in parts)
    if len(whole) > 2 * _PASTE_EDGE:  # too long for a command
        return []
    plain = _mask_quotations("".join(_mask_untyped(part) for part in parts))
    found = [slice(*each) for each in _sentences(plain) if _typed(parts, *each)]
    return [whole[at] for at in found if plain[at] == whole[at] and not whole[at].rstrip().endswith("?")]


def _statement_span(
    plain: str, start: int, end: int, before: tuple[int, int], parts: Sequence[Part]
) -> tuple[int, int] | None:
    """(start, end) of the statement that a sentence asks to remember, or None."""
    sentence = plain[start:end]
    if _REFERENCE.match(sentence) and _typed(parts, start, end):
        following = _pasted_after(parts, end)
        return following or (before if before[1] and not plain[slice(*before)].rstrip().endswith("?") else None)
    match = _COMMAND.match(sentence)
    if match is None or not _typed(parts, start, start + match.end()):
        return None
    polite = re.match(rf"{_OPENING}(?:can|could|would|will|kannst|könntest|würdest)\b", sentence, re.IGNORECASE)
    if sentence.rstrip().endswith("?") and not (polite and re.search(r"\b(?:please|bitte)\b", sentence, re.IGNORECASE)):
        return None
    statement_start = start + match.end()
    pasted = _pasted_after(parts, statement_start)
    if pasted:
        return pasted
    statement_start += len(plain[statement_start:]) - len(plain[statement_start:].lstrip())
    if match["colon"]:  # to the end of the line
        line = plain.find("\n", statement_start)
        end = line if line >= 0 else len(plain)
        if _FORGET.search(match[0]) and not _ABOUT_PERSON.match(plain[statement_start:end]):
            return None  # "don't forget: milk"
    elif _POINTS_BACK.match(plain[statement_start:end]):
        return None
    return statement_start, statement_start + len(_REQUEST.sub("", plain[statement_start:end]))


def _captured(whole: str, span: tuple[int, int], parts: Sequence[Part]) -> CapturedStatement | None:
    start, end = span
    quote = whole[start:end].strip(" \t\n,:;-–?")
    start += whole[start:end].find(quote)
    statement = " ".join(text.clean(quote).split())
    if len(statement) < 3 or len(statement) > MAX_STATEMENT or not re.search(r"\w\W+\w|\w{3}", statement):
        return None
    return CapturedStatement(
        _main_clause(statement.rstrip(".!") or statement), quote, quotes.trust(parts, start, start + len(quote))
    )


def _main_clause(statement: str) -> str:
    """A German clause after "dass" as a main clause: "ich in Graz wohne" becomes "ich wohne in Graz".

    Only when safe: one clause, a plain subject, and no separable verb ("aufstehe").
    """
    match = re.fullmatch(
        r"((?:ich|wir|er|sie|es|man)|mein(?:e|en|em|er|es)?(?: [a-zäöüß]+)?(?: [A-ZÄÖÜ][\w-]*)+?)"
        r" ([^,;:]+) ([a-zäöüß]+)([.!]*)",
        statement,
    )
    if match is None or re.match(r"(?:ab|an|auf|aus|bei|ein|fest|her|hin|los|mit|nach|um|vor|weg|zu|zurück)", match[3]):
        return statement
    subject, rest, verb, end = match.groups()
    first = re.match(r"\w+", rest)
    known = r"ist|bin|sind|war|hat|habe|haben|heißt|heiße|wohne|wohnt|wohnen|lebe|lebt|arbeite|arbeitet|mag|liebe|esse"
    if first and re.fullmatch(known, first[0]):
        return statement  # the verb is in second place already
    if not re.fullmatch(rf"{known}|\w+(?:e|t|en)|bin|muss|kann|will|darf", verb):
        return statement
    return f"{subject} {verb} {rest}{end}"


def _sentences(plain: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without surrounding blanks."""
    found, at = [], 0
    for piece in text.split_sentences(plain):
        start = at + len(piece) - len(piece.lstrip())
        at += len(piece)
        if piece.strip():
            found.append((start, start + len(piece.strip())))
    return found


def _typed(parts: Sequence[Part], start: int, end: int) -> bool:
    return quotes.trust(parts, start, end) == "typed"


def _pasted_after(parts: Sequence[Part], at: int) -> tuple[int, int] | None:
    """(start, end) of the pasted, piped or read part that directly follows a position in a typed part."""
    start = 0
    for part in parts:
        end = start + len(part.text)
        if end > at and part.text[max(0, at - start) :].strip():
            return (start, end) if start >= at and part.origin != "typed" else None
        start = end
    return None


def _without_middle(part: Part) -> Part:
    if part.origin == "typed" or len(part.text) <= 2 * _PASTE_EDGE:
        return part
    return Part(part.text[:_PASTE_EDGE] + part.text[-_PASTE_EDGE:], part.origin, part.name)


def _mask_untyped(part: Part) -> str:
    """Untyped text replaced by x, keeping blanks and ends of sentences."""
    return part.text if part.origin == "typed" else re.sub(r"[^\s.!?]", "x", part.text)


def _mask_quotations(plain: str) -> str:
    """Quotations and code replaced by x."""
    return _QUOTED.sub(lambda match: re.sub(r"[^\n]", "x", match[0]), plain)
