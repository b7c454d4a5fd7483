"""Formulas of the columns moshpit and gossip against numbers that were computed otherwise."""

import ast
import inspect
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from printed import printed

from commbounds.theory import claims, quantities
from commbounds.theory.functions import ExactFunction
from commbounds.theory.moshpit import terms
from commbounds.theory.moshpit.terms import mean_blocks, mean_overlap, regrouped, ring_walks
from commbounds.verify.definitions.moshpit import set_partitions

BOOK = claims()


def definitions(module):
    """The sentence under every assignment of a module."""
    lines = ast.parse(inspect.getsource(module)).body
    return {
        vars(module)[line.targets[0].id]: text.value.value
        for line, text in itertools.pairwise(lines)
        if isinstance(line, ast.Assign) and isinstance(text, ast.Expr)
    }


def test_every_symbol_is_defined_in_the_words_of_its_column():
    # one symbol may mean two things in two columns: r is a rank of matrices elsewhere
    defined = {"n": definitions(quantities)[quantities.n]}
    defined |= {symbol.name: text for symbol, text in definitions(terms).items()}
    for claim in BOOK.values():
        if claim.column in ("moshpit", "gossip"):
            conditions = [h.condition for h in claim.assumes if isinstance(h.condition, sp.Basic)]
            for expression in (claim.relation.rhs, *conditions):
                assert all(defined[symbol.name] for symbol in expression.free_symbols), claim.name
                assert all(function.func.__doc__ for function in expression.atoms(ExactFunction)), claim.name
    assert defined["r"].startswith("Groups")


def bound(name, **values):
    return BOOK[name].bound(**values)


def test_the_printed_factor_is_too_large_by_what_the_note_says():
    for N, r in ((4, 2), (8, 4), (16, 4), (512, 16), (1024, 32)):
        published = bound("moshpit.random_groups.as_recalled", N=N, r=r, rounds=1)
        exact = bound("moshpit.random_groups.factor", N=N, r=r, rounds=1)
        assert published - exact == Fraction(N - r, N**2 * (N - 1))
        assert published / exact == 1 + Fraction(N - r, N**2 * (r - 1))
    assert bound("moshpit.random_groups.as_recalled", N=4, r=2, rounds=1) == Fraction(3, 8)
    five = [bound(f"moshpit.random_groups.{name}", N=4, r=2, rounds=5) for name in ("as_recalled", "factor")]
    assert float(five[0] / five[1]) == printed("1.80")


@pytest.mark.parametrize(("N", "r", "expected"), [(2, 2, "0.5000"), (512, 256, "0.4315")])
def test_free_labels(N, r, expected):
    assert float(bound("moshpit.random_groups.labels", N=N, r=r, rounds=1)) == printed(expected)


@pytest.mark.parametrize(("p", "expected"), [(0.001, "6.35e-5"), (0.005, "3.375e-4"), (0.01, "7.25e-4")])
def test_failures_on_the_grid_of_the_experiment(p, expected):
    assert bound("moshpit.grid.failures", N=1024, M=32, dims=2, failure=p) == printed(expected)


def test_a_half_full_grid():
    assert float(bound("moshpit.grid.partial", N=512, M=32)) == printed("1.949e-3")


@pytest.mark.parametrize(
    ("N", "attempts"), [(512, ("1.67", "13.0", "171.7")), (1024, ("2.79", "169.5", "2.948e4"))], ids=("512", "1024")
)
def test_expected_attempts(N, attempts):
    for p, expected in zip((0.001, 0.005, 0.01), attempts, strict=True):
        assert bound("gossip.restarts.attempts", N=N, failure=p) == printed(expected)


# the ring's gap is 1.255e-5: 2 (1 - cos(2 pi/1024))/3, from which its rounds follow; 1.26e-5 had been noted
@pytest.mark.parametrize(
    ("name", "gap", "rounds"), [("ring", "1.255e-5", 825636), ("torus", "7.69e-3", 1343), ("exponential", "0.182", 52)]
)
def test_gaps_and_rounds_of_gossip_among_1024(name, gap, rounds):
    squared = float(bound(f"gossip.{name}.distortion", N=1024, rounds=1))
    assert 1 - math.sqrt(squared) == printed(gap)
    assert math.ceil(math.log(1e-9) / math.log(squared)) == rounds


