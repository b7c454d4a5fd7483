"""`commbounds.testing.assert_allreduce_close`: what it accepts, what it refuses and in which words, what it rejects."""

import importlib.util
import subprocess
import sys
from fractions import Fraction
from functools import cache

import ml_dtypes
import numpy as np
import pytest
import tolerance_power as power
from allreduces_elsewhere import FAMILIES, vectors
from samples import each_once
from under_mpi import NEEDS_MPI, mpirun

from commbounds._orders import replayed, schedule_order
from commbounds._sums import rank_sums
from commbounds.collectives import dense
from commbounds.collectives.precision import simulated_allreduce
from commbounds.testing import assert_allreduce_close
from commbounds.theory import tolerance
from commbounds.theory.precision.formats import FORMATS

NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
ELSEWHERE = power.__file__.replace("tolerance_power", "allreduces_elsewhere")
DTYPES = [np.dtype(getattr(ml_dtypes, name, name)) for name in FORMATS]


def message(actual, inputs, **options):
    with pytest.raises(AssertionError) as caught:
        assert_allreduce_close(actual, inputs, **options)
    return str(caught.value)


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal((8, 1000)).astype(np.float32)


# --- exact sums ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponents", [(-1074, -1000), (-60, 60), (-1060, 900), (900, 980)])
def test_sums_have_twice_the_digits(exponents):
    rng = np.random.default_rng(abs(exponents[1]))
    for P in (1, 2, 3, 8, 33):
        x = np.ldexp(rng.standard_normal((P, 20)), rng.integers(*exponents, (P, 20)))
        if P > 1:
            x[-1] = -x[:-1].sum(axis=0)  # all that is left is what was lost
        sums, times = rank_sums(x), int(rng.integers(1, 2**26))
        for y in (x.sum(axis=0) / times, x[0], rng.standard_normal(20)):
            found = sums.distance(y, times)
            for i, column in enumerate(x.T.tolist()):
                exact, sizes = sum(map(Fraction, column)), sum(abs(Fraction(term)) for term in column)
                assert sizes <= Fraction(sums.sizes[i]) <= sizes * (1 + Fraction(P, 2**51))
                distance = times * Fraction(y[i]) - exact
                allowance = abs(distance) / 2**52 + Fraction(sums.slack[i])
                assert abs(Fraction(found[i]) - distance) <= allowance


def test_float64_sums_that_cancel_are_not_compared_with_rounded_ones():
    x = np.array([[1.0], [2.0**-60], [-1.0]])
    assert_allreduce_close(np.array([2.0**-60]), x, allow_vacuous=True)
    assert_allreduce_close(np.array([0.0]), x, allow_vacuous=True)  # one order loses it, another does not
    assert "where 2.22e-16 is explained" in message(np.array([2.0**-51]), x)


# --- what is right -------------------------------------------------------------------------------------------------


def tree(rng, rows):
    """The sum of rows by a random tree, in their dtype."""
    rows = list(rows)
    while len(rows) > 1:
        first, second = (rows.pop(int(rng.integers(len(rows)))) for _ in range(2))
        rows.append(first + second)
    return rows[0]


@cache
def largest(P, name):
    return float(tolerance(P=P, dtype=name, schedule="any").largest)


def accepted(runs, seed):
    """Sums and means in random orders, of all formats and families, are within their bounds: how many were compared."""
    compared = 0
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        dtype, P = DTYPES[run % len(DTYPES)], int(rng.integers(1, 12 if run % 7 else 64))
        x = vectors(rng, P, 50, dtype, FAMILIES[int(rng.integers(len(FAMILIES)))])
        x = x[:, np.abs(x.astype(float)).sum(axis=0) < largest(P, dtype.name)]
        assert_allreduce_close(tree(rng, x), x, allow_vacuous=True)
        if x.dtype.itemsize > 1:
            assert_allreduce_close(tree(rng, x) / dtype.type(P), x, op="mean", average="after", allow_vacuous=True)
            mean = tree(rng, x * (dtype.type(1) / dtype.type(P)))
            assert_allreduce_close(mean, x, op="mean", allow_vacuous=True)
        compared += x.size > 0
    return compared


