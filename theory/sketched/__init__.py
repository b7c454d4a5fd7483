"""Sketches as compressors of gradients: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sketched",
    "Sketches: tables that gradients are hashed into",
    "A count sketch is linear: the ranks’ tables add up, in as many words as the table has, and large entries are read "
    "back from it. What the authors’ code does was read, of the papers the abstracts alone.",
    synopsis=Synopsis(
        found=(
            "Error feedback that subtracts what was sent multiplies the counter of h recovered entries by 1 - h: with "
            "three it doubles. The authors’ code found that subtracting diverges, and sets cells to zero."
        ),
        promise="One all-reduce of a small table, whatever the ranks and the entries, and the largest entries from it.",
        holds=(
            "Words (`sketched.words.one_round`), a single row’s law (`sketched.row.unbiased`, "
            "`sketched.row.variance`), and the median’s tail to the last digit (`sketched.median.tail`)."
        ),
        fails=(
            "That four-wise independent signs, of any kind, make the median unbiased: it may be biased "
            "(`sketched.median.fourwise`), that zeroed cells lose nothing (`sketched.fetchsgd.zeroing`), and that the "
            "recovered entries are a contraction (`sketched.recovery.contraction`)."
        ),
        tight="With one counter k recovered entries may cost k + 1 times the norm (`sketched.recovery.one_cell`).",
        lesson="Ask for the exact entries in a second round: then the error is never above the norm.",
        picture="sketched.rows",
        practice=True,
    ),
)
