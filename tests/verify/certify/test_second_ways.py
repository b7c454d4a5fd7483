"""Claims whose models most rests on, derived in a second way: outcome by outcome, without the model or the kernel."""

import itertools
from fractions import Fraction
from math import factorial, isqrt, prod

import pytest
import sympy as sp

from commbounds.theory import claims


def bound(claim, **values):
    return claims()[claim].bound(**values)


@pytest.mark.parametrize("x", [(1,), (3, -4), (1, 2, -2), (0, 2, 3, 6), (1, 1, 1, 1), (1, 1, 1, 1, 0, 4, 4, 0)])
@pytest.mark.parametrize("s", [1, 2, 3])
def test_qsgd_outcome_by_outcome(x, s):
    """Every level goes up or stays, independently: the mean of the squared error over all outcomes."""
    square = sum(v * v for v in x)
    norm = isqrt(square)
    assert norm**2 == square
    error = Fraction(0)
    for ups in itertools.product((0, 1), repeat=len(x)):
        chances, errors = [], []
        for v, up in zip(x, ups, strict=True):
            level, f = divmod(Fraction(s * abs(v), norm), 1)
            chances.append(f if up else 1 - f)
            errors.append((Fraction(norm * (level + up), s) - abs(v)) ** 2)
        error += prod(chances) * sum(errors)
    assert error <= bound("quantizers.qsgd.variance", n=len(x), s=s) * square


def averaged(vectors, order, sizes):
    """Averages within groups of these sizes, whose seats are taken in this order."""
    after, seat = list(vectors), 0
    for size in sizes:
        members = order[seat : seat + size]
        for member in members:
            after[member] = sum(vectors[m] for m in members) / size
        seat += size
    return after


@pytest.mark.parametrize("sizes", [(2,), (2, 1), (2, 2), (3, 1), (2, 1, 1), (4,)])
@pytest.mark.parametrize("rounds", [1, 2])
def test_random_groups_order_by_order(sizes, rounds):
    """All orders of the peers in every round, from numbers with the mean zero."""
    N = sum(sizes)
    start = [Fraction(v) for v in (5, -1, 2, 3)[:N]]
    start = [v - sum(start) / N for v in start]
    orders = list(itertools.permutations(range(N)))
    left = Fraction(0)
    for drawn in itertools.product(orders, repeat=rounds):
        vectors = start
        for order in drawn:
            vectors = averaged(vectors, order, sizes)
        left += sum(v * v for v in vectors)
    factor = left / factorial(N) ** rounds / sum(v * v for v in start)
    assert factor == bound("moshpit.random_groups.factor", N=N, r=len(sizes), rounds=rounds)


@pytest.mark.parametrize(("N", "M"), [(2, 2), (4, 2), (4, 4), (3, 3)])
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1)])
def test_groups_with_failures_outcome_by_outcome(N, M, p):
    """All orders, and all sets of peers that fail and keep their vectors."""
    start = [Fraction(v) for v in (5, -1, 2, 3)[:N]]
    start = [v - sum(start) / N for v in start]
    left = Fraction(0)
    for order in itertools.permutations(range(N)):
        for there in itertools.product((True, False), repeat=N):
            vectors = list(start)
            for first in range(0, N, M):
                members = [m for m in order[first : first + M] if there[m]]
                for m in members:
                    vectors[m] = sum(start[i] for i in members) / len(members)
            left += prod(1 - p if t else p for t in there) * sum(v * v for v in vectors)
    factor = left / factorial(N) / sum(v * v for v in start)
    assert factor == bound("moshpit.random_groups.skip", N=N, M=M, failure=p)


def lost_last(fates):
    """How many packets were lost since the last that arrived."""
    return next((age for age, lost in enumerate(reversed(fates)) if not lost), len(fates))


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), Fraction(4, 5)])
@pytest.mark.parametrize("t", [1, 2, 4])
def test_drift_loss_by_loss(p, t):
    """Two receivers differ by the updates that one of them lacks; those are uncorrelated, of variance sigma^2."""
    sigma, drift, both = Fraction(3, 2), Fraction(0), {}
    for fates in itertools.product((0, 1), repeat=2 * t):
        chance = prod(p if lost else 1 - p for lost in fates)
        low, high = sorted((lost_last(fates[:t]), lost_last(fates[t:])))
        drift += chance * (high - low) * sigma**2
        for a, b in itertools.combinations_with_replacement(range(t), 2):
            both[a, b] = both.get((a, b), 0) + chance * (low <= a and b < high)
    assert drift == bound("packetloss.drift.pair", p=p, elapsed=t, sigma=sigma)
    for (a, b), chance in both.items():
        assert chance == bound("packetloss.drift.two_updates", p=p, age=a, older=b)


