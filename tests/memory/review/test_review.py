"""The queue of what waits for a yes: what a proposal shows, and what each decision does to the file."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.review import review
from agent_cli.memory.review import review as changes
from agent_cli.memory.review.review import ENDS, LATER, STAYS, ConflictingFact
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.messages import Part
from tests.conftest import HERE, NOON, memory_of, noon
from tests.facts import add, claim, later, lives, propose

DECISIONS = [review.accept, partial(review.accept, replacing=True), review.reject]


@pytest.fixture
def reviewer(db):
    return memory_of(db)


def earlier():
    return NOON - timedelta(days=40)


def known(db, statement, *lives_in):
    return adoption.add(memory_of(db, earlier), Claim(statement, "typed", _home(lives_in))).fact


def proposed(db, statement, *lives_in, **details):
    return adoption.propose(memory_of(db), Claim(statement, "model", _home(lives_in), **details))


def _home(lives_in):
    return Triple("person", "lives_in", *lives_in) if lives_in else None


def read(reviewer, fact, words=""):
    return review.read(reviewer, ("fact", fact.id), words)


def states(db):
    return dict(db.rows("select id, state from fact order by id"))


def test_a_proposal_shows_all_that_a_person_decides_on(db, reviewer, session):
    sessions.change(db, session, title="router setup")
    parts = [Part("put the NAS on .20 please", "typed")]
    said = log.add_user_message(db, session, HERE, parts, NOON - timedelta(days=2))
    old = known(db, "The NAS answers at 192.168.1.12")
    fact = proposed(db, "The NAS answers at 192.168.1.20", message=said, quote="NAS on .20", place=HERE.place)
    assert read(reviewer, fact).known == (), "what is true everywhere contradicts nothing of this project"
    local_fact = adoption.add(memory_of(db, earlier), Claim(old.statement, "typed", place=HERE.place)).fact
    assert read(reviewer, fact).describe() == {
        "kind": "fact",
        "id": "f2",
        "statement": "The NAS answers at 192.168.1.20",
        "hidden": False,
        "operation": "insert",
        "reach": "in this project",
        "since": "",
        "until": "",
        "filed": "",
        "origin": "model",
        "trust": "model",
        "inferred": False,
        "quote": "NAS on .20",
        "message": "m1",
        "more": 0,
        "at": "2025-12-31T12:00:00.000Z",
        "session": "s1",
        "title": "router setup",
        "read": "",
        "conflicts": [{"id": local_fact.handle, "statement": old.statement, "since": "2025-11-23T12:00:00.000Z"}],
    }


def test_what_waits_comes_oldest_first_and_by_session(db, reviewer, session):
    said = log.add_user_message(db, session, HERE, [Part("tea", "typed")], NOON)
    known(db, "I have a dog")
    proposed(db, "I like tea", message=said)
    proposed(db, "I like bread")
    proposed(db, "We speak of trains today", session=session)
    adoption.propose(MemoryContext(db, Scope("caller", ""), noon), Claim("I like hats", "model"))
    assert review.pending(reviewer) == [("fact", 2), ("fact", 3), ("fact", 4)]
    assert review.pending(reviewer, session) == [("fact", 2), ("fact", 4)]


@pytest.mark.parametrize(
    ("replacing", "receipt", "state"),
    [(False, "kept f2", "accepted"), (True, "kept f2, replaces f1 (until 2 Jan 2026)", "superseded")],
)
def test_a_yes_keeps_it_beside_what_it_contradicts_and_replace_ends_that(db, reviewer, replacing, receipt, state):
    old = known(db, "The NAS answers at 192.168.1.12")
    proposal = read(reviewer, proposed(db, "The NAS answers at 192.168.1.20"))
    assert proposal.known == (ConflictingFact(old.id, old.statement, "2025-11-23T12:00:00.000Z", 0, STAYS),)
    assert review.accept(reviewer, proposal, replacing=replacing).receipts == (receipt,)
    assert states(db) == {1: state, 2: "accepted"}


def test_replace_ends_all_that_are_shown(db, reviewer):
    known(db, "The NAS answers at 192.168.1.12")
    known(db, "The NAS answers at 192.168.1.13")
    proposal = read(reviewer, proposed(db, "The NAS answers at 192.168.1.20"))
    decision = review.accept(reviewer, proposal, replacing=True)
    assert decision.receipts[0] == "kept f3, replaces f2 (until 2 Jan 2026), replaces f1 (until 2 Jan 2026)"
    assert review.undo_batch(reviewer, decision.batch) == ["f1 is true again", "f2 is true again", "f3 waits again"]
    assert states(db) == {1: "accepted", 2: "accepted", 3: "pending"}


def test_of_a_predicate_with_one_value_a_yes_alone_ends_the_old_one(db, reviewer):
    known(db, "I live in Graz", "Graz")
    proposal = read(reviewer, proposed(db, "I live in Linz", "Linz"))
    assert [(each.handle, each.outcome) for each in proposal.known] == [("f1", ENDS)]
    assert review.accept(reviewer, proposal).receipts == ("kept f2, replaces f1 (until 2 Jan 2026)",)


def test_an_older_truth_is_kept_as_what_was_true_before(db, reviewer):
    known(db, "I live in Linz", "Linz")
    fact = proposed(db, "I live in Graz", "Graz", learned=NOON - timedelta(days=900))
    proposal = read(reviewer, fact)
    assert [(each.handle, each.outcome) for each in proposal.known] == [("f1", LATER)]
    assert review.accept(reviewer, proposal).receipts == ("kept f2, true until 23 Nov 2025",)
    assert states(db) == {1: "accepted", 2: "superseded"}


def test_an_end_that_is_proposed_ends_its_target(db, reviewer):
    old = known(db, "I live in Graz", "Graz")
    proposal = read(reviewer, proposed(db, "I left Austria", operation="delete", target=old.id))
    assert [(each.handle, each.outcome) for each in proposal.known] == [("f1", ENDS)]
    assert review.accept(reviewer, proposal).receipts == ("kept f2, ends f1 (until 2 Jan 2026)",)
    assert facts.listing(db, "person", 9) == []


def test_a_no_is_remembered(db, reviewer):
    decision = review.reject(reviewer, read(reviewer, proposed(db, "I like tea")))
    assert (decision.receipts, decision.accepted) == (("rejected f1",), False)
    assert proposed(db, "I like tea") is None


def test_other_words_are_kept_only_with_the_yes_and_undone_with_it(db, reviewer):
    fact = proposed(db, "I like tea")
    proposal = read(reviewer, fact, "  I like \n green tea ")
    assert (proposal.statement, proposal.edited) == ("I like green tea", True)
    assert facts.get(db, fact.id, "person") == fact, "nothing is stored before the yes"
    decision = review.accept(reviewer, proposal)
    assert db.rows("select statement, state from fact") == [("I like green tea", "accepted")]
    assert review.undo_batch(reviewer, decision.batch) == ["f1 waits again"]
    assert facts.get(db, fact.id, "person") == fact


def test_other_words_meet_other_conflicts(db, reviewer):
    known(db, "The NAS answers at 192.168.1.12")
    fact = proposed(db, "The printer is quiet")
    assert read(reviewer, fact).known == ()
    assert [each.handle for each in read(reviewer, fact, "The NAS answers at 192.168.1.20").known] == ["f1"]


@pytest.mark.parametrize("decide", DECISIONS)
def test_every_decision_is_undone_as_a_whole(db, reviewer, decide):
    known(db, "The NAS answers at 192.168.1.12")
    fact = proposed(db, "The NAS answers at 192.168.1.20")
    before = db.rows("select * from fact")
    review.undo_batch(reviewer, decide(reviewer, read(reviewer, fact)).batch)
    assert db.rows("select * from fact") == before


def test_a_decision_is_not_undone_over_a_later_change(db, reviewer):
    decision = review.accept(reviewer, read(reviewer, proposed(db, "I like tea")))
    facts.hide(memory_of(db), facts.get(db, 1, "person"))
    with pytest.raises(UsageError, match="f1 was changed again since; take that back first"):
        review.undo_batch(reviewer, decision.batch)
    facts.undo(memory_of(db))
    assert review.undo_batch(reviewer, decision.batch) == ["f1 waits again"]


MEANWHILE = {
    "was decided meanwhile: it is rejected": lambda db, fact: facts.reject(memory_of(db), fact),
    "was decided meanwhile: it is hidden": lambda db, fact: facts.hide(memory_of(db), fact),
    "was decided meanwhile: it is gone": lambda db, fact: facts.erase(db, [fact.id]),
    "has changed since it was shown; look at it again": lambda db, fact: adoption.edit(
        memory_of(db), fact, "Send mail"
    ),
    "has changed since it was shown": lambda db, fact: known(db, "The NAS answers at 192.168.1.12"),
}


@pytest.mark.parametrize("said", MEANWHILE)
@pytest.mark.parametrize("decide", DECISIONS)
def test_what_changed_since_it_was_shown_is_not_decided(db, reviewer, said, decide):
    fact = proposed(db, "The NAS answers at 192.168.1.20")
    proposal = read(reviewer, fact)
    MEANWHILE[said](db, fact)
    before = states(db)
    with pytest.raises(UsageError, match=f"f1 {said}"):
        decide(reviewer, proposal)
    assert states(db) == before
    assert ("decided" in said) == (read(reviewer, fact) is None)


def test_characters_that_cannot_be_seen_are_neither_shown_nor_kept(db, reviewer):
    fact = proposed(db, "I like\u202e t\u200be\U000e0041a\x1b[2K", quote="\x07I like\u2066 tea", inferred=True)
    proposal = read(reviewer, fact)
    assert (proposal.statement, proposal.hidden, proposal.quote) == ("I like tea[2K", True, "I like tea")
    assert not read(reviewer, proposed(db, "می‌خواهم 👩‍👩‍👧 ❤️ 日本語")).hidden
    review.accept(reviewer, proposal)
    assert db.rows("select statement, state from fact where id = 1") == [("I like tea[2K", "accepted")]


def test_nothing_but_hidden_characters_cannot_be_kept(db, reviewer):
    proposal = read(reviewer, proposed(db, "\u200b\u200b"))
    with pytest.raises(UsageError, match="an empty fact cannot be kept"):
        review.accept(reviewer, proposal)
    assert states(db) == {1: "pending"}


def test_the_rest_is_kept_at_once_and_undone_at_once(db, reviewer):
    shown = [read(reviewer, proposed(db, words)) for words in ("I like tea", "I have two dogs", "My car is red")]
    review.reject(reviewer, shown[1])
    decision = review.accept_all(reviewer, shown)
    assert decision.receipts == ("kept f1", "kept f3")
    assert states(db) == {1: "accepted", 2: "rejected", 3: "accepted"}
    review.undo_batch(reviewer, decision.batch)
    assert states(db) == {1: "pending", 2: "rejected", 3: "pending"}


def test_of_two_that_contradict_each_other_the_second_is_left_to_be_seen(db, reviewer):
    shown = [read(reviewer, proposed(db, f"I live in {city}", city)) for city in ("Graz", "Linz")]
    assert review.accept_all(reviewer, shown).receipts == ("kept f1",)
    assert states(db) == {1: "accepted", 2: "pending"}


def test_of_very_many_conflicts_a_few_are_shown_and_the_others_stay(db, reviewer):
    for number in range(8):
        known(db, f"The bus to work leaves at {number} o'clock")
    proposal = read(reviewer, proposed(db, "The bus to work leaves at 20 o'clock"))
    assert ([each.handle for each in proposal.known], proposal.more) == (["f8", "f7", "f6", "f5", "f4"], 3)
    review.accept(reviewer, proposal, replacing=True)
    assert list(states(db).values()).count("superseded") == 5


def test_the_passage_is_the_message_with_two_around_it(db, reviewer, session):
    for number in range(7):
        log.add_user_message(db, session, HERE, [Part(f"word {number}", "typed")], NOON)
    proposal = read(reviewer, proposed(db, "I like words", message=4))
    passage = [(entry.handle, entry.message.text, is_source) for entry, is_source in review.passage(reviewer, proposal)]
    assert passage == [(f"m{n + 1}", f"word {n}", n == 3) for n in range(1, 6)]
    with pytest.raises(UsageError, match="f2 comes from no message"):
        review.passage(reviewer, read(reviewer, proposed(db, "I have no source")))


def test_what_waits_and_what_expired_is_told_once(db, reviewer):
    proposed(db, "I like tea")
    assert review.start_notices(reviewer) == ["1 fact to review: /review"]
    proposed(db, "I have two dogs")
    late = replace(reviewer, time=lambda: NOON + timedelta(days=31))
    assert review.start_notices(reviewer) == ["2 facts to review: /review"]
    assert review.start_notices(late) == ["2 proposals expired unread: each waits for 30 days at most, and 50 at once"]
    assert review.start_notices(late) == []


@pytest.fixture
def session(db):
    """Begun the day after the facts that were there."""
    return sessions.start(db, HERE, later(1)())


def told(db, session, review="/review"):
    return changes.changed_since_opened(db, session, PERSON, review)


def test_nothing_is_told_when_nothing_changed_but_what_others_learn(db, session):
    add(db, "My cat is Mia")
    add(db, "My cat is Rex", Scope("somebody else", HERE.place), later(2))
    assert told(db, session) == []


def test_what_is_new_changed_ended_and_waits_is_told(db, session):
    graz = add(db, lives("Graz", "2025-03-01")).fact
    cat = add(db, "My cat is Mya").fact
    dog = add(db, "My dog is Rex").fact
    add(db, "My boat is Anna")
    add(db, lives("Linz", "2025-06-01", "I moved to Linz"), time=later(2))
    adoption.edit(memory_of(db, later(2)), cat, "My cat is Mia")
    facts.hide(memory_of(db, later(2)), dog)
    propose(db, "I like tea", time=later(2))
    propose(db, "I sail a dinghy", time=later(2))
    assert told(db, session) == [
        "+ f5 I moved to Linz",
        f"~ {cat.handle} My cat is Mia",
        f"- {graz.handle} I live in Graz",
        f"- {dog.handle} My dog is Rex",
        "2 to review: /review",
    ]


def test_what_waited_before_is_new_once_it_is_accepted_and_no_news_otherwise(db, session):
    tea, coffee, milk = [propose(db, f"I like {drink}") for drink in ("tea", "coffee", "warm milk")]
    assert told(db, session) == []
    adoption.accept(memory_of(db, later(2)), tea)
    facts.reject(memory_of(db, later(2)), coffee)
    assert told(db, session) == [f"+ {tea.handle} I like tea"]
    assert milk.state == "pending"


def test_what_was_changed_and_changed_back_is_no_news(db, session):
    cat = add(db, "My cat is Mya").fact
    adoption.edit(memory_of(db, later(2)), cat, "My cat is Mia")
    facts.undo(memory_of(db, later(2)))
    add(db, "My dog is Rex", time=later(2))
    facts.undo(memory_of(db, later(2)))
    assert told(db, session) == []


def test_of_a_session_that_goes_on_only_what_came_since_counts(db, session):
    add(db, "My cat is Mia", time=later(2))
    sessions.change(db, session, closed_at=clock.utc(later(3)()), holder=None)
    sessions.reopen(db, session, PERSON, later(4)())
    assert told(db, session) == []
    propose(db, "I like tea", time=later(5))
    assert told(db, session, "agent facts review") == ["1 to review: agent facts review"]


def test_at_most_ten_lines_and_how_many_more(db, session):
    for number in range(13):
        add(db, claim(f"Box number {number} {'x' * number} is blue"), time=later(2))
    propose(db, "I like tea", time=later(2))
    lines = told(db, session)
    assert len(lines) == 12
    assert lines[-2:] == ["and 3 more", "1 to review: /review"]


def test_a_changed_skill_is_told_by_its_name(db, session):
    def skill(name, text, state="accepted"):
        row = {"uid": name, "owner": "person", "name": name, "description": "d", "text": text, "state": state}
        return db.insert("skill", row | {"origin": "typed", "at": "", "utc_offset": 0, "changed_at": ""})

    def version(id, was, time):
        db.execute(
            """insert into skill_version (skill_id, change, was, batch, actor, at, utc_offset)
               values (?, 'x', ?, 'b', 'person', ?, 0)""",
            (id, was, time),
        )

    at = "2026-01-04T12:00:00.000Z"
    with db.write():
        version(skill("deploy", "new"), '{"state": "accepted", "name": "deploy", "text": "old"}', at)
        version(skill("backup", "x"), None, at)
        version(skill("water-plants", "x", "pending"), None, at)
    assert told(db, session) == ["+ k2 backup", "~ k1 deploy", "1 to review: /review"]


def test_a_statement_is_shown_safe_and_short(db, session):
    add(db, f"My cat \x1b[2J is {'very ' * 30}old", time=later(2))
    (line,) = told(db, session)
    assert ("\x1b" in line, len(line) <= 106) == (False, True)
