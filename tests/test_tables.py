"""A test of a table fails as its rows do."""

import pytest

from tests.tables import for_each


def test_every_row_that_fails_is_told():
    @for_each(("one", "other"), [(1, 1), (1, 2), (2, 2), (3, 2)])
    def are_alike(one, other):
        assert one == other

    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows") as failed:
        are_alike()
    told = [note for error in failed.value.exceptions for note in error.__notes__]
    assert told == ["in the row {'one': 1, 'other': 2}", "in the row {'one': 3, 'other': 2}"]


def test_a_row_that_raises_nothing_where_it_should_fails():
    @for_each("text", ["one", "1"])
    def is_no_number(text):
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows"):
        is_no_number()


def test_each_table_is_run_with_each_of_the_other():
    met = []

    @for_each("one", "ab")
    @for_each("other", [1, 2])
    def meet(one, other):
        met.append((one, other))

    meet()
    assert met == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_table_without_rows_is_refused():
    with pytest.raises(ValueError, match="no rows of text"):
        for_each("text", [])
