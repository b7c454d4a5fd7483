"""Compression with memory: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "variance_reduced",
    "Compression with memory: shifts, differences, lazy messages, and one bit",
    "Workers compress changes relative to a vector that both sides remember: DIANA, MARINA, DASHA, LAG and CLAG, "
    "EF21-P, the compression stage of 1-bit Adam, 0/1 Adam, and 1-bit LAMB. The authors' code was read; of the papers "
    "only the parts marked as read.",
    synopsis=Synopsis(
        found=(
            "One-step identities are exact and give sharper step sizes: half DIANA's shift weight allows steps up to "
            "three times as long. 1-bit Adam's scale is not a contraction."
        ),
        promise=(
            "If differences are compressed, the variance vanishes where plain compression stalls; this takes a vector "
            "of memory and a few words per step."
        ),
        holds=(
            "DIANA's estimate has no bias and a variance that vanishes with the shifts' error "
            "(`variance_reduced.diana.variance`), its rate is sharper at half the weight "
            "(`variance_reduced.diana.rate_sharp`), and MARINA and DASHA follow the gradient "
            "(`variance_reduced.marina.descent_sharp`, `variance_reduced.dasha.descent`)."
        ),
        fails=(
            "Signs times the root mean square do not contract (`variance_reduced.onebit.contracts`). A published "
            "simulator's step size for DIANA, at which the method is stable, is too long for the printed potential "
            "(`variance_reduced.diana.code_step`). The residual of an always-zero entry does not accumulate "
            "(`variance_reduced.onebit.accumulates`). In DeepSpeed’s 0/1 Adam (removed before release 0.19.8, like all "
            "1-bit optimisers) weight decay enters the momentum, and is up to ten times the setting "
            "(`variance_reduced.zeroone.decay_once`); the tutorial’s rule for refreshes is not the code’s "
            "(`variance_reduced.zeroone.printed_gap`). 1-bit LAMB’s layers at one scale can lose up to twice as much "
            "(`variance_reduced.lamb.reduces`), and with a largest coefficient of one (the default is 10) layers can "
            "be frozen permanently (`variance_reduced.lamb.frozen_any`)."
        ),
        tight=(
            "The identities are equalities for Rand-K; the sharp descents of MARINA and EF21-P are attained by x^2/2 "
            "at the largest step size, as inequalities of their potentials (`variance_reduced.marina.descent_sharp`, "
            "`variance_reduced.ef21p.descent`)."
        ),
        lesson=(
            "Set DIANA's shift weight to half of 1/(1 + omega), and lazy triggers to 1 or more, or none "
            "(`variance_reduced.lag.never_silent`), and do not rely on a contraction where signs keep the norm "
            "(`variance_reduced.onebit.worst`)."
        ),
        picture="variance_reduced.shifts",
        practice=True,
    ),
)
