"""Everything about a server that is not sockets: what it has, what it will say, what it has seen."""

import re
from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition
from typing import Any, Literal

from tests.ollama_server import go, registry, script
from tests.ollama_server.cache import PromptCache
from tests.ollama_server.exchange import Exchange
from tests.ollama_server.go import Refused
from tests.ollama_server.record import Counters, EmbedInput, Request
from tests.ollama_server.registry import PROFILES, Model, Registry
from tests.ollama_server.scheduler import Scheduler
from tests.ollama_server.script import Script

Answer = Callable[[dict[str, Any]], Script]
Embed = Callable[[str, str], list[float]]

_IN_FRONT = re.compile(r"\A(?:⟦[^⟧]*⟧\s+)+(?=\S)")
BUSY = "server busy, please try again.  maximum pending requests exceeded"


def echo(body: dict[str, Any], delay: float = 0.0) -> Script:
    """What is said when nothing was scripted: the last thing the user said, without what memory put in front of it."""
    said = [message.get("content") or "" for message in body["messages"] if message.get("role") == "user"]
    return script.reply(f"You said: {_IN_FRONT.sub('', said[-1]) if said else ''}", delay=delay)


class State:
    """What a test sets before and looks at after. One lock, `changed`, guards it all."""

    chat_path = embed_path = key = ""

    def __init__(
        self,
        models: Iterable[Model] = (),
        profile: Literal["modern", "v024", "v012_9"] = "modern",
        strict: bool = True,
        *,
        library: Iterable[Model] = (),
    ):
        self.changed = Condition()
        self.profile = PROFILES[profile]
        self.strict = strict
        self.ids = go.call_ids()
        self.registry = Registry(models, library)
        self.counters = Counters()
        self.prompts = PromptCache()
        self.scheduler = Scheduler(self.counters, self.changed)

        self.answer: Answer = echo
        self.embed: Embed | None = None
        self.busy = 0
        self.retry_after = 0  # seconds that a busy server asks for
        self.queue_full = False
        self.embed_delay = 0.0
        self.pull_delay = 0.0
        self.pull_held = 0  # once so many bytes of a model are there, its pull goes no further until the client leaves
        self.pull_cuts = 0  # so many pulls break off in the middle of a download
        self.pulled: dict[str, int] = {}  # bytes of models whose pull was cut short
        self.expect_stable = True  # num_ctx of a model does not change

        self.requests: list[Request] = []
        self.ahead: list[Request] = []
        """The chats that had their prompt read ahead of a question; they are in no other list."""
        self._underway: dict[int, Exchange] = {}  # what is being answered, by the identity of its request
        self.embedded: list[EmbedInput] = []
        self.problems: list[str] = []
        self._scripts: deque[Script] = deque()
        self._embed_scripts: deque[Script] = deque()
        self._num_ctx: dict[str, int] = {}

    # What it will say.

    def play(self, *scripts: Script) -> None:
        """Queue scripts for the next chats, in order."""
        with self.changed:
            self._scripts.extend(scripts)

    def play_embed(self, *scripts: Script) -> None:
        """Queue failures or silences for the next embeds; an embed script ends in a failure or a cut."""
        with self.changed:
            self._embed_scripts.extend(scripts)

    def next_script(self, body: dict[str, Any]) -> Script:
        if (body.get("options") or {}).get("num_predict") == 1:
            return script.reply("So")
        with self.changed:
            scripted = self._scripts.popleft() if self._scripts else None
        return scripted or self.answer(body)

    def next_embed_script(self) -> Script | None:
        with self.changed:
            return self._embed_scripts.popleft() if self._embed_scripts else None

    # What it has seen.

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests, loading ones (without messages) included."""
        return self._bodies(self.chat_path)

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The chats that have messages."""
        return [body for body in self.chats if body.get("messages")]

    @property
    def embeds(self) -> list[dict[str, Any]]:
        return self._bodies(self.embed_path)

    def _bodies(self, path: str) -> list[dict[str, Any]]:
        with self.changed:
            return [r.body for r in self.requests if r.path == path and isinstance(r.body, dict)]

    def wait_until(self, true: Callable[[], bool], timeout: float = 30) -> None:
        """Block until it is true. Raises AssertionError after the timeout."""
        with self.changed:
            assert self.changed.wait_for(true, timeout), f"it did not come true within {timeout} s"

    def wait_for_chats(self, count: int, timeout: float = 30) -> None:
        """Block until so many chat requests have arrived."""
        self.wait_until(lambda: len(self.chats) >= count, timeout)

    def wait_until_idle(self, timeout: float = 30) -> None:
        """Block until every request that arrived is answered or given up."""
        self.wait_until(lambda: not self._underway, timeout)

    def note(self, request: Request, problems: Iterable[str]) -> None:
        """Write down what is wrong with a request."""
        with self.changed:
            found = [f"{request.method} {request.path}: {problem}" for problem in problems]
            self.problems += found

    # What its endpoints share.

    def find(self, name: str, missing: str) -> Model:
        """The model of a request. Raises Refused: cloud, or `missing` with the name put in."""
        if self.is_cloud(name):
            raise Refused(403, "ollama cloud is disabled: remote model is unavailable")
        if (model := self.registry.find(name)) is None:
            raise Refused(404, missing.format(name))
        return model

    def is_cloud(self, name: str) -> bool:
        """Whether a request for it would leave the machine."""
        model = self.registry.find(name)
        return registry.is_cloud(name) or bool(model and model.remote_host)

    def admit(self) -> None:
        """Raises Refused while the queue is full."""
        with self.changed:
            if not self.queue_full and not self.busy:
                return
            self.busy = max(0, self.busy - 1)
        raise Refused(503, BUSY)

    def context_for(self, request: Request, model: Model, options: dict[str, Any]) -> int:
        """The context the model is loaded with: the request's, the Modelfile's, 4096; at most what it was trained with.

        One that differs from the last is written down: it makes the model load again.
        """
        num_ctx = min(int(options.get("num_ctx") or model.num_ctx or 4096), model.trained)
        with self.changed:
            before = self._num_ctx.get(model.full_name, num_ctx)
            self._num_ctx[model.full_name] = num_ctx
            if self.expect_stable and before != num_ctx:
                self.note(
                    request, [f"num_ctx of {model.full_name} changed from {before} to {num_ctx}, which reloads it"]
                )
        return num_ctx
