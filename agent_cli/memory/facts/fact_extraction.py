"""Extracts facts from new exchanges with a language model; the results are only proposals. Only the person's messages
are a source; replies are shown so that "yes, that one" can be understood. The JSON is validated, since servers and
small models ignore schemas, and asked for once more with the error. A quote must occur in the person's messages, a
target must be a current fact, and a question or an order is no fact."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from agent_cli import clock, text
from agent_cli.errors import AgentError, UsageError
from agent_cli.memory.conversations import readings
from agent_cli.memory.conversations.log import Entry
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language import languages, spans, statements, terms
from agent_cli.memory.language.triples import Claim, Triple, is_fact
from agent_cli.memory.proposals import Proposals, Proposed
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

AskForJson = Callable[[str, Mapping[str, Any]], Iterator[str]]
"""Sends a prompt and a JSON schema to a language model; yields the answer in pieces. Raises AgentError."""

Parsed = TypeVar("Parsed")
Row = TypeVar("Row", bound=Proposed)

MAX_KNOWN = 20  # facts that the model is shown
_MAX_OPERATIONS = 10  # of one answer
_TRIES = 2
_QUOTED = 80  # characters of the message from which on the conversation is read
_TYPED, _OTHER, _REPLY = 2000, 600, 200  # characters of what was typed, of what was not, and of an answer
_TEXT = {"type": "string"}
_FIELDS = ("target", "statement", "subject", "predicate", "object", "quote")
_OPS = ("INSERT", "UPDATE", "DELETE")
_VALUES = {"op": {"type": "string", "enum": [*_OPS]}, **dict.fromkeys(_FIELDS, _TEXT)}
_OPERATION = {"type": "object", "properties": _VALUES, "required": ["op", *_FIELDS]}
_LIST = {"operations": {"type": "array", "items": _OPERATION}}
SCHEMA: Mapping[str, Any] = {"type": "object", "properties": _LIST, "required": ["operations"]}

_RULES = """List what the PERSON tells about themselves {where} that will still matter in months: name, home, work, \
family, friends, pets, health, things they own, projects, what they like, plans with a date. Leave out questions, \
orders, moods, what only the assistant said, and what is known. Most conversations hold nothing: {{"operations": []}}

Answer with JSON only. Each operation: op INSERT (new), UPDATE (replaces the known fact in target) or DELETE (the fact \
in target is true no more); target: f and a number, or ""; statement: one short sentence as the person would say it, \
in their language; subject, predicate, object: as in the example; quote: the person's words, copied exactly.

Example: known is f7: I live in Trondheim. PERSON: Since June we live in Bergen! What is a good bakery?
{{"operations": [{{"op": "UPDATE", "target": "f7", "statement": "I live in Bergen", "subject": "person", \
"predicate": "lives_in", "object": "Bergen", "quote": "Since June we live in Bergen"}}]}}

Known:
{known}"""

_CONVERSATION = """

Conversation of {day}:
{conversation}"""

_AFTER = """The program asks this, not the person, and the conversation goes on later. Call no tool. """
_SINCE = "above, from “{words}” on, in their own words and not in a tool's result,"
_EXAMPLE = "I live in Bergen"  # small models repeat it as their answer

_RETRY = """{question}

Your last answer could not be read: {error}. It began: {answer}
Answer again with the JSON alone."""

_FENCED = text.Pattern(r"```(?:json)?\s*+(.*?)```", re.DOTALL)


class UnreadableAnswer(AgentError):
    """The model's answers could not be read, not even the second."""


@frozen
class Operation:
    op: str
    target: str
    statement: str
    triple: Triple
    quote: str


