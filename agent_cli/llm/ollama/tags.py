"""The models a server has and where they run: read raw, because the official package drops what they can do."""

from collections.abc import Mapping
from typing import Any

from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import address, faults, wire
from agent_cli.llm.ollama.address import Address
from agent_cli.values import frozen

PROBE = 0.5
"""Seconds within which a server that is there answers."""


@frozen
class Tag:
    name: str
    size: int = 0  # bytes
    digest: str = ""
    capabilities: tuple[str, ...] = ()  # empty on servers before 0.30
    remote: str = ""  # the host it really runs on
    modified_at: str = ""  # RFC 3339 with the server's offset
    context_length: int = 0  # tokens it was trained with, 0 on servers before 0.30
    family: str = ""


def tags(host: str, timeout: float = PROBE) -> list[Tag]:
    """The models of the server at `host`. Raises ModelUnavailable when none answers within `timeout` seconds."""
    place = address.parse(host)
    try:
        told = wire.fetch(place, "/api/tags", timeout=timeout)
    except faults.Fault as fault:
        raise faults.not_ollama(place.url, fault.words) from fault
    if not isinstance(told, dict) or not isinstance(told.get("models"), list | None):
        raise faults.not_ollama(place.url)
    found = [_tag(model) for model in told.get("models") or () if isinstance(model, dict)]
    return [tag for tag in found if tag.name]


def is_local(place: Address, model: str, cancel: Cancel) -> bool:
    """Asked before the first word is sent. False when the server does not tell: its answer to the words will.

    A cloud model can stand under any name. Raises ModelMissing for one, ModelUnavailable, Cancelled.
    """
    faults.refuse_cloud(model)
    try:
        shown = wire.fetch(place, "/api/show", {"model": model}, cancel=cancel)
    except faults.Fault:
        return False
    if isinstance(shown, dict) and (shown.get("remote_host") or shown.get("remote_model")):
        raise faults.cloud(model)
    return True


def loaded(host: str, model: str) -> bool | None:
    """Whether the server has the model in memory, asked before a request would load it; None when it does not tell."""
    try:
        told = wire.fetch(address.parse(host), "/api/ps", timeout=PROBE)
    except (faults.Fault, ModelUnavailable):
        return None
    running = told.get("models") if isinstance(told, dict) else None
    if not isinstance(running, list):
        return None
    return any(isinstance(each, dict) and same(str(each.get("name")), model) for each in running)


def find(name: str, among: list[Tag]) -> Tag | None:
    """The model of that name: without a tag it is `:latest`, and case does not count."""
    return next((tag for tag in among if same(tag.name, name)), None)


def same(one: str, other: str) -> bool:
    """Whether two names mean the same model."""
    return _whole(one) == _whole(other)


def _whole(name: str) -> str:
    return (name if ":" in name.rpartition("/")[2] else f"{name}:latest").lower()


def _tag(model: Mapping[str, Any]) -> Tag:
    told, able = model.get("details"), model.get("capabilities")
    details = told if isinstance(told, dict) else {}
    return Tag(
        name=_word(model.get("name")) or _word(model.get("model")),
        size=_number(model.get("size")),
        digest=_word(model.get("digest")),
        capabilities=tuple(map(str, able)) if isinstance(able, list) else (),
        remote=_word(model.get("remote_host")),
        modified_at=_word(model.get("modified_at")),
        context_length=_number(details.get("context_length")),
        family=_word(details.get("family")),
    )


def _word(told: Any) -> str:
    return told if isinstance(told, str) else ""


def _number(told: Any) -> int:
    return told if isinstance(told, int) else 0
