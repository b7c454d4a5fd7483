"""DropCompute: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "dropcompute",
    "DropCompute: dropping the stragglers' work",
    "Workers stop computing at a threshold, so that no worker waits for the slowest. The claims are about the time of "
    "a step, the work dropped, and its effect on the gradient.",
    synopsis=Synopsis(
        found=(
            "The published step time is accurate for nearly normal latencies. For skewed latencies it is too small (by "
            "4 % at 32 workers for the released delay), so its speed-ups are conservative; a term for the skewness "
            "corrects it. Dividing the gradient by what was computed keeps it unbiased."
        ),
        promise=(
            "Workers stop computing at a threshold, so that no worker waits for the slowest; a formula gives the step "
            "time, the work that is dropped and the best threshold."
        ),
        holds=(
            "Step times and completed micro-batches are as stated (`dropcompute.step.time`, "
            "`dropcompute.step.completed`); the best threshold on calibration steps never loses against none "
            "(`dropcompute.threshold.never_loses`); divided by what was computed the gradient is unbiased "
            "(`dropcompute.gradient.computed`)."
        ),
        fails=(
            "The formula for E[T] as an equality (`dropcompute.time.formula`): for the published experiment’s own "
            "delay and 12 micro-batches it is not within 5 % (`dropcompute.time.formula_at_twelve`). The best gain "
            "does not grow like sqrt(log N) for all latencies (`dropcompute.gain.grows`)."
        ),
        tight=(
            "E[T] is within 5 % in the regime that is stated with it (`dropcompute.time.formula_within_5`); with "
            "the true quantiles the bracket is within 1 % (`dropcompute.time.generalised_within_1`)."
        ),
        lesson=(
            "Trust the formula for sums of many micro-batches, correct for skewness otherwise "
            "(`dropcompute.time.skewed_within_1`), and calibrate: a few dozen steps suffice."
        ),
        picture="dropcompute.slowest_worker",
        system="DropCompute",
    ),
    renamed={
        "dropcompute.completed.printed": "dropcompute.completed.formula",
        "dropcompute.completed.printed_within_1": "dropcompute.completed.formula_within_1",
        "dropcompute.completed.printed_within_5": "dropcompute.completed.formula_within_5",
        "dropcompute.completed.printed_at_one": "dropcompute.completed.formula_at_one",
        "dropcompute.maximum.printed_above": "dropcompute.maximum.bracket_above",
        "dropcompute.maximum.printed_close": "dropcompute.maximum.bracket_close",
        "dropcompute.maximum.printed_at_two": "dropcompute.maximum.bracket_at_two",
        "dropcompute.time.printed": "dropcompute.time.formula",
        "dropcompute.time.printed_within_1": "dropcompute.time.formula_within_1",
        "dropcompute.time.printed_within_5": "dropcompute.time.formula_within_5",
        "dropcompute.time.printed_at_twelve": "dropcompute.time.formula_at_twelve",
        "dropcompute.gain.printed_within_5": "dropcompute.gain.formulas_within_5",
    },
)
