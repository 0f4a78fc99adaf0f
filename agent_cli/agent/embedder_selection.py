"""Chooses the embedder of a database, and fills and queries its vectors with it.

The choice is made once for a database: the engine's if it has an embedding model and answers, else the embedded one,
else none. Vectors of two models cannot be compared: while the server is down, search is by words only. A model that was
pulled again is another one: the index job notices it by its digest.
"""

from collections.abc import Iterator, Sequence

from agent_cli.errors import AgentError, ModelMissing, UsageError
from agent_cli.llm import embedded
from agent_cli.llm.engine import AUTO, SUGGESTED, Engine, ServerEmbedder, find, pick_embedder
from agent_cli.memory.search import vectors
from agent_cli.store.db import Database

_BATCH = 256
_FEW_VECTORS = 3000  # missing vectors; more only while very many files are added

Embedder = embedded.EmbeddedEmbedder | ServerEmbedder
Traits = tuple[str, int, float, float | None]
"""The identity of an embedder, its dimension, and its scale."""


class EmbedderSelection:
    """The embedder for the vectors of a database. `model`: of the engine; "auto" is the preferred one that it has."""

    def __init__(self, engine: Engine, model: str):
        self._engine, self._model = engine, model
        self.embedded = embedded.EmbeddedEmbedder()  # it compares words, whichever embeds texts
        self._on_server: dict[str, ServerEmbedder] = {}  # by the name of the model

    def current(self, db: Database) -> Embedder | None:
        """The embedder of the database; the first call chooses it and creates its empty set. None: words only."""
        vector_set = vectors.current(db) or self._choose(db)
        return self._for_identity(vector_set.identity) if vector_set else None

    def query_embedder(self, db: Database, *, choose: bool = True) -> vectors.QueryEmbedder | None:
        """What compares questions with this database. A turn does not `choose`: a model may take long to load."""
        return _DatabaseEmbedder(self, db) if (choose or vectors.current(db)) and self.current(db) else None

    def fill(self, db: Database) -> Iterator[tuple[int, int]]:
        """Make missing vectors in batches, those of a new set first, which is then current; yields (done, total)."""
        self._follow_model_change(db)
        waiting = vectors.being_filled(db)
        chosen = self._for_identity(waiting.identity) if waiting else self.current(db)
        target = waiting or vectors.current(db)
        if chosen is None or target is None:
            return
        total, done = vectors.count_missing(db, target), 0
        while made := vectors.fill(db, target, chosen.embed_documents, _BATCH):
            done += made
            yield min(done, total), total
        if waiting:
            vectors.swap(db)

    def can_fill(self, db: Database) -> bool:
        """Whether vectors are missing, even all, and an embedder is there to make them."""
        target = vectors.being_filled(db) or vectors.current(db)
        if target is None:
            return self._available() is not None
        unfinished = target != vectors.current(db) or vectors.count_missing(db, target) > 0
        return unfinished and self._for_identity(target.identity) is not None

    def is_quick(self, db: Database, *, few: bool = False) -> bool:
        """Whether vectors are made in this process, with no job. `few`: only as many as a search can wait for."""
        if self.current(db) is not self.embedded:
            return False
        vector_set = vectors.current(db) if few else None
        return vector_set is None or vectors.count_missing(db, vector_set) <= _FEW_VECTORS

    def switch(self, db: Database, which: str) -> None:
        """Begin a new set by `which`, "embedded" or the name of the engine; searched once whole. Raises AgentError."""
        if which not in ("embedded", self._engine.name):
            raise UsageError(f"the engine is {self._engine.name}, not {which}: agent config set engine {which}")
        chosen: Embedder = self.embedded
        if which != "embedded":
            chosen = ServerEmbedder(self._engine, self._pick_on_server())  # a new instance: it has no cached dimension
        elif not embedded.is_installed():
            raise ModelMissing("the embedded embedder is not installed: pip install 'agent-cli[embedded]'")
        _begin_set(db, "vectors next", self._traits(chosen))

    def _follow_model_change(self, db: Database) -> None:
        """Begin a new set when the server's model was pulled again since the newest set was begun."""
        newest = vectors.being_filled(db) or vectors.current(db)
        if newest is None or not (name := self._engine_model(newest.identity)):
            return
        chosen = ServerEmbedder(self._engine, name)  # a new instance: it has no cached dimension
        try:
            if chosen.matches(newest.identity.removeprefix(f"{self._engine.name} ")):
                return
            traits = self._traits(chosen)
        except AgentError:
            return  # the server is down or no longer has the model: the vectors stay as they are
        with db.write():
            if (vectors.being_filled(db) or vectors.current(db)) == newest:  # no other process has begun it meanwhile
                _begin_set(db, "vectors next", traits)

    def _choose(self, db: Database) -> vectors.VectorSet | None:
        """Choose an embedder and create its empty set, unless another process has. None: no embedder is available."""
        chosen = self._available()
        if chosen is None:
            return None
        try:
            traits = self._traits(chosen)
        except AgentError:  # the server lists the model and cannot use it
            if not embedded.is_installed():
                return None
            traits = self._traits(self.embedded)
        with db.write():
            return vectors.current(db) or _begin_set(db, "vectors", traits)

    def _available(self) -> Embedder | None:
        try:
            name = self._pick_on_server()
            return self._on_server.setdefault(name, ServerEmbedder(self._engine, name))
        except AgentError:
            return self.embedded if embedded.is_installed() else None

    def report(self, db: Database) -> tuple[str, str]:
        """Whose vectors are searched, or will be, and what would make search better or empty. For people."""
        engine, vector_set, best = self._engine, vectors.current(db), None
        name = self._engine_model(vector_set.identity) if vector_set else ""
        pull = engine.pull_command(name or SUGGESTED)
        pull_or = f"{pull}, or " if pull else ""
        try:
            listed = engine.listing()
            best = pick_embedder(self._model, listed)
        except AgentError:
            listed = None
        if name and listed is None:
            return f"{name} on the server, which does not answer: until then search is by words alone", ""
        if name and not find(name, listed or []):
            fix = f"{pull_or}agent index rebuild --embedder embedded"
            return f"{name}, which the server no longer has: search by words alone", fix
        if name or (best and not vector_set):
            return f"{name or (best and best.name)} on the server", ""
        if vector_set and self._for_identity(vector_set.identity) is None and not embedded.made(vector_set.identity):
            fix = f"agent index rebuild --embedder {engine.name if best else 'embedded'}"
            return f"{' '.join(_model(vector_set))}, and the engine is {engine.name}: search by words alone", fix
        if not embedded.is_installed():
            return "none: search by words alone", f"{pull_or}pip install 'agent-cli[embedded]'"
        better = f"{pull} finds more" if pull else ""
        if best:
            better = f"agent index rebuild --embedder {engine.name} uses {best.name}, which finds more"
        elif listed is not None and self._model != AUTO:
            better = str(engine.missing(self._model))
        return "wordllama, in this process", better

    def _pick_on_server(self) -> str:
        """The name of the engine's embedding model. Raises ModelMissing, ModelUnavailable."""
        if tag := pick_embedder(self._model, self._engine.listing()):
            return tag.name
        if self._model != AUTO:
            raise self._engine.missing(self._model)
        pull = self._engine.pull_command(SUGGESTED)
        how = f"run `{pull}`" if pull else "name one in embed_model"
        raise ModelMissing(f"the server has no embedding model: {how}")

    def _for_identity(self, identity: str) -> Embedder | None:
        """The embedder of a set. On a server it is the model that made the set, whatever the settings name now."""
        if embedded.made(identity):
            return self.embedded if embedded.is_installed() else None
        name = self._engine_model(identity)
        return self._on_server.setdefault(name, ServerEmbedder(self._engine, name)) if name else None

    def _traits(self, chosen: Embedder) -> Traits:
        identity = ("" if chosen is self.embedded else f"{self._engine.name} ") + chosen.identity()
        return identity, chosen.dimension(), *chosen.scale()

    def _engine_model(self, identity: str) -> str:
        """The name of the engine's model that made a set; empty for the embedded one and for another engine's."""
        engine, _, rest = identity.partition(" ")
        return rest.partition(" ")[0].replace("%20", " ") if engine == self._engine.name else ""


