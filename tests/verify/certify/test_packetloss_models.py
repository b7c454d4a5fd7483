"""What the models of packet loss take for given is so where the kernels run."""

from fractions import Fraction
from itertools import combinations, product

import goal_values
import numpy as np
import pytest
from goal_values import bound_of, check_goals

from commbounds.collectives import (
    Bernoulli,
    drift_trials,
    fresh_replicas,
    lossy_broadcast,
    lossy_reduce_scatter,
    lossy_step,
)
from commbounds.theory import claims
from commbounds.verify.certify import models
from commbounds.verify.experiments.packetloss.gaps import bernoulli, bursts, expectation, histories

LOSSES = (Fraction(0), Fraction(1, 4), Fraction(2, 3), Fraction(9, 10))


def conditions(claim, goal, kind, values):
    """What a goal's model knows, `given` or `zero`, by name, as floats at values of its symbols by name."""
    goals = models()[f"packetloss.{claim}"].goals_at(claims()[f"packetloss.{claim}"].relation.rhs, {})
    known = getattr(goals[goal], kind)
    return {
        name: float(e.subs({symbol: values[str(symbol)] for symbol in e.free_symbols})) for name, e in known.items()
    }


@pytest.mark.models(
    "packetloss.bursts.owner",
    "packetloss.bursts.pair",
    "packetloss.corners.no_loss",
    "packetloss.corners.owner_at_certain_loss",
    "packetloss.corners.pair_at_certain_loss",
    "packetloss.drift.given_updates",
    "packetloss.drift.mean_norm",
    "packetloss.drift.one_step",
    "packetloss.drift.owner",
    "packetloss.drift.owner_sure_norm",
    "packetloss.drift.sure_norm",
    "packetloss.drift.two_updates",
    "packetloss.packets.drift",
    "packetloss.shared.owner",
    "packetloss.shared.pair",
    "packetloss.staleness.law",
    "packetloss.staleness.never_updated",
    "packetloss.training.convergence",
    "packetloss.training.descent",
    "packetloss.training.replica_gap",
    "packetloss.versions.differ",
    "packetloss.versions.mean_gap",
    "packetloss.versions.mean_square_gap",
    "packetloss.versions.as_reviewed",
    "packetloss.workers.range",
)
@pytest.mark.parametrize("seed", range(8))
def test_a_copy_closes_its_gap_or_keeps_it(seed):
    rng = np.random.default_rng(seed)
    workers, n = 4, 11
    replicas, update = (rng.integers(-9, 10, shape).astype(float) for shape in ((workers, n), n))
    owner = np.repeat(np.arange(workers), (3, 3, 3, 2))
    own = replicas[owner, np.arange(n)]
    arrived = rng.random((workers, workers, 1)) < 0.5
    after, _ = lossy_broadcast(replicas, own + update, arrived)
    lost = ~arrived[owner, :, 0].T & (owner != np.arange(workers)[:, None])
    np.testing.assert_array_equal(own + update - after, lost * (own - replicas + update))


@pytest.mark.models(
    "packetloss.drift.autoregressive",
    "packetloss.drift.consensus",
    "packetloss.drift.consensus_limit",
    "packetloss.drift.given_updates",
    "packetloss.drift.mean_norm",
    "packetloss.drift.owner",
    "packetloss.drift.owner_limit",
    "packetloss.drift.owner_sure_norm",
    "packetloss.drift.pair",
    "packetloss.drift.pair_limit",
    "packetloss.drift.as_reviewed_with_correlated_updates",
    "packetloss.drift.relaxation",
    "packetloss.drift.sure_norm",
    "packetloss.drift.whole_vector",
    "packetloss.drift.whole_vector_limit",
    "packetloss.versions.gap",
    "packetloss.versions.mean_gap",
    "packetloss.versions.mean_square_gap",
)
@pytest.mark.parametrize("p", LOSSES)
@pytest.mark.parametrize("steps", [1, 2])
def test_means_over_all_histories_make_the_models_steps(p, steps):
    before, after = (histories(lossy_broadcast, 3, t) for t in (steps, steps + 1))
    updates = np.random.default_rng(steps).integers(-3, 4, (steps + 1, 2))

    def moments(h, given):
        weights = bernoulli(p)
        stale, apart = h.staleness[:, 0], np.abs(h.staleness[:, 0] - h.staleness[:, 1])
        x = h.lacks[:, 0, 0] @ given
        centre = np.array([expectation(h, weights, column) for column in x.T])
        return {
            "L": expectation(h, weights, stale),
            "L^2": expectation(h, weights, stale**2),
            "M": expectation(h, weights, apart),
            "M^2": expectation(h, weights, apart**2),
            "x^2": expectation(h, weights, (h.lacks[:, 0, 0] ** 2).sum(axis=1)),
            "lagged": expectation(h, weights, (x**2).sum(axis=1)),
            "centre": centre,
            "drift": expectation(h, weights, ((h.gap @ given) ** 2).sum(axis=1)),
        }

    old, new, u = moments(before, updates[:-1]), moments(after, updates), updates[-1]
    one = 2 * p * (1 - p)
    beside = old["lagged"] + 2 * (old["centre"] @ u) + int(u @ u)
    assert new["L"] == p * (1 + old["L"])
    assert new["L^2"] == p * (1 + 2 * old["L"] + old["L^2"])
    assert new["M"] == p**2 * old["M"] + one * (1 + old["L"])
    assert new["M^2"] == p**2 * old["M^2"] + one * (1 + 2 * old["L"] + old["L^2"])
    assert new["x^2"] == p * (old["x^2"] + 1)
    assert new["lagged"] == p * beside
    np.testing.assert_array_equal(new["centre"], p * (old["centre"] + u))
    assert new["drift"] == p**2 * old["drift"] + one * beside
    for age in range(steps):
        missing = before.lacks[:, :, 0, steps - 1 - age]
        chance = p ** (age + 1)
        exactly_one = (missing[:, 0] != missing[:, 1]).astype(float)
        assert expectation(before, bernoulli(p), exactly_one) == 2 * chance * (1 - chance)
        assert expectation(before, bernoulli(p), missing.sum(axis=1)) == 3 * chance
        square = 9 * chance**2 + 3 * chance * (1 - chance)
        assert expectation(before, bernoulli(p), missing.sum(axis=1) ** 2) == square


