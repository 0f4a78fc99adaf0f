"""A process of our own as an engine: /v1 at an address that is found, or made, when a model is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from agent_cli.errors import ModelMissing, ModelUnavailable
from agent_cli.llm.local import process, weights
from agent_cli.llm.local.process import Launch
from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.llm.openai.chat import OpenAIModel
from agent_cli.llm.openai.embed import OpenAIEmbedder
from agent_cli.llm.server import retries
from agent_cli.llm.server.engine import PROBE_TIMEOUT, Tag
from agent_cli.values import frozen

_EMBED_TOKENS = 2048  # of context; texts are cut to less


@frozen
class LocalEngine:
    """An Engine. `named`: the models of the settings, which it lists where they are files."""

    folder: Path  # of the files that say where processes run
    idle: float = 600.0  # seconds without a request after which a process ends
    named: tuple[str, ...] = ()
    num_ctx: int = 8192
    options: Mapping[str, Any] = field(default_factory=dict)
    answer_tokens: int = 0
    patience: float = retries.BUSY_TIMEOUT
    name: str = "local"

    @property
    def url(self) -> str:
        return "engine local"

    @property
    def start(self) -> str:
        return f"install the local engine with `{weights.INSTALL}`"

    def listing(self, timeout: float = PROBE_TIMEOUT) -> list[Tag]:
        if not weights.is_installed():
            raise ModelUnavailable(f"the local engine is not installed: {weights.INSTALL}")
        found = map(weights.tag_of, dict.fromkeys((*self.named, weights.SMALL)))
        return [tag for tag in found if tag]

    def find(self, model: str) -> Tag | None:
        return weights.tag_of(model)

    def chat(self, model: str) -> "LocalModel":
        return LocalModel(model, self)

    def embedder(self, model: str) -> "LocalEmbedder":
        return LocalEmbedder(model, self)

    def loaded(self, model: str) -> bool | None:
        try:
            return process.running(self.launch(model)) is not None
        except ModelMissing:
            return None

    def launch(self, model: str, *, embeds: bool = False) -> Launch:
        """The process that runs a model. Raises ModelMissing."""
        path = weights.file_of(model)
        return Launch(self.folder, path, _EMBED_TOKENS if embeds else self.num_ctx, embeds, self.idle)

    def pull_command(self, model: str) -> str:
        return weights.INSTALL_SMALL if model == weights.SMALL else ""

    def missing(self, model: str = "") -> ModelMissing:
        if not model:
            return ModelMissing(
                f"the local engine has no model: agent config set model FILE{weights.SUFFIX}, or try a very small one "
                f"with `{weights.INSTALL_SMALL}`"
            )
        try:
            weights.file_of(model)
        except ModelMissing as error:
            return error
        return ModelMissing(f"the model {model!r} cannot be used")


class LocalModel:
    """A ChatModel that finds or starts its process at each reply: it may have ended since the last one."""

    def __init__(self, name: str, engine: LocalEngine):
        self.name = name
        self._engine = engine

    def reply(self, *args: Any, cancel: Cancel | None = None, **kwargs: Any) -> Iterator[Chunk]:
        """Stream one assistant message that ends with Done. Raises AgentError."""
        cancel = Cancel() if cancel is None else cancel
        begun = False
        for last in (False, True):
            try:
                for chunk in self._model(cancel).reply(*args, cancel=cancel, **kwargs):
                    begun = True
                    yield replace(chunk, model=self.name) if isinstance(chunk, Done) else chunk  # it says the file
                return
            except ModelUnavailable:  # it has ended since it was found
                if begun or last:
                    raise

    def _model(self, cancel: Cancel) -> OpenAIModel:
        engine = self._engine
        if not weights.is_installed():
            raise ModelUnavailable(f"the local engine is not installed: {weights.INSTALL}")
        return OpenAIModel(
            self.name,
            process.join(engine.launch(self.name), cancel),
            engine.num_ctx,
            options=engine.options,
            answer_tokens=engine.answer_tokens,
            busy_timeout=engine.patience,
        )


class LocalEmbedder(OpenAIEmbedder):
    """Turns texts into vectors of length 1, in a process beside the one of the chat model."""

    def __init__(self, model: str, engine: LocalEngine):
        super().__init__(model, lambda cancel: process.join(engine.launch(model, embeds=True), cancel))

    def _version(self) -> str:
        return f"{super()._version()} {weights.digest(weights.file_of(self.model))}"
