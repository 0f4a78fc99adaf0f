import re
import threading
from datetime import timedelta

import pytest

from agent_cli.errors import UsageError
from agent_cli.store import ids
from tests.conftest import NOON
from tests.tables import for_each


def test_ids_made_together_sort_in_order_and_are_no_other_ones():
    moments = [NOON + timedelta(milliseconds=number // 100) for number in range(1000)]
    made = [ids.new(NOON), *ids.several(moments)]
    one_by_one = [ids.new(moment) for moment in moments]
    assert (made, one_by_one) == (sorted(made), sorted(one_by_one))
    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", id) for id in (*one_by_one, ids.new(NOON.replace(year=1))))
    assert len({*made, *ids.several(moments[::-1]), *ids.several(moments[::7] * 2)}) == 2287


def test_an_id_begins_with_its_time():
    assert ids.new(NOON)[:10] == ids.new(NOON)[:10] != ids.new(NOON + timedelta(milliseconds=1))[:10]
    assert ids.new(NOON) < ids.new(NOON + timedelta(days=36500))


def test_threads_never_make_the_same_id():
    made = []

    def make():
        made.extend(ids.new(NOON) for _ in range(500))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2000


@for_each(("kind", "handle"), [("session", "s4"), ("note", "n4"), ("message", "m4"), ("job", "j4")])
def test_a_handle_is_a_letter_and_a_number(kind, handle):
    assert ids.handle(kind, 4) == handle
    assert [ids.number(kind, text) for text in (handle, handle.upper(), f" {handle} ", "4")] == [4] * 4


@for_each("text", ["s4", "n", "", "n-4", "n4.0", "n4 or 1=1", "n" + "9" * 19, "n٤ x", "the note"])
def test_what_is_no_handle_is_told(text):
    with pytest.raises(UsageError, match="is not a handle of a note: write it like n4"):
        ids.number("note", text)
