"""Formulas of the column packetloss, checked by other ways to the same numbers."""

from fractions import Fraction as F
from math import comb

import pytest

from commbounds.theory import Standing, claims

BOOK = {name.partition(".")[2]: claim for name, claim in claims().items() if claim.column == "packetloss"}
AVERAGES = {"average.pair": "drift.pair", "average.owner": "drift.owner", "average.differ": "versions.differ"}
LOSSES = (F(1, 10), F(1, 5), F(3, 10), F(2, 5))


def bound(name, **values):
    return BOOK[name].bound(**{"sigma": 1, "G": 1, **values})


@pytest.mark.parametrize(
    ("p", "published", "exact", "worst", "owner"),
    [
        (F(1, 10), 0.1818, 0.2020, 0.2469, 0.1111),
        (F(1, 5), 0.3333, 0.4167, 0.6250, 0.2500),
        (F(3, 10), 0.4615, 0.6593, 1.2245, 0.4286),
        (F(2, 5), 0.5714, 0.9524, 2.2222, 0.6667),
    ],
)
def test_constants_to_four_digits(p, published, exact, worst, owner):
    found = [bound(f"drift.{name}", p=p) for name in ("as_reviewed", "pair_limit", "sure_norm", "owner_limit")]
    assert [round(float(v), 4) for v in found] == [published, exact, worst, owner]


@pytest.mark.parametrize("p", LOSSES)
def test_the_published_constant_is_too_small_by_one_less_p(p):
    assert bound("drift.as_reviewed", p=p) == (1 - p) * bound("drift.pair_limit", p=p)
    assert BOOK["drift.as_reviewed"].stands is Standing.HOLDS_AS_CORRECTED
    assert bound("drift.autoregressive", p=p, rho=-1 / (2 - p)) == bound("drift.as_reviewed", p=p)


@pytest.mark.parametrize("p", LOSSES)
def test_laws_of_versions_are_laws_and_have_their_moments(p):
    t = 9
    gaps = {m: bound("versions.gap", p=p, elapsed=t, apart=m) for m in range(1, t + 1)}
    assert sum(gaps.values()) == bound("versions.differ", p=p, elapsed=t)
    assert sum(m * gap for m, gap in gaps.items()) == bound("drift.pair", p=p, elapsed=t)
    stale = [bound("staleness.law", p=p, stale=s) for s in range(t)]
    assert sum(stale) + bound("staleness.never_updated", p=p, elapsed=t) == 1
    # independent staleness, convolved by hand
    law = [*stale, p**t]
    for m, gap in gaps.items():
        assert gap == 2 * sum(law[s] * law[s + m] for s in range(t + 1 - m))


@pytest.mark.parametrize("p", LOSSES)
def test_pairs_of_updates_add_up_to_the_drift(p):
    t = 6

    def both(a, b):
        return bound("drift.two_updates", p=p, age=min(a, b), older=max(a, b))

    assert sum(both(a, a) for a in range(t)) == bound("drift.pair", p=p, elapsed=t)
    # constant updates: the mean square of the versions between
    square = sum(both(a, b) for a in range(t) for b in range(t))
    assert square == sum(m**2 * bound("versions.gap", p=p, elapsed=t, apart=m) for m in range(1, t + 1))
    assert square <= bound("versions.mean_square_gap", p=p)


@pytest.mark.parametrize("p", LOSSES)
def test_averages_are_averages(p):
    for t in (1, 2, 7):
        for average, each in (
            ("average.pair", "drift.pair"),
            ("average.owner", "drift.owner"),
            ("average.differ", "versions.differ"),
        ):
            assert bound(average, p=p, elapsed=t) == sum(bound(each, p=p, elapsed=s) for s in range(1, t + 1)) / t
        chain = {"recovery": F(1, 4), "lossrate": p}
        each = [bound("bursts.pair", elapsed=s, **chain) for s in range(1, t + 1)]
        assert bound("bursts.average", elapsed=t, **chain) == sum(each) / t


