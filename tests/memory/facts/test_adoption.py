"""How something becomes a fact: what waits, replaces, contradicts, says the same, does not come back."""

import json
from dataclasses import replace

import pytest

from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption, contradictions, facts
from agent_cli.memory.facts.facts import SUPERSEDED
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED
from agent_cli.memory.scope import PERSON
from agent_cli.messages import Part
from tests.conftest import HERE, NOON, memory_of
from tests.facts import add, claim, later, lives, propose, stand
from tests.recalling import STRANGER, session_of, take_in
from tests.tables import listed

LONG = "Every Monday morning my neighbour Anna takes the dog for a walk along the river to the old mill"


def waiting(db):
    return [each.handle for each in facts.pending(db, PERSON)]


def test_what_a_model_says_waits_and_what_the_person_says_is_a_fact(db):
    propose(db, "I like tea")
    add(db, "I like coffee with oat milk")
    assert stand(db) == [("I like tea", PENDING), ("I like coffee with oat milk", ACCEPTED)]
    assert waiting(db) == ["f1"]


def test_a_yes_replaces_what_is_no_longer_true(db):
    add(db, lives("Graz", "2025-03-01"))
    adopted = adoption.accept(memory_of(db), propose(db, lives("Linz", "2025-06-01", origin="model")))
    assert (adopted.fact.handle, adopted.fact.state) == ("f2", ACCEPTED)
    assert [each.handle for each in adopted.replaced] == ["f1"]
    assert facts.get(db, 1, PERSON).valid_to == adopted.fact.began_at


def test_a_yes_to_a_late_truth_replaces_nothing_and_is_past_at_once(db):
    add(db, lives("Linz", "2025-06-01"))
    adopted = add(db, lives("Graz", "2025-03-01"))
    assert (adopted.fact.state, adopted.fact.valid_to, adopted.replaced) == (SUPERSEDED, "2025-06-01T12:00:00.000Z", ())


def test_of_a_predicate_with_many_values_all_stay_and_one_of_a_project_ends_nothing_elsewhere(db):
    add(db, claim("I speak German", "person", "speaks", "German"))
    add(db, claim("I speak Italian", "person", "speaks", "Italian"))
    add(db, claim("I use vim", "person", "prefers.editor", "vim"))
    add(db, claim("I use emacs here", "person", "prefers.editor", "emacs", place="/home/one"))
    assert [state for _, state in stand(db)] == [ACCEPTED] * 4


def test_the_person_chooses_what_is_replaced(db):
    add(db, "The NAS answers at 192.168.1.12")
    fact = propose(db, "The NAS answers at 192.168.1.20")
    assert [each.handle for each in adoption.conflicts(memory_of(db, lambda: NOON), fact)] == ["f1"]
    adoption.accept(memory_of(db), fact, replacing=facts.get(db, 1, PERSON))
    assert stand(db) == [("The NAS answers at 192.168.1.12", SUPERSEDED), ("The NAS answers at 192.168.1.20", ACCEPTED)]


def test_a_proposal_to_end_a_fact_ends_it_with_a_yes(db):
    add(db, "I have a cat")
    adopted = adoption.accept(memory_of(db), propose(db, claim("The cat is gone", operation="delete", target=1)))
    assert [each.handle for each in adopted.replaced] == ["f1"]
    assert facts.listing(db, PERSON, 9) == []


def test_near_duplicates_become_one_fact_with_two_sources(db):
    session = session_of(db)
    first, second = (int(take_in(db, session, words)[1:]) for words in (LONG, f"{LONG}!"))
    add(db, claim(LONG, message=first, quote=LONG))
    assert propose(db, claim(f"{LONG} again", origin="model", message=second, quote="x")) is None
    assert stand(db) == [(LONG, ACCEPTED)]
    assert facts.sources(db, facts.get(db, 1, PERSON)) == [(first, LONG), (second, "x")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, LONG.replace("the dog", "no dog")),
        (LONG, LONG.replace("Every", "NEVER on")),
        (f"{LONG} at 7:30", f"{LONG} at 8:30"),
        (f"{LONG} from May on", f"{LONG} from June on"),
        (f"{LONG} with two children", f"{LONG} with three children"),
        (f"Jeden Montag um acht geht sie {LONG}", f"Jeden Montag um neun geht sie {LONG}"),
        (f"Zucker {LONG}", f"Kein Zucker {LONG}"),
    ],
)
def test_what_differs_by_a_number_or_a_negation_is_never_the_same(db, one, other):
    add(db, one)
    assert add(db, other).new
    assert propose(db, one.replace("Monday", "Monday,")) is None


