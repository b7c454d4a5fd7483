"""All-reduces that lose something: right ones pass, in whatever style they are written. Broken ones are in the zoo."""

import random
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
from zoo.lossy_sums import LEVELS, NEAREST, RANDOM, at_random, coded, decoded, everywhere, step_of, steps, to_nearest
from zoo.lossy_unseen import held_back

from commbounds.collectives.ranks import parcel
from commbounds.theory import claims as book
from commbounds.verify import conformance as cf

EFFORT = 0.2


def judged(run, claims, named=None, **options):
    subject = cf.AllReduce(run, claims, **{"effort": EFFORT, **options})
    return cf.check(subject, only=named)


def in_a_tree(stack, seed):
    parts = [decoded(row) for row in stack]
    while len(parts) > 1:
        parts = [sum(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return everywhere(parts[0], stack)


def with_a_common_scale(stack, seed):
    step = step_of(stack)
    return everywhere(sum(coded(row, step=step).astype(np.int32) for row in stack) * step, stack)


def in_blocks(stack, seed):
    rows = np.pad(stack.astype(np.float64), ((0, 0), (0, -stack.shape[1] % 16))).reshape(len(stack), -1, 16)
    steps = np.abs(rows).max(axis=2, keepdims=True) / LEVELS
    total = (np.rint(rows / np.where(steps > 0.0, steps, 1.0)) * steps).sum(axis=0).ravel()
    return everywhere(total[: stack.shape[1]], stack)


def in_float16(stack, seed):
    return everywhere(sum(row.astype(np.float16).astype(np.float64) for row in stack), stack)


def averaged(stack, seed):
    return everywhere(sum(decoded(row) for row in stack) / len(stack), stack)


def averaged_at_random(stack, seed):
    rng = np.random.default_rng(seed)
    return everywhere(sum(decoded(row, rng) for row in stack) / len(stack), stack)


class Reducer:
    """A callable object, with randomness of every rank's own."""

    def __call__(self, stack, seed):
        rngs = [np.random.default_rng([seed, rank]) for rank in range(len(stack))]
        return everywhere(sum(decoded(row, rng) for row, rng in zip(stack, rngs, strict=True)), stack)


def largest_half(stack, seed):
    mean = stack.astype(np.float64).sum(axis=0)
    kept = np.argsort(-np.abs(mean), kind="stable")[: -(-mean.size // 2)]
    out = np.zeros_like(mean)
    out[kept] = mean[kept]
    return everywhere(out, stack)


COMMON = (cf.AbsoluteError(lambda stack: len(stack) * step_of(stack) / 2), cf.Bounded(lambda P: 1 + P / 254))


def drawing(draws):
    """A right subject whose ranks round by these uniforms, a row a rank."""

    def run(stack, seed):
        rows = zip(stack, draws(stack.shape, seed), strict=True)
        return everywhere(
            sum(np.floor(row.astype(np.float64) / step_of(row) + u) * step_of(row) for row, u in rows), stack
        )

    run.__name__ = draws.__name__
    return run


def by_columns(shape, seed):
    return np.random.default_rng(seed).random(shape[::-1]).T


def from_the_last_rank_on(shape, seed):
    return np.random.default_rng(seed).random(shape)[::-1, ::-1]


def in_turned_pairs(shape, seed):
    """Every second rank takes one minus what the rank before it took."""
    u = np.random.default_rng(seed).random(shape)
    u[1::2] = np.nextafter(1.0, 0.0) - u[: len(u) - 1 : 2]
    return u


def by_python(shape, seed):
    generator = random.Random(seed)
    return [[generator.random() for _ in range(shape[1])] for _ in range(shape[0])]


def by_words_and_halves(shape, seed):
    rng = np.random.default_rng(seed)
    return (rng.integers(2**16, size=shape, dtype=np.uint16) + rng.random(shape)) / 2**16


def shuffled(shape, seed):
    rng = np.random.default_rng(seed)
    return [rng.permutation(rng.random(shape[1])) for _ in range(shape[0])]


def coded_twice_at_random(stack, seed):
    rng = np.random.default_rng(seed)
    return everywhere(decoded(sum(decoded(row, rng) for row in stack), rng), stack)


def the_same_half_of_all(stack, seed):
    n = stack.shape[1]
    kept = np.random.default_rng(seed).permutation(n)[: -(-n // 2)]
    total = np.zeros(n)
    total[kept] = stack.astype(np.float64).sum(axis=0)[kept] * n / kept.size
    return everywhere(total, stack)


def to_bfloat16_by_words(stack, seed):
    rng, total = np.random.default_rng(seed), np.zeros(stack.shape[1], np.float32)
    for row in stack:
        total = total + to_bfloat16(row, rng.integers(2**16, size=row.shape, dtype=np.uint32))
    return everywhere(total, stack)


def rows_in_a_list(stack, seed):
    return list(to_nearest(stack, seed))


def by_philox(stack, seed):
    rngs = [np.random.Generator(np.random.Philox(key=[seed, rank])) for rank in range(len(stack))]
    return everywhere(sum(decoded(row, rng) for row, rng in zip(stack, rngs, strict=True)), stack)


def by_words_of_24_bits(shape, seed):
    return (np.random.default_rng(seed).integers(2**24, size=shape) + 0.5) / 2**24


def by_bits_of_python(shape, seed):
    rngs = [random.Random(seed * 64 + rank) for rank in range(shape[0])]
    return [[rng.getrandbits(32) / 2**32 + 2**-33 for _ in range(shape[1])] for rng in rngs]


def to_powers_of_two(stack, seed):
    rng, total = np.random.default_rng(seed), 0.0
    for row in stack:
        part, exponent = np.frexp(np.abs(row.astype(np.float64)))
        up = rng.random(row.shape) < 2 * part - 1
        total = total + np.sign(row) * np.ldexp(np.where(up, 1.0, 0.5), exponent)
    return everywhere(total, stack)


def by_a_shared_exponent(stack, seed):
    top = float(np.abs(stack.astype(np.float64)).max())
    step = 2.0 ** (np.ceil(np.log2(top)) - 14) if top else 1.0
    codes = np.add.reduce([np.rint(row.astype(np.float64) / step).astype(np.int32) for row in stack])
    return everywhere(codes * step / len(stack), stack)


def rotated_at_random(stack, seed):
    n, rng = stack.shape[1], np.random.default_rng(seed)
    m = 1 << (n - 1).bit_length()
    signs, rotation = rng.choice((-1.0, 1.0), m), scipy.linalg.hadamard(m) / np.sqrt(m)
    rows = np.pad(stack.astype(np.float64), ((0, 0), (0, m - n))) * signs @ rotation
    step = np.abs(rows).max(axis=1, keepdims=True) / 7
    read = np.floor(rows / np.where(step, step, 1.0) + rng.random(rows.shape)) * step
    return everywhere((read.sum(axis=0) @ rotation * signs)[:n], stack)


def along_a_chain(comm, x, seed):
    """Every rank codes anew what it hands on; the last one hands its sum to all."""
    total, last = x.astype(np.float64), comm.size - 1
    for hop in range(last):
        arrived = comm.step(
            {hop + 1: parcel(decoded(total))} if comm.rank == hop else {}, [hop] * (comm.rank == hop + 1)
        )
        total = total + arrived[hop].arrays[0] if arrived else total
    own = comm.rank == last
    arrived = comm.step({rank: parcel(decoded(total)) for rank in range(last)} if own else {}, [] if own else [last])
    return (decoded(total) if own else arrived[last].arrays[0]).astype(x.dtype)


def of_a_chain(stack):
    """Half a step of every partial sum, which may be as much larger."""
    size, off = 0.0, 0.0
    for row in stack:
        size = size * (1 + 1 / 254) + LEVELS * step_of(row)
        off += size / 254 * 1.001
    return off


NORMAL = {"magnitudes": (1e-30, 1e30)}
RIGHT = [
    (in_a_tree, NEAREST, {}),
    (
        with_a_common_scale,
        (cf.AbsoluteError(lambda s: len(s) * max(map(step_of, s)) / 2), cf.Bounded(lambda P: 1 + P / 254)),
        {},
    ),
    (in_blocks, NEAREST, {}),
    (in_float16, (cf.RelativeError(2.0**-11),), {"magnitudes": (1e-3, 1e3)}),
    (averaged, (cf.AbsoluteError(lambda s: steps(s) / len(s) / 2), cf.Bounded()), {"op": "mean"}),
    (averaged_at_random, (cf.Unbiased(), cf.Variance(lambda n: n / LEVELS**2 / 4)), {"op": "mean"}),
    (Reducer(), RANDOM, {}),
    (largest_half, (cf.Contraction(lambda n: -(-n // 2) / n),), {}),
    (to_nearest, (*NEAREST, cf.Matches(lambda stack: sum(decoded(row) for row in stack))), {}),
    (at_random, RANDOM, {"ranks": (1, 4, 16)}),
    *(
        (drawing(draws), (cf.AbsoluteError(steps), cf.Unbiased(), RANDOM[2]), {})
        for draws in (by_columns, from_the_last_rank_on, in_turned_pairs, by_python, by_words_and_halves, shuffled)
    ),
    (coded_twice_at_random, (cf.Unbiased(), cf.RanksAgree()), {}),
    (the_same_half_of_all, (cf.Unbiased(),), {}),
    (to_bfloat16_by_words, (cf.Unbiased(), cf.RelativeError(2.0**-7), cf.Variance(2.0**-16)), NORMAL),
    (rows_in_a_list, NEAREST, {}),
    (by_philox, RANDOM, {}),
    *(
        (drawing(draws), (cf.Unbiased(), cf.AbsoluteError(steps), RANDOM[2]), {})
        for draws in (by_words_of_24_bits, by_bits_of_python)
    ),
    (to_powers_of_two, (cf.Unbiased(), cf.Variance(1 / 8), cf.RelativeError(1.0)), NORMAL),
    (
        by_a_shared_exponent,
        (cf.AbsoluteError(lambda s: float(np.abs(s).max()) / 2**14), cf.Bounded(1.001), cf.RanksAgree()),
        {"op": "mean", **NORMAL},
    ),
    (rotated_at_random, (cf.Unbiased(), cf.RanksAgree()), {**NORMAL, "admits": lambda x: x.size <= 300}),
    (cf.rank_program(along_a_chain).run, (cf.AbsoluteError(of_a_chain), cf.RanksAgree()), {"ranks": (1, 2, 3, 5)}),
]


STYLES = [pytest.param(*right, marks=pytest.mark.wide) if place > 4 else right for place, right in enumerate(RIGHT)]


@pytest.mark.parametrize(("run", "claims", "options"), STYLES, ids=lambda part: getattr(part, "__name__", ""))
def test_a_right_lossy_all_reduce_passes(run, claims, options):
    report = judged(run, claims, **options)
    assert report.passed, (report.failures, report.owed)


def test_a_law_of_ranks_together_is_compared():
    def law(rows):
        total = np.sum(rows, axis=0)
        keep = np.tile(total, len(rows))
        return [(1 / 2, keep), (1 / 2, np.zeros(keep.size))]

    def sometimes(stack, seed):
        share = 1.0 if np.random.default_rng(seed).random() < 0.5 else 0.0
        return everywhere(share * stack.astype(np.float64).sum(axis=0), stack)

    def seldom(stack, seed):
        share = 1.0 if np.random.default_rng(seed).random() < 0.3 else 0.0
        return everywhere(share * stack.astype(np.float64).sum(axis=0), stack)

    assert judged(sometimes, [cf.SameLaw(law)], ["SameLaw"]).passed
    assert not judged(seldom, [cf.SameLaw(law)], ["SameLaw"]).passed


def test_a_number_may_be_a_function_of_n_and_P_in_either_order():
    for bound in (lambda n, P: 1.0 / P, lambda P, n: 1.0 / P, lambda P: 1.0 / P):
        assert judged(lambda stack, seed: everywhere(stack.sum(axis=0), stack), [cf.Variance(bound)], ["Variance"])
    with pytest.raises(ValueError, match="op must be"):
        cf.AllReduce(to_nearest, op="max")


def unbiased(run, **options):
    (finding,) = judged(run, [cf.Unbiased()], ["Unbiased"], **options).findings
    return finding


def eight_bits(shape, seed):
    return np.random.default_rng(seed).integers(0, 256, size=shape) / 256


def test_draws_of_any_rank_are_given_their_words():
    """A bias of a hundred-thousandth of the largest entry is seen at one stack."""
    stack = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    for draws, said in ((eight_bits, "in the mean over what ranks draw"), (by_columns, "holds here")):
        assert said in cf.recheck(cf.AllReduce(drawing(draws), [cf.Unbiased()]), "Unbiased()", stack)


@pytest.mark.wide
def test_draws_of_any_rank_are_given_their_words_at_many_stacks():
    finding = unbiased(drawing(eight_bits))
    assert finding.verdict == "fail"
    assert "words given to what ranks draw from" in finding.evidence
    for draws in (by_columns, by_words_and_halves):
        assert "laws of entries read off by giving" in unbiased(drawing(draws)).evidence


@pytest.mark.wide
@pytest.mark.parametrize("draws", [in_turned_pairs, by_python])
def test_variances_of_sums_are_read_off(draws):
    half = cf.Variance(lambda n, P: n / LEVELS**2 / 40)
    (finding,) = judged(drawing(draws), [half], ["Variance"]).failures
    assert "words given to what ranks draw from" in finding.evidence


@pytest.mark.wide
def test_what_is_no_sum_of_steps_is_left_to_draws():
    for run in (the_same_half_of_all, lambda stack, seed: everywhere(stack.sum(axis=0) * (seed % 2) * 2, stack)):
        finding = unbiased(run)
        assert finding.verdict == "pass"
        assert "by draws alone" in finding.evidence


# --- other collectives, and memories ----------------------------------------------------------------------------------


def in_parts(stack, seed):
    return np.array_split(to_nearest(stack, seed)[0], len(stack))


def in_parts_at_random(stack, seed):
    return cf.AllReduceResult(np.array_split(at_random(stack, seed)[0], len(stack)))


def in_one_array(stack, seed):
    return to_nearest(stack, seed)[0].reshape(len(stack), -1)


@pytest.mark.parametrize(
    ("run", "claims", "options"),
    [
        (in_parts, NEAREST[:3], {}),
        (in_parts, NEAREST[:3], {"even": False}),
        (in_one_array, (*NEAREST[:3], cf.Matches(lambda stack: sum(decoded(row) for row in stack))), {}),
        (in_parts_at_random, RANDOM[:4], {"multiple_of": 2}),
    ],
)
def test_a_reduce_scatter_is_judged_by_its_parts(run, claims, options):
    report = cf.check(cf.ReduceScatter(run, claims, effort=0.02, **options), only=[str(claim) for claim in claims])
    assert report.passed, (report.failures, report.owed)


def in_rows(stack, seed):
    return np.repeat(np.stack([decoded(row) for row in stack])[None], len(stack), 0).astype(stack.dtype)


def in_rows_at_random(stack, seed):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([decoded(row, rng) for row in stack])
    return np.repeat(rows[None], len(stack), 0).astype(stack.dtype)


def of_a_row(share):
    return cf.AbsoluteError(lambda stack: np.array([[step_of(row) * share] for row in stack]))


@pytest.mark.wide
def test_an_all_gather_is_judged_by_what_every_rank_brought():
    near = (of_a_row(0.5), cf.Bounded(), cf.Monotone(), cf.RanksAgree(), cf.RelativeError(1.0), cf.Matches(in_rows))
    drawn = (of_a_row(1.0), cf.Unbiased(), cf.Variance(lambda n, P: n * P / LEVELS**2 / 4), cf.Independent())
    for run, claims in ((in_rows, near), (in_rows_at_random, drawn)):
        report = cf.check(cf.AllGather(run, claims, effort=0.1))
        assert report.passed, (report.failures, report.owed)
    report = cf.check(cf.AllGather(lambda s, seed: in_rows(s[::-1], seed), near, effort=0.1), only=["AbsoluteError"])
    assert report.failures


def test_parts_that_are_none_are_said():
    for kind, run, said in (
        (cf.ReduceScatter, lambda s, seed: [part[1:] for part in in_parts(s, seed)], "returned float32"),
        (cf.ReduceScatter, lambda s, seed: None, "returned NoneType"),
        (cf.ReduceScatter, lambda s, seed: in_parts(s, seed)[:-1], "returned"),
        (cf.AllGather, lambda s, seed: s, "returned float32"),
        (cf.AllReduce, lambda s, seed: [[1.0], []], "returned list"),
    ):
        (finding,) = cf.check(kind(run, effort=0.1), only=["shape and dtype kept"]).failures
        assert finding.message.startswith(said)


def test_claims_that_say_nothing_of_a_collective_are_refused():
    for kind, claim in ((cf.ReduceScatter, cf.RanksAgree()), (cf.AllGather, cf.Sums()), (cf.AllGather, cf.Conserves())):
        with pytest.raises(ValueError, match="is a claim about all-reduce or"):
            kind(in_parts, [claim])
    with pytest.raises(TypeError, match="even must be"):
        cf.ReduceScatter(in_parts, even=1)


def fed_back(remembers):
    def factory(seed):
        held = 0.0

        def step(x):
            nonlocal held
            due = x.astype(np.float64) + held
            sent = decoded(due).astype(x.dtype)
            held = (due - sent) * remembers
            return sent

        return step

    return factory


@pytest.mark.wide
def test_what_comes_out_of_a_memory_is_compared_with_what_went_in():
    claims = (cf.AbsoluteError(held_back), cf.RelativeError(2.0), cf.Bounded(1.01), cf.Matches(fed_back(1.0)))
    report = cf.check(cf.Stateful(fed_back(1.0), claims, effort=0.1))
    assert report.passed, (report.failures, report.owed)
    report = cf.check(cf.Stateful(fed_back(0.0), claims, effort=0.1))
    assert {finding.claim.split("(")[0] for finding in report.failures} == {"AbsoluteError", "Matches"}


@pytest.mark.wide
def test_an_all_reduce_with_memory_is_judged_by_rounds():
    def factory(remembers):
        def made(seed):
            ranks = {}

            def step(stack):
                for p in range(len(stack)):
                    ranks.setdefault(p, fed_back(remembers)(seed))
                return everywhere(sum(ranks[p](row.astype(np.float64)) for p, row in enumerate(stack)), stack)

            return step

        return made

    claim = cf.AbsoluteError(lambda stack: 1.01 * steps(stack) / 4)
    assert cf.check(cf.in_rounds(factory(1.0), [claim], effort=0.1, **NORMAL)).passed
    (finding,) = cf.check(cf.in_rounds(factory(0.0), [claim], effort=0.1, **NORMAL)).failures
    assert finding.claim == str(claim)


def own_draws(comm, x, seed, words=0, shared=False):
    """Adds up what all ranks have rounded by a uniform of so many bits, or of all of them."""
    u = np.random.default_rng(seed if shared else [seed, comm.rank]).random(x.shape)
    u = np.floor(u * 2**words) / 2**words if words and comm.rank == 1 else u
    own = np.floor(x.astype(np.float64) / step_of(x) + u) * step_of(x)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    arrived = comm.step({rank: parcel(own) for rank in others}, others)
    return sum(arrived[rank].arrays[0] if rank in arrived else own for rank in range(comm.size)).astype(x.dtype)


@pytest.mark.parametrize(
    ("options", "claim", "said"),
    [
        ({"words": 8}, RANDOM[1], "in the mean over what ranks draw"),
        ({"shared": True}, RANDOM[2], "read off the uniforms"),
        ({}, RANDOM[1], "holds here"),
        ({}, RANDOM[2], "holds here"),
    ],
)
def test_draws_of_a_program_of_ranks_are_given_their_words(options, claim, said):
    subject = cf.rank_program(partial(own_draws, **options), [claim], name="own draws")
    stack = np.array([[127.0, 0.5, -0.5, 0.3]] * 3, np.float32)
    assert said in cf.recheck(subject, str(claim), stack)


def test_what_is_not_finite_shows_on_every_rank():
    """A rank that stays finite is named; what an all-gather has of others, and a memory, is looked at, too."""
    stack = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    for kind, run in (
        (cf.AllReduce, to_nearest),
        (cf.AllGather, in_rows),
        (cf.ReduceScatter, in_parts),
        (cf.Stateful, fed_back(1.0)),
        (cf.Codec, lambda x, seed: x),
    ):
        x = stack[0] if kind is cf.Codec else stack
        assert "holds here" in cf.recheck(kind(run, [cf.Propagates()]), "Propagates()", x)
    only_others = cf.AllReduce(lambda s, seed: np.stack([to_nearest(s, seed)[0], stack[0]]), [cf.Propagates()])
    assert "is nan, and becomes" in cf.recheck(only_others, "Propagates()", stack)


def test_a_claim_that_nothing_could_judge_is_no_pass():
    def refuses(stack, seed=0):
        raise RuntimeError("no reference today")

    report = judged(to_nearest, [cf.Matches(refuses)], ["Matches"])
    assert [finding.claim for finding in report.owed] == ["Matches(reference=refuses)"]
    assert not report.passed
    assert not report.failures
    waived = {"Matches(reference=refuses)": "the reference is not installed here"}
    report = judged(to_nearest, [cf.Matches(refuses)], ["Matches"], waivers=waived)
    assert report.passed
    assert report.not_judged
    report = judged(to_nearest, [cf.Bounded()], ["Bounded"], waivers={"Bounded()": "it can be judged"})
    assert [finding.message for finding in report.failures] == ["was judged: the waiver is not needed"]


# --- words ------------------------------------------------------------------------------------------------------------


def to_bfloat16(x, words):
    """Rounded to the upper 16 bits by 16 random ones."""
    return ((x.view(np.uint32) + words) & np.uint32(0xFFFF0000)).view(np.float32)


def test_the_law_over_all_words_is_exact():
    law = cf.word_law(to_bfloat16, [1.001, -2.7, 3.0, 1e-40])
    assert law.bias == (0, 0, 0, 0)
    assert law.values[2] == (3.0,)
    assert law.monotone == (True,) * 4
    assert law.shared == ()
    assert all(variance > 0 for variance in law.variance[:2])


def test_eight_bits_are_biased_by_what_they_cut_off():
    law = cf.word_law(lambda x, words: to_bfloat16(x, words << np.uint32(8)), [1.0 + 2.0**-16], bits=8)
    assert law.bias == (-(2.0**-16),)  # below 2^-8 of a step of 2^-7: no word rounds it up
    law = cf.word_law(lambda x, words: to_bfloat16(x, words << np.uint32(8)), [1.0 + 3 * 2.0**-16], bits=8)
    assert law.relative_bias == (-(2.0**-9),)
    x = np.float32(1) + np.arange(256, dtype=np.float32) * np.float32(2.0**-23)
    law = cf.word_law(lambda x, words: to_bfloat16(x, words << np.uint32(8)), x, bits=8)
    bound = book()["precision.stochastic.few_bits"].bound(P=2, unit=Fraction(1, 2**8), random_bits=8)
    off = [abs(bias) / Fraction(v) for bias, v in zip(law.bias, x.tolist(), strict=True)]
    assert Fraction(99, 100) * bound < max(off) <= bound


def test_words_that_are_shared_are_seen():
    assert cf.word_law(lambda x, words: to_bfloat16(x, np.full_like(words, words[0])), [1.001, 3.3, 5.2]).shared
    for kernel, x, error in (
        (None, [1.0], TypeError),
        (to_bfloat16, [], ValueError),
        (to_bfloat16, [np.inf], ValueError),
    ):
        with pytest.raises(error):
            cf.word_law(kernel, x)
    with pytest.raises(ValueError, match="bits must be at most 16"):
        cf.word_law(to_bfloat16, [1.0], bits=17)
    with pytest.raises(ValueError, match="finite numbers"):
        cf.word_law(lambda x, words: np.full_like(x, np.inf), [1.0])


# --- what a failure says next, and time -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (cf.Contraction(0.9), "Contraction(alpha=0.75) held"),
        (cf.Variance(0.1), "Variance(omega=0.25) held"),
        (cf.Variance(lambda n: 0.1), "2.5 times this omega held"),
        (cf.RelativeError(0.3), "RelativeError(bound=0.5) held"),
        (cf.AbsoluteError(lambda x: 0.25 * np.abs(x)), "2 times this bound held"),
        (cf.Bounded(0.4), "Bounded(factor=0.5) held"),
    ],
)
def test_a_failure_says_what_would_hold(claim, said):
    (finding,) = cf.check(cf.Codec(lambda x, seed: x / 2, [claim]), only=[str(claim)]).failures
    assert finding.instead.startswith(said)
    assert finding.book == claim.in_book
    assert finding.next_steps[-1].startswith("in the book: " if claim.in_book else "would hold: ")
    assert cf.report_from_json(cf.check(cf.Codec(lambda x, seed: x, [claim], effort=0.1)).to_json())


def test_what_would_hold_is_said_of_means_too():
    (finding,) = judged(at_random, [cf.Variance(lambda n, P: n / LEVELS**2 / 40)], ["Variance"]).failures
    factor = float(finding.instead.split()[0])
    assert 2.0 < factor < 10.5
    assert finding.instead.endswith("(means of 16 draws)")


def test_seconds_are_kept_to_and_what_was_left_out_is_said(monkeypatch):
    calls = []  # each takes a second, and nothing else takes any

    def slow(stack, seed):
        calls.append(seed)
        return to_nearest(stack, seed)

    clock = SimpleNamespace(monotonic=lambda: float(len(calls)))
    for module in ("check", "bench"):
        monkeypatch.setattr(import_module(f"commbounds.verify.conformance.{module}"), "time", clock)
    report = cf.check(cf.AllReduce(slow, [*NEAREST]), seconds=600.0)
    assert 300 < len(calls) <= 1200  # a claim may take twice its share
    assert any("no time for" in finding.evidence for finding in report.findings)
    assert not report.failures
    with pytest.raises(ValueError, match="seconds must be positive"):
        cf.check(cf.AllReduce(slow), seconds=0.0)


def test_more_ranks_are_tried_beyond_the_quick_budget():
    seen = set()

    def counted(stack, seed):
        seen.add(len(stack))
        return to_nearest(stack, seed)

    for budget, ranks in (("quick", {*range(1, 10)}), ("standard", {*range(1, 10), 16})):
        seen.clear()
        cf.check(cf.AllReduce(counted, effort=0.05), budget, only=["answers"])
        assert seen == ranks
    lost = cf.AllReduce(lambda s, seed: to_nearest(s, seed) * np.float32(len(s) < 10), [cf.Sums()], effort=0.05)
    (finding,) = cf.check(lost, "standard", only=["Sums()"]).failures
    assert "holds here" not in cf.recheck(lost, "Sums()", np.array(finding.counterexample, np.float32))


# --- in processes of their own ----------------------------------------------------------------------------------------

MODULE = """
import numpy as np
from zoo.lossy_sums import at_random, step_of, steps, to_nearest
from zoo.lossy_ranks import eight_bits_never_up, gathered
from commbounds.verify import conformance as cf

def in_parts(stack, seed):
    return np.array_split(to_nearest(stack, seed)[0], len(stack))

def in_parts_never_up(stack, seed):
    return np.array_split(eight_bits_never_up(stack, seed)[0], len(stack))

RIGHT = [
    cf.ReduceScatter(in_parts, [cf.AbsoluteError(lambda stack: steps(stack) / 2)], effort=0.02),
    cf.AllGather(gathered, [cf.RanksAgree()], effort=0.02),
    cf.AllReduce(at_random, [cf.Unbiased()], effort=0.02),
]
WRONG = [
    cf.ReduceScatter(in_parts_never_up, [cf.Unbiased()], effort=0.02),
    cf.AllReduce(eight_bits_never_up, [cf.Unbiased()], effort=0.02),
]
"""


@pytest.mark.wide
def test_processes_of_their_own_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    file = tmp_path / "apart.py"
    file.write_text(MODULE)
    for subject in cf.loaded(f"{file}:RIGHT"):
        report = cf.check(cf.isolated(subject))
        assert report.passed, (report.failures, report.owed)
    for subject in cf.loaded(f"{file}:WRONG"):
        (finding,) = cf.check(cf.isolated(subject)).failures
        assert "in the mean over what ranks draw" in finding.message


# --- what users reported, without a hint ------------------------------------------------------------------------------


def in_blocks_of_bytes(saturates, scales):
    """Codes of eight bits both ways, in blocks of 32, as of sglang's issues 40084 and 34473: scales are float16."""

    def coded_and_read(row):
        blocks = np.pad(row, (0, -row.size % 32)).reshape(-1, 32)
        top = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1)[:, None], axis=1)
        scale = (-top / 128).astype(scales)
        up = (1 / (scale + scales(2.0**-24))).astype(scales)
        if saturates:
            up = np.clip(up, -np.finfo(scales).max, np.finfo(scales).max)
        codes = np.rint(np.clip((blocks * up).astype(scales), -128, 127))
        return (codes * scale).astype(scales).ravel()[: row.size]

    def run(stack, seed):
        with np.errstate(all="ignore"):
            held = stack.astype(scales)
            held = np.clip(held, -np.finfo(scales).max, np.finfo(scales).max) if saturates else held
            return everywhere(coded_and_read(sum(map(coded_and_read, held)).astype(scales)), stack)

    return run


def steps_of_blocks(stack):
    """A step of every rank's block, and one of the sum's, which is larger by the ranks' steps."""
    rows = np.abs(np.pad(stack.astype(np.float64), ((0, 0), (0, -stack.shape[1] % 32))).reshape(len(stack), -1, 32))
    return np.repeat(rows.max(axis=2).sum(axis=0), 32)[: stack.shape[1]] * (2 + 1 / 64) * (2.0**-7 + 2.0**-9)


@pytest.mark.parametrize(
    ("magnitudes", "saturates", "scales", "passes"),
    [
        ((1e-5, 1e2), True, np.float32, True),
        ((1e-1, 1e2), True, np.float16, True),
        ((1e-5, 1e2), True, np.float16, False),
        ((1e-1, 1e8), False, np.float32, True),
        ((1e-1, 1e8), False, np.float16, False),
    ],
    ids=["float32", "in the range", "40084", "float32, large", "34473"],
)
def test_reciprocals_and_sums_that_float16_does_not_hold(magnitudes, saturates, scales, passes):
    """Blocks below 0.00195 shrink, as in sglang's issue 40084; numbers above 65504 are infinite, as in 34473."""
    claimed = [cf.AbsoluteError(steps_of_blocks)]
    options = {"magnitudes": magnitudes, "ranks": (1, 2, 4, 8), "effort": 1.0}
    report = judged(in_blocks_of_bytes(saturates, scales), claimed, ["AbsoluteError"], **options)
    assert report.passed == passes, report
    assert not report.not_judged


def six_bits(nearest):
    """MXFP6 with E2M3: scales of the quotient of maximum and largest element to nearest, or the specification's."""

    def codec(x, seed):
        rows = np.pad(x.astype(np.float64), (0, -x.size % 32)).reshape(-1, 32)
        top = np.abs(rows).max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            power = np.floor(np.log2(top / 7.5) + 1 - np.log2(1.5)) if nearest else np.floor(np.log2(top)) - 2
        scale = np.where(top > 0, 2.0 ** np.where(top > 0, power, 0), 1.0)
        parts, exponents = np.frexp(rows / scale)
        gaps = 2.0 ** (np.maximum(exponents, 1) - 4)
        read = np.clip(np.rint(np.ldexp(parts, exponents) / gaps) * gaps, -7.5, 7.5) * scale
        return read.ravel()[: x.size].astype(x.dtype)

    return codec


@pytest.mark.parametrize(("nearest", "passes"), [(False, True), (True, False)])
def test_scales_that_are_one_step_low(nearest, passes):
    """FlyDSL's pull request 590: the largest entry is then clipped by up to a third, in place of a sixteenth."""
    bound = cf.AbsoluteError(lambda x: np.abs(x).max() / 16)
    subject = cf.Codec(six_bits(nearest), [bound], magnitudes=(1e-20, 1e20), effort=EFFORT)
    report = cf.check(subject, only=["AbsoluteError"])
    assert report.passed == passes, report
