"""What runs models: a kind of server, or a process of our own; and the models that it lists.

The rest of the program knows an engine by the protocol here, so that a conversation does not depend on which one it is.
"""

from typing import Protocol

from agent_cli.errors import ModelMissing
from agent_cli.llm.model import ChatModel
from agent_cli.llm.server.embedding import NAME_PARTS, TRAITS, ServerEmbedder, bare_name
from agent_cli.values import frozen

AUTO = "auto"  # the name that stands for any fitting model of the engine

PROBE_TIMEOUT = 0.5
"""Seconds within which a running server answers."""


@frozen
class Tag:
    name: str
    size: int = 0  # bytes
    digest: str = ""
    capabilities: tuple[str, ...] = ()  # empty where the server does not say
    remote: str = ""  # the host it runs on, when that is another one
    modified_at: str = ""  # RFC 3339 with the server's offset
    context_length: int = 0  # tokens it was trained with, 0 where the server does not say
    family: str = ""

    @property
    def elsewhere(self) -> bool:
        """Whether it runs on another machine than its server."""
        return bool(self.remote) or is_cloud(self.name)


class Engine(Protocol):
    @property
    def name(self) -> str:
        """As in the settings; the identity of its vectors begins with it."""
        ...

    @property
    def url(self) -> str: ...

    @property
    def start(self) -> str:
        """How to start it, as the second half of a sentence."""
        ...

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        """Its models. Raises ModelUnavailable when it does not answer within `timeout` seconds."""
        ...

    def find(self, model: str) -> Tag | None:
        """A model by its name. Raises ModelUnavailable."""
        ...

    def chat(self, model: str) -> ChatModel:
        """Raises ModelMissing for a model that must not be used."""
        ...

    def embedder(self, model: str) -> ServerEmbedder: ...

    def loaded(self, model: str) -> bool | None:
        """Whether it has the model in memory; None when it does not say."""
        ...

    def pull_command(self, model: str) -> str:
        """The command that adds a model; empty where models are added otherwise."""
        ...

    def missing(self, model: str = "") -> ModelMissing:
        """The error for a model that it does not have; without a name, for having none that can chat."""
        ...


def is_cloud(model: str) -> bool:
    return model.lower().endswith((":cloud", "-cloud"))


def cloud(model: str) -> ModelMissing:
    return ModelMissing(
        f"the model {model!r} runs on somebody else's machine; only models on your own server are used",
        "choose another with --model, `agent models` lists them",
    )


def refuse_cloud(model: str) -> None:
    """Raise ModelMissing for a model that a local server would run on another machine."""
    if is_cloud(model):
        raise cloud(model)


def find(name: str, tags: list[Tag]) -> Tag | None:
    """The model with this name: no tag means `:latest`, and case does not count."""
    return next((tag for tag in tags if same_model(tag.name, name)), None)


def same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model."""
    return _full_name(one) == _full_name(other)


def _full_name(name: str) -> str:
    return (name if ":" in name.rpartition("/")[2] else f"{name}:latest").lower()


def pick_embedder(name: str, listed: list[Tag]) -> Tag | None:
    """The model with this name, with "auto" the preferred one that embeds on the server itself; None without one."""
    if name != AUTO:
        return find(name, listed)
    order = list(TRAITS)
    found = [tag for tag in listed if embeds(tag) and not tag.elsewhere]
    bare_names = {tag.name: bare_name(tag.name) for tag in found}
    ranks = {name: order.index(bare) if bare in TRAITS else len(order) for name, bare in bare_names.items()}
    return min(found, key=lambda tag: (ranks[tag.name], tag.size, tag.name), default=None)


def embeds(tag: Tag) -> bool:
    """Whether a model embeds; without listed capabilities, judged by its name."""
    if tag.capabilities:
        return "embedding" in tag.capabilities
    return bare_name(tag.name) in TRAITS or any(part in f"{tag.name} {tag.family}".lower() for part in NAME_PARTS)