def test_a_known_value_in_other_words_is_the_same(db):
    add(db, lives("Graz", "2025-03-01"))
    assert propose(db, lives("graz", "2025-04-01", "My home is in Graz", origin="model")) is None


def test_what_the_person_says_settles_what_waits(db):
    fact = propose(db, "I like tea")
    assert add(db, "I like tea").fact.handle == fact.handle
    assert stand(db) == [("I like tea", ACCEPTED)]


def test_a_rejected_proposal_does_not_come_back(db):
    facts.reject(memory_of(db), propose(db, "I like tea with milk"))
    assert propose(db, "I like tea with milk.") is None
    assert stand(db) == [("I like tea with milk", REJECTED)]
    assert add(db, "I like tea with milk").new  # the person may say so


def test_what_was_forgotten_is_not_proposed_again(db):
    with db.write():
        tombstones.add(db, ["I like tea"], NOON)
    assert propose(db, "i like  tea.") is None


def test_of_two_reviewers_the_second_is_told(db):
    fact = propose(db, "I like tea")
    adoption.accept(memory_of(db), fact)
    for decide in (adoption.accept, facts.reject):
        with pytest.raises(UsageError, match="f1 does not wait for approval: it is accepted"):
            decide(memory_of(db), fact)


def test_at_most_fifty_proposals_of_a_model_wait_and_the_oldest_goes(db):
    for number in range(53):
        propose(db, claim(f"My import number {number} is here", origin="import"))
        propose(db, f"The box {'x' * number} holds books")
    assert (len(waiting(db)), waiting(db)[:5]) == (53 + 50, ["f1", "f3", "f5", "f7", "f8"])
    assert facts.FACTS.expire_old(memory_of(db)) == 3
    assert facts.FACTS.expire_old(memory_of(db)) == 0


def test_after_thirty_days_a_proposal_expires_which_is_told_once_and_it_may_be_proposed_again(db):
    propose(db, "I like tea")
    propose(db, claim("I like rice", origin="import", learned=later(-900)()))  # said long ago
    propose(db, "I like coffee with oat milk", time=later(10))
    expired = [facts.FACTS.expire_old(memory_of(db, later(days))) for days in (29, 31, 31)]
    assert expired == [0, 2, 0]
    assert [state for _, state in stand(db)] == [EXPIRED, EXPIRED, PENDING]
    assert propose(db, "I like tea", time=later(32)) is not None


def test_however_many_expire_at_once_all_are_told(db):
    for number in range(210):
        propose(db, claim(f"The box {number} holds {'x' * number}", origin="import"))
    assert facts.FACTS.expire_old(memory_of(db, later(31))) == 210
    assert waiting(db) == []


def test_what_waits_and_is_over_already_is_past_with_a_yes(db):
    fact = propose(db, claim("I lived in Wien", since="2020-01-01", valid_to=later(-900)()))
    adopted = adoption.accept(memory_of(db), fact)
    assert (adopted.fact.state, adopted.fact.valid_to, adopted.replaced) == (SUPERSEDED, adopted.fact.valid_to, ())


def test_editing_takes_the_new_words_apart_and_may_replace(db):
    add(db, lives("Graz", "2025-03-01"))
    fact = adoption.edit(memory_of(db), facts.get(db, 1, PERSON), "  I like tea\n")
    assert (fact.statement, fact.predicate) == ("I like tea", "likes")
    with pytest.raises(UsageError, match="f1 was left as it is: an empty fact cannot be kept"):
        adoption.edit(memory_of(db), fact, " ")


