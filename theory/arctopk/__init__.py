"""ARC-Top-K: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "arctopk",
    "ARC-Top-K: ranks agree on rows through a sketch",
    "The ranks agree on the rows to send through an all-reduced sketch, so that no index is sent. The paper's own "
    "theorems were not read. The statements here are derived, and the sources say so.",
    synopsis=Synopsis(
        found=(
            "The abstract calls it provably contractive; the theorem was not read. We prove 1 - K/m for orthogonal "
            "rows; other rows need a factor rho(m, r) on K/m. The words are as claimed, and all ranks select the same "
            "rows if all add in one order."
        ),
        promise=(
            "An all-reduce can carry this Top-K: the ranks agree on K of m rows through a sketch of rank r, and the "
            "average contracts by 1 - K/m."
        ),
        holds=(
            "Compressing commutes with averaging (`arctopk.allreduce.commutes`), the words are as counted "
            "(`arctopk.allreduce.words`), and on orthogonal rows the factor holds for every rank of the sketch "
            "(`arctopk.allreduce.contraction_orthogonal`). On all rows 1 - rho(m, r) K/m holds "
            "(`arctopk.allreduce.contraction_rho`)."
        ),
        fails=(
            "The factor 1 - K/m fails on some rows (`arctopk.allreduce.contraction`): several weak parallel rows can "
            "displace a heavy one. Keeping floor(mu m) rows does not contract by 1 - mu (`arctopk.rows.floor`)."
        ),
        tight=(
            "This book’s cases exceed the factor 1 - K/m by 47 %, and weak parallel rows exceed it by any factor. They "
            "reach 0.92 of the corrected one."
        ),
        lesson=(
            "Choose the rank of the sketch with rho(m, r) in mind; keep ceil(mu m) rows (`arctopk.rows.ceiling`); "
            "add sketches in one order on all ranks, or they select different rows "
            "(`arctopk.allreduce.masks_of_own_orders`)."
        ),
        picture="arctopk.contraction",
        system="ARC-Top-K",
    ),
)
