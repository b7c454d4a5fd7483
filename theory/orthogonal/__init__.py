"""Orthogonalised and low-rank updates: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "orthogonal",
    "Orthogonalised updates: Muon’s iterations, Dion’s columns, and contraction by norm",
    "Muon brings all singular values of an update near one, and Dion does so in low rank, with a few words. The "
    "authors’ code was read, and the marked parts of the papers on Polar Express, Orth-Dion and EF21-Muon.",
    synopsis=Synopsis(
        found=(
            "In exact arithmetic Muon’s five iterations leave singular values from 1/660 of the norm on between 0.682 "
            "and 1.203, and those below 1/665 below that. Its code runs in bfloat16: there diagonal gradients keep to "
            "43/64 and 77/64, and for a gradient of rank one three quarters or more of the update can be amplified "
            "rounding. The spectral norm of Dion’s update can reach the root of r."
        ),
        promise="All singular values of updates are about one; Dion only sends words for r columns and rows.",
        holds=(
            "The interval after five iterations holds (`orthogonal.muon.at_most`, `orthogonal.muon.at_least`; in "
            "bfloat16 `orthogonal.muon.rounded_at_most`, `orthogonal.muon.rounded_at_least`), and the cubic converges "
            "(`orthogonal.cubic.converges`). Dion’s words are exact (`orthogonal.dion.words`), and it loses nothing "
            "(`orthogonal.dion.mass`). Low rank contracts the nuclear norm (`orthogonal.lowrank.nuclear`)."
        ),
        fails=(
            "No interval holds for all singular values (`orthogonal.muon.uniform`). In bfloat16 a gradient of rank one "
            "can have an update of higher rank (`orthogonal.muon.rounded_along`). Dion’s updates can exceed spectral "
            "norm one (`orthogonal.dion.orthonormal`), and its residual is not bounded as momentum is "
            "(`orthogonal.dion.buffer_geometric`). QR in place of columns is not nearly the polar factor "
            "(`orthogonal.orth_dion.polar`). Top-K does not contract the spectral norm "
            "(`orthogonal.matrix_topk.spectral_contracts`). With its safety factor Polar Express is not balanced about "
            "one (`orthogonal.polar_express.balanced`)."
        ),
        tight="Both ends of the interval are attained, and so is the root of r (`orthogonal.dion.spectral`).",
        lesson="Do not expect convergence to the polar factor, which Muon’s authors do not promise either: in exact "
        "arithmetic a gradient of rank one gets the singular value 0.696; in bfloat16 less than a quarter of the "
        "update’s squared norm can be along it (`orthogonal.muon.amplified`).",
        picture="orthogonal.values",
        practice=True,
    ),
)
