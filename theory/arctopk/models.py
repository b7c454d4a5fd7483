"""What certificates about ARC-Top-K prove."""

from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import ceil_log2
from commbounds.theory.finite_laws import chebyshev, proved_by
from commbounds.theory.model import Goal, Model, Step, by_claim, extents, recurrence, untied
from commbounds.theory.quantities import P, k, m, mu, n, r

_chances, _squares, _kept = sp.symbols("chances squares kept", nonnegative=True)
_sketch_block, _row_block, _d = sp.symbols("sketch_block row_block d", nonnegative=True)
_average_score = sp.Symbol("average_score", real=True)
_A = "arctopk.allreduce."


def _commutes(bound: Any) -> tuple[Goal, ...]:
    g, v, gs, scores, selected, kept = sp.symbols("g v gs scores selected kept", real=True)
    entries, ranks = {"entries before": scores - P * _average_score}, {"ranks before": kept - selected * gs}
    return (
        Goal(
            "scores, one more entry",
            (scores + gs * v) - P * (_average_score + gs / P * v) - bound,
            equal=True,
            positive={"P": P},
            zero=entries,
        ),
        Goal("scores, one more rank", (gs * v + g * v) - (gs + g) * v - bound, equal=True),
        Goal(
            "entries kept, one more rank", (kept + selected * g) - selected * (gs + g) - bound, equal=True, zero=ranks
        ),
        Goal("average kept", kept / P - selected * (gs / P) - bound, equal=True, positive={"P": P}, zero=ranks),
    )


def _exchanged() -> tuple[Goal, ...]:
    """That of two rows the larger is selected no less often, over two outcomes that are exchanged, and so in the mean.

    Scores are w q, of squared norm w and a draw q; exchanged, the draws of the two rows change places. Selected is
    what fewer than k rows are above: ``above`` of them are above a score, ``above_exchanged`` above the other row's
    in the exchanged outcome, counted row by row.
    """
    larger, smaller, draw, other_draw = sp.symbols("larger smaller draw other_draw", nonnegative=True)
    other, more, less, rival, rival_exchanged = sp.symbols("other more less rival rival_exchanged", real=True)
    above, above_exchanged, counts = sp.symbols("above above_exchanged counts", nonnegative=True)
    first, second, first_exchanged, second_exchanged = sp.symbols("first second first_exchanged second_exchanged")
    difference, chance = sp.symbols("difference chance", real=True)
    rises = {"no less exchanged": more - less}
    order = {"larger": larger - smaller, "draw": draw, "other draw": other_draw}
    before = {"rows before": above - above_exchanged}
    return (
        Goal("the larger row with the other's draw", larger * other_draw - smaller * other_draw, given=order),
        Goal("the smaller row with the other's draw", larger * draw - smaller * draw, given=order),
        Goal("a row above the larger was above", other - less, given={"above it": other - more, **rises}),
        Goal(
            "the rival above the larger was above",
            rival - less,
            given={
                "above it": rival_exchanged - more,
                "the rival is no more exchanged": rival - rival_exchanged,
                **rises,
            },
        ),
        Goal("one more row above both", (above + 1) - (above_exchanged + 1), given=before),
        Goal("one more row above one, or none", above + counts - above_exchanged, given={**before, "counts": counts}),
        Goal("selected, then selected exchanged", k - 1 - above_exchanged, given={**before, "selected": k - 1 - above}),
        Goal(
            "both outcomes",
            first + first_exchanged - second - second_exchanged,
            given={
                "selected with the other's draw, as the other was": first_exchanged - second,
                "selected, as the other with its draw": first - second_exchanged,
            },
        ),
        Goal(
            "two more outcomes, equally likely",
            difference + chance * (first + first_exchanged - second - second_exchanged),
            given={
                "outcomes before": difference,
                "both outcomes": first + first_exchanged - second - second_exchanged,
                "chance": chance,
            },
        ),
        Goal(
            "chances and squares",
            difference * (larger - smaller),
            given={"difference of the chances": difference, "larger": larger - smaller},
        ),
    )


def _orthogonal(bound: Any) -> tuple[Goal, ...]:
    return (
        *_exchanged(),
        *chebyshev(),
        Goal(
            "error",
            bound - (1 - _kept / _squares),
            given={"Chebyshev's inequality": m * _kept - _chances * _squares},
            positive={"squares": _squares, "m": m},
            zero={"k rows are selected": _chances - k},
        ),
    )


def _two_rows(bound: Any) -> tuple[Goal, ...]:
    first, second, chance = sp.symbols("first second chance", nonnegative=True)
    plus, minus, draw, other_draw, product = sp.symbols("plus minus draw other_draw product", nonnegative=True)
    selected, exchanged, likely, selections, all_outcomes = sp.symbols(
        "selected exchanged likely selections all_outcomes", nonnegative=True
    )
    kept = chance * first + (1 - chance) * second
    spectrum = {"trace": plus - minus - (first - second)}
    signs = {"first is larger": first - second, "minus": minus, "draw": draw, "other draw": other_draw}
    return (
        Goal(
            "one eigenvalue of each sign",
            plus * minus,
            given={"Cauchy-Schwarz": first * second - product**2},
            zero={"determinant": plus * minus - (first * second - product**2)},
        ),
        Goal(
            "the first scores more where its draw is no less",
            plus * draw - minus * other_draw,
            given={**signs, "its draw is no less": draw - other_draw},
            zero=spectrum,
        ),
        Goal(
            "two more outcomes, equally likely",
            2 * (selections + likely * (selected + exchanged)) - (all_outcomes + 2 * likely),
            given={
                "outcomes before": 2 * selections - all_outcomes,
                "in one of the two its draw is no less": selected + exchanged - 1,
                "likely": likely,
            },
        ),
        Goal(
            "error",
            bound - (1 - kept / (first + second)),
            given={"the larger row's chance": chance - sp.Rational(1, 2), "first is larger": first - second},
            positive={"m": m, "not both zero": first + second},
            zero={"two rows": m - 2, "one is kept": k - 1},
        ),
    )


