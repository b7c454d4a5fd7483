"""Claims about 1-bit LAMB: what is frozen, layers at one scale, the factor of the frozen coefficient, and bytes."""

import sympy as sp

from commbounds.theory.claim import Claim, Code, Eq, Ge, Le, Standing
from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.majority.terms import BUSIEST_BYTES
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.variance_reduced import lamb_terms as t
from commbounds.theory.variance_reduced.terms import (
    DEEPSPEED_AT,
    EQUAL_BLOCKS,
    NORM_SCALE,
    REMOVED,
    SEVERAL,
    scalebytes,
)
from commbounds.theory.variance_reduced.zeroone_terms import ONEBIT_LAMB_2021, flatness, momentum_factor

_STEP = "onebit/lamb.py, step: "
_DOCSTRING = "onebit/lamb.py, docstring: "
_LAMB = "variance_reduced.lamb."
_frozen = 1 - t.trust_factor**t.lamb_steps
_T, _theta, _beta = t.lamb_steps, t.lamb_threshold, momentum_factor


def _lamb(lines: str, default: bool | str = True) -> Code:
    return DEEPSPEED_AT.at("deepspeed/runtime/fp16/onebit/lamb.py", lines, default, REMOVED)


LAMB_CLAIMS = (
    Claim(
        name=_LAMB + "frozen_share",
        title="After T steps with one coefficient LAMB's frozen coefficient is 1 - b^T times it",
        relation=Eq(t.FROZEN_SHARE, _frozen),
        assumes=(t.LAMB_ONE_COEFFICIENT, t.LAMB_NEVER_ONE),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "an average of coefficients that begins with zero, and that nothing corrects",
            "The sum of (1 - b) b^t over T steps.",
            "The share is ours; the code has the average.",
            code=_lamb("243-252"),
        ),
        axis="lamb_steps",
        note="A freeze_step of F has F - 1 warm-up steps: the first only initialises. Loading a checkpoint in the "
        "warm-up resets the average to zero, and T counts from there.",
    ),
    Claim(
        name=_LAMB + "frozen_average",
        title="After 1/(1 - b) warm-up steps 1-bit LAMB's frozen coefficient of equal coefficients is that one",
        relation=Eq(t.FROZEN_SHARE, 1),
        assumes=(t.LAMB_ONE_COEFFICIENT, t.LAMB_NEVER_ONE, t.LAMB_LONG_WARMUP),
        source=t.LAMB_DOCS.read(
            "section 1.4, on coeff_beta; the docstring of onebit/lamb.py states the length of the warm-up",
            "Refuted by ten steps at b = 0.9: 1 - 0.9^10 = 0.651.",
            "It is read as: an average of equal numbers is that number.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "frozen_share",
        extremal="ten steps at b = 0.9",
        axis="lamb_steps",
        note="At the shortest warm-up requested, all layers continue at about two thirds of their step size.",
    ),
    Claim(
        name=_LAMB + "frozen_any",
        title="After T steps with any one coefficient 1-bit LAMB's frozen coefficient is 1 - b^T times it",
        relation=Eq(t.FROZEN_SHARE, _frozen),
        assumes=(t.LAMB_ONE_COEFFICIENT,),
        source=ONEBIT_LAMB_2021.official_code(
            _DOCSTRING + "coeff_beta is of running averages of the coefficient",
            "Refuted by a coefficient of one: the code skips it as if there were none, and freezes zero.",
            "It is read as averaging all coefficients.",
            code=_lamb("44-47", "max_coeff=1 or min_coeff=1; the defaults are 10 and 0.01"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "frozen_share",
        extremal="a largest coefficient of one",
        axis="lamb_steps",
        note="With max_coeff = 1, where the default is 10, a layer whose norm is never below its update's does not "
        "move after the warm-up; the same holds for min_coeff = 1 (default 0.01). With the defaults no layer is frozen "
        "this way.",
    ),
    Claim(
        name=_LAMB + "scaled_share",
        title="Signs of a layer at the common scale lose 1 - 2 sqrt(n/m) phi + n/m, with m padded entries",
        relation=Eq(t.SCALED_LAYER, 1 - 2 * sp.sqrt(n / t.fused_length) * flatness + n / t.fused_length),
        assumes=(NORM_SCALE, t.LAMB_AT_FREEZE),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "scaling_coeff is the mean of the layers' root mean squares over the layer's; zeros are appended",
            "variance_reduced.lamb.fused with rho = sqrt(n/m): all layers have one root mean square, the padding none.",
            "The share is ours; the code has coefficients and padding.",
            code=_lamb("179-190"),
        ),
        axis="flatness",
        note="Without padding it is 2 (1 - phi), for any scales and sizes of layers: that of the layer alone. Without "
        "coefficients rho is any number >= sqrt(n_l/n). The code pads to a multiple of P lcm(P, 8); 8 P would suffice. "
        "A layer with zero momentum at that time is divided by zero, which ends the run.",
    ),
    Claim(
        name=_LAMB + "reduces",
        title="Layers at one scale lose at most as much to fused signs as unscaled layers",
        relation=Le(t.SCALED_ERROR, t.plain_error),
        assumes=(NORM_SCALE, t.LAMB_AT_FREEZE, t.LAMB_UNPADDED),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "a comment that scaling_coeff is used to reduce compression error",
            "Refuted by layers (34, 0, 0, 0) and (7, 7, 7, 7): 1156 is lost at one scale, 1092 unscaled.",
            "It is read as the square of the whole error, in the momentum's unit.",
            code=_lamb("180-190"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "equally_flat",
        extremal="a large sparse layer and a long flat one",
        axis="plain_error",
        note="Small layers lose less, and large sparse ones lose more.",
    ),
    Claim(
        name=_LAMB + "equally_flat",
        title="Layers at one scale lose at most as much to fused signs as unscaled layers, if all are equally flat",
        relation=Le(t.SCALED_ERROR, t.plain_error),
        assumes=(NORM_SCALE, t.LAMB_AT_FREEZE, t.LAMB_UNPADDED, t.LAMB_EQUALLY_FLAT),
        source=derived(
            "With s the root mean square of all, Q = n s^2 and R = sum n_l s_l: 2 (1 - phi) Q at one scale, and 2 Q - "
            "2 s phi R unscaled, where R^2 <= n Q = n^2 s^2."
        ),
        tightness=1,
        extremal="layers of one scale",
        axis="plain_error",
    ),
    Claim(
        name=_LAMB + "at_most_double",
        title=(
            "Layers at one scale lose at most 2/(1 + phi) times as much to fused signs as unscaled layers, phi the "
            "smallest flatness"
        ),
        relation=Le(t.SCALED_ERROR, 2 * t.plain_error / (1 + flatness)),
        assumes=(NORM_SCALE, t.LAMB_AT_FREEZE, t.LAMB_UNPADDED),
        source=derived(
            "Layer by layer, of entries with root mean square s and mean magnitude a: with any scale at least n_l (s^2 "
            "- a^2) is left out, and with its own 2 n_l s (s - a)."
        ),
        tightness=1,
        extremal="a layer of a zero and another number, and a long one of half that number",
        axis="plain_error",
    ),
    Claim(
        name=_LAMB + "nothing_lost",
        title=(
            "With a constant factor, 1-bit LAMB's weights are those of uncompressed momentum, up to the last errors "
            "over 1 - beta"
        ),
        relation=Eq(t.LAMB_DEFECT, 0),
        assumes=(t.LAMB_UNDECAYED, t.LAMB_UNMASKED, t.LAMB_SCALES_STAY, t.LAMB_STILL),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "momenta are divided by their coefficients after the all-reduce; errors stay as they are",
            "U = u - the uncompressed one has U+ = beta U + (errors before - errors after)/c: sum over the steps.",
            "The identity is ours; the code has the step.",
            code=_lamb("258-327"),
        ),
        axis="lamb_steps",
    ),
    Claim(
        name=_LAMB + "moving_factor",
        title=(
            "With a factor that follows the fresh variance, 1-bit LAMB's weights are those of uncompressed momentum, "
            "up to the last errors over 1 - beta"
        ),
        relation=Eq(t.LAMB_DEFECT, 0),
        assumes=(t.LAMB_UNDECAYED, t.LAMB_UNMASKED, t.LAMB_SCALES_STAY),
        source=FOLKLORE.recalled(
            "error feedback, as in 1-bit Adam",
            "Refuted by two steps of which the second has a smaller factor: what the first left out moves less.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "leak",
        extremal="two steps of eight entries, of which six are zero at first, and the factor half as large then: 1/2",
        axis="lamb_steps",
        note="1-bit Adam freezes its variance for this identity; 1-bit LAMB lets one number per layer change again.",
    ),
    Claim(
        name=_LAMB + "leak",
        title=(
            "With a changing factor, 1-bit LAMB loses at most theta sum f_t |A_t|, A_t the errors added to momenta up "
            "to t"
        ),
        relation=Le(t.LAMB_DEFECT, _theta * t.carried_errors),
        assumes=(t.LAMB_UNDECAYED, t.LAMB_UNMASKED, t.LAMB_SCALES_STAY),
        source=derived(
            "sum f_t U_t = f_T A_T - sum over t < T of (f_(t+1) - f_t) A_t with A_t = U_1 + ... + U_t, and |f_(t+1) - "
            "f_t| <= theta f_t."
        ),
        tightness=1,
        extremal="two steps, of which the second lowers the factor as far as allowed",
        axis="lamb_steps",
    ),
    Claim(
        name=_LAMB + "scale_moves",
        title=(
            "If its layers' coefficients change kappa times, 1-bit LAMB loses or adds |1/kappa - 1| of the errors"
        ),
        relation=Eq(t.SCALE_LEAK, sp.Abs(1 / t.rescaled - 1) * t.left_behind),
        source=derived(
            "Errors are kept in the message's unit: what was left out at c is divided by kappa c when it is sent."
        ),
        axis="rescaled",
        note="The authors' code computes the coefficients once. If it resets them, by a checkpoint loaded in the "
        "warm-up, it resets the errors as well.",
    ),
    Claim(
        name=_LAMB + "reconstructed",
        title="An entry of the gradient that 1-bit LAMB reconstructs is at most (|u+| + beta |u|)/(1 - beta)",
        relation=Le(t.RECONSTRUCTED, (t.size_after + _beta * t.size_before) / (1 - _beta)),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "grad_reconstruct is the new momentum less beta times the old, over 1 - beta",
            "The triangle inequality; momenta are plus or minus a scale.",
            "The bound is ours; the code has the difference.",
            code=_lamb("341"),
        ),
        tightness=1,
        extremal="an entry whose sign changes",
        axis="size_after",
        note="It is nineteen scales at beta = 0.9, and one if the sign does not change: sign changes enter the fresh "
        "variance and lower the factor.",
    ),
    Claim(
        name=_LAMB + "rise",
        title="After T steps 1-bit LAMB's factor is at most its bound, (1 + theta)^T, and beta_2^(-T/2)",
        relation=Le(t.LAMB_FACTOR, sp.Min(t.factor_most, (1 + _theta) ** _T, t.second_factor ** (-_T / 2))),
        assumes=(t.LAMB_FROM_ONE, t.LAMB_INSIDE),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "the factor is the largest root of frozen over fresh variance, cut to its bounds, then by the step "
            "before",
            "A step leaves at least beta_2 of the fresh variance: no ratio of roots rises by more than 1/sqrt(beta_2). "
            "Mixing with one lowers what is above one.",
            "The sum is ours.",
            code=_lamb("353-367"),
        ),
        tightness=1,
        extremal="reconstructed gradients of zero",
        axis="lamb_steps",
        note="At beta_2 = 0.999 the threshold of 0.1 never limits it without decay: doubling takes 1386 steps, not "
        "eight.",
    ),
    Claim(
        name=_LAMB + "fall",
        title="After T steps 1-bit LAMB's factor is at least its bound, or (1 - theta)^T",
        relation=Ge(t.LAMB_FACTOR, sp.Max(t.factor_least, (1 - _theta) ** _T)),
        assumes=(t.LAMB_FROM_ONE, t.LAMB_INSIDE),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "as variance_reduced.lamb.rise",
            "Induction: what is cut to the bounds is at least the lower one, and a step lowers by theta at most.",
            "The sum is ours.",
            code=_lamb("353-367"),
        ),
        tightness=1,
        extremal="reconstructed gradients that are large",
        axis="lamb_steps",
        note="The default threshold takes it from one to a half in seven steps.",
    ),
    Claim(
        name=_LAMB + "masked",
        title="1-bit LAMB's factor of a layer with a masked entry is never below one",
        relation=Ge(t.LAMB_FACTOR, 1),
        assumes=(t.LAMB_MASKED, t.LAMB_FROM_ONE, t.LAMB_INSIDE),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "the mask is applied before the factor, which is the largest ratio of the layer's entries",
            "There both variances are zero, and epsilon over epsilon is one; cutting and mixing with one leave that.",
            "The result is ours; the code has the mask and the ratio.",
            code=_lamb("336-366"),
        ),
        tightness=1,
        extremal="a reconstructed gradient that is large everywhere else",
        axis="lamb_steps",
        note="A mask is required where gradients are always zero, as for embeddings of positions that are not trained: "
        "the factor of such layers can only grow. In the authors' code, run with two workers, it stays at one; without "
        "the mask it falls to a half, and the silent weights move by millions.",
    ),
    Claim(
        name=_LAMB + "ceiling",
        title="1-bit LAMB's factor is at most factor_max, also if that is below one",
        relation=Le(t.LAMB_FACTOR, t.factor_most),
        assumes=(t.LAMB_FROM_ONE,),
        source=ONEBIT_LAMB_2021.official_code(
            _DOCSTRING + "factor_max is the maximum value of the scaling factor",
            "Refuted by factor_max = 1/2: the threshold is applied after the bounds, and the first factor is 0.9.",
            "It is read for bounds below one, too; nothing says that these are meant.",
            code=_lamb("48-53", "factor_max below one; the default is 4"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "rise",
        tightness=sp.oo,
        extremal="a bound below one, and one step",
        axis="lamb_steps",
        note="The same fails for factor_min above one. With one between the bounds, as for the defaults 4 and 0.5, it "
        "holds.",
    ),
    Claim(
        name=_LAMB + "step_length",
        title="1-bit LAMB moves a layer by at most gamma c f |u+| sqrt(n_l)/min D",
        relation=Le(
            t.LAMB_MOVE,
            stepsize * t.frozen_trust * t.lamb_factor * t.size_after * sp.sqrt(t.layer_size) / t.least_root,
        ),
        assumes=(t.LAMB_UNDECAYED,),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "step size, frozen coefficient, factor, and momentum over the root of the frozen variance",
            "The norm of u+/D, whose entries are all of one magnitude over D in a block.",
            "The length is ours; the code has the step.",
            code=_lamb("343-370"),
        ),
        tightness=1,
        extremal="a layer in one block, with one variance",
        axis="size_after",
        note="It holds for any weights: D can be epsilon if a gradient came after the freeze.",
    ),
    Claim(
        name=_LAMB + "bounded_step",
        title="1-bit LAMB moves a layer by at most the step size times its norm, as LAMB does",
        relation=Le(t.LAMB_MOVE, stepsize * t.layer_norm),
        assumes=(t.LAMB_UNDECAYED, t.LAMB_TRUSTED),
        source=t.LAMB_2020.recalled(
            "that updates are normalised to the norm of the layer's weights",
            "Refuted by a gradient twice as large as before: the factor falls by no more than a tenth a step.",
            "It is read for the stage with frozen coefficients.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by=_LAMB + "step_length",
        tightness=sp.oo,
        extremal="a gradient that grows after the freeze: 9/5 where it doubles",
        axis="size_after",
        note="Without momentum a gradient ten times as large moves a layer at least nine times as far at once, and at "
        "beta = 0.9 at least 1.7 times; in the end at least five times, as the factor stops at one half. Signs have "
        "the same size in all layers, for any layer's message.",
    ),
    Claim(
        name=_LAMB + "bytes",
        title=(
            "In 1-bit LAMB every rank sends 2 (P - 1)(m/(8 P) + w) bytes for m padded entries in any number of layers"
        ),
        relation=Eq(BUSIEST_BYTES, 2 * (P - 1) * (t.fused_length / (8 * P) + scalebytes)),
        source=ONEBIT_LAMB_2021.official_code(
            _STEP + "one compressed all-reduce of the fused momentum; coefficients and factors are computed by all",
            "Counted.",
            "The sum is ours.",
            code=_lamb("264-316"),
        ),
        axis="P",
    ),
    Claim(
        name=_LAMB + "saved",
        title="With a warm-up of T_w of T steps LAMB sends 8 w n T/(8 w n T_w + (T - T_w)(m + 8 w P)) times as much",
        relation=Eq(
            t.LAMB_SAVED,
            8 * scalebytes * n * _T
            / (8 * scalebytes * n * t.lamb_warm + (_T - t.lamb_warm) * (t.fused_length + 8 * scalebytes * P)),
        ),
        assumes=(SEVERAL, EQUAL_BLOCKS),
        source=derived("variance_reduced.lamb.bytes, and 2 (P - 1) n w/P bytes in a step of the warm-up."),
        axis="lamb_warm",
        note="The tutorial states up to 4.6 times. Two bytes per number and a warm-up of a sixth of the steps give "
        "96/21 = 4.57; no warm-up gives 16.",
    ),
)  # fmt: skip
