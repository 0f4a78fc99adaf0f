"""The models a server has, how their names are looked up, and how servers of other times differ."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Literal

from tests.ollama_server.go import Refused

_NAME = re.compile(r"[a-z0-9][\w.-]*(:\d+)?(/[\w.-]+)*(:[\w.-]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Profile:
    """An era of the server. `ids`: of tool calls. `details`: /api/tags tells capabilities and lengths."""

    version: str
    ids: bool = True
    details: bool = False
    out_of_memory: str = "model requires more system memory (5.5 GiB) than is available (3.9 GiB)"


PROFILES = {
    "modern": Profile("0.33.0", details=True, out_of_memory="llama-server process has terminated: signal: killed"),
    "v024": Profile("0.24.0"),
    "v012_9": Profile("0.12.9", ids=False),
}


@dataclass(frozen=True)
class Model:
    """A model as it is installed. One that is `native` leaves its template and tool calls to llama-server."""

    name: str
    capabilities: tuple[str, ...] = ("completion",)
    context_length: int = 0  # what it was trained with; 0 is 40960, or 2048 for an embedder
    embedding_length: int = 4096
    num_ctx: int | None = None  # PARAMETER num_ctx of its Modelfile
    mode: Literal["parser", "native"] = "parser"
    load_delay: float | Event = 0.0  # seconds that loading takes, or what it waits for
    remote_host: str = ""  # set on a stub for a model that runs in the cloud
    too_big: bool = False  # it cannot be loaded
    size: int = 5225388164
    modified_at: str = "2026-05-04T17:37:44.706015396-07:00"

    @property
    def full_name(self) -> str:
        return with_tag(self.name)

    @property
    def embeds(self) -> bool:
        return "embedding" in self.capabilities

    @property
    def trained(self) -> int:
        return self.context_length or (2048 if self.embeds else 40960)

    @property
    def architecture(self) -> str:
        found = re.match(r"[a-z]+\d*", self.name.rsplit("/", 1)[-1].lower())
        return "bert" if self.embeds else found[0] if found else "llama"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.full_name.encode()).hexdigest()


def with_tag(name: str) -> str:
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def path(name: str) -> str:
    """The name in full, as some errors spell it: registry.ollama.ai/library/gemma:2b."""
    parts = with_tag(name).split("/")
    return "/".join(["registry.ollama.ai", "library"][: 3 - len(parts)] + parts)


def is_cloud(name: str) -> bool:
    return name.lower().endswith((":cloud", "-cloud"))


def check(name: str) -> None:
    """Raises Refused if the name could not be one."""
    if not name:
        raise Refused(400, "model is required")
    if not _NAME.fullmatch(name):
        raise Refused(400, "invalid model name")


class Registry:
    """The installed models and, in `library`, those that can be pulled."""

    def __init__(self, models: Iterable[Model], library: Iterable[Model] = ()):
        self._models: dict[str, Model] = {}
        self.library = {model.full_name.lower(): model for model in library}
        for model in models:
            self.add(model)

    def add(self, model: Model) -> None:
        self._models[model.full_name.lower()] = model

    def remove(self, name: str) -> None:
        self._models.pop(with_tag(name).lower(), None)

    def find(self, name: str) -> Model | None:
        return self._models.get(with_tag(name).lower())

    def all(self) -> list[Model]:
        """Newest first, as /api/tags lists them."""
        return sorted(self._models.values(), key=lambda model: model.modified_at, reverse=True)
