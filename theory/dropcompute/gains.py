"""DropCompute: what a threshold gains."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Kind, Le, Standing
from commbounds.theory.dropcompute.formulas import TIME_NEAR
from commbounds.theory.dropcompute.terms import (
    AT_THE_MEAN,
    BEST_TAU,
    BOUNDED,
    CONTINUOUS,
    EXPONENTIAL,
    FREE_STEP,
    GAIN,
    GAP,
    GILADI_2023,
    INDEPENDENT,
    NBUE,
    ONE_WORKER,
    REGRET,
    M,
    N,
    below,
    claim,
    cv,
    ideal,
    jitter,
    latency,
    longest,
    overhead,
    shortest,
    slowest,
    tau,
    truth,
)

_KEPT = 1 - cv / (2 * sp.sqrt(M)) - sp.Integer(1) / M
_CAP = (M * longest + overhead) / (M * shortest + overhead)


def _settled(family: str, shape: float, logwidth: float, N: int, M: int) -> bool:
    """Whether the cell is one of those where a threshold was seen to settle."""
    known = (
        family in ("normal", "released")
        or (family == "gamma" and shape in (1, 4))
        or (family == "lognormal" and logwidth == 1 / 2)
    )
    return known and N >= 4 and M == 12


SEVERAL = Hypothesis(
    "settled_cells",
    "N >= 4, M = 12, and latencies are normal, exponential, gamma of shape 4, lognormal of width 1/2, "
    "or the released delay.",
    _settled,
)
NEVER_FREE = Hypothesis(
    "never_free", "A step with the smallest latencies takes time: M a + T_c > 0.", sp.Gt(M * shortest + overhead, 0)
)
FIFTH = Hypothesis(
    "overhead_of_a_fifth", "T_c = M mu/5.", ensured="The trial computes the overhead from the case's law and M."
)
GAIN_NEAR = Hypothesis("gain_map_5", "N >= 32 and M >= 12.", Ge(N, 32) & Ge(M, 12))

GAINS: tuple[Claim, ...] = (
    claim(
        "gain.no_threshold",
        "Without a threshold DropCompute gains and loses nothing",
        Eq(GAIN, 1),
        "As tau grows, completed goes to M and E[min(tau, T)] to E[T].",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
    ),
    claim(
        "gain.with_means",
        "The gain formula with means never overstates the gain",
        Ge(GAIN, below * (slowest + overhead) / (M * (sp.Min(tau, slowest) + overhead))),
        GILADI_2023.recalled("the effective speed-up", "With exact moments; Jensen: E min(tau, T) <= min(tau, E T)."),
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT),
        tightness=1,
        extremal="a threshold below every elapsed time of the slowest worker",
    ),
    claim(
        "gain.calibrated",
        "The expected objective of the calibration never exceeds the long-run gain",
        Le(GAIN, truth),
        "With A = min(tau, T) + T_c and R = (T + T_c)/A, both growing in the latencies, and completed falling: Harris' "
        "inequality gives E[R completed] <= E[R] E[completed] and E[A] E[R] <= E[A R] = E[T] + T_c.",
        kind=Kind.EXPECTED,
        assumes=(INDEPENDENT,),
        tightness=1,
        extremal="constant latency",
    ),
    claim(
        "gain.at_the_mean",
        "A threshold at a worker's mean time gains nearly as much as ideal workers",
        Ge(GAIN, sp.Max(0, _KEPT) * ideal),
        "E min(M mu, T) <= M mu, and the bound on what is completed at the mean. So the best threshold's gain grows "
        "without bound with N whenever E[T] does, that is, for every law with unbounded support.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, AT_THE_MEAN),
        tightness=1,
        extremal="constant latency",
        unpinned=(
            (
                "0.9 times the term -jitter/(2[*]sqrt(M)[*]latency)",
                "It is loose by nature, as is the bound on completed work at the mean: with many micro-batches 0.40 "
                "standard deviations are dropped, and the bound has 0.50.",
            ),
        ),
    ),
    claim(
        "gain.new_better",
        "New better than used latencies: no threshold gains more than ideal workers would",
        Le(GAIN, ideal),
        "With x = E min(tau, T_n) <= M mu: completed <= x/mu and E min(tau, T) >= x, so that S_eff <= ideal times "
        "x (M mu + T_c)/(M mu (x + T_c)) <= ideal.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, NBUE),
        tightness=1,
        extremal="constant latency and no threshold; exponential latency without overhead, as tau goes to 0",
    ),
    claim(
        "gain.grows",
        "The best gain grows like sqrt(log N), for any latencies",
        Ge(
            GAIN,
            _KEPT
            * (M * latency + jitter * sp.sqrt(M * sp.log(N) / (sp.pi * sp.log(2))) + overhead)
            / (M * latency + overhead),
        ),
        GILADI_2023.second_hand(
            "third-party review: the gain increases infinitely with the number of workers",
            "True of normal times, by the bound at the mean and the lower bound on the largest of N normals. Refuted "
            "for bounded latency, where E[T] <= M b.",
            reading="It is read for all latencies, and with this constant.",
        ),
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, BEST_TAU),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="latency 1/5 or 1, 1 with probability 9/10, and more workers than there are",
        note="It is a property of unbounded latencies: E[T] grows like sqrt(log N) for normal and like log N for gamma "
        "latencies, and stops growing for bounded ones.",
    ),
    claim(
        "gain.bounded",
        "Bounded latencies: no threshold gains more than the longest latency over the shortest",
        Le(GAIN, _CAP),
        "completed = c <= M in expectation, E min(tau, T) >= a c as each micro-batch completed took a, E[T] <= M b, "
        "and c/(a c + T_c) grows with c.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, BOUNDED, NEVER_FREE),
        tightness=1,
        extremal="constant latency",
    ),
    claim(
        "gain.bounded_by_mean",
        "Bounded latencies: no threshold gains more than the longest latency over the mean",
        Le(GAIN, (M * longest + overhead) / (M * latency + overhead)),
        "It follows from the ideal gain where latencies are new better than used. Refuted in general: with two "
        "latencies a and b, a threshold just above a keeps every quick micro-batch and never waits.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, BOUNDED),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.gain.bounded",
        tightness=sp.oo,
        extremal="M = 1, latencies 1 (probability 9/10) and 100, no overhead, many workers",
        note="Stopping slow micro-batches alone can pay, so a step may be faster than one of ideal workers.",
    ),
    claim(
        "gain.single",
        "A single worker gains nothing from a threshold if its latencies are new better than used",
        Le(GAIN, 1),
        "The ideal gain of one worker is 1.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, ONE_WORKER, NBUE),
        tightness=1,
        extremal="exponential latency without overhead, and constant latency without a threshold",
        axis="M",
    ),
    claim(
        "gain.single_any",
        "A single worker gains nothing from a threshold",
        Le(GAIN, 1),
        "Refuted by latencies with a coefficient of variation above 1 and no overhead: giving up slow micro-batches "
        "pays even with one worker.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, ONE_WORKER),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.gain.single",
        extremal="gamma latency of shape 1/4, no overhead, a small threshold",
        note="Without overhead the best threshold is tiny for such laws: count the overhead, or cap the drop rate.",
        axis="M",
    ),
    claim(
        "gain.degenerate",
        "Exponential latency and no overhead: dropping nearly everything gains nearly as much as ideal workers",
        Ge(GAIN, sp.exp(-tau / latency) * slowest / (M * latency)),
        "mu completed = E min(tau, T_n) >= tau P(t > tau) = tau exp(-tau/mu), and E min(tau, T) <= tau.",
        kind=Kind.EXPECTED,
        assumes=(CONTINUOUS, INDEPENDENT, EXPONENTIAL, FREE_STEP),
        tightness=1,
        extremal="a threshold that goes to 0",
        note="S_eff is flat down to tau = 0, where all work is dropped: without overhead the best threshold is no "
        "guide.",
    ),
    claim(
        "threshold.settled",
        "For N >= 4 one threshold is nearly the best for every number of workers",
        Le(REGRET, sp.Rational(1, 3000)),
        "Once P(T > tau) is nearly 1, S_eff is E[completed]/(tau + T_c) times what does not depend on tau. Measured "
        "against the exact law on the cells of the map; no proof of the constant.",
        kind=Kind.APPROXIMATE,
        assumes=(FIFTH, SEVERAL),
        note="The largest loss is 0.030 %, by four workers of normal latency; three lose 0.7 %, eight less than 1e-6.",
    ),
    claim(
        "gain.formulas_within_5",
        "DropCompute's gain: the published formulas together are within 5 %",
        Le(GAP, sp.Rational(1, 20)),
        "Measured against the exact law on the cells of the map; no proof.",
        kind=Kind.APPROXIMATE,
        assumes=(BEST_TAU, FIFTH, GAIN_NEAR, TIME_NEAR),
        unpinned=(("0.9 times the bound", "A round figure: the largest that was seen on the map is 3.5 %."),),
    ),
)
