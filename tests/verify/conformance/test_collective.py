"""Claims about all-reduces: what is right passes, what is broken is told by the claim that it breaks."""

import ml_dtypes
import numpy as np
import pytest
import sympy as sp
from samples import each_once, first_of_each

from commbounds.collectives import (
    arctopk_allreduce,
    butterfly_allreduce,
    gaussiank_allreduce,
    gtopk_allreduce,
    hierarchical_quantised_allreduce,
    oktopk_allreduce,
    oneshot_quantised_allreduce,
    rabenseifner_allreduce,
    recursive_doubling_allreduce,
    ring_allreduce,
    ring_quantised_allreduce,
    spardl_allreduce,
    topk_allgather,
    topk_dsa,
    twostep_quantised_allreduce,
)
from commbounds.compressors import GroupQuantizer
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.inputs import corpus

P, n, k = sp.symbols("P n k")
EXACT = [cf.Sums(), cf.RanksAgree()]
FOUR_DTYPES = ["float16", "bfloat16", "float32", "float64"]


def judged(run, claims, **options):
    """The report on the claims alone."""
    subject = cf.AllReduce(run, claims, time_limit=300.0, **options)  # kernels may have to be compiled
    return cf.check(subject, only=[str(claim) for claim in subject.claims])


def verdicts(report):
    return {finding.claim: str(finding.verdict) for finding in report.findings}


def dense(allreduce):
    def run(stack, seed):
        result, traffic = allreduce(stack)
        return result, traffic.sent, traffic.received

    return run


def few(stack, most=3):
    return min(most, stack.shape[1])


def sparse(allreduce, **options):
    def run(stack, seed):
        result, traffic = allreduce(stack, few(stack), **options)
        return cf.AllReduceResult(
            np.repeat(result.update[None], len(stack), 0), traffic.sent, traffic.received, result.residual
        )

    return run


def oktopk(stack, seed):
    result, _, traffic = oktopk_allreduce(stack, few(stack))
    kept = stack.copy()
    for row, indices in zip(kept, result.selected, strict=True):
        row[indices] = 0
    return cf.AllReduceResult(np.repeat(result.update[None], len(stack), 0), traffic.sent, traffic.received, kept)


def arctopk(stack, seed):
    result, traffic = arctopk_allreduce(stack[..., None], few(stack), 1, np.random.default_rng(seed))
    kept = stack.copy()
    np.put_along_axis(kept, result.rows, 0, axis=1)
    return cf.AllReduceResult(result.mean[..., 0].copy(), traffic.sent, traffic.received, kept)


def quantised(allreduce, *more):
    def run(stack, seed):
        total, traffic = allreduce(stack, GroupQuantizer(8, 8), *more)
        return total.values, traffic.sent, traffic.received

    return run


RING = cf.WordsAtMost(2 * (P - 1) * sp.ceiling(n / P))
RIGHT = {
    "ring": (dense(ring_allreduce), [*EXACT, RING]),
    "butterfly": (dense(butterfly_allreduce), [*EXACT, RING]),
    "Rabenseifner": (dense(rabenseifner_allreduce), [*EXACT, cf.WordsAtMost(4 * n)]),
    "recursive doubling": (
        dense(recursive_doubling_allreduce),
        [*EXACT, cf.WordsAtMost(n * (sp.floor(sp.log(P, 2)) + 1))],
    ),
    "Top-K by an all-gather": (
        sparse(topk_allgather),
        [cf.RanksAgree(), cf.Conserves(), cf.WordsAtMost(2 * k * (P - 1), "received", k=lambda P, n: min(3, n))],
    ),
    "TopkDSA": (sparse(topk_dsa), [cf.RanksAgree(), cf.Conserves()]),
    "gTopk": (sparse(gtopk_allreduce), [cf.RanksAgree(), cf.Conserves()]),
    "SparDL": (sparse(spardl_allreduce), [cf.RanksAgree(), cf.Conserves()]),
    "Gaussian-K": (sparse(gaussiank_allreduce), [cf.RanksAgree(), cf.Conserves()]),
    "Ok-Topk": (oktopk, [cf.RanksAgree(), cf.Conserves()]),
    "ARC-Top-K": (arctopk, [cf.RanksAgree(), cf.Conserves(averages=True)]),
    "two steps, quantised": (quantised(twostep_quantised_allreduce), [cf.RanksAgree()]),
    "quantised ring": (quantised(ring_quantised_allreduce), [cf.RanksAgree()]),
    "one shot, quantised": (quantised(oneshot_quantised_allreduce), [cf.RanksAgree()]),
    "two levels, quantised": (quantised(hierarchical_quantised_allreduce, 1), [cf.RanksAgree()]),
}


