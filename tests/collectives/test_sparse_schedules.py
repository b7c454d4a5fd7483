"""What sparse all-reduces move is what their schedules say, word for word, where the data do not decide."""

import numpy as np
import pytest

from commbounds.collectives import gtopk_allreduce, spardl_allreduce, topk_allgather
from commbounds.theory.cost import cost
from commbounds.theory.schedules import EXACT, SCHEDULES

pytestmark = pytest.mark.kernels


def stack(ranks, length):
    return np.random.default_rng([ranks, length]).standard_normal((ranks, length))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7, 8, 12, 16])
@pytest.mark.parametrize("selected", [16, 37])
def test_schedules_that_are_exact_for_every_number_of_ranks(ranks, selected):
    x = stack(ranks, 400)
    for name, traffic in (
        ("topk_allgather", topk_allgather(x, selected, allgather="bruck")[1]),
        ("gtopk", gtopk_allreduce(x, selected)[1]),
        ("spardl", spardl_allreduce(x, selected)[1]),
    ):
        total = cost(EXACT[name]).at(P=ranks, k=selected, n=400)
        assert (traffic.steps, traffic.critical_path) == (total.latency, total.words), name


@pytest.mark.parametrize(("ranks", "teams"), [(4, 2), (8, 2), (8, 4), (12, 2), (12, 4), (16, 8)])
def test_teams_joined_by_recursive_doubling(ranks, teams):
    selected = 3 * ranks
    traffic = spardl_allreduce(stack(ranks, 480), selected, teams=teams, synchronise="r-sag")[1]
    total = cost(SCHEDULES["spardl_rsag"]).at(P=ranks, k=selected, teams=teams)
    assert (traffic.steps, traffic.critical_path) == (total.latency, total.words)


@pytest.mark.parametrize(("ranks", "teams"), [(4, 2), (6, 3), (8, 4), (12, 3), (15, 5)])
def test_teams_joined_by_an_all_gather(ranks, teams):
    selected, block = 3 * ranks, 3 * teams

    def moved(x, kept):
        traffic = spardl_allreduce(x, selected, teams=teams, synchronise="b-sag", sag_entries=kept)[1]
        total = cost(SCHEDULES["spardl_bsag"]).at(P=ranks, k=selected, teams=teams, kept=kept)
        assert traffic.steps == total.latency
        return traffic.critical_path, total.words

    words, formula = moved(stack(ranks, 480), block)
    assert words == formula
    # teams that choose the same 3 entries of every block have 3 entries left of it, not 3 d
    words, formula = moved(np.repeat(stack(1, 480), ranks, axis=0), 3)
    saved = 2 * (ranks // teams - 1) * (block - 3)
    assert words == formula - saved
