"""The registry of the kinds of memory: true of the schema, of the owners' modules, and the only list there is."""

import re

import pytest

from agent_cli import kinds
from agent_cli.memory import search_sources
from agent_cli.memory.forgetting.tables import TABLES
from tests import structure
from tests.structure import FILES, MODULES, SCHEMA, module
from tests.tables import for_each

VIEW = SCHEMA[SCHEMA.index("create view passage_text") : SCHEMA.index("from passage p;")]
LIST_OF_LETTERS = re.compile(rf"\[[{''.join(kinds.BY_LETTER)}]{{3,}}(?:\]\)?\(?\\d|0-9)")  # as in [mnf]\d


def name(kind):
    return kind.name


def test_a_letter_and_a_name_mean_one_kind():
    assert len(kinds.BY_LETTER) == len(kinds.BY_NAME) == len(kinds.KINDS)


@for_each("kind", kinds.KINDS)
def test_a_row_names_a_table_and_the_module_that_writes_it(kind):
    module = kind.module.removeprefix("agent_cli.")
    table = re.search(rf"create table {kind.name} \((.*?)\n\) strict", SCHEMA, re.DOTALL)
    assert bool(re.search(r"^    owner ", table[1], re.MULTILINE)) == kind.owned
    written = structure.written(MODULES[module])
    if module.startswith("memory.planner."):
        written = written | structure.written(MODULES["memory.planner.rows"])  # by which they write
    assert kind.name in written or structure.UNKNOWN in written


def test_the_schema_indexes_the_searchable_kinds_and_no_others():
    assert dict(re.findall(r"when '(\w)' then \(select .*?from (\w+) where", VIEW, re.DOTALL)) == {
        kind.letter: kind.name for kind in kinds.SEARCHABLE
    }
    for trigger in ("stale_new after insert", "stale after update"):
        found = re.findall(
            rf"create trigger (\w+?)_{trigger}.*?insert into stale \(kind, row\) values \('(\w)', new\.id",
            SCHEMA,
            re.DOTALL,
        )
        assert dict(found) == {kind.name: kind.letter for kind in kinds.SEARCHABLE}
    guarded = re.findall(r"create trigger (\w+)_indexed .*?where kind = '(\w)'", SCHEMA, re.DOTALL)
    assert dict(guarded) == {kind.name: kind.letter for kind in kinds.SEARCHABLE}


@pytest.mark.parametrize("kind", kinds.KINDS, ids=name)
def test_an_owner_says_how_its_kind_is_searched_and_completed(kind, db):
    source = search_sources.source_of(kind.name)
    assert (bool(source.passages), bool(source.completions)) == (bool(kind.heading), kind.completable)
    if source.passages:
        assert db.rows(source.passages, ("[]",)) == []
    if source.completions:
        assert db.rows(f"{source.completions.format(more='')} order by {source.order}", {"owner": "person"}) == []


def test_each_kind_that_is_searched_or_completed_has_its_row():
    assert set(search_sources.SOURCES) == {kind.name for kind in kinds.KINDS if kind.heading or kind.completable}


@for_each("kind", kinds.FORGETTABLE)
def test_an_owner_says_how_its_kind_is_forgotten(kind):
    table = TABLES[kind.name]
    assert table.line
    assert table.personal_texts or table.other_texts or table.file_texts


def test_no_module_keeps_a_list_of_handles_of_its_own():
    assert [module(path) for path in FILES if LIST_OF_LETTERS.search(path.read_text(encoding="utf-8"))] == []