@pytest.mark.models(
    "packetloss.average.differ", "packetloss.average.owner", "packetloss.average.pair", "packetloss.bursts.average"
)
@pytest.mark.parametrize("seed", range(3))
def test_trials_keep_means_over_the_steps(seed):
    runs = [drift_trials(3, steps, Bernoulli(0.5), 4, seed) for steps in range(1, 16)]
    sums = {
        name: np.array([np.zeros(4), *(steps * getattr(run, name) for steps, run in enumerate(runs, 1))])
        for name in ("owner", "pair", "differ")
    }
    owner, pair, differ = (np.round(np.diff(sums[name], axis=0), 9) for name in ("owner", "pair", "differ"))
    assert np.isin(differ, [0.0, 1.0]).all()
    assert (np.sqrt(pair) % 1 == 0).all()
    assert (pair[differ == 0] == 0).all()
    # the mean of two squares whose bases differ by the root of `pair`
    assert (pair <= 4 * owner).all()
    assert differ.any()
    assert (owner * 2 % 1 == 0).all()


@pytest.mark.models(
    "packetloss.average.differ", "packetloss.average.owner", "packetloss.average.pair", "packetloss.bursts.average"
)
@pytest.mark.parametrize("p", LOSSES[1:])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_averages_over_the_steps_are_the_bounds(p, steps):
    """Over all histories of so many steps, and of fewer: what averages are of."""
    runs, sigma, recovery = [histories(lossy_broadcast, 2, t + 1) for t in range(steps)], Fraction(3, 2), Fraction(1, 4)
    gaps = {
        "average.pair": lambda h: expectation(h, bernoulli(p), (h.gap**2).sum(axis=1)) * sigma**2,
        "average.owner": lambda h: expectation(h, bernoulli(p), (h.lacks[:, -1, 0] ** 2).sum(axis=1)) * sigma**2,
        "average.differ": lambda h: expectation(h, bernoulli(p), h.gap.any(axis=1)),
        "bursts.average": lambda h: expectation(h, bursts(p, recovery), (h.gap**2).sum(axis=1)) * sigma**2,
    }
    for name, of in gaps.items():
        if name == "bursts.average" and recovery * p > 1 - p:
            continue
        known = {"p": p, "sigma": sigma, "elapsed": steps, "lossrate": p, "recovery": recovery}
        assert bound_of(f"packetloss.{name}", **known) == goal_values.exact(sum(map(of, runs)) / steps)
        check_goals(f"packetloss.{name}", ["first", "step"], known)


def weights_of(estimator, there, p=None):
    """(owners, workers) the weight that each owner's estimate gives to each worker's gradient."""
    workers = len(there)
    stack = np.tile(np.eye(workers), workers)
    arrived = np.repeat(np.array(there)[:, None, None], workers, axis=1)
    reduced, _ = lossy_reduce_scatter(stack, arrived, estimator, p=p)
    return reduced.estimate.reshape(workers, workers)


