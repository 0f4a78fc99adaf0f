"""Search by meaning: whose vectors a file has, and that a switch of embedders loses nothing."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, cycle

import pytest

from agent_cli.agent.embedder_selection import EmbedderSelection
from agent_cli.errors import ModelMissing
from agent_cli.llm.ollama import OllamaEngine
from agent_cli.memory.search import index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from tests.conftest import EMBEDDER, NOON, empty
from tests.llm.asking import engine_of
from tests.ollama_server.embed import bag_of_words
from tests.ollama_server.registry import Model
from tests.recalling import catch_up, note

NOWHERE = OllamaEngine("127.0.0.1:9")
NOTES = ("dentist appointment Friday 3pm", "Buy milk and bread", "The boat is called Anna")


@pytest.fixture
def db(tmp_path):
    database = empty(tmp_path / "memory.db")
    for words in NOTES:
        note(database, words)
    catch_up(database)
    yield database
    database.close()


def ours(engine=NOWHERE, model="nomic-embed-text"):
    return EmbedderSelection(engine, model)


def filled(selection, db):
    selection.current(db)
    return list(selection.fill(db))


def test_without_a_server_the_embedded_one_is_chosen_and_kept(db, server):
    assert filled(ours(), db) == [(3, 3)]
    assert vectors.current(db).identity.startswith("embedded ")
    again = ours(engine_of(server))
    assert again.is_quick(db)
    assert again.query_embedder(db).embed_query("milk")
    assert server.embedded == []


def test_with_a_server_its_model_is_chosen_with_its_prefixes(db, server):
    selection = ours(engine_of(server))
    filled(selection, db)
    among = vectors.current(db)
    assert among.identity.startswith(f"{server.engine} nomic-embed-text:latest ")
    assert (among.dimension, vectors.count(db, among)) == (768, 3)
    server.embedded.clear()
    note(db, "Tea in the garden")
    catch_up(db)
    filled(selection, db)
    selection.query_embedder(db).embed_query("Where is the tea?")
    sent = ["search_document: Tea in the garden", "search_query: Where is the tea?"]
    assert [(each.prefix, each.text) for each in server.embedded] == list(zip(("document", "query"), sent, strict=True))
    asked = len(server.requests)
    selection.query_embedder(db).embed_query("milk")  # without asking for a digest
    assert [each.path for each in server.requests[asked:]] == [server.embed_path]


@pytest.mark.parametrize(
    ("there", "chosen", "prefix"),
    [
        (["all-minilm", "bge-m3", "embeddinggemma"], "embeddinggemma", "title: none | text: "),
        (["nomic-embed-text", "all-minilm:33m"], "nomic-embed-text", "search_document: "),
        (["all-minilm:33m", "jane/bge-m3"], "jane/bge-m3", ""),
        (["snowflake-arctic-embed2", "somebodys-own"], "snowflake-arctic-embed2", ""),
    ],
)
def test_auto_takes_the_best_known_embedder_of_the_server(db, server, there, chosen, prefix):
    for name in there:
        server.registry.add(Model(name, capabilities=("embedding",)))
    server.registry.remove("nomic-embed-text" if "nomic-embed-text" not in there else "none")
    filled(ours(engine_of(server), "auto"), db)
    assert vectors.current(db).identity.split()[1].removesuffix(":latest") == chosen
    embedded = {(each.model.removesuffix(":latest"), each.text.removesuffix(NOTES[0])) for each in server.embedded}
    assert {(chosen, "dimension"), (chosen, prefix)} <= embedded


def test_a_model_with_a_name_that_tells_nothing_is_taken_where_the_server_says_that_it_embeds(db, server):
    server.registry.remove("nomic-embed-text")
    server.registry.add(Model("somebodys-own", capabilities=("embedding",)))
    filled(ours(engine_of(server), "auto"), db)
    assert vectors.current(db).identity.startswith("ollama somebodys-own:latest ")


def test_auto_never_takes_a_model_in_the_cloud_or_one_that_only_chats(db, server):
    server.registry.remove("nomic-embed-text")
    server.registry.add(Model("embeddinggemma:cloud", capabilities=("embedding",), remote_host="https://ollama.com"))
    filled(ours(engine_of(server), "auto"), db)
    assert vectors.current(db).identity.startswith("embedded ")


def test_the_report_says_what_is_used_and_what_would_find_more(db, server):
    nowhere = replace(engine_of(server), host=NOWHERE.host)
    selection, name = ours(nowhere, "auto"), nowhere.name
    pull = nowhere.pull_command("embeddinggemma")
    assert selection.report(db) == ("wordllama, in this process", f"{pull} finds more" if pull else "")
    filled(selection, db)
    better = f"agent index rebuild --embedder {name} uses nomic-embed-text:latest, which finds more"
    assert ours(engine_of(server), "auto").report(db) == ("wordllama, in this process", better)
    switched = ours(engine_of(server), "auto")
    switched.switch(db, name)
    list(switched.fill(db))
    assert switched.report(db) == ("nomic-embed-text:latest on the server", "")
    assert "does not answer" in ours(nowhere, "auto").report(db)[0]
    server.registry.remove("nomic-embed-text")
    assert "no longer has" in switched.report(db)[0]


def test_a_model_that_is_named_and_not_there_is_told_with_what_to_do(db, server):
    engine = engine_of(server)
    selection = ours(engine, "nope")
    with pytest.raises(ModelMissing) as told:
        selection.switch(db, engine.name)
    assert str(told.value) == str(engine.missing("nope"))
    assert selection.report(db) == ("wordllama, in this process", str(told.value))


def test_a_server_that_is_down_is_no_reason_to_switch(db, server):
    filled(ours(engine_of(server)), db)
    before = vectors.current(db)
    down = ours(NOWHERE)
    found = recall.find(db, "milk", Filter("person"), NOON, embedder=down.query_embedder(db))
    assert ([hit.handle for hit in found.hits], found.damaged) == (["n2"], ())
    assert (list(down.fill(db)), vectors.current(db), vectors.being_filled(db)) == ([], before, None)


def test_the_model_that_made_the_vectors_is_asked_whatever_the_settings_name(db, server):
    filled(ours(engine_of(server)), db)
    other = ours(engine_of(server), "all-minilm")
    server.embedded.clear()
    assert len(other.query_embedder(db).embed_query("milk")) == 768
    assert [each.model for each in server.embedded] == ["nomic-embed-text"]


def test_one_text_that_cannot_be_embedded_fails_alone(db, server):
    selection = ours(engine_of(server))
    selection.current(db)
    server.embed = lambda model, text: [float("nan")] * 768 if "milk" in text else [1.0] + [0.0] * 767
    list(selection.fill(db))
    assert vectors.count(db, vectors.current(db)) == 2
    assert vectors.count_missing(db, vectors.current(db)) == 0


def test_a_turn_does_not_wait_for_the_choice(db):
    assert ours().query_embedder(db, choose=False) is None
    assert vectors.current(db) is None


@pytest.mark.parametrize("first", ["served", "embedded"])
def test_a_switch_in_the_middle_of_a_search_loses_nothing(db, server, first):
    """Before each statement of a search, another process has begun a switch, or completes one."""
    engine = engine_of(server)
    selection, reader = ours(engine), db.another_connection()
    kinds = cycle((engine.name, "embedded") if first == "embedded" else ("embedded", engine.name))
    filled(ours() if first == "embedded" else selection, db)

    def search(meanwhile=None, moment=0):
        """The first hit, and how many statements it took; `meanwhile` is called before one of them."""
        statements = count()

        def before(*_):
            if next(statements) == moment and meanwhile:
                meanwhile()
            return True

        reader._connection.exec_trace = before
        found = recall.find(reader, "boat called Anna", Filter("person"), NOON, embedder=embedder)
        reader._connection.exec_trace = None
        assert not found.damaged
        return found.hits[0].handle, next(statements)

    def fill():
        old = vectors.current(db)
        list(selection.fill(db))
        new = vectors.current(db)
        assert (new != old, vectors.being_filled(db), vectors.count(db, new)) == (True, None, 3)
        assert not db.rows("select 1 from sqlite_schema where name = ?", (old.bits,))

    embedder = ours(engine).query_embedder(reader)
    handle, statements = search()
    assert (handle, statements > 10) == ("n3", True)
    for moment in range(statements):
        selection.switch(db, next(kinds))
        assert search(fill, moment)[0] == "n3"
    reader.close()


def test_two_that_choose_at_once_choose_one(db):
    def fill_beside(_):
        with closing(db.another_connection()) as other:
            filled(ours(), other)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill_beside, range(4)))
    assert db.value("select value from meta where key = 'vector sets'") == "1"
    assert vectors.count(db, vectors.current(db)) == 3


def test_the_vectors_of_an_erased_passage_are_gone(db):
    filled(ours(), db)
    with db.write():
        index.erase(db, "n", [2])
    among = vectors.current(db)
    assert vectors.count(db, among) == 2
    assert db.value(f"select count(*) from {among.bits}") == 2


@dataclass(frozen=True)
class Newer(Model):
    """The embedding model as its authors have changed it: another digest."""

    @property
    def digest(self):
        return super().digest[::-1]


def pull_again(server, length=768):
    server.registry.add(Newer(EMBEDDER.name, capabilities=EMBEDDER.capabilities, embedding_length=length))


@pytest.mark.parametrize("length", [768, 384])
def test_a_model_that_was_pulled_again_fills_a_second_set(db, server, length):
    selection = ours(engine_of(server))
    filled(selection, db)
    before = vectors.current(db)
    pull_again(server, length)
    assert list(selection.fill(db)) == [(3, 3)]
    after = vectors.current(db)
    assert (after.number, after.dimension) == (before.number + 1, length)
    assert after.identity != before.identity
    assert (vectors.being_filled(db), vectors.count(db, after)) == (None, 3)
    assert list(selection.fill(db)) == []
    assert vectors.current(db) == after


def test_while_the_vectors_of_a_changed_model_are_made_words_answer(db, server):
    selection = ours(engine_of(server))
    filled(selection, db)
    pull_again(server, 384)
    found = recall.find(db, "milk", Filter("person"), NOON, embedder=selection.query_embedder(db))
    assert ([hit.handle for hit in found.hits], found.damaged) == (["n2"], ())
    for _ in selection.fill(db):
        assert selection.query_embedder(db).embed_query("milk") is None  # the last batch is made, not yet swapped in
    assert len(selection.query_embedder(db).embed_query("milk")) == 384


def test_what_a_cosine_means_is_measured_for_each_served_model(db, server):
    def skewed(model, text):  # as near as those of e5, whatever they say
        return [10.0, *bag_of_words(model, text, 64)]

    filled(ours(engine_of(server)), db)
    plain = vectors.current(db)
    server.embed = skewed
    selection = ours(engine_of(server))
    selection.switch(db, server.engine)
    list(selection.fill(db))
    near = vectors.current(db)
    assert plain.floor < 0.4 < 0.9 < near.floor
    assert plain.closeness(0.9) > 0
    assert near.closeness(0.9) == 0
    assert near.closeness(1.0) > 0.3


def test_words_are_compared_by_the_table_of_words_beside_a_served_model(db, server):
    selection = ours(engine_of(server))
    filled(selection, db)
    [[alike, other]] = selection.query_embedder(db).match_words(["bicycle", "soup"], [["bike"]])
    assert alike > 0.5 > other


def test_a_model_that_changes_again_while_vectors_are_made_is_begun_anew(db, server):
    selection = ours(engine_of(server))
    filled(selection, db)
    pull_again(server)
    fill = selection.fill(db)
    next(fill)
    fill.close()
    server.registry.add(EMBEDDER)
    list(ours(engine_of(server)).fill(db))
    assert vectors.current(db).number == 3
    assert vectors.current(db).identity.split()[2] == EMBEDDER.digest
