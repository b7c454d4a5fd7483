"""Sparsifiers: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparsifiers",
    "Sparsifiers: send few entries",
    "A worker sends a few of its vector's entries, the largest, random ones or those above a threshold, and the "
    "claims say what that loses and what it costs in bits.",
    synopsis=Synopsis(
        found=(
            "Top-K contracts by k/n on one worker and on all workers’ vectors together; the average of per-worker "
            "Top-K does not contract towards the average at all."
        ),
        promise="Send the k most important of n entries, and lose at most 1 - k/n of the squared norm.",
        holds=(
            "Top-K and Rand-K on one vector (`sparsifiers.topk.contraction`, `sparsifiers.randk.contraction`); "
            "Top-K on all workers’ vectors taken together (`sparsifiers.topk.local_contraction`); an average with "
            "one support for all (`sparsifiers.randk.global_contraction_shared`)."
        ),
        fails=(
            "The average of per-worker Top-K (`sparsifiers.topk.global_contraction`), of Rand-K with supports of "
            "their own (`sparsifiers.randk.global_contraction`), floor(mu n) entries "
            "(`sparsifiers.topk.floor_k`), and any contraction factor of a hard threshold "
            "(`sparsifiers.hardthreshold.contraction`)."
        ),
        tight="The factors are attained, by vectors whose entries are equal in magnitude.",
        lesson=(
            "A factor for one worker says nothing of the average: two workers that disagree lose everything "
            "(`sparsifiers.topk.two_workers`)."
        ),
    ),
)
