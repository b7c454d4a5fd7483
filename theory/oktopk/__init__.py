"""Ok-Topk: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "oktopk",
    "Ok-Topk: sparse all-reduce in less than 6k words",
    "Every rank owns a region of the entries; regions are chosen so that all ranks receive about the same amount. "
    "Thresholds are reused for many iterations. The paper is quoted from a summary and from the published code; the "
    "proofs are ours.",
    synopsis=Synopsis(
        found=(
            "With balancing always on, and at most k entries selected on every rank and in all, no rank sends more "
            "than 6k words, for any vectors. Equation 3, 6k(P - 1)/P, is known from a summary and holds for balanced "
            "regions; without them a rank may receive up to 2kP. Re-evaluations count separately."
        ),
        promise=(
            "A sparse all-reduce moves at most 6k(P - 1)/P words for any number of ranks: less than a dense "
            "all-reduce, and at most three times the lower bound for every algorithm (`oktopk.lower.most`)."
        ),
        holds=(
            "With balanced regions and data balancing no rank sends more than was promised (`oktopk.sent.even_split`), "
            "nor does the critical path (`oktopk.path.even_split`). For any vectors no rank sends more than 6k - 4k/P "
            "words (`oktopk.sent.any_split`)."
        ),
        fails=(
            "Without the even split the printed number does not bound what is received "
            "(`oktopk.received.unconditional`), not even on Gaussian vectors (`oktopk.received.gaussian`). Averaged "
            "quantiles do not balance the regions (`oktopk.boundaries.mean_of_quantiles`), and reused thresholds void "
            "the bound on what is sent (`oktopk.sent.reused_threshold`). The ratio that the convergence proof bounds "
            "by a constant can grow without bound (`oktopk.sgd.assumption`)."
        ),
        tight=(
            "The bounds on what is sent, and the worst case 2kP of what is received (`oktopk.received.worst`), "
            "are attained by stored inputs."
        ),
        lesson=(
            "Cut regions at equal global counts; then no rank receives more than 4k + 2P - 4 words "
            "(`oktopk.received.global_count`). Find new thresholds where vectors drift."
        ),
        picture="oktopk.families",
        system="Ok-Topk",
    ),
    renamed={
        "oktopk.both.printed": "oktopk.both.as_read",
        "oktopk.balance.quarter_printed": "oktopk.balance.quarter_as_read",
        "oktopk.lower.printed": "oktopk.lower.any_vectors",
    },
)
