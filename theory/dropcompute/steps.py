"""DropCompute: what holds in every single step, and of thresholds chosen on calibration steps."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Le, Standing
from commbounds.theory.dropcompute.terms import (
    AFTER_BACKWARD,
    ALL_CANDIDATES,
    ALL_COMPLETED,
    BETWEEN,
    CHEN_2016,
    CONTINUOUS,
    DROP_AT,
    ENDS_AT_TAU,
    ENDS_BEFORE_TAU,
    GAIN,
    GILADI_2023,
    PERIOD,
    SHARED,
    SOME_TIME,
    STEP_TIME,
    TAKES_TIME,
    THRESHOLD_DEFECT,
    TRIAL_DEFECT,
    M,
    N,
    begun,
    below,
    best,
    claim,
    later,
    longest,
    model,
    overhead,
    slowest,
    spare,
    synchronised,
    tau,
)
from commbounds.theory.sources import derived

_CODE = "paper-submissions/dropcompute, training loops"

WAITED_FOR = Hypothesis(
    "waited_for_takes_time",
    "The last worker waited for takes time: its time is the threshold, and that is positive.",
    lambda x, spare: sorted(x.sum(axis=1))[len(x) - 1 - spare] > 0,
)
SEVENTH = Hypothesis(
    "seven_micro_batches",
    "M >= 7: the released search looks at elapsed times from the seventh micro-batch on.",
    lambda x: x.shape[1] >= 7,
)

STEPS: tuple[Claim, ...] = (
    claim(
        "step.time",
        "A step takes the threshold or its slowest worker, whichever comes first, and the overhead",
        Eq(STEP_TIME, sp.Min(tau, slowest) + overhead),
        GILADI_2023.recalled(
            "the model of a step",
            "Worker n stops at min(tau, T_n); the maximum over n is min(tau, T), and T_c is paid once.",
        ),
        assumes=CONTINUOUS,
    ),
    claim(
        "step.completed",
        "If time is tested continuously, DropCompute counts the micro-batches that end before the threshold",
        Eq(ALL_COMPLETED, below),
        GILADI_2023.recalled(
            "the definition of the completed micro-batches", "By definition, with S_m < tau strictly."
        ),
        assumes=(CONTINUOUS, ENDS_BEFORE_TAU),
    ),
    claim(
        "step.after_backward",
        "If time is tested after each micro-batch, those that begin at the threshold or before count",
        Eq(ALL_COMPLETED, begun),
        GILADI_2023.official_code(
            _CODE,
            "The first micro-batch of a worker that ends beyond tau has been accumulated when the test stops the loop, "
            "and it began at tau or before: of worker n min(M, #{S_m <= tau} + 1) count, added up over the workers.",
            code=DROP_AT.at("bert_large_pretraining/run_pretraining.py", "1080-1082"),
        ),
        assumes=AFTER_BACKWARD,
        note="Every late worker counts one more than those in time, not only one worker in all.",
    ),
    claim(
        "step.overshoot",
        "If time is tested after each micro-batch, a step ends at most one micro-batch beyond the threshold",
        Le(STEP_TIME, sp.Min(slowest, tau + longest) + overhead),
        "The last micro-batch of a worker begins at tau or before and takes no longer than the longest.",
        assumes=AFTER_BACKWARD,
        tightness=1,
        extremal="a worker that ends a micro-batch exactly at tau, with all latencies equal",
        axis="M",
    ),
    claim(
        "step.between_at_least",
        "If time is tested before each half, at least the micro-batches that end before the threshold count",
        Ge(ALL_COMPLETED, below),
        GILADI_2023.official_code(
            _CODE,
            "A micro-batch that ends before tau passed its middle before tau, so that neither test stops it.",
            code=DROP_AT.at("deepspeed-bert/run_pretraining.py", "1081-1116"),
        ),
        assumes=BETWEEN,
        tightness=1,
        extremal="a threshold that no test passes",
        axis="M",
    ),
    claim(
        "step.between_at_most",
        "If time is tested before each half, at most as many micro-batches count as if tested after each",
        Le(ALL_COMPLETED, begun),
        GILADI_2023.official_code(
            _CODE,
            "Counted micro-batches began at tau or before; all of these count if tests follow micro-batches.",
            code=DROP_AT.at("deepspeed-bert/run_pretraining.py", "1081-1116"),
        ),
        assumes=BETWEEN,
        tightness=1,
        extremal="a threshold that no test passes",
        axis="M",
    ),
    claim(
        "step.monotone",
        "A larger threshold completes at least as many micro-batches",
        Le(ALL_COMPLETED, later),
        "S_m < tau implies S_m < tau' for every tau' >= tau.",
        assumes=CONTINUOUS,
        tightness=1,
        extremal="two thresholds with no elapsed time between them",
        axis="M",
    ),
    claim(
        "step.subadditive",
        "Waiting once for the slowest takes no longer than waiting after every micro-batch",
        Le(STEP_TIME, synchronised),
        "The maximum of sums is at most the sum of maxima.",
        tightness=1,
        extremal="one worker that is slowest at every micro-batch",
        axis="M",
    ),
    claim(
        "localsgd.subadditive",
        "A period of local steps takes no longer than the same number of synchronous steps",
        Le(PERIOD, synchronised + overhead),
        "The maximum over workers of their sums over local steps is at most the sum over steps of the maxima; the "
        "overhead is paid once.",
        tightness=1,
        extremal="one worker that is slowest in every local step",
        axis="M",
    ),
    claim(
        "backup.dominated",
        "With its threshold at the last worker waited for, DropCompute keeps all that backup workers keep",
        Ge(ALL_COMPLETED, (N - spare) * M),
        CHEN_2016.recalled(
            "backup workers",
            "N - k workers have T_n <= tau = T_(N-k), hence every S_m <= tau; the step takes tau in both. Every step "
            "chooses its own tau: nothing follows for a fixed threshold.",
        ),
        assumes=(CONTINUOUS, ENDS_AT_TAU, WAITED_FOR),
        tightness=1,
        extremal="no backup worker, or backup workers that end nothing in time",
    ),
    claim(
        "backup.dominated_strictly",
        "With its threshold at the last worker waited for, DropCompute keeps all that backup workers keep, also by the "
        "strict test",
        Ge(ALL_COMPLETED, (N - spare) * M),
        derived("Refuted: the last worker waited for ends its last micro-batch exactly at tau."),
        assumes=(CONTINUOUS, ENDS_BEFORE_TAU, WAITED_FOR),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="dropcompute.backup.dominated",
        tightness=sp.oo,
        extremal="one worker with one micro-batch, which ends exactly at the threshold",
        note="With the strict inequality of the definition the worker that sets the threshold loses a micro-batch.",
    ),
    claim(
        "threshold.optimal",
        "No threshold gains more on the calibration steps than the best of the elapsed times seen in them",
        Le(GAIN, best),
        "Between two elapsed times the completed share is constant while (T + T_c)/(min(tau, T) + T_c) does not grow, "
        "so that the maximum over all tau > 0 is at an elapsed time, if all of these are positive.",
        assumes=(ENDS_AT_TAU, TAKES_TIME, ALL_CANDIDATES),
        tightness=1,
        extremal="the threshold that was chosen",
        note="A micro-batch that takes no time is done before any threshold: latencies 0, 7, 5, 8, 8, 9, 4, 9 and an "
        "overhead of 1/2 gain more for smaller tau, and no elapsed time is best.",
    ),
    claim(
        "threshold.never_loses",
        "On calibration steps the best threshold is never worse than no threshold",
        Ge(GAIN, 1),
        "The largest elapsed time is a candidate: everything is completed and min(tau, T) = T.",
        assumes=SOME_TIME,
        tightness=1,
        extremal="latencies that are all equal",
    ),
    claim(
        "threshold.agreement",
        "Workers that share their calibration choose the same threshold",
        Eq(THRESHOLD_DEFECT, 0),
        GILADI_2023.recalled(
            "the choice of the threshold, which every worker makes for itself",
            "The gain at a candidate depends on the gathered latencies through the number of elapsed times up to it "
            "and the slowest worker, step by step; the candidates are a set, and ties go to the smallest. No order of "
            "the workers enters, so that all maximise one function over one set.",
        ),
        assumes=(SHARED, SOME_TIME),
        note="Every worker may list itself first. It must not choose from its own latencies alone, or with an overhead "
        "that only it measured.",
    ),
    claim(
        "released.optimistic",
        "The released search never reports less than the model gains at the threshold it chose",
        Ge(GAIN, model),
        GILADI_2023.official_code(
            "paper-submissions/dropcompute, search for the threshold",
            "It takes the step to end at the largest elapsed time below tau, which is at most min(tau, T).",
            code=DROP_AT.at("deepspeed-bert/run_pretraining.py", "868-905"),
        ),
        assumes=(SOME_TIME, SEVENTH),
        note="It reports up to twelve times the gain with two workers; above 32 workers and 12 micro-batches at most 3 "
        "% more were seen.",
    ),
    claim(
        "trials.alone",
        "A simulated step has the same value drawn alone or among other steps",
        Eq(TRIAL_DEFECT, 0),
        "Every draw is a function of seed, trial, micro-batch and worker.",
        axis="N",
    ),
)
