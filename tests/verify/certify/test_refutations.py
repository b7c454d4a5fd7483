"""Smallest counterexamples: what the implementation does at them, and what is refused as one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds import theory
from commbounds.collectives import gossip, moshpit
from commbounds.compressors import COMPRESSORS
from commbounds.theory.evaluation import evaluator
from commbounds.theory.model import Refutation
from commbounds.verify import certify
from commbounds.verify.certify.counterexamples import points, shortcoming
from commbounds.verify.certify.finder import NotFoundError, find_point
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.confront import confront, verdict_of
from commbounds.verify.experiment import violates
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.oktopk.runs import stack_case
from commbounds.verify.experiments.sparsifiers.studies import ShareTopK
from commbounds.verify.finding import Evidence, Method, Verdict
from commbounds.verify.study import Case, Outcome

REFUTED = [name for name in certify.files() if name in certify.refutations()]
HYPER_PARAMETERS = {
    "sparsifiers.topk.floor_k": lambda at: ShareTopK(COMPRESSORS["TopK"], Fraction(at["p"], at["q"]), up=False),
    "sparsifiers.randk.global_contraction": {"k": 1, "scaled": False},
    "sparsifiers.blocktopk.kept_share": {"k": 1, "block": 2},
    "sparsifiers.blocktopk.unbiased": {"k": 1, "block": 1},
    "sparsifiers.chunktopk.unbiased": {"k": 1, "chunk": 2},
    "sparsifiers.hardthreshold": lambda at: COMPRESSORS["HardThreshold"](at["threshold"]),
    "sparsifiers.adaptivesparsification": {},
    "sparsifiers": {"k": 1},
    "quantizers.sign.sign_symmetry_zeros": {"zero": 1},
    "quantizers.scaledsign.attained": {"zero": 0},
    "quantizers.scaledsign.idempotence_zeros": {"zero": 0},
    "quantizers.scaledsign": {"zero": 1},
    "quantizers.qsgd.second_moment_printed": lambda at: COMPRESSORS["QSGD"](at["s"]),
    "quantizers.qsgd": {"levels": 1},
    "quantizers.naturaldithering": {"levels": 1},
    "quantizers.stochasticpower": {"base": 2},
    "quantizers": {},
    "lowrank": {"rank": 1},
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""
KERNEL_ALONE = {
    "quantizers.naturalcompression.variance_every_float",
    "quantizers.naturalcompression.unbiased_every_float",
    "quantizers.qsgd.elias_printed",
}
"""About the ends of float32, which the exact law does not have, and about a message: run in float32 alone."""
WORST_OUTCOME = {"quantizers.qsgd.idempotence", "quantizers.naturaldithering.idempotence"}
"""Of kernels the most is read that compressing once more changes an outcome with, and not the mean over outcomes."""


def rows(*sizes):
    return lambda _: [list(map(float, size)) for size in sizes]


CASES = {
    "dense.allgather.printed_words": ({"algorithm": "bruck"}, None),
    "dense": ({}, None),
    "sparse.topkdsa.printed_lower": ({"switch": "model", "allgather": "ring"}, lambda at: np.eye(at["P"])),
    "sparse.topkdsa.printed_upper": ({"switch": "model", "allgather": "ring"}, None),
    "sparse.spardl.k_entries": ({"teams": 1}, rows([1], [1])),
    "sparse.gtopk.published_mass": ({"putback": "published"}, None),
    "sparse.lower_bound.every_rank": ({"n": 2, "k": 1}, None),
    "sparse": ({}, None),
    "oktopk.sent.unconditional": ({"cuts": (0, 2, 4)}, rows([0, 0, 0.25, 0.125], [-1, -0.5, 0, 0])),
    "oktopk.received.unconditional": ({}, rows([0, 0, 1], [0.5, 0, 0])),
    "oktopk.both.printed": ({"cuts": (0, 2, 4)}, rows([1, 0, 0.25, 0], [0, 1, 0, 0.125])),
    "oktopk.sent.reused_threshold": (
        {"cuts": "even", "thresholds": (0.4, 0.9)},
        lambda at: np.ones((2, at["n"])),
    ),
    "oktopk.boundaries.mean_of_quantiles": ({}, rows([0, 0, 1], [0.5, 0, 0])),
    "oktopk.lower.printed": ({}, lambda at: np.zeros((at["P"], 3))),
    "oktopk.lower.every_rank": ({"k": 1, "cuts": (0, 1, 3), "balance": "never"}, rows([1, 0, 0], [0, -0.5, 0])),
    "oktopk.threshold.ties": ({}, lambda at: np.ones((1, at["n"]))),
    "arctopk.rows.floor": ({"mu": "1/2", "rule": "floor"}, lambda at: np.eye(at["m"])),
    "arctopk.allreduce.local_contraction": ({"P": 2, "K": 1, "family": "a row of 2 and its negative"}, None),
    "majority.server.thirty_two": ({"way": "server", "zeros": "plus"}, None),
    "majority.vote.no_expansion": ({"P": 3, "n": 1, "seed": 0, "way": "server", "zeros": "plus"}, None),
    "majority.ties.one_bit": ({"way": "server", "zeros": "abstain", "zero_entries": True}, None),
    "moshpit.random_groups.printed": ({"reading": "cut"}, None),
    "gossip.restarts.as_restarts": ({"p": "0"}, None),
    "packetloss.drift.published": ({"receivers": 2, "t": 2, "p": Fraction(1, 2), "last": False}, None),
    "packetloss.owner.unbiased_for_given_gradients": ({"p": Fraction(1, 2), "pattern": 0, "owner": 0}, None),
    "dropcompute.backup.dominated_strictly": (
        {"tau": Fraction(1), "overhead": Fraction(0), "preemption": "A", "at_threshold": False},
        None,
    ),
    "dropcompute.gradient.correlated": (
        {
            "law": "1 (1/2) or 2 (1/2)",
            "N": 1,
            "M": 1,
            "tau": Fraction(2),
            "normalisation": "computed",
            "gradients": "latencies",
        },
        None,
    ),
    "dropcompute.sgd.drops_ignored": (
        {
            "f": "x^2/2",
            "start": Fraction(1),
            "batches": (0, 1),
            "B": 1,
            "eta": Fraction(1),
            "L": 1,
            "sigma": 0,
        },
        None,
    ),
    "flashcomm.groupquant.clamped_point": ({"width": 1, "group": 2, "zero": "clamped", "family": "one sign"}, None),
    "feedback.cgd.first_step": ({"q": 0.5, "L": 2.0, "mu": 1.0}, rows([1], [1])),
}
"""Settings of the case at the point, beside the values of the claim's symbols, by the beginning of the claim's name;
and its array, where it is not the refutation's x."""


