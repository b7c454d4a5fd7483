"""What certificates about ARC-Top-K prove."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory.dense.terms import ceil_log2
from commbounds.theory.model import Goal, Model, Step, by_claim, extents, recurrence
from commbounds.theory.quantities import P, k, m, mu, n, r

_chances, _squares, _kept = sp.symbols("chances squares kept", nonnegative=True)
_chance, _square = sp.symbols("chance square", nonnegative=True)
_rows = sp.Symbol("rows", nonnegative=True)
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
        Goal(
            "scores, one more rank",
            (gs * v + g * v) - (gs + g) * v - bound,
            equal=True,
        ),
        Goal(
            "entries kept, one more rank",
            (kept + selected * g) - selected * (gs + g) - bound,
            equal=True,
            zero=ranks,
        ),
        Goal("average kept", kept / P - selected * (gs / P) - bound, equal=True, positive={"P": P}, zero=ranks),
    )


def _more(kept: Any, chances: Any, squares: Any, rows: Any) -> Any:
    """What Chebyshev's sum inequality says is not negative."""
    return rows * kept - chances * squares


def _orthogonal(bound: Any) -> tuple[Goal, ...]:
    alike = _kept - _chance * _squares - _square * _chances + _rows * _chance * _square
    return (
        Goal("Chebyshev's inequality, one row", _more(_chance * _square, _chance, _square, 1), equal=True),
        Goal(
            "Chebyshev's inequality, another row",
            _more(_kept + _chance * _square, _chances + _chance, _squares + _square, _rows + 1),
            given={
                "for the rows before": _more(_kept, _chances, _squares, _rows),
                "chances rise with squares: sum over rows of products of differences": alike,
            },
        ),
        Goal(
            "error",
            bound - (1 - _kept / _squares),
            given={"Chebyshev's inequality": _more(_kept, _chances, _squares, m)},
            positive={"squares": _squares, "m": m},
            zero={"k rows are selected": _chances - k},
        ),
    )


def _two_rows(bound: Any) -> tuple[Goal, ...]:
    first, second, chance = sp.symbols("first second chance", nonnegative=True)
    kept = chance * first + (1 - chance) * second
    return (
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
    given = {"K >= mu m": k - mu * m, "arctopk.allreduce.contraction_orthogonal, times m": m - k - lost}
    return (Goal("error", bound - lost / m, given=given, positive={"m": m}),)


_BLOCKS = {
    "P blocks of a sketch": P * _sketch_block - m * r,
    "P blocks of the rows": P * _row_block - k * n,
}
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


MODELS = by_claim(
    Model(
        claim=_A + "commutes",
        words="A row's sketch is the sum over its entries of entry times `v`, the sketch's: `scores` is the sum over "
        "the ranks, `average_score` that of the average, `gs` the sum over the ranks of an entry; inductions on the "
        "entries and on the ranks. So the average has the same sketches, and the same rows are selected of it: an "
        "entry `g` is kept, `selected` = 1, or not, 0, on all ranks, and `kept` is the sum of what is.",
        scope="all gradients and sketches, every size of the matrix, every P; exact arithmetic",
        goals=_commutes,
        checked_by=(_A + "commutes",),
    ),
    Model(
        claim=_A + "contraction_orthogonal",
        words="Row j has squared norm w_j and is selected with chance c_j; scores are w_j q_j, with q_j independent "
        "and alike, so exchanging two q's shows that chances rise with squares: (c_i - c_j)(w_i - w_j) >= 0. "
        "`chances`, "
        "`squares` and `kept` are the sums of c, of w and of c w over the `rows` before, `chance` and `square` those "
        "of one more row: Chebyshev's sum inequality by induction on the rows; then over all m.",
        scope="all orthogonal rows, not all zero, every m >= k >= 1 and every rank of the sketch; exact arithmetic",
        goals=_orthogonal,
    ),
    Model(
        claim=_A + "contraction_two_rows",
        words="Squares `first` >= `second` of the two rows. The difference of the scores is a quadratic form with "
        "trace first - second >= 0 and one eigenvalue of each sign, l and -l': as l chi and l' chi' are alike but for "
        "l >= "
        "l', the larger row is selected with `chance` >= 1/2.",
        scope="every two rows, not both zero, every rank of the sketch; exact arithmetic",
        goals=_two_rows,
    ),
    Model(
        claim="arctopk.rows.ceiling",
        words="K is the least integer that is at least mu m; `lost` is m times the error, which "
        "arctopk.allreduce.contraction_orthogonal bounds.",
        scope="all orthogonal rows, not all zero, every m >= 1, 0 < mu <= 1; exact arithmetic",
        goals=_ceiling,
        checked_by=("arctopk.rows.ceiling", _A + "contraction_orthogonal"),
    ),
    Model(
        claim=_A + "words",
        words="A ring all-reduce takes 2 (P - 1) steps of a block each: one of sketches, one of rows.",
        scope="every P, m, n, k and r such that P divides m r and k n",
        goals=_ring_words,
    ),
    Model(
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
        checked_by=(_A + "words_against_gather",),
    ),
)

EXTENTS = extents(
    "arctopk",
    {
        (): "allreduce.commutes",
        (Step.SYMMETRY,): "allreduce.contraction_orthogonal",
        (Step.CLAIM,): "rows.ceiling",
        (Step.SYMMETRY, Step.SUM): "allreduce.contraction_two_rows",
    },
    by_definition="allreduce.words allreduce.words_doubling allreduce.words_against_gather",
)
