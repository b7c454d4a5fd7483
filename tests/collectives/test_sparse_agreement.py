"""Sparse all-reduces agree with their naive twins: every result in every bit, every word of every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import stacks

from commbounds.collectives.sparse.gaussiank import gaussiank_allreduce
from commbounds.collectives.sparse.gtopk import gtopk_allreduce
from commbounds.collectives.sparse.spardl import spardl_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.collectives.sparse.topk_dsa import topk_dsa
from commbounds.verify.definitions import sparse as naive

pytestmark = pytest.mark.kernels

PAIRS = (
    (topk_allgather, naive.topk_allgather, {}),
    (topk_allgather, naive.topk_allgather, {"allgather": "ring"}),
    (topk_dsa, naive.topk_dsa, {}),
    (topk_dsa, naive.topk_dsa, {"switch": "code", "allgather": "bruck"}),
    (topk_dsa, naive.topk_dsa, {"switch": "never"}),
    (gtopk_allreduce, naive.gtopk_allreduce, {}),
    (gtopk_allreduce, naive.gtopk_allreduce, {"putback": "published"}),
    (gaussiank_allreduce, naive.gaussiank_allreduce, {}),
    (gaussiank_allreduce, naive.gaussiank_allreduce, {"adapt": "vgg"}),
    (gaussiank_allreduce, naive.gaussiank_allreduce, {"adapt": "lstm", "allgather": "ring"}),
    (spardl_allreduce, naive.spardl_allreduce, {}),
)
EVERY = pytest.mark.parametrize(("ours", "twin", "options"), PAIRS, ids=lambda v: getattr(v, "__name__", str(v)))


def agree(ours, twin, stack, k, **options):
    result, traffic = ours(stack, k, **options)
    update, residual, selected, steps = twin([list(x) for x in stack], k, **options)
    assert result.update.dtype == result.residual.dtype == stack.dtype
    assert result.update.tolist() == update
    assert result.residual.tolist() == residual
    assert [s.tolist() for s in result.selected] == selected
    counted = (traffic.sent, traffic.received, traffic.messages, traffic.steps, traffic.critical_path)
    assert tuple(c.tolist() if isinstance(c, np.ndarray) else c for c in counted) == naive.traffic(len(stack), steps)


@EVERY
@given(stacks(workers=9, largest=9), st.data())
def test_small_integers_that_tie_and_cancel(ours, twin, options, stack, data):
    agree(ours, twin, stack, data.draw(st.integers(1, stack.shape[1])), **options)


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("P", [1, 2, 3, 5, 8, 13, 16])
def test_random_vectors_on_any_number_of_ranks(ours, twin, options, dtype, P):
    rng = np.random.default_rng(P)
    for n, k in ((P + 1, 1), (37, 5), (64, 2 * P), (33, 33)):
        agree(ours, twin, rng.standard_normal((P, n)).astype(dtype), k, **options)


TEAMS = [(P, d, how) for P in (1, 4, 6, 8, 12, 15) for d in range(1, P + 1) for how in ("r-sag", "b-sag")]
TEAMS = [(P, d, how) for P, d, how in TEAMS if P % d == 0 and (how == "b-sag" or d & (d - 1) == 0)]


@pytest.mark.parametrize(("P", "d", "how"), TEAMS)
def test_spardl_in_teams(P, d, how):
    rng = np.random.default_rng(P)
    for k in (1, 11, 24):
        h = k // (P // d)
        for sag in {None, h, -(-h // d)} if how == "b-sag" else {None}:
            for stack in (rng.integers(-3, 4, (P, 29)).astype(float), rng.standard_normal((P, 29))):
                agree(spardl_allreduce, naive.spardl_allreduce, stack, k, teams=d, synchronise=how, sag_entries=sag)


@EVERY
@pytest.mark.parametrize("P", [1, 2, 3, 6])
def test_zeros_few_nonzeros_identical_and_disjoint_supports(ours, twin, options, P):
    n = 12
    one, blocks = np.zeros((P, n)), np.zeros((P, n))
    one[0, 7] = 3.0
    for p in range(P):
        blocks[p, p * n // P : (p + 1) * n // P] = np.arange(1.0, n // P + 1)
    same = np.tile(np.arange(n) % 5 - 2.0, (P, 1))
    negative = np.full((P, n), -2.0)
    opposite = same * (-1.0) ** np.arange(P)[:, None]
    for stack in (np.zeros((P, n)), one, blocks, same, negative, opposite):
        for k in (1, 3, n):
            agree(ours, twin, stack, k, **options)
