"""ARC-Top-K: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "arctopk",
    "ARC-Top-K: rows agreed on through a sketch",
    "The ranks agree on the rows to send through an all-reduced sketch, so that no index is sent. The paper's own "
    "theorems were not read. What is stated here is derived, and the sources say so.",
    synopsis=Synopsis(
        found=(
            "It is provably contractive, says the abstract; the theorem was not read. 1 - K/m is proved here for "
            "orthogonal rows, and rows of any directions need a factor rho(m, r) on K/m. Words are as claimed, and all "
            "ranks select the same rows if all add in one order."
        ),
        promise=(
            "Top-K that an all-reduce can carry: the ranks agree on K of m rows through a sketch of rank r, and "
            "the average contracts by 1 - K/m."
        ),
        holds=(
            "Compressing commutes with averaging (`arctopk.allreduce.commutes`), the words are as counted "
            "(`arctopk.allreduce.words`), and on orthogonal rows the factor is right at every rank of the sketch "
            "(`arctopk.allreduce.contraction_orthogonal`). On any rows 1 - rho(m, r) K/m holds "
            "(`arctopk.allreduce.contraction_rho`)."
        ),
        fails=(
            "The factor 1 - K/m on rows of any directions (`arctopk.allreduce.contraction`): weak rows that point "
            "the same way beat a heavy one together. Keeping floor(mu m) rows does not contract by 1 - mu "
            "(`arctopk.rows.floor`)."
        ),
        tight=(
            "The factor 1 - K/m was passed by 47 % in this book’s cases, and weak parallel rows pass it by any "
            "factor. The corrected one was approached to 0.92."
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
