"""`commbounds.theory.tolerance`: its bounds are attained, hold, are rounded up, and rest on claims of the book."""

import math
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from coded_allreduces import allreduce

from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.precision import simulated_allreduce
from commbounds.theory import claims, tolerance
from commbounds.theory.precision.formats import FORMATS
from commbounds.theory.precision.roundings import SCHEDULE_NAMES
from commbounds.theory.precision.tolerance import AVERAGES, QUANTISED, rounded_up


def nodes(schedule):
    return 4 if schedule in ("hierarchical", "collnet") else None


def summed(terms, form):
    """The terms added one after another, every sum rounded."""
    total = terms[0]
    for term in terms[1:]:
        total = form.rounded(total + term)
    return total


@pytest.mark.parametrize("name", FORMATS)
def test_two_ranks_attain_the_bound(name):
    form = FORMATS[name]
    terms = [Fraction(1), form.unit]
    error = abs(summed(terms, form) - sum(terms))
    found = tolerance(P=2, dtype=name)
    assert error == found.sure * sum(terms)
    assert error == found.last * abs(sum(terms)) + found.rest * sum(terms)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_a_running_sum_may_lose_all_but_a_share_that_no_bound_of_a_tenth_less_allows(name):
    # every term is half a unit of the sum, and lost: from (P - 1) u + 1 > 1 on the bound is 1
    form, P = FORMATS[name], 1 + 2 ** (FORMATS[name].digits + 1)
    terms = [Fraction(1), *[form.unit] * (P - 1)]
    error = abs(summed(terms, form) - sum(terms)) / sum(terms)
    sure = tolerance(P=P, dtype=name).sure
    assert sure == 1
    assert error == Fraction(2, 3)


@pytest.mark.parametrize("schedule", SCHEDULE_NAMES)
@pytest.mark.parametrize("average", [None, *(average for average in AVERAGES if average != "halving")])
def test_bounds_are_ordered(schedule, average):
    options = {"dtype": "bfloat16", "schedule": schedule, "nodes": nodes(schedule), "average": average}
    before = Fraction(0)
    for P in (4, 8, 64, 128):
        found = tolerance(P=P, **options)
        assert 0 < found.probable <= found.sure
        assert found.last + found.rest >= found.sure - Fraction(1, 10**9)  # the same where nothing cancels
        assert found.rest < found.sure or schedule in ("ring", "butterfly", "direct")
        if average is None:
            assert before < found.sure <= tolerance(P=P, dtype="bfloat16", schedule="any").sure
            assert found.absolute == 0
            assert tolerance(P=P, **options, wider_input=True).sure > found.sure
        else:
            assert found.absolute > 0
            assert found.sure < tolerance(P=P, **{**options, "average": None}).sure
        before = found.sure
    more = tolerance(P=128, n=10**6, probability=1e-12, **options)
    assert found.probable <= more.probable


def test_one_rank_is_not_rounded():
    for name in FORMATS:
        found = tolerance(P=1, dtype=name)
        assert (found.sure, found.rest, found.absolute) == (0, 0, 0)
    assert tolerance(P=1, dtype="bfloat16", wider_input=True).sure == Fraction(1, 257)


def test_an_accumulator_of_twice_the_digits_changes_nothing_at_every_hop_and_much_at_the_end():
    alone = tolerance(P=64, dtype="bfloat16")
    assert tolerance(P=64, dtype="bfloat16", accumulate="float32").sure == alone.sure
    once = tolerance(P=64, dtype="bfloat16", accumulate="float32", per_hop=False)
    assert once.sure < alone.sure / 60
    assert once.rest == tolerance(P=64, dtype="bfloat16", accumulate="float32", schedule="direct").rest


def test_codes_go_by_the_claims_of_the_book():
    book = claims()
    for schedule, name in QUANTISED.items():
        found = tolerance(P=4, bits=3, group=32, schedule=schedule)
        assert found.claims == (name,)
        step = Fraction(1, 7)
        values = {"ranges": 1, "first_width": 3, "second_width": 3, "scales": step, "ring_scales": 4 * step}
        assert found.sure == book[name].bound(**values)
        assert found.relative_to_sum_abs["sure"] is None
    two_step, one_shot, ring = (tolerance(P=4, bits=3, schedule=schedule).sure for schedule in QUANTISED)
    assert one_shot < two_step < ring


def test_claims_are_in_the_book():
    book = claims()
    for schedule in SCHEDULE_NAMES:
        for name in tolerance(P=8, schedule=schedule, nodes=nodes(schedule)).claims:
            assert name in book


def test_floats_are_rounded_up():
    for value in (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(10**400), Fraction(0)):
        up = rounded_up(value)
        assert up == math.inf or Fraction(up) >= value
        assert math.isinf(up) or up == 0 or Fraction(math.nextafter(up, 0)) < value


@pytest.mark.parametrize("average", [None, "before", "after"])
def test_lines_accept_what_is_right_and_refuse_what_is_beyond(average):
    rng = np.random.default_rng(1)
    inputs = list(rng.standard_normal((8, 100)).astype(np.float32))
    result = np.sum(inputs, axis=0, dtype=np.float32)
    if average:
        result = result / np.float32(8)
    found = tolerance(P=8, average=average)
    space = {"numpy": np, "inputs": inputs, "result": result}
    exec(found.lines["numpy"], space)
    space["result"] = result + np.float32(float(found.sure) * 1.1) * np.abs(inputs).sum(axis=0)
    with pytest.raises(AssertionError):
        exec(found.lines["numpy"], space)


