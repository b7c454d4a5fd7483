"""Claims about where Muon's interval ends, and about its iterations as the code runs them: in bfloat16."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Kind, Le, Standing
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.sources import derived

_ALL = (
    "An entry of the diagonal becomes a(x) + B(x) x with every operation rounded to bfloat16. All 16,257 numbers of "
    "bfloat16 in [0, 1] were run; "
)

ROUNDED_CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="orthogonal.muon.ones",
        title="In exact arithmetic five of Muon's iterations take exactly twelve singular values to one",
        relation=Eq(t.ONES, 12),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE),
        source=derived(
            "p takes a value between 0.9465 = p(1.2024) and 1.2024 at two points of [0, 1.2024], one between 0.6818 "
            "and 0.9465 at three, and one below 0.6818 at one. Going back five times from one, and leaving out what is "
            "above one at the end, leaves 0.00248, 0.00613, 0.0261, 0.0387, 0.0598, 0.0784, 0.156, 0.180, 0.292, "
            "0.469, 0.643 and 0.854."
        ),
        axis="singular",
        note="They are counted by changes of sign between 400 values from 1/10000 to 1.",
    ),
    Claim(
        name="orthogonal.muon.below",
        title="Singular values of at most 1/665 of the norm are below 0.6818 after Muon's five iterations",
        relation=Le(t.VALUE, t.BOTTOM),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE, t.TINY),
        source=derived(
            "p rises to 0.5545, and four iterations take 1/665 no further than 0.211: values below 1/665 stay below "
            "its result, 0.6813."
        ),
        axis="singular",
        note="So the interval of orthogonal.muon.at_least ends between 1/660 and 1/665: at 1/664.4.",
    ),
    Claim(
        name="orthogonal.muon.rounded_at_most",
        title="In bfloat16 no entry of a diagonal gradient is above 77/64 after Muon's five iterations",
        relation=Le(t.VALUE, sp.Rational(77, 64)),
        assumes=(t.MUON, t.IN_BFLOAT16, t.FIVE, t.DIAGONAL),
        source=derived(_ALL + "the largest result is 77/64 = 1.203125."),
        tightness=1,
        extremal="0.0037384 of the norm",
        axis="singular",
        note="If the gradient is not diagonal, the roundings of its entries add up to more.",
    ),
    Claim(
        name="orthogonal.muon.rounded_at_least",
        title="In bfloat16 diagonal entries of at least 1/660 of the norm are at least 43/64 after Muon's five "
        "iterations",
        relation=Ge(t.VALUE, sp.Rational(43, 64)),
        assumes=(t.MUON, t.IN_BFLOAT16, t.FIVE, t.DIAGONAL, t.NOT_TINY),
        source=derived(
            _ALL + "the smallest result from 1/680 on is 43/64 = 0.671875. Roundings of the norm and of the quotient "
            "reduce 1/660 at most to 1/663."
        ),
        tightness=1,
        extremal="0.0087280 of the norm",
        axis="singular",
    ),
    Claim(
        name="orthogonal.muon.along",
        title="In exact arithmetic Muon's update of a gradient of rank one is along the gradient",
        relation=Eq(t.OFF_SHARE, 0),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE, t.ALONE),
        source=derived("An odd polynomial of X changes only singular values, and zero stays zero."),
        axis="singular",
    ),
    Claim(
        name="orthogonal.muon.rounded_along",
        title="In bfloat16 Muon's update of a gradient of rank one is along the gradient",
        relation=Eq(t.OFF_SHARE, 0),
        assumes=(t.MUON, t.IN_BFLOAT16, t.FIVE, t.ALONE),
        source=derived(
            "One would expect it of orthogonal.muon.along. Refuted by (1, 3)^T (1, 3), which is divided by 10: 0.1, "
            "0.3 and 0.9 are rounded, and the matrix has two singular values then, of which the small one is "
            "multiplied by up to 485."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.muon.along",
        extremal="products of long vectors",
        axis="singular",
        note="orthogonal.muon.amplified states the amount for Gaussian vectors.",
    ),
    Claim(
        name="orthogonal.muon.amplified",
        title="In bfloat16 amplified rounding is on average three quarters or more of the squared norm of Muon's "
        "update of a product of two Gaussian vectors",
        relation=Ge(t.MEAN_OFF_SHARE, sp.Rational(3, 4)),
        kind=Kind.LAW,
        assumes=(t.MUON, t.IN_BFLOAT16, t.FIVE, t.GAUSSIAN_PRODUCT),
        source=derived(
            "It is drawn, not proved. The first rounding spreads about 2^-9 of the norm over all singular values; the "
            "five iterations multiply small ones by up to 485, to about one, so that 0.51 to 0.57 of the squared norm "
            "is not along the gradient, whose own singular value becomes 0.7. Roundings of the iterations add to it."
        ),
        axis="n",
        note="Muon's own code, run in torch on a CPU, has the means 0.66 for 8 x 8, 0.72 for 16 x 16, 0.78 for 32 x "
        "32, and 0.81 to 0.82 from 64 x 64 to 1024 x 1024, of ten draws each (docs/evidence.md).",
    ),
)
