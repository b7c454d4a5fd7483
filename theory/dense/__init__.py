"""Dense all-reduce: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "dense",
    "Dense all-reduce: what every word costs",
    "All-reduce, reduce-scatter and all-gather as they are found in every library, with every word, message and "
    "step counted, and what no algorithm can avoid.",
    synopsis=Synopsis(
        found=(
            "The textbook word counts hold at powers of two that divide the vector; for every P and n the exact "
            "ones are here. On average the ring, Rabenseifner’s and the direct all-reduce meet the lower bound."
        ),
        promise="2n(P - 1)/P words, and logarithmically many steps or linearly many, as every textbook says.",
        holds=(
            "Exact words, messages and steps of ring, recursive doubling, Rabenseifner’s and the direct "
            "all-reduce, for every P and n (`dense.ring.critical_path`, `dense.rabenseifner.critical_path`); "
            "rounding errors as printed (`dense.ring.rounding`, `dense.recursive_doubling.rounding`); all ranks "
            "end with the same bits (`dense.ring.agreement`)."
        ),
        fails=(
            "The printed formulas for any P and n (`dense.ring.words_any_ranks`, "
            "`dense.recursive_doubling.words_any_ranks`, `dense.rabenseifner.words_any_ranks`), and that every rank "
            "must receive 2n(P - 1)/P words (`dense.allreduce.every_rank`)."
        ),
        tight="Counts are equalities; the bounds on rounding are attained.",
        lesson=(
            "Beyond powers of two recursive doubling and Rabenseifner pay up to two vectors more; bits depend on "
            "the algorithm (`dense.ring.rank_order`)."
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
