"""Sketches as compressors of gradients: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sketched",
    "Sketches: gradients hashed into small tables",
    "A count sketch is linear: the ranks’ tables are summed, at the cost of the table’s words, and large entries are "
    "estimated from the sum. The authors’ code was read, and of the papers only the abstracts.",
    synopsis=Synopsis(
        found=(
            "Error feedback that subtracts what was sent multiplies the counter of h recovered entries by 1 - h: with "
            "three it doubles. The authors’ code found that subtracting diverges, and sets cells to zero."
        ),
        promise="One all-reduce of a small table, for any number of ranks and entries, gives the largest entries.",
        holds=(
            "The words (`sketched.words.one_round`), the law of a single row (`sketched.row.unbiased`, "
            "`sketched.row.variance`), and the median’s tail are exact (`sketched.median.tail`)."
        ),
        fails=(
            "With four-wise independent signs the median can be biased (`sketched.median.fourwise`). Zeroed cells lose "
            "entries (`sketched.fetchsgd.zeroing`). Recovered entries are not a contraction "
            "(`sketched.recovery.contraction`)."
        ),
        tight="With one counter k recovered entries can cost k + 1 times the norm (`sketched.recovery.one_cell`).",
        lesson="Request the exact entries in a second round: then the error is at most the norm.",
        picture="sketched.rows",
        practice=True,
    ),
)