@pytest.mark.parametrize("name", first_of_each(RIGHT, lambda name: tuple(map(type, RIGHT[name][1]))))
def test_the_collectives_of_this_package_keep_what_is_theirs(name):
    run, claims = RIGHT[name]
    report = judged(run, claims, effort=0.1)
    assert set(verdicts(report).values()) == {"pass"}, report


def test_nothing_that_is_dense_keeps_residuals_or_tells_words_unless_it_does():
    report = judged(lambda stack, seed: up(stack), [cf.Conserves(), RING], effort=0.1)
    assert set(verdicts(report).values()) == {"not judged"}
    assert "residuals" in report.findings[0].message
    assert "does not tell" in report.findings[1].message


def up(stack):
    return np.repeat(stack.sum(axis=0, dtype=stack.dtype)[None], len(stack), 0)


def down(stack):
    total = np.zeros_like(stack[0])
    for row in stack[::-1]:
        total = total + row
    return np.repeat(total[None], len(stack), 0)


def wide(stack):
    return np.repeat(stack.astype(np.float64).sum(axis=0).astype(stack.dtype)[None], len(stack), 0)


def tree(stack):
    rows = list(stack)
    while len(rows) > 1:
        rows = [sum(rows[i + 1 : i + 2], rows[i]) for i in range(0, len(rows), 2)]
    return np.repeat(rows[0][None], len(stack), 0)


@pytest.mark.parametrize(("order", "dtype"), each_once([up, down, wide, tree], FOUR_DTYPES, lambda f: f.__name__))
def test_sums_may_be_taken_in_any_order_and_in_any_wider_dtype(order, dtype):
    report = judged(lambda stack, seed: order(stack), EXACT, dtype=dtype, shape=(5,), effort=0.3)
    assert report.passed, report


def divided_before(stack):
    return up(stack / stack.dtype.type(len(stack)))


def by_the_reciprocal(stack):
    return up(stack) * (stack.dtype.type(1) / stack.dtype.type(len(stack)))


def divided_after(stack):
    return (up(stack) / stack.dtype.type(len(stack))).astype(stack.dtype)


MEANS = (divided_before, by_the_reciprocal, divided_after)


@pytest.mark.parametrize(("mean", "dtype"), each_once(MEANS, FOUR_DTYPES, lambda f: f.__name__))
def test_means_may_be_divided_before_or_after(mean, dtype):
    claims = [cf.Averages(), cf.RanksAgree()]
    report = judged(lambda stack, seed: mean(stack).astype(stack.dtype), claims, dtype=dtype, shape=(5,), effort=0.3)
    assert report.passed, report


# --- what is broken -----------------------------------------------------------------------------------------------


def int8_accumulators(stack, seed):
    scale = max(float(np.abs(stack).max()), 1e-30) / 127.0
    codes = np.rint(stack / scale).astype(np.int8)
    with np.errstate(over="ignore"):
        total = codes.sum(axis=0, dtype=np.int8)
    return np.repeat((total * scale).astype(stack.dtype)[None], len(stack), 0)


def only_rank_0(stack, seed):
    result = stack.copy()
    result[0] = stack.sum(axis=0)
    return result


def own_order(stack, seed):
    result = np.empty_like(stack)
    for p in range(len(stack)):
        total = stack[p].copy()
        for q in range(len(stack)):
            if q != p:
                total += stack[q]
        result[p] = total
    return result


def doubled_where_no_power_of_two(stack, seed):
    held = stack.copy()
    P, distance = len(stack), 1
    while distance < P:
        held = held + np.roll(held, -distance, axis=0)
        distance *= 2
    return held


