"""Claims about iterations that bring singular values near one: how fast, and how near."""

import sympy as sp

from commbounds.theory.claim import Claim, Ge, Le, Standing
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.sources import derived

_EXPRESS = "algorithm 1: the coefficients, and a division by 1.01 before all polynomials but the last of eight"
_MIDDLE = (
    "The first four polynomials map [1/1010, 1/1.01] to values of which the fifth makes 1.1236 at most, its local "
    "maximum, and, except for those next to 1/1000, 0.8696 at least. "
)

ITERATION_CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="orthogonal.quintic.one_step",
        title="A Newton-Schulz iteration of degree 5 leaves 1 - s_1^2 of at most (1 - s^2)^3",
        relation=Le(t.SQUARE_GAP, (1 - t.singular**2) ** 3),
        assumes=(t.QUINTIC, t.ONCE),
        source=t.AMSEL_2025.read(
            "section 1.2, that (15 x - 10 x^3 + 3 x^5)/8 converges faster than the cubic",
            "1 - p(x)^2 = (1 - x^2)^3 (64 - 33 x^2 + 9 x^4)/64, and 9 x^4 <= 33 x^2.",
            "The bound is ours.",
        ),
        tightness=1,
        extremal="singular values near zero",
        axis="singular",
        note="After T of them it is (1 - s^2)^(3^T); for the cubic (1 - s^2)^(2^T).",
    ),
    Claim(
        name="orthogonal.cubic.growth",
        title="T cubic iterations multiply a singular value by at most (3/2)^T",
        relation=Le(t.VALUE, sp.Rational(3, 2) ** t.iterations * t.singular),
        assumes=(t.CUBIC,),
        source=t.AMSEL_2025.read(
            "section 1.2, that Newton-Schulz suffers from slow initial convergence",
            "p(x) <= 3 x/2.",
            "The factor is ours.",
        ),
        tightness=1,
        extremal="singular values next to zero",
        axis="schulz_steps",
        note="From 1/1000 of the norm 18 iterations reach 0.93, and 17 at most 0.78; five of Polar Express reach 0.84, "
        "and Muon's 0.47. They multiply tiny values by 967 and by 485.",
    ),
    Claim(
        name="orthogonal.muon.plateau",
        title="Singular values of at least 1/660 of the norm end within 0.3182 of one after Muon's five iterations",
        relation=Le(t.VALUE_ERROR, 1 - t.BOTTOM),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE, t.NOT_TINY),
        source=t.AMSEL_2025.read(
            "section 1.2, that it plateaus at an error of about 0.3",
            "orthogonal.muon.at_least and orthogonal.muon.at_most: 1 - 0.6818 is more than 1.2024 - 1.",
            "The number and the range of singular values are ours.",
        ),
        tightness=1,
        extremal="a singular value that is 1.0501 after four iterations",
        axis="singular",
    ),
    Claim(
        name="orthogonal.polar_express.at_most",
        title="No singular value is above 1.1236 after five iterations of Polar Express",
        relation=Le(t.VALUE, t.POLAR_TOP),
        assumes=(t.EXPRESS, t.FIVE),
        source=t.AMSEL_2025.read(
            _EXPRESS,
            _MIDDLE + "Values below 1/1000 stay below one: they are multiplied by at most 967.",
            "The number is ours.",
        ),
        tightness=1,
        extremal="a singular value that four iterations take to the maximum of the fifth polynomial",
        axis="singular",
    ),
    Claim(
        name="orthogonal.polar_express.balanced",
        title="Five iterations of Polar Express deviate equally above and below one, from 1/1000 on",
        relation=Ge(t.VALUE, 2 - t.POLAR_TOP),
        assumes=(t.EXPRESS, t.FIVE, t.THOUSANDTH),
        source=derived(
            "Without the safety factor u = 2 - l after every iteration, from l = 1/1000 (section 4 of the paper): "
            "0.1236 on both sides, to all digits. One would expect nearly the same with the factor before all five, as "
            "in algorithm 1; the paper only says that little accuracy is lost, and that the last iteration may omit it "
            "(section 4.4). Refuted by 1/1000, which is 1/1010 before the first polynomial, and 0.840 after the fifth."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.polar_express.at_least",
        extremal="a thousandth of the norm",
        axis="singular",
        note="The safety factor raises the largest error from 0.1236 to 0.1599, and after six iterations from 0.0012 "
        "to 0.0065. Omitted in the last iteration, it gives 0.1537 and 0.0052.",
    ),
    Claim(
        name="orthogonal.polar_express.at_least",
        title="Singular values of at least 1/1000 of the norm are at least 0.8401 after five iterations of Polar "
        "Express",
        relation=Ge(t.VALUE, t.POLAR_LEAST[5]),
        assumes=(t.EXPRESS, t.FIVE, t.THOUSANDTH),
        source=t.AMSEL_2025.read(
            _EXPRESS, _MIDDLE + "What 1/1000 becomes is a rational number.", "The number is ours."
        ),
        tightness=1,
        extremal="a thousandth of the norm",
        axis="singular",
    ),
    Claim(
        name="orthogonal.polar_express.six",
        title="Singular values of at least 1/1000 of the norm are at least 0.9935 after six iterations of Polar "
        "Express",
        relation=Ge(t.VALUE, t.POLAR_LEAST[6]),
        assumes=(t.EXPRESS, t.SIX, t.THOUSANDTH),
        source=t.AMSEL_2025.read(
            _EXPRESS, "The sixth polynomial of [0.8401, 1.1236] is least at the lower end.", "The number is ours."
        ),
        tightness=1,
        extremal="a thousandth of the norm",
        axis="singular",
    ),
)
