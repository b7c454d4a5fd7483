"""Formulas of error feedback: constants against one another, step sizes, and numbers computed elsewhere."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds.compressors import EF14, EF21, FeedbackState
from commbounds.theory import claims
from commbounds.theory.feedback import terms as t
from commbounds.theory.quantities import alpha
from commbounds.verify.experiments.feedback.runs import Shrunk

BOOK = claims()


def test_beta_over_theta_is_what_ef14s_residual_has():
    assert sp.simplify(t.beta / t.theta - (1 - alpha) / (1 - t.root) ** 2) == 0
    residual = BOOK["feedback.ef14.residual"].relation.rhs
    assert sp.simplify(residual / t.reach**2 - t.beta / t.theta) == 0


def test_root_of_beta_over_theta():
    """(1 + sqrt(1 - alpha))/alpha - 1, at most 2/alpha - 1; theta is at least alpha/2."""
    for share in (Fraction(1, 1000), Fraction(1, 3), Fraction(3, 4), Fraction(1)):
        square = (t.beta / t.theta).subs(alpha, sp.Rational(share))
        exact = (1 + sp.sqrt(1 - sp.Rational(share))) / sp.Rational(share) - 1
        assert sp.simplify(square - exact**2) == 0
        assert exact <= 2 / sp.Rational(share) - 1
        assert t.theta.subs(alpha, sp.Rational(share)) >= sp.Rational(share) / 2


def test_theta_and_beta_are_the_best_that_young_gives():
    """(1 - alpha)(1 + s) = q and (1 - alpha)(1 + 1/s) = q^2/(1 - q) at s = 1/q - 1; no s has a smaller beta/theta."""
    q = sp.Symbol("q", positive=True)
    assert sp.simplify(q**2 * (1 + (1 / q - 1)) - q) == 0
    assert sp.simplify(q**2 * (1 + 1 / (1 / q - 1)) - q**2 / (1 - q)) == 0
    for value in (0.3, 0.7, 0.95):
        others = np.linspace(1e-3, 1 / value**2 - 1 - 1e-3, 2001)
        found = value**2 * (1 + 1 / others) / (1 - value**2 * (1 + others))
        # the least lies between two neighbours of the one that is found: there the ratio is convex
        least = int(found.argmin())
        assert others[least - 1] < 1 / value - 1 < others[least + 1]
        # ten roundings, of which 1 - q magnifies those below it
        assert found[least] >= (value / (1 - value)) ** 2 * (1 - 10 * np.finfo(float).eps / (1 - value))


def test_ef14s_two_bounds():
    values = {"alpha": Fraction(3, 4), "reach": 2}
    assert BOOK["feedback.ef14.residual"].bound(**values) == 4
    assert BOOK["feedback.ef14.residual_simple"].bound(**values) == Fraction(64, 9)
    assert BOOK["feedback.ef14.residual_simple"].tightness_at(**values) == Fraction(9, 16)


def test_step_sizes_leave_nothing_of_the_moves():
    """The coefficient of ||x+ - x||^2 in the summed lemmas is below 1/(2 gamma^2) at the largest step size."""
    for share in np.geomspace(1e-3, 1, 20):
        for eta in np.geomspace(1e-3, 1, 20):
            for smooth, apart in ((1.0, 1.0), (1.0, 10.0)):
                gamma = min(share / (20 * apart), eta / (7 * smooth))
                moves = (48 + 16 * eta**2) * apart**2 / share**2 + 6 * smooth**2 / eta**2
                assert moves <= 1 / (2 * gamma**2)


def test_arc_divides_every_noise_term():
    shared = {"gap": 0, "stepsize": 1, "horizon": 1, "alpha": Fraction(1, 2), "eta": Fraction(1, 2), "variance": 3}
    nothing = {"mean_lag": 0, "momentum_lag": 0, "lag": 0, "own_lag": 0}
    arc, ef21m = (
        [BOOK[f"feedback.{n}"].bound(**shared, **nothing, P=P) for P in (1, 8)] for n in ("arc.bound", "ef21m.bound")
    )
    assert arc[1] * 8 == arc[0] == ef21m[0]
    assert ef21m[1] > ef21m[0] / 2


def test_the_momentum_lemma_is_three_times_sharper_than_with_three_l_squared():
    values = {"momentum_lag": 0, "smoothness": 1, "shift": 1, "variance": 0, "P": 1, "eta": Fraction(1, 2)}
    assert BOOK["feedback.ef21m.momentum"].bound(**values) == Fraction(1, 2)
    assert 3 / Fraction(1, 2) >= 3 * Fraction(1, 2)


def test_the_step_size_hypothesis_tells_both_sides():
    claim = BOOK["feedback.ef21.descent"]
    step = next(h for h in claim.assumes if h.name == "ef21_step")
    values = {"smoothness": Fraction(1), "smoothness_apart": Fraction(1), "alpha": Fraction(3, 4)}
    assert step.admits(stepsize=Fraction(1, 2), **values)
    assert not step.admits(stepsize=Fraction(51, 100), **values)


def test_three_workers_grow():
    assert BOOK["feedback.plain.growth"].bound(stepsize=Fraction(6, 11)) == 2


def _potential_rise(q, gamma, e, v):
    """Twice the rise of the potential over gamma, plus ||grad||^2, of one worker in one dimension; L = 1.

    Its lag is e and its estimate v, so that x = v - e; it moves by -gamma v, and sends 1 - q of its correction.
    """
    x, after = v - e, v - e - gamma * v
    lag = q**2 * (after - v) ** 2
    potential = (after**2 - x**2) / 2 + gamma / (2 * (1 - q)) * (lag - e**2)
    return 2 / gamma * potential + x**2


def _potential_form(q, gamma):
    """The same as a quadratic form in (e, v)."""
    own = [_potential_rise(q, gamma, *state) for state in ((1, 0), (0, 1))]
    mixed = (_potential_rise(q, gamma, 1, 1) - sum(own)) / 2
    return np.array([[own[0], mixed], [mixed, own[1]]])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 0.99])
def test_the_potential_of_ef21_needs_a_step_size_that_shrinks_like_alpha(q):
    """It falls from every state exactly where 1 - L gamma >= gamma^2 L^2 beta/theta; EF21 itself bears longer steps."""
    ratio = (q / (1 - q)) ** 2
    longest = 2 / (np.sqrt(1 + 4 * ratio) + 1)
    # of numbers below 1: four roundings of the length, three of its square's multiple
    assert 1 - longest == pytest.approx(longest**2 * ratio, abs=8 * np.finfo(float).eps)
    for share, falls in ((0.2, True), (0.999, True), (1.001, False), (2.0, False)):
        assert (np.linalg.eigvalsh(_potential_form(q, share * longest)).max() <= 1e-12) == falls
    assert 1 / (1 + np.sqrt(ratio)) <= longest <= 2 / (1 + np.sqrt(ratio))
    for share, converges in ((0.999, True), (1.001, False)):
        gamma = share * 2 * (1 + q) / (1 - q)
        step = np.array([[1 - gamma * (1 - q), -gamma * q], [1 - q, q]])  # of (x, g)
        assert (np.abs(np.linalg.eigvals(step)).max() < 1) == converges


def test_a_weight_above_one_is_no_momentum():
    """The lemma's right side is negative there, and what is measured is a square."""
    claim = BOOK["feedback.ef21m.momentum"]
    values = {"momentum_lag": 1, "smoothness": 1, "shift": 0, "variance": 0, "P": 1}
    for eta in (Fraction(3, 2), Fraction(3)):
        assert claim.bound(eta=eta, **values) < 0 < (1 - eta) ** 2
        assert any(not h.admits(eta=eta) for h in claim.assumes)
    assert claim.bound(eta=Fraction(1, 2), **values) >= Fraction(1, 4)
    assert t.WEIGHT in BOOK["feedback.ef21m.bound"].assumes
    assert t.WEIGHT in BOOK["feedback.arc.bound"].assumes


