"""Three machines on which a person does by chance what they may, with a post that loses, repeats and delays: in the end
all have the same rows, and no word that was erased is left anywhere."""

import pytest

from tests import syncing

LIVES, STRETCHES = 50, 10  # 500 interleavings


@pytest.mark.parametrize("seed", range(LIVES))
def test_machines_agree_whatever_happened_and_nothing_erased_returns(tmp_path, seed):
    assert syncing.interleavings(tmp_path, seed, STRETCHES, file=not seed) == []
    print(f"{STRETCHES} interleavings, {LIVES * STRETCHES} in all")