def build_prompt(exchanges: Sequence[Entry], known: Sequence[facts.Fact], *, shown: bool = False) -> str:
    """The prompt that asks for facts in these exchanges; `shown`: of a model that sees the whole conversation."""
    facts_known = "\n".join(f"{each.handle}: {text.one_line(each.statement, 200)}" for each in known) or "(nothing)"
    if shown:
        first = next(entry for entry in exchanges if entry.message.role == "user")
        since = _SINCE.format(words=text.one_line(first.message.text, _QUOTED))
        return _AFTER + _RULES.format(where=since, known=facts_known)
    lines = []
    for entry in exchanges:
        reply = f"assistant: {text.one_line(entry.message.text, _REPLY)}"
        words = reply if entry.message.role == "assistant" else format_person(entry, _TYPED, _OTHER)
        lines += [words] if entry.message.text.strip() else []
    conversation = _CONVERSATION.format(day=format_day(exchanges), conversation="\n".join(lines))
    return _RULES.format(where="below", known=facts_known) + conversation


def extract(prompt: str, ask: AskForJson) -> list[Operation]:
    """The operations that the model answers with. Raises AgentError, and UnreadableAnswer after two tries."""
    return ask_json(prompt, ask, SCHEMA, parse)


def ask_json(prompt: str, ask: AskForJson, schema: Mapping[str, Any], parse: Callable[[str], Parsed]) -> Parsed:
    """The parsed answer; `parse` raises ValueError. Raises AgentError, and UnreadableAnswer after two tries."""
    request = prompt
    for _ in range(_TRIES):
        answer = "".join(ask(request, schema))
        try:
            return parse(answer)
        except ValueError as error:
            request = _RETRY.format(question=prompt, error=error, answer=text.one_line(answer, 200) or "(nothing)")
            wrong = str(error)
    raise UnreadableAnswer(f"the model's answer could not be read, twice: {wrong}")


def parse(answer: str) -> list[Operation]:
    """The operations in an answer. Raises ValueError with what is wrong."""
    value = parse_json(answer)
    listed = value.get("operations") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise ValueError('it must be {"operations": […]}')
    return [_operation(each, number) for number, each in enumerate(listed[:_MAX_OPERATIONS], 1)]


def parse_json(answer: str) -> Any:
    """The JSON in an answer. Raises ValueError with what is wrong."""
    fenced = _FENCED.search(answer)
    found = re.match(r"[^\[{]*+(.*[\]}])", fenced[1] if fenced else answer, re.DOTALL)
    if found is None:
        raise ValueError("there is no JSON in it")
    try:
        return json.loads(text.without_surrogates(found[1]))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({text.one_line(str(error))})") from error


def text_fields(values: Mapping[str, Any], of: str) -> dict[str, str]:
    """These fields of an answer, empty where they are missing. Raises ValueError for one that is not text."""
    for field, value in values.items():
        if value and not isinstance(value, str):
            raise ValueError(f"the {field} of {of} is not text")
    return {field: value or "" for field, value in values.items()}


def format_day(entries: Sequence[Entry]) -> str:
    """The day of the first of these messages, in a prompt."""
    return f"{clock.local(entries[0].at, entries[0].utc_offset):%A, %d %B %Y}"


def format_person(entry: Entry, typed: int, other: int) -> str:
    """What the person said, in a prompt: what was not typed is marked, and each part cut to so many characters."""
    pieces = []
    for part in entry.parts:
        words = text.one_line(part.text, typed if part.origin == "typed" else other)
        pieces.append(words if part.origin == "typed" or not words else f"<{part.origin}>{words}</{part.origin}>")
    return f"PERSON: {' '.join(pieces)}"


def claims(
    db: Database, owner: str, found: Sequence[Operation], exchanges: Sequence[Entry], others: Sequence[str] = ()
) -> list[Claim]:
    """The valid operations as claims. What rather comes from the `others` that the model saw is dropped."""
    messages = [entry for entry in exchanges if entry.message.role == "user"]
    said = set(text.words(" ".join(entry.message.text for entry in exchanges)))
    claims = []
    for each in found if messages else ():
        for clause in adoption.separate(each.statement) if each.op == "insert" else [each.statement]:
            claim = _claim(db, owner, replace(each, statement=clause), messages)
            words = set(text.words(claim.statement)) - terms.STOP_WORDS if claim and claim.inferred else set[str]()
            is_from_others = any(len(words & set(text.words(other))) > len(words & said) for other in others)
            claims += [claim] if claim and not is_from_others else []
    return claims


