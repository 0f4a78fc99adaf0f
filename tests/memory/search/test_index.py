"""The word and trigram indexes: what is in them, that they follow every change, and that damage is survived."""

import shutil
from contextlib import closing
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.planner import notes
from agent_cli.memory.search import index, recall, vectors, word_tables
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.store import meta
from agent_cli.store.db import Database, IndexDamaged
from tests.conftest import HERE, NOON, empty, memory_of, noon
from tests.recalling import (
    EMBEDDED,
    catch_up,
    check_indexes,
    embed,
    fact,
    fill,
    find,
    handles,
    matches,
    note,
    reply,
    say,
    session_of,
    take_in,
)
from tests.tables import listed

CORPUS = (
    "The cat of my sister is called Mia",
    "We go to Lisbon in May",
    "Dinner with Katarzyna in the harbour",
    "Set MAX_RETRY_COUNTER to seven",
    "我下周去东京出差",
    "My bicycle needs new brakes",
)
QUESTIONS = ("cat of my sister", "Lisbon", "Katarzina", "retry_coun", "东京", "brakes")


def hits(db, questions=QUESTIONS, **more):
    return [[(hit.handle, round(hit.score, 6)) for hit in find(db, each, **more).hits] for each in questions]


def test_what_the_person_says_and_what_is_replied_is_found_after_a_refresh(db, session):
    said = say(db, session, "Where is Bhutan?")
    answer = reply(db, session, "Bhutan lies in the Himalaya")
    assert index.count_stale(db) == 2
    assert index.refresh(db) == 2
    assert index.refresh(db) == index.count_stale(db) == 0
    assert matches(db, "bhutan") == [said, answer]
    check_indexes(db)


def test_a_reply_is_found_when_it_is_finished_and_not_before(db, session):
    id = log.open_reply(db, session, HERE, "m", NOON)
    log.update_reply(db, id, "Bhutan lies", "")
    assert handles(db, "Bhutan") == []
    log.update_reply(db, id, "Bhutan lies in the", "")
    log.close_reply(db, id, Message("assistant", "Bhutan lies in the Himalaya"), "stop", log.Usage("m"), NOON)
    assert handles(db, "Himalaya") == [f"m{id}"]
    cut = log.open_reply(db, session, HERE, "m", NOON)
    log.update_reply(db, cut, "Nepal lies in", "")
    catch_up(db)
    log.repair(db, session, HERE, NOON)  # after a crash
    assert handles(db, "Nepal") == [f"m{cut}"]
    check_indexes(db)


def test_the_output_of_tools_and_what_was_thought_is_never_indexed(db, session):
    call = ToolCall("call_1", "now", {"zone": "Kathmandu"})
    id = log.open_reply(db, session, HERE, "m", NOON)
    log.close_reply(db, id, Message("assistant", "", (call,), thinking="Thimphu"), "stop", log.Usage("m"), NOON)
    log.add_tool_result(db, session, HERE, call, ToolResult("Bhutan says hello"), NOON)
    for word in ("Bhutan", "Thimphu", "Kathmandu"):
        assert handles(db, word) == []
    list(index.rebuild(db))
    assert db.value("select count(*) from passage") == 0


@pytest.mark.parametrize("indexed", [True, False])
def test_the_words_of_an_edited_note_move_with_it(db, indexed):
    handle = note(db, "Buy two bottles of milk")
    other = note(db, "The bottles are in the shed")
    if indexed:
        catch_up(db)
    notes.edit(db, notes.get(db, 1, "person"), "Buy three pomegranates", "Fruit", noon)
    assert handles(db, "milk") == []
    assert matches(db, "milk") == []
    assert handles(db, "pomegranates") == handles(db, "fruit") == [handle]
    assert handles(db, "bottles") == [other]
    check_indexes(db)


@pytest.mark.parametrize("change", ["note set text", "note set title", "message set text", "summary set text"])
def test_a_text_cannot_change_while_an_index_holds_it(db, session, change):
    say(db, session, "Buy milk")
    note(db, "Buy milk")
    db.execute(
        """insert into summary (uid, owner, place, session_id, text, method, at, utc_offset)
           values ('1', 'person', '', ?, 'Milk', 'model', '2026-01-02T12:00:00.000Z', 0)""",
        (session,),
    )
    catch_up(db)
    with pytest.raises(Exception, match=r"erase the .* from the index before it changes"):
        db.execute(f"update {change} = 'new'")
    check_indexes(db)