@pytest.mark.models(
    "packetloss.arrivals.conditional_variance",
    "packetloss.arrivals.mean_inverse",
    "packetloss.arrivals.mean_inverse_recurrence",
    "packetloss.arrivals.unbiased",
    "packetloss.owner.bias",
    "packetloss.owner.inflation",
    "packetloss.owner.variance_iid",
)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_samples_of_the_arrivals_are_as_the_models_say(workers):
    everybody = range(workers)
    gradients = np.random.default_rng(workers).integers(-5, 6, workers)
    deviations = gradients - gradients.mean()
    spread = float(np.sqrt((deviations**2).sum() / max(1, workers - 1)))
    for k in range(1, workers + 1):
        sets = [[i in chosen for i in everybody] for chosen in combinations(everybody, k)]
        found = np.array([weights_of("arrivals", there) for there in sets])
        np.testing.assert_allclose(found, np.repeat(np.array(sets)[:, None], workers, axis=1) / k, rtol=1e-15)
        inside = (found[:, 0] > 0).mean(axis=0)
        both = ((found[:, 0, 0] > 0) & (found[:, 0, -1] > 0)).mean() if workers > 1 else 0.0
        values = {"N": workers, "arrived": k, "inside": inside[0], "both": both, "S": spread}
        values["deviations"] = float((deviations**2).sum())
        known = conditions("arrivals.conditional_variance", "variance of a sample", "zero", values)
        assert max(map(abs, known.values())) < 1e-9
    for there in product((False, True), repeat=workers):
        own = weights_of("owner", there)
        for j in everybody:
            here = np.array([there[i] or i == j for i in everybody])
            np.testing.assert_allclose(own[j], here / here.sum(), rtol=1e-15)
        np.testing.assert_allclose(weights_of("expected", there, 0.25)[0], np.array(there) / (0.75 * workers))
    for p in (Fraction(1, 4), Fraction(1)):
        owners_inverse = sum(
            (p ** (workers - 1 - sum(rest)) * (1 - p) ** sum(rest) / (1 + sum(rest))
             for rest in product((0, 1), repeat=workers - 1)), Fraction(0))  # fmt: skip
        known = conditions("owner.variance_iid", "variance", "zero", {"N": workers, "p": p, "weight": owners_inverse})
        assert known == {"mean of 1/K": 0}


@pytest.mark.models("packetloss.volume.received", "packetloss.volume.sent")
@pytest.mark.parametrize(("workers", "words"), [(1, 3), (2, 1), (4, 5)])
def test_words_are_those_of_the_shards(workers, words):
    rng = np.random.default_rng(workers)
    arrived = rng.random((2, workers, workers, 1)) < 0.5
    stack = rng.normal(size=(workers, workers * words))
    _, first = lossy_reduce_scatter(stack, arrived[0])
    _, second = lossy_broadcast(stack, stack[0], arrived[1])
    others = ~np.eye(workers, dtype=bool)
    assert (first.sent + second.sent == 2 * (workers - 1) * words).all()
    np.testing.assert_array_equal(first.received, words * (arrived[0, :, :, 0] & others).sum(axis=0))
    np.testing.assert_array_equal(second.received, words * (arrived[1, :, :, 0] & others).sum(axis=0))


@pytest.mark.models("packetloss.training.convergence", "packetloss.training.descent")
@pytest.mark.parametrize("p", [0.0, 0.25, 0.81])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("claim", ["descent", "convergence"])
def test_training_obeys_the_conditions_of_a_step(p, seed, claim):
    workers, eta, smooth = 3, 0.4, 2.0
    rng = np.random.default_rng(seed)
    curvature = np.array([2.0, 1.0, 0.5]) if seed else np.full(3, smooth)
    centre, replicas = rng.normal(size=(2, workers))
    here = replicas[0]

    def value(x):
        return (curvature * (x - centre) ** 2).mean() / 2

    gradients = curvature * (replicas - centre)
    values = {
        "N": workers, "p": p, "root": np.sqrt(p), "eta": eta, "smooth": smooth,
        "a": (curvature * (here - centre)).mean(), "b": gradients.mean(),
        "drift": ((replicas - here) ** 2).mean(), "falls": value(here), "estimate": 0.0, "later": 0.0,
    }  # fmt: skip
    state = fresh_replicas(np.zeros(1), workers)
    state = type(state)(replicas[:, None], state.missed)
    for lost in product((False, True), repeat=2 * workers - 1):
        there, heard = (np.ones((workers, workers, 1), bool) for _ in range(2))
        there[:, 0, 0] = ~np.array(lost[:workers])
        heard[0, 1:, 0] = ~np.array(lost[workers:])
        after, update, _ = lossy_step(state, gradients[:, None], eta, there, heard)
        weight = p ** sum(lost) * (1 - p) ** (len(lost) - sum(lost))
        moved = after.parameters[:, 0]
        values["falls"] -= weight * value(moved[0])
        values["estimate"] += weight * float(update[0] / eta) ** 2
        values["later"] += weight * ((moved - moved[0]) ** 2).mean()
    checked = {"smooth, and unbiased", "Lipschitz", "gaps", "square"}
    rest = dict.fromkeys(("elapsed", "fallen", "estimates", "squares"), 1.0)
    known = conditions(f"training.{claim}", "step", "given", {**values, **rest})
    assert {name for name in known if name != "before"} == checked
    assert min(known[name] for name in checked) >= -1e-12
    if not seed:  # one curvature: nothing is lost but what replicas drift less
        assert known["smooth, and unbiased"] == pytest.approx(0.0, abs=1e-12)
