"""Claims about the worst case of few steps: what share of a printed rate any function and compressor can come to."""

from collections.abc import Mapping
from typing import Any

from commbounds.theory.claim import Claim, Le, for_one_reason
from commbounds.theory.feedback import terms as t
from commbounds.theory.sources import derived

_PROOF = (
    "Performance estimation, recalled from Drori and Teboulle (2014) and from Taylor, Hendrickx and Glineur (2017): "
    "for every row of the table multipliers of what is known of the steps, and squares that add up to what is left."
)


def share_claims(rates: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Of the rates' formulas, by the names of their claims.

    Parameters
    ----------
    rates : mapping from str to sympy expression
        Of feedback.ef14.rate, feedback.ef21.rate and feedback.ef21m.bound.
    """
    common = (t.CONTRACTIVE, t.FULL_GRADIENTS, t.SMOOTH, t.FEW_STEPS)
    of_workers = (*common[:-1], t.FEW_STEPS_OF_WORKERS)
    return (
        Claim(
            name="feedback.ef14.rate_share",
            title="In two to four steps, EF14 reaches at most this share of its printed rate",
            relation=Le(t.MEAN_SQUARED_GRADIENT, t.share * rates["feedback.ef14.rate"]),
            assumes=(*common, t.SMALL_GRADIENTS, t.HALF_STEP),
            source=derived(_PROOF),
            extremal="Huber's function in one dimension, which is x^2/2 up to 1 and linear beyond, and the compressors "
            "that return 1 - q or 1 + q of their input",
            axis="horizon",
            note="The table's shares are at most 0.355: at the largest step size, plain gradient descent alone reaches "
            "a third. The shares fall with q, to 0.024 for q = 0.9. Huber's functions reach 0.97 of every share.",
        ),
        Claim(
            name="feedback.ef21.rate_share",
            title="In two to four steps, EF21 reaches at most this share of its printed rate",
            relation=Le(t.MEAN_SQUARED_GRADIENT, t.share * rates["feedback.ef21.rate"]),
            assumes=(*common, t.EF21_STEP),
            source=derived(_PROOF),
            extremal="x^2/2 in one dimension, the compressors that return 1 - q or 1 + q of their input, and an "
            "estimate that lags behind at first",
            axis="horizon",
            note="x^2/2 attains every share up to its rounding: the printed rate is loose by a factor of 1.15 to 5.5 "
            "in so few steps at its largest step size; the factor falls with the number of steps.",
        ),
        Claim(
            name="feedback.ef21m.bound_share",
            title="In two to four steps without noise, EF21M reaches at most this share of its bound",
            relation=Le(t.MEAN_SQUARED_GRADIENT, t.share * rates["feedback.ef21m.bound"].subs(t.variance, 0)),
            assumes=(*common, t.SMOOTH_APART, t.WEIGHT, t.EF21M_STEP),
            source=derived(_PROOF),
            extremal="x^2/2 in one dimension with the compressors that return 1 - q or 1 + q of their input",
            axis="horizon",
            unpinned=for_one_reason(
                "It is loose by nature: one worker's two lags are equal, and at the worst first momentum a tenth of "
                "one of their terms is less of the bound than the rounding of shares.",
                "0.9 times the term 2*momentum_lag/eta",
                "0.9 times the term 16*eta*own_lag/alpha**2",
            ),
            note="So few short steps hardly move the weights: the bound's first term alone is 2 gap/(gamma T).",
        ),
        Claim(
            name="feedback.ef14.rate_share_workers",
            title="In two or three steps of two or three workers, EF14 reaches at most this share of its printed rate",
            relation=Le(t.MEAN_SQUARED_GRADIENT, t.share * rates["feedback.ef14.rate"]),
            assumes=(*of_workers, t.SMALL_GRADIENTS, t.HALF_STEP),
            source=derived(_PROOF),
            extremal="for the larger q the worst function of one worker, for all of them",
            axis="horizon",
            note="Where q = 1/4, or q = 1/2 at half the largest step size, the proved share is 1.04 to 1.32 times that "
            "of one worker; whether it is attained is not known. Otherwise it is one worker's.",
        ),
        Claim(
            name="feedback.ef21.rate_share_workers",
            title="In two or three steps of two or three workers, EF21 reaches no larger share of its printed rate "
            "than with one",
            relation=Le(t.MEAN_SQUARED_GRADIENT, t.share * rates["feedback.ef21.rate"]),
            assumes=(*of_workers, t.EF21_STEP),
            source=derived(_PROOF),
            extremal="the worst function and estimate of one worker, for all of them",
            axis="horizon",
            note="It holds for any functions of the workers. EF21 compresses differences of gradients and estimates: "
            "linear functions that cancel in the average change nothing.",
        ),
    )
