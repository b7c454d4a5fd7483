"""All-reduces that lose something: right ones pass, in whatever style they are written. Broken ones are in the zoo."""

import time

import numpy as np
import pytest
from zoo.lossy_sums import LEVELS, NEAREST, RANDOM, at_random, coded, decoded, everywhere, step_of, steps, to_nearest

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
]


@pytest.mark.parametrize(("run", "claims", "options"), RIGHT, ids=lambda part: getattr(part, "__name__", ""))
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
    assert cf.report_from_json(cf.check(cf.Codec(lambda x, seed: x, [claim])).to_json())


def test_what_would_hold_is_said_of_means_too():
    (finding,) = judged(at_random, [cf.Variance(lambda n, P: n / LEVELS**2 / 40)], ["Variance"]).failures
    factor = float(finding.instead.split()[0])
    assert 2.0 < factor < 10.5
    assert finding.instead.endswith("(means of 16 draws)")


def test_seconds_are_kept_to_and_what_was_left_out_is_said():
    def slow(stack, seed):
        time.sleep(0.005)
        return to_nearest(stack, seed)

    began = time.monotonic()
    report = cf.check(cf.AllReduce(slow, [*NEAREST]), seconds=3.0)
    assert time.monotonic() - began < 30.0
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
