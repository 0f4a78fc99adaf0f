"""What a server says of itself and of a model, read raw and believed only where it has the expected shape."""

from collections.abc import Mapping
from typing import Any

from agent_cli.llm.ollama import address, faults, tags, wire
from agent_cli.values import frozen

_PATIENCE = 5.0  # seconds, for answers that need no model


@frozen
class Running:
    name: str
    size: int  # bytes
    on_card: int  # bytes of it
    context: int  # tokens it was loaded with, 0 on servers that do not say


@frozen
class About:
    context: int  # tokens it was trained with, 0 where the server does not say
    capabilities: tuple[str, ...]


def version(host: str) -> str:
    """Raises ModelUnavailable."""
    return str(_asked(host, "/api/version").get("version") or "of no version that it tells")


def running(host: str) -> list[Running]:
    """The models that are loaded. Raises ModelUnavailable."""
    models = _asked(host, "/api/ps").get("models")
    return [
        Running(str(each.get("name")), *(_number(each.get(key)) for key in ("size", "size_vram", "context_length")))
        for each in (models if isinstance(models, list) else ())
        if isinstance(each, dict)
    ]


def about(host: str, name: str) -> About:
    """Raises ModelUnavailable."""
    told = _asked(host, "/api/show", {"model": name})
    facts = told.get("model_info")
    facts = facts if isinstance(facts, dict) else {}
    able = told.get("capabilities")
    return About(
        _number(facts.get(f"{facts.get('general.architecture')}.context_length")),
        tuple(map(str, able)) if isinstance(able, list) else (),
    )


def loaded(host: str, name: str) -> Running | None:
    """The model as it is loaded. Raises ModelUnavailable."""
    return next((each for each in running(host) if tags.same(each.name, name)), None)


def _asked(host: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    place = address.parse(host)
    try:
        told = wire.fetch(place, path, body, timeout=_PATIENCE)
    except faults.Fault as fault:
        raise faults.not_ollama(place.url, fault.words) from fault
    if not isinstance(told, dict):
        raise faults.not_ollama(place.url)
    return told


def _number(told: Any) -> int:
    return told if isinstance(told, int) else 0
