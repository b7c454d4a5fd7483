"""Precision and the order of sums: what is claimed, and how far a correct all-reduce may be off."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "precision",
    "Precision and the order of sums: how far a correct all-reduce may be off",
    "All-reduces that add in one number format and send in another, from float64 down to eight bits. The number of "
    "roundings on a term's way is read off the schedules; bounds that hold surely, bounds that hold probably, and "
    "worst cases computed exactly. Literature is recalled; what is relied on is proved or enumerated here.",
    synopsis=Synopsis(
        found=(
            "How far a correct all-reduce may be off, in two formats and by six schedules, derived from the "
            "roundings on a term’s way; with worst cases that attain it."
        ),
        promise="A tolerance for tests of all-reduces that is neither guessed nor tuned.",
        holds=(
            "P - 1 roundings in any order (`precision.any.sure`), ceil(log2 P) in a balanced tree "
            "(`precision.tree.sure`), one where sums stay in the accumulator (`precision.once.sure`); same bits "
            "on all ranks if sums are taken as they are sent (`precision.bits.agreement`)."
        ),
        fails=(
            "The sharp worst case beyond its number of ranks (`precision.running.sharp_beyond`, "
            "`precision.tree.sharp_beyond`); fusing buffers in a ring changes bits (`precision.fused.ring`); an "
            "all-to-all’s error does grow with the ranks (`precision.growth.all_to_all`)."
        ),
        tight=(
            "Worst cases in eight bits were computed over all inputs (`precision.worst.running`, "
            "`precision.worst.tree`)."
        ),
        lesson=(
            "Add in a wider format at the owner and the error does not grow with the ranks "
            "(`precision.growth.wide_owner`). `commbounds tolerance` prints the numbers."
        ),
        picture="precision.growth",
    ),
)