def test_what_is_brought_back_is_the_past_of_what_has_come_since(db):
    graz = add(db, lives("Graz", "2025-03-01")).fact
    facts.hide(memory_of(db), graz)
    add(db, lives("Linz", "2025-06-01"))
    restored = adoption.restore(memory_of(db), graz)
    assert (restored.hidden_at, restored.state, restored.valid_to) == (None, SUPERSEDED, "2025-06-01T12:00:00.000Z")
    facts.undo(memory_of(db))
    assert facts.get(db, graz.id, PERSON).hidden_at


def test_changes_of_one_batch_are_undone_at_once(db):
    for words in ("I like tea", "I like coffee with oat milk"):
        adoption.add(memory_of(db, batch="one"), claim(words))
    assert [each.handle for each in facts.undo(memory_of(db))] == ["f2", "f1"]
    assert [state for _, state in stand(db)] == [REJECTED, REJECTED]


def test_another_owner_is_not_known_by_what_the_person_said(db):
    add(db, lives("Graz", "2025-03-01"))
    add(db, claim("I live in Linz", "person", "lives_in", "Linz", origin="http"), STRANGER)
    assert stand(db) == [("I live in Graz", ACCEPTED)]
    assert stand(db, "caller") == [("I live in Linz", ACCEPTED)]


def test_a_proposal_that_names_its_target_replaces_it(db):
    add(db, "I like tea")
    fact = propose(db, claim("I like green tea best of all", origin="model", operation="update", target=1))
    assert [each.handle for each in adoption.conflicts(memory_of(db, lambda: NOON), fact)] == ["f1"]
    adoption.accept(memory_of(db), fact)
    assert [state for _, state in stand(db)] == [SUPERSEDED, ACCEPTED]


@pytest.mark.parametrize("words", ["", " \n\t"])
def test_an_empty_fact_is_refused(db, words):
    for way in (add, propose):
        with pytest.raises(UsageError, match="an empty fact cannot be kept"):
            way(db, claim(words))


def test_what_the_person_says_does_not_do_what_a_proposal_would_have_done_besides(db):
    add(db, "I live in Graz")
    change = {"origin": "model", "operation": "update", "target": 1}
    propose(db, claim("I like green tea best of all", "person", "lives_in", "green tea", **change))
    adopted = add(db, "I like green tea best of all")
    assert adopted.replaced == ()
    assert stand(db) == [("I live in Graz", ACCEPTED), ("I like green tea best of all", ACCEPTED)]
    assert (adopted.fact.subject, adopted.fact.predicate, adopted.fact.object) == ("", "", "")


def test_what_waited_is_kept_in_the_words_of_the_person_and_from_when_they_say_it(db):
    propose(db, lives("Linz", "2025-01-01", origin="model"))
    add(db, lives("Graz", "2025-03-01"))
    add(db, lives("Linz", None, "I live in Linz"), time=later(1))
    assert stand(db) == [("I live in Linz", ACCEPTED), ("I live in Graz", SUPERSEDED)]


def test_undo_brings_back_words_and_leaves_the_source_that_is_left(db, session):
    one, two = (log.add_user_message(db, session, HERE, [Part("I live in Graz", "typed")], NOON) for _ in range(2))
    fact = add(db, claim("I live in Graz", message=one, quote="I live in Graz")).fact
    add(db, claim("I live in Graz", message=two, quote="I live in Graz"))
    adoption.edit(memory_of(db), fact, "I live near Graz")
    with db.write():
        facts.drop_source(db, [one])
        facts.FACTS.clear(db, "message_id", [one], message_id=None, quote="")
    facts.undo(memory_of(db))
    now = facts.get(db, fact.id, PERSON)
    assert (now.statement, now.message_id, now.quote) == ("I live in Graz", two, "I live in Graz")


def test_an_undo_works_where_the_replaced_fact_was_erased(db):
    old = add(db, "I like tea").fact
    fact = propose(db, claim("I like green tea best of all", origin="model", operation="update", target=old.id))
    adoption.accept(memory_of(db), fact)
    with db.write():
        facts.erase(db, [old.id])
    facts.undo(memory_of(db))
    assert stand(db) == [("I like green tea best of all", PENDING)]