def whole_blocks_alone(stack, seed):
    result = up(stack)
    result[:, stack.shape[1] // len(stack) * len(stack) :] = 0
    return result


def one_buffer(stack, seed):
    total = stack[0]
    for row in stack[1:]:
        total += row
    return np.stack([total if p == 0 else row + total for p, row in enumerate(stack)])


def last_rank_late(stack, seed):
    return np.repeat(stack[:-1].sum(axis=0)[None], len(stack), 0) if len(stack) > 1 else stack.copy()


def half_words(stack, seed):
    return np.repeat(stack.astype(np.float16).astype(stack.dtype).sum(0)[None], len(stack), 0)


@pytest.mark.parametrize(
    ("broken", "agree"),
    [
        (int8_accumulators, "pass"),
        (only_rank_0, "fail"),
        (doubled_where_no_power_of_two, None),
        (whole_blocks_alone, "pass"),
        (one_buffer, "fail"),
        (last_rank_late, "pass"),
        (half_words, "pass"),
        (lambda stack, seed: up(stack) / len(stack), "pass"),
        (lambda stack, seed: stack.copy(), "fail"),
    ],
)
def test_sums_that_are_wrong_are_found_and_come_out_small(broken, agree):
    report = judged(broken, EXACT)
    finding = report["Sums"]
    assert str(finding.verdict) == "fail", report
    assert agree is None or str(report["RanksAgree"].verdict) == agree, report
    assert np.size(finding.counterexample) <= 6, report


def test_ranks_that_add_in_their_own_order_sum_but_disagree():
    report = judged(own_order, EXACT)
    assert verdicts(report) == {"Sums()": "pass", "RanksAgree()": "fail"}
    found = np.array(report["RanksAgree"].counterexample)
    assert found.shape[1] == 1  # and more than two ranks: a + b and b + a are the same
    assert found.shape[0] > 2


def test_ranks_that_disagree_on_the_sign_of_zero_disagree_and_on_nan_do_not():
    def signed(stack, seed):
        result = up(stack)
        result[1:] = np.where(result[1:] == 0, np.float32(-0.0), result[1:])
        return result

    def unclear(stack, seed):
        result = np.full_like(stack, np.nan)
        result.view(np.uint32)[1:] += 1
        return result

    assert "-0.0" in judged(signed, [cf.RanksAgree()])["RanksAgree"].message
    assert judged(unclear, [cf.RanksAgree()], effort=0.1).passed
    report = judged(lambda s, seed: np.where(np.arange(len(s))[:, None] > 0, np.float32(np.nan), s), [cf.RanksAgree()])
    assert "nan on rank 1" in report["RanksAgree"].message


def test_a_rank_that_rounds_what_it_keeps_disagrees():
    def rounded(stack, seed):
        result = up(stack)
        result[-1] = result[-1].astype(ml_dtypes.bfloat16).astype(np.float32)
        return result

    report = judged(rounded, [cf.RanksAgree()])
    assert np.size(report["RanksAgree"].counterexample) == 2


@pytest.mark.parametrize(
    "broken",
    first_of_each(
        [
            lambda s, seed: up(s) / np.float32(2 ** (len(s) - 1).bit_length()),
            lambda s, seed: up(s),
            lambda s, seed: up(s) / np.float32(max(1, len(s) - 1)),
            lambda s, seed: up(s) / np.float32(np.maximum(1, np.count_nonzero(s, axis=0))),
            lambda s, seed: np.repeat(np.median(s, axis=0)[None].astype(s.dtype), len(s), 0),
        ],
        lambda broken: "wrong count",
        lambda broken: "mean",
    ),
)
def test_means_over_the_wrong_count_are_found(broken):
    report = judged(broken, [cf.Averages(), cf.RanksAgree()])
    assert verdicts(report) == {"Averages()": "fail", "RanksAgree()": "pass"}
    assert np.size(report["Averages"].counterexample) <= 3, report


def test_sums_say_nothing_where_partial_sums_may_overflow():
    subject = cf.AllReduce(lambda s, seed: up(s), [cf.Sums()])
    top = np.finfo(np.float32).max
    assert "beyond" in cf.recheck(subject, "Sums()", [[top], [top], [-top]])
    assert cf.recheck(subject, "Sums()", [[top / 4], [top / 4], [-top / 4]]) == "holds here"


def test_sums_scaled_by_the_count_first_overflow():
    report = judged(lambda s, seed: up(s * np.float32(2)) / np.float32(2), [cf.Sums()], magnitudes=(1e-3, 3e38))
    assert "inf" in report["Sums"].message or "nan" in report["Sums"].message, report


# --- residuals ----------------------------------------------------------------------------------------------------


def keeping(change):
    def run(stack, seed):
        sent = np.where(np.abs(stack) >= np.abs(stack).max(axis=1, keepdims=True), stack, 0)
        return cf.AllReduceResult(*change(stack, sent))

    return run


BROKEN_RESIDUALS = {
    "nothing kept": lambda x, s: (up(s), None, None, np.zeros_like(x)),
    "all kept": lambda x, s: (up(s), None, None, x),
    "last rank forgets": lambda x, s: (up(s), None, None, (x - s) * (np.arange(len(x)) < len(x) - 1)[:, None]),
    "mean applied, sum meant": lambda x, s: (up(s) / np.float32(len(x)), None, None, x - s),
    "half precision kept": lambda x, s: (up(s), None, None, (x - s).astype(np.float16).astype(np.float32)),
}


@pytest.mark.parametrize("name", first_of_each(BROKEN_RESIDUALS, lambda name: name.startswith("last")))
def test_what_is_lost_or_kept_twice_is_found(name):
    report = judged(keeping(BROKEN_RESIDUALS[name]), [cf.Conserves(), cf.RanksAgree()])
    assert verdicts(report) == {"Conserves()": "fail", "RanksAgree()": "pass"}
    assert np.size(report["Conserves"].counterexample) <= 4, report


def test_residuals_may_be_wider_and_applied_means_count_for_all_ranks():
    wider = keeping(lambda x, s: (up(s), None, None, (x - s).astype(np.float64)))
    exact = judged(wider, [cf.Conserves()], effort=0.1)
    mean = keeping(lambda x, s: ((up(s) / np.float32(len(x))), None, None, x - s))
    assert exact.passed
    assert judged(mean, [cf.Conserves(averages=True)], effort=0.1).passed
    ragged = keeping(lambda x, s: (up(s), None, None, x[:, :-1]))
    assert "residuals of shape" in judged(ragged, [cf.Conserves()], admits=lambda x: x.shape[1] > 1).findings[0].message


def low_rank(stack, seed):
    right = np.linalg.qr(np.random.default_rng(seed).standard_normal((stack.shape[2], 1)))[0].astype(stack.dtype)
    left = np.stack([row @ right for row in stack])
    decoded = left @ right.T
    return cf.AllReduceResult(np.repeat((left.sum(axis=0) @ right.T)[None], len(stack), 0), None, None, stack - decoded)


def test_messages_that_are_decoded_together_round_by_norms():
    report = judged(low_rank, [cf.Conserves(mixes=True), cf.RanksAgree()], shape=(6, 5), effort=0.3)
    assert report.passed, report
    broken = judged(
        lambda s, seed: cf.AllReduceResult(low_rank(s, seed).result, None, None, 0.5 * low_rank(s, seed).residual),
        [cf.Conserves(mixes=True)],
        shape=(6, 5),
    )
    assert not broken.passed


# --- words --------------------------------------------------------------------------------------------------------


def test_bounds_on_words_are_compared_exactly():
    run = dense(ring_allreduce)
    assert judged(run, [RING], effort=0.1).passed
    one_less = judged(run, [cf.WordsAtMost(sp.Max(0, 2 * (P - 1) * sp.ceiling(n / P) - 1))])
    assert "words sent, claimed at most" in one_less.findings[0].message
    uneven = judged(run, [cf.WordsAtMost(2 * (P - 1) * n / P)])  # blocks are not even
    assert np.shape(uneven.findings[0].counterexample) in {(2, 1), (3, 1)}
    bound = cf.WordsAtMost(2 * (P - 1) * n / P)
    even = judged(run, [bound], admits=lambda x: x.shape[1] % len(x) == 0, effort=0.1)
    assert even.passed
    assert judged(run, [cf.WordsAtMost(lambda P, n: 2.0 * (P - 1) * np.ceil(n / P))], effort=0.1).passed
    assert judged(run, [cf.WordsAtMost(10, "received")]).findings[0].message.startswith("with P = ")


def test_words_of_one_direction_or_of_both_together():
    def lopsided(stack, seed):
        sent = np.zeros(len(stack), int)
        sent[0] = 10
        received = np.full(len(stack), 4)
        return up(stack), sent, received

    for of, bound, verdict in (
        ("sent", 10, "pass"),
        ("sent", 9, "fail"),
        ("received", 4, "pass"),
        ("received", 3, "fail"),
        ("both", 10, "pass"),
        ("both", 9, "fail"),
        ("sum", 14, "pass"),
        ("sum", 13, "fail"),
    ):
        report = judged(lopsided, [cf.WordsAtMost(bound, of)], shape=(2,), effort=0.05)
        assert str(report.findings[0].verdict) == verdict, (of, bound)
    assert "less than none" in judged(lambda s, seed: (up(s), -np.ones(len(s), int), None), [
        cf.WordsAtMost(5, "sent")
    ]).findings[0].message  # fmt: skip
    assert "does not tell" in judged(lambda s, seed: (up(s), np.ones(len(s), int), None), [
        cf.WordsAtMost(5)
    ]).findings[0].message  # fmt: skip


def test_bounds_on_words_print_and_refuse_what_has_no_value():
    assert str(cf.WordsAtMost(6 * k * (P - 1) / P, k=4)) == "WordsAtMost(6*k*(P - 1)/P, k=4)"
    assert str(cf.WordsAtMost(k, "sent", k=lambda P, n: 1)) == "WordsAtMost(k, of='sent', k=...)"
    for wrong in (
        lambda: cf.WordsAtMost(6 * k),
        lambda: cf.WordsAtMost(P, P=3),
        lambda: cf.WordsAtMost(P, k=3),
        lambda: cf.WordsAtMost(P, "busy"),
    ):
        with pytest.raises(ValueError, match="must be"):
            wrong()
    with pytest.raises(TypeError, match="bound"):
        cf.WordsAtMost("2 n")
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="bound must be finite and at least 0"):
            cf.WordsAtMost(wrong)
    with pytest.raises(ValueError, match="k must be finite"):
        cf.WordsAtMost(k, k=float("nan"))


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (sp.I * P, "must be a real number, got 2.0"),
        (lambda P, n: float("nan"), "got NaN"),
        (lambda P, n: float("inf"), "must be finite and at least 0, and is inf"),
        (-P, "must be finite and at least 0, and is -2 with P = 2"),
    ],
)
def test_a_bound_on_words_that_is_none_fails_with_a_sentence(bound, said):
    finding = judged(dense(ring_allreduce), [cf.WordsAtMost(bound)], effort=0.05, ranks=(2, 3)).findings[0]
    assert str(finding.verdict) == "fail"
    assert finding.message.startswith("nothing is claimed: ")
    assert said in finding.message
    assert finding.counterexample is None