def alone(name, at):
    """The outcomes that no study measures at so small a point: what the collective itself returns."""
    a = at["a"]
    if name == "moshpit.grid.key_of_d_digits":
        (result, _), _ = moshpit(a * np.eye(2), np.array([[0], [1]]), 2, 1, slots="rank")
        values = {"N": 2, "M": 2, "dims": 1}
    else:
        result, _ = gossip(a * np.eye(3), "one-peer", 2)
        values = {"N": 3, "rounds": 2}
    result = [[Fraction(v) for v in row] for row in result.tolist()]
    means = [sum(column) / len(result) for column in zip(*result, strict=True)]
    spread = sum((v - m) ** 2 for row in result for v, m in zip(row, means, strict=True))
    return Outcome(spread / len(result), values)


def at_case(name, at):
    """The outcome of the claim's own study at the point, which its hypotheses admit."""
    if name in ("moshpit.grid.key_of_d_digits", "gossip.one_peer.any_number"):
        return alone(name, at)
    study, refutation = EXPERIMENTS[name], certify.refutations()[name]
    begin = max((known for known in CASES if name.startswith(known)), key=len)
    more, array = CASES[begin]
    values = {s.name: exact(v, at) for s, v in refutation.values.items()}
    settings = {s: int(v) if v.denominator == 1 else v for s, v in values.items()}
    x = exact(refutation.x, at) if array is None and refutation.x else None
    stack = np.array(array(at)) if array is not None else None if x is None else np.array(x, np.float64)
    if name.startswith("oktopk"):
        options = {"cuts": "fresh", **more}
        case = stack_case(
            stack.astype(np.float32), options.pop("k", None) or settings["k"], options.pop("cuts"), **options
        )
    else:
        case = Case({**settings, **more}, stack)
    outcome = study.admitted(study.implementation({}), case)
    assert isinstance(outcome, Outcome), outcome
    return outcome