@pytest.mark.parametrize("p", LOSSES)
def test_bursts_that_forget_are_independent_losses(p):
    chain = {"recovery": 1 - p, "lossrate": p}
    assert bound("bursts.pair", elapsed=5, **chain) == bound("drift.pair", p=p, elapsed=5)
    assert bound("bursts.pair_limit", **chain) == bound("drift.pair_limit", p=p)


def test_ten_per_cent_in_bursts_of_ten():
    assert round(float(bound("bursts.pair_limit", recovery=F(1, 10), lossrate=F(1, 10))), 3) == 1.895


@pytest.mark.parametrize("p", LOSSES)
def test_consensus_and_whole_vector_at_their_limits(p):
    for N in (2, 3, 8, 64):
        pair, owner = bound("drift.pair_limit", p=p), bound("drift.owner_limit", p=p)
        pairs = (N - 1) * owner + F((N - 1) * (N - 2), 2) * pair
        assert bound("drift.consensus_limit", p=p, N=N) == pairs / N**2
        assert bound("drift.whole_vector_limit", p=p, N=N) == ((N - 2) * pair + 2 * owner) / N


@pytest.mark.parametrize("p", [F(0), *LOSSES, F(1)])
def test_mean_inverse_by_the_binomial_sum_and_by_the_recurrence(p):
    before = F(0)
    for N in range(1, 9):
        direct = sum(comb(N, k) * (1 - p) ** k * p ** (N - k) * F(1, k) for k in range(1, N + 1))
        assert bound("arrivals.mean_inverse", N=N, p=p) == direct
        assert bound("arrivals.mean_inverse_recurrence", N=N, p=p, onefewer=before) == direct
        before = direct


def test_inflation_at_sixty_four_workers():
    owner = [round(float(64 * bound("owner.variance_iid", N=64, p=p)), 3) for p in LOSSES]
    given = [bound("arrivals.mean_inverse", N=64, p=p) / (1 - bound("arrivals.empty", N=64, p=p)) for p in LOSSES]
    assert owner == [1.111, 1.25, 1.429, 1.667]
    assert [round(float(64 * v), 3) for v in given] == [1.113, 1.255, 1.438, 1.685]
    assert bound("arrivals.empty", N=64, p=LOSSES[-1]) < F(4, 10**26)


def test_range_of_staleness_in_the_long_run():
    """Sum over s of 1 - (1 - p^(s+1))^R, less p^R/(1 - p^R)."""
    p, R, t = F(2, 5), 5, 60
    whole = sum(1 - (1 - p ** (s + 1)) ** R for s in range(t)) - p**R / (1 - p**R)
    found = bound("workers.range", p=p, receivers=R, elapsed=t)
    assert 0 <= found - whole <= R * p**t


def test_correlation_below_the_condition_exceeds_the_limit():
    """At rho = -1 one step drifts more than many: the condition of the claim cannot be left out."""
    p, rho = F(1, 10), F(-1)
    assert bound("drift.pair", p=p, elapsed=1) > bound("drift.autoregressive", p=p, rho=rho)


@pytest.mark.parametrize("p", [F(0), F(1, 4), F(4, 9)])
def test_the_bound_on_training(p):
    at = {"N": 4, "p": p, "eta": F(1, 8), "smooth": 2, "elapsed": 10, "estimatesquare": 3}
    descent, corollary = bound("training.descent", **at, fall=5), bound("training.convergence", **at, gap=5)
    assert corollary == 2 * descent
    plain = F(2 * 5, 10) * 8 + F(2, 8) * 3
    root = {F(0): F(0), F(1, 4): F(1, 2), F(4, 9): F(2, 3)}[p]
    drift = F(3, 4) * F(2, 8) ** 2 * p / (1 - root) ** 2 * 3
    assert corollary == plain / (1 - p**4) + drift
