"""A start without a model server, or with one that has no chat model: suggested models, downloaded when accepted.

Nothing is ever downloaded unasked: a model is gigabytes, and not every connection is free.
"""

import threading
from collections.abc import Iterator

from agent_cli.agent.events import Event, Noticed, Progressed, Work
from agent_cli.agent.policy import Approve
from agent_cli.app import models
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, ModelUnavailable
from agent_cli.llm import local, ollama_models
from agent_cli.llm.engine import AUTO, is_cloud, same_model
from agent_cli.llm.model import Cancel

_SMALL_OFFER = (
    "Type y and Enter to try SmolLM2-135M now, a very small model on this machine: it shows how everything works, "
    "but answers badly."
)
_SMALL_OFFER_AGAIN = "Type y and Enter to have SmolLM2-135M of this machine answer."


class ModelOffer:
    """The models that were suggested for download. `check` runs on another thread than `accept`."""

    def __init__(self, app: App):
        self._app = app
        self._names: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._server_absent = False  # whether the person knows that no server answers
        self._small = False  # whether the small model of this machine is suggested

    def check(self) -> str:
        """What to say when no server answers, or when it has no model that can chat; empty when it has one."""
        config = self._app.config
        if not models.needs_engine(config.model):
            return ""
        try:
            engine = self._app.engine
            found = engine.listing()
        except ModelUnavailable:
            known = self.absence_known()
            absent = f"no model server at {engine.url}: {engine.start}; notes, facts and search work without"
            return "\n".join(each for each in ("" if known else absent, self._suggest_small()) if each)
        except AgentError:
            return ""
        if any(map(models.chats, found)):
            return ""
        if engine.name != "ollama":
            return str(engine.missing())
        configured = () if config.model == "auto" or is_cloud(config.model) else (config.model,)
        sizes = {each.name: f"  {each.download} to fetch, {each.memory} of memory" for each in models.SUGGESTIONS}
        names = tuple(dict.fromkeys((*configured, *sizes)))[:3]
        with self._lock:
            self._names = names
        width = max(map(len, names))
        listed = [f"  {number}  {name:<{width}}{sizes.get(name, '')}".rstrip() for number, name in enumerate(names, 1)]
        return "\n".join(
            [
                f"The server at {engine.url} has no model that can chat. These would do:",
                *listed,
                f"Type y and Enter to fetch {names[0]} now, or the number of another one. Notes, facts and search work "
                "without a model.",
            ]
        )

    def _suggest_small(self) -> str:
        """The offer of the model that comes with the program; empty where it is not installed, or a model is named."""
        if self._app.config.engine != "ollama" or self._app.config.model != AUTO:
            return ""
        with self._lock:
            self._small = local.is_small_ready()
        if not self._small:
            return ""
        return _SMALL_OFFER_AGAIN if models.was_small_offered(self._app) else _SMALL_OFFER

    def absence_known(self) -> bool:
        """Whether the person was told before that no server answers, and how to start one; from now on they were."""
        known, self._server_absent = self._server_absent, True
        return known

    def accept(self, line: str) -> Work | None:
        """The download of the model that a line names; None when nothing was suggested, or the line is no answer to it.

        It ends the suggestion in any case: a later `y` may answer another question.
        """
        with self._lock:
            names, self._names = self._names, ()
            small, self._small = self._small, False
        if small and line.strip().lower() in ("y", "yes"):
            return self._try_small
        numbered = {str(number): name for number, name in enumerate(names, 1)}
        name = numbered.get("1" if line.strip().lower() in ("y", "yes") else line.strip())
        return self._download(name) if name else None

    def _try_small(self, cancel: Cancel, approve: Approve) -> Iterator[Event]:
        models.use_local(self._app, local.SMALL)
        self._server_absent = False
        yield Noticed(
            f"{local.SMALL} answers in this session; /set engine local keeps it, and /set model FILE.gguf takes "
            "a better one"
        )

    def _download(self, name: str) -> Work:
        config = self._app.config

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            step = ""
            try:
                for progress in ollama_models.fetch(config.host, name, cancel):
                    if progress.notice:
                        yield Noticed(progress.notice)
                    new = progress.coarse_line if progress.coarse_line != step else ""
                    step = progress.coarse_line
                    yield Progressed(progress.line, new)
            except Cancelled as error:
                yield Noticed(str(error))
                return
            answers = config.model == "auto" or same_model(config.model, name)
            yield Noticed(
                f"{name} is here{' and answers from now on' if answers else f': /model {name} makes it answer'}"
            )

        return work