def test_ef14s_noisy_bounds_are_the_others_without_noise():
    values = {
        "gap": 3, "stepsize": Fraction(1, 8), "horizon": 4, "smoothness": 1, "alpha": Fraction(3, 4), "reach": 2,
        "P": 5,
    }  # fmt: skip
    for quiet, noisy in (("residual", "residual_noisy"), ("rate", "rate_noisy")):
        without = BOOK[f"feedback.ef14.{quiet}"].bound(**values)
        assert BOOK[f"feedback.ef14.{noisy}"].bound(**values, variance=0) == without
    # q = 1/2: 2 L gamma sigma^2/P + 2 L^2 q^2/(1 - q) gamma^2 sigma^2
    added = BOOK["feedback.ef14.rate_noisy"].bound(**values, variance=1) - BOOK["feedback.ef14.rate"].bound(**values)
    assert added == Fraction(2, 40) + Fraction(1, 64)


def test_small_steps_of_plain_descent_are_those_of_ef21():
    claim = BOOK["feedback.plain.convergence"]
    values = {
        "smoothness": Fraction(103, 6),
        "smoothness_apart": Fraction(69, 2),
        "alpha": Fraction(1, 3),
        "variance": 0,
    }
    assert all(h.admits(stepsize=Fraction(1, 200), **values) for h in claim.assumes)
    assert not all(h.admits(stepsize=Fraction(1, 20), **values) for h in claim.assumes)