def exact(value, at):
    if isinstance(value, tuple):
        return tuple(exact(v, at) for v in value)
    return Fraction(evaluator(sp.sympify(value))(at, "an entry"))


def compressor(name, at):
    """The compressor that the claim is about."""
    begin = max((known for known in HYPER_PARAMETERS if name.startswith(known)), key=len)
    found = HYPER_PARAMETERS[begin]
    return found(at) if callable(found) else COMPRESSORS[EXPERIMENTS[name].subject](**found)


def vector(name, at):
    """The exact input."""
    refutation = certify.refutations()[name]
    return exact(refutation.x, at) if refutation.x else (Fraction(1),) * at["n"]


def runs(name, at):
    """The outcomes of the compressor's exact law, and of its kernel, at the point."""
    c, x, study = compressor(name, at), vector(name, at), EXPERIMENTS[name]
    array = np.array([[float(v) for v in row] for row in x] if isinstance(x[0], tuple) else [float(v) for v in x])
    if name in KERNEL_ALONE:
        array = array.astype(np.float32)
    for run in (CompressorRun(c, x), CompressorRun(c, array)):
        if run.exact and name in KERNEL_ALONE:
            continue
        assert study.admits(c, array), "the claim's hypotheses"
        yield run, study.outcome(run)


@pytest.mark.parametrize("name", REFUTED)
def test_the_implementation_at_the_point(name):
    """It measures there what the model says, and breaks the claim."""
    at, refutation, claim = certify.load(name).instances[0], certify.refutations()[name], theory.claims()[name]
    expected = Fraction(evaluator(sp.sympify(refutation.measured))(at, "measured"))
    if isinstance(EXPERIMENTS[name], CompressorStudy):
        outcomes = [outcome for _, outcome in runs(name, at)]
    else:
        outcomes = [at_case(name, at)]
    for i, outcome in enumerate(outcomes):
        if not (i and name in WORST_OUTCOME):
            assert abs(outcome.measured - expected) <= outcome.slack
        values = {symbol.name: exact(value, at) for symbol, value in refutation.values.items()}
        free = {"alpha"} if any(h.name == "some_alpha" for h in claim.assumes) else set()  # the study's is another
        for symbol in (set(claim.parameters) & set(outcome.values)) - free:
            assert outcome.values[symbol] == values[symbol]
        assert violates(claim.relation, outcome.measured, claim.bound(**values), outcome.slack)


# --- what is refused ----------------------------------------------------------------------------------------------

TOPK = "sparsifiers.topk.global_contraction"


def planted():
    """Counterexamples that must be refused, by what is wrong with them."""
    right = certify.load(TOPK)
    return {
        "no counterexample": (replace(right, instances=({"a": 3, "b": 1},)), "no counterexample: measured 1/4"),
        "a condition is not met": (replace(right, instances=({"a": 1, "b": 1},)), "'a > b' must be positive"),
        "below the smallest value": (replace(right, instances=({"a": 2, "b": 0},)), "of at least 1"),
        "no whole number": (replace(right, instances=({"a": Fraction(5, 2), "b": 1},)), "whole number"),
        "not the smallest": (replace(right, instances=({"a": 4, "b": 3},)), "smaller counterexample"),
        "another number": (replace(right, instances=({"a": 2, "c": 1},)), "a point has a, b"),
        "two points": (replace(right, instances=({"a": 2, "b": 1}, {"a": 3, "b": 2})), "one point"),
        "a proof besides": (replace(right, proofs=(*right.proofs, {"at": 0, "goal": "other"})), "one point"),
        "another scope": (replace(right, scope="refuted everywhere"), "scope must be"),
        "a claim without a model": (replace(right, claim="sparsifiers.topk.contraction"), "no model"),
    }


