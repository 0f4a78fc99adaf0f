"""What a language model finds in new exchanges to be learned: proposals, and nothing else.

Only what the person said is a source; the assistant's words stand there so that "yes, that one" can be understood. The
answer is JSON after a schema, and read as if there had been none: servers and small models ignore it. What cannot be
read is told to the model, once. What can be read is still doubted: a quote must stand in the person's words, a target
must be a fact that is true now, and a question or an order to the assistant is no fact.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from agent_cli import clock, text
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.conversations import quotes
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.dates import absolute_dates
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import terms
from agent_cli.memory.language.claims import Claim, Triple, is_fact
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import Pattern
from agent_cli.values import frozen

Ask = Callable[[str, Mapping[str, Any]], Iterator[str]]
"""Puts one question to a language model, which answers in JSON after a schema, streamed. Raises AgentError."""

T = TypeVar("T")

KNOWN = 20  # facts that the model is shown
_OPERATIONS = 10  # of one answer
_TRIES = 2
_TYPED, _OTHER, _REPLY = 2000, 600, 200  # characters of what was typed, of what was not, and of an answer

_TEXT = {"type": "string"}
_FIELDS = ("target", "statement", "subject", "predicate", "object", "quote")
_OPERATION = {
    "type": "object",
    "properties": {"op": {"type": "string", "enum": ["INSERT", "UPDATE", "DELETE"]}, **dict.fromkeys(_FIELDS, _TEXT)},
    "required": ["op", *_FIELDS],
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"operations": {"type": "array", "items": _OPERATION}},
    "required": ["operations"],
}

_QUESTION = """List what the PERSON tells about themselves below that will still matter in months: name, home, work, \
family, friends, pets, health, things they own, projects, what they like, plans with a date. Leave out questions, \
orders, moods, what only the assistant said, and what is known. Most conversations hold nothing: {{"operations": []}}

Answer with JSON only. Each operation: op INSERT (new), UPDATE (replaces the known fact in target) or DELETE (the fact \
in target is true no more); target: f and a number, or ""; statement: one short sentence as the person would say it, \
in their language; subject, predicate, object: as in the example; quote: the person's words, copied exactly.

Example: known is f7: I live in Trondheim. PERSON: Since June we live in Bergen! What is a good bakery?
{{"operations": [{{"op": "UPDATE", "target": "f7", "statement": "I live in Bergen", "subject": "person", \
"predicate": "lives_in", "object": "Bergen", "quote": "Since June we live in Bergen"}}]}}

Known:
{known}

Conversation of {day}:
{conversation}"""

_EXAMPLE = "I live in Bergen"  # small models give it back as their answer

_AGAIN = """{question}

Your last answer could not be read: {error}. It began: {answer}
Answer again with the JSON alone."""

_FENCED = Pattern(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class Unreadable(AgentError):
    """The model's answer was not what it was asked for, twice."""


@frozen
class Operation:
    op: str
    target: str
    statement: str
    triple: Triple
    quote: str


def question(exchanges: Sequence[Entry], known: Sequence[Fact]) -> str:
    """What the model is asked."""
    listed = "\n".join(f"{each.handle}: {text.one_line(each.statement, 200)}" for each in known)
    first = next(iter(exchanges))
    day = f"{clock.local(first.at, first.utc_offset):%A, %d %B %Y}"
    lines = "\n".join(_line(entry) for entry in exchanges if entry.message.text.strip())
    return _QUESTION.format(known=listed or "(nothing)", day=day, conversation=lines)


def operations(asked: str, ask: Ask) -> list[Operation]:
    """What the model answers. Raises Unreadable after two tries, AgentError."""
    return told(asked, ask, SCHEMA, read)


def told(asked: str, ask: Ask, schema: Mapping[str, Any], read: Callable[[str], T]) -> T:
    """What the model answers; `read` raises ValueError. Raises Unreadable after two tries, AgentError."""
    put = asked
    for _ in range(_TRIES):
        answer = "".join(ask(put, schema))
        try:
            return read(answer)
        except ValueError as error:
            put = _AGAIN.format(question=asked, error=error, answer=text.one_line(answer, 200) or "(nothing)")
            wrong = str(error)
    raise Unreadable(f"the model's answer could not be read, twice: {wrong}")


def read(answer: str) -> list[Operation]:
    """The operations in an answer. Raises ValueError with what is wrong."""
    told = read_json(answer)
    listed = told.get("operations") if isinstance(told, dict) else told
    if not isinstance(listed, list):
        raise ValueError('it must be {"operations": […]}')
    return [_operation(each, number) for number, each in enumerate(listed[:_OPERATIONS], 1)]


def read_json(answer: str) -> Any:
    """The JSON in an answer. Raises ValueError with what is wrong."""
    fenced = _FENCED.search(answer)
    found = re.search(r"[\[{].*[\]}]", fenced[1] if fenced else answer, re.DOTALL)
    if found is None:
        raise ValueError("there is no JSON in it")
    try:
        return json.loads(text.without_surrogates(found[0]))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({text.one_line(str(error))})") from error