def test_random_orders_are_accepted():
    assert accepted(60, 0) > 50


@pytest.mark.long
def test_random_orders_are_accepted_many_times():
    assert accepted(12_000, 1) > 10_000


@pytest.mark.parametrize("schedule", ["ring", "recursive_doubling", "rabenseifner", "butterfly"])
def test_our_own_are_accepted_by_their_own_bounds(schedule):
    algorithm = getattr(dense, f"{schedule}_allreduce")
    for run in range(50):
        rng = np.random.default_rng(run)
        x = vectors(rng, int(rng.integers(1, 12)), 60, (np.float32, np.float64)[run % 2], FAMILIES[run % len(FAMILIES)])
        assert_allreduce_close(algorithm(x)[0], x, schedule=schedule, same_bits=True, allow_vacuous=True)


@pytest.mark.parametrize(
    ("sent", "wide"),
    [
        ("float8_e4m3fn", "bfloat16"),  # too few digits for one rounding to be as good as two
        ("float8_e5m2", "float32"),
        ("bfloat16", "float32"),
        ("float16", "float64"),
    ],
)
@pytest.mark.parametrize("once", [False, True])
def test_sums_in_two_formats_are_accepted(sent, wide, once):
    narrow, accumulator = (np.dtype(getattr(ml_dtypes, name, name)) for name in (sent, wide))
    tight = 0
    for run in range(60):
        rng = np.random.default_rng(run)
        P, family = int(rng.integers(2, 14)), FAMILIES[run % len(FAMILIES)]
        x = vectors(rng, P, 40, narrow, family)
        promised = {"accumulate": wide, "schedule": "ring", "per_hop": not once}
        bound = tolerance(P=P, dtype=sent, **promised)
        x = x[:, np.abs(x.astype(float)).sum(axis=0) < float(bound.largest)]
        total = x[0].astype(accumulator)
        for row in x[1:]:
            total = total + row.astype(accumulator)
            total = total if once else total.astype(narrow).astype(accumulator)
        assert_allreduce_close(total.astype(narrow), x, **promised, allow_vacuous=True)
        off = np.abs(total.astype(narrow).astype(float) - x.astype(float).sum(axis=0))
        tight += (off > 0.3 * float(bound.sure) * np.abs(x.astype(float)).sum(axis=0)).any()
    assert tight > 0


@NEEDS_MPI
@pytest.mark.parametrize("P", [2, pytest.param(5, marks=pytest.mark.wide), pytest.param(8, marks=pytest.mark.wide)])
def test_those_of_mpi_are_accepted_revealed_and_replayed(P):
    done = mpirun(P, sys.executable, "-m", "mpi4py", ELSEWHERE, "mpi", 40, seconds=120)
    assert done.stdout.split() == ["40", "40", "4"], done.stderr


@NEEDS_TORCH
@pytest.mark.parametrize("P", [2, pytest.param(5, marks=pytest.mark.wide), pytest.param(8, marks=pytest.mark.long)])
def test_those_of_gloo_are_accepted_revealed_and_replayed(P, tmp_path):
    command = [sys.executable, ELSEWHERE, "gloo", str(tmp_path / "meeting")]
    others = [subprocess.Popen([*command, str(rank), str(P), "40"]) for rank in range(1, P)]
    first = subprocess.run([*command, "0", str(P), "40"], capture_output=True, text=True, timeout=580, check=False)
    assert first.stdout.split() == ["40", "40", "6"], first.stderr
    assert [other.wait(60) for other in others] == [0] * (P - 1)


@pytest.mark.parametrize("name", power.RIGHT)
def test_right_implementations_are_accepted(name):
    for scale in power.SCALES:
        assert power.refused(power.RIGHT[name](np.random.default_rng(9), scale)) == ""


