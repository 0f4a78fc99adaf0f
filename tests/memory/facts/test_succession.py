"""Which value is true when: the newer truth wins, a plan waits for its day, and nothing has to run on that day."""

import threading
import time as real_time
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_cli import clock
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.review import review
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.messages import Part
from tests.conftest import HERE, empty, memory_of
from tests.facts import as_of, later
from tests.recalling import catch_up, day
from tests.tables import listed

NOW = later(322)  # 20 November 2026


def tell(db, words, time=NOW):
    """What the person says; gives the receipt."""
    adopted = adoption.add(memory_of(db, time), adoption.claim(words, "typed", time()))
    return adoption.receipt(adopted, time())


def true_on(db, *days):
    return [as_of(db, each) for each in days]


def current(db, time=NOW):
    return [each.statement for each in facts.listing(db, PERSON, 9) if each.is_true(time())]


@pytest.mark.parametrize(
    "told",
    [
        ("I moved to Wels on 3 March 2026", "I moved to Linz in June 2025"),
        ("Ich bin am 3. März 2026 nach Wels gezogen", "Ich bin im Juni 2025 nach Linz gezogen"),
    ],
)
def test_who_says_later_where_they_lived_earlier_still_lives_where_they_moved_last(db, told):
    for words in told:
        tell(db, words)
    wels, linz = told
    assert current(db) == [wels]
    assert true_on(db, "2025-05-20", "2025-06-20", "2026-03-01", "2026-03-04", "2026-11-19") == [
        [], [linz], [linz], [wels], [wels],
    ]  # fmt: skip


def test_a_receipt_says_from_when_until_when(db):
    assert tell(db, "I moved to Wels on 3 March 2026") == (
        "kept f1 “I moved to Wels on 3 March 2026” (since 3 Mar 2026) (agent facts undo takes it back)"
    )
    assert tell(db, "I moved to Linz in June 2025") == (
        "kept f2 “I moved to Linz in June 2025” (true from 1 Jun 2025 until 3 Mar 2026) "
        "(agent facts undo takes it back)"
    )


def test_a_value_without_a_date_stays_where_it_is_newer_than_the_dates_and_else_makes_room(db):
    tell(db, "I moved to Wels on 3 March 2026", later(100))
    tell(db, "I live in Graz", later(300))
    tell(db, "I moved to Linz in June 2025")
    assert current(db) == ["I live in Graz"]
    tell(db, "I moved to Rome in June 2026")
    assert current(db) == ["I moved to Rome in June 2026"]
    tell(db, "I live in Wels", later(330))
    assert current(db, later(330)) == ["I live in Wels"]


def test_an_end_in_the_words_is_no_part_of_the_place(db):
    tell(db, "I live in Salzburg until December 2026")
    fact = facts.get(db, 1, PERSON)
    assert (fact.object, fact.valid_to) == ("Salzburg", "2026-12-31T23:59:59.999Z")
    assert fact.is_true(day("2026-12-31"))
    assert not fact.is_true(day("2027-01-01"))
    assert true_on(db, "2026-12-31", "2027-01-01") == [["I live in Salzburg until December 2026"], []]


@pytest.mark.parametrize(
    "plan",
    listed("""I will move to Linz on 1 January 2027 | I'm moving to Linz on 1 January 2027
        From January on I live in Linz | Ab Jänner wohne ich in Linz | Ich werde ab Jänner in Linz wohnen
        Ich ziehe im Jänner nach Linz um | Ich ziehe nächstes Jahr nach Linz | I'm going to move to Linz next year"""),
)
def test_a_plan_counts_from_its_day_on_by_itself(db, plan):
    tell(db, "I live in Graz", later(100))
    line = tell(db, plan)
    stored = facts.get(db, 2, PERSON)
    assert (stored.object, stored.is_planned(NOW())) == ("Linz", True)
    assert line == (
        f"kept f2 “{stored.statement}” (planned from 1 Jan 2027), in place of f1 “I live in Graz” from then on "
        "(agent facts undo takes it back)"
    )
    assert current(db) == ["I live in Graz"]
    assert current(db, later(400)) == [stored.statement]
    assert true_on(db, "2026-12-31", "2027-01-02") == [["I live in Graz"], [stored.statement]]


def test_a_plan_is_found_and_recalled_with_its_date(db):
    tell(db, "I live in Graz", later(100))
    tell(db, "I'm moving to Linz on 1 January 2027")
    catch_up(db)

    def labels(now):
        return {hit.handle: hit.label for hit in recall.find(db, "Graz Linz", Filter(PERSON), now).hits}

    assert labels(NOW()) == {"f1": "(true until 1 January 2027)", "f2": "(planned, true from 1 January 2027)"}
    assert labels(day("2027-02-01")) == {"f2": ""}