# --- cases and findings -------------------------------------------------------------------------------------------


def test_the_hostile_stacks_differ_and_hold_what_breaks_collectives():
    cases = list(corpus(cf.AllReduce(lambda s, seed: s), BUDGETS["quick"]))
    assert 700 <= len(cases) <= 1000
    assert len({(c.x.shape, c.x.tobytes()) for c in cases}) == len(cases)
    assert {len(c.x) for c in cases} == set(range(1, 10))
    assert any(c.x.shape[1] < len(c.x) for c in cases)
    assert any(c.x.shape[1] % len(c.x) and c.x.shape[1] > len(c.x) for c in cases)
    assert any(np.abs(c.x.astype(np.float64)).sum(axis=0).max() > np.finfo(np.float32).max / 2 for c in cases)
    assert any(not c.x[:-1].any() and c.x[-1].any() and len(c.x) > 2 for c in cases)


def test_ranks_shrink_to_the_fewest_that_fail():
    def from_five(stack, seed):
        return up(stack) * np.float32(1 if len(stack) < 5 else 2)

    report = judged(from_five, [cf.Sums()], ranks=(1, 3, 5, 8))
    assert np.shape(report["Sums"].counterexample) == (5, 1)
    assert np.count_nonzero(report["Sums"].counterexample) == 1


def test_reproductions_show_the_failure_again(capsys):
    for broken, claim in ((only_rank_0, cf.Sums()), (own_order, cf.RanksAgree())):
        finding = judged(broken, [claim]).findings[0]
        program = finding.reproduce.replace("subject = ...  # yours", "")
        exec(program, {"subject": cf.AllReduce(broken, [claim])})
        assert finding.message in capsys.readouterr().out