def test_mean_blocks_counts_set_partitions():
    for N in range(1, 7):
        partitions = set_partitions(N)
        assert mean_blocks.exact(N) == Fraction(sum(max(labels) + 1 for labels in partitions), len(partitions))


def test_mean_overlap_counts_placements():
    for N in range(1, 10):
        total, count = Fraction(0), 0
        for cells in itertools.combinations(itertools.product(range(3), repeat=2), N):
            for a, b in cells:
                total += Fraction(1, sum(c[0] == a for c in cells) * sum(c[1] == b for c in cells))
                count += 1
        assert mean_overlap.exact(N, 3) == total / count


def test_regrouped_sums_over_failures():
    p = Fraction(1, 3)
    for N, M in ((3, 2), (4, 3), (5, 1)):
        total = Fraction(0)
        for alive in itertools.product((True, False), repeat=N):
            there = sum(alive)
            groups = there // M if there >= M else there
            total += p ** (N - there) * (1 - p) ** there * groups
        assert regrouped.exact(N, M, p) == total


def test_ring_walks_are_traces_of_powers():
    for N, t in itertools.product((1, 2, 3, 7), (0, 1, 4, 10)):
        angles = 2 * np.pi * np.arange(N) / N
        # a factor is off by less than eight units, its angle below 2 pi by most of them; all numbers are at most 1
        room = (8 * t + N) * np.finfo(float).eps
        assert float(ring_walks.exact(N, t)) == pytest.approx(np.mean(((1 + 2 * np.cos(angles)) / 3) ** t), abs=room)


@pytest.mark.parametrize("function", [mean_blocks, mean_overlap, regrouped, ring_walks])
def test_functions_of_symbols_stay_symbolic_and_evaluate_in_floats(function):
    count = function.nargs.args[0]
    symbols = sp.symbols(f"a:{int(count)}")
    expression = function(*symbols)
    assert expression.free_symbols == set(symbols)
    values = (4, 2, Fraction(1, 4))[: int(count)]
    exact = function(*(sp.Rational(v) for v in values))
    evaluated = sp.lambdify(symbols, expression, "numpy")(*(np.array([float(v)] * 2) for v in values))
    assert evaluated.tolist() == [float(exact)] * 2


def test_the_weights_of_those_that_stay_are_even_in_the_mean_and_their_squares_no_more_than_one_over_their_number():
    rng = np.random.default_rng(0)
    runs, starts = 4000, np.zeros(7)
    for _ in range(runs):
        weights, present = np.full(2, 1 / 2), rng.permutation(7)  # two of seven stay; four in between
        for size in (4, 7):
            labels = rng.integers(0, 2, len(weights))
            for g in set(labels.tolist()):
                weights[labels == g] = weights[labels == g].mean()
            assert np.square(weights).sum() <= 1 / 2 + 1e-12
            weights = rng.permutation(np.concatenate([weights, np.zeros(size - len(weights))]))
        starts[present] += weights / runs
    # a run adds weights whose means were rounded, and each addition rounds once more: less than a unit of 1 a run
    assert starts.sum() == pytest.approx(1, abs=runs * np.finfo(float).eps)
    # of a variance below 1/2, five standard deviations of the mean over the runs
    assert np.abs(starts - 1 / 7).max() < 5 * math.sqrt(0.5 / runs)


def test_the_general_law_gives_every_special_one():
    N, M, r = 12, 4, 3
    p = Fraction(1, 5)
    general = {
        "factor": r,
        "labels": r * (1 - (1 - Fraction(1, r)) ** N),
        "all_partitions": mean_blocks.exact(N),
        "skip": r * (1 - p**M) + p * N,
        "abort": r * ((1 - p) ** M + M * (1 - (1 - p) ** M)),
        "regrouping": regrouped.exact(N, M, p) + p * N,
    }
    for name, blocks in general.items():
        special = bound(f"moshpit.random_groups.{name}", N=N, M=M, r=r, rounds=1, failure=p)
        assert special == bound("moshpit.random_groups.general", N=N, blocks=Fraction(blocks)), name
