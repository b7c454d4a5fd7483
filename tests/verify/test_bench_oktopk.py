"""What Ok-Topk is timed against does the same."""

from dataclasses import replace

import numpy as np
import pytest

from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.oktopk.split import split_and_reduce
from commbounds.verify.experiments.oktopk.bench import cases, every_hundredth, sums

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("P", "n"), [(3, 1000), (8, 777)])
def test_the_peers_make_the_same_sums(P, n):
    chosen = every_hundredth(P, n)
    assert (chosen.counts == n // 100).all()
    chosen = replace(chosen, values=np.rint(8 * chosen.values))  # so that sums are exact
    ours = split_and_reduce(chosen, even_cuts(n, P))[0]
    assert ours.any()
    for name, work in sums(chosen, n).items():
        assert work().tolist() == ours.tolist(), name


def test_every_case_runs():
    seen = {}
    for case in cases(1000):
        assert case.ours() > 0
        assert all(stopwatch() > 0 for stopwatch in case.peers.values())
        seen[case.name] = len(case.peers)
    assert len(seen) == 4
    assert min(seen.values()) >= 1