class _DatabaseEmbedder:
    """Embeds with what made the vectors of a database, as they are at each question: another process may switch."""

    def __init__(self, selection: EmbedderSelection, db: Database):
        self._selection, self._db = selection, db

    def embed_query(self, question: str) -> list[float] | None:
        chosen = self._selection.current(self._db)
        vector_set, next_set = vectors.current(self._db), vectors.being_filled(self._db)
        if chosen is None or vector_set is None:
            return None
        same_model = next_set and _model(next_set) == _model(vector_set) and next_set.identity != vector_set.identity
        if same_model and not embedded.made(vector_set.identity):
            return None  # the model was pulled again: its vectors cannot be compared until all are made
        try:
            made = chosen.embed_query(question)
        except AgentError:
            return None  # the server is down or busy: search by words only
        return made if made and len(made) == vector_set.dimension else None

    def match_words(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]] | None:
        return self._selection.embedded.match_words(words, texts) if embedded.is_installed() else None

    def knows_word(self, word: str) -> bool:
        return embedded.is_installed() and self._selection.embedded.knows_word(word)


def _begin_set(db: Database, key: str, traits: Traits) -> vectors.VectorSet:
    vectors.discard_unfinished(db)
    identity, dimension, floor, unit = traits
    return vectors.create(db, identity, dimension, floor, key, unit)


def _model(vector_set: vectors.VectorSet) -> list[str]:
    """The engine and the model that made a set."""
    return vector_set.identity.split(" ")[:2]