def test_a_bound_that_says_nothing_raises():
    x = np.random.default_rng(0).standard_normal((1024, 100)).astype(ml_dtypes.bfloat16)
    total = x.cumsum(axis=0)[-1].astype(x.dtype)
    for result in (total, np.zeros_like(total)):
        with pytest.raises(ValueError, match="zeros would pass there"):
            assert_allreduce_close(result, x)
        assert_allreduce_close(result, x, allow_vacuous=True)
    assert_allreduce_close(np.zeros(5, np.float32), np.zeros((4, 5), np.float32))


# --- what is wrong -------------------------------------------------------------------------------------------------

NAMED = {
    "one of 64 ranks lost": "rank 21 is missing",
    "one of 1024 ranks lost": "rank 341 is missing",
    "one rank counted twice": "rank 5 is counted twice",
    "one rank in place of another": "rank 8 is counted in place of rank 7",
    "one rank with the wrong sign": "rank 9 has the wrong sign",
    "one chunk of one rank added twice": "rank 11 is counted twice, in entries 19",
    "one chunk of one rank lost": "rank 20 is missing, in entries 40",
    "one chunk shifted by one entry": "entry i holds the sum of entry i - 1, in entries 6",
    "one chunk holds its neighbour's sums": "entry i holds the sum of entry i + 64, in entries 6",
    "one chunk not reduced": "the result is the input of rank 0, not reduced, in entries 0 to 63",
    "entries beyond P chunks left at zero": "the result was left at zero, in entries 4096 to 4099",
    "one rank read one entry off": "rank 30 is read 1 before its place",
    "added in bfloat16, float32 promised": "what is wrong are numbers of bfloat16: sums are rounded to it",
    "rounded to float16, float32 promised": "what is wrong are numbers of float16: sums are rounded to it",
    "bfloat16 at every hop, float32 sums promised": "sums are accumulated in bfloat16",
    "mean over 1023 of 1024": "divided by P - 1 = 1023",
    "divided by P twice": "divided by P = 64 twice",
    "mean with all signs inverted": "all signs are inverted",
}


@pytest.mark.parametrize("name", power.BUGS)
def test_every_planted_bug_is_refused_and_the_known_mistakes_are_named(name):
    said = power.refused(power.BUGS[name](np.random.default_rng(4), 1e-3))
    assert said
    fits = said.split("what fits: ")[1]
    assert fits.startswith(NAMED.get(name, "none of the mistakes that are known here"))
    assert NAMED.keys() <= power.BUGS.keys()


def test_the_message_says_where_and_by_how_much(x):
    y = x.sum(axis=0)
    y[17] *= 2
    said = message(y.reshape(20, 50), x.reshape(8, 20, 50))
    assert "1 of 1000 entries are beyond what rounding explains" in said
    assert "entry (0, 17) is" in said
    assert "7 additions, each rounded to float32" in said


def test_one_entry_is_not_enough_to_name_what_fits_by_chance():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((64, 100_000)).astype(np.float32)
    y = x.sum(axis=0)
    y[1000] += 0.05  # among 64 ranks and their neighbours something is as far off
    assert message(y, x).endswith("none of the mistakes that are known here")


def test_a_stale_buffer_is_named_where_it_is_shown(x):
    before = x.sum(axis=0) * np.float32(1.001)
    assert "the result is the previous one" in message(before, x, previous=before)
    assert "previous" not in message(before, x)


def test_what_is_not_finite_is_named(x):
    y = x.sum(axis=0)
    y[3] = np.nan
    assert "not finite" in message(y, x)
    assert message(y, x).endswith("overflow, or memory that was never written, in entry 3")


def test_all_ranks_are_held_to_it_and_asked_for_the_same_bits(x):
    rows = np.stack([x.sum(axis=0)] * 8)
    assert_allreduce_close(rows, x, same_bits=True)
    rows[5] -= x[5]
    said = message(list(rows), list(x))
    assert "1 of 8 ranks are wrong" in said
    assert "on rank 5" in said
    assert said.endswith("rank 5 is missing")
    rows = np.stack([x.sum(axis=0)] * 8)
    rows[2, 7] = np.nextafter(rows[2, 7], np.float32(9))
    assert_allreduce_close(rows, x)
    assert "entry (7,) is" in message(rows, x, same_bits=True)
    assert "on rank 2; 1 of 1000 entries differ there" in message(rows, x, same_bits=True)


