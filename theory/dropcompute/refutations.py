"""Where refuted claims about DropCompute are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.dropcompute.terms import (
    M,
    N,
    excess,
    jitter,
    largest_batch,
    latency,
    longest,
    noise,
    overhead,
    samples,
    sgdsteps,
    shortest,
    smoothness,
    spare,
    stepsize,
    tau,
)
from commbounds.theory.functions import harmonic_number
from commbounds.theory.model import Refutation, by_claim

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

_SLOWEST = 100 - 99 * sp.Rational(9, 10) ** N
_THRESHOLD = sp.Rational(109, 100)
_LATENCIES = {"all_the_time": "The case tests elapsed time by this rule.", "independent_latencies": "They are."}

REFUTATIONS = by_claim(
    Refutation(
        claim="dropcompute.time.variance_as_proxy",
        words="One micro-batch of exponential latency with mean and standard deviation 1: the slowest of N takes 1 + "
        "1/2 + ... + 1/N on average.",
        whole={N: 1},
        measured=harmonic_number(N),
        values={N: N, M: 1, latency: 1, jitter: 1},
        met={"independent_latencies": "They are."},
    ),
    Refutation(
        claim="dropcompute.gain.bounded_by_mean",
        words="One micro-batch, which takes 1 with probability 9/10, else 100, and the threshold 1.09. Without it the "
        "slowest of N takes 100, except for the chance of (9/10)^N that all are quick; with it the step ends by the "
        "threshold, and has 9/10 of the micro-batches.",
        whole={N: 1},
        measured=sp.Rational(9, 10) * _SLOWEST / (_THRESHOLD - (_THRESHOLD - 1) * sp.Rational(9, 10) ** N),
        values={N: N, M: 1, latency: sp.Rational(109, 10), longest: 100, overhead: 0},
        met={**_LATENCIES, "bounded_latency": "By 100."},
    ),
    Refutation(
        claim="dropcompute.gain.single_any",
        words="The same, of one worker: its step takes 109/10 on average without a threshold, 1.009 with it.",
        whole={N: 1},
        measured=sp.Rational(9, 10) * _SLOWEST / (_THRESHOLD - (_THRESHOLD - 1) * sp.Rational(9, 10) ** N),
        values={N: N, M: 1, latency: sp.Rational(109, 10), overhead: 0},
        met=_LATENCIES,
    ),
    Refutation(
        claim="dropcompute.backup.dominated_strictly",
        words="One worker with one micro-batch of a seconds, none spare: the threshold is its own time, at which it "
        "does not count.",
        whole={_a: 1},
        measured=sp.Integer(0),
        values={M: 1, N: 1, spare: 0},
        x=((_a,),),
        met={
            "all_the_time": "The case tests elapsed time by this rule.",
            "ends_before_tau": "The trial runs the step by this rule.",
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