def related_facts(db: Database, owner: str, exchanges: Sequence[Entry], now: datetime) -> list[facts.Fact]:
    """Facts, true or planned, that the exchanges may be about, then the newest: at most 20."""
    every = related(facts.FACTS, db, owner, exchanges, now, facts.listing(db, owner, MAX_KNOWN))
    return [each for each in every if each.is_open(now)][:MAX_KNOWN]


def related(
    kind: Proposals[Row], db: Database, owner: str, entries: Sequence[Entry], now: datetime, others: Sequence[Row]
) -> list[Row]:
    """The rows of a kind that what the person said may be about, then these others."""
    words = " ".join(entry.message.text[:500] for entry in entries if entry.message.role == "user")
    found = recall.find(db, words, Filter(owner, (kind.kind,)), now, MAX_KNOWN)
    chosen = kind.many(db, [hit.id for hit in found.hits if hit.kind == kind.kind], owner)
    return list({each.id: each for each in (*chosen, *others)}.values())


def _operation(item: Any, number: int) -> Operation:
    if not isinstance(item, dict):
        raise ValueError(f"operation {number} is not an object")
    op = item.get("op")
    if op not in _OPS:
        raise ValueError(f"the op of operation {number} must be INSERT, UPDATE or DELETE")
    values = text_fields({field: item.get(field) for field in _FIELDS}, f"operation {number}")
    if op == "DELETE" and not values["target"]:
        raise ValueError(f"operation {number} has no target: f and the number of a known fact")
    if op != "DELETE" and not values["statement"].strip():
        raise ValueError(f"operation {number} has no statement")
    triple = Triple(*(text.one_line(values[field], 100) for field in ("subject", "predicate", "object")))
    statement = " ".join(text.clean(values["statement"]).split())
    return Operation(op.lower(), values["target"], statement, triple, values["quote"])


def _claim(db: Database, owner: str, operation: Operation, messages: Sequence[Entry]) -> Claim | None:
    """The claim of an operation; None when it is not valid."""
    target, ends = None, operation.op != "insert"
    with suppress(UsageError):
        target = facts.get(db, ids.number("fact", operation.target), owner) if ends else None
    if ends and not (target and target.is_accepted):
        return None
    quote = readings.find(reversed(messages), operation.quote)
    source = next((entry for entry in messages if quote and entry.id == quote.message), None)
    if source is None:  # the message that shares most words with an inferred statement, which is erased with it
        words = set(text.words(f"{operation.statement} {operation.quote}"))
        source = max(reversed(messages), key=lambda entry: len(words & set(text.words(entry.message.text))))
    reading = readings.before_proposal(db, source.id, operation.statement, quote)
    at = clock.local(source.at, source.utc_offset)
    statement = spans.resolve(operation.statement, at)
    # A wish, in the person's own words, how to be answered: an instruction, but theirs.
    wish = quote and quote.trust == "typed" and reading is None and statements.says_how_to_answer(statement)
    says_something = is_fact(statement) or (wish and quote and terms.is_similar(statement, quote.text))
    if operation.op == "delete" and target:
        statement = target.statement
    elif not says_something or (target and terms.is_similar(statement, target.statement)):
        return None
    if quote is None and terms.is_similar(statement, _EXAMPLE):
        return None
    details = readings.claim_sources(quote, reading, source.id) | {"target": target.id if target else None}
    claim = adoption.claim(statement, "model", operation=operation.op, learned=at, **details)
    return claim if claim.triple else _with_triple(claim, operation.triple)


def _with_triple(claim: Claim, triple: Triple) -> Claim:
    """The claim with the model's triple, where its words occur in the statement."""
    subject, predicate, object = triple.subject.casefold(), triple.predicate.casefold().replace(" ", "_"), triple.object
    about_person = subject in languages.phrases("SELF_NAMES")
    occurs = object and object.casefold() in claim.statement.casefold()
    if not occurs or not re.fullmatch(r"[a-z][a-z_.]{1,40}", predicate):
        return claim
    if not about_person and (not subject or subject not in claim.statement.casefold()):
        return claim
    return replace(claim, triple=Triple("person" if about_person else triple.subject, predicate, object))
