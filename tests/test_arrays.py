"""Vectors in memory: the nearest are those that a comparison of each with each finds."""

import random

import pytest

from agent_cli.arrays import VectorRows


def signed(drawn, bits):
    return bytes(drawn.choice((0, 5, 127, 129, 251)) for _ in range(bits))  # as signed bytes 0, 5, 127, -127, -5


def difference(one, other):
    """In how many places one is above zero and the other is not."""
    return sum((0 < a < 128) != (0 < b < 128) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("bits", [2, 64, 100, 256])
def test_the_nearest_differ_in_the_fewest_bits(bits):
    drawn = random.Random(1)
    made = {id: signed(drawn, bits) for id in sorted(drawn.sample(range(10**12), 300))}
    rows = VectorRows(bits)
    rows.append(list(made), b"".join(made.values()))
    asked = signed(drawn, bits)

    found = rows.nearest(asked, 10)

    assert len(set(found)) == 10
    best = sorted(difference(asked, each) for each in made.values())[:10]
    assert sorted(difference(asked, made[id]) for id in found) == best


def test_rows_are_found_wherever_the_portions_in_which_they_came_ended():
    def binary(number):
        return bytes(number >> place & 1 for place in range(17))

    rows, last = VectorRows(17), 0
    for portion in (1, 32_766, 3, 33_000, 2):  # a block has 32,768
        ids = range(last + 1, last + portion + 1)
        rows.append(ids, b"".join(map(binary, ids)))
        last += portion

    asked = [1, 2, 32_767, 32_768, 32_769, 32_770, 65_536, 65_537, last]
    assert [rows.nearest(binary(number), 1) for number in asked] == [[number] for number in asked]


def test_no_more_are_given_than_asked_for_even_where_many_are_as_near():
    rows = VectorRows(16)
    rows.append(range(50), b"\x01" * 16 * 50)
    rows.append([99], b"\x01" * 15 + b"\xff")

    assert rows.nearest(b"\x01" * 15 + b"\xff", 3)[0] == 99
    assert len(rows.nearest(b"\x01" * 16, 3)) == 3


def test_the_nearest_are_found_where_the_rows_that_are_looked_at_first_are_not_typical():
    rows = VectorRows(16)
    for number in range(20):  # one of 32 is looked at: those that are as near as can be
        rows.append([100 * number], b"\x01" * 16)
        rows.append(range(100 * number + 1, 100 * number + 32), (b"\x01" * 15 + b"\xff") * 31)

    found = rows.nearest(b"\x01" * 16, 200)

    assert len(set(found)) == 200
    assert {100 * number for number in range(20)} <= set(found)


def test_where_there_are_no_rows_none_are_near():
    assert VectorRows(256).nearest(bytes(256), 10) == []


def test_cosines_are_given_while_there_is_room_for_the_bytes():
    rows = VectorRows(2, 3)
    rows.append([4, 7], bytes([3, 4, 0, 127]))
    asked = bytes([0, 1])

    assert rows.cosines(asked, [7, 5, 4, 9]) == pytest.approx({7: 1.0, 4: 0.8})
    rows.append([9], bytes([0, 256 - 127]))
    assert rows.cosines(asked, [9]) == pytest.approx({9: -1.0})
    rows.append([10], bytes([1, 1]))
    assert rows.cosines(asked, [4]) is None
    assert rows.nearest(bytes([1, 1]), 1)[0] in (4, 10)


def test_a_vector_of_zeros_is_like_none():
    rows = VectorRows(2, 3)
    rows.append([1], bytes(2))

    assert rows.cosines(bytes([0, 1]), [1]) == {1: 0.0}


def test_an_append_that_was_cut_short_is_made_good_by_the_next():
    class CutShort(list):
        def __getitem__(self, place):
            raise KeyboardInterrupt

    rows = VectorRows(2, 100)
    rows.append([1], bytes([1, 0]))
    blocks = rows._blocks
    rows._blocks = CutShort(blocks)
    with pytest.raises(KeyboardInterrupt):
        rows.append([2, 3], bytes([0, 1, 1, 1]))
    rows._blocks = blocks
    assert (rows.last, rows.cosines(bytes([0, 1]), [2])) == (1, {})

    rows.append([2, 3], bytes([0, 1, 1, 1]))

    assert rows.last == 3
    assert rows.nearest(bytes([0, 1]), 1) == [2]
    assert rows.cosines(bytes([0, 1]), [1, 2, 3]) == pytest.approx({1: 0.0, 2: 1.0, 3: 0.5**0.5})
