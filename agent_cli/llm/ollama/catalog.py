"""The models on the server, and fetching another: list, show and pull, through the official package.

These are commands a person waits for, so the 0.2 s its import takes do not matter, and it follows the server's answers
from version to version. What it drops (what a model can do, where it runs) is read beside it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from agent_cli.errors import AgentError, ModelFailed, ModelMissing
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import address, faults, wire
from agent_cli.llm.ollama import tags as tagged
from agent_cli.llm.ollama.address import Address
from agent_cli.values import frozen

READ = 30.0
"""Seconds a list or a description may take."""

# A client is built while the package is imported, from settings that the server takes and the client does not (quotes
# in OLLAMA_HOST) or that are not meant for us (a proxy of a kind it cannot speak to): the import would fail.
_TROUBLE = ("OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

_UNREADABLE = (ValueError, TypeError, AttributeError)  # what the package makes of JSON that is not Ollama's


@frozen
class Listed:
    name: str
    size: int  # bytes
    modified: datetime | None
    context_length: int  # tokens it was trained with, 0 where the server does not say
    capabilities: tuple[str, ...]
    loaded: bool
    cloud: bool


@frozen
class Shown:
    name: str
    family: str
    parameters: str  # how many, such as "8.2B"
    quantization: str
    context_length: int
    embedding_length: int
    capabilities: tuple[str, ...]
    settings: str  # the PARAMETER lines of its Modelfile


@frozen
class Progress:
    status: str
    digest: str = ""
    completed: int = 0  # bytes
    total: int = 0


class PullCut(ModelFailed):
    """A model was not fetched whole because the connection broke: trying again goes on where it stopped."""


def listing(host: str) -> list[Listed]:
    """The models of the server, newest first. Raises ModelUnavailable."""
    place = address.parse(host)
    with _client(place) as client:
        listed, running = client.list().models, client.ps().models
    known = tagged.tags(host, timeout=READ)
    loaded = [model.model or "" for model in running]
    return [_listed(model, known, loaded) for model in listed if model.model]


def _listed(model: Any, known: list[tagged.Tag], loaded: list[str]) -> Listed:
    tag = tagged.find(model.model, known) or tagged.Tag(model.model)
    return Listed(
        name=model.model,
        size=int(model.size or 0),
        modified=model.modified_at,
        context_length=tag.context_length,
        capabilities=tag.capabilities,
        loaded=any(tagged.same(model.model, name) for name in loaded),
        cloud=bool(tag.remote) or faults.is_cloud(model.model),
    )


def show(host: str, name: str) -> Shown:
    """What the server knows of a model. Raises ModelMissing, ModelUnavailable."""
    place = address.parse(host)
    with _client(place, name) as client:
        told = client.show(name)
    facts = told.modelinfo or {}
    kind = facts.get("general.architecture", "")
    return Shown(
        name=name,
        family=(told.details and told.details.family) or "",
        parameters=(told.details and told.details.parameter_size) or "",
        quantization=(told.details and told.details.quantization_level) or "",
        context_length=int(facts.get(f"{kind}.context_length") or 0),
        embedding_length=int(facts.get(f"{kind}.embedding_length") or 0),
        capabilities=tuple(told.capabilities or ()),
        settings=told.parameters or "",
    )


def pull(host: str, name: str, cancel: Cancel | None = None) -> Iterator[Progress]:
    """Fetch a model from the library. Raises ModelMissing, ModelFailed, ModelUnavailable, Cancelled."""
    faults.refuse_cloud(name)
    place, status = address.parse(host), ""
    cancel = Cancel() if cancel is None else cancel
    with _client(place, name, read=None, cancel=cancel, cut=PullCut) as client, cancel.on_cancel(client.close):
        for step in client.pull(name, stream=True):
            cancel.check()
            status = step.status or ""
            yield Progress(status, step.digest or "", step.completed or 0, step.total or 0)
    if status != "success":
        raise PullCut(f"the server stopped fetching {name!r} before it was whole: run the same again to go on")


@contextmanager
def _client(
    place: Address,
    name: str = "",
    read: float | None = READ,
    cancel: Cancel | None = None,
    cut: type[ModelFailed] = ModelFailed,
) -> Iterator[Any]:
    ollama = _package()
    import httpx  # with the package, which leaves its exceptions as they are

    def anonymous(request: httpx.Request) -> None:
        request.headers.pop("authorization", None)  # a key for ollama.com that the package sends everywhere

    client = ollama.Client(
        place.url,
        timeout=httpx.Timeout(read, connect=wire.CONNECT),
        trust_env=False,
        follow_redirects=False,
        event_hooks={"request": [anonymous]},
    )
    try:
        yield client
    except ollama.ResponseError as error:
        raise _refused(error, name, place) from error
    except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
        if cancel is not None:
            cancel.check()
        raise faults.unavailable(place.url, "no connection") from error
    except (httpx.HTTPError, RuntimeError, *_UNREADABLE) as error:  # RuntimeError: closed
        if cancel is not None:
            cancel.check()
        raise cut(f"the answer of the server at {place.url} broke off or cannot be read") from error
    finally:
        client.close()


def _refused(error: Any, name: str, place: Address) -> AgentError:
    fault = faults.found(error.error, error.status_code if error.status_code > 0 else 200)
    if "file does not exist" in fault.words:
        return ModelMissing(f"there is no model {name!r} to fetch: see https://ollama.com/library")
    return faults.error(fault, name, place.url)


def _package() -> Any:
    """The ollama package. Imported here because it takes 0.2 s, which only these commands should pay."""
    if "ollama" in sys.modules:
        return sys.modules["ollama"]
    hidden = {key: os.environ.pop(key) for key in _TROUBLE if key in os.environ}
    try:
        import ollama
    finally:
        os.environ.update(hidden)
    return ollama