def test_a_long_message_is_indexed_in_overlapping_pieces_and_is_one_hit(db, session):
    words = " ".join(f"word{n}" for n in range(1000))
    said = say(db, session, words)
    catch_up(db)
    pieces = db.rows("select start, length from passage order by start")
    assert len(pieces) > 5
    assert max(length for _, length in pieces) <= 1500
    assert (pieces[0][0], sum(pieces[-1])) == (0, len(words))
    for (start, length), (next_start, _) in pairwise(pieces):
        assert start < next_start < start + length
    assert handles(db, "word1 word500 word999") == [said]
    check_indexes(db)


def test_a_fact_makes_its_message_easier_to_find_while_it_is_accepted(db, session):
    said = say(db, session, "I cannot have those, you know")
    number = fact(db, "The person is allergic to walnuts", "pending", int(said[1:]))
    assert handles(db, "walnuts") == []
    db.execute("update fact set state = 'accepted' where id = ?", (number,))
    assert set(handles(db, "walnuts")) == {said, f"f{number}"}
    assert matches(db, "facts : walnuts") == [said]
    db.execute("update fact set state = 'rejected' where id = ?", (number,))
    catch_up(db)
    assert matches(db, "walnuts") == matches(db, "wal", "trigrams") == []
    check_indexes(db)


def test_an_imported_conversation_is_found(db):
    line = '{"id": "1", "messages": [{"id": "D1:1", "role": "user", "author": "Ann", "content": "I sail to Bhutan"}]}'
    transfer.import_lines(db, HERE, [line], "elsewhere", noon, print)
    (hit,) = find(db, "Bhutan").hits
    assert (hit.handle, hit.external_id) == ("m1", "D1:1")


def test_words_are_found_by_stem_without_accents_by_author_and_by_day(db, session):
    said = take_in(db, session, "Wir kaufen Äpfel und wandern gern", "Zoë")
    catch_up(db)
    for word in ("apfel", "WANDERN", "zoe", "january", "2026", "friday"):
        assert matches(db, word) == [said]


def test_a_page_of_the_index_may_begin_within_a_letter(db):
    words = [f"{letter}{number:04}{end}" for letter in "wz" for number in range(3000) for end in ("a", "ß")]
    with db.write():
        for start in range(0, len(words), 500):
            notes.add(db, HERE, " ".join(words[start : start + 500]), noon)
    catch_up(db)
    word_tables.rewrite(db)
    keys = [key for (key,) in db.rows(f"select cast(term as blob) from {word_tables.table(db, 'words')}_idx")]
    assert any(key.endswith("ß".encode()[:1]) for key in keys)
    assert word_tables.has_page_terms(db, words)
    assert not word_tables.has_page_terms(db, ["quince"])


def test_a_word_of_an_erased_note_is_nowhere_in_the_file(tmp_path):
    db = empty(tmp_path / "memory.db")
    note(db, "Zyxqwvu is the secret word")
    note(db, "Another note")
    catch_up(db)
    notes.edit(db, notes.get(db, 1, "person"), "Nothing to see", "", noon)
    catch_up(db)
    db.execute("pragma wal_checkpoint(truncate)")
    bytes_ = (tmp_path / "memory.db").read_bytes().lower()
    for which in ("words", "trigrams"):
        name = word_tables.table(db, which)
        assert db.value(f"select v from {name}_config where k = 'secure-delete'") == 1
    assert db.value("pragma secure_delete") == 1
    db.close()
    assert b"zyxqwvu" not in bytes_
    assert b"qwv" not in bytes_


_WORDS = ["cat", "dog", "Mia", "Lisbon", "东京", "大别山", "sail", "7", "not", "retry_count", "häuser", "ß"]
_TEXT = some.lists(some.sampled_from(_WORDS), max_size=9)
_CORPUS = some.lists(some.tuples(some.sampled_from("mnaf"), _TEXT.map(" ".join)), max_size=12)
ASKED = ("cat", "Mia in Lisbon", "东京", "retry_coun", "Haeuser", "not 7")


@given(corpus=_CORPUS, changed=some.lists(some.integers(0, 11), max_size=4))
@settings(max_examples=10)
def test_indexes_made_anew_give_the_same_hits(corpus, changed):
    db = empty()
    session = session_of(db)
    for number, (kind, words) in enumerate(corpus):
        if kind == "m" or not words:
            say(db, session, words)
        elif kind == "n":
            note(db, words)
        elif kind == "a":
            take_in(db, session, words, "Ann")
        else:
            fact(db, words, message=db.value("select max(id) from message"))
        if number in changed:
            catch_up(db)
            for kept in notes.listing(db, "person", 2):
                notes.edit(db, kept, f"changed {words}", "", noon)
    before = hits(db, ASKED)
    check_indexes(db)

    progress = list(index.rebuild(db))

    assert progress[-1] == (progress[-1][1],) * 2
    assert index.count_stale(db) == 0
    check_indexes(db)
    after = hits(db, ASKED)
    db.close()
    if changed:  # how rare a word is, is guessed from how many rows there ever were
        before, after = ([{handle for handle, _ in each} for each in found] for found in (before, after))
    assert after == before


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Some of everything in a file, with vectors."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with closing(empty(path)) as db:
        for words in CORPUS:
            say(db, session_of(db), words)
        note(db, "dentist appointment Friday 3pm")
        embed(db)
    return path