@pytest.mark.parametrize(("q", "L", "mu"), [(0.25, 1.0, 0.1), (0.5, 3.0, 2.0), (0.9, 10.0, 0.01)])
@pytest.mark.parametrize("claim", ["ef14.strongly_convex", "ef21.strongly_convex", "ef21.strongly_convex_workers"])
def test_the_convex_rate_is_the_one_of_its_authors_code(claim, q, L, mu):
    step = 2 / (L + mu) * (1 - q) / (1 + q)
    inner = np.sqrt((L - mu) ** 2 + 16 * L * mu * q / (1 + q) ** 2)
    multiplier = step / (L + mu) * ((1 - q) * (L - mu) + (1 + q) * inner)
    values = {"alpha": 1 - q * q, "smoothness": L, "convexity": mu}
    values |= {"virtual": 0, "residual": 1} if claim.startswith("ef14") else {"slope": 0, "lag": 1}
    bound = BOOK[f"feedback.{claim}"].bound(**values)
    # some thirty operations; L - mu, 1 - q and 1 - q q lose at most a factor of 1/(1 - q) to cancellation
    assert float(bound) == pytest.approx(q + (1 + q) * (L - mu) * multiplier / 4, rel=64 / (1 - q) * 2.0**-53)


def test_ef14s_convex_potential_is_q_times_its_authors():
    q, away, residual = 0.36, np.array([1.0, -2.0]), np.array([0.5, 3.0])
    matrix = np.array([[1, -1], [-1, 1 + 1 / q]])
    theirs = sum(v @ matrix @ v for v in np.stack([away, residual], axis=1))
    values = {"alpha": 1 - q * q, "smoothness": 3.0, "convexity": 1.0}
    one = BOOK["feedback.ef14.strongly_convex"].bound(**values, virtual=0, residual=1)
    ours = BOOK["feedback.ef14.strongly_convex"].bound(
        **values, virtual=((away - residual) ** 2).sum(), residual=(residual**2).sum()
    )
    # some forty operations, none of which cancels but for x - e, whose entries are exact here
    assert float(ours / one) == pytest.approx(q * theirs, rel=64 * 2.0**-53)


def test_the_first_step_of_compressed_gradient_descent_is_too_short():
    L, mu, r = Fraction(1), Fraction(1, 10), Fraction(1, 2)
    values = {"alpha": 1 - r * r, "smoothness": L, "convexity": mu, "gap": 1}
    assert float(BOOK["feedback.cgd.factor"].bound(**values)) == pytest.approx(0.8751, abs=5e-5)
    assert float((1 - 2 * mu * (1 - r) / ((1 + r) * (mu + L))) ** 2) == pytest.approx(0.8825, abs=5e-5)


