"""Forgetting: what goes with what is named, and that nothing of it is left in the file."""

import contextlib
import json
import os
import random
from itertools import product
from pathlib import Path

import pytest

from agent_cli.agent import loop, prompt_recall
from agent_cli.agent.jobs import worker
from agent_cli.errors import StoreError, UsageError
from agent_cli.llm.offline import Reply, ScriptedModel
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.documents import documents
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import erasure_receipt, forget, selection, tables
from agent_cli.memory.forgetting.tables import OWNERS, TABLES
from agent_cli.memory.lifecycle import closing
from agent_cli.memory.planner import notes, schedules, tasks
from agent_cli.memory.search import index, recall_log, word_tables
from agent_cli.memory.search.recall import Hit
from agent_cli.memory.summaries import summaries
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part, ToolCall, ToolResult
from agent_cli.store import events, ids, jobs, meta, sealing
from agent_cli.store.db import Database
from agent_cli.store.file import open_file
from agent_cli.tools.tool import ToolContext
from tests import forgetting
from tests.agent.jobs.test_worker import job_context
from tests.conftest import HERE, NOON, empty, memory_of, noon
from tests.forgetting import about, erase, planned, sync, traces
from tests.recalling import STRANGER, find, handles, reply, say
from tests.tables import for_each
from tests.turns import close_with

SECRET = "Xk7Qv2Rm9Tz4Wb8Yc3Hd5Jf6"  # 24 characters
UNTOLD = {  # where a thing was said, and names that are made of few letters or given by programs
    **dict.fromkeys(("note", "summary", "task", "collection", "schedule", "prompt"), "place"),
    "session": "place source external_id",
    "message": "place author parts answers tool external_id",
    "tool_call": "call_id",
    "skill": "name",
    "fact": "place predicate source",
    "caller": "name owner",
}
FOREIGN = "Ծաղկաձորի-գաղտնիքը-Աբգդ5"


@pytest.fixture
def session_of_secret(file):
    session = sessions.start(file, HERE, NOON)
    say(file, session, f"My code is {SECRET}.")
    return session


@pytest.mark.parametrize("secret", [SECRET, FOREIGN], ids=["ASCII", "Armenian"])
def test_a_secret_in_every_table_leaves_no_trace(file, secret, tmp_path):
    _, _, vectors = forgetting.spread(file, secret, embed=True, files=tmp_path / "files")
    assert traces(file.path, secret) > 0
    assert unsaid(file, secret) == []
    assert vectors

    receipt = erasure_receipt.erase(file, about(file, secret), noon)

    assert receipt.sentence().endswith(": 0 left"), receipt
    assert (receipt.clean, receipt.traces, receipt.held_up, receipt.free_pages_not_empty) == (True, 0, False, 0)
    assert traces(file.path, secret) == 0
    held = b"".join(path.read_bytes() for path in erasure_receipt.files_of(file.path))
    assert [held.count(piece) for piece in vectors] == [0] * len(vectors)
    assert handles(file, secret) == []
    assert file.rows("pragma foreign_key_check") == file.rows("select * from recollection") == []
    assert file.value("pragma integrity_check") == "ok"
    assert file.rows("select text from task") == file.rows("select * from answered") == []
    assert file.rows("select id, error, last_session from schedule") == [(4, "", None)]
    left = [("Doors", "All shut."), ("Garden", "Beans in May.")]
    assert file.rows("select heading, text from section order by heading") == left
    assert [
        count for (count,) in file.rows("select count(*) from document union all select count(*) from collection")
    ] == [3, 1]

    for _ in range(2):
        forgetting.sync(file)
        assert traces(file.path, secret) == 0
    for path in (tmp_path / "files").iterdir():
        path.write_bytes(path.read_bytes() + b"\n\n<p>and more</p>\n")
    forgetting.sync(file)
    assert file.value("select count(*) from section where text like '%and more%'") == 3
    assert traces(file.path, secret) == 0


def unsaid(db, secret):
    """The columns that hold words, and of which none holds the secret: a new one is put to the test by being there."""
    return [
        f"{table}.{name}"
        for table in TABLES
        for name in tables.columns_with_words(db, table)
        if name not in UNTOLD.get(table, "").split()
        and not db.value(f"select 1 from {table} where instr(fold(coalesce({name}, '')), ?)", (secret.casefold(),))
    ]