class Full:
    def __init__(self, path):
        self.db = Database(path)
        self.db.prepare()

    def damage(self, sql):
        """Write garbage, and open the file anew: a connection remembers some of what it has read."""
        self.db.execute(sql)
        other = self.db.another_connection()
        self.db.close()
        self.db = other


@pytest.fixture
def full(template, tmp_path):
    full = Full(shutil.copy(template, tmp_path / "memory.db"))
    yield full
    full.db.close()


GARBAGE = {
    "data": "update {name}_data set block = randomblob(40)",
    "structure": "update {name}_data set block = x'ffffffffffffffff' where id = 10",
    "leaves": "update {name}_data set block = randomblob(length(block)) where id > 10",
    "emptied": "delete from {name}_data",
    "idx": "delete from {name}_idx",
    "docsize": "delete from {name}_docsize",
    "config": "update {name}_config set v = 99 where k = 'version'",
    "gone": "drop table {name}_data",
}


@pytest.mark.parametrize("how", GARBAGE)
@pytest.mark.parametrize(
    ("which", "question", "best"),
    [("words", "What about Katarzyna's dinner?", ("m3",)), ("trigrams", "Where is Lisbon, Katarzina?", ("m2", "m3"))],
)
def test_search_survives_a_damaged_index_and_is_the_same_when_it_is_mended(full, how, which, question, best):
    if (which, how) == ("trigrams", "docsize"):
        pytest.skip("it has none")
    before = hits(full.db, meaning=EMBEDDED)
    full.damage(GARBAGE[how].format(name=f"{which}_1"))
    db = full.db
    found = find(db, question, meaning=EMBEDDED)
    assert found.hits[0].handle in best
    if how != "idx":  # a small index is read without it
        assert found.damaged == (which,)
    assert find(db, "when do I see the doctor?", meaning=EMBEDDED).hits[0].handle == "n1"
    assert {hit.handle for hit in recall.mentions(db, "dentist", Filter("person"), NOON, 9)} <= {"n1"}
    word_tables.repair(db, which)
    assert find(db, "Katarzyna", meaning=EMBEDDED).damaged == ()
    assert hits(db, meaning=EMBEDDED) == before
    check_indexes(db)


@pytest.mark.parametrize(
    "damage_",
    listed("""update bits_1_vector_chunks00 set vectors = x'00' | update vectors_1 set e = x'00'
        update vectors_1 set e = zeroblob(256) | drop table vectors_1
        delete from bits_1_vector_chunks00 | delete from bits_1_chunks | delete from bits_1_rowids"""),
)
def test_search_survives_damaged_vectors(full, damage_):
    db = full.db
    before = hits(db, meaning=EMBEDDED)
    full.damage(damage_)
    db = full.db
    found = find(db, "Lisbon", meaning=EMBEDDED)
    assert found.hits[0].handle == "m2"
    assert found.damaged in ((), ("vectors",))
    vectors.recreate(db)
    assert vectors.fill(db, vectors.current(db), EMBEDDED.embed_documents) == 7
    assert hits(db, meaning=EMBEDDED) == before
    assert find(db, "Lisbon", meaning=EMBEDDED).damaged == ()


@pytest.mark.parametrize("how", [how for how in GARBAGE if how != "docsize"])
@pytest.mark.parametrize("which", ["words", "trigrams"])
def test_what_is_said_while_an_index_is_damaged_is_found_when_it_is_mended(full, how, which):
    full.damage(GARBAGE[how].format(name=f"{which}_1"))
    db = full.db
    new = note(db, "The submarine is yellow")
    catch_up(db)
    notes.edit(db, notes.get(db, 1, "person"), "optician on Monday", "", noon)
    catch_up(db)
    word_tables.merge(db)
    assert set(meta.damaged_indexes(db)) <= {which}
    word_tables.repair(db, which)
    assert meta.damaged_indexes(db) == []
    assert handles(db, "submarine") == [new]
    assert handles(db, "yell") == [new]
    assert handles(db, "optician") == ["n1"]
    assert handles(db, "dentist") == []
    check_indexes(db)


