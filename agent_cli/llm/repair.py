"""Tool calls as models really write them, made into what they meant.

Local models print a call as text instead of calling, give arguments as a string, wrap them twice, or quote a number.
Repaired is only what has one reading. A whole content that is one call of a known tool is a call; prose is never
searched for calls. Unknown names and unknown arguments stay: the model is told about them and tries again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

FENCE, TAG, CLOSING = "```", "<tool_call>", "</tool_call>"

_LANGUAGES = ("json", "tool_call", "tool_code", "")
_NAMES = ("name", "function", "tool")
_ARGUMENTS = ("arguments", "parameters")
_KEYS = (*_NAMES, *_ARGUMENTS, "type", "tool_calls")
_ALLOWED = {*_NAMES, *_ARGUMENTS, "type", "id"}
# The first key, its closing quote, the colon and the value, as far as they have come.
_FIRST = re.compile(r'\{\s*(?:"(\w*)(?:(")\s*(:?)\s*(.*))?)?', re.DOTALL)

Schemas = Mapping[str, Mapping[str, Any]]
"""The JSON Schema of the parameters of each tool, by its name."""


def arguments(given: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object whose values have the types the schema wants, where that is plain."""
    if isinstance(given, str):
        given = _parsed(given)
    if not isinstance(given, dict):
        return {}
    properties = schema.get("properties") or {}
    if len(given) == 1 and (key := next(iter(given))) in _ARGUMENTS and key not in properties:
        inner = _parsed(given[key]) if isinstance(given[key], str) else given[key]
        given = inner if isinstance(inner, dict) else given
    return {str(key): _coerced(value, properties.get(key)) for key, value in given.items()}


def _coerced(value: Any, schema: Any) -> Any:
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = [wanted] if isinstance(wanted, str) else wanted or []
    if not kinds or any(_is(value, kind) for kind in kinds):
        return value
    for kind in kinds:
        if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, str) and kind != "string":
            meant = _parsed(value.strip().lower() if kind == "boolean" else value)
            if _is(meant, kind) and (meant is not None or value == "null"):
                return meant
    return value


def _is(value: Any, kind: str) -> bool:
    match kind:
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


def _parsed(told: str) -> Any:
    try:
        return json.loads(told)
    except (ValueError, RecursionError):
        return None


class Printed:
    """Fed the text of an answer piece by piece; holds back a beginning that may be a printed call."""

    def __init__(self, schemas: Schemas):
        self._schemas = schemas
        self._held = ""
        self._holding = bool(schemas)

    def feed(self, piece: str) -> str:
        """The text that is certainly no call."""
        if not self._holding:
            return piece
        self._held += piece
        if promising(self._held, self._schemas) and not ("}" in self._held and _goes_on(self._held)):
            return ""
        return self.release()

    def release(self) -> str:
        """All that was held, as text."""
        held, self._held, self._holding = self._held, "", False
        return held

    def restart(self) -> None:
        """A new beginning: what came so far was thinking."""
        self._held, self._holding = "", bool(self._schemas)

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls that the whole answer consists of, if it does."""
        return printed(self._held, self._schemas) if self._held.strip() else []


def promising(text: str, names: Schemas) -> bool:
    """Whether a content that begins so may become a printed call of one of the tools."""
    lead = text.lstrip()
    for opener in (TAG, FENCE):
        if opener.startswith(lead):
            return True
        if lead.startswith(opener):
            return _inside(lead[len(opener) :], names, fenced=opener == FENCE)
    return _inside(lead, names)


def _inside(text: str, names: Schemas, fenced: bool = False) -> bool:
    if fenced:
        language = re.split(r"\W", text, maxsplit=1)[0]
        text = text[len(language) :]
        if not text:
            return any(known.startswith(language) for known in _LANGUAGES)
        if language not in _LANGUAGES:
            return False
    text = text.lstrip()
    first = _FIRST.fullmatch(text)
    if not first:
        return not text
    key, closed, colon, value = (group or "" for group in first.groups())
    if not closed:
        return any(known.startswith(key) for known in _KEYS)
    return key in _KEYS and (not value or (bool(colon) and _hopeful(key, value, names)))


def _hopeful(key: str, value: str, names: Schemas) -> bool:
    """Whether the value of the first key, as far as it is there, is one that a call has."""
    if key in _ARGUMENTS:
        return value[0] in '{"'
    if key == "tool_calls":
        return value[0] == "["
    if key == "function" and value[0] == "{":
        return True
    known = ["function"] if key == "type" else list(names)
    whole = value[0] == '"' and '"' in value[1:]
    said = value[1:].partition('"')[0]
    return value[0] == '"' and (said in known if whole else any(name.startswith(said) for name in known))


def _goes_on(text: str) -> bool:
    """Whether something follows a finished object that makes the whole no call."""
    start = text.index("{")
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    tail, lead = text[end:].strip(), text.lstrip()
    closing = FENCE if lead.startswith(FENCE) else CLOSING if lead.startswith(TAG) else ""
    if not closing or not tail.startswith(closing):
        return not closing.startswith(tail)
    after = tail[len(closing) :].lstrip()
    return bool(after) and (closing == FENCE or not TAG.startswith(after[: len(TAG)]))


def printed(text: str, schemas: Schemas) -> list[tuple[str, dict[str, Any]]]:
    """The calls (name, arguments) that the whole text consists of, or none. Only calls of known tools count."""
    body = text.strip()
    if body.startswith(TAG):
        blocks = [block for block in body.replace(CLOSING, "").split(TAG) if block.strip()]
    elif fenced := re.fullmatch(r"```(?:json|tool_call|tool_code)?\s*(.*?)\s*```", body, re.DOTALL):
        blocks = [fenced[1]]
    else:
        blocks = [body]
    found = [call for block in blocks for call in _calls(_parsed(block), schemas)]
    return [call for call in found if call is not None] if None not in found else []


def _calls(value: Any, schemas: Schemas) -> Sequence[tuple[str, dict[str, Any]] | None]:
    if isinstance(value, dict) and set(value) == {"tool_calls"} and isinstance(value["tool_calls"], list):
        return [_call(inner, schemas) for inner in value["tool_calls"]]
    return [_call(value, schemas)]


def _call(value: Any, schemas: Schemas) -> tuple[str, dict[str, Any]] | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not set(value) <= _ALLOWED:
        return None
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    given = next((value[key] for key in _ARGUMENTS if key in value), None)
    given = _parsed(given) if isinstance(given, str) else given
    if name not in schemas or not isinstance(given, dict):
        return None
    return name, arguments(given, schemas[name])
