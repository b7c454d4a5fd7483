"""The figures of the columns moshpit and gossip hold what their titles say."""

import numpy as np
import pytest

from commbounds.verify.exhibit import exhibit_from_json
from commbounds.verify.experiments.gossip import exhibits as gossip
from commbounds.verify.experiments.moshpit import exhibits as moshpit

pytestmark = pytest.mark.kernels
MAKERS = {**moshpit.EXHIBITS, **gossip.EXHIBITS}


def lines(name):
    """The lines of an exhibit by panel and label."""
    exhibit = MAKERS[name]("quick", 0)
    assert exhibit.name == name
    assert exhibit_from_json(exhibit.to_json()).panels
    return [{line.label: line for line in panel.lines} for panel in exhibit.panels]


def test_measured_curves_follow_their_laws():
    (groups, graphs) = lines("moshpit.rounds")
    found, law = groups["random groups of 32"], groups["((r-1)/(N-1))^T"]
    assert all(low < y < high for low, y, high in zip(found.low[1:4], law.y[1:4], found.high[1:4], strict=True))
    for name in ("ring", "torus", "exponential"):
        assert np.all(np.array(graphs[name].y) <= np.array(graphs[f"{name}, second eigenvalue"].y) * (1 + 1e-12))


def test_fixed_cells_cross_random_groups_at_three_quarters_and_keys_do_not():
    factors, after = lines("moshpit.fill")
    fills = np.array(factors["32 random groups, law"].x)
    law = np.array(factors["32 random groups, law"].y)
    fixed = np.array(factors["fixed cells (the published simulation)"].y)
    keys = np.array(factors["real keys, sampled indices"].y)
    assert np.all(fixed[fills < 0.65] > law[fills < 0.65])
    assert np.all(fixed[fills > 0.8] < law[fills > 0.8])
    assert np.all(keys < law)
    exact = np.array(after["E[1/(n_row n_col)] - 1/N"].y)
    assert np.allclose(after["fixed cells"].y, exact, rtol=0.2)


@pytest.mark.wide  # five seconds and more
def test_printed_factors_are_above_the_law():
    one, excess = lines("moshpit.readings")
    assert all(y > 0 for y in one["remembered"].y[:-1])
    # factors of averaging within groups lie in [0, 1]: Hoeffding's inequality for means of 1000, missed once in 10^9
    within = np.sqrt(np.log(2e9) / 2000)
    for reading in ("no empty group", "free labels"):
        assert np.allclose(one[reading].y, one[f"{reading}, law"].y, rtol=0, atol=within)
    assert all(y > 0 for line in excess.values() for y in line.y if y == y)


def test_sgd_stays_under_the_bound_and_near_the_recursion():
    disagreement, error = lines("moshpit.sgd")
    recursion = np.array(disagreement["recursion"].y)
    assert np.nanmax(recursion) <= disagreement["gamma^2 (delta^2 + (tau - 1) sigma^2)"].y[0]
    low, high = np.array(error["measured"].low), np.array(error["measured"].high)
    law = np.array(error["recursion"].y)
    assert np.mean((low <= law) & (law <= high)) > 0.9


def test_only_push_sum_with_kept_shares_finds_the_mean():
    (panel,) = lines("gossip.loss")
    last = {name: line.y[-1] for name, line in panel.items()}
    kept = last.pop("push-sum, shares kept")
    assert all(kept < 1e-3 * other for other in last.values())


def test_second_eigenvectors_lie_on_the_bound():
    for panel in lines("gossip.spectra"):
        bound = np.array(panel["bound by the second eigenvalue"].y)
        # so exactly was measured, not derived: the vectors shrink by powers of eigenvalues that numpy finds
        assert np.allclose(panel["second eigenvector"].y, bound, rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["gossip.costs", "gossip.restarts", "moshpit.published_figure"])
def test_the_others_are_drawn_whole(name):
    for panel in lines(name):
        for line in panel.values():
            assert len(line.x) == len(line.y) > 0
            assert np.nanmin(line.y) > 0
