"""The dense column's formulas against other ways to the same numbers."""

import itertools
from fractions import Fraction

import pytest
import sympy as sp

from commbounds.theory import Standing, claims
from commbounds.theory.quantities import P, n
from commbounds.theory.schedules import DENSE_LOWER_BOUND

BOOK = claims()
SIZES = list(itertools.product(range(1, 20), (1, 2, 3, 7, 16, 30, 64)))


def bound(name, **values):
    return BOOK[f"dense.{name}"].bound(**values)


def blocks(length, count):
    """Words of blocks that differ by one at most, longer ones first."""
    return [length // count + (i < length % count) for i in range(count)]


def test_rabenseifner_halves_and_doubles_among_a_power_of_two():
    for ranks, length in SIZES:
        core = 1 << (ranks.bit_length() - 1)
        sizes = blocks(length, core)
        # every step moves the longest run of 1, 2, 4, ... neighbouring blocks, there and back
        halves = sum(max(sum(sizes[i : i + 2**j]) for i in range(0, core, 2**j)) for j in range(core.bit_length() - 1))
        folds = 2 * length * (core < ranks)
        assert bound("rabenseifner.critical_path", P=ranks, n=length) == 2 * halves + folds
        if length % core == 0:
            assert halves == Fraction(length * (core - 1), core)


def test_bruck_moves_the_longest_window_of_blocks():
    for ranks, length in SIZES:
        twice = 2 * blocks(length, ranks)
        total, have = 0, 1
        while have < ranks:
            more = min(have, ranks - have)
            total += max(sum(twice[i : i + more]) for i in range(ranks))
            have += more
        assert bound("allgather.bruck_words", P=ranks, n=length) == total
        assert bound("reduce_scatter.bruck_words", P=ranks, n=length) == total


def test_recursive_doubling_folds():
    assert [bound("recursive_doubling.critical_path", P=ranks, n=10) for ranks in (1, 2, 3, 4, 5, 8, 9)] == [
        0, 10, 30, 20, 40, 30, 50,
    ]  # fmt: skip
    assert [bound("recursive_doubling.messages", P=ranks) for ranks in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]


def test_the_ring_sends_twice_all_but_two_neighbouring_blocks():
    for ranks, length in SIZES:
        if ranks > 1:
            sizes = blocks(length, ranks)
            most = 2 * length - min(a + b for a, b in zip(sizes, sizes[1:] + sizes[:1], strict=True))
            assert bound("ring.sent", P=ranks, n=length) == bound("ring.received", P=ranks, n=length) == most
            assert most >= DENSE_LOWER_BOUND.subs({P: ranks, n: length})


def test_no_claim_about_words_that_holds_is_below_the_lower_bound():
    for name, claim in BOOK.items():
        if claim.column == "dense" and claim.stands is Standing.HOLDS and name.endswith(("critical_path", "received")):
            if claim.subject in ("allgather", "gather_blocks"):
                continue
            for ranks, length in SIZES:
                if all(h.admits(P=ranks, n=length) for h in claim.assumes):
                    assert claim.bound(P=ranks, n=length) >= DENSE_LOWER_BOUND.subs({P: ranks, n: length})


def known(held):
    """Everything that a rank can form of the partial sums that it holds: unions of disjoint ones."""
    formed, grew = set(held), True
    while grew:
        unions = {a | b for a, b in itertools.combinations(formed, 2) if not a & b}
        grew = not unions <= formed
        formed |= unions
    return frozenset(formed)


@pytest.mark.parametrize(("ranks", "words"), [(1, 0), (2, 2), (3, 4)])
def test_the_lower_bound_is_the_shortest_of_all_ways(ranks, words):
    """All sequences of transfers of one word, a sum of any of the terms, breadth first."""
    whole = frozenset(range(ranks))
    states, sent = {tuple(known({frozenset([rank])}) for rank in range(ranks))}, 0
    while not any(all(whole in held for held in state) for state in states):
        states = {
            (*state[:target], known(state[target] | {word}), *state[target + 1 :])
            for state in states
            for source, target in itertools.permutations(range(ranks), 2)
            for word in state[source]
        }
        sent += 1
    assert sent == words == ranks * DENSE_LOWER_BOUND.subs({P: ranks, n: 1})


def test_the_rounding_bound_is_met_by_a_half_way_case():
    unit = Fraction(1, 2**24)
    claim = BOOK["dense.ring.rounding"]
    # 1 + u is rounded to 1
    assert claim.bound(P=2, unit=unit) * claim.tightness_at(P=2, unit=unit) == unit / (1 + unit)
    for depth in range(1, 70):
        exact = (1 + unit / (1 + unit)) ** depth - 1
        assert exact <= claim.bound(P=depth + 1, unit=unit) * claim.tightness_at(P=depth + 1, unit=unit)


def test_printed_formulas_are_the_corrected_ones_where_they_apply():
    for name in ("ring", "recursive_doubling", "rabenseifner"):
        printed = BOOK[f"dense.{name}.words_any_ranks"]
        assert printed.stands is Standing.HOLDS_AS_CORRECTED
        for ranks in (1, 2, 4, 8, 16):
            assert printed.bound(P=ranks, n=48) == bound(name + ".critical_path", P=ranks, n=48)
    assert sp.simplify(BOOK["dense.rabenseifner.words_any_ranks"].relation.rhs - DENSE_LOWER_BOUND) == 0