def _ceiling(bound: Any) -> tuple[Goal, ...]:
    lost = sp.Symbol("lost", nonnegative=True)
    given = {"K >= mu m": k - mu * m, "contraction, times m": m - k - lost}
    return (
        *proved_by("contraction", _orthogonal(1 - k / m)),
        Goal("error", bound - lost / m, given=given, positive={"m": m}),
    )


_BLOCKS = {"P blocks of a sketch": P * _sketch_block - m * r, "P blocks of the rows": P * _row_block - k * n}
_RING = 2 * (P - 1) * (_sketch_block + _row_block)


def _ring_words(bound: Any) -> tuple[Goal, ...]:
    return (Goal("path", bound - _RING, equal=True, positive={"P": P}, zero=_BLOCKS),)


def _doubled_words(bound: Any) -> tuple[Goal, ...]:
    return recurrence(bound.xreplace({ceil_log2: _d}), _d, 0, lambda words, rounds: words + (m * r + k * n))


def _against_gather(bound: Any) -> tuple[Goal, ...]:
    gathered = 2 * (P - 1) * k * n
    positive = {"P": P, "P - 1": P - 1, "k": k, "n": n, "m r + k n": m * r + k * n}
    ring = _RING.subs({_sketch_block: m * r / P, _row_block: k * n / P})
    return (Goal("ratio", bound - gathered / ring, equal=True, positive=positive),)


_ALIKE = (
    "Row j has squared norm w_j and is selected with chance c_j; scores are w_j q_j. The sketches of orthogonal rows "
    "are independent Gaussians, so that outcomes with two q's exchanged are equally likely. In two such outcomes the "
    "larger row is selected at least as often: with the other's draw it scores no less, and the other with its draw no "
    "more. So (c_i - c_j)(w_i - w_j) >= 0, outcome by outcome. "
)

MODELS = by_claim(
    Model(
        claim=_A + "commutes",
        words="A row's sketch is the sum over its entries of entry times `v`, the sketch's: `scores` is the sum over "
        "the ranks, `average_score` the score of the average, `gs` the sum over the ranks of an entry; inductions on "
        "the entries and on the ranks. So the average has the same sketches, and the same rows are selected of it: an "
        "entry `g` is kept, `selected` = 1, or not, 0, on all ranks, and `kept` is the sum of what is.",
        scope="all gradients and sketches, every size of the matrix, every P; exact arithmetic",
        goals=_commutes,
    ),
    untied(
        claim=_A + "contraction_orthogonal",
        words=_ALIKE + "`chances`, "
        "`squares` and `kept` are the sums of c, of w and of c w over the m rows: Chebyshev's sum inequality, by "
        "induction on the rows.",
        scope="all orthogonal rows, not all zero, every m >= k >= 1 and every rank of the sketch; exact arithmetic",
        goals=_orthogonal,
    ),
    untied(
        claim=_A + "contraction_two_rows",
        words="Squares `first` >= `second` of the two rows. The difference of the scores is a quadratic form of "
        "Gaussians: its trace is first - second >= 0, its determinant -(first second - product^2) <= 0, so that it is "
        "plus q - minus q' in its eigenvectors, with q and q' independent and alike. Outcomes with q and q' exchanged "
        "are equally likely, and in one of the two q >= q', where the first row scores more: `chance` >= 1/2.",
        scope="every two rows, not both zero, every rank of the sketch; exact arithmetic",
        goals=_two_rows,
    ),
    Model(
        claim="arctopk.rows.ceiling",
        words="K is the least integer that is at least mu m; `lost` is m times the error, which "
        "the goals about the contraction bound. " + _ALIKE,
        scope="all orthogonal rows, not all zero, every m >= 1, 0 < mu <= 1; exact arithmetic",
        goals=_ceiling,
        checked_by=("arctopk.rows.ceiling", _A + "contraction_orthogonal"),
    ),
    untied(
        claim=_A + "words",
        words="A ring all-reduce takes 2 (P - 1) steps of a block each: one of sketches, one of rows.",
        scope="every P, m, n, k and r such that P divides m r and k n",
        goals=_ring_words,
    ),
    untied(
        claim=_A + "words_doubling",
        words="P = 2^d ranks. A round more, for twice as many ranks, moves both vectors once more. Induction on d.",
        scope="every power of two P, every m, n, k and r",
        goals=_doubled_words,
    ),
    Model(
        claim=_A + "words_against_gather",
        words="Gathering brings a rank k n pairs of every other rank. Ring all-reduces bring what they send, "
        "2 (P - 1) blocks of m r/P words and of k n/P.",
        scope="every P >= 2, m, n, k and r such that P divides m r and k n",
        goals=_against_gather,
    ),
)

EXTENTS = extents(
    "arctopk",
    {
        (): "allreduce.commutes",
        (Step.INDEPENDENCE, Step.LIMIT): "allreduce.contraction_orthogonal rows.ceiling",
        (Step.SPECTRUM, Step.LIMIT): "allreduce.contraction_two_rows",
    },
    by_definition="allreduce.words allreduce.words_doubling allreduce.words_against_gather",
)
