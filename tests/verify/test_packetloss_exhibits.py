"""The figures of the column packetloss hold what their titles say; numpy's way to the drift gives the same."""

import numpy as np
import pytest

from commbounds.collectives import Bernoulli, drift_trials
from commbounds.verify.exhibit import exhibit_from_json
from commbounds.verify.experiments.packetloss.bench import all_steps_at_once, cases, step_by_step
from commbounds.verify.experiments.packetloss.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


def lines(name):
    """The lines of an exhibit by panel and label."""
    exhibit = EXHIBITS[name]("quick", 0)
    assert exhibit.name == name
    assert exhibit_from_json(exhibit.to_json()).panels
    return [{line.label: line for line in panel.lines} for panel in exhibit.panels]


def near(found, law, errors=3.0):
    """Whether most points lie within so many bands (of two standard errors) of the law: 1 in 10^8 do not, each."""
    found_y, law_y = np.array(found.y), np.array(law.y)
    return bool((np.abs(found_y - law_y) <= errors * (np.array(found.high) - found_y)).all())


def test_drift_settles_above_the_published_constant():
    for panel in lines("packetloss.drift_by_step"):
        assert near(panel["uncorrelated updates"], panel["exact"])
        assert panel["exact"].y[-1] > panel["2p/(1+p), as reported"].y[-1]
        # p^40 is below 1e-15; forty steps of a few operations
        assert panel["exact"].y[-1] == pytest.approx(panel["2p/(1−p²)"].y[-1], rel=1e-15 + 64 * 2.0**-52)
        assert panel["2p/(1−p)², any updates"].y[-1] > panel["2p/(1−p²)"].y[-1]


def test_drift_follows_the_correlation_of_updates():
    white, related = lines("packetloss.drift_by_loss")
    # means over steps lack a share of at most 1 / (steps (1-p)^2) of the limit: next to the bands, nothing
    assert near(white["two receivers"], white["2p/(1−p²)"])
    assert near(white["receiver and owner"], white["p/(1−p)"])
    assert near(related["correlation −1/(2−p)"], related["2p/(1+p), as reported"])


def test_the_stalest_receiver_lies_between_its_bounds():
    pairs, stalest = lines("packetloss.differing")
    assert near(pairs["measured"], pairs["2p/(1+p)"], 4.0)
    for p in (0.1, 0.4):
        low, found, high = (
            np.array(stalest[label].y) for label in (f"less one, p = {p}", f"p = {p}", f"H/ln(1/p), p = {p}")
        )
        assert np.all(low < found)
        assert np.all(found < high)


def test_only_the_estimator_that_keeps_the_owner_is_biased():
    variance, bias = lines("packetloss.estimators")
    law = bias["owner: (p−p^N)/((1−p)(N−1))"]
    assert near(bias["owner always there"], law)
    assert not near(bias["by arrivals"], law)
    assert near(variance["owner always there"], variance["owner: (1−p^N)/(1−p)"], 4.0)


def test_bursts_drift_by_their_length():
    for panel in lines("packetloss.bursts"):
        assert near(panel["measured"], panel["law of bursts"])
        assert panel["measured"].y[-1] > 10 * panel["as if independent"].y[-1]


@pytest.mark.wide  # five seconds and more
def test_training_stays_below_the_bound_and_learns():
    panels = lines("packetloss.training")
    for panel in panels[:3]:
        expected, bound = (
            np.array(panel[label].y) for label in ("law of the updates made", "2p/(1−p)² × largest update² so far")
        )
        assert np.all(expected <= bound)
    for line in panels[-1].values():
        assert line.y[-1] > 0.85


@pytest.mark.parametrize("peer", [step_by_step, all_steps_at_once])
def test_peers_of_the_benchmark_compute_the_same(peer):
    assert peer(2, 5, 30, 0.0) == pytest.approx(np.zeros((2, 2)), abs=0)
    owner, pair = peer(3, 5, 40, 1.0)
    assert (pair == 0).all()
    assert (owner > 0).all()
    trials, ours = 200, drift_trials(6, 40, Bernoulli(0.4), 200)
    for found, mine in zip(peer(trials, 5, 40, 0.4), (ours.owner, ours.pair), strict=True):
        error = np.sqrt((found.var() + mine.var()) / trials)
        assert abs(found.mean() - mine.mean()) <= 6.0 * error  # normal to good precision: one in 10^8


def test_cases_of_the_benchmark_run():
    for case in cases(50):
        assert case.ours() > 0
        assert all(stopwatch() > 0 for stopwatch in case.peers.values())
