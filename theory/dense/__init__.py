"""Dense all-reduce: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "dense",
    "Dense all-reduce: words, messages and steps of every algorithm",
    "The column counts every word, message and step of the all-reduce, reduce-scatter and all-gather of every library, "
    "and states the lower bounds for all algorithms.",
    synopsis=Synopsis(
        found=(
            "The textbook word counts hold if P is a power of two that divides n; the column has the exact counts for "
            "every P and n. On average the ring, Rabenseifner’s and the direct all-reduce meet the lower bound."
        ),
        promise="Every textbook states 2n(P - 1)/P words, and a logarithmic or linear number of steps.",
        holds=(
            "The exact words, messages and steps of ring, recursive doubling, Rabenseifner’s and the direct all-reduce "
            "hold for every P and n (`dense.ring.critical_path`, `dense.rabenseifner.critical_path`); rounding errors "
            "are as printed (`dense.ring.rounding`, `dense.recursive_doubling.rounding`); all ranks end with the same "
            "bits (`dense.ring.agreement`)."
        ),
        fails=(
            "The printed formulas do not hold for all P and n (`dense.ring.words_any_ranks`, "
            "`dense.recursive_doubling.words_any_ranks`, `dense.rabenseifner.words_any_ranks`), and not every rank "
            "must receive 2n(P - 1)/P words (`dense.allreduce.every_rank`)."
        ),
        tight="Counts are equalities; the bounds on rounding are attained.",
        lesson=(
            "If P is not a power of two, recursive doubling and Rabenseifner send up to two vectors more; bits depend "
            "on the algorithm (`dense.ring.rank_order`)."
        ),
        picture="dense.schedules",
    ),
    renamed={
        "dense.ring.printed_words": "dense.ring.words_any_ranks",
        "dense.recursive_doubling.printed_words": "dense.recursive_doubling.words_any_ranks",
        "dense.rabenseifner.printed_words": "dense.rabenseifner.words_any_ranks",
        "dense.allgather.printed_words": "dense.allgather.bruck_words_any_blocks",
    },
)
