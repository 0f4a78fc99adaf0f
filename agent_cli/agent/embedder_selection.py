"""Search by meaning: which embedder's vectors the file has, and that embedder, found when it is first needed.

The choice is made once for a file and kept: Ollama's when a server with the embedding model answers at the first need,
else the embedded one, else none. A server that is down later is no reason to switch: vectors of two models cannot be
compared, so words alone answer until it is back. A model that has been pulled again is another model: the index job
notices it by its digest, and words alone answer until its vectors are made.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from agent_cli.errors import AgentError, ModelMissing
from agent_cli.llm import embedded
from agent_cli.llm.ollama import embed, tags
from agent_cli.memory.search import recall, vectors
from agent_cli.store.db import Database

_SERVER = "ollama "
_BATCH = 256
_FEW = 3000  # vectors: more are missing only while very many files come in


class Embedder(Protocol):
    similarity_floor: float

    def identity(self) -> str: ...
    def dimension(self) -> int: ...
    def embed_documents(self, texts: Sequence[str]) -> list[list[float] | None]: ...
    def embed_query(self, question: str) -> list[float] | None: ...


class Meaning:
    def __init__(self, host: str, model: str):
        self._host, self._model = host, model
        self._embedded = embedded.EmbeddedEmbedder()
        self._server = embed.OllamaEmbedder(host, model)

    def embedder(self, db: Database) -> Embedder | None:
        """That of the file's vectors; at the first need one is chosen and its empty set made. None: words alone."""
        among = vectors.current(db) or self._begun(db)
        return self._by(among.identity) if among else None

    def question(self, db: Database, *, choose: bool = True) -> recall.EmbedQuery | None:
        """What makes the vector of a question; None when the file has no vectors and none can be made.

        Without `choose` it is None too when no embedder has been chosen yet: a turn does not wait for a model to load.
        """
        if (self.embedder(db) if choose or vectors.current(db) else None) is None:
            return None

        def vector(question: str) -> list[float] | None:
            chosen = self.embedder(db)  # of this moment: another program may have switched
            among, then = vectors.current(db), vectors.being_filled(db)
            if chosen is None or among is None or (then and _model(then.identity) == _model(among.identity) != ""):
                return None  # pulled again, the model makes other vectors: words answer until they are all made
            try:
                made = chosen.embed_query(question)
            except AgentError:
                return None  # the server is down or busy: words answer alone
            return made if made and len(made) == among.dimension else None

        return vector

    def fill(self, db: Database) -> Iterator[tuple[int, int]]:
        """Make missing vectors in batches, first those of a set that waits to be swapped in; gives (done, all)."""
        self._follow(db)
        waiting = vectors.being_filled(db)
        chosen = self._by(waiting.identity) if waiting else self.embedder(db)
        into = waiting or vectors.current(db)
        if chosen is None or into is None:
            return
        total, done = vectors.missing(db, into), 0
        while made := vectors.fill(db, into, chosen.embed_documents, _BATCH):
            done += made
            yield min(done, total), total
        if waiting:
            vectors.swap(db)

    def waits(self, db: Database) -> bool:
        """Whether vectors could be made that are missing; the first of a file, too."""
        into = vectors.being_filled(db) or vectors.current(db)
        if into is None:
            return embedded.is_installed() or self._served()
        unfinished = into != vectors.current(db) or vectors.missing(db, into) > 0
        return unfinished and self._by(into.identity) is not None

    def inline(self, db: Database, *, few: bool = False) -> bool:
        """Whether vectors are made in this process at so little cost that nobody need wait for a job.

        `few`: and no more are missing than a search can wait for.
        """
        if self.embedder(db) is not self._embedded:
            return False
        among = vectors.current(db) if few else None
        return among is None or vectors.missing(db, among) <= _FEW

    def switch(self, db: Database, which: str) -> None:
        """Begin a second set, by another embedder; it is searched when it is whole. Raises ModelMissing."""
        chosen: Embedder = self._server if which == "ollama" else self._embedded
        if chosen is self._embedded and not embedded.is_installed():
            raise ModelMissing("the embedded embedder is not installed: pip install 'agent-cli[embedded]'")
        vectors.discard_unfinished(db)
        vectors.create(db, self._identity(chosen), chosen.dimension(), chosen.similarity_floor, "vectors next")

    def _follow(self, db: Database) -> None:
        """Begin a second set when the server's model is another than that of the newest: it has been pulled again."""
        newest = vectors.being_filled(db) or vectors.current(db)
        if newest is None or not (name := _model(newest.identity)):
            return
        chosen = embed.OllamaEmbedder(self._host, name)  # a new one: it knows no dimension yet
        try:
            if chosen.matches(newest.identity.removeprefix(_SERVER)):
                return
            identity, dimension = _SERVER + chosen.identity(), chosen.dimension()
        except AgentError:
            return  # the server is down or has the model no more: the vectors stay as they are
        with db.write():
            if (vectors.being_filled(db) or vectors.current(db)) == newest:  # no other program has begun it meanwhile
                vectors.discard_unfinished(db)
                vectors.create(db, identity, dimension, chosen.similarity_floor, "vectors next")

    def _begun(self, db: Database) -> vectors.VectorSet | None:
        """Choose an embedder and make its empty set, unless another program has done so meanwhile."""
        chosen: Embedder = self._embedded
        try:
            if self._served():
                self._server.dimension()
                chosen = self._server
            identity = self._identity(chosen)
        except AgentError:  # the next best
            chosen, identity = self._embedded, self._embedded.identity()
        if chosen is self._embedded and not embedded.is_installed():
            return None
        with db.write():
            return vectors.current(db) or vectors.create(db, identity, chosen.dimension(), chosen.similarity_floor)

    def _served(self) -> bool:
        """Whether a server answers that has the embedding model."""
        try:
            return tags.find(self._model, tags.listing(self._host)) is not None
        except AgentError:
            return False

    def _by(self, identity: str) -> Embedder | None:
        """The embedder of a set. On the server it is the model that made the set, whatever the settings name now."""
        name = _model(identity)
        if not name:
            return self._embedded if embedded.is_installed() else None
        return self._server if tags.same_model(name, self._model) else embed.OllamaEmbedder(self._host, name)

    def _identity(self, chosen: Embedder) -> str:
        return (_SERVER if chosen is self._server else "") + chosen.identity()


def _model(identity: str) -> str:
    """The name of the server's model that made a set; empty when it was no server's."""
    return identity.removeprefix(_SERVER).partition(" ")[0] if identity.startswith(_SERVER) else ""
