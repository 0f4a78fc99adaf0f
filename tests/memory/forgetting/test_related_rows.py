"""What else says the same as what is forgotten: shown before, taken or left, and counted by the receipt."""

import json

import pytest

from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption
from agent_cli.memory.forgetting import erasure_receipt, forget
from agent_cli.memory.language import keywords
from agent_cli.memory.search import recall_log
from agent_cli.memory.search.recall import Hit
from agent_cli.messages import Part
from agent_cli.store.db import Database
from tests.conftest import HERE, NOON, memory_of, noon
from tests.forgetting import about, planned, traces
from tests.recalling import STRANGER, handles, note, reply, say
from tests.tables import for_each


def keep(db, statement):
    return adoption.add(memory_of(db), adoption.claim(statement, "typed")).fact


def related(plan):
    return {row.handle: row.reason for row in plan.related}


def ask_about_graz(db):
    """A fact, and a conversation in which it was recalled, cited and left alone."""
    fact = keep(db, "I live in Graz")
    session = sessions.start(db, HERE, NOON)
    asked = say(db, session, "Where is my home?")
    hit = Hit("fact", fact.id, None, None, 0.0, 1.0, "", {"words": 1.0})
    recall_log.record(db, int(asked[1:]), [(hit, "- f1: I live in Graz")], "", NOON)
    reply(db, session, "You live in Graz.")
    say(db, session, "Are you sure?")
    reply(db, session, "You told me so yourself [f1].")
    say(db, session, "What can I cook today?")
    reply(db, session, "Soup.")


def test_replies_that_were_given_it_or_cite_it_are_shown(file):
    ask_about_graz(file)
    assert related(planned(file, "f1")) == {"m2": "was given f1 · has the word graz", "m4": "cites f1"}


def test_a_question_of_which_only_the_answer_is_erased_is_shown(file):
    session = sessions.start(file, HERE, NOON)
    say(file, session, "Who do I see about my panic attacks?")
    reply(file, session, "You see Dr. Kleinschmidt.")
    say(file, session, "What can I cook today?")
    reply(file, session, "Soup.")
    plan = about(file, "Kleinschmidt")
    assert related(plan) == {"m1": "asks for m2"}
    assert erasure_receipt.erase(file, forget.with_related(file, plan, ["m1"]), noon).clean
    assert traces(file.path, "panic") == 0
    assert file.rows("select text from message") == [("What can I cook today?",), ("Soup.",)]


def test_messages_that_share_its_rare_words_are_shown_with_how_many(file):
    session = sessions.start(file, HERE, NOON)
    say(file, session, "My purple elephant Bartholomew sleeps in the attic")
    reply(file, session, "Fine.")
    say(file, session, "What do elephants like Bartholomew eat?")
    reply(file, session, "Hay, and there is some in the attics of most houses.")
    say(file, session, "Who sleeps well?")
    reply(file, session, "Cats.")
    plan = planned(file, "m1")
    assert plan.keywords.words == ("bartholomew", "purple", "elephant", "attic")
    assert related(plan) == {"m3": "shares 2 of 4 words: bartholomew, elephant", "m4": "shares 1 of 4 words: attic"}
    taken = forget.with_related(file, plan, ["m3", "m4"])
    receipt = erasure_receipt.erase(file, taken, noon)
    assert receipt.clean, receipt
    assert receipt.sentence() == "Searched the file for 9 words and lines: 0 left"
    assert receipt.details()[0] == "words searched for: bartholomew, purple, elephant, attic"
    assert traces(file.path, "Bartholomew") == 0
    assert file.rows("select text from message") == [("Who sleeps well?",), ("Cats.",)]


def test_everyday_words_are_looked_for_only_together(file):
    note(file, "I work at home")
    note(file, "I am at home")
    note(file, "At home I do my work")
    plan = planned(file, "n1")
    assert related(plan) == {"n3": "shares 2 of 2 words: work, home"}


def test_a_word_that_many_rows_have_is_an_everyday_one(file):
    for number in range(30):
        note(file, f"the kernel has defect {number}00")
    note(file, "the kernel of my zebrafinch")
    assert planned(file, "n31").keywords.words == ("zebrafinch",)


def test_what_another_owner_said_is_neither_shown_nor_named(file):
    keep(file, "I live in Graz")
    note(file, "They live in Graz too", scope=STRANGER)
    plan = planned(file, "f1")
    assert plan.related == []
    assert erasure_receipt.erase(file, plan, noon).sentence() == (
        "Searched the file for 1 word or line: 1 left (a note of another caller)"
    )


def test_an_answer_takes_all_none_numbers_or_handles(file):
    ask_about_graz(file)
    rows = planned(file, "f1").related
    assert forget.choose_related(rows, "all") == ["m2", "m4"]
    assert forget.choose_related(rows, "") == forget.choose_related(rows, "none") == []
    assert forget.choose_related(rows, "2, 1") == ["m4", "m2"]
    assert forget.choose_related(rows, "m4") == ["m4"]
    with pytest.raises(UsageError, match="'3' is not one of the rows that say the same"):
        forget.choose_related(rows, "3")


@for_each(
    ("text", "words"),
    [
        ("I live in Graz", ("graz",)),
        ("Ich wohne seit 2019 in München", ("munchen",)),
        ("My sister is called Anna", ("anna",)),
        ("meine PIN ist 4711", ("4711", "pin")),
        ("猫はタマです", ("猫はタマです",)),
    ],
)
def test_the_words_of_a_text_that_give_it_away(text, words):
    assert set(keywords.choose([text]).words) == set(words)


def learn(db, statement, message, quote):
    claim = adoption.claim(statement, "typed", message=int(message[1:]), quote=quote)
    return adoption.add(memory_of(db), claim).fact.handle


