"""Smallest counterexamples: what the implementation does at them, and what is refused as one."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
import sympy as sp

from commbounds import theory
from commbounds.collectives import FeedbackSGD, gossip, moshpit
from commbounds.compressors import COMPRESSORS, EF21
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
from commbounds.verify.experiments.feedback.runs import Shrunk
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
    "shipped.replacementrandk": lambda at: COMPRESSORS["ReplacementRandK"](at.get("k", 1)),
    "shipped.bernoullilazy": lambda at: COMPRESSORS["BernoulliLazy"](Fraction(1, at["v"])),
    "shipped.atomic.variance_any": lambda at: COMPRESSORS["Atomic"](Fraction(at["u"], at["v"])),
    "shipped.atomic.idempotence": {"budget": 1},
    "shipped.threelc": lambda at: COMPRESSORS["ThreeLC"](Fraction(at["u"], at["v"])),
    "shipped.threelc.unbiased": {"sparsity": 1},
    "shipped.uniformbuckets": {"buckets": 2},
    "shipped.quantilebuckets": {"buckets": 2},
    "shipped.uniformbuckets.ratio": {},
    "shipped.quantilebuckets.ratio": {},
    "shipped.qsgd": lambda at: COMPRESSORS["QSGD"](at["s"]),
    "shipped.topk": {"k": 1},
    "shipped": {},
    "rotations.drive": {"scale": "unbiased"},
    "rotations.hadamardsketch": lambda at: COMPRESSORS["HadamardSketch"](at.get("k", 1)),
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""
KERNEL_ALONE = {
    "quantizers.naturalcompression.variance_every_float",
    "quantizers.naturalcompression.unbiased_every_float",
    "quantizers.qsgd.elias_printed",
    "shipped.uniformbuckets.ratio",
    "shipped.quantilebuckets.ratio",
    "shipped.terngrad.code_bits",
    "shipped.qsgd.code_bits",
    "shipped.topk.code_bits",
    "rotations.drive.wire_one",
}
"""About the ends of float32, which the exact law does not have, and about messages: run in float32 alone."""
WORST_OUTCOME = {
    "quantizers.qsgd.idempotence",
    "quantizers.naturaldithering.idempotence",
    "shipped.bernoullilazy.idempotence",
    "shipped.atomic.idempotence",
    "shipped.clippedterngrad.idempotence",
}
"""Of kernels the most is read that compressing once more changes an outcome with, and not the mean over outcomes."""


def rows(*sizes):
    return lambda _: [list(map(float, size)) for size in sizes]


def _rounding(schedule, **other):
    """Settings of a rounded all-reduce."""
    common = {"per_hop": True, "rounding": "nearest", "nodes": None, "accumulate": "float32", "wire": "float32"}
    return {"schedule": schedule, **common, **other}


def _sum(schedule, **other):
    return _simulated(schedule, **other), None


def _simulated(schedule, **other):
    return _rounding(schedule, **{"own": "as sent", "kept": "as sent", "average": None, "nodes": 1, **other})


_E5M2 = {"accumulate": "float8_e5m2", "wire": "float8_e5m2"}
_E4M3 = {"accumulate": "float8_e4m3fn", "wire": "float8_e4m3fn"}
_BFLOAT16 = {"accumulate": "bfloat16", "wire": "bfloat16"}
_TO_BFLOAT16 = {"accumulate": "float32", "wire": "bfloat16"}
_VOTE = {"A": 0, "L": 0, "noise": "uniform", "kept": "1/2", "way": "server", "zeros": "plus", "sign": 1}


def quarter_of_owners(at):
    """A winner on every rank, all in the region of the first quarter of the ranks, and small entries in all others."""
    P, i = 4 * 2 ** at["j"], at["i"]
    stack = np.zeros((P, 4 * P * i * P))
    width = stack.shape[1] // P
    for rank in range(P):
        for owner in range(P // 4):
            stack[rank, owner * width + rank : owner * width + 4 * i : P] = 1.0
    return stack


CASES = {
    "dense.recursive_doubling.printed_words": ({}, None),
    **{
        f"dense.{name}.rank_order": ({"P": P, "n": 1, "dtype": "float64"}, None)
        for name, P in (("ring", 3), ("butterfly", 3), ("recursive_doubling", 4), ("rabenseifner", 4))
    },
    "precision.running.sharp_beyond": (_rounding("ring", n=1, **_E5M2), None),
    "precision.tree.sharp_beyond": (_rounding("recursive_doubling", n=1, **_E5M2), None),
    "precision.per_hop": (_rounding("ring", P=2, n=1, accumulate="bfloat16", wire="float8_e4m3fn"), None),
    "precision.underflow": (_rounding("ring", n=1), None),
    "precision.bits.owner_keeps": (
        _simulated("ring", P=2, n=1, kept="unrounded", **_TO_BFLOAT16),
        None,
    ),
    "precision.bits.own_unrounded": (
        _simulated("recursive_doubling", P=4, n=1, own="unrounded", **_TO_BFLOAT16),
        None,
    ),
    "precision.fused.ring": _sum("ring", P=3, n=2, cut=1, layout="one behind the other", **_BFLOAT16),
    "precision.fused.rabenseifner_unrounded": (
        _simulated("rabenseifner", P=4, n=2, own="unrounded", cut=1, layout="one behind the other", **_TO_BFLOAT16),
        None,
    ),
    "precision.shards.ring": _sum("ring", P=4, n=1, deal="in a row", terms=4),
    "precision.shards.rabenseifner": _sum("rabenseifner", P=4, n=1, deal="in a row", terms=4),
    "precision.shards.any_ranks": _sum("recursive_doubling", P=5, n=1, deal="in a row", terms=5),
    "precision.average.any_ranks": (_simulated("ring", P=3, n=1, average="before"), None),
    "precision.average.before_in_range": (_simulated("ring", P=3, n=1, average="before", **_E5M2), None),
    "precision.overflow.exact_sum": _sum("tree", P=3, n=1, **_E5M2),
    "precision.overflow.nan": _sum("ring", P=2, n=1, **_E4M3),
    "precision.quantised.own_entries": ({"P": 1, "n": 3, "width": 1, "group": 3, "second_width": 1}, None),
    "oktopk.balance.quarter_printed": (
        {"cuts": "even", "balance": "4x-mean", "allgather": "recursive-doubling"},
        quarter_of_owners,
    ),
    "oktopk.sgd.assumption": (lambda at: {"P": 2, "n": 2, "k": 1, "steps": at["t"], "B": 1024, "tau_prime": 1}, None),
    "oktopk.sgd.iterate_raw": (
        {"P": 1, "n": 2, "k": 1, "steps": 2, "tau_prime": 1, "tau": 2, "accumulate": "raw", "halved": True},
        None,
    ),
    "majority.vote.any_noise": ({**_VOTE, "noise": "skewed", "r": "1"}, None),
    "majority.vote.shared_noise": ({**_VOTE, "r": "1/2"}, None),
    "majority.adversaries.negation_is_worst": (lambda at: {**_VOTE, "r": "2/3", "L": 11 * at["j"]}, None),
    "gossip.mean.renormalised": ({"topology": "ring", "N": 4, "alive": 0b0111}, None),
    "gossip.push_sum.losing": ({"topology": "one-peer", "N": 2, "rounds": 1, "works": 0b01}, None),
    "packetloss.bursts.as_if_independent": ({"receivers": 2, "t": 2, "p": Fraction(1, 2), "last": False}, None),
    "lowrank.powersgd_ef14.warm_start_residual": (
        lambda at: {"M": float(at["a"]), "steps": at["t"], "sequence": "missed", "sketch": "drawn", "seed": 1},
        None,
    ),
    "dropcompute.time.variance_as_proxy": ({"law": "exponential", "share": 1.0, "overhead": 0.2}, None),
    "dropcompute.gain.bounded_by_mean": ({"law": "1 (9/10) or 100", "share": 0.1, "overhead": 0.0}, None),
    "dropcompute.gain.single_any": ({"law": "1 (9/10) or 100", "share": 0.1, "overhead": 0.0}, None),
    "feedback.plain.convergence": (lambda at: {"start": 1.0, "gamma": 1 / at["v"], "steps": 1}, None),
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
    "flashcomm.groupquant.half_step_stored": ({"width": 1, "group": 2, "metadata": "bfloat16"}, None),
    "flashcomm.groupquant.exact_then_stored": (
        {"width": 1, "group": 2, "metadata": "bfloat16", "quantise_with": "exact"},
        None,
    ),
    "flashcomm.groupquant.clamped_point": ({"width": 1, "group": 2, "zero": "clamped", "family": "one sign"}, None),
    "flashcomm.twostep.agreement_of_owners": ({"P": 2, "n": 6, "width": 1, "group": 3}, None),
    # q = 4/5 is rounded, and with it what is sent; the error is -2, but for that
    "feedback.econtrol.any_weight": ({"q": -0.8, "eta": 1.0, "steps": 1}, lambda _: [[2.0], [0.0], [3.0]]),
    "shipped": ({}, None),
    "lowcomm.streaming.peak_any": ({}, None),
    "lowcomm.diloco.reversed": ({"P": 1, "n": 1, "outermu": 0.0, "direction": "local - anchor"}, None),
    "lowcomm.diloco.ball_is_nesterov": (lambda at: {"outermu": at["u"] / at["v"]}, None),
    "lowcomm.diloco.contraction_suffices": (lambda at: {"outermu": 0.5, "innershare": at["u"] / at["v"]}, None),
    "lowcomm.local.optimum": (
        lambda at: {"retained": at["u"] / at["v"], "retained_second": at["w"] / at["v"]},
        None,
    ),
    "lowcomm.quorum.unbiased": ({"heavy": 0}, None),
    "lowcomm.noloco.range": ({"pairmomentum": 0.5}, None),
    "lowcomm.sparseloco.keeps": ({"decay": 0.5, "n": 2, "k": 1, "chunk": 2, "seed": "equal"}, None),
    "lowcomm.sparseloco.gets_through": ({"decay": 0.5, "weak": 0.5}, None),
    "lowcomm.demo.rate": ({}, None),
    "lowcomm.loco.late_at_once": ({"fresh": 0.5, "seed": "half", "bits": 4}, None),
    "lowcomm.loco.resets_all": ({"reset_after": 1, "passes": 2}, None),
    "lowcomm.qgz.in_a_row": ({}, None),
    "variance_reduced.onebit.contracts": ({"scale": "norm"}, lambda at: np.eye(at["r"] ** 2)[:1]),
    "variance_reduced.onebit.thirty_two": ({"dtype": "float32"}, None),
    "blockformats.microscaling": ({"element": "e2m1", "scale": "floor", "block": 1}, None),
    "blockformats.microscaling.maximum_of_roundoff": ({"element": "e4m3", "scale": "floor", "block": 1}, None),
    "blockformats.microscaling.maximum_unclipped_fixed": ({"element": "int8", "scale": "rceil", "block": 1}, None),
    "blockformats.microscaling.unclipped_contracts_better": ({"element": "e2m1", "scale": "rceil", "block": 32}, None),
    "blockformats.microscaling.idempotence_doubled": ({"element": "e2m1", "scale": "double", "block": 2}, None),
    "blockformats.microscaling.scale_equivariance_any": (
        {"element": "e2m1", "scale": "floor", "block": 1, "factor": Fraction(5, 4)},
        None,
    ),
    "blockformats.microscaling.drift_of_nonuniform_grids": (
        {"element": "e2m1", "scale": "floor", "block": 32, "density": "uniform"},
        lambda at: [6.0],
    ),
    "blockformats.microscaling.drift_equidistant": (
        {"element": "int4", "scale": "floor", "block": 32, "density": "falling"},
        lambda at: [1.75],
    ),
    "blockformats.stochastic": ({"element": "e2m1", "scale": "floor", "block": 1}, None),
    "blockformats.stochastic.variance_of_smallest": ({"element": "e2m1", "scale": "rceil", "block": 2}, None),
    "blockformats.nvfp4": ({"block": 1, "scale": "nearest"}, None),
    "blockformats.stochastic_nvfp4": ({"block": 1, "scale": "nearest", "law": True}, None),
    "blockformats.mseden": ({"dim": 4, "law": True}, None),
    "blockformats.requantised": ({"element": "e2m1", "scale": "floor", "schedule": "ring", "n": 1, "block": 1}, None),
    "blockformats.requantised.bits_an_entry": (
        {"element": "e2m1", "scale": "floor", "schedule": "ring"},
        lambda at: np.ones((2, at["n"])),
    ),
    "blockformats.homomorphic": (lambda at: {"width": at["w"], "n": 1, "block": 1}, None),
    "shipped.dgc_steps": ({"P": 1, "T": 2, "n": 1, "k": 1, "factor": "1/2", "masking": True}, None),
    "rotations.rotated_mean.averages": ({"n": 2, "width": 1, "seeds": "private"}, None),
    "feedback.cgd.first_step": ({"q": 0.5, "L": 2.0, "mu": 1.0}, rows([1], [1])),
}
"""Settings of the case at the point, beside the values of the claim's symbols, by the beginning of the claim's name;
and its array, where it is not the refutation's x."""
IN_FLOATS = {"lowrank.powersgd.warm_start_contraction"}
"""Whose law is not finite, or has no exact measure: run in floats alone."""
LAW_ALONE = set()
"""Whose kernel's outcomes are not enumerated: run by the exact law alone."""
for _column in sorted((Path(__file__).parent / "cases").glob("*.py")):
    _tables = run_path(str(_column))
    CASES |= _tables["CASES"]
    HYPER_PARAMETERS |= _tables.get("HYPER_PARAMETERS", {})
    KERNEL_ALONE |= _tables.get("KERNEL_ALONE", set())
    WORST_OUTCOME |= _tables.get("WORST_OUTCOME", set())
    IN_FLOATS |= _tables.get("IN_FLOATS", set())
    LAW_ALONE |= _tables.get("LAW_ALONE", set())


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
    more = more(at) if callable(more) else more
    values = {s.name: exact(v, at) for s, v in refutation.values.items()}
    settings = {s: int(v) if isinstance(v, Fraction) and v.denominator == 1 else v for s, v in values.items()}
    x = exact(refutation.x, at) if array is None and refutation.x else None
    stack = np.array(array(at)) if array is not None else None if x is None else np.array(x, np.float64)
    if name.startswith("oktopk") and not name.startswith("oktopk.sgd") and stack is not None:
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
    number = evaluator(sp.sympify(value))(at, "an entry")
    return number if isinstance(number, sp.Expr) else Fraction(number)


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
        if name in (KERNEL_ALONE | IN_FLOATS if run.exact else LAW_ALONE):
            continue
        assert study.admits(CompressorRun(c, array)), "the claim's hypotheses"
        yield run, study.outcome(run)


