"""Claims about orthogonalised updates: what becomes of singular values, and what Dion sends and keeps."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.implementations import defined
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.orthogonal.compressed import COMPRESSED_CLAIMS
from commbounds.theory.orthogonal.iterations import ITERATION_CLAIMS
from commbounds.theory.orthogonal.rounded import ROUNDED_CLAIMS
from commbounds.theory.quantities import P, m, n, r
from commbounds.theory.sources import derived
from commbounds.theory.traffic import MOST_SENT

_MUON = "zeropower_via_newtonschulz5 in muon.py: "
_DION = "dion_update in dion/dion_simple.py: "
_MAPPED = (
    "An iteration maps a singular value x to p(x) = 3.4445 x - 4.775 x^3 + 2.0315 x^5, which rises to its local "
    "maximum 1.2024 at 0.5545, falls to its local minimum 0.6818 at 1.0501, and rises. "
)

_ORTHOGONAL: tuple[Claim, ...] = (
    Claim(
        name="orthogonal.cubic.one_step",
        title="After one cubic Newton-Schulz iteration the distance to one is (1 - s)^2 (2 + s)/2",
        relation=Eq(t.ONE_GAP, (1 - t.singular) ** 2 * (2 + t.singular) / 2),
        assumes=(t.CUBIC, t.ONCE),
        source=t.HIGHAM_2008.recalled("the Newton-Schulz iteration", "1 - (3 s - s^3)/2 = (1 - s)^2 (2 + s)/2."),
        axis="singular",
    ),
    Claim(
        name="orthogonal.cubic.converges",
        title="After T cubic iterations 1 - s_T^2 is at most (1 - s^2)^(2^T)",
        relation=Le(t.SQUARE_GAP, (1 - t.singular**2) ** (2**t.iterations)),
        assumes=(t.CUBIC,),
        source=derived("1 - s_1^2 = (1 - s^2)^2 (4 - s^2)/4 <= (1 - s^2)^2, again and again."),
        tightness=1,
        extremal="no iteration; and singular values near zero",
        axis="schulz_steps",
        note="So every nonzero singular value converges to one, and finally quadratically.",
    ),
    Claim(
        name="orthogonal.muon.one",
        title="In exact arithmetic Muon's five iterations take a gradient of rank one to the singular value 0.6964",
        relation=Eq(t.VALUE, t.of_one(5)),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE, t.ALONE),
        source=t.MUON_2024.official_code(
            _MUON + "the coefficients, and that the iteration no longer converges to one",
            "p(1) = 0.701: one is not a fixed point. The number is p applied five times to 1, exactly.",
            "The number is ours.",
            t.MUON_AT.at("muon.py", "5-30"),
        ),
        axis="singular",
        note="The fixed points are 0.868 and 1.264, and both are repelling: it does not converge for any number of "
        "iterations. Twelve other values do become one (orthogonal.muon.ones). The code runs in bfloat16, where a "
        "gradient of rank one has higher rank after the first rounding: see orthogonal.muon.rounded_along and "
        "orthogonal.muon.amplified.",
    ),
    Claim(
        name="orthogonal.muon.at_most",
        title="In exact arithmetic no singular value is above 1.2024 after Muon's five iterations",
        relation=Le(t.VALUE, t.TOP),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE),
        source=derived(_MAPPED + "On [0, 1] p is at most its maximum, and on [1, 1.2024] it is below one."),
        tightness=1,
        extremal="a singular value that is 0.5545 after four iterations",
        axis="singular",
    ),
    Claim(
        name="orthogonal.muon.at_least",
        title="Singular values of at least 1/660 of the norm are at least 0.6818 after Muon's five iterations",
        relation=Ge(t.VALUE, t.BOTTOM),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE, t.NOT_TINY),
        source=derived(
            _MAPPED + "p maps [0.6818, 1.2024] into itself, and all values from 0.211 on into it; four iterations "
            "bring 1/660 above 0.211."
        ),
        tightness=1,
        extremal="a singular value that is 1.0501 after four iterations",
        axis="singular",
        note="It holds in exact arithmetic; for bfloat16 see orthogonal.muon.rounded_at_least. Values below 1/665 end "
        "below the interval (orthogonal.muon.below), and can be arbitrarily small (orthogonal.muon.growth).",
    ),
    Claim(
        name="orthogonal.muon.uniform",
        title="After five of Muon's iterations all singular values are between 0.5 and 1.5",
        relation=Ge(t.VALUE, sp.Rational(1, 2)),
        assumes=(t.MUON, t.FIVE),
        source=t.MUON_2024.official_code(
            _MUON + "the docstring, S' about uniform on (0.5, 1.5)",
            "Refuted by a singular value of a ten-thousandth of the norm, which becomes 0.05.",
            "It is read as a bound for all of them; printed as their approximate law.",
            t.MUON_AT.at("muon.py", "6-14"),
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.muon.at_least",
        tightness=sp.oo,
        extremal="a tiny singular value",
        axis="singular",
        note="None comes near 1.5 either: values that are not tiny end between 0.6818 and 1.2024, and in bfloat16, if "
        "the gradient is diagonal, between 43/64 and 77/64.",
    ),
    Claim(
        name="orthogonal.muon.growth",
        title="Five of Muon's iterations multiply a singular value by at most 3.4445^5 = 485",
        relation=Le(t.VALUE, t.A**5 * t.singular),
        assumes=(t.MUON, t.IN_DTYPE, t.FIVE),
        source=derived("|p(x)| <= 3.4445 x where x is at most 1.2024."),
        tightness=1,
        extremal="singular values next to zero",
        axis="singular",
    ),
    Claim(
        name="orthogonal.dion.words",
        title="Dion sends 2 (m + n) r (P - 1)/P words; the whole gradient takes 2 m n (P - 1)/P",
        relation=Eq(MOST_SENT, 2 * (m + n) * r * (P - 1) / P),
        assumes=(t.WHOLE_BLOCKS,),
        source=t.DION_2025.recalled("communication of m r and n r entries", "Counted: two ring all-reduces."),
        axis="r",
    ),
    Claim(
        name="orthogonal.dion.keeps",
        title="Dion's buffer: its new square is the old one less 1 - mu^2 times the square of the part taken",
        relation=Eq(t.KEPT_SQUARE, t.square_before - (1 - t.keeps**2) * t.square_taken),
        assumes=(t.ONE_WORKER,),
        source=t.DION_2025.official_code(
            _DION + "the momentum less (1 - mu) P R^T",
            "B = (B - U U^T B) + U U^T B, orthogonal parts, of which the second is multiplied by mu.",
            "The identity is ours; the code has the step.",
            t.DION_AT.at("dion/dion_simple.py", "31-45"),
        ),
        axis="keeps",
    ),
    Claim(
        name="orthogonal.dion.size",
        title="Dion's update has the squared Frobenius norm r",
        relation=Eq(t.UPDATE_SQUARE, r),
        assumes=(t.FULL_COLUMNS, t.COLUMNS_NORMED),
        source=t.DION_2025.official_code(
            _DION + "columns of R divided by their norms",
            "||U Q^T||_F = ||Q||_F for orthonormal U.",
            "The value is ours.",
            t.DION_AT.at("dion/dion_simple.py", "47-64"),
        ),
        axis="r",
    ),
    Claim(
        name="orthogonal.dion.orthonormal",
        title="Dion's update is orthonormal: no singular value is above one",
        relation=Le(t.UPDATE_SPECTRAL, 1),
        assumes=(t.COLUMNS_NORMED,),
        source=t.DION_2025.recalled(
            "orthonormalised updates",
            "Refuted by a basis whose columns are mostly orthogonal to the dominating direction: all columns of R are "
            "nearly that one, and the norm of Q is the root of r.",
            "It is read for every matrix; at a fixed point of the power iteration it is orthonormal.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.dion.spectral",
        extremal="one direction dominates, and all columns of the basis except one are orthogonal to it",
        axis="r",
        note="Columns are normalised, but that does not make them orthogonal.",
    ),
    Claim(
        name="orthogonal.dion.spectral",
        title="No singular value of Dion's update is above the root of r",
        relation=Le(t.UPDATE_SPECTRAL, sp.sqrt(r)),
        assumes=(t.COLUMNS_NORMED,),
        source=derived("The spectral norm is at most the Frobenius norm, which is at most the root of r."),
        tightness=1,
        extremal="one direction dominates, and all columns of the basis except one are orthogonal to it",
        axis="r",
    ),
)

_DEFINITIONS = defined(
    "orthogonal",
    {
        "muon_update": "Written from Muon's iteration with its published coefficients, those of Newton and Schulz and "
        "of Polar Express; sums of products one after another.",
        "ef21_muon": "Written from the workers' side of arXiv:2510.00643, with Top-K, ties to the lowest index.",
        "dion_update": "Written from arXiv:2504.05295: one factor by Gram and Schmidt, twice, the other by norms of "
        "its columns, or orthonormal as in arXiv:2605.16341.",
    },
)

CLAIMS = (*_ORTHOGONAL, *ROUNDED_CLAIMS, *ITERATION_CLAIMS, *COMPRESSED_CLAIMS, *_DEFINITIONS)
