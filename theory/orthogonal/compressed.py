"""Claims about compressed orthogonalised updates: Dion's factors and buffers, and what contracts in which norm."""

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
            "that low rank saves communication", "Refuted by a square matrix and more than half its rank."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.dion.words",
        extremal="r above m n/(m + n)",
        axis="r",
        note="(m + n) r is below m n for r < m n/(m + n): half the rank of a square matrix.",
    ),
    Claim(
        name="orthogonal.dion.mass",
        title="Dion's mean buffer plus 1 - mu times all parts taken equals the sum of all mean gradients",
        relation=Eq(t.DION_DEFECT, 0),
        source=t.DION_2025.official_code(
            _DION + "the momentum less (1 - mu) P R^T",
            "mean M+ = mean (M + G) - (1 - mu) U R^T: sum over the steps.",
            "The sum is ours.",
            t.DION_AT.at("dion/dion_simple.py", "31-45"),
        ),
        axis="dion_steps",
        note="It also holds for several ranks, each of which subtracts its own R: these add up to the average.",
    ),
    Claim(
        name="orthogonal.dion.buffer_geometric",
        title="Dion's buffer is at most mu/(1 - mu) times the largest gradient, as for momentum",
        relation=Le(t.BUFFER, t.keeps * t.largest_gradient / (1 - t.keeps)),
        assumes=(t.ONE_WORKER, t.MU_BELOW_ONE),
        source=FOLKLORE.recalled(
            "that error feedback has a bounded residual",
            "Refuted by a constant gradient with a direction orthogonal to the basis: that part is never taken.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.dion.buffer",
        extremal="mu = 0, and a basis orthogonal to a direction of the gradient",
        axis="dion_steps",
        note="Power iterations do not find a direction that is exactly orthogonal to their start; rounding does.",
    ),
    Claim(
        name="orthogonal.dion.buffer",
        title="Dion's buffer is at most T times the largest gradient after T steps",
        relation=Le(t.BUFFER, t.dion_steps * t.largest_gradient),
        assumes=(t.ONE_WORKER,),
        source=derived(
            "orthogonal.dion.keeps: the new buffer is no larger than the old one plus gradient; sum over the steps."
        ),
        tightness=1,
        extremal="one gradient all of which the basis misses",
        axis="dion_steps",
    ),
    Claim(
        name="orthogonal.dion.aligned",
        title="Dion's update has an inner product with the momentum of at least the nuclear norm of the part taken",
        relation=Ge(t.ALIGNED, t.nuclear_taken),
        assumes=(t.COLUMNS_NORMED,),
        source=t.ORTH_DION_2026.read(
            "abstract: normalised columns are not the polar factor, and violate the constraint of the dual norm",
            "<U Q^T, B> = tr(Q^T R) is the sum of the columns' norms, and R is the sum of its columns.",
            "The gain is our claim.",
        ),
        tightness=1,
        extremal="orthogonal columns",
        axis="r",
        note="This is more than for any matrix of spectral norm one; the spectral norm is up to the root of r.",
    ),
    Claim(
        name="orthogonal.orth_dion.spectral",
        title="With an orthonormal right factor, no singular value of Orth-Dion's update is above one",
        relation=Le(t.UPDATE_SPECTRAL, 1),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=t.ORTH_DION_2026.read(
            "abstract: columns are not normalised, but made orthonormal, for the same words",
            "U and Q are partial isometries.",
            "The norm is ours.",
        ),
        tightness=1,
        extremal="all of them",
        axis="r",
    ),
    Claim(
        name="orthogonal.orth_dion.aligned",
        title="Orth-Dion's inner product with the momentum is at most the nuclear norm of the part taken",
        relation=Le(t.ALIGNED, t.nuclear_taken),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=derived("The dual of the spectral norm: <U Q^T, U U^T B> <= ||U^T B||_*."),
        tightness=1,
        extremal="orthogonal columns",
        axis="r",
    ),
    Claim(
        name="orthogonal.orth_dion.polar",
        title="Orth-Dion's inner product with the momentum is at least half the nuclear norm of the part taken",
        relation=Ge(t.ALIGNED, t.nuclear_taken / 2),
        assumes=(t.RIGHT_ORTHONORMAL,),
        source=derived(
            "The paper's abstract aims at the polar factor of rank r, like Muon, with QR of the right factor in its "
            "place; it does not say that a single step with QR, from any basis, is half as good. Refuted by a tiny "
            "first column and a second that is nearly parallel to it: QR gives the direction to the first column, and "
            "almost nothing of the second remains."
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
        title="Top-K contracts the spectral norm like the Euclidean one, by 1 - k/(m n)",
        relation=Le(t.SPECTRAL_SHARE, _LEFT),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm",
            "Refuted by (1, 1; 1, -1) without its first entry: its square is (3 + sqrt(5))/2, and that of the matrix "
            "2.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.matrix_topk.spectral",
        extremal="a matrix of orthogonal signs without one of its entries",
        axis="k",
        note="The error can be larger than the matrix, in the norm of Muon's descent.",
    ),
    Claim(
        name="orthogonal.matrix_topk.spectral",
        title="Top-K's error is at most min(m, n)(1 - k/(m n)) of the squared spectral norm",
        relation=Le(t.SPECTRAL_SHARE, sp.Min(m, n) * _LEFT),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(
            _EF21,
            "||E||_2 <= ||E||_F, and ||X||_F^2 <= min(m, n) ||X||_2^2.",
            "The change of norm costs at most this factor.",
        ),
        tightness=1,
        extremal="orthogonal signs, of which one row is left",
        axis="k",
        note="So it contracts if a share of less than 1/min(m, n) is left out.",
    ),
    Claim(
        name="orthogonal.matrix_topk.nuclear_contracts",
        title="Top-K contracts the nuclear norm by 1 - k/(m n)",
        relation=Le(t.NUCLEAR_SHARE, _LEFT),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm",
            "Refuted by 2 x 2 ones without the first: the nuclear norm is sqrt(5) instead of 2.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.matrix_topk.nuclear",
        extremal="2 x 2 ones without the first: 5/4, more than the whole; ones of which only the diagonal is left: 1",
        axis="k",
        note="A compressor of single entries does not exploit rank one.",
    ),
    Claim(
        name="orthogonal.matrix_topk.nuclear",
        title="Top-K's error is at most min(m, n)(1 - k/(m n)) of the squared nuclear norm",
        relation=Le(t.NUCLEAR_SHARE, sp.Min(m, n) * _LEFT),
        assumes=(t.LEFT_OUT,),
        source=derived("||E||_*^2 <= min(m, n) ||E||_F^2, and ||X||_F <= ||X||_*."),
        tightness=1,
        extremal="nearly equal numbers, of which a permutation matrix is left",
        axis="k",
    ),
    Claim(
        name="orthogonal.lowrank.spectral_contracts",
        title="The best approximation of rank r contracts the spectral norm, by 1 - r/min(m, n)",
        relation=Le(t.SPECTRAL_SHARE, 1 - r / sp.Min(m, n)),
        assumes=(t.LEFT_OUT,),
        source=FOLKLORE.recalled(
            "that a contraction is one in every norm", "Refuted by the identity: the error is a smaller identity."
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="orthogonal.lowrank.spectral",
        extremal="equal singular values",
        axis="r",
        note="No compressor of lower rank does: the error for an identity has a singular value of at least one.",
    ),
    Claim(
        name="orthogonal.lowrank.spectral",
        title="The best approximation of rank r loses at most the squared spectral norm, and can lose all of it",
        relation=Le(t.SPECTRAL_SHARE, 1),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(
            _EF21, "The error has the remaining singular values.", "The statement for this norm is ours."
        ),
        tightness=1,
        extremal="equal singular values",
        axis="r",
    ),
    Claim(
        name="orthogonal.lowrank.nuclear",
        title="The best approximation of rank r loses at most (1 - r/min(m, n))^2 of the squared nuclear norm",
        relation=Le(t.NUCLEAR_SHARE, (1 - r / sp.Min(m, n)) ** 2),
        assumes=(t.LEFT_OUT,),
        source=t.EF21_MUON_2025.read(
            _EF21,
            "The r largest of min(m, n) singular values are r/min(m, n) of their sum at least.",
            "The statement for this norm is ours.",
        ),
        tightness=1,
        extremal="equal singular values",
        axis="r",
        note="Low rank contracts the dual of Muon's norm.",
    ),
)
