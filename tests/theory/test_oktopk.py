"""Ok-Topk's formulas against their derivations and against numbers worked out elsewhere: no kernel, no collective."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp

from commbounds.theory import Standing, Tag, claims
from commbounds.theory.cost import cost
from commbounds.theory.quantities import P
from commbounds.theory.schedules import SCHEDULES

BOOK = claims()


def bound(name, **values):
    return BOOK[f"oktopk.{name}"].bound(**values)


def rhs(name):
    return BOOK[f"oktopk.{name}"].relation.rhs


def is_zero(expression):
    return sp.simplify(expression) == 0


def sizes_of(total, parts):
    """Every way to write `total` as `parts` nonnegative integers, in order."""
    for cuts in itertools.combinations_with_replacement(range(total + 1), parts - 1):
        ends = (0, *cuts, total)
        yield tuple(b - a for a, b in itertools.pairwise(ends))


def moved(sizes):
    """(out, in) of every rank when intervals of these sizes are cut anew at equal counts."""
    ranks, total = len(sizes), sum(sizes)
    targets = [total // ranks + (r < total % ranks) for r in range(ranks)]
    starts = list(itertools.accumulate(sizes, initial=0))
    goals = list(itertools.accumulate(targets, initial=0))
    kept = [max(0, min(starts[r + 1], goals[r + 1]) - max(starts[r], goals[r])) for r in range(ranks)]
    return [(sizes[r] - kept[r], targets[r] - kept[r]) for r in range(ranks)]


# Volume


def test_the_published_volume_is_the_sum_of_its_schedule():
    words = {name: cost(SCHEDULES[name]).words for name in ("oktopk", "oktopk_balanced", "oktopk_lower")}
    assert is_zero(rhs("path.even_split") - words["oktopk"])
    assert is_zero(rhs("sent.even_split") - words["oktopk"])
    # all-gather alone is the lower end; a balanced split adds as much; balancing as much again
    assert is_zero(rhs("split.rotation") - words["oktopk_lower"])
    assert is_zero(rhs("balance.always") - (words["oktopk"] - words["oktopk_lower"]))
    assert is_zero(rhs("both.perfect") - 2 * words["oktopk_balanced"])
    assert is_zero(rhs("lower.any_vectors") - words["oktopk_lower"])


@pytest.mark.parametrize(
    ("ranks", "tight", "any_split"), [(2, 96, 128), (4, 288, 320), (8, 672, 704), (16, 1440, 1472)]
)
def test_words_at_sixteen_entries_a_rank(ranks, tight, any_split):
    values = {"P": ranks, "k": 16 * ranks}
    assert bound("sent.even_split", **values) == tight
    assert bound("sent.any_split", **values) == any_split < bound("sent.ring", **values)
    assert any_split / Fraction(tight) == BOOK["oktopk.sent.unconditional"].tightness_at(**values)
    general = {"selected": 16 * ranks, "winners": 16 * ranks, "P": ranks}
    assert bound("sent.general", **general) == any_split


def test_what_is_received_exceeds_the_published_bound_by_a_third_of_the_ranks():
    for ranks in (2, 3, 4, 16, 32, 256):
        values = {"P": ranks, "k": 12}
        ratio = bound("received.worst", **values) / bound("received.unconditional", **values)
        assert ratio == BOOK["oktopk.received.unconditional"].tightness_at(**values)
        assert Fraction(ranks, 3) < ratio
        # all entries in region 0, where the winners are as well: (P + 1)/3, 4800 words at P = 4, k = 640
        stale = 2 * (ranks - 1) * 12 + 2 * 12 * Fraction(ranks - 1, ranks)
        assert stale / bound("received.unconditional", **values) == Fraction(ranks + 1, 3)
    assert round(float(Fraction(16**2, 3 * 15)), 2) == 5.69


def test_under_balance_receiving_is_below_the_published_bound_from_three_ranks_on():
    for ranks in range(2, 20):
        values = {"P": ranks, "k": 5}
        received, published = bound("received.even_split", **values), bound("sent.even_split", **values)
        assert (received == published) if ranks == 2 else received < published
        assert bound("both.perfect", **values) <= bound("both.even_split", **values)
        assert bound("both.as_read", **values) < bound("both.perfect", **values)


def test_inbound_entries_that_keep_the_published_bound():
    (limit,) = BOOK["oktopk.received.limited_inbound"].assumes[2:3]
    for ranks, entries in itertools.product((2, 3, 4, 8), (3, 8, 24)):
        for count in range(2 * entries):
            within = 2 * count + 2 * entries <= bound("received.unconditional", P=ranks, k=entries)
            assert limit.admits(P=ranks, k=entries, inbound=count) == within


def test_global_counts_keep_six_k_on_both_sides_where_k_is_large_enough():
    for ranks, entries in itertools.product(range(2, 12), range(1, 15)):
        received = bound("received.global_count", P=ranks, k=entries)
        assert received == 2 * bound("boundaries.global_count", P=ranks, k=entries) + 2 * entries
        assert (received <= 6 * entries) == (entries >= ranks - 2)


@pytest.mark.parametrize(("ranks", "n"), [(2, 3), (2, 4), (3, 2), (3, 3)])
def test_regions_cut_at_global_counts_hold_few_entries_of_others(ranks, n):
    masks = list(itertools.product((0, 1), repeat=n))
    worst = {}
    for chosen in itertools.product(masks, repeat=ranks):
        most = max(map(sum, chosen))
        if most == 0:
            continue
        running = list(itertools.accumulate(map(sum, zip(*chosen, strict=True))))
        cuts = [0]
        for j in range(1, ranks):
            cuts.append(next(i for i, c in enumerate(running) if c >= -(-j * running[-1] // ranks)) + 1)
        cuts.append(n)
        for r in range(ranks):
            inside = sum(sum(mask[cuts[r] : cuts[r + 1]]) for p, mask in enumerate(chosen) if p != r)
            worst[most] = max(worst.get(most, 0), inside)
    for entries, inside in worst.items():
        assert inside <= bound("boundaries.global_count", P=ranks, k=entries)


# Balancing


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_balancing_moves_no_more_than_the_book_says(ranks):
    for total in range(9):
        values = {"P": ranks, "winners": total}
        out, into, both = 0, 0, 0
        for sizes in sizes_of(total, ranks):
            for a, b in moved(sizes):
                out, into, both = max(out, a), max(into, b), max(both, a + b)
        assert 2 * out <= bound("balance.moves_out", **values)
        assert 2 * into <= bound("balance.moves_in", **values)
        if total % ranks == 0:
            # what leaves and what comes in together, in the proof of both.even_split
            assert both == total * Fraction(ranks - 1, ranks)
            assert 2 * out == bound("balance.moves_out", **values)


@pytest.mark.parametrize(("ranks", "ratio"), [(8, 1.286), (16, 1.311), (32, 1.323), (64, 1.328)])
def test_the_quarter_rule_by_linear_programming(ranks, ratio):
    entries = ranks
    # how often rank 0 sends the block of the rank at each distance: Bruck's steps send 1, 2, 4, ... blocks
    times = [
        sum(step > distance for step in (2**j for j in range(ranks.bit_length() - 1))) for distance in range(ranks)
    ]
    left, most = entries, 0
    for weight in sorted(times, reverse=True):  # the best that sums to k with at most 4k/P a block is greedy
        block = min(4, left)
        most, left = most + weight * block, left - block
    assert 2 * most == bound("balance.quarter", P=ranks, k=entries)
    split = bound("split.rotation", P=ranks, k=entries)
    published = bound("sent.even_split", P=ranks, k=entries)
    assert round(float((split + 2 * most) / published), 3) == ratio
    assert (split + bound("balance.quarter_ring", P=ranks, k=entries)) / published == Fraction(5, 3)
    stated = BOOK["oktopk.balance.quarter_as_read"].tightness_at(P=ranks, k=entries)
    assert 2 * most == stated * bound("balance.quarter_as_read", P=ranks, k=entries)


def test_rotation_is_worth_a_factor_of_the_number_of_ranks():
    assert is_zero(rhs("split.unrotated") / rhs("split.rotation") - P)


# Thresholds


@pytest.mark.parametrize(
    ("density", "scale", "share"),
    [
        (0.01, 0.8, "0.128"), (0.01, 0.9, "0.421"), (0.01, 1.0, "1"), (0.01, 1.1, "1.92"), (0.01, 1.25, "3.93"),
        (0.01, 1.5, "8.6"), (0.01, 2.0, "19.8"), (0.001, 2.0, "99.9"),
    ],
)  # fmt: skip
def test_a_reused_threshold(density, scale, share):
    with mpmath.workdps(30):
        z = mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(density))
        exact = 2 * mpmath.ncdf(-z / scale) / mpmath.mpf(density)
    law = bound("threshold.drift", z=float(z), scale=scale)
    # erfc loses up to z^2 units in the last place to the rounding of its argument
    assert law == pytest.approx(float(exact), rel=32 * 2.0**-52 * float(z) ** 2)
    digits = len(share.replace(".", "").lstrip("0"))
    assert f"{law:.{digits}g}" == share


def test_re_evaluations_cost_as_much_as_gathering_everything():
    for ranks, n in ((32, 65_536), (4, 10)):
        entries = n // 100 + 1
        worst = bound("reevaluation.mean_worst", P=ranks, k=entries, n=n)
        assert worst == bound("reevaluation.mean", P=ranks, union=min(entries * ranks, n))
        assert bound("reevaluation.most", P=ranks, k=entries, n=n) >= worst
    assert bound("reevaluation.mean", P=32, union=32 * 640) == 62 * 640


# Descent


def test_the_residual_settles_where_the_bound_on_the_gradient_says():
    gamma, largest, step = math.sqrt(1 - 3 / 7), 0.5, 1.0
    residual, history = 0.0, []
    for _ in range(200):
        history.append(residual)
        residual = bound("sgd.residual", n=7, k=3, before=residual, move=step, xi=largest)
    limit = (gamma + largest) / (1 - gamma) * step
    # gamma^200 is below 1e-24; a step rounds four times, and 1/(1 - gamma) < 4.2 steps are remembered
    assert residual == pytest.approx(limit, rel=10 * 2.0**-52)
    assert all(a <= b <= limit * (1 + 1e-15) for a, b in itertools.pairwise(history))
    drift = bound("sgd.gradient", n=7, k=3, gap=0.0, eta=1e-9, horizon=1, smooth=1.0, moment=1e9, xi=largest)
    # 1e9 is the term L eta M^2; a few roundings of numbers of its size
    assert drift - 1e9 == pytest.approx(limit**2, abs=4 * 2.0**-52 * 1e9)


def test_the_stalling_pair_admits_no_constant():
    for allowed in (1, 10, 1000):
        assert bound("sgd.stall", horizon=allowed + 1) > bound("sgd.assumption", xi=allowed)
    (pair,) = BOOK["oktopk.sgd.stall"].assumes
    run = {"P": 2, "k": 1, "B": 8, "steps": 7, "tau_prime": 1}
    assert pair.admits(**run)
    for change in ({"P": 3}, {"k": 2}, {"steps": 8}, {"tau_prime": 2}):
        assert not pair.admits(**{**run, **change})


def test_what_is_even_is_told_from_counts():
    (split,) = (h for h in BOOK["oktopk.split.rotation"].assumes if h.name == "even_split")
    (even,) = (h for h in BOOK["oktopk.both.perfect"].assumes if h.name == "even_regions")
    ones, own = np.ones((2, 2), int), np.diag((5, 2))
    assert split.admits(P=2, k=2, region_counts=ones)
    assert split.admits(P=2, k=2, region_counts=ones + own)
    assert own[0, 0] == 5
    assert not split.admits(P=2, k=1, region_counts=ones)
    assert even.admits(P=2, k=2, region_counts=ones, region_winners=ones[0])
    assert not even.admits(P=2, k=2, region_counts=ones + own, region_winners=ones[0])
    assert not even.admits(P=2, k=2, region_counts=ones, region_winners=own[0])


def test_magnitudes_differ_and_enough_are_not_zero():
    (distinct,) = (h for h in BOOK["oktopk.threshold.strict"].assumes if h.name == "distinct_magnitudes")
    assert distinct.admits(x=np.array([[0.0, -1.0, 2.0]]), k=2)
    assert not distinct.admits(x=np.array([[0.0, -1.0, 2.0]]), k=3)
    assert not distinct.admits(x=np.array([[3.0, 1.0, 2.0], [0.0, -2.0, 2.0]]), k=1)


def test_means_of_whole_gradients_are_exact_for_powers_of_two_and_multiples():
    (exact,) = (h for h in BOOK["oktopk.sgd.iterate"].assumes if h.name == "exact_means")
    ones = np.ones((6, 2))
    assert exact.admits(x=ones, P=2)
    assert not exact.admits(x=ones, P=3)
    assert exact.admits(x=3 * ones, P=3)
    assert not exact.admits(x=ones / 2, P=2)
    assert not exact.admits(x=2.0**52 * ones, P=2)
    assert exact.admits(x=(2.0**21 * ones).astype("float32"), P=2)
    assert not exact.admits(x=(2.0**22 * ones).astype("float32"), P=2)


# Sources


def test_what_fails_is_argued_against_and_named_after_nobody_where_nobody_says_it():
    for claim in BOOK.values():
        if claim.column == "oktopk" and claim.stands is not Standing.HOLDS:
            assert claim.source.tag is not Tag.DERIVED or "printed" not in f"{claim.name} {claim.title}", claim.name
            assert claim.source.proof
            assert claim.extremal


def test_rounds_of_an_iteration():
    # split and balancing, P - 1 each; sizes and all-gather, ceil(log2 P) each
    assert [bound("split.steps", P=P) for P in (1, 2, 3, 5, 8)] == [0, 4, 8, 14, 20]
