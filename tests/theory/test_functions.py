"""Functions of the book against what they mean, counted out: proofs of bounds with them know only a recurrence."""

import inspect
import math
import sys
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from statistics import NormalDist

import numpy as np
import pytest
import sympy as sp
from mpmath import mp, mpf

from commbounds import theory
from commbounds.theory.arctopk.terms import retained
from commbounds.theory.cost import log2, power_below
from commbounds.theory.dropcompute.terms import expected_ends, upper_normal
from commbounds.theory.functions import ExactFunction, harmonic_number, nearest_float
from commbounds.theory.majority.terms import gauss, vote_error
from commbounds.theory.moshpit.terms import mean_blocks, mean_overlap, regrouped, ring_walks
from commbounds.theory.packetloss.terms import inverse_arrivals, staleness_range
from commbounds.theory.precision.bounds import compounded
from commbounds.theory.precision.split import softmax_distance
from commbounds.theory.precision.terms import binary_ones
from commbounds.theory.quantities import choose, index_bits

U = 2.0**-53
LIBRARY = 16 * U
"""What a function of mathematical libraries may be off by, relatively: some units, as they say of themselves."""
SHARES = (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1))
Arguments = tuple[int | Fraction, ...]


def outcomes(count: int, chance: Fraction) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """All outcomes of independent events, with their probabilities."""
    for happened in product((0, 1), repeat=count):
        yield happened, math.prod((chance if one else 1 - chance for one in happened), start=Fraction(1))


