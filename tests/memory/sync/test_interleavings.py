"""Three machines on which a person does by chance what they may, with a post that loses, repeats and delays: in the end
all have the same rows, and no word that was erased is left anywhere."""

import pytest

from tests import syncing

LIVES, STRETCHES = 20, 6
ACTS = 9  # before all exchange with all, which takes longest: the benchmark does so more often


@pytest.mark.parametrize("seed", range(LIVES))
def test_machines_agree_whatever_happened_and_nothing_erased_returns(tmp_path, seed):
    assert syncing.interleavings(tmp_path, seed, STRETCHES, acts=ACTS, file=not seed) == []
