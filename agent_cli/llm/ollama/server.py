"""The server's version, its loaded models, and a model's details; values of an unexpected shape are ignored."""

from collections.abc import Mapping
from typing import Any

from agent_cli.llm.server import address, engine, wire
from agent_cli.values import frozen

_TIMEOUT = 5.0  # seconds, for answers that need no model


@frozen
class RunningModel:
    name: str
    size: int  # bytes
    in_vram: int  # bytes of it on the graphics card
    context: int  # tokens it was loaded with, 0 on servers that do not say


@frozen
class ModelInfo:
    context: int  # tokens it was trained with, 0 where the server does not say
    capabilities: tuple[str, ...]


def version(host: str) -> str:
    """Raises ModelUnavailable."""
    return str(_fetch(host, "/api/version").get("version") or "of unknown version")


def running(host: str) -> list[RunningModel]:
    """The models that are loaded. Raises ModelUnavailable."""
    models = _fetch(host, "/api/ps").get("models")
    return [
        RunningModel(
            str(each.get("name")), *(wire.int_or_zero(each.get(key)) for key in ("size", "size_vram", "context_length"))
        )
        for each in (models if isinstance(models, list) else ())
        if isinstance(each, dict)
    ]


def model_info(host: str, name: str) -> ModelInfo:
    """Raises ModelUnavailable."""
    answer = _fetch(host, "/api/show", {"model": name})
    info = answer.get("model_info")
    info = info if isinstance(info, dict) else {}
    capabilities = answer.get("capabilities")
    return ModelInfo(
        wire.int_or_zero(info.get(f"{info.get('general.architecture')}.context_length")),
        tuple(map(str, capabilities)) if isinstance(capabilities, list) else (),
    )


def loaded(host: str, name: str) -> RunningModel | None:
    """The model with this name, when it is loaded. Raises ModelUnavailable."""
    return next((each for each in running(host) if engine.same_model(each.name, name)), None)


def _fetch(host: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return wire.fetch_object(address.parse(host), path, body, timeout=_TIMEOUT)
