"""Smallest counterexamples: what the implementation does at them, and what is refused as one."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from commbounds import theory
from commbounds.compressors import COMPRESSORS
from commbounds.theory.evaluation import evaluator
from commbounds.verify import certify
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import CompressorStudy
from commbounds.verify.experiment import violates
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.sparsifiers.studies import ShareTopK

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
BEYOND_THE_LAW = {
    "quantizers.naturalcompression.variance_every_float",
    "quantizers.naturalcompression.unbiased_every_float",
}
"""About the ends of float32, which the exact law does not have."""


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
    if name in BEYOND_THE_LAW:
        array = array.astype(np.float32)
    for run in (CompressorRun(c, x), CompressorRun(c, array)):
        if run.exact and name in BEYOND_THE_LAW:
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
    for outcome in outcomes:
        assert abs(outcome.measured - expected) <= outcome.slack
        values = {s: outcome.values[s] for s in claim.parameters if s not in ("alpha",)}
        for symbol, value in refutation.values.items():
            if symbol.name in values:
                assert values[symbol.name] == exact(value, at)
        limit = claim.bound(**{**values, **{s.name: exact(v, at) for s, v in refutation.values.items()}})
        assert violates(claim.relation, outcome.measured, limit, outcome.slack)