@pytest.mark.parametrize(("enter", "leave"), [(Fraction(1, 4), Fraction(1, 2)), (Fraction(1, 2), Fraction(1, 3))])
@pytest.mark.parametrize("t", [1, 2, 4])
def test_bursts_path_by_path(enter, leave, t):
    """A link loses packets in one of two states, from its stationary law on."""
    rate, law = enter / (enter + leave), {}
    for path in itertools.product((0, 1), repeat=t):
        chance = rate if path[0] else 1 - rate
        for before, after in itertools.pairwise(path):
            stays = 1 - leave if before else 1 - enter
            chance *= stays if after == before else 1 - stays
        law[lost_last(path)] = law.get(lost_last(path), 0) + chance
    drift = sum(c * d * abs(a - b) for (a, c), (b, d) in itertools.product(law.items(), repeat=2))
    assert drift == bound("packetloss.bursts.pair", lossrate=rate, recovery=leave, elapsed=t, sigma=1)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_a_row_of_a_sketch_hash_by_hash(cells):
    """All ways to hash three entries to cells and to signs, independently."""
    x, error = (2, -1, 3), Fraction(0)
    for places in itertools.product(range(cells), repeat=3):
        for signs in itertools.product((1, -1), repeat=3):
            counter = sum(s * v for s, v, place in zip(signs, x, places, strict=True) if place == places[0])
            error += Fraction((signs[0] * counter - x[0]) ** 2, cells**3 * 8)
    square = sum(v * v for v in x)
    claimed = bound("sketched.row.variance", norm2=sp.sqrt(square), sketched_entry=x[0], sketch_cells=cells)
    assert error == Fraction(int(sp.numer(claimed)), int(sp.denom(claimed)))


def test_what_a_projection_leaves_is_no_larger():
    """Rank one, every small matrix and sketch: p = M q, and M less p p'M over p'p."""
    for a, b, c, d, e, f in itertools.product(range(-1, 3), repeat=6):
        p, q = (a * e + b * f, c * e + d * f), a * a + b * b + c * c + d * d
        length = p[0] ** 2 + p[1] ** 2
        if length and q:
            sent = [Fraction(p[0] * x + p[1] * y, length) for x, y in ((a, c), (b, d))]
            columns = zip(((a, c), (b, d)), sent, strict=True)
            left = sum((x - p[0] * s) ** 2 + (y - p[1] * s) ** 2 for (x, y), s in columns)
            assert left <= bound("lowrank.powersgd.nonexpansive") * q


def rounded(value, digits=2):
    """To so many binary digits, to nearest; of two the even one."""
    if not value:
        return value
    power = 0
    while abs(value) >= Fraction(2) ** (power + 1):
        power += 1
    while abs(value) < Fraction(2) ** power:
        power -= 1
    unit = Fraction(2) ** (power - digits + 1)
    return round(value / unit) * unit


def sums(terms):
    """All sums of the terms, in any order and by any tree, every addition rounded."""
    if len(terms) == 1:
        return {terms[0]}
    found = set()
    for size in range(1, len(terms)):
        for chosen in itertools.combinations(range(1, len(terms)), size - 1):
            left = (terms[0], *(terms[i] for i in chosen))
            right = tuple(t for i, t in enumerate(terms) if i and i not in chosen)
            found |= {rounded(a + b) for a in sums(left) for b in sums(right)}
    return found


@pytest.mark.parametrize("P", [1, 2, 3, 4])
def test_sums_in_two_digits_tree_by_tree(P):
    """Every order of additions of small numbers with two binary digits, whose unit is a quarter."""
    share = bound("precision.any.sure", P=P, unit=Fraction(1, 4))
    numbers = [Fraction(v) for v in ("1", "3/2", "2", "-1", "4", "-3")]
    for terms in itertools.combinations_with_replacement(numbers, P):
        exact, magnitudes = sum(terms), sum(map(abs, terms))
        assert all(abs(found - exact) <= share * magnitudes for found in sums(terms))


@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("edge", [Fraction(11, 10), Fraction(3, 2), Fraction(3), Fraction(10)])
def test_wrong_signs_of_flat_noise(share, edge):
    """Noise that is zero, or uniform within `edge` gradients with probability `share`, which is unimodal."""
    wrong = share * (edge - 1) / (2 * edge)
    snr = 1 / sp.sqrt(sp.Rational(share.numerator, share.denominator) * sp.Rational(edge**2) / 3)
    assert float(wrong) <= float(bound("majority.worker.gauss", snr=snr)) * (1 + 1e-12)


@pytest.mark.parametrize("keeps", [0, 1])
def test_error_feedback_by_hand(keeps):
    """Two workers, whatever is sent: weights less the mean residual are those of uncompressed steps."""
    steps = [[Fraction(3), Fraction(-1)], [Fraction(1, 2), Fraction(5)], [Fraction(-2), Fraction(1, 3)]]
    weights, plain, residuals = Fraction(1), Fraction(1), [Fraction(0), Fraction(0)]
    for number, own in enumerate(steps):
        offered = [r + g for r, g in zip(residuals, own, strict=True)]
        sent = [o if (i + number) % 2 == keeps else o // 2 for i, o in enumerate(offered)]
        residuals = [o - m for o, m in zip(offered, sent, strict=True)]
        weights, plain = weights - sum(sent) / 2, plain - sum(own) / 2
        assert weights - sum(residuals) / 2 - plain == bound("feedback.ef14.telescoping")