def test_owners_stand_in_the_order_in_which_rows_come_from_rows(file, tmp_path):
    """So that one walk reaches all: another one finds nothing more."""
    forgetting.spread(file, SECRET, files=tmp_path / "files")
    walk = selection.walk(file, selection.select_by_topic(file, "person", SECRET))
    rows = dict(walk.rows)
    for owner in OWNERS:
        owner.derive(file, walk)
        lineage.derive(file, walk, owner.tables)
    assert walk.rows == rows


def test_a_message_takes_its_answer_and_an_answer_leaves_the_message(db, session):
    asked, answer = say(db, session, "first"), reply(db, session, "answer")
    say(db, session, "second")
    reply(db, session, "last answer")
    erase(db, answer)
    assert db.rows("select text from message") == [("first",), ("second",), ("last answer",)]
    reply(db, session, "one more")
    erase(db, "m3")
    assert db.rows("select text from message") == [("first",)]
    erase(db, asked)
    assert db.rows("select text from message") == []


def test_a_fact_with_another_source_stays_and_loses_its_quote_in_every_version(file):
    session = sessions.start(file, HERE, NOON)
    one = int(say(file, session, "my zebrafinch lives in Graz")[1:])
    two = int(say(file, session, "I live in Graz, again")[1:])
    claim = adoption.claim("I live in Graz", "typed", message=one, quote="my zebrafinch lives in Graz")
    fact = adoption.add(memory_of(file), claim).fact
    adoption.add(memory_of(file), adoption.claim("I live in Graz", "typed", message=two, quote="I live in Graz"))
    facts.hide(memory_of(file), fact)
    adoption.restore(memory_of(file), facts.get(file, fact.id, "person"))
    plan = planned(file, f"m{one}")
    assert plan.walk.staying("fact") == (fact.id,)
    receipt = erasure_receipt.erase(file, plan, noon)
    assert (receipt.traces, receipt.words, [*receipt.rows]) == (0, "graz, zebrafinch", ["m2", "f1"])
    left = facts.get(file, fact.id, "person")
    assert (left.statement, left.message_id, left.quote) == ("I live in Graz", two, "I live in Graz")
    assert traces(file.path, "zebrafinch") == 0
    facts.undo(memory_of(file))
    assert file.rows("pragma foreign_key_check") == []


def test_a_message_is_no_longer_found_by_a_fact_that_was_forgotten(db, session):
    asked = say(db, session, "We moved in with Ada.")
    fact = adoption.add(memory_of(db), adoption.claim("The cat is called Mia", "typed", message=int(asked[1:]))).fact
    assert handles(db, "called Mia") != []
    erase(db, fact.handle)
    assert handles(db, "called Mia") == []
    assert handles(db, "Ada") == [asked]


def test_the_summary_goes_and_is_made_again_from_what_is_left(db, session):
    gone = say(db, session, "My piano is out of tune.")
    say(db, session, "My cat is called Mia.")
    close_with(db, session, "They spoke of a piano and a cat.")
    erase(db, gone)
    assert summaries.of_session(db, session) is None
    assert [row["subject"] for row in jobs.listing(db, 9) if row["kind"] == "summary"] == [f"s{session}"]
    worker.run_one(job_context(db))
    assert summaries.of_session(db, session).text == "My cat is called Mia."


class Forgets(ScriptedModel):
    """While it writes, the person forgets what it reads."""

    def __init__(self, db, told):
        super().__init__([Reply(say="They own a piano.")])
        self.forget = lambda: erase(db, told)

    def reply(self, *told, **more):
        self.forget()
        yield from super().reply(*told, **more)


def test_a_summary_that_was_being_written_does_not_write_forgotten_words(db, session):
    gone = say(db, session, "My piano is out of tune.")
    say(db, session, "My cat is called Mia.")
    closing.close(db, session, noon)
    worker.run_one(job_context(db, Forgets(db, gone)))
    assert summaries.of_session(db, session) is None
    first = jobs.listing(db, 1)[0]
    assert (first["kind"], first["state"]) == ("summary", "ready")


def test_a_session_that_was_closing_does_not_write_forgotten_words(db, session):
    gone = say(db, session, "My piano is out of tune.")
    say(db, session, "My cat is called Mia.")
    before = tombstones.erasure_count(db)
    erase(db, gone)
    close_with(db, session, "They own a piano.", rounds=before)
    assert summaries.of_session(db, session).text == "My cat is called Mia."
    assert sessions.get(db, session, "person").closed_at is not None