def test_ef21s_printed_step_is_too_short_by_a_quarter_at_most():
    spent, printed = t.EF21_LARGEST_STEP.condition.lhs, t.EF21_STEP.condition.rhs
    for q, longest in ((Fraction(1, 10), False), (Fraction(2, 5), True), (Fraction(9, 10), False)):
        at = {alpha: 1 - q * q, t.smoothness: 1, t.smoothness_apart: 1}
        left = 1 - sp.simplify(spent.subs(t.stepsize, Fraction(5, 4) * printed).subs(at))
        assert left == 0 if longest else left < 0


@pytest.mark.parametrize("q", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("apart", [1.0, 1.5, 3.0, 10.0])
def test_ef21s_potential_bears_the_largest_step_and_no_longer_one(q, apart):
    """Two workers in one dimension, curvatures 1 + s and 1 - s, the compressor that returns 1 - q: what falls is a
    form of the point and both lags, which is singular at the largest step and negative somewhere at a longer one."""
    curvatures = 1 + np.array([1, -1]) * (apart**2 - 1) ** 0.5
    spent = q**2 / (1 - q) ** 2 * (apart**2 + q) / (1 + q)
    largest = 2 / (1 + (1 + 4 * spent) ** 0.5)
    at = {alpha: 1 - q**2, t.smoothness: 1, t.smoothness_apart: apart, t.stepsize: largest}
    assert float(t.EF21_LARGEST_STEP.condition.lhs.subs(at)) == pytest.approx(1, rel=64 * 2.0**-53)  # some 30 roundings

    def fallen(x, step):
        estimate = curvatures * x[0] + x[1:]
        after = x[0] - step * estimate.mean()
        lags = q * (estimate - curvatures * after)
        before = x[0] ** 2 / 2 + step / (2 * (1 - q)) * np.mean(x[1:] ** 2) - step / 2 * x[0] ** 2
        return before - after**2 / 2 - step / (2 * (1 - q)) * np.mean(lags**2)

    def least(step):
        unit = np.eye(3)
        form = [[(fallen(a + b, step) - fallen(a - b, step)) / 4 for b in unit] for a in unit]
        return np.linalg.eigvalsh(form)[0]

    assert abs(least(largest)) < 1e-12
    assert least(1.001 * largest) < -1e-6


@pytest.mark.parametrize("mechanism", [EF14, EF21])
@pytest.mark.parametrize("steep", [False, True])
def test_z_squared_is_exact_for_every_number_of_steps(mechanism, steep):
    """q = 1/4, k = 5/9 and z = 3/4, the compressor that returns 1 + q: the same state comes again, times z or -z."""
    q, z, mu, L = 0.25, 0.75, 2.0, 7.0
    a, factor = (L, -z) if steep else (mu, z)
    gamma = 2 / (L + mu) * (1 - q) / (1 + q)
    of = mechanism(Shrunk(-q))
    first = 1.0
    second = (1 - gamma * a - factor) / (gamma * a) * first
    for _ in range(30):  # first and second: x - e and e, or the gradient and the estimate less it
        if mechanism is EF14:
            after = of.step(FeedbackState(np.array([second])), np.array([gamma * a * (first + second)]))[1].memory[0]
            moved = first - gamma * a * (first + second), after
        else:
            turned = first - gamma * a * (first + second)
            moved = turned, of.step(FeedbackState(np.array([first + second])), np.array([turned]))[1].memory[0] - turned
        # a dozen roundings a step, of numbers up to eight times as large; what earlier ones left fades
        assert moved == pytest.approx((factor * first, factor * second), rel=128 * 2.0**-53)
        first, second = moved
    bound = claims()[f"feedback.{mechanism.__name__.lower()}.strongly_convex"].bound
    values = {"alpha": 1 - q**2, "smoothness": L, "convexity": mu}
    one = {"virtual": 1, "residual": 0} if mechanism is EF14 else {"slope": 1, "lag": 0}
    assert bound(**values, **one) == pytest.approx(q * z**2, rel=1e-12)
