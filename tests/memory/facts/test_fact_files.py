"""All facts as one file: what stands in it, and what becomes of what the person changes in it."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_cli.errors import UsageError
from agent_cli.memory.facts import adoption, fact_files, facts
from agent_cli.memory.facts.facts import SUPERSEDED
from agent_cli.memory.proposals import ACCEPTED, REJECTED
from agent_cli.memory.scope import PERSON
from tests.conftest import memory_of
from tests.facts import add, claim, lives, rows, stand

BODY = """# Facts

## You

- f1: I live in Graz

## Anna

- f2: Anna plays the cello

## Other

- f3: The NAS answers at 192.168.1.20

## Other, in github.com/me/thing

- f4: The tests run with tox
"""


@pytest.fixture
def opened(db):
    add(db, lives("Graz", "2025-03-01"))
    add(db, claim("Anna plays the cello", "Anna", "plays", "cello"))
    add(db, "The NAS answers at 192.168.1.20")
    add(db, claim("The tests run with tox", place="github.com/me/thing"))
    return current(db)


def current(db):
    return facts.listing(db, PERSON, -1)


def written(db, opened, body):
    return fact_files.apply(memory_of(db), fact_files.read(opened, body))


def test_the_file_has_a_section_for_each_subject_and_place(opened):
    about, _, body = fact_files.render(opened).partition("-->\n\n")
    assert body == BODY
    assert about.startswith("<!-- What is known about you: a line for each fact, with its handle.")


def test_without_facts_there_is_a_place_to_write_one():
    assert fact_files.render([]).endswith("-->\n\n# Facts\n\n## You\n\n")


def test_a_file_left_as_it_is_changes_nothing(opened):
    assert not fact_files.read(opened, fact_files.render(opened))
    assert not fact_files.read(opened, BODY.replace("- f1:", "*  F1: ").replace("\n\n", "\n \n"))


def test_changed_deleted_and_new_lines_are_one_batch_and_one_undo(db, opened):
    before = rows(db)
    body = BODY.replace("Graz", "Linz").replace("- f3: The NAS answers at 192.168.1.20\n", "- I like tea\n")
    edited, hidden, added = written(db, opened, body.replace("with tox\n", "with tox\n- Deploys run at night\n"))
    assert [each.statement for each in edited] == ["I live in Linz"]
    assert [each.handle for each in hidden] == ["f3"]
    assert [(each.fact.statement, each.fact.place) for each in added] == [
        ("I like tea", ""),
        ("Deploys run at night", "github.com/me/thing"),
    ]
    assert len(set(db.rows("select batch from fact_version where id > 4"))) == 1
    facts.undo(memory_of(db))
    assert [row for row in rows(db)[0] if row[0] < 5] == before[0]
    assert [state for _, state in stand(db)] == [ACCEPTED] * 4 + [REJECTED] * 2


def test_a_new_line_is_written_though_the_one_above_it_has_ended_meanwhile(db, opened):
    body = BODY.replace("- f1: I live in Graz\n", "- f1: I live in Graz\n- I moved to Linz\n")
    changes = fact_files.read(opened, body)
    assert changes.added == (("I moved to Linz", ("", None)),)
    adoption.add(memory_of(db), lives("Linz", "2025-06-01"))
    assert stand(db)[0] == ("I live in Graz", SUPERSEDED)
    assert fact_files.apply(memory_of(db), changes)[1] == []


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("- f1: I", "- f9: I", "line 5: f9 is not a fact of this file; a new line has no handle; nothing was changed"),
        ("- f1: I", "- f2: I", "line 9: f2 is there twice; nothing was changed"),
        *[
            ("- f1: I", f"- {handle} I", f"line 5: “{handle} I live in Graz” looks like a broken handle")
            for handle in ("f1", "f 1:", "1:", "ff1:", "f:")
        ],
        ("- f1: I live in Graz", "- f1:", "line 5: f1 has no words; delete the whole line to hide a fact"),
        ("- f1: I", "f1: I", 'line 5: a fact begins with "- "'),
        (BODY, " \n", "the file came back empty, and nothing was changed"),
    ],
)
def test_what_is_not_certain_is_refused_whole(db, opened, was, becomes, said):
    before = rows(db)
    with pytest.raises(UsageError) as raised:
        written(db, opened, BODY.replace(was, becomes))
    assert str(raised.value).startswith(said)
    assert rows(db) == before


@pytest.mark.parametrize(
    "body", [BODY.replace("Graz", "Wien"), BODY.replace("- f1: I live in Graz\n", "- I like tea\n")]
)
def test_a_line_that_another_process_has_changed_meanwhile_is_refused_whole(db, opened, body):
    adoption.edit(memory_of(db), opened[-1], "I live in Linz")
    before = rows(db)
    with pytest.raises(UsageError, match="f1 was changed elsewhere while you wrote; nothing was changed"):
        written(db, opened, body)
    assert rows(db) == before


def test_what_others_change_in_lines_that_are_left_alone_stays(db, opened):
    adoption.edit(memory_of(db), opened[-1], "I live in Linz")
    written(db, opened, BODY.replace("cello", "violin"))
    assert [words for words, _ in stand(db)][:2] == ["I live in Linz", "Anna plays the violin"]


def test_an_indented_line_goes_on_with_the_one_above(db, opened):
    edited, *_ = written(db, opened, BODY.replace("I live in Graz", "I live in Graz,\n  near the river"))
    assert [each.statement for each in edited] == ["I live in Graz, near the river"]


@given(st.lists(st.text(min_size=1).filter(lambda text: text.strip() and "\ud800" not in text), max_size=5))
def test_any_words_can_stand_in_the_file_and_come_back_unchanged(words):
    facts_ = [fact(number, each) for number, each in enumerate(words, 1)]
    facts_ = [each for each in facts_ if fact_files._displayed(each)]
    assert not fact_files.read(facts_, fact_files.render(facts_))


def fact(number, statement):
    empty = dict.fromkeys((each.name for each in fields(facts.Fact)), "") | {"session_id": None}
    return facts.Fact(**empty | {"id": number, "statement": statement})
