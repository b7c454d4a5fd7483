"""Sparsifiers: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparsifiers",
    "Sparsifiers: send few entries",
    "A worker sends a few entries of its vector: the largest, random ones, or those above a threshold. The claims "
    "bound the loss and the number of bits.",
    synopsis=Synopsis(
        found=(
            "Top-K contracts by k/n on one worker and on all workers’ vectors together; the average of per-worker "
            "Top-K does not contract towards the average at all."
        ),
        promise="Sending the k most important of n entries loses at most 1 - k/n of the squared norm.",
        holds=(
            "It holds for Top-K and Rand-K on one vector (`sparsifiers.topk.contraction`, "
            "`sparsifiers.randk.contraction`), for Top-K on all workers’ vectors together "
            "(`sparsifiers.topk.local_contraction`), and for an average with a shared support "
            "(`sparsifiers.randk.global_contraction_shared`)."
        ),
        fails=(
            "The factor fails for the average of per-worker Top-K (`sparsifiers.topk.global_contraction`), of Rand-K "
            "with independent supports (`sparsifiers.randk.global_contraction`), and for floor(mu n) entries "
            "(`sparsifiers.topk.floor_k`). A hard threshold has no contraction factor "
            "(`sparsifiers.hardthreshold.contraction`)."
        ),
        tight="Vectors with entries of equal magnitude attain the factors.",
        lesson=(
            "A factor for one worker implies nothing about the average: two workers that disagree lose everything "
            "(`sparsifiers.topk.two_workers`)."
        ),
    ),
)
