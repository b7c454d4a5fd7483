"""Where refuted claims about DropCompute are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.dropcompute.terms import (
    M,
    N,
    excess,
    largest_batch,
    noise,
    samples,
    sgdsteps,
    shortest,
    smoothness,
    spare,
    stepsize,
    tau,
)
from commbounds.theory.model import Refutation, by_claim

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="dropcompute.backup.dominated_strictly",
        words="One worker with one micro-batch of a seconds, none spare: the threshold is its own time, at which it "
        "does not count.",
        whole={_a: 1},
        measured=sp.Integer(0),
        values={M: 1, N: 1, spare: 0},
        x=((_a,),),
        met={
            "all_the_time": "Elapsed time is tested so.",
            "ends_before_tau": "The step is run so.",
            "waited_for_takes_time": "a is positive.",
        },
    ),
    Refutation(
        claim="dropcompute.gradient.correlated",
        words="One micro-batch, whose latency, and gradient, is a or b with equal chances, a < tau <= b: what is "
        "computed has gradient a, where the mean is (a + b)/2.",
        whole={_a: 1, _b: 1},
        measured=2 * _a / (_a + _b),
        values={tau: _b, shortest: _a},
        positive={"a < b": _b - _a},
        met={"computed_divisor": "The gradient is divided by what was computed."},
    ),
    Refutation(
        claim="dropcompute.sgd.drops_ignored",
        words="x^2/2 from x = a with unit step: two steps are planned. The one in which something was computed begins "
        "at a, where the squared gradient is a^2.",
        whole={_a: 1},
        measured=_a**2,
        values={
            excess: _a**2 / sp.Integer(2),
            sgdsteps: 2,
            stepsize: 1,
            noise: 0,
            smoothness: 1,
            largest_batch: 1,
            samples: 1,
        },
        met={"smooth_objective": "x^2/2 has curvature 1."},
    ),
)
