"""Claims about 0/1 Adam, its local steps and its refreshes, and about layers that share a scale in 1-bit LAMB."""

import sympy as sp

from commbounds.theory.claim import Claim, Code, Eq, Le, Standing
from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.quantities import P, n
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.variance_reduced import zeroone_terms as z
from commbounds.theory.variance_reduced.terms import BYTE_BLOCKS, DEEPSPEED_AT, NORM_SCALE, REMOVED, scalebytes

_STEP = "onebit/zoadam.py, step: "
_LAMB = "onebit/lamb.py, step: "
_beta, _H, _S, _decayed = z.momentum_factor, z.local_steps, z.averages, stepsize * z.adam_decay
_SIGNS = n / (8 * P) + scalebytes


def _zoadam(lines: str) -> Code:
    return DEEPSPEED_AT.at("deepspeed/runtime/fp16/onebit/zoadam.py", lines, upstream=REMOVED)


ZEROONE_CLAIMS = (
    Claim(
        name="variance_reduced.zeroone.kept",
        title=(
            "After H local steps and an average, 0/1 Adam's momentum keeps beta (1 - beta^H)/(H (1 - beta)) of itself"
        ),
        relation=Eq(z.MOMENTUM_KEPT, _beta * (1 - _beta**_H) / (_H * (1 - _beta))),
        assumes=(z.NO_GRADIENTS, z.NO_DECAY, z.ONE_MAGNITUDE, z.FIRST_AVERAGE),
        source=z.ZEROONE_2022.official_code(
            _STEP + "the momentum becomes what was moved over the sum of step sizes",
            "That is the mean of the momenta beta^t u of the H steps.",
            "The factor is ours; the code has the step.",
            code=_zoadam("260"),
        ),
        axis="local_steps",
    ),
    Claim(
        name="variance_reduced.zeroone.kept_power",
        title="After H local steps 0/1 Adam keeps beta^H of the momentum, as H steps of Adam do",
        relation=Eq(z.MOMENTUM_KEPT, _beta**_H),
        assumes=(z.NO_GRADIENTS, z.NO_DECAY, z.ONE_MAGNITUDE, z.FIRST_AVERAGE),
        source=FOLKLORE.recalled(
            "that local steps are steps of Adam", "Refuted by two steps: (beta + beta^2)/2 is not beta^2."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.zeroone.kept",
        extremal="two local steps",
        axis="local_steps",
        note="At beta = 0.9 and the tutorial's 16 local steps it keeps 0.46, not 0.19: momentum is older.",
    ),
    Claim(
        name="variance_reduced.zeroone.decay_momentum",
        title="In DeepSpeed's 0/1 Adam decay enters the momentum: (1 - (1 - gamma lambda)^H)/(gamma lambda H) of it",
        relation=Eq(z.DECAY_KEPT, (1 - (1 - _decayed) ** _H) / (_decayed * _H)),
        assumes=(z.NO_GRADIENTS, z.DECAYING, z.ONE_MAGNITUDE, z.FIRST_AVERAGE),
        source=z.ZEROONE_2022.official_code(
            _STEP + "the decay is added to the update, which is added to what was moved",
            "What was moved is x^0 (1 - (1 - gamma lambda)^H), times D, over gamma H.",
            "The factor is ours; the code has the step.",
            code=_zoadam("240-246"),
        ),
        axis="local_steps",
    ),
    Claim(
        name="variance_reduced.zeroone.decoupled",
        title="DeepSpeed's 0/1 Adam leaves weight decay out of the momentum, as decoupled decay does",
        relation=Eq(z.DECAY_KEPT, 0),
        assumes=(z.NO_GRADIENTS, z.DECAYING, z.ONE_MAGNITUDE, z.FIRST_AVERAGE),
        source=z.ZEROONE_2022.official_code(
            _STEP + "the decay is added to the update and not to the gradient",
            "Refuted by one step: the movement contains the decay, and becomes the momentum.",
            "It is read for the time after an average; before that it holds.",
            code=_zoadam("240-246"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.zeroone.decay_momentum",
        extremal="one step",
        axis="local_steps",
        note="The code does this, not the method, which has no decay. Run with one worker, it does the same: from a "
        "decay of 1/100 a momentum of 0.0100, 0.0190, 0.0271.",
    ),
    Claim(
        name="variance_reduced.zeroone.decay_once",
        title="Weight decay in DeepSpeed's 0/1 Adam takes gamma lambda of the weights at an average",
        relation=Le(z.DECAY_LOST, _S),
        assumes=(z.NO_GRADIENTS, z.DECAYING, z.ONE_MAGNITUDE, z.EVERY_STEP),
        source=FOLKLORE.recalled(
            "what weight decay is", "Refuted by two averages: decay, and the momentum of the first."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.zeroone.decay_tenfold",
        extremal="two averages",
        axis="averages",
        note="In the authors' code, run with one worker, it is 1.45 times after two averages at beta = 0.9, 1.87 after "
        "three, 8.2 after fifty.",
    ),
    Claim(
        name="variance_reduced.zeroone.decay_tenfold",
        title=(
            "Weight decay in DeepSpeed's 0/1 Adam takes up to 1/(1 - beta) times one average's: (S - beta (1 - "
            "beta^S)/(1 - beta))/(1 - beta) after S averages"
        ),
        relation=Le(z.DECAY_LOST, (_S - _beta * (1 - _beta**_S) / (1 - _beta)) / (1 - _beta)),
        assumes=(z.NO_GRADIENTS, z.DECAYING, z.ONE_MAGNITUDE, z.EVERY_STEP, z.SHORT_DECAY),
        source=derived(
            "u/D after average s is w_s = beta w_(s-1) + lambda x_(s-1), and x_s = x_(s-1) - gamma w_s. While "
            "weights are not negative they fall, so that w_s <= lambda x_0 (1 - beta^s)/(1 - beta): sum."
        ),
        tightness=1,
        extremal="gamma lambda next to zero",
        axis="averages",
        note="It is ten times at beta = 0.9. With 16 local steps the momentum keeps less, and it is 1.85 times.",
    ),
    Claim(
        name="variance_reduced.zeroone.nothing_lost",
        title=(
            "After an average, 0/1 Adam's weights are the average of the local ones, up to the errors' change over D"
        ),
        relation=Eq(z.AVERAGE_DEFECT, 0),
        source=z.ZEROONE_2022.official_code(
            _STEP + "weights go back to where they were, and take the average of what was moved",
            "x^0 - c/D, where D times the mean of what was moved is c less errors before, plus errors after.",
            "The identity is ours; the code has the step.",
            code=_zoadam("247-262"),
        ),
        axis="local_steps",
    ),
    Claim(
        name="variance_reduced.zeroone.silent_move",
        title=(
            "If gradient and frozen variance are zero, an average of 0/1 Adam moves a weight by the scale over epsilon"
        ),
        relation=Eq(z.SILENT_MOVE, stepsize * (1 - _beta) * z.gradient_norm / (sp.sqrt(n) * z.adam_epsilon)),
        assumes=(z.RANKS_ALIKE, NORM_SCALE, z.EVERY_STEP),
        source=z.ZEROONE_2022.official_code(
            _STEP + "what was moved is averaged by signs, and divided by the root of the variance and eps, 1e-8",
            "Ranks send the scale gamma (1 - beta) ||g||/sqrt(n), of either sign, and so do servers, also where g "
            "is zero.",
            "The number is ours; the code has the step, and requires a mask.",
            code=_zoadam("247-261"),
        ),
        axis="n",
        note="With eps = 1e-8 that is a hundred million scales; 1-bit Adam does the same. Entries that are zero when "
        "the variance is frozen need masks; those that become zero later do not.",
    ),
    Claim(
        name="variance_reduced.zeroone.bounded_move",
        title=(
            "If gradient and variance are zero, a step of 0/1 Adam moves a weight by at most the step size, as Adam's "
            "does"
        ),
        relation=Le(z.SILENT_MOVE, stepsize),
        assumes=(z.RANKS_ALIKE, NORM_SCALE, z.EVERY_STEP),
        source=z.ADAM_2015.recalled(
            "that the effective magnitude of a step is about bounded by the step size",
            "Refuted by an entry that has been zero until the variance was frozen.",
            "It is read for the stage with a frozen variance.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.zeroone.silent_move",
        tightness=sp.oo,
        extremal="a gradient that is large over epsilon, and zero in one entry",
        axis="n",
        note="A variance frozen at zero bounds nothing, and signs are never zero.",
    ),
    Claim(
        name="variance_reduced.zeroone.step_bytes",
        title=(
            "With H local steps a step of 0/1 Adam costs 2 (P - 1)(n/(8 P) + w)/H bytes: at most 2/H bits per entry"
        ),
        relation=Eq(z.STEP_BYTES, 2 * (P - 1) * _SIGNS / _H),
        assumes=(BYTE_BLOCKS,),
        source=z.ZEROONE_2022.official_code(
            _STEP + "nothing is sent where the interval does not divide the step",
            "Counted.",
            "The sum is ours.",
            code=_zoadam("247-255"),
        ),
        axis="local_steps",
    ),
    Claim(
        name="variance_reduced.zeroone.gap",
        title="From the refresh j of 0/1 Adam's variance to the next it is 2^floor(j/kappa) steps",
        relation=Eq(z.REFRESH_GAP, 2 ** sp.floor(z.refresh / z.kappa)),
        assumes=(z.INTERVALS_DIVIDE,),
        source=z.ZEROONE_2022.official_code(
            _STEP + "the interval doubles after var_update_scaler refreshes, at steps that it divides",
            "2^i divides kappa (2^i - 1) if it divides kappa.",
            "The gaps are ours.",
            code=_zoadam("269-274"),
        ),
        axis="refresh",
        note="Later the first gap of an interval is shorter, up to the next step that the interval divides. The code's "
        "first step only initialises, and shifts all by one.",
    ),
    Claim(
        name="variance_reduced.zeroone.printed_gap",
        title="From the refresh j of 0/1 Adam's variance to the next it is 2 exp(floor(j/kappa)) steps",
        relation=Eq(z.REFRESH_GAP, 2 * sp.exp(sp.floor(z.refresh / z.kappa))),
        assumes=(z.INTERVALS_DIVIDE,),
        source=z.ZEROONE_DOCS.read(
            "section 1.4, on var_update_scaler",
            "Refuted by the first two steps, both of which refresh; 2 e is not a number of steps.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.zeroone.gap",
        extremal="the first refresh",
        axis="refresh",
        note="Only the tutorial is wrong: the code is right. The tutorial has twice as many at first, and e/2 times "
        "more with every doubling. Its local steps are wrong too: it clips the exponent, and the code clips the "
        "interval.",
    ),
    Claim(
        name="variance_reduced.zeroone.refreshes",
        title="In T steps 0/1 Adam's variance is refreshed at most kappa log2(1 + T/kappa) times",
        relation=Le(z.REFRESHES, z.kappa * sp.log(1 + z.zeroone_steps / z.kappa, 2)),
        assumes=(z.INTERVALS_DIVIDED,),
        source=derived(
            "kappa i refreshes are made at step kappa (2^i - 1), where it is an equality, and between them one in "
            "2^i steps: log2(1 + x) >= x on [0, 1]."
        ),
        tightness=1,
        extremal="T = kappa (2^i - 1)",
        axis="zeroone_steps",
    ),
    Claim(
        name="variance_reduced.zeroone.run_bytes",
        title=(
            "While 0/1 Adam's variance changes, a refresh costs 2 (P - 1) n w/P bytes, and every other step the bytes "
            "of signs"
        ),
        relation=Eq(
            z.RUN_BYTES, 2 * (P - 1) * (z.refreshed * n * scalebytes / P + (z.zeroone_steps - z.refreshed) * _SIGNS)
        ),
        assumes=(BYTE_BLOCKS,),
        source=z.ZEROONE_2022.official_code(
            _STEP + "whole gradients are averaged before a refresh, and compressed ones at all other steps",
            "Counted.",
            "The sum is ours.",
            code=_zoadam("209-222"),
        ),
        axis="zeroone_steps",
    ),
    Claim(
        name="variance_reduced.lamb.fused",
        title="Signs of a layer in a fused message lose 1 - 2 rho phi + rho^2 if the message's scale is rho times its "
        "own",
        relation=Eq(z.LAYER_ERROR, 1 - 2 * z.scale_ratio * z.flatness + z.scale_ratio**2),
        assumes=(NORM_SCALE,),
        source=z.ONEBIT_LAMB_2021.official_code(
            _LAMB
            + "all layers are compressed as one vector, times coefficients that give each the same root mean square",
            "||p||^2 - 2 s ||p||_1 + n s^2 over ||p||^2, with s = rho ||p||/sqrt(n).",
            "The error is ours; the code has the coefficients, which make rho = 1.",
            code=DEEPSPEED_AT.at("deepspeed/runtime/fp16/onebit/lamb.py", "179-190", upstream=REMOVED),
        ),
        axis="scale_ratio",
        note="With the coefficients it is 2 (1 - phi), that of the layer alone. They are those at the end of the "
        "warm-up, and a layer without momentum then is divided by zero.",
    ),
    Claim(
        name="variance_reduced.lamb.fused_share",
        title=(
            "A fused sign message loses at most twice the square of any layer, as a message of that layer alone does"
        ),
        relation=Le(z.LAYER_ERROR, 2),
        assumes=(NORM_SCALE,),
        source=FOLKLORE.recalled(
            "that layers may be compressed as one vector",
            "Refuted by a layer that is a quarter of the other: (rho - 1)^2 is 3.67; of a hundredth it is 4860.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="variance_reduced.lamb.fused",
        tightness=sp.oo,
        extremal="a layer of 1 and one of 4: 3.67; the ratio grows as the layer gets smaller",
        axis="scale_ratio",
        note="For this reason 1-bit LAMB scales layers equally before it fuses them.",
    ),
)
