"""Orthogonalised and low-rank updates: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "orthogonal",
    "Orthogonalised updates: Muon’s iterations, Dion’s columns, and what contracts in which norm",
    "Muon brings all singular values of an update near one, and Dion does so in low rank, with a few words. What the "
    "authors’ code says was read, and of the papers on Polar Express, Orth-Dion and EF21-Muon what is said so.",
    synopsis=Synopsis(
        found=(
            "In exact arithmetic Muon’s five iterations leave singular values from 1/660 of the norm on between 0.682 "
            "and 1.203, and those below 1/665 below that. Its code runs in bfloat16: there diagonal gradients keep to "
            "43/64 and 77/64, and of a gradient of rank one three quarters of the update and more may be amplified "
            "rounding. Dion’s columns may add up to the root of r."
        ),
        promise="Updates whose singular values are all about one, and, with Dion, words for r columns and rows alone.",
        holds=(
            "The interval after five iterations (`orthogonal.muon.at_most`, `orthogonal.muon.at_least`; in bfloat16 "
            "`orthogonal.muon.rounded_at_most`, `orthogonal.muon.rounded_at_least`), the "
            "convergence of the cubic (`orthogonal.cubic.converges`), Dion’s words (`orthogonal.dion.words`) and "
            "that it loses nothing (`orthogonal.dion.mass`), and that low rank contracts the nuclear norm "
            "(`orthogonal.lowrank.nuclear`)."
        ),
        fails=(
            "An interval for all singular values (`orthogonal.muon.uniform`), that in bfloat16 a gradient of rank one "
            "has an update of rank one (`orthogonal.muon.rounded_along`), and that Dion’s updates have spectral "
            "norm one (`orthogonal.dion.orthonormal`); that its residual is bounded "
            "(`orthogonal.dion.buffer_geometric`), that QR in place of columns is nearly the polar factor "
            "(`orthogonal.orth_dion.polar`), that Top-K contracts the spectral norm "
            "(`orthogonal.matrix_topk.spectral_contracts`), and that Polar Express keeps its balance with a safety "
            "factor (`orthogonal.polar_express.balanced`)."
        ),
        tight="Both ends of the interval are attained, and so is the root of r (`orthogonal.dion.spectral`).",
        lesson="Do not count on convergence to the polar factor, which Muon’s authors do not promise either: in exact "
        "arithmetic a gradient of rank one comes out as 0.696 of it; in bfloat16 less than a quarter of the update’s "
        "squared norm may be along it (`orthogonal.muon.amplified`).",
        picture="orthogonal.values",
        practice=True,
    ),
)
