"""The error over all directions of a sketch, sector by sector, and with sectors joined for the attack."""

import numpy as np
import pytest

from commbounds.collectives import arctopk_allreduce
from commbounds.verify.experiments.arctopk.errors import _by_angles


@pytest.mark.parametrize("seed", range(12))
def test_joined_sectors_give_the_same_error(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    rows, kept = rng.standard_normal((m, 2)), int(rng.integers(1, m + 1))
    if seed % 3 == 0:
        rows[0] = rows[-1]  # ties in every direction
    calls = []

    def counted(*arguments, **settings):
        calls.append(settings)
        return arctopk_allreduce(*arguments, **settings)

    apart, allowance = _by_angles(counted, rows, kept, 2)
    sectors = len(calls)
    together, same_room = _by_angles(counted, rows, kept, 2, joined=True)
    assert allowance == same_room
    assert abs(apart - together) <= allowance  # sectors that are too narrow to run in, and rounding
    assert len(calls) - sectors <= sectors
    if kept == m:  # one selection everywhere
        assert len(calls) - sectors == 1


@pytest.mark.parametrize("seed", range(6))
def test_joined_sectors_see_rows_in_wrong_places(seed):
    rows = np.random.default_rng(seed).standard_normal((5, 2))

    def turned_over(stack, kept, rank, **settings):
        return arctopk_allreduce(stack[:, ::-1], kept, rank, **settings)

    right, allowance = _by_angles(arctopk_allreduce, rows, 2, 2, joined=True)
    wrong, _ = _by_angles(turned_over, rows, 2, 2, joined=True)
    assert wrong > right + 2 * allowance  # what is kept is nowhere next to where it was