def test_an_import_does_not_bring_it_back(db):
    said = [("user", "The code is swordfish."), ("assistant", "ok"), ("user", "ok")]
    messages = [
        {"id": str(n), "role": role, "content": words, "at": f"2026-01-01T10:00:0{n}+01:00"}
        for n, (role, words) in enumerate(said)
    ]

    def bring(source):
        return transfer.import_lines(db, HERE, [json.dumps({"id": "1", "messages": messages})], source, noon, print)

    bring("x")
    erase(db, "m1")
    assert bring("x") == transfer.ImportResult(0, 0, 0)
    assert bring("elsewhere").messages == 1
    assert db.rows("select text from message") == [("ok",), ("ok",)]
    erase(db, "s1", "s2")
    assert bring("x") == transfer.ImportResult(0, 0, 0)


def test_a_forgotten_fact_comes_back_by_no_import_and_no_proposal(db):
    fact = adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed")).fact
    adoption.edit(memory_of(db), fact, "I live in Linz now")
    erase(db, "f1")
    told = []
    lines = [json.dumps({"statement": words}) for words in ("I live in Graz.", "I live in Linz now")]
    assert adoption.import_lines(memory_of(db), lines, "x", told.append, accepted=True) == (0, 0)
    assert told == [f"line {n} was skipped: you had it erased" for n in (1, 2)]
    assert adoption.propose(memory_of(db), adoption.claim("I live in Graz", "model")) is None
    fact = adoption.add(memory_of(db), adoption.claim("Eva lives in Graz", "typed")).fact
    adoption.edit(memory_of(db), fact, "I live in Wels and I work at Bosch")
    erase(db, fact.handle)
    lines = [json.dumps({"statement": "I live in Wels and I work at Bosch"})]
    assert adoption.import_lines(memory_of(db), lines, "x", told.append, accepted=True) == (0, 0)


def test_other_rows_that_say_the_same_are_named(db, session):
    say(db, session, "the safe opens with swordfish and a key")
    other = sessions.start(db, HERE, NOON)
    again = say(db, other, "Remember: the safe opens with swordfish and a key!")
    receipt = erase(db, "s1")
    assert (receipt.clean, receipt.rows) == (False, [again])
    assert receipt.remedies()[-1] == f"the same words stand in {again}: `agent forget {again}`"


def test_what_everybody_says_is_no_trace(file):
    one, two = (sessions.start(file, HERE, NOON) for _ in range(2))
    for number in (one, two):
        say(file, number, "hello")
        reply(file, number, "Hello! How can I help you today with whatever you have in mind?")
    assert erase(file, "s1").clean
    assert file.rows("select count(*) from message") == [(2,)]


def test_it_is_all_or_nothing(db, session):
    say(db, session, "one")
    plan = planned(db, f"s{session}")
    say(db, session, "two")
    with pytest.raises(UsageError, match="something was added to it meanwhile"):
        forget.erase(db, plan, noon)
    assert db.value("select count(*) from message") == 2
    assert not forget.is_pending(db)


@for_each(
    ("words", "said"),
    [
        ("Anna's birthday", "The birthday of Anna is in May."),
        ("猫 Anna", "Anna 喜欢猫"),  # one character
        ("猫 狗", "我有狗,没有猫"),  # only single characters
        ("茶道", "昨日は茶道 lessons、楽しかった"),  # a script without spaces
        ("茶道 lesson", "昨日は茶道 lessons、楽しかった"),
        ("Anna _ birthday", "the birthday of Anna"),  # no word
        ("pomegranate xylophone", f"a pomegranate {'and so on ' * 400} and a xylophone"),  # in two pieces
    ],
)
def test_a_topic_finds_each_of_its_words_wherever_it_stands_and_nothing_else(words, said):
    db = empty()
    session = sessions.start(db, HERE, NOON)
    for other in ("Anna has a pomegranate", "May I ask something else? お茶は好きですか", "明日は雨らしい lessons"):
        say(db, session, other)
    say(db, session, said)
    assert selection.select_by_topic(db, "person", words).rows == {"message": (4,)}


def test_a_topic_finds_all_that_has_its_words_however_much_that_is(db, session):
    for number in range(300):
        say(db, session, f"In year {number} the presents for the birthdays of Anna were late")
    assert len(selection.select_by_topic(db, "person", "birthday present for Anna").rows["message"]) == 300