HERE = "tests/verify/certify/test_refutations.py"


@pytest.mark.parametrize("name", REFUTED)
def test_the_implementation_at_the_point(name):
    """It measures there what the model says, and breaks the claim."""
    if (tie := certify.refutations()[name].tie) != f"{HERE}::test_the_implementation_at_the_point":
        assert (tie.partition("::")[0], name in OF_THEIR_OWN) == (HERE, True)
        return
    at, refutation, claim = certify.load(name).instances[0], certify.refutations()[name], theory.claims()[name]
    expected = exact(refutation.measured, at)
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
            room = outcome.slack if isinstance(values[symbol], sp.Expr) else 0  # of roots, which are rounded
            assert outcome.values[symbol] == values[symbol] or abs(outcome.values[symbol] - float(values[symbol])) <= room
        assert violates(claim.relation, outcome.measured, claim.bound(**values), outcome.slack)


OF_THEIR_OWN = {"lowrank.powersgd.unbiased", "feedback.ef21.descent_at_one_over_l"}
"""Whose points have a test of their own, below."""


def test_a_uniform_direction_reads_half_of_the_identity():
    """Of the identity a Gaussian column keeps its direction; eight directions apart average what all do."""
    compressor, read = COMPRESSORS["PowerSGD"](1), []
    for turn in np.arange(8) * np.pi / 8:
        column = np.array([[np.cos(turn)], [np.sin(turn)]])
        read.append(compressor.decompress(compressor.compress_with(np.eye(2), column)))
    # entries of at most one: some eight roundings of each, and eight of the sum
    assert np.abs(np.mean(read, axis=0) - np.eye(2) / 2).max() <= 16 * np.finfo(np.float64).eps


