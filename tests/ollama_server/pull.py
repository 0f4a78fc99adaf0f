"""POST /api/pull: a download that is only told of. Afterwards the model is there."""

from collections.abc import Iterator
from threading import Event
from typing import Any

from tests.ollama_server import go, registry
from tests.ollama_server.exchange import Exchange, Gone
from tests.ollama_server.registry import Model
from tests.ollama_server.state import State

STEPS = 4  # lines of progress per download


def pull(state: State, exchange: Exchange) -> None:
    """Answer /api/pull. Raises Refused, Gone; what was downloaded until then is kept."""
    name = go.decode(exchange.request.raw).get("model") or ""
    registry.check(name)
    model = state.registry.library.get(registry.with_tag(name).lower()) or state.registry.find(name)
    exchange.line({"status": "pulling manifest"})
    if model is None:
        exchange.line({"error": "pull model manifest: file does not exist"})
        exchange.end()
        return
    for done, line in _lines(model, state.pulled.get(model.full_name, 0)):
        exchange.wire.wait(state.pull_delay)
        exchange.line(line)
        state.pulled[model.full_name] = done
        if state.pull_held and done >= state.pull_held:
            exchange.wire.wait(Event())
        if state.pull_cuts and 0 < done < model.size:
            state.pull_cuts -= 1
            raise Gone
    state.registry.add(model)
    exchange.line({"status": "success"})
    exchange.end()


def _lines(model: Model, start: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Bytes there so far, and the line that says so. `completed` is absent at 0."""
    file = {"status": f"pulling {model.digest[:12]}", "digest": f"sha256:{model.digest}", "total": model.size}
    for step in range(STEPS + 1):
        done = max(start, model.size * step // STEPS)
        yield done, file | ({"completed": done} if done else {})
    yield model.size, {"status": "verifying sha256 digest"}
    yield model.size, {"status": "writing manifest"}
