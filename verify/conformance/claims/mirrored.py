"""Whether C(x) and -C(-x) have the same law: read off, or by guessing which is which."""

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.aims import ROUNDINGS
from commbounds.verify.conformance.bench import Bench
from commbounds.verify.conformance.calls import Unanswered
from commbounds.verify.conformance.case import CheckCase, first_place
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.injected import has_law, injected_law
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.report import CheckFinding, CheckVerdict

_SIZES, _ENTRIES = (2, 6, 50), 6


def mirrored_read(bench: Bench, case: CheckCase) -> str | None:
    """What is wrong with the laws of entries at x and -x that are read off; None if each mirrors the other."""
    plus, mirrored = injected_law(bench, case), CheckCase(-case.x, case.seed)
    if not np.isnan(plus.values).any() and has_law(bench, mirrored, replace(plus, values=-plus.values)):
        return None
    minus = injected_law(bench, mirrored)
    values = np.concatenate([plus.values, -minus.values])
    signed = np.concatenate([plus.p, -minus.p])
    size, step = np.abs(values).max(axis=0), values.max(axis=0) - values.min(axis=0)
    allowance = ROUNDINGS / 2.0 * bench.eps * size + bench.tiny
    # the distribution functions, compared between values that are further apart than rounding
    order = np.argsort(values, axis=0)
    ordered, steps = np.take_along_axis(values, order, axis=0), np.take_along_axis(signed, order, axis=0)
    gaps = np.diff(ordered, axis=0) > allowance
    difference = np.abs(np.cumsum(steps, axis=0)[:-1]) * gaps
    # a probability comes from two cells, and from roundings relative to the level
    level = size / np.where(step > 0.0, step, np.inf)
    slack = 4.0 / plus.cells + ROUNDINGS * bench.eps * (1.0 + level)
    if (wrong := first_place(~(difference.max(axis=0) <= slack) | np.isnan(values).any(axis=0))) is None:
        return None
    (i,) = wrong
    laws = [
        ", ".join(f"{float(v)!r} ({float(q):.6g})" for v, q in zip(law.values[:, i], law.p[:, i], strict=True) if q > 0)
        for law in (plus, minus)
    ]
    return f"entry {i}, {float(case.x.ravel()[i])!r}, becomes {laws[0]} with their probabilities, and {laws[1]} for -x"


def _features(y: Array) -> list[Hashable]:
    """What bettors look at: the whole output, its signs, the values of a few entries."""
    flat = y.ravel() + 0.0  # -0 becomes 0
    return [flat.tobytes(), np.sign(flat).tobytes(), *(float(v) for v in flat[:_ENTRIES])]


def mirrored_laws(claim: SubjectClaim, bench: Bench) -> CheckFinding:
    """The finding on C(-x) being distributed as -C(x), by draws of both in random order.

    A bettor looks at one feature of the output and predicts the sign with probability (a + 1/2)/(a + b + 1), where a
    and b count how often this feature came from this sign and from the other (Krichevsky and Trofimov); paid twice
    that, the wealth is a martingale from 1 if the sign is independent of the output.
    """
    rng = bench.rng("mirrored")
    made = [generic(bench.subject, rng, size) for size in _SIZES]
    inputs = list({x.shape: x for x in made if x is not None and bench.subject.takes(-x)}.values())
    if not inputs:
        return claim.unjudged("the subject takes no input together with its negative")
    share = max(1, bench.draws // len(inputs))
    log_e = -math.inf
    for x in inputs:
        counts: list[dict[Hashable, list[float]]] = []
        wealth = np.zeros(0)
        for seed, sign in zip(rng.integers(2**31, size=share), rng.integers(2, size=share), strict=True):
            try:
                y = bench.output(CheckCase(-x if sign else x, int(seed))).astype(np.float64)
            except Unanswered as error:
                return claim.unjudged(f"no usable answer: {error}")
            features = _features(-y if sign else y)
            if not counts:
                counts, wealth = [{} for _ in features], np.zeros(len(features))
            for place, feature in enumerate(features):
                seen = counts[place].setdefault(feature, [0.5, 0.5])
                wealth[place] += math.log(2.0 * seen[sign] / (seen[0] + seen[1]))
                seen[sign] += 1.0
            log_e = max(log_e, float(wealth.max()) - math.log(len(wealth) * len(inputs)))
        if log_e >= -math.log(bench.alpha):
            message = f"at an input of shape {x.shape} outputs tell x from -x: " + _telling_feature(counts, wealth)
            evidence = f"{share} draws at each of {len(inputs)} inputs, of C(x) and -C(-x) in random order"
            return bench.refuted(claim, x, message, evidence, math.exp(min(log_e, 690.0)))
    evidence = (
        f"{share} draws at each of {len(inputs)} inputs, of C(x) and -C(-x) in random order, could not be told apart"
    )
    return CheckFinding(str(claim), CheckVerdict.PASS, evidence, e_value=math.exp(min(log_e, 690.0)), alpha=bench.alpha)


def _telling_feature(counts: list[dict[Hashable, list[float]]], wealth: Array) -> str:
    """The commonest of the values that tell most."""
    place = int(np.argmax(wealth))
    feature, (plus, minus) = max(counts[place].items(), key=lambda c: abs(c[1][0] - c[1][1]))
    what = "one output" if place == 0 else "one pattern of signs" if place == 1 else f"{feature!r} at entry {place - 2}"
    return f"{what} came {plus - 0.5:g} times from C(x) and {minus - 0.5:g} times from -C(-x)"