def test_a_step_of_ef21_that_is_too_long():
    """From 1/q, where the first step is a whole one, with numbers that are exact."""
    name = "feedback.ef21.descent_at_one_over_l"
    at, refutation, claim = certify.load(name).instances[0], certify.refutations()[name], theory.claims()[name]
    q = at["u"] / at["v"]
    sgd = FeedbackSGD(EF21(Shrunk(q)), 1.0)
    state, potentials = sgd.start(np.array([1 / q]), 1), []
    for _ in range(3):
        slope = state.weights
        state, _ = sgd.step(slope[None], state)
        lag = Fraction(float(state.workers[0].memory[0])) - Fraction(float(slope[0]))
        potentials.append(Fraction(float(slope[0])) ** 2 / 2 + lag**2 / (2 * (1 - Fraction(q))))
    values = {symbol.name: exact(value, at) for symbol, value in refutation.values.items()}
    assert potentials[1] == claim.bound(**values)
    assert potentials[2] == Fraction(evaluator(sp.sympify(refutation.measured))(at, "measured")) > potentials[1]


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


def test_what_is_not_rational_is_decided_between_rational_bounds_or_not_at_all():
    a = sp.Symbol("a", integer=True, positive=True)
    refutation = replace(certify.refutations()[TOPK], whole={a: 2}, measured=sp.sqrt(a), x=(), positive={})
    claim = theory.claims()[TOPK]
    assert not shortcoming(refutation, claim, sp.Rational(14142, 10**4), {"a": 2})
    assert "between 1.4142 and 1.4143" in shortcoming(refutation, claim, sp.Rational(14143, 10**4), {"a": 2})
    for unknown, reason in ((sp.sin(a), "no bounds"), (sp.sqrt(a) + sp.sqrt(3), "not told from zero with 1024 bits")):
        with pytest.raises(certify.CertificateError, match=reason):
            shortcoming(replace(refutation, measured=unknown), claim, sp.sqrt(5 + 2 * sp.sqrt(6)), {"a": 2})
    with pytest.raises(certify.CertificateError, match="not rational"):
        shortcoming(replace(refutation, given={"root": sp.sqrt(a)}), claim, claim.relation.rhs, {"a": 2})


def test_every_refutation_is_of_a_claim_that_fails_and_has_its_certificate():
    assert len(REFUTED) == len(certify.refutations()) > 60
    for name in REFUTED:
        assert theory.claims()[name].stands is not theory.Standing.HOLDS
        assert name not in certify.models()
        assert set(certify.refutations()[name].met) <= {h.name for h in theory.claims()[name].assumes}