def test_a_message_is_outdated_from_the_day_on_which_its_fact_ends(db, session):
    words = "I live in Salzburg until December 2026"
    message = log.add_user_message(db, session, HERE, [Part(words, "typed")], NOW())
    adoption.add(memory_of(db, NOW), adoption.claim(words, "typed", NOW(), message=message, quote=words))
    catch_up(db)

    def label(now):
        hits = recall.find(db, "Salzburg", Filter(PERSON, ("message",)), now).hits
        return [hit.label for hit in hits]

    assert label(NOW()) == [""]
    assert label(day("2027-02-01")) == ["(no longer true since 31 December 2026)"]


def test_a_plan_that_is_put_off_is_put_off(db):
    tell(db, "I live in Graz", later(100))
    tell(db, "I'm moving to Linz on 1 January 2027")
    assert tell(db, "I'm moving to Linz on 1 March 2027") == (
        "f2 “I'm moving to Linz on 1 January 2027” was known already; now planned from 1 Mar 2027"
    )
    assert true_on(db, "2027-02-01", "2027-03-02") == [["I live in Graz"], ["I'm moving to Linz on 1 January 2027"]]


def test_other_words_correct_the_dates(db):
    tell(db, "I moved to Wels on 3 March 2026")
    tell(db, "I moved to Linz in June 2026")
    adoption.edit(memory_of(db, NOW), facts.get(db, 2, PERSON), "I moved to Linz in June 2025")
    assert current(db) == ["I moved to Wels on 3 March 2026"]
    assert true_on(db, "2025-07-01", "2026-07-01") == [
        ["I moved to Linz in June 2025"],
        ["I moved to Wels on 3 March 2026"],
    ]
    facts.undo(memory_of(db, NOW))
    assert current(db) == ["I moved to Linz in June 2026"]


def test_a_proposal_is_reviewed_with_its_dates_and_other_words_change_them(db):
    adoption.propose(memory_of(db, NOW), adoption.claim("I moved to Linz in June 2025", "model", NOW()))
    reviewer = memory_of(db, NOW)
    shown = review.read(reviewer, ("fact", 1))
    other = review.read(reviewer, ("fact", 1), "I live in Linz until March 2027")
    assert (shown.since, shown.until, other.since, other.until) == ("1 Jun 2025", "", "1 Jun 2025", "31 Mar 2027")
    assert review.accept(reviewer, other).receipts == ("kept f1, since 1 Jun 2025, until 31 Mar 2027",)
    assert facts.get(db, 1, PERSON).is_true(NOW())


def test_ten_dates_of_a_life_are_right(db):
    for words in (
        "I moved to Wels on 3 March 2026",
        "I lived in Wien until May 2024",
        "I moved to Linz in June 2025",
        "I live in Graz since 1 July 2024",
        "I'm moving to Rome in February 2027",
        "I live in Rome until July 2027",
    ):
        tell(db, words)
    days = ("2024-05-01", "2024-06-15", "2024-07-02", "2025-05-31", "2025-06-02", "2026-03-02", "2026-03-03",
            "2027-01-31", "2027-02-01", "2027-08-01")  # fmt: skip
    assert [[fact.split(" in ")[-1][:4] if " in " in fact else fact[11:15] for fact in known]
            for known in true_on(db, *days)] == [
        ["Wien"], [], ["Graz"], ["Graz"], ["June"], ["June"], ["Wels"], ["Wels"], ["Febr"], [],
    ]  # fmt: skip


def test_thousands_of_values_of_one_matter_are_put_in_order_at_once(db):
    tell(db, "I live in Graz")
    first = facts.get(db, 1, PERSON)

    def value(number):
        said, dated = clock.utc(NOW() + timedelta(minutes=number)), number % 2 == 0
        return replace(first, id=number, learned_at=said, valid_from=said if dated else None)

    began = real_time.process_time()
    ordered = adoption.in_order([value(number) for number in reversed(range(1500))])
    assert real_time.process_time() - began < 1
    assert [each.id for each in ordered] == list(range(1500))


def test_what_another_program_hides_meanwhile_is_not_ended(tmp_path):
    def say_that_it_is_over():
        with closing(here.another_connection()) as db:
            tell(db, "I no longer live in Wels")

    with closing(empty(tmp_path / "agent.db")) as here:
        tell(here, "I live in Wels")
        other = threading.Thread(target=say_that_it_is_over)
        with here.write():
            facts.hide(memory_of(here, NOW), facts.get(here, 1, PERSON))
            other.start()
            other.join(0.5)  # it waits to write
        other.join()
        assert facts.get(here, 1, PERSON).valid_to is None