def test_what_cannot_be_rebuilt_is_dropped_and_what_cannot_be_dropped_is_left_for_another_name(full):
    full.damage("drop table words_1_data")
    word_tables.repair(full.db, "words")
    assert word_tables.table(full.db, "words") == "words_1"
    full.damage("update words_1_config set v = 99 where k = 'version'")
    db = full.db
    with pytest.raises(IndexDamaged), db.index_access():
        db.execute("drop table words_1")
    word_tables.repair(db, "words")
    assert word_tables.table(db, "words") == "words_2"
    assert handles(db, "Katarzyna") == ["m3"]
    word_tables.repair(db, "words")
    assert word_tables.table(db, "words") == "words_2"
    check_indexes(db)


def test_merging_changes_nothing_and_a_rebuild_makes_damaged_indexes_anew_too(full):
    db = full.db
    before = hits(db)
    for _ in range(3):
        word_tables.merge(db)
    assert hits(db) == before
    full.damage("update words_1_config set v = 99 where k = 'version'")
    db = full.db
    full.damage("update trigrams_1_data set block = randomblob(40)")
    full.damage("drop table vectors_1")
    db = full.db
    list(index.rebuild(db))
    assert hits(db) == before
    assert find(db, "Katarzyna").damaged == ()
    check_indexes(db)


KEY = "AKIAIOSFODNN7EXAMPLE"


def everything_indexed(db):
    """What the indexes know of, word by word, and the texts of all passages."""
    name = word_tables.table(db, "words")
    db.execute(f"create virtual table temp.vocabulary using fts5vocab(main, {name}, 'row')")
    words = [word for (word,) in db.rows("select term from temp.vocabulary")]
    db.execute("drop table temp.vocabulary")
    return " ".join(words), "\n".join(own for (own,) in db.rows("select own from passage_text"))


def test_a_secret_reaches_no_index_no_embedder_and_no_hit(db, session):
    say(db, session, f"The key of the bucket is {KEY}, keep it")
    note(db, f"bucket key {KEY}")
    say(db, session, "my password is hunter2")
    catch_up(db)
    given_ = []

    def vectors_of(texts):
        given_.extend(texts)
        return [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0] for _ in texts]

    fill(db, vectors.create(db, "e", 8, 0.1), vectors_of)
    words, texts = everything_indexed(db)
    for kept in (words, texts, "\n".join(given_), "\n".join(hit.text for hit in find(db, "bucket key password").hits)):
        assert KEY not in kept
        assert KEY.lower() not in kept
        assert "hunter2" not in kept
    assert "[masked: API key]" in texts
    assert matches(db, '"AKI" AND "EXA"', "trigrams") == []
    assert find(db, "bucket key").hits[0].text.count("[masked: API key]") == 1
    assert find(db, KEY).hits == ()
    check_indexes(db)


def test_a_secret_across_two_pieces_of_a_long_text_is_in_neither(db, session):
    for before in range(1180, 1230, 3):
        say(db, session, f"{'bucket ' * 170}"[:before] + f" {KEY} " + "bucket " * 400)
    catch_up(db)
    words, texts = everything_indexed(db)
    assert texts.count("[masked: API key]") >= 17
    for part in (KEY, KEY[:12], KEY[-12:]):
        assert part not in texts
        assert part.lower() not in words
    check_indexes(db)


def test_a_secret_that_the_person_typed_into_a_fact_is_found(db):
    fact = adoption.add(memory_of(db), adoption.claim("my password is hunter2", "typed")).fact
    assert fact.statement == "my password is [masked: password]"
    adoption.edit(memory_of(db), fact, "my password is hunter2")
    assert find(db, "password").hits[0].text == "my password is hunter2"
    assert db.rows("select was from fact_version where was like '%hunter2%'") == []


def test_a_fact_is_merged_into_each_of_its_messages_while_it_is_true(db, session):
    first, second = (int(say(db, session, words)[1:]) for words in ("Hello there", "And again"))
    number = fact(db, "The person is allergic to walnuts", message=first)
    db.execute("insert into fact_source values (?, ?, '', '')", (number, second))
    assert set(matches(catch_up(db) or db, "walnuts")) == {f"f{number}", f"m{first}", f"m{second}"}
    for change in (
        "valid_to = '2026-01-02T12:00:00.000Z'",
        "valid_to = null, owner = 'caller'",
        "owner = 'person', valid_to = '2030-01-02T12:00:00.000Z'",
    ):
        db.execute(f"update fact set {change} where id = ?", (number,))
        catch_up(db)
        assert [each for each in matches(db, "walnuts") if each[0] == "m"] == []
    check_indexes(db)
