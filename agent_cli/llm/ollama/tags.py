"""The models of a server and where they run. Our own requests: the official package drops the capabilities."""

from collections.abc import Mapping
from typing import Any

from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import address, faults, wire
from agent_cli.llm.ollama.address import Address
from agent_cli.values import frozen

PROBE_TIMEOUT = 0.5
"""Seconds within which a running server answers."""


@frozen
class Tag:
    name: str
    size: int = 0  # bytes
    digest: str = ""
    capabilities: tuple[str, ...] = ()  # empty on servers before 0.30
    remote: str = ""  # the host it runs on, when that is another one
    modified_at: str = ""  # RFC 3339 with the server's offset
    context_length: int = 0  # tokens it was trained with, 0 on servers before 0.30
    family: str = ""


def listing(host: str, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
    """The models of the server at `host`. Raises ModelUnavailable when it does not answer within `timeout` seconds."""
    server = address.parse(host)
    answer = wire.fetch_object(server, "/api/tags", timeout=timeout)
    if not isinstance(answer.get("models"), list | None):
        raise faults.not_ollama(server.url)
    found = [_tag(model) for model in answer.get("models") or () if isinstance(model, dict)]
    return [tag for tag in found if tag.name]


def is_local(server: Address, model: str, cancel: Cancel) -> bool:
    """Whether the model runs on this server, checked before any text is sent; False when the server does not say.

    A cloud model can have any name. Raises ModelMissing for a cloud model, ModelUnavailable, Cancelled.
    """
    faults.refuse_cloud(model)
    try:
        shown = wire.fetch(server, "/api/show", {"model": model}, cancel=cancel)
    except faults.ServerFault:
        return False
    if isinstance(shown, dict) and (shown.get("remote_host") or shown.get("remote_model")):
        raise faults.cloud(model)
    return True


def loaded(host: str, model: str) -> bool | None:
    """Whether the server has the model in memory; None when it does not say."""
    try:
        answer = wire.fetch(address.parse(host), "/api/ps", timeout=PROBE_TIMEOUT)
    except (faults.ServerFault, ModelUnavailable):
        return None
    running = answer.get("models") if isinstance(answer, dict) else None
    if not isinstance(running, list):
        return None
    return any(isinstance(each, dict) and same_model(str(each.get("name")), model) for each in running)


def find(name: str, tags: list[Tag]) -> Tag | None:
    """The model with this name: no tag means `:latest`, and case does not count."""
    return next((tag for tag in tags if same_model(tag.name, name)), None)


def same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model."""
    return _full_name(one) == _full_name(other)


def _full_name(name: str) -> str:
    return (name if ":" in name.rpartition("/")[2] else f"{name}:latest").lower()


def _tag(model: Mapping[str, Any]) -> Tag:
    given, capabilities = model.get("details"), model.get("capabilities")
    details = given if isinstance(given, dict) else {}
    return Tag(
        name=_str(model.get("name")) or _str(model.get("model")),
        size=wire.int_or_zero(model.get("size")),
        digest=_str(model.get("digest")),
        capabilities=tuple(map(str, capabilities)) if isinstance(capabilities, list) else (),
        remote=_str(model.get("remote_host")),
        modified_at=_str(model.get("modified_at")),
        context_length=wire.int_or_zero(details.get("context_length")),
        family=_str(details.get("family")),
    )


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""
