"""Claims about compressed orthogonalised updates: Dion's factors and buffers, and what contracts in which norm."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Ge, Le, Standing
from commbounds.theory.orthogonal import terms as t
from commbounds.theory.quantities import P, k, m, n, r
from commbounds.theory.sources import FOLKLORE, derived
from commbounds.theory.traffic import MOST_SENT

_DION = "dion_update in dion/dion_simple.py: "
_LEFT = 1 - k / (m * n)
_EF21 = "abstract: error feedback beyond the Euclidean norm"

COMPRESSED_CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="orthogonal.dion.fewer",
        title="Dion sends fewer words than the gradient has",
        relation=Le(MOST_SENT, 2 * m * n * (P - 1) / P),
        assumes=(t.WHOLE_BLOCKS,),
        source=FOLKLORE.recalled(
            "that low rank saves communication", "Refuted by a square matrix in more than half its rank."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.dion.words",
        extremal="r above m n/(m + n)",
        axis="r",
        note="(m + n) r is below m n for r < m n/(m + n): half the rank of a square matrix.",
    ),
    Claim(
        name="orthogonal.dion.mass",
        title="What Dion's ranks keep, and 1 - mu of all that was taken, is all that came",
        relation=Eq(t.DION_DEFECT, 0),
        source=t.DION_2025.official_code(
            _DION + "the momentum less (1 - mu) P R^T",
            "mean M+ = mean (M + G) - (1 - mu) U R^T: sum over the steps.",
            "The sum.",
            t.DION_AT.at("dion/dion_simple.py", "31-45"),
        ),
        axis="dion_steps",
        note="Also of several ranks, each of which takes off its own R: they add up to the average.",
    ),
    Claim(
        name="orthogonal.dion.buffer_geometric",
        title="What Dion keeps is at most mu/(1 - mu) of the largest gradient, as what momentum keeps",
        relation=Le(t.BUFFER, t.keeps * t.largest_gradient / (1 - t.keeps)),
        assumes=(t.ONE_WORKER, t.MU_BELOW_ONE),
        source=FOLKLORE.recalled(
            "that error feedback has a bounded residual",
            "Refuted by a gradient that is always the same, and a direction of it that is orthogonal to the basis: "
            "nothing of it is ever taken.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.dion.buffer",
        extremal="mu = 0, and a basis orthogonal to a direction of the gradient",
        axis="dion_steps",
        note="Power iterations do not find a direction that their start misses exactly; rounding does.",
    ),
    Claim(
        name="orthogonal.dion.buffer",
        title="Dion's buffer is at most T times the largest gradient after T steps",
        relation=Le(t.BUFFER, t.dion_steps * t.largest_gradient),
        assumes=(t.ONE_WORKER,),
        source=derived("orthogonal.dion.keeps: what is kept is no larger than what there was; sum over the steps."),
        tightness=1,
        extremal="one gradient all of which the basis misses",
        axis="dion_steps",
    ),
    Claim(
        name="orthogonal.dion.aligned",
        title="Dion's update has an inner product with the momentum of at least the nuclear norm of what is taken",
        relation=Ge(t.ALIGNED, t.nuclear_taken),
        assumes=(t.COLUMNS_NORMED,),
        source=t.ORTH_DION_2026.read(
            "abstract: normalised columns are not the polar factor, and violate the constraint of the dual norm",
            "<U Q^T, B> = tr(Q^T R) is the sum of the columns' norms, and R is the sum of its columns.",
            "What they gain by it.",
        ),
        tightness=1,
        extremal="orthogonal columns",
        axis="r",
        note="More than a matrix of spectral norm one can have: it pays with a spectral norm of up to the root of r.",
    ),
    Claim(
        name="orthogonal.orth_dion.spectral",
        title="With an orthonormal right factor, no singular value of Orth-Dion's update is above one",
        relation=Le(t.UPDATE_SPECTRAL, 1),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=t.ORTH_DION_2026.read(
            "abstract: columns are not normalised, but made orthonormal, for the same words",
            "U and Q are partial isometries.",
            "The norm.",
        ),
        tightness=1,
        extremal="all of them",
        axis="r",
    ),
    Claim(
        name="orthogonal.orth_dion.aligned",
        title="Orth-Dion's inner product with the momentum is at most the nuclear norm of what is taken",
        relation=Le(t.ALIGNED, t.nuclear_taken),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=derived("The dual of the spectral norm: <U Q^T, U U^T B> <= ||U^T B||_*."),
        tightness=1,
        extremal="orthogonal columns",
        axis="r",
    ),
    Claim(
        name="orthogonal.orth_dion.polar",
        title="Orth-Dion's inner product with the momentum is at least half the nuclear norm of what is taken",
        relation=Ge(t.ALIGNED, t.nuclear_taken / 2),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=derived(
            "The work's abstract aims at the polar factor of rank r, as Muon does, with QR of the right factor in its "
            "place; that a single step with QR, from any basis, be half as good is said nowhere. Refuted by a first "
            "column that is next to nothing, and a second that is nearly parallel to it: QR takes the direction for "
            "the first column, and leaves next to nothing of the second."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.orth_dion.aligned",
        extremal="a short column before a long one that is nearly parallel to it",
        axis="r",
        note="The orthonormal factor of QR is not the polar factor; it depends on the order of the columns. No part "
        "of the nuclear norm is guaranteed.",
    ),
    Claim(
        name="orthogonal.matrix_topk.spectral_contracts",
        title="Top-K contracts the spectral norm as it does the Euclidean one, by 1 - k/(m n)",
        relation=Le(t.SPECTRAL_SHARE, _LEFT),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm",
            "Refuted by (1, 1; 1, -1) without its first entry: of the square, (3 + sqrt(5))/2, the matrix had 2.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.matrix_topk.spectral",
        extremal="a matrix of orthogonal signs without one of its entries",
        axis="k",
        note="What is left may be larger than the matrix, in the norm in which Muon goes down.",
    ),
    Claim(
        name="orthogonal.matrix_topk.spectral",
        title="What Top-K leaves out is at most min(m, n)(1 - k/(m n)) of the squared spectral norm",
        relation=Le(t.SPECTRAL_SHARE, sp.Min(m, n) * _LEFT),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(
            _EF21, "||E||_2 <= ||E||_F, and ||X||_F^2 <= min(m, n) ||X||_2^2.", "What the change of norm costs at most."
        ),
        tightness=1,
        extremal="orthogonal signs, of which one row is left",
        axis="k",
        note="So that it contracts where a share of less than 1/min(m, n) is left out.",
    ),
    Claim(
        name="orthogonal.matrix_topk.nuclear_contracts",
        title="Top-K contracts the nuclear norm by 1 - k/(m n)",
        relation=Le(t.NUCLEAR_SHARE, _LEFT),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm",
            "Refuted by ones, 2 x 2, without the first: the nuclear norm is sqrt(5), and was 2.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.matrix_topk.nuclear",
        extremal="2 x 2 ones without the first: 5/4, more than there was; ones of which the diagonal is left: all",
        axis="k",
        note="A compressor of single entries takes a matrix of rank one for any other.",
    ),
    Claim(
        name="orthogonal.matrix_topk.nuclear",
        title="What Top-K leaves out is at most min(m, n)(1 - k/(m n)) of the squared nuclear norm",
        relation=Le(t.NUCLEAR_SHARE, sp.Min(m, n) * _LEFT),
        assumes=(t.LEFT_OUT,),
        source=derived("||E||_*^2 <= min(m, n) ||E||_F^2, and ||X||_F <= ||X||_*."),
        tightness=1,
        extremal="numbers next to alike, of which a permutation is left",
        axis="k",
    ),
    Claim(
        name="orthogonal.lowrank.spectral_contracts",
        title="The best approximation of rank r contracts the spectral norm, by 1 - r/min(m, n)",
        relation=Le(t.SPECTRAL_SHARE, 1 - r / sp.Min(m, n)),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm", "Refuted by the identity, of which an identity is left."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.lowrank.spectral",
        extremal="equal singular values",
        axis="r",
        note="Nor does any compressor of lower rank: what is left of an identity has a singular value of one at least.",
    ),
    Claim(
        name="orthogonal.lowrank.spectral",
        title="The best approximation of rank r leaves at most the squared spectral norm, and may leave all of it",
        relation=Le(t.SPECTRAL_SHARE, 1),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(_EF21, "What is left has the singular values from the next on.", "For this one."),
        tightness=1,
        extremal="equal singular values",
        axis="r",
    ),
    Claim(
        name="orthogonal.lowrank.nuclear",
        title="The best approximation of rank r leaves at most (1 - r/min(m, n))^2 of the squared nuclear norm",
        relation=Le(t.NUCLEAR_SHARE, (1 - r / sp.Min(m, n)) ** 2),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(
            _EF21, "The r largest of min(m, n) singular values are r/min(m, n) of their sum at least.", "For this one."
        ),
        tightness=1,
        extremal="equal singular values",
        axis="r",
        note="The norm that is dual to Muon's is the one that low rank contracts.",
    ),
)