def test_with_a_damaged_index_a_topic_is_refused_because_some_might_be_left_and_a_time_is_not(db, session):
    say(db, session, "The birthday of Anna is in May.")
    meta.note_damaged(db, "words")
    with pytest.raises(StoreError, match="texts may be missing: run `agent index rebuild`"):
        selection.select_by_topic(db, "person", "Anna's birthday")
    found = selection.select_by_topic(db, "person", "", since="2026-01-01", until="2026-02-01")
    assert found.rows["message"] == (1,)


def test_the_event_tells_no_word(db, session):
    say(db, session, "swordfish")
    erase(db, f"s{session}")
    [event] = [each for each in events.listing(db, 100)[::-1] if each["kind"] == "forgotten"]
    assert (event["subject"], event["actor"], event["hash"]) == (f"s{session}", "person", "")
    assert "swordfish" not in str(
        db.rows("select * from event") + db.rows("select * from job") + db.rows("select * from meta")
    )


def test_a_session_that_is_open_stays_without_a_word(db, session):
    say(db, session, "swordfish")
    sessions.change(db, session, title="Fish")
    erase(db, f"s{session}")
    assert db.rows("select id, title, opening from session") == [(session, "", None)]
    assert log.add_user_message(db, session, HERE, [Part("and on", "typed")], NOON)


def test_the_journal_of_a_sealed_file_is_empty_when_it_is_searched_or_counts_as_left(tmp_path):
    key, path = os.urandom(32) + sealing.new_head("key file"), tmp_path / "memory.db"
    sealing.KEYS.found[key[32:]] = key
    with contextlib.closing(open_file(path, NOON, print, key=key)) as db:
        secret = notes.add(db, HERE, SECRET, noon)
        with contextlib.closing(db.another_connection()) as reader, reader.snapshot():
            assert erase(db, secret.handle).left == ["the journal"]
        assert path.with_name("memory.db-wal").stat().st_size > 0
        receipt = erasure_receipt.resume(db, noon, SECRET)
        assert (receipt.clean, path.with_name("memory.db-wal").stat().st_size) == (True, 0)


def test_an_index_holds_nothing_of_it_whatever_was_written_before(file):
    session = sessions.start(file, HERE, NOON)
    for number in range(300):
        say(file, session, f"line {number} about gardens and rivers")
        if number % 50 == 0:
            index.refresh_all(file)
    gone = say(file, session, f"the word {SECRET} in the middle")
    index.refresh_all(file)
    for number in range(300):
        say(file, session, f"line {number} about boats and trains")
    index.refresh_all(file)
    file.truncate_journal()
    assert erase(file, gone).clean
    assert traces(file.path, SECRET) == 0
    words = word_tables.table(file, "words")
    assert file.value(f"select count(*) from {words}('{SECRET}')") == 0


def test_a_word_that_an_index_finds_its_page_by_leaves_no_trace(file):
    session = sessions.start(file, HERE, NOON)
    words = ["qw" + "".join(letters) for letters in product("bcdfghjkmn", repeat=4)][:4000]
    random.Random(1).shuffle(words)
    said = {word: n for n in range(400) for word in words[10 * n : 10 * n + 10]}
    for n in range(400):
        say(file, session, " ".join(words[10 * n : 10 * n + 10]))
    index.refresh_all(file)
    terms = [bytes(term)[1:].decode() for (term,) in file.rows("select cast(term as blob) from words_1_idx")]
    pages = [word for word in terms if word in said][:3]
    assert len(pages) == 3
    for word in pages:
        forget.erase(file, planned(file, f"m{said[word] + 1}"), noon)
        assert forget.empty_journal(file, noon)  # as after a kill: nobody knows the words any more
    assert [traces(file.path, word) for word in pages] == [0, 0, 0]


def test_what_sqlite_leaves_in_the_unused_part_of_a_page_goes_too(file):
    """After balancing its tree SQLite leaves copies of moved rows there, also with secure_delete."""
    kept = notes.add(file, HERE, "the zebrafinch sings", noon)
    file.truncate_journal(1)
    with Path(file.path).open("r+b") as pages:
        pages.seek(_unused_part(pages.read(), file.value("pragma page_size")))
        pages.write(b"the zebrafinch sings")
    assert erase(file, kept.handle).clean
    assert b"zebrafinch" not in Path(file.path).read_bytes()