def test_lines_accept_the_largest_error_that_rounding_makes():
    inputs = [np.array([1.0, 1.0]), np.array([2.0**-53, -(2.0**-54)])]
    result = np.array([1.0, 1.0])
    exec(tolerance(P=2, dtype="float64").lines["numpy"], {"numpy": np, "inputs": inputs, "result": result})


@pytest.mark.parametrize("change", [{"P": 2.0}, {"P": True}, {"n": "3"}, {"bits": 4.0, "schedule": "ring"}])
def test_numbers_are_integers(change):
    with pytest.raises(TypeError, match="must be an integer"):
        tolerance(**{"P": 2, **change})


# --- means by halving, formats between nodes, codes around zero ------------------------------------------------------


@pytest.mark.parametrize("schedule", ["recursive_doubling", "rabenseifner", "binomial"])
def test_means_by_halving(schedule):
    tightest = 0.0
    for P in (1, 2, 4, 8, 16):
        rng = np.random.default_rng(P)
        for scale in (1.0, 2.0**-133):  # the second where halves underflow
            x = (scale * rng.standard_normal((P, 64))).astype(ml_dtypes.bfloat16).astype(float)
            y = simulated_allreduce(x, schedule, "bfloat16", "bfloat16", average="halving")[0]
            found = tolerance(P=P, dtype="bfloat16", schedule=schedule, average="halving")
            allowed = float(found.sure) * np.abs(x).sum(axis=0) + float(found.absolute)
            assert (np.abs(y - x.mean(axis=0)) <= allowed * (1 + 2.0**-40)).all()
            tightest = max(tightest, float((np.abs(y - x.mean(axis=0)) / np.maximum(allowed, 1e-300)).max()))
    assert tightest > 0.2
    for wrong in ({"P": 6}, {"P": 4, "schedule": "ring"}):
        with pytest.raises(ValueError, match="average by halving"):
            tolerance(**{"P": 4, "schedule": schedule, "average": "halving", **wrong})


@pytest.mark.parametrize(
    ("dtype", "between"), [("bfloat16", "float32"), ("float32", "bfloat16"), ("float16", "bfloat16")]
)
def test_formats_between_nodes(dtype, between):
    """A running sum in every node, every sum in the first format; then one of the nodes' sums in the second."""
    near, far = (np.dtype(getattr(ml_dtypes, name, name)) for name in (dtype, between))
    tightest = 0.0
    for nodes in range(1, 6):
        for members in range(1, 6):
            rng = np.random.default_rng([nodes, members])
            x = np.abs(rng.standard_normal((nodes, members, 200))).astype(near)
            sums = x[:, 0]
            for m in range(1, members):
                sums = (sums.astype(np.float32) + x[:, m].astype(np.float32)).astype(near)
            sums = sums.astype(far)
            total = sums[0]
            for q in range(1, nodes):
                total = (total.astype(np.float32) + sums[q].astype(np.float32)).astype(far)
            P = nodes * members
            found = tolerance(P=P, dtype=dtype, schedule="hierarchical", nodes=nodes, between=between)
            wide = x.reshape(P, -1).astype(float)
            off = np.abs(total.astype(near).astype(float) - wide.sum(axis=0))
            allowed = float(found.sure) * wide.sum(axis=0) + float(found.absolute)
            assert (off <= allowed * (1 + 2.0**-40)).all()
            tightest = max(tightest, float((off / np.maximum(allowed, 1e-300)).max()))
    assert tightest > 0.3
    with pytest.raises(ValueError, match="between must be given with the hierarchical"):
        tolerance(P=4, schedule="ring", between="bfloat16")


@pytest.mark.parametrize("schedule", QUANTISED)
@pytest.mark.parametrize(
    ("codes", "bits"),
    [
        ("asymmetric", 4),
        ("asymmetric", 8),
        ("symmetric", 4),
        ("symmetric", 8),
        ("signed", 4),
        ("signed", 8),
        ("float8_e4m3fn", 8),
        ("float8_e5m2", 8),
    ],
)
def test_codes_around_zero(schedule, codes, bits):
    tightest = 0.0
    for P in range(1, 10):
        for scale in ("float16", "bfloat16", "e8m0"):
            rng = np.random.default_rng([P, bits])
            x = rng.standard_normal((P, 160)).astype(np.float32)
            group = None if schedule == "ring" else 32
            y = allreduce(x, schedule, np.float32, rng, codes, bits, group, scale, False)
            found = tolerance(P=P, bits=bits, codes=codes, scale=scale, schedule=schedule)
            cuts = even_cuts(160, P).tolist() if schedule == "ring" else list(range(0, 161, 32))
            reference = np.concatenate([np.full(b - a, np.abs(x[:, a:b]).max(axis=1).sum()) for a, b in pairwise(cuts)])
            off = np.abs(y - x.astype(float).sum(axis=0))
            # sums are made in float32
            allowed = (float(found.sure) + 8 * P * 2.0**-24) * reference
            assert (off <= allowed).all()
            tightest = max(tightest, float((off / allowed).max()))
    assert tightest > 0.2