def claims(db: Database, owner: str, found: Sequence[Operation], exchanges: Sequence[Entry]) -> list[Claim]:
    """The operations that hold, as claims; the others are dropped."""
    said = [entry for entry in exchanges if entry.message.role == "user"]
    made = [_claim(db, owner, each, said) for each in found] if said else []
    return [each for each in made if each]


def near(db: Database, owner: str, exchanges: Sequence[Entry], now: datetime) -> list[Fact]:
    """Facts that the exchanges may be about, and the newest: at most 20."""
    words = " ".join(entry.message.text[:500] for entry in exchanges if entry.message.role == "user")
    found = recall.find(db, words, Filter(owner, ("fact",)), now, KNOWN)
    chosen = facts.many(db, [hit.id for hit in found.hits if hit.kind == "fact"], owner)
    every = {each.id: each for each in (*chosen, *facts.listing(db, owner, KNOWN))}
    return [each for each in every.values() if each.current][:KNOWN]


def _operation(told: Any, number: int) -> Operation:
    if not isinstance(told, dict):
        raise ValueError(f"operation {number} is no object")
    op = told.get("op")
    if op not in ("INSERT", "UPDATE", "DELETE"):
        raise ValueError(f"the op of operation {number} must be INSERT, UPDATE or DELETE")
    # Whatever else stands in it, a state for instance, is nobody's business.
    values = {field: told.get(field) or "" for field in _FIELDS}
    for field, value in values.items():
        if not isinstance(value, str):
            raise ValueError(f"the {field} of operation {number} is no text")
    if op == "DELETE" and not values["target"]:
        raise ValueError(f"operation {number} has no target: f and the number of a known fact")
    if op != "DELETE" and not values["statement"].strip():
        raise ValueError(f"operation {number} has no statement")
    triple = Triple(*(text.one_line(values[field], 100) for field in ("subject", "predicate", "object")))
    return Operation(op.lower(), values["target"], _plain(values["statement"]), triple, values["quote"])


def _claim(db: Database, owner: str, told: Operation, said: Sequence[Entry]) -> Claim | None:
    target = _target(db, owner, told.target) if told.op != "insert" else None
    if told.op != "insert" and target is None:
        return None
    quote = quotes.find(reversed(said), told.quote)
    source = next((entry for entry in said if quote and entry.id == quote.message), None) or _likeliest(told, said)
    at = clock.local(source.at, source.utc_offset)
    statement = absolute_dates.resolve(told.statement, at)
    if told.op == "delete" and target:
        statement = target.statement
    elif not is_fact(statement) or (target and terms.is_similar(statement, target.statement)):
        return None
    if quote is None and terms.is_similar(statement, _EXAMPLE):
        return None
    claim = adoption.claim(
        statement,
        "model",
        quote=quote.text if quote else "",
        message=source.id,
        trust=quote.trust if quote else "model",
        inferred=quote is None,
        operation=told.op,
        target=target.id if target else None,
        learned=at,
    )
    return claim if claim.triple else _with_triple(claim, told.triple)


def _with_triple(claim: Claim, told: Triple) -> Claim:
    """The model's own taking apart, where the rules knew none and it holds nothing but words of the statement."""
    subject, predicate, object = told.subject.casefold(), told.predicate.casefold().replace(" ", "_"), told.object
    mine = subject in ("person", "i", "me", "user", "the person", "the user", "ich")
    stands = object and object.casefold() in claim.statement.casefold()
    if not stands or not re.fullmatch(r"[a-z][a-z_.]{1,40}", predicate):
        return claim
    if not mine and (not subject or subject not in claim.statement.casefold()):
        return claim
    return replace(claim, triple=Triple("person" if mine else told.subject, predicate, object))


def _target(db: Database, owner: str, told: str) -> Fact | None:
    """The fact that is to change: one of this owner's that is true now."""
    try:
        fact = facts.get(db, ids.number("fact", told), owner)
    except UsageError:
        return None
    return fact if fact.current else None


def _likeliest(told: Operation, said: Sequence[Entry]) -> Entry:
    """The message that shares most words with what was inferred: when it is erased, so is that."""
    words = set(text.words(f"{told.statement} {told.quote}"))
    return max(reversed(said), key=lambda entry: len(words & set(text.words(entry.message.text))))


def _plain(statement: str) -> str:
    return " ".join(text.clean(statement).split())


def _line(entry: Entry) -> str:
    if entry.message.role == "assistant":
        return f"assistant: {text.one_line(entry.message.text, _REPLY)}"
    pieces = []
    for part in entry.parts:
        words = text.one_line(part.text, _TYPED if part.origin == "typed" else _OTHER)
        pieces.append(words if part.origin == "typed" or not words else f"<{part.origin}>{words}</{part.origin}>")
    return f"PERSON: {' '.join(pieces)}"