def _unused_part(held, size):
    """Where a leaf page of a table has room, by https://www.sqlite.org/fileformat2.html#b_tree_pages."""
    for start in range(size, len(held), size):
        kind, cells, content = held[start], held[start + 3 : start + 5], held[start + 5 : start + 7]
        room = int.from_bytes(content) - 8 - 2 * int.from_bytes(cells)
        if kind == 13 and room > 100:
            return start + int.from_bytes(content) - 50
    raise AssertionError("no page has room")


def test_what_is_typed_while_the_plan_is_looked_at_goes_too(file, session_of_secret):
    plan = planned(file, f"s{session_of_secret}")
    log.add_prompt(file, HERE, None, f"My code is {SECRET}.", NOON)
    assert erasure_receipt.erase(file, plan, noon).clean
    assert traces(file.path, SECRET) == 0


@pytest.mark.parametrize("last", [False, True], ids=["while the plan is looked at", "before the very transaction"])
def test_what_another_process_writes_meanwhile_goes_too(file, other, session_of_secret, last):
    def write():
        log.add_prompt(file, HERE, None, f"My code is {SECRET}.", NOON)

    plan = planned(other, f"s{session_of_secret}")
    if last:
        other.meanwhile = write
    else:
        write()
    assert erasure_receipt.erase(other, plan, noon).clean
    assert traces(file.path, SECRET) == 0


def test_many_that_are_forgotten_at_once_leave_the_indexes_whole(file):
    sessions_ = [sessions.start(file, HERE, NOON) for _ in range(2)]
    for number in range(150):
        say(file, sessions_[0], f"gone {SECRET} line {number} about gardens")
        say(file, sessions_[1], f"line {number} about boats")
    assert erase(file, f"s{sessions_[0]}").clean
    assert traces(file.path, SECRET) == 0
    for name, kept, gone in (("words", "boats", "gardens"), ("trigrams", "boa", "gar")):
        name = word_tables.table(file, name)
        found = [file.value(f"select count(*) from {name}(?)", (each,)) for each in (kept, gone)]
        assert found == [150, 0]
        file.execute(f"insert into {name} ({name}, rank) values ('integrity-check', 1)")


def test_rows_of_another_owner_stay_and_are_not_named(file, session_of_secret):
    words = f"My code is {SECRET}."
    log.add_prompt(file, STRANGER, None, words, NOON)
    theirs = sessions.start(file, STRANGER, NOON)
    sessions.change(file, theirs, title=words)
    say(file, theirs, words, scope=STRANGER)
    log.add_note(file, theirs, words, NOON)
    receipt = erase(file, f"s{session_of_secret}")
    assert (receipt.traces, receipt.rows) == (0, [])
    assert log.recent_prompts(file, "caller", 9) == [words]
    assert sessions.get(file, theirs, "caller").title == words
    assert file.value("select text from jotting") == words


class Interrupted(Database):
    """A connection that lets something happen before it writes for the first time."""

    meanwhile = staticmethod(lambda: None)

    def write(self):
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        return super().write()


@pytest.fixture
def other(file):
    """A second process on the file."""
    database = Interrupted(file.path)
    database.prepare()
    yield database
    database.close()


def test_a_window_that_is_folded_meanwhile_holds_no_forgotten_words(file, other):
    session = sessions.start(file, HERE, NOON)
    for words in ("I live in Graz and I like it a lot.", f"My code is {SECRET} and I decided so.", "I work in Linz."):
        last = say(file, session, words)
        reply(file, session, "Fine.")
    other.meanwhile = lambda: erase(file, "m3")
    digest.fold(other, session, int(last[1:]), NOON)
    assert "Graz" in digest.rolling(file, session).text
    assert SECRET not in str(digest.rolling(file, session))


def test_a_session_that_begins_meanwhile_is_told_no_forgotten_words(file, other):
    session = sessions.start(file, HERE, NOON)
    say(file, session, f"My code is {SECRET}.")
    reply(file, session, "Fine.")
    fresh = sessions.start(file, HERE, NOON)
    here = ToolContext(other, fresh, HERE, noon)
    other.meanwhile = lambda: setattr(other, "meanwhile", lambda: erase(file, f"s{session}"))  # behind the healing
    loop.prepare_session(here)
    assert SECRET not in sessions.get(file, fresh, "person").opening


