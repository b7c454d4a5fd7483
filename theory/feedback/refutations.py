"""Where refuted claims about error feedback are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.feedback.terms import convexity, error_weight, gap, lag, slope, smoothness, stepsize
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import alpha

_u, _v = sp.symbols("u v", integer=True, nonnegative=True)
_r = _u / _v
_STEP = 2 / ((1 + _r) * (convexity + smoothness))

_m = _u / _v

_APART = sp.Rational(69, 2)

REFUTATIONS = by_claim(
    Refutation(
        claim="feedback.plain.convergence",
        words="Three workers, f_i(x) = <a_i, x>^2 + ||x||^2/4 with a_1 = (-3, 2, 2) and its rotations, at equal "
        "entries, with Top-1 and the step size 1/v: every worker sends -11/2 of an entry of its own, and a step "
        "multiplies by 1 + 11/(6 v). L is 103/6, and L~ 69/2.",
        whole={_v: 1},
        measured=1 + sp.Rational(11, 6) / _v,
        given={"1 - (L + 9 L~/2)/v": 1 - (sp.Rational(103, 6) + sp.Rational(9, 2) * _APART) / _v},
        met={
            "feedback_contractive": "Top-1 of three entries does, with alpha = 1/3.",
            "full_gradients": "The gradients have no noise.",
            "feedback_smooth": "f is a quadratic, and L its largest curvature.",
            "smooth_apart": "L~ is the largest curvature of all.",
            "ef21_step": "The condition is stricter: q = sqrt(2/3) is less than 9/11, and sqrt(beta/theta) = q/(1 - q) "
            "less than 9/2.",
        },
    ),
    Refutation(
        claim="feedback.cgd.first_step",
        words="mu x^2/2 at x = 1, and a compressor that returns 1 - r of the gradient, r = u/v: the step takes away "
        "(1 - r) mu times the step size.",
        whole={convexity: 1, smoothness: 1, _u: 1, _v: 1},
        measured=convexity * (1 - _STEP * (1 - _r) * convexity) ** 2 / 2,
        values={convexity: convexity, smoothness: smoothness, alpha: 1 - _r**2, gap: convexity / 2},
        positive={"L > mu": smoothness - convexity, "r < 1": _v - _u},
        met={
            "feedback_contractive": "Its error is r times its input.",
            "one_convex_worker": "It is a quadratic of curvature mu.",
            "cgd_first_step": "The step size is the one given.",
        },
    ),
    Refutation(
        claim="feedback.econtrol.any_weight",
        words="One entry, eta = 1, a compressor that returns 1 + q of its input, q = m^2/(1 + 2 m) with m = u/v, and "
        "an error of m with w = 1 + 2 m to be compressed: m^2 too much is sent, so that the new error is -m^2, and "
        "-m - 2 m^2 = -m w is compressed next. A step multiplies the error by -m.",
        whole={_u: 1, _v: 1},
        measured=_m,
        values={error_weight: sp.Integer(1), alpha: 1 - (_m**2 / (1 + 2 * _m)) ** 2},
        positive={"q < 1": 1 + 2 * _m - _m**2},
        met={"feedback_contractive": "Its error is q times its input.", "standing_gradient": "It is zero."},
    ),
    Refutation(
        claim="feedback.ef21.descent_at_one_over_l",
        words="One worker, x^2/2 at x = 0, its estimate 1, as after the first step from 1/q, the step size 1, and a "
        "compressor that returns 1 - q of its input, q = u/v. The step leads to -1, and q times 2 of the lag is left.",
        whole={_u: 1, _v: 1},
        measured=sp.Rational(1, 2) + (2 * _r) ** 2 / (2 * (1 - _r)),
        values={
            alpha: 1 - _r**2,
            stepsize: sp.Integer(1),
            smoothness: sp.Integer(1),
            gap: sp.Integer(0),
            slope: sp.Integer(0),
            lag: sp.Integer(1),
        },
        positive={"q < 1": _v - _u},
        met={
            "feedback_contractive": "Its error is q times its input.",
            "full_gradients": "The gradients have no noise.",
            "feedback_smooth": "f is a quadratic of curvature 1.",
            "smooth_apart": "There is one worker.",
        },
        checked_by="tests/verify/certify/test_refutations.py::test_a_step_of_ef21_that_is_too_long",
    ),
)