def test_the_last_rounding_goes_by_the_sum_and_not_by_the_magnitudes():
    x = np.array([[1.0], [-1.0 + 2.0**-20]], dtype=np.float32)  # their sum is a float32 number
    assert_allreduce_close(x.sum(axis=0), x)
    message(np.nextafter(x.sum(axis=0), np.float32(1)) * np.float32(1 + 2.0**-22), x)


def test_one_rank_keeps_its_bits(x):
    assert_allreduce_close(x[0], x[:1])
    message(np.nextafter(x[0], np.float32(9)), x[:1])


def test_inputs_wider_than_what_is_sent_are_rounded_first(x):
    sent = x.astype(ml_dtypes.bfloat16)
    total = sent.astype(np.float32).sum(axis=0).astype(ml_dtypes.bfloat16)
    assert_allreduce_close(total, x, accumulate="float32", schedule="direct")
    message(total, x.astype(np.float64) * 1.02, accumulate="float32", schedule="direct")


def test_the_probable_bound_is_asked_for():
    x = np.full((512, 10), 1.0, dtype=np.float32)
    off = x.sum(axis=0) * np.float32(1 + 2.0**-15)
    assert_allreduce_close(off, x, rounding="stochastic")
    message(off, x, rounding="stochastic", probability=1e-6)
    with pytest.raises(ValueError, match="which the same number on every rank breaks"):
        assert_allreduce_close(off, x, probability=1e-6)


@NEEDS_TORCH
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_torch_tensors_are_taken(name):
    import torch

    x = (0.1 * torch.randn(4, 30)).to(getattr(torch, name))
    total = x.double().sum(0).to(x.dtype)
    assert_allreduce_close(total, x)
    assert_allreduce_close([total] * 4, list(x), same_bits=True)
    message((-total.double()).to(total.dtype), x)