@cache
def partitions(size: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """All partitions of a set."""
    if size == 0:
        return ((),)
    found: list[tuple[tuple[int, ...], ...]] = []
    for blocks in partitions(size - 1):
        found.append((*blocks, (size,)))
        found += [(*blocks[:i], (*block, size), *blocks[i + 1 :]) for i, block in enumerate(blocks)]
    return tuple(found)


def wrong_vote(honest: int, against: int, liars: int, q: Fraction, tau: Fraction) -> Fraction:
    voters, total = honest + against + liars, Fraction(0)
    for wrong, chance in outcomes(honest, q):
        for turned, other in outcomes(against, 1 - q):
            votes = sum(wrong) + sum(turned) + liars
            total += chance * other * (tau if 2 * votes == voters else int(2 * votes > voters))
    return total


def overlap(peers: int, side: int) -> Fraction:
    cells = [(i, j) for i in range(side) for j in range(side) if (i, j) != (0, 0)]
    placed = list(combinations(cells, peers - 1))
    return sum(
        (Fraction(1, (1 + sum(i == 0 for i, _ in others)) * (1 + sum(j == 0 for _, j in others))) for others in placed),
        Fraction(0),
    ) / len(placed)


def walks(ring: int, steps: int) -> Fraction:
    return Fraction(sum(sum(walk) % ring == 0 for walk in product((-1, 0, 1), repeat=steps)), 3**steps)


def spread(receivers: int, loss: Fraction, steps: int) -> Fraction:
    """Of how many last updates a receiver missed, largest less smallest, over all losses."""
    total = Fraction(0)
    for lost, chance in outcomes(receivers * steps, loss):
        rows = [lost[r * steps : (r + 1) * steps] for r in range(receivers)]
        late = [next((i for i, missed in enumerate(row) if not missed), steps) for row in rows]
        total += chance * (max(late) - min(late))
    return total


def nearest(value: Fraction, bits: int) -> Fraction:
    """By a search among all numbers of so many bits around the value."""
    if not value:
        return value
    exponent = math.floor(math.log2(abs(value)))
    units = [Fraction(2) ** (e - bits + 1) for e in (exponent - 1, exponent, exponent + 1)]
    numbers = [(m, m * unit) for unit in units for m in range(2 ** (bits - 1), 2**bits)]
    _, _, size = min((abs(number - abs(value)), m % 2, number) for m, number in numbers)
    return size if value > 0 else -size


def bits_for(things: int) -> int:
    return next(bits for bits in range(64) if 2**bits >= things)


def below(x: Fraction) -> Fraction:
    powers = [Fraction(2) ** e for e in range(-70, 70)]
    return max(power for power in powers if power <= x)


def pascal(size: int, part: int) -> int:
    if part in (0, size):
        return 1
    return pascal(size - 1, part - 1) + pascal(size - 1, part)


def present_groups(size: int, members: int, p: Fraction) -> Fraction:
    groups = ((sum(there) // members if sum(there) >= members else sum(there), c) for there, c in outcomes(size, 1 - p))
    return sum((count * chance for count, chance in groups), Fraction(0))


def inverse_number(size: int, loss: Fraction) -> Fraction:
    return sum((chance / sum(there) for there, chance in outcomes(size, 1 - loss) if any(there)), Fraction(0))


def exact_times(rate: Fraction, times: int) -> Fraction:
    return math.prod([1 + rate] * times, start=Fraction(1)) - 1


RATIONAL: dict[type, tuple[object, Iterable[Arguments]]] = {
    binary_ones: (
        lambda P, u: sum((u ** bin(i).count("1") for i in range(1, P)), Fraction(0)),
        product(range(1, 18), (*SHARES, Fraction(1, 2**11))),
    ),
    choose: (pascal, ((n, k) for n in range(11) for k in range(n + 1))),
    compounded: (exact_times, product((*SHARES, Fraction(-1, 4)), (0, 1, 2, 3, 8, 13))),
    harmonic_number: (lambda n: sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0)), ((n,) for n in range(30))),
    index_bits: (bits_for, ((n,) for n in (*range(1, 70), 2**31 - 1, 2**31, 2**31 + 1))),
    inverse_arrivals: (inverse_number, product(range(1, 10), SHARES)),
    log2: (math.log2, ((Fraction(2) ** e,) for e in range(-9, 10))),
    mean_blocks: (
        lambda n: Fraction(sum(map(len, partitions(n))), len(partitions(n))),
        ((n,) for n in range(1, 9)),
    ),
    mean_overlap: (overlap, ((n, side) for side in (1, 2, 3) for n in range(1, side * side + 1))),
    nearest_float: (
        nearest,
        ((s * Fraction(n, d), b) for n in range(19) for d in (1, 3, 8, 11) for b in (2, 3, 5) for s in (1, -1)),
    ),
    power_below: (below, ((Fraction(n, d),) for n in range(1, 20) for d in (1, 3, 8, 31))),
    regrouped: (present_groups, product(range(1, 9), (1, 2, 3, 4), SHARES)),
    ring_walks: (walks, product(range(1, 10), range(8))),
    staleness_range: (spread, product((1, 2, 3), SHARES, (0, 1, 2, 3))),
    vote_error: (
        wrong_vote,
        ((h, a, b, q, tau) for h in range(4) for a in range(3) for b in range(3) for q in SHARES[:4] for tau in SHARES),
    ),
}


@pytest.mark.parametrize("function", RATIONAL, ids=lambda f: f.__name__)
def test_a_function_is_what_is_counted(function):
    meaning, cases = RATIONAL[function]
    values = set()
    for arguments in cases:
        counted = meaning(*arguments)
        said = function(*map(sp.Rational, arguments))
        assert said == sp.Rational(counted), (arguments, said, counted)
        in_floats = float(function._imp_(*map(float, arguments)))
        # arguments are rounded, and no value moves by more than 64 times as much: degrees are at most 13, sums short
        assert abs(in_floats - float(counted)) <= 64 * U * max(1, abs(float(counted))), (arguments, in_floats)
        values.add(said)
    assert len(values) >= 5, "a constant would fit"


def test_what_softmax_is_at_most_off_by():
    for classes in (2, 3, 10, 1000, 50257, 10**9):
        root, unit = softmax_distance.exact(classes), Fraction(1, 10**25)
        with mp.workdps(60):
            at, below_it = (mpf(r.numerator) / r.denominator for r in (root, root * (1 - unit)))
            assert at * mp.exp(1 + at) >= classes - 1 > below_it * mp.exp(1 + below_it)
    assert softmax_distance.exact(1) == 0


def test_worst_sign_of_unimodal_noise():
    """Noise that is nothing with probability 1 - w, and else uniform in [-c, c] with c^2 w = 3 sigma^2."""
    shares, step = np.linspace(1e-4, 1, 20001, retstep=True)
    widths = np.sqrt(3 / shares)
    for ratio in (Fraction(n, 8) for n in range(1, 30)):
        wanted = np.max(shares * np.maximum(widths - float(ratio), 0) / (2 * widths))
        said = float(gauss(sp.Rational(ratio)))
        # five roundings, of a difference that is a third of its terms at least
        assert abs(float(gauss._imp_(float(ratio))) - said) <= 15 * U * said
        assert wanted <= said * (1 + 15 * U)
        # half a step from the maximum, where the second derivative is 3 ratio^2/16, twice for the third one
        assert said - wanted <= 2 * 3 / 16 * float(ratio) ** 2 * (step / 2) ** 2 / 2 + 15 * U


def test_normal_points():
    for q in (Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 1000), Fraction(3, 4)):
        with mp.workdps(40):
            wanted = mp.sqrt(2) * mp.erfinv(1 - 2 * mpf(q.numerator) / q.denominator)
        said = float(upper_normal(sp.Rational(q)).evalf())
        assert abs(said - float(wanted)) <= 4 * U * abs(float(wanted))  # to 15 digits, twice rounded
        # q is rounded too, which moves the point by q u over the density there
        moved = float(q) * U / NormalDist().pdf(float(wanted))
        assert abs(upper_normal._imp_(float(q)) - float(wanted)) <= LIBRARY * abs(float(wanted)) + moved


