"""The models of an app: for answers, for summaries and other jobs, and changing them.

With "auto" the default model is remembered in the file: the one that `/model` chose, else the newest at first.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from agent_cli import clock, text
from agent_cli.app.app import App
from agent_cli.errors import ModelMissing, ModelUnavailable
from agent_cli.llm import offline
from agent_cli.llm.engine import AUTO, Engine, Tag, cloud, embeds, find, is_small
from agent_cli.llm.model import ChatModel, Chunk, Notice
from agent_cli.llm.offline import ModelRole, OfflineModel, SearchMemories
from agent_cli.llm.ollama import SUGGESTED
from agent_cli.memory.conversations import capture, log
from agent_cli.memory.language import statements
from agent_cli.messages import FromMemory, Part
from agent_cli.store import meta
from agent_cli.store.db import Database

_DEFAULT = "default model"  # in meta
_REQUEST_WORDS = 4  # words that ask to remember a statement
_CHOSEN = "/model"  # origin of the setting once it is changed for this run
_FROM_MEMORY = "answering from memory only"
_SCRIPT = "scripted:"


SUGGESTIONS = {
    SUGGESTED: ("2.5 GB", "about 4 GB"),
    "qwen3:1.7b": ("1.4 GB", "about 3 GB"),
    "qwen3:8b": ("5.2 GB", "about 7 GB"),
}  # can chat and use tools: what is fetched, and the memory that they take with a context of 8192 tokens


def chat(app: App, db: Database) -> tuple[ChatModel, str]:
    """The model that answers, and a notice when the person should know which. The offline one is chosen each time."""
    with app.lock:
        if app.model is not None:
            return app.model, ""
        model, notice = _create(app, app.config.model, "chat", db)
        if model.name != "offline" or app.config.model == "offline":
            app.model = model
        if app.config.model == AUTO and model.name != "offline" and app.keeps and meta.get(db, _DEFAULT) is None:
            meta.put(db, _DEFAULT, model.name)
        return model, notice


def planned(app: App, db: Database) -> ChatModel:
    """The model that will answer the next question; that it was asked for is not remembered. Raises AgentError."""
    with app.lock:
        return app.model or _create(app, app.config.model, "chat", db)[0]


def cheap(app: App, db: Database) -> ChatModel | None:
    """The model for summaries and other jobs; None without a server, and for a small one not named for them."""
    name = app.config.cheap_model or app.config.model
    model = _create(app, name, "cheap", db)[0]  # at each call: with "auto" a server may have started or stopped
    return None if model.name == "offline" or (not app.config.cheap_model and is_small(model.name)) else model


def switch(app: App, name: str) -> tuple[ChatModel, str]:
    """Answer with another model from now on, in later runs too; returns the same as `chat`. Raises AgentError."""
    with app.lock:
        model, notice = _create(app, name, "chat", app.db)
        if named := name != AUTO and needs_engine(name):
            notice = check(app.engine, name)
        app.override(app.loaded.origins["model"] if named_by(app) else _CHOSEN, model=name)
        app.model = model if model.name != "offline" or name == "offline" else None
        if app.keeps and named:
            meta.put(app.db, _DEFAULT, name)
        return model, notice


def use_local(app: App, name: str) -> None:
    """Answer with a model of this machine in this run."""
    with app.lock:
        app.override(_CHOSEN, engine="local", model=name)


def for_one_answer(app: App, name: str) -> ChatModel:
    """A model for a single answer; the app keeps its own. Raises AgentError."""
    with app.lock:
        model, _ = _create(app, name, "chat", app.db)
        if name != AUTO and needs_engine(name):
            check(app.engine, name)
        return model


def named_by(app: App) -> str:
    """What names the model for all runs, a settings file or a variable; empty while it is "auto"."""
    origin = app.loaded.origins["model"]
    return "" if app.config.model == AUTO or origin in ("default", "flag", _CHOSEN) else origin


def _create(app: App, name: str, role: ModelRole, db: Database) -> tuple[ChatModel, str]:
    return chat_model(name, app.engine, partial(find_memories, app), meta.get(db, _DEFAULT) or "", role)


def check(engine: Engine, name: str) -> str:
    """A notice when no server answers yet, else an empty string. Raises ModelMissing when it has no such chat model."""
    try:
        found = engine.find(name)
    except ModelUnavailable:
        return f"no model server answers at {engine.url}: {name} could not be checked, and is used when one does"
    if found is None:
        raise engine.missing(name)
    if found.elsewhere:
        raise cloud(name)
    if not chats(found):
        raise ModelMissing(f"the model {name!r} cannot chat", "choose another with --model")
    return ""


def chat_model(
    name: str, engine: Engine, search: SearchMemories = lambda *_: ("", ()), default: str = "", role: ModelRole = "chat"
) -> tuple[ChatModel, str]:
    """The model named "auto", "offline", "scripted:FILE" or as the engine knows it, and a notice or an empty string.
    When no server answers, "auto" gives the offline model. Raises ModelMissing and ConfigError."""
    if name == "offline":
        return OfflineModel(search), ""
    if name.startswith(_SCRIPT):
        return offline.load_script(name.removeprefix(_SCRIPT), role), ""
    if name != AUTO:
        return engine.chat(name), ""
    try:
        name, notice = pick(engine, engine.listing(), default)
    except ModelUnavailable:
        return OfflineModel(search), FromMemory(f"no model server at {engine.url}; {_FROM_MEMORY} ({engine.start})")
    model = engine.chat(name)
    return (_Auto(model, OfflineModel(search)) if role == "chat" else model), notice


class _Auto:
    """The model of a server while that answers, else the offline model."""

    def __init__(self, model: ChatModel, offline: OfflineModel):
        self._model, self._offline = model, offline
        self.name = model.name

    def reply(self, *args: Any, **kwargs: Any) -> Iterator[Chunk]:
        begun = False
        try:
            for chunk in self._model.reply(*args, **kwargs):
                begun = True
                yield chunk
        except ModelUnavailable as error:
            if begun:
                raise
            yield Notice(FromMemory(f"{error}; {_FROM_MEMORY}"))
            yield from self._offline.reply(*args, **kwargs)


def needs_engine(name: str) -> bool:
    return name != "offline" and not name.startswith(_SCRIPT)


def pick(engine: Engine, tags: list[Tag], default: str) -> tuple[str, str]:
    """The name of the default model, else of the newest with a notice if there were several. Raises ModelMissing."""
    chat_models = [tag for tag in tags if chats(tag)]
    if not chat_models:
        raise engine.missing()
    if default and (known := find(default, chat_models)):
        return known.name, ""
    newest = max(chat_models, key=lambda tag: tag.modified_at)  # as text: all are of the zone of the server
    return newest.name, f"using {newest.name}; -m or /model chooses another" if len(chat_models) > 1 else ""


def default_of(app: App, tags: list[Tag]) -> str:
    """The name of the default model of a server that has these; may be called on any thread. Raises ModelMissing."""
    with app.db.another_connection() as db:
        return pick(app.engine, tags, meta.get(db, _DEFAULT) or "")[0]


def chats(tag: Tag) -> bool:
    """Whether a model runs on the server itself and can chat; without listed capabilities, judged by its name."""
    if tag.elsewhere:
        return False
    return "completion" in tag.capabilities if tag.capabilities else not embeds(tag)


def find_memories(app: App, question: str, limit: int) -> tuple[str, list[tuple[str, str, str]]]:
    """The verdict on a message, and memories for the offline model: (handle, date, text)."""
    if not app.reads:
        return "", []
    from agent_cli.app import upkeep  # only the offline model searches here
    from agent_cli.memory.search import recall
    from agent_cli.memory.search.candidates import Filter

    with app.open_memory() or app.db.another_connection() as db:
        asked, said = log.last_of_person(db, app.scope.owner)
        if not {*text.words(said)} <= {*text.words(question)}:
            asked = 0  # the question is not logged
        if said and question.endswith(said):  # messages that got a receipt alone stand before it
            question = said
        if statements.is_small_talk(question):
            return "", []
        if capture.requests([Part(question, "typed")]) and not statements.asks(question):
            return _requested(db, app.scope.owner, question, limit)
        embedder = upkeep.prepare_search(app, db)
        allowed = Filter(app.scope.owner, current_place=app.scope.place, fact_half_life=app.fact_half_life)
        now, logged = app.time(), not db.read_only
        found = recall.find(db, question, allowed, now, 2 * limit, embedder, logged=logged, least=recall.LEAST)
        # A message with a pipe is more than the question, and would be found by it.
        hits = [hit for hit in found.hits if not hit.empty and (hit.kind, hit.id) != ("message", asked)]
        verdict = found.verdict if hits else "nothing"
        if verdict == "nothing":
            hits = []
            if embedder and statements.asks_for_advice(question):
                hits = [*recall.preferences(db, question, allowed, now, limit, embedder)]
                verdict = "maybe" if hits else verdict
    facts = [text.words(hit.text) for hit in hits if hit.kind == "fact"]

    def only_says_fact(words: Sequence[str]) -> bool:
        """Whether a message is one of the facts and hardly more, as in "Please remember that I live in Linz"."""
        return any(len(words) <= len(fact) + _REQUEST_WORDS and words[-len(fact) :] == fact for fact in facts)

    def dated(hit: recall.Hit) -> str:
        return ", ".join(filter(None, (f"{clock.from_timestamp(hit.at):%d %b %Y}", hit.label.strip("()"))))

    shown = [hit for hit in hits if hit.kind != "message" or not only_says_fact(text.words(hit.text))]
    # A summary repeats what was said, unless a time was asked for.
    shown = [hit for hit in shown if hit.kind != "summary" or "time" in hit.legs] or shown
    return verdict, [(hit.handle, dated(hit), hit.text) for hit in shown[:limit]]


def _requested(db: Database, owner: str, words: str, limit: int) -> tuple[str, list[tuple[str, str, str]]]:
    """What became of the facts in a message that asks to remember something and nothing else."""
    from agent_cli.memory.facts import facts  # only where the offline model answers
    from agent_cli.memory.proposals import PENDING

    stated = facts.stated_last(db, owner, words)
    waiting = [each for each in stated if each.state == PENDING]
    shown = [(each, clock.local(each.learned_at, each.utc_offset)) for each in (waiting or stated)[:limit]]
    dated = [(each.handle, f"{at:%d %b %Y}", each.statement) for each, at in shown]
    return "waiting" if waiting else "kept" if stated else "", dated