@pytest.fixture
def known(db):
    """I live in Graz."""
    return adoption.add(memory_of(db), adoption.claim("I live in Graz", "typed")).fact


def found(db, session, *parts):
    message = log.add_user_message(db, session, HERE, parts, NOON)
    return contradictions.of_message(memory_of(db, lambda: NOON), session, message, parts)


def messages(db, session, words, origin="typed"):
    return [each.message() for each in found(db, session, Part(words, origin))]


def test_another_value_of_the_same_is_told_in_one_line(db, session, known):
    assert messages(db, session, "Hello! I live in Linz now. What is on tonight?") == [
        "f1 says “I live in Graz” · /update keeps what you just said"
    ]
    assert messages(db, session, "Ich wohne jetzt in Linz.") != []


@pytest.mark.parametrize(
    "words",
    [
        *listed("""I live in Graz. | Do I live in Linz? | I live in Linz? | If I lived in Linz, I would know.
        He said “I live in Linz”. | > I live in Linz | `I live in Linz` | Maybe I live in Linz. | I like Linz.
        Anna lives in Linz. | I might live in Linz. | I do not live in Linz. | I used to live in Linz.
        I never lived in Linz. | Say: I live in Linz | I will live in Linz. | I wish I lived in Linz."""),
        "    I live in Linz",
    ],
)
def test_what_is_not_sure_is_let_be(db, session, known, words):
    assert messages(db, session, words) == []


@pytest.mark.parametrize("origin", ["pasted", "piped", "file"])
def test_words_of_others_contradict_nothing(db, session, known, origin):
    assert messages(db, session, "I live in Linz.", origin) == []
    assert found(db, session, Part("Look: ", "typed"), Part("I live in Linz.", origin)) == []
    assert found(db, session, Part("I live in ", "typed"), Part("Linz.", origin)) == []


def test_what_was_rejected_before_is_not_offered_again(db, session, known):
    waits = adoption.propose(memory_of(db), adoption.claim("I live in Linz", "model"))
    facts.reject(memory_of(db), waits)
    assert messages(db, session, "I live in Linz.") == []


def test_a_fact_that_holds_elsewhere_or_no_more_is_contradicted_by_nothing(db, session):
    claim = adoption.claim("I live in Graz", "typed")
    adoption.add(memory_of(db), replace(claim, place="/elsewhere"))
    ended = adoption.add(memory_of(db), claim).fact
    adoption.end(memory_of(db), ended)
    assert messages(db, session, "I live in Linz.") == []


def test_keeping_it_ends_the_fact_and_names_the_message_as_its_source(db, session, known):
    [line] = contradictions.accept(memory_of(db), found(db, session, Part("I live in Linz now.", "typed")))
    assert line == ("kept f2 “I live in Linz”, in place of f1 “I live in Graz” (/undo f2 takes it back)")
    new = facts.get(db, 2, HERE.owner)
    assert (new.object, new.message_id, new.quote, new.trust) == ("Linz", 1, "I live in Linz now.", "typed")
    assert not facts.get(db, 1, HERE.owner).is_open(NOON)


def test_what_waits_already_is_accepted_by_it(db, session, known):
    waits = adoption.propose(memory_of(db), adoption.claim("I live in Linz", "model"))
    [line] = contradictions.accept(memory_of(db), found(db, session, Part("I live in Linz.", "typed")))
    assert line.startswith(f"kept {waits.handle} “I live in Linz”, in place of f1 ")


def test_an_imported_statement_stays_whole_with_the_triple_that_it_names(db):
    triple = {"subject": "Eva", "predicate": "prefers", "object": "Graz"}
    lines = [json.dumps({"statement": "I live in Graz and I work at Bosch", **triple})]
    assert adoption.import_lines(memory_of(db), lines, "x", print, accepted=True) == (1, 0)
    assert db.rows("select subject, predicate, object from fact") == [("Eva", "prefers", "Graz")]