@pytest.mark.parametrize("kind", list(planted()))
def test_a_bad_counterexample_is_refused(kind):
    certificate, reason = planted()[kind]
    with pytest.raises(certify.CertificateError, match=reason):
        certify.check(certificate)


def test_a_true_claim_has_no_counterexample():
    right = certify.load(TOPK)
    with pytest.raises(certify.CertificateError, match="no counterexample"):
        certify.check(right, bound=sp.Integer(5))
    refutation = certify.refutations()[TOPK]
    with pytest.raises(NotFoundError, match="points"):
        find_point(replace(refutation, measured=sp.Integer(0)))


def test_a_hypothesis_is_a_relation_that_is_met_or_has_its_reason():
    claim, refutation = theory.claims()["oktopk.sent.unconditional"], certify.refutations()["oktopk.sent.unconditional"]
    point = {"P": 2, "k": 2, "winners": 2}
    assert not shortcoming(refutation, claim, claim.relation.rhs, point)
    assert "k_winners" in shortcoming(refutation, claim, claim.relation.rhs, {**point, "k": 1})
    assert "winners_divisible" in shortcoming(refutation, claim, claim.relation.rhs, {**point, "k": 3, "winners": 3})
    without = replace(refutation, met={"words_of_the_data": "They are."})
    with pytest.raises(certify.CertificateError, match="say once why always_balanced"):
        shortcoming(without, claim, claim.relation.rhs, point)


def test_points_come_by_their_sum_and_every_one_once():
    a, b = sp.symbols("a b", integer=True)
    refutation = Refutation(TOPK, "words", {a: 1, b: 0}, a)
    found = list(points(refutation, 4))
    assert [sum(p.values()) for p in found] == sorted(sum(p.values()) for p in found)
    assert sorted(tuple(p.values()) for p in found) == sorted((i, j) for i in range(1, 5) for j in range(5 - i))
    assert list(points(refutation, 4, 4)) == [p for p in found if sum(p.values()) == 4]
    with pytest.raises(certify.CertificateError, match="points would"):
        list(points(refutation, 10**6))


@pytest.mark.parametrize(
    "wrong", [{"words": " "}, {"met": {"nonzero": ""}}, {"measured": sp.Symbol("z")}, {"x": ((sp.Symbol("z"),),)}]
)
def test_a_refutation_says_what_it_speaks_of(wrong):
    with pytest.raises(ValueError, match="refutation"):
        replace(certify.refutations()[TOPK], **wrong)


def test_a_counterexample_of_the_model_alone_refutes_nothing():
    of_model = Evidence(Method.CERTIFICATE, Verdict.REFUTED, 1, "its point", scope={"smallest": "refuted at x = (1)"})
    survived = Evidence(Method.SEARCH, Verdict.SURVIVED, 10, "none found")
    assert verdict_of((of_model,)) is Verdict.ERROR
    assert verdict_of((of_model, survived)) is Verdict.SURVIVED
    assert verdict_of((of_model, replace(survived, verdict=Verdict.REFUTED))) is Verdict.REFUTED


def test_the_finding_of_a_refuted_claim_shows_its_smallest_counterexample():
    finding = confront("sparse.gtopk.true_topk", drawn=False)
    assert (finding.verdict, finding.as_stated, finding.proved_for) == (Verdict.REFUTED, True, "")
    assert finding.refuted_at == certify.load("sparse.gtopk.true_topk").scope


def test_what_is_not_rational_is_not_decided():
    a = sp.Symbol("a", integer=True, positive=True)
    refutation = replace(certify.refutations()[TOPK], whole={a: 2}, measured=sp.sqrt(a), x=(), positive={})
    claim = theory.claims()[TOPK]
    with pytest.raises(certify.CertificateError, match="not rational"):
        shortcoming(refutation, claim, claim.relation.rhs, {"a": 2})


def test_every_refutation_is_of_a_claim_that_fails_and_has_its_certificate():
    assert len(REFUTED) == len(certify.refutations()) > 60
    for name in REFUTED:
        assert theory.claims()[name].stands is not theory.Standing.HOLDS
        assert name not in certify.models()
        assert set(certify.refutations()[name].met) <= {h.name for h in theory.claims()[name].assumes}