def test_expected_ends():
    for count, time, mean, sd in ((1, 1, 1, 1), (4, 3, 1, Fraction(1, 4)), (12, 5, Fraction(1, 2), Fraction(1, 8))):
        with mp.workdps(30):
            points = (mpf(float(time - m * mean)) / float(sd) / mp.sqrt(m) for m in range(1, count + 1))
            wanted = float(sum(mp.ncdf(point) for point in points))
        arguments = [sp.Rational(a) for a in (count, time, mean, sd)]
        # of each term the library, and four roundings of its argument z, as z phi(z) is at most 1/4; then the sum
        allowed = count * (LIBRARY + U) + count * U * wanted
        assert abs(float(expected_ends(*arguments).evalf()) - wanted) <= allowed
        assert abs(float(expected_ends._imp_(*map(float, arguments))) - wanted) <= allowed


def test_share_of_a_sketch_that_is_kept():
    """Of two degrees of freedom quantiles are logarithms: the integral of ln(1 - u)/(ln(1 - u) - ln m)."""
    for rows in (1, 2, 10, 1000):
        with mp.workdps(20):
            wanted = mp.quad(lambda v, m=rows: mp.log(v) / (mp.log(v) - mp.log(m)), [0, 0.01, 1]) if rows > 1 else 1
        for said in (retained(rows, 2).evalf(), retained._imp_(rows, 2)):
            assert abs(float(said) - float(wanted)) <= 1e-10, "as its quadrature says"


def test_every_function_of_the_book_is_here():
    theory.claims()
    found = {
        kind
        for name, module in list(sys.modules.items())
        if name.startswith("commbounds.theory")
        for kind in vars(module).values()
        if inspect.isclass(kind) and issubclass(kind, sp.Function) and kind.__module__.startswith("commbounds")
    }
    others = {gauss, softmax_distance, upper_normal, expected_ends, retained}
    assert found - {ExactFunction} == {*RATIONAL, *others}
