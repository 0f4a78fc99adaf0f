"""The models of a server and where they run. Our own requests: the official package drops the capabilities."""

from collections.abc import Mapping
from typing import Any

from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.server import address, engine, faults, wire
from agent_cli.llm.server.address import Address
from agent_cli.llm.server.engine import PROBE_TIMEOUT, Tag
from agent_cli.llm.server.faults import ServerFault


def listing(host: str, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
    """The models of the server at `host`. Raises ModelUnavailable when it does not answer within `timeout` seconds."""
    server = address.parse(host)
    answer = wire.fetch_object(server, "/api/tags", timeout=timeout)
    if not isinstance(answer.get("models"), list | None):
        raise faults.wrong_server(server)
    found = [_tag(model) for model in answer.get("models") or () if isinstance(model, dict)]
    return [tag for tag in found if tag.name]


def is_local(server: Address, model: str, cancel: Cancel) -> bool:
    """Whether the model runs on this server, checked before any text is sent; False when the server does not say.

    A cloud model can have any name. Raises ModelMissing for a cloud model, ModelUnavailable, Cancelled.
    """
    engine.refuse_cloud(model)
    try:
        shown = wire.fetch(server, "/api/show", {"model": model}, cancel=cancel)
    except ServerFault:
        return False
    if isinstance(shown, dict) and (shown.get("remote_host") or shown.get("remote_model")):
        raise engine.cloud(model)
    return True


def loaded(host: str, model: str) -> bool | None:
    """Whether the server has the model in memory; None when it does not say."""
    try:
        answer = wire.fetch(address.parse(host), "/api/ps", timeout=PROBE_TIMEOUT)
    except (ServerFault, ModelUnavailable):
        return None
    running = answer.get("models") if isinstance(answer, dict) else None
    if not isinstance(running, list):
        return None
    return any(isinstance(each, dict) and engine.same_model(str(each.get("name")), model) for each in running)


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