@pytest.fixture
def greenhouse(file):
    """Two facts of one sentence, one of another, and an answer, in one conversation."""
    session = sessions.start(file, HERE, NOON)
    both, car = "I live in Graz and my sister Clara owns a greenhouse.", "My car is a red Volvo."
    said = say(file, session, f"{both} {car} Its tyres are worn.")
    reply(file, session, "I see.")
    for statement, quote in (("I live in Graz", both), ("My sister Clara owns a greenhouse", both), (car, car)):
        learn(file, statement, said, quote)
    return file


def test_what_goes_along_with_what_says_the_same_is_listed_by_name(greenhouse):
    plan = planned(greenhouse, "f1")
    assert related(plan) == {"m1.1": "has the word graz", "f2": "goes with m1.1"}
    everything = forget.with_related(greenhouse, plan, forget.choose_related(plan.related, "all"))
    assert [handle for handle, _, _ in everything.lines] == ["m1.1", "f1", "f2"]
    assert {f"f{n}" for n in (1, 2)} | {"m1.1"} == {line.split()[0] for line in everything.format_lines()[:3]}
    assert erasure_receipt.erase(greenhouse, everything, noon).clean
    assert greenhouse.rows("select statement from fact") == [("My car is a red Volvo.",)]


def test_a_sentence_that_is_cut_out_of_a_message_leaves_no_trace_and_the_others_stay(greenhouse):
    plan = planned(greenhouse, "m1.1")
    receipt = erasure_receipt.erase(greenhouse, plan, noon)
    assert receipt.clean, receipt
    for word in ("Graz", "Clara", "greenhouse"):
        assert traces(greenhouse.path, word) == 0
    left = "(erased) My car is a red Volvo. Its tyres are worn."
    assert greenhouse.rows("select text from message") == [(left,), ("I see.",)]
    assert log.history(greenhouse, 1)[0].parts == (Part(left, "typed"),)
    assert handles(greenhouse, "worn tyres")[0] == "m1"
    assert handles(greenhouse, "greenhouse") == []
    assert greenhouse.rows("select statement, message_id from fact") == [("My car is a red Volvo.", 1)]
    assert greenhouse.rows("pragma foreign_key_check") == []


def test_a_message_of_which_no_sentence_is_left_is_erased(greenhouse):
    assert erasure_receipt.erase(greenhouse, planned(greenhouse, "m1.1", "m1.2", "m1.3"), noon).clean
    assert greenhouse.rows("select * from message union all select * from message") == []


def test_only_a_sentence_that_is_there_is_cut_out(greenhouse):
    for handle, said in (("m1.4", "m1 has 3 sentences, so there is no m1.4"), ("f1.1", "only a message or a reply")):
        with pytest.raises(UsageError, match=said):
            planned(greenhouse, handle)


def file_of(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("at", [0, 1, (1 << 20) - 12, (1 << 20) - 1, 1 << 20, (2 << 20) - 3, 2 << 20])
def test_a_piece_is_found_wherever_it_lies(tmp_path, at):
    path = file_of(tmp_path, b"." * at + b"SwordFish" + b"." * (3 << 20))
    assert erasure_receipt.count(path, [b"swordfish", b"herring", b"fish"]) == {b"swordfish": 1, b"fish": 1}


def test_pieces_are_counted_once_each_in_any_case(tmp_path):
    path = file_of(tmp_path, b"Fish fish FISH fis" + b"h" * (1 << 20))
    assert erasure_receipt.count(path, [b"fish"]) == {b"fish": 4}
    assert erasure_receipt.count(path, [b"fish", b"fish fi", b"fish f"]) == {b"fish": 4, b"fish fi": 3, b"fish f": 3}
    assert erasure_receipt.count(file_of(tmp_path, b""), [b"fish"]) == {}


@pytest.mark.parametrize("stored", ["Ärger", "ärger", "ÄRGER", "arger", json.dumps("Ärger"), json.dumps("ärger")])
def test_a_word_is_found_in_every_form_it_may_be_stored_in(tmp_path, stored):
    path = file_of(tmp_path, b"\x00\x81" + stored.encode() + b"\xff")
    assert sum(erasure_receipt.count(path, erasure_receipt.byte_forms("ärger")).values()) >= 1


def test_the_journal_that_a_copy_was_kept_aside_with_is_read_too(tmp_path):
    path, copy = file_of(tmp_path, b"."), tmp_path / "copy"
    for each in (copy, tmp_path / "copy-wal"):
        each.write_bytes(b"fish")
    assert erasure_receipt.files_of("", [str(copy)]) == [copy, tmp_path / "copy-wal"]
    assert erasure_receipt.files_of(str(path), [str(tmp_path / "gone")]) == [path]
    with pytest.raises(StoreError, match=r"cannot be read .*, so it cannot be searched"):
        erasure_receipt.count(tmp_path, [b"fish"])


@for_each(("size", "letters"), [(0, 4), (100_000, 4), (10_000_000, 5), (6_000_000_000, 6)])
def test_the_larger_a_file_the_longer_a_word_must_be_to_tell_something(size, letters):
    assert erasure_receipt.distinctive_length(size) == letters


def test_free_pages_that_hold_something_are_counted(tmp_path):
    for secure in (1, 0):
        path = tmp_path / f"{secure}.db"
        db = Database(path, journal="delete")
        db.prepare()
        db.execute("create table t (x)")
        db.execute(f"pragma secure_delete = {secure}")
        for number in range(50):
            db.execute("insert into t values (?)", (f"{number} " + "swordfish " * 3000,))
        db.execute("delete from t")
        db.close()
        assert (erasure_receipt.uncleared_pages(path) > 0) == (not secure)
