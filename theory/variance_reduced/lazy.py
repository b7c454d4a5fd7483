"""Claims about lazy aggregation (LAG, CLAG), and about EF21-P, which compresses the model."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le
from commbounds.theory.feedback.terms import smoothness, stepsize
from commbounds.theory.quantities import P, k, n
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT
from commbounds.theory.variance_reduced import terms as t

_ALGORITHMS = "\u0441lag on logistic loss/src/algorithms.py"
"""The folder's name begins with a Cyrillic letter."""
_model = stepsize * smoothness**2 / (2 * t.keeping)

LAZY_CLAIMS = (
    Claim(
        name="variance_reduced.lag.error",
        title="LAG: the parts' squared error is at most zeta times the gradient changes, without older terms",
        relation=Le(t.PART_ERROR, t.trigger * t.mean_turn),
        assumes=(t.WHOLE_MESSAGES,),
        source=t.THREE_PC_2022.official_code(
            "LAG_step, the trigger; the inequality, with A = 1 and B = zeta, is recalled",
            "A part that is sent is exact; one that is not has ||g - grad+||^2 <= zeta ||turn||^2.",
            code=t.THREE_PC_AT.at(_ALGORITHMS, "13-17"),
        ),
        tightness=1,
        extremal="parts whose error is exactly zeta times the change, so that no worker sends",
        axis="trigger",
    ),
    Claim(
        name="variance_reduced.clag.error",
        title="CLAG with Top-K: the parts' error falls to q, plus the larger of zeta and q^2/(1 - q) times the changes",
        relation=Le(t.PART_ERROR, (1 - t.keeping) * t.part_gap + sp.Max(t.adding, t.trigger) * t.mean_turn),
        assumes=(t.LARGEST, t.SHARE_OF_ENTRIES),
        source=t.THREE_PC_2022.official_code(
            "CLAG_step, the trigger, and max(beta, zeta)/theta in the step size (lines 186 to 187); the inequality is "
            "recalled",
            "A worker that sends follows EF21's recursion, with q^2/(1 - q); one that does not has zeta ||turn||^2.",
            code=t.THREE_PC_AT.at(_ALGORITHMS, "61-67"),
        ),
        tightness=1,
        extremal="equal entries, a change of (1/q - 1) times the part's error and along it",
        axis="trigger",
    ),
    Claim(
        name="variance_reduced.lag.never_silent",
        title="With a trigger below 1 every worker sends in every step, and lazy aggregation saves nothing",
        relation=Eq(t.SENDING, P),
        assumes=(t.WHOLE_MESSAGES, t.TRIGGER_BELOW_ONE, t.FRESH),
        source=derived(
            "The error of a part that is the last gradient is the whole change, more than zeta times it: it is sent, "
            "and is the last gradient again."
        ),
        axis="P",
        note="Only a trigger of 1 or more can save messages; the error can then equal the whole change.",
    ),
    Claim(
        name="variance_reduced.lag.words",
        title="A lazy step sends 2 k words of every sender P - 1 times",
        relation=Eq(t.ALL_SENT, 2 * k * t.senders * (P - 1)),
        source=derived("Counted: every message goes round a ring; one without entries has no words."),
        axis="senders",
    ),
    Claim(
        name="variance_reduced.ef21p.gap",
        title="EF21-P: the model's squared distance from the weights falls to q, plus q^2/(1 - q) times their change",
        relation=Le(t.MODEL_ERROR, (1 - t.keeping) * t.model_gap + t.adding * t.weights_turn),
        assumes=(t.SHARE_OF_ENTRIES,),
        source=t.EF21P_2022.recalled(
            "error feedback of the model",
            "||w+ - x+|| <= q (||w - x|| + ||x+ - x||); square with (a + b)^2 <= (1 + s) a^2 + (1 + 1/s) b^2 at s = "
            "1/q - 1.",
        ),
        tightness=1,
        extremal="equal entries, a turn of (1/q - 1) times the distance and away from the model",
        axis="kept_share",
    ),
    Claim(
        name="variance_reduced.ef21p.descent",
        title="EF21-P at EF21's step size: f at the weights plus gamma L^2/(2 theta) times the model's distance falls",
        relation=Le(t.PRIMAL_POTENTIAL, t.excess_before + _model * t.model_gap - stepsize / 2 * t.squared_slope),
        assumes=(t.SHARE_OF_ENTRIES, t.SMOOTH_PARTS, t.EF21P_STEP),
        source=derived(
            "x+ = x - gamma grad f(w), and ||grad f(w) - grad f(x)||^2 <= L^2 ||w - x||^2: EF21's descent with the "
            "model's distance, times L^2, for the lag. What is left of ||x+ - x||^2 has the factor -(1 - L gamma - (L "
            "gamma)^2 beta/theta)/(2 gamma)."
        ),
        tightness=1,
        extremal="x^2/2 times L, equal entries, the largest step size, and the model that makes the turn (1/q - 1) "
        "times its distance",
        axis="stepsize",
        note="Only the smoothness of f matters, not that of the workers' functions.",
    ),
    Claim(
        name="variance_reduced.ef21p.words",
        title="A step of EF21-P sends n words up from every worker and 2 k words down to each",
        relation=Eq(MOST_SENT, sp.Max(n, 2 * k * (P - 1))),
        assumes=(t.SEVERAL,),
        source=derived("Counted: gradients are not compressed, and the server sends its message to P - 1 workers."),
        axis="P",
    ),
)
