"""The book's formulas against each other and against their derivations: no kernel, no array."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from symbol_values import VALUES

from commbounds.theory import claims
from commbounds.theory.quantities import b, index_bits, k, n, norm1, norm2, norm3, norminf, s

BOOK = claims()
SIZES = [(size, level) for size in (1, 2, 3, 4, 5, 8, 16, 17, 36, 64, 100, 1000, 4096) for level in (1, 2, 3, 4, 7, 16)]


def rhs(name):
    return BOOK[name].relation.rhs


def bound(name, **values):
    return BOOK[name].bound(**values)


def root(value):
    return sp.sqrt(sp.Rational(value))


def is_zero(expression):
    return sp.simplify(expression) == 0


# Sparsifiers


def test_top_k_with_floor_breaks_the_factor_and_with_ceiling_keeps_it():
    error = bound("sparsifiers.topk.contraction", n=9, k=1)
    assert error == Fraction(8, 9)
    assert error > bound("sparsifiers.topk.floor_k", mu=Fraction(1, 5)) == Fraction(4, 5)
    for size, share in itertools.product(range(1, 13), (Fraction(i, 24) for i in range(1, 25))):
        kept = math.ceil(share * size)
        assert BOOK["sparsifiers.topk.ceil_k"].assumes[-1].admits(mu=share, n=size, k=kept)
        assert bound("sparsifiers.topk.contraction", n=size, k=kept) <= bound("sparsifiers.topk.ceil_k", mu=share)


def test_two_workers_are_within_the_global_error_and_beyond_any_factor():
    for e in (Fraction(1), Fraction(1, 10), Fraction(1, 1000)):
        squares, average = 2 * ((1 + e) ** 2 + 1), e**2 / 2
        error = bound("sparsifiers.topk.two_workers", e=e)
        within = bound("sparsifiers.topk.global_error", n=2, k=1, P=2, sumsq=squares, norm2bar=root(average))
        assert error == 1 / e**2 <= within
        assert error > bound("sparsifiers.topk.global_contraction", n=2, k=1)


def test_block_top_k_by_the_share_of_entries_fails_where_blocks_do_not_divide():
    blocks, share = "sparsifiers.blocktopk.contraction", "sparsifiers.blocktopk.kept_share"
    assert bound(blocks, n=6, k=1, block=2) == bound(share, n=6, k=1, block=2) == Fraction(2, 3)
    assert bound(blocks, n=3, k=1, block=2) == Fraction(1, 2) > bound(share, n=3, k=1, block=2) == Fraction(1, 3)


def test_chunk_top_k_has_the_share_of_its_worst_chunk():
    for size, chunk, kept in itertools.product(range(1, 12), range(1, 12), range(1, 12)):
        lengths = [min(chunk, size - i) for i in range(0, size, chunk)]
        worst = min(Fraction(min(kept, length), length) for length in lengths)
        if kept <= chunk:
            assert bound("sparsifiers.chunktopk.contraction", n=size, chunk=chunk, k=kept) == 1 - worst
            sent = sum(min(kept, length) for length in lengths)
            bits = sent * (32 + (chunk - 1).bit_length())
            assert bound("sparsifiers.chunktopk.wire", n=size, chunk=chunk, k=kept, itembits=32) == bits


def test_rand_k_is_consistent():
    assert is_zero(rhs("sparsifiers.randk.second_moment") - 1 - rhs("sparsifiers.randk.variance"))
    assert is_zero(rhs("sparsifiers.randk.shrunk_contraction") - rhs("sparsifiers.randk.contraction"))
    # one worker: the average is the vector itself
    alone = {"P": 1, "sumsq": sp.Symbol("q", positive=True) ** 2, "norm2bar": sp.Symbol("q", positive=True)}
    names = {
        symbol: alone[symbol.name]
        for symbol in rhs("sparsifiers.randk.global_error_independent").free_symbols
        if symbol.name in alone
    }
    assert is_zero(rhs("sparsifiers.randk.global_error_independent").subs(names) - (1 - k / n))
    assert is_zero(rhs("sparsifiers.randk.global_error_scaled").subs(names) - rhs("sparsifiers.randk.variance"))


def test_rand_k_with_independent_supports_fails_exactly_where_workers_cancel():
    for squares in (Fraction(1, 2), Fraction(9, 10), Fraction(1), Fraction(11, 10), Fraction(50)):
        values = {"n": 5, "k": 2, "P": 3, "norm2bar": Fraction(1, 3), "sumsq": squares}
        exact = bound("sparsifiers.randk.global_error_independent", **values)
        assert (exact > bound("sparsifiers.randk.global_contraction", **values)) == (squares > 1)


def test_adaptive_sparsification_attains_its_factor_at_equal_magnitudes():
    equal = {norm1: n, norm2: sp.sqrt(n), norm3: sp.cbrt(n)}
    error = rhs("sparsifiers.adaptivesparsification.error").subs(equal)
    assert is_zero(error - rhs("sparsifiers.adaptivesparsification.contraction"))


# Sign


def test_scaled_sign_attains_its_factor_at_one_entry_only_with_a_sign_of_zero():
    single = rhs("quantizers.scaledsign.error").subs({norm1: 1, norm2: 1})
    assert is_zero(single - rhs("quantizers.scaledsign.contraction"))
    assert rhs("quantizers.scaledsign.error").subs({norm1: n, norm2: sp.sqrt(n)}) == 0
    for size in range(2, 9):
        assert bound("quantizers.scaledsign.one_sparse", n=size) < bound("quantizers.scaledsign.attained", n=size)


# QSGD


def test_qsgd_dual_certificate():
    a, t = sp.symbols("a t", positive=True)
    certificate = t / 2 + a**2 * (1 - 2 * t) / (2 * t)
    assert is_zero(certificate - a * (1 - a) - (a - t) ** 2 / (2 * t))
    # summed over n entries whose squares sum to s^2 = n t^2
    total = n * t / 2 + n * t**2 * (1 - 2 * t) / (2 * t)
    assert is_zero((total / s**2).subs(t, s / sp.sqrt(n)) - (sp.sqrt(n) / s - 1))


def test_qsgd_factor_is_continuous():
    low, high = (piece for piece, _ in rhs("quantizers.qsgd.variance").args)
    assert is_zero((low - high).subs(n, 4 * s**2))
    # and smooth: both pieces touch
    assert is_zero(sp.diff(low - high, n).subs(n, 4 * s**2))


@pytest.mark.parametrize(("size", "level"), SIZES)
def test_qsgd_printed_factor_is_up_to_four_times_too_large(size, level):
    exact = sp.sympify(bound("quantizers.qsgd.variance", n=size, s=level))
    printed = sp.sympify(bound("quantizers.qsgd.variance_printed", n=size, s=level))
    assert exact <= printed <= 4 * exact
    assert (printed == 4 * exact) == (size <= level**2)
    stated = BOOK["quantizers.qsgd.variance_printed"].tightness_at(n=size, s=level)
    assert is_zero(sp.sympify(stated) - exact / printed)


def test_qsgd_factor_is_attained_by_half_integers_exactly_where_the_book_says():
    for level in range(1, 6):
        goal = 4 * level**2
        odd_squares = [odd**2 for odd in range(1, 2 * level + 1, 2)]
        sums = {0}
        for size in range(1, goal + 1):
            sums = {total + square for total in sums for square in odd_squares if total + square <= goal}
            assert (goal in sums) == ((size - goal) % 8 == 0), (size, level)


@pytest.mark.parametrize(("size", "level"), SIZES)
def test_qsgd_second_moment_is_not_bounded_by_the_variance_factor(size, level):
    exact = sp.sympify(bound("quantizers.qsgd.second_moment", n=size, s=level))
    assert is_zero(exact - 1 - bound("quantizers.qsgd.variance", n=size, s=level))
    if size < level**2:
        assert bound("quantizers.qsgd.second_moment_common", n=size, s=level) < 1


@pytest.mark.parametrize(("size", "level"), SIZES)
def test_qsgd_support(size, level):
    exact = sp.sympify(bound("quantizers.qsgd.support", n=size, s=level))
    assert exact <= sp.sympify(bound("quantizers.qsgd.support_printed", n=size, s=level))


# Dithering relative to the largest entry


def test_max_dithering_factor_solves_its_optimisation():
    a, w = sp.symbols("a w", positive=True)
    (place,) = sp.solve(sp.diff(a * (1 - a) - w * a**2, a), a)
    peak = sp.simplify((a * (1 - a) - w * a**2).subs(a, place))
    assert is_zero(peak - 1 / (4 * (1 + w)))
    omega = rhs("quantizers.maxdithering.variance")
    assert is_zero(((n - 1) * peak - w * s**2).subs(w, omega))
    # the extremal input, entries as multiples of max/s: one at s, n - 1 at the peak's place
    levels = place.subs(w, omega)
    assert is_zero((n - 1) * levels * (1 - levels) / (s**2 + (n - 1) * levels**2) - omega)
    assert is_zero(levels / s - 1 / (s + sp.sqrt(s**2 + n - 1)))


def test_terngrad_is_max_dithering_with_one_level():
    assert is_zero(rhs("quantizers.maxdithering.variance").subs(s, 1) - rhs("quantizers.terngrad.variance"))
    other = 1 / (1 + sp.sqrt(n))
    extremal = {norminf: 1, norm1: 1 + (n - 1) * other, norm2: sp.sqrt(1 + (n - 1) * other**2)}
    assert is_zero(rhs("quantizers.terngrad.error").subs(extremal) - rhs("quantizers.terngrad.variance"))


# Powers


def test_stochastic_powers_solve_their_optimisation():
    t = sp.Symbol("t", positive=True)
    variance = (t - 1) * (b - t) / t**2
    (place,) = sp.solve(sp.diff(variance, t), t)
    assert is_zero(place - 2 * b / (b + 1))
    assert is_zero(variance.subs(t, place) - rhs("quantizers.stochasticpower.variance"))
    assert place.subs(b, 2) == sp.Rational(4, 3)
    assert bound("quantizers.stochasticpower.variance", b=2) == bound("quantizers.naturalcompression.variance")
    assert bound("quantizers.naturalcompression.variance") == Fraction(1, 8)


def test_nearest_power_errs_most_half_way():
    t = sp.Symbol("t", positive=True)
    below, above = ((t - 1) / t) ** 2, ((2 - t) / t) ** 2
    assert sp.solve(sp.Eq(below, above), t) == [sp.Rational(3, 2)]
    assert below.subs(t, sp.Rational(3, 2)) == sp.Rational(
        *bound("quantizers.nearestpower.contraction").as_integer_ratio()
    )
    assert sp.diff(below, t).subs(t, sp.Rational(5, 4)) > 0 > sp.diff(above, t).subs(t, sp.Rational(7, 4))


def test_natural_dithering_dual():
    y, u, w, shape = sp.symbols("y u w A", positive=True)
    (place,) = sp.solve(sp.diff(y * (u - y) - w * y**2, y), y)
    assert is_zero((y * (u - y) - w * y**2).subs(y, place) - u**2 / (4 * (1 + w)))
    dual = w + shape**2 / (4 * (1 + w))
    (best,) = sp.solve(sp.diff(dual, w), w)
    assert is_zero(best - (shape / 2 - 1))
    large, small = (piece for piece, _ in rhs("quantizers.naturaldithering.variance").args)
    smallest = 2 ** (1 - s)
    assert is_zero(dual.subs(w, best).subs(shape, sp.sqrt(n) * smallest) - large)
    assert is_zero(dual.subs(w, sp.Rational(1, 8)).subs(shape, sp.sqrt(n) * smallest) - small)
    # the pieces meet where best = 1/8, that is A = 9/4
    meeting = {n: sp.Rational(81, 16) / smallest**2}
    assert is_zero((large - small).subs(meeting))
    # and the large piece is what n equal magnitudes 1/sqrt(n) <= u attain
    assert is_zero(n * (smallest / sp.sqrt(n) - 1 / n) - large)


@pytest.mark.parametrize(("size", "level"), SIZES)
def test_natural_dithering_printed_factor_is_up_to_81_25_too_large(size, level):
    sharp = sp.sympify(bound("quantizers.naturaldithering.variance", n=size, s=level))
    printed = sp.sympify(bound("quantizers.naturaldithering.variance_printed", n=size, s=level))
    assert sharp <= printed <= sp.Rational(81, 25) * sharp
    assert (printed == sp.Rational(81, 25) * sharp) == (size == 4 ** (level - 1))


# What unbiased quantisers have in common


@pytest.mark.parametrize("name", [name for name in BOOK if name.endswith(".shrunk_contraction")])
def test_shrunk_contraction_is_omega_over_one_plus_omega(name):
    for size, level in SIZES[::7]:
        values = {**VALUES, "n": size, "s": level, "k": 1}
        conditions = [h for h in BOOK[name].assumes if isinstance(h.condition, sp.Basic)]
        if not all(h.admits(**values) for h in conditions):
            continue  # one entry, where the bound is 0/0, and a hypothesis says so
        omega = sp.sympify(BOOK[name.replace("shrunk_contraction", "variance")].bound(**values))
        assert is_zero(sp.sympify(BOOK[name].bound(**values)) - omega / (1 + omega))


# Low rank


@pytest.mark.parametrize("c", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_rank_one_of_two_singular_values_errs_by_their_product(c):
    # the leverage of 1 among the singular values 1 and c, over a Cauchy-distributed t
    def integrand(t):
        return 1 / (1 + (c.numerator * t / c.denominator) ** 2) / (mpmath.pi * (1 + t**2))

    with mpmath.workdps(30):
        leverage, estimate = mpmath.quad(integrand, [-mpmath.inf, 0, mpmath.inf], error=True)
        ratio = mpmath.mpf(c.numerator) / c.denominator
        error = 1 + ratio**2 - (leverage + ratio**2 * (1 - leverage))
        assert estimate < 1e-15
        assert abs(error - ratio) <= estimate + 10 * mpmath.eps
    first, second = sp.symbols("a b", positive=True)
    share = first / (first + second)
    assert is_zero(first**2 + second**2 - (first**2 * share + second**2 * (1 - share)) - first * second)


def test_the_determinant_is_within_the_contraction():
    for first, second in itertools.combinations_with_replacement((0, 1, 2, 7), 2):
        if second:
            share = Fraction(first * second, first**2 + second**2)
            factor = bound("lowrank.powersgd.contraction", m=2, n=2, r=1)
            assert share <= factor
            assert (share == factor) == (first == second)


# The wire


@pytest.mark.parametrize(
    ("name", "values", "bits"),
    [
        ("sparsifiers.topk", {"n": 8, "k": 2, "itembits": 32}, 2 * (3 + 32)),
        ("sparsifiers.topk", {"n": 9, "k": 2, "itembits": 64}, 2 * (4 + 64)),
        ("sparsifiers.randk", {"n": 1, "k": 1, "itembits": 32}, 32),
        ("sparsifiers.blocktopk", {"n": 9, "k": 2, "block": 2, "entries": 3, "itembits": 32}, 2 * 3 + 3 * 32),
        ("sparsifiers.hardthreshold", {"n": 8, "entries": 0, "itembits": 32}, 4),
        ("sparsifiers.hardthreshold", {"n": 7, "entries": 7, "itembits": 32}, 7 * (3 + 32) + 3),
        ("sparsifiers.adaptivesparsification", {"n": 1000, "itembits": 64}, 10 + 64),
        ("sparsifiers.identity", {"n": 3, "itembits": 32}, 96),
        ("quantizers.sign", {"n": 5}, 5),
        ("quantizers.scaledsign", {"n": 5, "itembits": 32}, 37),
        ("quantizers.qsgd", {"n": 5, "s": 1, "itembits": 32}, 32 + 5 * 2),
        ("quantizers.qsgd", {"n": 5, "s": 127, "itembits": 32}, 32 + 5 * 8),
        ("quantizers.qsgd", {"n": 5, "s": 128, "itembits": 32}, 32 + 5 * 9),
        ("quantizers.maxdithering", {"n": 5, "s": 4, "itembits": 64}, 64 + 5 * 4),
        ("quantizers.terngrad", {"n": 5, "itembits": 32}, 42),
        ("quantizers.naturalcompression", {"n": 5, "itembits": 32}, 45),
        ("quantizers.naturalcompression", {"n": 5, "itembits": 64}, 60),
        ("quantizers.naturaldithering", {"n": 5, "s": 8, "itembits": 32}, 32 + 5 * 5),
        ("quantizers.stochasticpower", {"n": 5, "levels": 254}, 45),
        ("quantizers.nearestpower", {"n": 5, "itembits": 64}, 60),
        ("lowrank.powersgd", {"m": 3, "n": 4, "r": 2, "itembits": 32}, 7 * 2 * 32),
        ("lowrank.lowrank", {"m": 3, "n": 4, "r": 2, "itembits": 64}, 7 * 2 * 64),
    ],
)
def test_wire(name, values, bits):
    assert bound(f"{name}.wire", **values) == bits


def test_codes_of_powers_are_as_long_as_their_number_asks_for():
    # exponents of normal numbers -126..127 and -1022..1023, two signs, zero
    assert index_bits(sp.Integer(2 * 254 + 1)) == 9
    assert index_bits(sp.Integer(2 * 2046 + 1)) == 12
