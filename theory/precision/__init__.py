"""Precision and the order of sums: what is claimed, and how far a correct all-reduce may be off."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "precision",
    "Precision and the order of sums: the largest error of a correct all-reduce",
    "All-reduces that add in one number format and send in another, from float64 down to eight bits. Schedules give "
    "the number of roundings of a term; the column has sure bounds, probabilistic bounds, and exact worst cases. "
    "Literature is recalled; all facts used are proved or enumerated here.",
    synopsis=Synopsis(
        found=(
            "The largest error of a correct all-reduce is derived from the roundings of a term, for two formats and "
            "six schedules, with worst cases that attain it."
        ),
        promise="A tolerance for tests of all-reduces that is neither guessed nor tuned.",
        holds=(
            "There are P - 1 roundings in any order (`precision.any.sure`), ceil(log2 P) in a balanced tree "
            "(`precision.tree.sure`), and one if sums stay in the accumulator (`precision.once.sure`). All ranks have "
            "the same bits if they keep sums as sent (`precision.bits.agreement`)."
        ),
        fails=(
            "The sharp worst case fails beyond its number of ranks (`precision.running.sharp_beyond`, "
            "`precision.tree.sharp_beyond`); fusing buffers in a ring changes bits (`precision.fused.ring`); an "
            "all-to-all’s error does grow with the ranks (`precision.growth.all_to_all`)."
        ),
        tight=(
            "Worst cases in eight bits were computed over all inputs (`precision.worst.running`, "
            "`precision.worst.tree`)."
        ),
        lesson=(
            "If owners add in a wider format, the error does not grow with the ranks (`precision.growth.wide_owner`). "
            "`commbounds tolerance` prints the numbers."
        ),
        picture="precision.growth",
    ),
)