class Shared:
    """An array that speaks DLPack, and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_what_speaks_dlpack_is_taken(x):
    assert_allreduce_close(Shared(x.sum(axis=0)), Shared(x))
    message(Shared(-x.sum(axis=0)), [Shared(row) for row in x])


# --- what is rejected ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"op": "prod"}, ValueError, "sums alone"),
        ({"average": "before"}, ValueError, "average is of op='mean'"),
        ({"schedule": "spiral"}, ValueError, "schedule must be one of"),
        ({"dtype": "float99"}, ValueError, "dtype must be one of"),
        ({"dtype": "float64"}, ValueError, "does not hold what is sent"),
        ({"accumulate": "bfloat16"}, ValueError, "accumulate must hold"),
        ({"probability": 2.0, "rounding": "stochastic"}, ValueError, "probability must be between"),
        ({"probability": 0.0, "order": "ring"}, ValueError, "probability must be between"),
        ({"same_bits": True}, ValueError, "results of all ranks"),
        ({"actual": np.zeros(999, np.float32)}, ValueError, "must have the shape"),
        ({"actual": np.zeros(1000, np.int32)}, TypeError, "actual must be of one of"),
        ({"inputs": np.zeros((8, 1000), np.int32)}, TypeError, "inputs must be of one of"),
        ({"inputs": []}, ValueError, "must not be empty"),
        ({"inputs": np.zeros((0, 1000), np.float32)}, ValueError, "at least one rank"),
        ({"inputs": [np.zeros(2, np.float32), np.zeros(3, np.float32)]}, ValueError, "one shape and one dtype"),
        ({"inputs": np.full((8, 1000), np.nan, np.float32)}, ValueError, "inputs must be finite"),
        ({"inputs": np.full((8, 1000), 1e38, np.float32)}, ValueError, "may overflow"),
        ({"previous": np.zeros(3, np.float32)}, ValueError, "previous must have the shape"),
    ],
)
def test_what_cannot_be_judged_is_rejected(x, change, error, says):
    asked = {"actual": x.sum(axis=0), "inputs": x, **change}
    with pytest.raises(error, match=says):
        assert_allreduce_close(asked.pop("actual"), asked.pop("inputs"), **asked)


def test_inputs_are_not_changed_and_need_not_be_contiguous(x):
    wide = np.zeros((8, 2000), np.float32)
    wide[:, ::2] = x
    wide.flags.writeable = False
    assert_allreduce_close(x.sum(axis=0), wide[:, ::2])
    assert_allreduce_close(np.zeros((0,), np.float32), np.zeros((3, 0), np.float32))


# --- many ranks ----------------------------------------------------------------------------------------------------

MANY = [  # wire, accumulator, schedule, whether partial sums are rounded when they are sent
    (wire, accumulate, schedule, per_hop)
    for wire in ("bfloat16", "float8_e4m3fn", "float8_e5m2")
    for accumulate, schedule, per_hop in (
        (wire, "ring", True),
        (wire, "tree", True),
        ("float32", "tree", True),
        ("float32", "direct", True),
        ("float32", "ring", False),
    )
]


@pytest.mark.parametrize(("how", "P"), each_once(MANY, [65, 1024, 4096], name=lambda how: "-".join(map(str, how))))
def test_simulated_hops_of_many_ranks_keep_to_their_bounds(how, P):
    wire, accumulate, schedule, per_hop = how
    rng = np.random.default_rng([P, len(schedule)])
    dtype = np.dtype(getattr(ml_dtypes, wire))
    largest = float(FORMATS[wire].largest)
    of_one_sign = np.abs(rng.standard_normal((P, 24))) * largest / (8 * P)
    tightest = 0.0
    for x in (rng.standard_normal((P, 24)) * largest / (64 * P), of_one_sign):
        sent = x.astype(np.float32).astype(dtype).astype(np.float64)
        result = simulated_allreduce(sent, schedule, accumulate, wire, per_hop=per_hop)[0]
        how = {"accumulate": accumulate, "schedule": schedule, "per_hop": per_hop}
        assert_allreduce_close(result.astype(dtype), sent.astype(dtype), **how, allow_vacuous=True)
        bound = tolerance(P=P, dtype=wire, accumulate=accumulate, schedule=schedule, per_hop=per_hop)
        allowance = bound.sure * np.abs(sent).sum(axis=0) + bound.absolute
        tightest = max(tightest, float((np.abs(result - sent.sum(axis=0)) / allowance).max()))
    assert tightest > 1 / 64  # sums of one sign, or rounded once, use a share of it


# --- functions -----------------------------------------------------------------------------------------------------


def by(schedule, **how):
    """An all-reduce by a schedule, in the format of its inputs."""
    return lambda x: replayed(x, schedule_order(schedule, len(x), x[0].size, x.dtype.name, **how))


def shaped(reduce):
    return lambda x: reduce(x.reshape(len(x), -1)).reshape(x.shape[1:])


@pytest.mark.parametrize("P", [*range(1, 10), 64])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float8_e5m2"])
def test_functions_are_accepted_with_a_promise_and_without(P, dtype):
    x = np.random.default_rng(P).standard_normal((P, 4, 9)).astype(getattr(ml_dtypes, dtype, dtype))
    wide = "float64" if dtype == "float32" else "float32"
    hows = [
        {"schedule": "ring"},
        {"schedule": "recursive-doubling"},
        {"schedule": "binomial", "accumulate": wide},
        {"schedule": "rabenseifner", "accumulate": wide, "per_hop": False},
    ]
    for how in hows:
        reduce = shaped(by(**how))
        assert_allreduce_close(reduce, x, allow_vacuous=True)
        assert_allreduce_close(reduce, x, **how, allow_vacuous=True)
        assert_allreduce_close(reduce, x, order=how.pop("schedule"), **how)
    # by an order that is not the schedule's, in its formats
    turned = np.random.default_rng(P).permutation(P)
    assert_allreduce_close(lambda x: shaped(by("ring"))(x[turned]), x, schedule="ring", allow_vacuous=True)
    if P == 8:
        assert_allreduce_close(shaped(by("ring", average="after")), x, op="mean", allow_vacuous=True)
        assert_allreduce_close(lambda x: [shaped(by("ring"))(x)] * 8, x, same_bits=True, allow_vacuous=True)


@pytest.mark.parametrize(
    ("lossy", "words"),
    [
        (
            lambda x, y: np.where(np.arange(y.size) == 5, y - x[3], y).astype(y.dtype),
            "1 of 40 entries differ from the exact sum",
        ),
        (
            lambda x, y: np.where(np.arange(y.size) == 5, y + x[3], y).astype(y.dtype),
            "1 of 40 entries differ from the exact sum",
        ),
        (
            lambda x, y: np.where(y == 0, y, y * np.float32(1 + 2**-7)).astype(y.dtype),
            "40 of 40 entries differ from the exact sum",
        ),
    ],
)
def test_what_a_function_does_to_one_entry_is_seen_where_the_bound_says_nothing(lossy, words):
    P = 300
    x = np.random.default_rng(0).standard_normal((P, 40)).astype(ml_dtypes.bfloat16)
    said = message(lambda x: lossy(x, by("ring")(x)), x)
    assert words in said
    with pytest.raises(ValueError, match="the all-reduce itself in place of its result"):
        assert_allreduce_close(by("ring")(x), x)
    assert_allreduce_close(by("ring"), x)


def test_functions_are_held_to_formats_that_are_promised(x):
    half = x.astype(ml_dtypes.bfloat16)
    wider = by("ring", accumulate="float32", per_hop=False)
    assert_allreduce_close(wider, half)
    assert "sums are accumulated in float32, rounded once" in message(wider, half, schedule="ring")
    assert "sums are accumulated in bfloat16" in message(by("ring"), half, accumulate="float32", per_hop=False)
    assert "the order of additions is chain" in message(by("chain"), half, order="ring")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_functions_that_truncate_break_a_promise(dtype):
    x = np.random.default_rng(2).standard_normal((8, 61)).astype(getattr(ml_dtypes, dtype, dtype))
    digits = FORMATS[dtype].digits

    def truncating(given):
        total = given[0].astype(np.float64)
        for row in given[1:].astype(np.float64):
            fraction, exponent = np.frexp(total + row)
            total = np.ldexp(np.trunc(np.ldexp(fraction, digits)), exponent - digits)
        return total.astype(given.dtype)

    assert "its bits are not those of chain" in message(truncating, x, schedule="chain")
    assert_allreduce_close(truncating, x, schedule="chain", rounding="either neighbour")


def test_functions_that_drop_small_sums_are_seen_though_no_sum_is_small():
    x = 64 + np.random.default_rng(3).random((8, 40)).astype(np.float16)

    def dropping(given):
        right = by("ring")(given)
        return np.where(np.abs(right) < 0.01, 0, right).astype(right.dtype)

    assert_allreduce_close(dropping(x), x, allow_vacuous=True)
    assert "differ from the exact sum" in message(dropping, x)


def test_functions_that_go_by_the_data_are_refused_where_the_bound_says_nothing():
    x = np.random.default_rng(1).standard_normal((300, 40)).astype(ml_dtypes.bfloat16)

    def for_some(given):
        """Right for all but numbers that are seen here alone."""
        right = by("ring")(given)
        return np.where(given[7] == x[7], right + np.abs(right) / 8, right).astype(right.dtype)

    assert "have other bits than ring" in message(for_some, x)


def test_functions_without_an_order_are_judged_by_what_is_left():
    x = np.random.default_rng(1).standard_normal((300, 40)).astype(ml_dtypes.bfloat16)

    def exact(given):
        return rank_sums(given).wide().astype(given.dtype)

    with pytest.raises(ValueError, match="an order that can be revealed"):
        assert_allreduce_close(exact, x)
    assert_allreduce_close(exact, x, accumulate="float32", per_hop=False)
    assert "rank 0 is missing" in message(lambda given: exact(given[1:]), x)
