"""Malformed tool calls of local models, repaired.

Models print a call as text instead of calling, give arguments as a string, wrap them twice, or quote a number. Only
what can be read in one way is repaired. A reply that consists of calls of known tools is taken as calls; prose is never
searched for calls. Unknown names and arguments stay: the model gets an error for them and tries again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

FENCE, OPEN_TAG, CLOSE_TAG = "```", "<tool_call>", "</tool_call>"

_FENCE_LANGUAGES = ("json", "tool_call", "tool_code", "")
_NAME_KEYS = ("name", "function", "tool")
_ARGUMENT_KEYS = ("arguments", "parameters")
_FIRST_KEYS = (*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "tool_calls")
_CALL_KEYS = {*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id"}
# The first key, its closing quote, the colon and the value, as far as they have arrived.
_FIRST_ENTRY = re.compile(r'\{\s*(?:"(\w*)(?:(")\s*(:?)\s*(.*))?)?', re.DOTALL)

Schemas = Mapping[str, Mapping[str, Any]]
"""The JSON Schema of each tool's parameters, by the tool's name."""


def coerce_arguments(raw: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object, its values converted to the schema's types where the conversion is unambiguous."""
    if isinstance(raw, str):
        raw = _parse_json(raw)
    if not isinstance(raw, dict):
        return {}
    properties = schema.get("properties") or {}
    if len(raw) == 1 and (key := next(iter(raw))) in _ARGUMENT_KEYS and key not in properties:
        inner = _parse_json(raw[key]) if isinstance(raw[key], str) else raw[key]
        raw = inner if isinstance(inner, dict) else raw
    return {str(key): _coerce(value, properties.get(key)) for key, value in raw.items()}


def _coerce(value: Any, schema: Any) -> Any:
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    types = [declared] if isinstance(declared, str) else declared or []
    if not types or any(_has_type(value, kind) for kind in types):
        return value
    for kind in types:
        if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and kind != "string":
            parsed = _parse_json(value.strip().lower() if kind == "boolean" else value)
            if _has_type(parsed, kind) and (parsed is not None or value == "null"):
                return parsed
    return value


def _has_type(value: Any, type_: str) -> bool:
    match type_:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
    return True


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class PrintedCallDetector:
    """Fed the text of a reply piece by piece; holds back a beginning that may be a printed call."""

    def __init__(self, schemas: Schemas):
        self._schemas = schemas
        self._buffer = ""
        self._buffering = bool(schemas)

    def feed(self, piece: str) -> str:
        """The text that is certainly not a call."""
        if not self._buffering:
            return piece
        self._buffer += piece
        if may_become_call(self._buffer, self._schemas) and not (
            "}" in self._buffer and _has_trailing_text(self._buffer)
        ):
            return ""
        return self.flush()

    def flush(self) -> str:
        """All text that was held back."""
        text, self._buffer, self._buffering = self._buffer, "", False
        return text

    def reset(self) -> None:
        """Begin again: the text so far was thinking."""
        self._buffer, self._buffering = "", bool(self._schemas)

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls, when the whole reply consists of calls; else an empty list."""
        return parse_calls(self._buffer, self._schemas) if self._buffer.strip() else []


def may_become_call(text: str, schemas: Schemas) -> bool:
    """Whether a reply that begins with `text` may become a printed call of one of the tools."""
    start = text.lstrip()
    for opener in (OPEN_TAG, FENCE):
        if opener.startswith(start):
            return True
        if start.startswith(opener):
            return _may_become_object(start[len(opener) :], schemas, fenced=opener == FENCE)
    return _may_become_object(start, schemas)


def _may_become_object(text: str, schemas: Schemas, fenced: bool = False) -> bool:
    if fenced:
        language = re.split(r"\W", text, maxsplit=1)[0]
        text = text[len(language) :]
        if not text:
            return any(known.startswith(language) for known in _FENCE_LANGUAGES)
        if language not in _FENCE_LANGUAGES:
            return False
    text = text.lstrip()
    first = _FIRST_ENTRY.fullmatch(text)
    if not first:
        return not text
    key, closed, colon, value = (group or "" for group in first.groups())
    if not closed:
        return any(known.startswith(key) for known in _FIRST_KEYS)
    return key in _FIRST_KEYS and (not value or (bool(colon) and _may_become_value(key, value, schemas)))


def _may_become_value(key: str, value: str, schemas: Schemas) -> bool:
    """Whether the value of the first key, as far as it has arrived, may be a call's."""
    if key in _ARGUMENT_KEYS:
        return value[0] in '{"'
    if key == "tool_calls":
        return value[0] == "["
    if key == "function" and value[0] == "{":
        return True
    known = ["function"] if key == "type" else list(schemas)
    closed = value[0] == '"' and '"' in value[1:]
    typed = value[1:].partition('"')[0]
    return value[0] == '"' and (typed in known if closed else any(name.startswith(typed) for name in known))


def _has_trailing_text(text: str) -> bool:
    """Whether other text follows the finished object, so that the reply is not a call."""
    start = text.index("{")
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    tail, opening = text[end:].strip(), text.lstrip()
    closing = FENCE if opening.startswith(FENCE) else CLOSE_TAG if opening.startswith(OPEN_TAG) else ""
    if not closing or not tail.startswith(closing):
        return not closing.startswith(tail)
    after = tail[len(closing) :].lstrip()
    return bool(after) and (closing == FENCE or not OPEN_TAG.startswith(after[: len(OPEN_TAG)]))


def parse_calls(text: str, schemas: Schemas) -> list[tuple[str, dict[str, Any]]]:
    """The calls (name, arguments) when the whole text consists of calls of known tools; else an empty list."""
    body = text.strip()
    if body.startswith(OPEN_TAG):
        blocks = [block for block in body.replace(CLOSE_TAG, "").split(OPEN_TAG) if block.strip()]
    elif fenced := re.fullmatch(r"```(?:json|tool_call|tool_code)?\s*+(.*\S|)\s*+```", body, re.DOTALL):
        blocks = [fenced[1]]
    else:
        blocks = [body]
    found = [call for block in blocks for call in _calls_in(_parse_json(block), schemas)]
    return [call for call in found if call is not None] if None not in found else []


def _calls_in(value: Any, schemas: Schemas) -> Sequence[tuple[str, dict[str, Any]] | None]:
    if isinstance(value, dict) and set(value) == {"tool_calls"} and isinstance(value["tool_calls"], list):
        return [_parse_call(inner, schemas) for inner in value["tool_calls"]]
    return [_parse_call(value, schemas)]


def _parse_call(value: Any, schemas: Schemas) -> tuple[str, dict[str, Any]] | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not set(value) <= _CALL_KEYS:
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), "")
    raw = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    raw = _parse_json(raw) if isinstance(raw, str) else raw
    if name not in schemas or not isinstance(raw, dict):
        return None
    return name, coerce_arguments(raw, schemas[name])
