"""A failure names the known mistake that explains it, and none where none does."""

import numpy as np
import pytest
from zoo.feedback import Decaying, Doubling
from zoo.planted import StaleResidual, batch_mean, without_its_mean
from zoo.selection import randk, randk_scaled_the_other_way, randk_unscaled

from commbounds.verify import conformance as cf
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.budgets import BUDGETS
from commbounds.verify.conformance.mistakes import likely_mistake


def named(subject, claim):
    return likely_mistake(Bench(subject, BUDGETS["quick"], 0, 1e-6), claim)


def summed(divisor=1, skip=None):
    def run(stack, seed):
        total = np.delete(stack, skip, axis=0).sum(axis=0) if skip is not None else stack.sum(axis=0)
        return np.repeat((total / divisor(len(stack)) if divisor != 1 else total)[None], len(stack), axis=0)

    return run


@pytest.mark.parametrize(
    ("subject", "claim", "expected"),
    [
        (cf.Codec(lambda x, seed: x.copy()), "Support(k=1)", "returns its input"),
        (cf.Codec(lambda x, seed: np.zeros_like(x)), "Contraction(alpha=0.5)", "returns zeros"),
        (cf.Codec(randk_unscaled), "Unbiased()", "does not scale them: n/k"),
        (cf.Codec(randk_scaled_the_other_way), "Unbiased()", "by k/n: n/k is due"),
        (cf.Codec(without_its_mean), "AbsoluteError(bound=0.1)", "loses the mean"),
        (cf.Codec(batch_mean, shape="matrix"), "Unbiased()", "averages over the batch"),
        (
            cf.Codec(lambda x, seed: (x * 0.75).astype(x.dtype)),
            "Unbiased()",
            "wrong number: in the mean all comes out times 0.75",
        ),
        (cf.AllReduce(summed(lambda P: P)), "Sums()", "divided by P = 9: the mean, where the sum is due"),
        (cf.AllReduce(summed(lambda P: P - 1)), "Averages()", "divided by P - 1 = 8"),
        (cf.AllReduce(summed(skip=1)), "Sums()", "rank 1 is missing"),
        (cf.Stateful(StaleResidual), "Telescopes()", "stale: it is the one of the step before"),
        (cf.Stateful(Doubling), "Telescopes()", "added twice"),
        (cf.Stateful(Decaying), "Telescopes()", "multiplied by 0.9"),
    ],
)
def test_the_mistake_is_named(subject, claim, expected):
    assert expected in named(subject, claim)


@pytest.mark.parametrize(
    ("subject", "claim"),
    [
        (cf.Codec(randk), "Unbiased()"),  # nothing is wrong
        (cf.Codec(lambda x, seed: np.rint(x)), "Unbiased()"),  # no known mistake
        (cf.Codec(randk_unscaled), "Bits(at_most=8)"),  # not about what comes out
        (cf.Codec(lambda x, seed: x / 0), "Unbiased()"),
        (cf.AllReduce(summed()), "Sums()"),
        (cf.AllReduce(lambda stack, seed: np.sort(stack, axis=1)), "RanksAgree()"),
    ],
)
def test_none_is_named_where_none_explains_it(subject, claim):
    with np.errstate(all="ignore"):
        assert named(subject, claim) == ""


def test_a_report_shows_it():
    report = cf.check(cf.Codec(randk_unscaled, [cf.Unbiased()], admits=lambda x: x.size >= 3), only=["Unbiased"])
    assert "keeps entries at random" in report["Unbiased"].likely
    assert "likely: it keeps entries at random" in str(report)
    assert cf.report_from_json(report.to_json())["Unbiased"].likely == report["Unbiased"].likely
