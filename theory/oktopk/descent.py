"""Claims about Ok-Topk SGD: error feedback's identity, the residual, a bound on the gradient, the assumption on xi."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing, for_one_reason
from commbounds.theory.oktopk.hypotheses import (
    ALWAYS_MOVES,
    EXACT_MEANS,
    FOUND_EVERY_STEP,
    FULL_BATCH,
    MEAN_MOVES,
    RAW,
    SCALED,
    STALLING,
)
from commbounds.theory.oktopk.terms import (
    GRADIENT_SQUARE,
    ITERATE_DEFECT,
    LI_HOEFLER_2022,
    MEAN_RESIDUAL,
    OKTOPK_AT,
    XI,
    before,
    eta,
    gap,
    horizon,
    missed,
    moment,
    move,
    smooth,
    xi,
)
from commbounds.theory.quantities import k, n
from commbounds.theory.sources import derived

_gamma = sp.sqrt(1 - k / n)
_HALF = (
    "The bound is loose by nature: where w and x agree, the proof drops half of the squared gradient, and no run seen "
    "exceeds half of the bound."
)
_SERIES = (
    "The term is loose: the pair that stalls needs it, with its eta, L, M and xi; but 1/(1 - gamma) sums a geometric "
    "series as if every step lost the most that one step can, and runs stay below the term by orders of magnitude."
)

DESCENT: tuple[Claim, ...] = (
    Claim(
        name="oktopk.sgd.iterate",
        title="Ok-Topk SGD's iterates differ from those of plain averaging by the ranks' mean residual",
        relation=Eq(ITERATE_DEFECT, 0),
        assumes=(SCALED, EXACT_MEANS),
        source=derived(
            "x moves by the step size times the mean gradient, w by u/P. By conservation of mass u = sum_p (eps_p + "
            "eta G_p) - sum_p eps_p', so w' - x' = w - x + (mean eps' - mean eps)."
        ),
        axis="horizon",
    ),
    Claim(
        name="oktopk.sgd.iterate_raw",
        title=(
            "Ok-Topk SGD's iterates differ from those of plain averaging by the mean residual when residuals hold "
            "gradients and the step size changes"
        ),
        relation=Eq(ITERATE_DEFECT, 0),
        assumes=(RAW, EXACT_MEANS),
        source=derived(
            "An old residual is applied with the step size of the step that sends it, not of the step that it stems "
            "from. One rank, gradients (2, 1) and then zero, k = 1, step sizes 1 and 1/2: half of the 1 is lost.",
            code=OKTOPK_AT.at("VGG/compression.py", "46-58"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="oktopk.sgd.iterate",
        extremal="the step size is halved while residuals wait",
        axis="horizon",
        note="The residual is multiplied by the current step size. With a constant step size both ways are the same.",
    ),
    Claim(
        name="oktopk.sgd.residual",
        title="Ok-Topk SGD's mean residual grows by at most a factor of gamma and a term of the realised xi",
        relation=Le(MEAN_RESIDUAL, _gamma * before + (_gamma + xi) * move),
        assumes=(MEAN_MOVES,),
        source=derived("The bound with what the update misses, which is xi_t ||eta G|| by the definition of xi_t."),
        tightness=1,
        extremal="first step, the same gradient on all ranks, its entries nearly equal in magnitude",
        axis="k",
        note="The published assumption is not used: xi_t is the ratio realised in the step. Where the ranks' gradients "
        "cancel, xi_t is undefined, and no multiple of ||eta G|| = 0 bounds what the update misses: two ranks with "
        "gradients (1, 1) and (1, 0), then (2, 0) and (-2, 0), k = 1, eta = 1/4: gamma ||mean eps|| = 0.088, and the "
        "mean residual stays 0.125.",
    ),
    Claim(
        name="oktopk.sgd.residual_missed",
        title="Ok-Topk SGD's mean residual grows by at most a factor of gamma and the part that the update misses",
        relation=Le(MEAN_RESIDUAL, _gamma * (before + move) + missed),
        source=derived(
            "Let A be the mean accumulated gradient. The mean residual is A - u/P; by the triangle inequality its norm "
            "is at most ||A - TopK(A)|| + ||TopK(A) - u/P||. The first is at most gamma ||A|| with gamma = sqrt(1 - "
            "k/n) and ||A|| <= ||mean eps|| + ||eta G||, the second is what the update misses."
        ),
        tightness=1,
        extremal="first step, the same gradient on all ranks, its entries nearly equal in magnitude",
        axis="k",
        note="It holds for all gradients, also where they cancel.",
    ),
    Claim(
        name="oktopk.sgd.gradient",
        title="The mean squared gradient is bounded by step size, smoothness, gamma and the largest realised xi",
        relation=Le(
            GRADIENT_SQUARE,
            2 * gap / (eta * horizon)
            + smooth * eta * moment**2
            + (smooth * eta * moment * (_gamma + xi) / (1 - _gamma)) ** 2,
        ),
        assumes=(FULL_BATCH, ALWAYS_MOVES),
        source=derived(
            "x_t = w_t - mean eps_t makes plain steps with the gradient at w_t. Smoothness gives f(x') <= f(x) "
            "- eta <grad f(x), G> + L eta^2 |G|^2/2, and -<a, b> <= -|b|^2/2 + |a - b|^2/2 with |a - b| <= L|w - x| "
            "turns this into eta |grad f(w)|^2 <= 2 (f(x) - f(x')) + L^2 eta |w - x|^2 + L eta^2 |G|^2. By the bound "
            "on the residual |w_t - x_t| <= eta M (gamma + xi)/(1 - gamma). Sum over t and divide by eta T."
        ),
        axis="horizon",
        unpinned=(
            *for_one_reason(
                _HALF,
                "0.9 times the bound",
                "0.9 times the term 2*gap/(eta*horizon)",
                "0.9 times the term eta*moment**2*smooth",
                "horizon + 1 for horizon",
            ),
            *for_one_reason(
                _SERIES,
                "0.9 times the term eta**2*moment**2*smooth**2*",
                "without the factor (1 - sqrt(-k/n + 1))**(-2)",
                "exponent -1 of 1 - sqrt(-k/n + 1)",
                "0.9 times the term -sqrt(-k/n + 1)",
                "10/9 times the term -sqrt(-k/n + 1)",
                "exponent 3 of xi + sqrt(-k/n + 1)",
                "without the term sqrt(-k/n + 1)",
                "0.9 times the term sqrt(-k/n + 1)",
                "0.9 times the term xi",
                "exponent -1/2 of -k/n + 1",
                "exponent 3/2 of -k/n + 1",
                "10/9 times the term -k/n",
                "without the factor 1/n",
                "without the term 1",
                "0.9 times the term 1",
                "10/9 times the term 1",
                "k + 1 for k",
                "n - 1 for n",
            ),
        ),
        note="gamma need not be small; 1/(1 - gamma) is about 2n/k, and the bound is loose for small k/n. The "
        "published convergence statement, read in a summary, gives no constants.",
    ),
    Claim(
        name="oktopk.sgd.assumption",
        title="Some constant xi bounds the realised ratio in every step",
        relation=Le(XI, xi),
        assumes=(FOUND_EVERY_STEP,),
        source=LI_HOEFLER_2022.second_hand(
            "Assumption 1 (Equation 5), read in a summary, taken as a property of the algorithm",
            "On the stalling pair the ratio is t after t steps.",
            reading="It is tested as a property of the algorithm; the source assumes it.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="two ranks whose large entries cancel, k = 1: the ratio grows by one in every step",
        axis="xi",
        note="It is an assumption on the run, and it excludes runs that never converge: here x_1 does not change.",
    ),
    Claim(
        name="oktopk.sgd.stall",
        title="Two ranks whose large entries cancel never move: the realised xi is t in step t",
        relation=Eq(XI, horizon),
        assumes=(STALLING,),
        source=derived(
            "Both select x_0, whose entries +-eta B t cancel to zero; nothing is applied or cleared, and x_1 stays 1. "
            "The mean accumulated gradient is (0, eta t), so TopK of it minus u/P has norm eta t against eta."
        ),
        axis="horizon",
        note="The objective is x_1^2/2: plain averaging solves it, Ok-Topk never moves.",
    ),
)
