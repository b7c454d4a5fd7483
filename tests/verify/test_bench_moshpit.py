"""What the trials are timed against computes the same law."""

import numpy as np
import pytest

from commbounds.collectives import group_trials
from commbounds.verify.experiments.moshpit.bench import cases, literal_groups, shared_rows
from commbounds.verify.stopwatch import measured

pytestmark = pytest.mark.kernels


def test_the_peers_compute_what_the_trials_do():
    x, rounds, trials = np.random.default_rng(0).standard_normal((16, 3)), 3, 300
    start = np.square(x - x.mean(axis=0)).sum() / 16
    claimed = start * (3 / 15) ** np.arange(1.0, rounds + 1)
    for found in (
        literal_groups(x, 4, rounds, trials, np.random.default_rng(1)),
        shared_rows(x, 4, rounds, trials, np.random.default_rng(2)),
        group_trials(x, "random", 4, rounds, trials, 3),
    ):
        # seven standard errors: one run in 10^11 for a normal mean
        assert np.all(np.abs(found.mean(axis=0) - claimed) <= 7 * found.std(axis=0) / np.sqrt(trials))


def test_every_case_can_be_timed():
    rows = [row for case in cases(16, 2, 2, 2) for row in measured(case, 1)]
    assert {row.peer for row in rows} >= {"numpy"}
    assert all(row.ours > 0 for row in rows)