def test_what_was_recalled_while_it_was_forgotten_is_not_kept(file, other):
    note = notes.add(file, HERE, f"The code of the safe is {SECRET}", noon)
    session = sessions.start(file, HERE, NOON)
    asked = int(say(file, session, "What is the code of the safe?")[1:])
    index.refresh_all(file)
    other.meanwhile = lambda: erase(file, note.handle)
    prompt_recall.recall_for_message(
        ToolContext(other, session, HERE, noon), asked, "What is the code of the safe?", ()
    )
    assert traces(file.path, SECRET) == 0


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    return made


def add(db, path):
    documents.add(db, HERE, str(path), noon)
    return sync(db)


def read_again(db, place):
    """What is counted when a file or folder is added once more."""
    documents.add(db, HERE, str(place), noon)
    tally = documents.SyncResult()
    assert list(documents.sync(db, "person", noon, tally, [str(place)]))
    return tally


def texts(db):
    return [text for (text,) in db.rows("select text from section order by document_id, position")]


def task(db, words, **made):
    return tasks.add(db, HERE, words, None, noon, **made)


def test_what_will_go_is_shown_with_the_file_that_stays(db, folder):
    (folder / "bank.md").write_text("# Bank\n\nThe vault number is 4711.\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    task(db, "open the vault")
    schedules.add(db, HERE, "0 7 * * *", noon, prompt="how is the vault?", zone="UTC")
    plan = about(db, "vault")
    day = f"{NOON:%Y-%m-%d}"
    written = db.value("select substr(at, 1, 10) from section")
    assert plan.format_lines() == [
        f"t1     {day}  open the vault",
        f"c1     {day}  0 7 * * * how is the vault?",
        f"d1     {written}  bank.md:3 The vault number is 4711.",
        "to be erased: 1 task, 1 schedule, 1 section of a file",
        f"{folder}/bank.md stays on the disk: no sync brings these words of it back",
    ]
    assert plan.described()["files"] == [plan.format_lines()[-1]]
    assert planned(db, "t1", "d1", "c1").format_lines() == plan.format_lines()


def test_beyond_what_is_shown_or_named_it_is_counted(db, folder):
    for n in range(25):
        task(db, f"oil door {n}")
    assert about(db, "oil door").format_lines()[20:] == ["       and 5 more", "to be erased: 25 tasks"]
    for n in range(5):
        (folder / f"{n}.md").write_text("Beans in May.\n")
    add(db, folder)
    [told] = planned(db, *(f"d{n}" for n in range(1, 6))).files
    assert told.endswith(f"{folder}/2.md and 2 more stay on the disk: no sync brings these words of them back")


def test_a_task_of_an_exchange_goes_with_it_and_those_made_by_hand_or_another_owner_and_schedules_stay(db, session):
    asked = int(say(db, session, "Remind me to oil the door.")[1:])
    task(db, "oil the door", session=session, message=asked, origin="model")
    task(db, "buy milk", session=session)
    tasks.add(db, STRANGER, "oil the door", None, noon)
    say(db, session, "and on")

    erase(db, f"m{asked}")

    assert db.rows("select text, session_id from task") == [("buy milk", session), ("oil the door", None)]
    with pytest.raises(UsageError, match="there is no task t3"):
        planned(db, "t3")
    with pytest.raises(UsageError, match="nothing is remembered about 'oil'"):
        about(db, "oil")
    with db.write():
        db.execute("delete from task where id = 3")
    schedules.add(db, HERE, "0 7 * * *", noon, prompt="brief me", zone="UTC")
    other = sessions.start(db, HERE, NOON)
    task(db, "feed the cat", session=other, origin="model")  # retention has taken its message
    task(db, "shut the door", session=other)
    say(db, other, "hello")
    with db.write():
        db.execute("update schedule set last_session = ?", (other,))
    erase(db, f"s{other}")
    assert [each.last_session for each in schedules.listing(db, "person")] == [None]
    assert db.rows("select text, session_id from task") == [("buy milk", session), ("shut the door", None)]
    assert db.rows("pragma foreign_key_check") == []


def test_sessions_named_after_a_schedule_lose_its_words(db, session):
    prompt = "what is new about the alpaca farm?"
    schedules.add(db, HERE, "0 7 * * *", noon, prompt=prompt, zone="UTC")
    sessions.change(db, session, title=f"scheduled: {prompt}")
    asked = say(db, session, prompt)
    assert erase(db, "c1").rows == [asked]
    assert sessions.get(db, session, "person").title == ""


def test_a_time_alone_means_tasks_and_no_file(db, folder):
    (folder / "a.md").write_text("Beans in May.\n")
    os.utime(folder / "a.md", (NOON.timestamp(), NOON.timestamp()))
    add(db, folder)
    task(db, "sow beans")
    plan = forget.planned(db, selection.select_by_topic(db, "person", "", since="2026-01-01", until="2026-02-01"))
    assert plan.counts == {"tasks": 1}


def test_other_rows_that_say_an_erased_line_are_named(db, session, folder):
    words = "the safe opens with swordfish and a key"
    (folder / "a.md").write_text(f"# One\n\n{words}\n\n# Two\n\nelse\n")
    (folder / "b.md").write_text(f"# Three\n\nRemember: {words}!\n")
    add(db, folder)
    task(db, words)
    schedules.add(db, HERE, "0 7 * * *", noon, prompt=words, zone="UTC")
    said = say(db, session, words)
    receipt = erase(db, "d1")
    assert (receipt.clean, sorted(receipt.rows)) == (False, ["c1", "d3", said, "t1"])
    assert sorted(erase(db, said).rows) == ["c1", "d3", "t1"]
    assert erase(db, "t1", "c1", "d3").clean


def test_what_was_recalled_and_found_of_a_section_goes_with_it(file, folder, tmp_path):
    session = sessions.start(file, HERE, NOON)
    (folder / "a.md").write_text("The zebrafinch sings in the second room.\n\n")
    add(file, folder)
    asked = log.add_user_message(file, session, HERE, [Part("Who is it?", "typed")], NOON)
    hit = Hit("section", 1, None, None, 0.0, 1.0, "x", {"words": 1.0})
    recall_log.record(file, asked, [(hit, "- d1, a.md:1: The zebrafinch sings in the second room.")], "", NOON)
    call = ToolCall("c1", "read_file", {"path": "a.md"})
    log.add_tool_result(file, session, HERE, call, ToolResult("1: The zebrafinch sings in the second room."), NOON)
    assert erase(file, "d1").clean
    assert file.rows("select * from recollection") == []
    assert file.rows("select text from message where role = 'tool'") == [("(erased)",)]
    assert traces(file.path, "zebrafinch") == 0


def test_what_a_tool_read_is_kept_where_other_files_say_it_too(db, session, folder):
    license = "Licensed under the terms of the gardener's union"
    for name in ("a.py", "b.py"):
        (folder / name).write_text(f"# {license}\n\n\ndef {name[0]}():\n    return 1\n")
    add(db, folder)
    log.add_tool_result(db, session, HERE, ToolCall("c1", "read_file", {}), ToolResult(f"1: # {license}"), NOON)
    erase(db, "d1")
    assert db.rows("select text from message") == [(f"1: # {license}",)]


def test_a_forgotten_section_stays_out_whatever_becomes_of_the_file(db, folder):
    path = folder / "a.md"
    path.write_text("# Bank\n\nThe vault is deep.\n\nPIN: 4711\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    erase(db, "d1")
    assert texts(db) == ["Beans in May."]
    assert sync(db).unchanged == 1
    os.utime(path)
    assert sync(db).unchanged == 1
    path.write_text("# Bank\n\nThe vault is deep.\n\nPIN: 4711\n\nOpen till five.\n\n# Garden\n\nBeans in June.\n")
    tally = sync(db)
    assert (tally.changed, tally.erased) == (1, 1)
    assert tally.sentence().endswith("\nof 1 file what you had erased is not read again; write it anew to have it back")
    assert texts(db) == ["Open till five.", "Beans in June."]
    moved = folder / "moved.md"
    path.rename(moved)
    sync(db)
    moved.write_text("# Bank\n\nThe vault is deep. It is dry.\n\n- PIN: 4711\n- the PIN is 4711\n\n# Garden\n\nNone.\n")
    sync(db)
    assert texts(db) == ["It is dry.\n\n- the PIN is 4711", "None."], "in other words it is another text"
    assert find(db, "the vault is deep", kinds=("section",)).hits == ()


def test_a_line_or_a_sentence_of_it_stays_out_when_another_beside_it_changes(db, folder):
    path = folder / "a.md"
    path.write_text(
        "# Codes\n\n- router: marmot\n- milk\n\nAsk Anna, she knows. The alarm is off at\nnoon. So be it.\n\n"
        "# Z\n\n- milk\n"
    )
    add(db, folder)
    erase(db, "d1")
    path.write_text(
        "# Codes\n\n* router: marmot\n- milk\n- eggs\n\nAsk Anna, she knows. The alarm is off\nat noon. So it is.\n\n"
        "# Z\n\n- milk\n"
    )
    sync(db)
    assert db.rows("select heading, text from section order by position") == [
        ("", "- milk\n- eggs\n\nSo it is."),
        ("Z", "- milk"),
    ]


def test_code_that_other_functions_have_too_stays_in(db, folder):
    body = "    if not ready:\n        return None\n    count = 1\n" * 12
    code = "def open_vault():\n    code = 4711\n{0}\n\ndef close():\n{0}\n\ndef wait():\n{0}{1}"
    (folder / "a.py").write_text(code.format(body, ""))
    add(db, folder)
    before = texts(db)
    assert len(before) == 3
    erase(db, "d1")
    (folder / "a.py").write_text(code.format(body, "    return 5\n"))
    sync(db)
    after = texts(db)
    assert [text for text in after if "4711" in text or "open_vault" in text] == []
    assert after[-2:] == [before[1], before[2].rstrip() + "\n    return 5"]


def test_a_file_that_was_forgotten_by_its_name_is_not_read_again_even_when_it_is_added_by_name(db, folder):
    path = folder / "alpaca farm.md"
    path.write_text("Wool is sold in May.\n")
    (folder / "b.md").write_text("Beans in May.\n")
    add(db, folder)
    plan = about(db, "alpaca farm")
    assert plan.format_lines()[-1] == f"{path} stays on the disk: no sync reads it again"
    erasure_receipt.erase(db, plan, noon)
    for words in ("Wool is sold in May.\n", "Wool is sold in June.\n"):
        path.write_text(words)
        assert (sync(db).erased, texts(db)) == (0, ["Beans in May."])
    assert (read_again(db, path).erased, texts(db)) == (1, ["Beans in May."])


def test_a_file_that_is_added_once_more_says_what_stays_out(db, folder):
    (folder / "a.md").write_text("# Bank\n\nThe vault is deep.\n\n# Garden\n\nBeans in May.\n")
    add(db, folder)
    erase(db, "d1")
    tally = read_again(db, folder)
    assert (tally.unchanged, tally.erased, texts(db)) == (1, 1, ["Beans in May."])


def test_a_collection_that_says_it_goes_with_all_its_files(db, tmp_path):
    for name in ("alpaca farm", "garden"):
        (tmp_path / name).mkdir()
        for n in range(2):
            (tmp_path / name / f"{n}.txt").write_text(f"The {name} has {n} gates.\n")
        add(db, tmp_path / name)
    plan = about(db, "alpaca farm")
    assert plan.counts == {"sections of files": 2, "documents": 2, "collections": 1}
    erasure_receipt.erase(db, plan, noon)
    assert [each["pattern"] for each in documents.listing(db, "person")] == [str(tmp_path / "garden")]
    assert texts(db) == ["The garden has 0 gates.", "The garden has 1 gates."]


def test_the_name_of_your_home_says_nothing_of_the_files_in_it(db, tmp_path, monkeypatch):
    home = tmp_path / "anna"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("garden.txt", "anna.txt"):
        (home / name).write_text(f"Of {name[0]} there is a lot.\n")
    add(db, home)
    assert about(db, "anna").counts == {"sections of files": 1, "documents": 1}


def test_the_receipts_kept_for_a_repeated_answer_are_forgotten_with_what_they_tell(file):
    asked = say(file, sessions.start(file, HERE, NOON), "Keep what I wrote down yesterday")
    notes.add(file, HERE, "The safe opens with swordfish", noon)
    lines = '{"receipts": ["saved n1 “The safe opens with swordfish”"]}'
    with file.write():  # as a program before wrote them
        kept = "insert into answered values (1, 'person', '1/k1', 'hash', 1, ?, ?, '')"
        file.execute(kept, (ids.number("message", asked), lines))
    assert erase(file, "n1").traces == 0
    assert file.value("select lines from answered") == "{}"
    assert file.value("select count(*) from answered where lines like '%swordfish%'") == 0
