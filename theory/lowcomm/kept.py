"""Claims about errors that are kept in eight bits, and about outer gradients of four: LoCo, Streaming DiLoCo."""

from fractions import Fraction

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Hypothesis, Le, Standing, for_one_reason
from commbounds.theory.lowcomm.terms import (
    COMPENSATION,
    DEEPSPEED_AT,
    NEVER_FORGOTTEN,
    NOT_CUT_OFF,
    SENT_LATE,
    fresh,
    outerrounds,
)
from commbounds.theory.quantities import RELATIVE_ERROR, Quantity, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

keptstep = Symbol("keptstep", r"\kappa_e", Fraction(1, 3), positive=True)
"""Step of the bits that LoCo's compensation is kept in, over the step of its codes."""

SENT_OFF = Quantity(
    "sent_off",
    r"\max_i\frac{|C(x)_i-x_i|}{|x_i|}",
    "error of an entry of an outer gradient relative to it, at its largest over the nonzero ones",
)

KEPT_IN_BITS = Hypothesis(
    "kept_in_bits", "The compensation is kept in eight bits, and begins with zero.", lambda kept_in_bits: kept_in_bits
)
KEPT_REACHES = Hypothesis(
    "kept_reaches", "127 of its steps are at least one and a half of the codes'.", Ge(127 * keptstep, Fraction(3, 2))
)
KEPT_COARSE = Hypothesis(
    "kept_coarse", "Its step is at least the newest error's weight times that of the codes.", Ge(keptstep, fresh)
)
ABOVE_THE_SMALLEST = Hypothesis(
    "above_the_smallest",
    "Entries are zero, or at least 1/64 of the largest.",
    lambda x: bool((abs(x[x != 0]) * 64 >= abs(x).max()).all()),
)
NOT_ALL_ZERO = Hypothesis("outer_gradient_not_zero", "Some entry is not zero.", lambda x: bool(x.any()))

_KEPT = (
    "deepspeed/runtime/comm/coalesced_collectives.py , `all_to_all_loco_quant_reduce`: after the kernel has averaged "
    "them, errors are quantised symmetrically to 8 bits, and read back in the next round"
)
_SUM = (
    "e_(t + 1) = e_t + phi (g_t - sent_t) + rho_t with |rho_t| <= kappa/2, so that the sum of g_t - sent_t is (e_T - "
    "sum rho)/phi"
)

KEPT_CLAIMS = (
    Claim(
        name="lowcomm.loco.kept_compensation",
        title="With its error kept in eight bits of step kappa, LoCo's compensation is at most (1 + kappa)/2 steps",
        relation=Le(COMPENSATION, (1 + keptstep) / 2),
        assumes=(NOT_CUT_OFF, KEPT_IN_BITS),
        source=derived(
            "If it is at most half a step, so is the average, and rounding adds kappa/2; from above, the average moves "
            "towards half a step, and rounding does not pass a multiple of kappa."
        ),
        tightness=1,
        extremal="the newest error kept entirely, kappa just below one, a gradient of half a step",
        axis="keptstep",
    ),
    Claim(
        name="lowcomm.loco.kept_dead",
        title="If kappa is at least phi, LoCo keeps no error in eight bits: it is plain rounding",
        relation=Eq(COMPENSATION, 0),
        assumes=(NOT_CUT_OFF, KEPT_IN_BITS, KEPT_COARSE),
        source=derived("phi times an error of half a step is phi/2 <= kappa/2, which is rounded to zero, as ties are."),
        axis="keptstep",
        note="At DeepSpeed's phi of 0.2 the error's step has to be below a fifth of the codes'. It is: a 128th of a "
        "group's largest error, which is at most about a step of the codes.",
    ),
    Claim(
        name="lowcomm.loco.kept_late",
        title="With its error kept in eight bits, LoCo's unsent sum stays within 1/(2 phi) steps",
        relation=Le(SENT_LATE, 1 / (2 * fresh)),
        assumes=(NOT_CUT_OFF, NEVER_FORGOTTEN, KEPT_IN_BITS),
        source=derived(
            "Gradients of half a step are never sent where kappa is phi: T/2 steps after T rounds.",
            code=DEEPSPEED_AT.at("deepspeed/runtime/comm/coalesced_collectives.py", "116-145"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.loco.kept_late_rounds",
        tightness=sp.oo,
        extremal="phi = 1/4, kappa = 1/4, gradients of half a step",
        axis="fresh",
        note="Rounding the error to nearest loses a part every round, with one sign if gradients are constant.",
    ),
    Claim(
        name="lowcomm.loco.kept_late_rounds",
        title=(
            "With its error kept in eight bits, LoCo's unsent sum after T rounds is at most (1 + (T - phi) kappa)/(2 "
            "phi) steps"
        ),
        relation=Le(SENT_LATE, (1 + (outerrounds - fresh) * keptstep) / (2 * fresh)),
        assumes=(NOT_CUT_OFF, NEVER_FORGOTTEN, KEPT_IN_BITS, KEPT_REACHES),
        source=derived(
            f"{_SUM}; and e_T before its rounding is at most (1 - phi) (1 + kappa)/2 + phi/2, which leaves T - 1 "
            "roundings."
        ),
        tightness=1,
        extremal="phi = kappa = 1, gradients of half a step",
        axis="outerrounds",
        unpinned=for_one_reason(
            "Loose by nature below phi = 1: gradients that keep the average high do not maximise losses.",
            "without the factor fresh",
        ),
    ),
    Claim(
        name="lowcomm.e3m0.relative",
        title="E3M0 rounds every entry by at most a third of its value",
        relation=Le(SENT_OFF, sp.Rational(1, 3)),
        source=derived("An entry of 1/128 of the largest, or less, is read as zero."),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="lowcomm.e3m0.relative_above",
        tightness=3,
        extremal="1 and 1/128",
        note="Seven powers of two span a factor of 64: smaller entries have to wait for error feedback.",
    ),
    Claim(
        name="lowcomm.e3m0.relative_above",
        title="E3M0 rounds entries of at least 1/64 of the largest by at most a third of their value",
        relation=Le(SENT_OFF, sp.Rational(1, 3)),
        assumes=(ABOVE_THE_SMALLEST,),
        source=derived("Half-way between 2^k and 2^(k + 1) is 3/2 2^k, half a 2^k from both."),
        tightness=1,
        extremal="1 and 3/4",
    ),
    Claim(
        name="lowcomm.e3m0.contraction",
        title=(
            "E3M0: the largest share of its squared norm that an outer gradient of n entries can lose, 1/9 for long "
            "ones until small entries matter"
        ),
        relation=Le(RELATIVE_ERROR, sp.Max((n - 1) / (16 + 9 * (n - 1)), (n - 1) / (2**14 + n - 1))),
        assumes=(NOT_ALL_ZERO,),
        source=derived(
            "The largest entry is exact. The relative loss of all others is largest at 3/4, or at 1/128, which is "
            "lost; the latter for n >= 2047."
        ),
        tightness=1,
        extremal="1, and n - 1 entries of 3/4; for n > 2047 of 1/128",
        note="Blocks of E2M1 lose 47/431 in 32 entries (blockformats.microscaling.contraction), about the same as E3M0 "
        "with one scale for all.",
    ),
)
