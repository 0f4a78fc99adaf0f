"""A start without a server, or at one that has no model to talk to: some that would do, fetched on a person's word.

Nothing is ever fetched unasked: a model is gigabytes, and not every line is free.
"""

import threading
from collections.abc import Iterator

from agent_cli.agent.events import Event, Noticed, Progressed
from agent_cli.agent.policy.policy import Approve
from agent_cli.agent.runner import Work
from agent_cli.app import model_choice
from agent_cli.app.app import App
from agent_cli.errors import AgentError, Cancelled, ModelUnavailable
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import address, download, faults, tags

_FROM_MEMORY = "answering from memory only"


class Offer:
    """What could be fetched, once it has been said. It is looked for on another thread than it is taken on."""

    def __init__(self, app: App):
        self._app = app
        self._names: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._absent = False  # whether it has been said that no server answers

    def look(self) -> str:
        """What to say when no server answers, or it has no model that can chat; empty where there is one."""
        config = self._app.config
        if config.model == "offline" or config.model.startswith("scripted:"):
            return ""
        try:
            url = address.parse(config.host).url
            found = tags.tags(config.host)
        except ModelUnavailable:
            self._absent = True
            return f"no model server at {url}: start it with `ollama serve`; notes, facts and search work without"
        except AgentError:
            return ""
        if any(map(model_choice.chats, found)):
            return ""
        own = () if config.model == "auto" or faults.is_cloud(config.model) else (config.model,)
        about = {each.name: f"  {each.download} to fetch, {each.memory} of memory" for each in model_choice.SUGGESTIONS}
        names = tuple(dict.fromkeys((*own, *about)))[:3]
        with self._lock:
            self._names = names
        width = max(map(len, names))
        listed = [f"  {number}  {name:<{width}}{about.get(name, '')}".rstrip() for number, name in enumerate(names, 1)]
        return "\n".join(
            [
                f"The server at {url} has no model that can chat. These would do:",
                *listed,
                f"y fetches {names[0]} now, a number another one; notes, facts and search work without.",
            ]
        )

    def anew(self, told: str) -> str:
        """What a notice or error says that has not been said: where no server answers, what can be done there was.

        That memory alone answers is said by each answer of its own.
        """
        if not self._absent or not told.startswith("no model server"):
            return told
        return "" if _FROM_MEMORY in told else "no model server answers; what you said is kept, /retry asks it again"

    def taken(self, line: str) -> Work | None:
        """What fetches the model that a line names; None when nothing was offered, or the line is something else.

        Whatever is said next, the offer is over: a later `y` may answer quite another question.
        """
        with self._lock:
            names, self._names = self._names, ()
        numbered = {str(number): name for number, name in enumerate(names, 1)}
        name = numbered.get("1" if line.strip().lower() in ("y", "yes") else line.strip())
        return self._fetching(name) if name else None

    def _fetching(self, name: str) -> Work:
        config = self._app.config

        def work(cancel: Cancel, approve: Approve) -> Iterator[Event]:
            step = ""
            try:
                for state in download.fetch(config.host, name, cancel):
                    if state.notice:
                        yield Noticed(state.notice)
                    new = state.step if state.step != step else ""
                    step = state.step
                    yield Progressed(state.line, new)
            except Cancelled as error:
                yield Noticed(str(error))
                return
            answers = config.model == "auto" or tags.same(config.model, name)
            yield Noticed(
                f"{name} is here{' and answers from now on' if answers else f': /model {name} makes it answer'}"
            )

        return work
