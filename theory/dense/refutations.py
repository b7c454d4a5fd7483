"""Where refuted claims about dense collectives are computed: the models of their smallest counterexamples."""

from typing import Any

import sympy as sp

from commbounds.theory.functions import nearest_float
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n

_m, _r = sp.symbols("m r", integer=True, nonnegative=True)
_LARGE = 2**_m
_IN_RANGE = {"sums_in_range": "m is small."}


def _add(*terms: Any) -> Any:
    """The sum of two float64, or of more, one after another."""
    total, *others = terms
    for term in others:
        total = nearest_float(total + term, 53)
    return total


def _out_of_order(name: str, words: str, x: tuple[Any, ...], added: Any) -> Refutation:
    in_rank_order = _add(*x)
    return Refutation(
        claim=f"dense.{name}.rank_order",
        words=f"Ranks hold one float64 each, and {words}",
        whole={_m: 1},
        measured=sp.Piecewise((0, sp.Eq(added, in_rank_order)), (1, True)),
        x=tuple((entry,) for entry in x),
        met=_IN_RANGE,
    )


REFUTATIONS = by_claim(
    _out_of_order(
        "ring", "the sum begins at the second: 2^m - 2^m, and then 1.", (1, _LARGE, -_LARGE), _add(_LARGE, -_LARGE, 1)
    ),
    _out_of_order(
        "butterfly",
        "the sum begins at the first, continues with the last, and ends with the second.",
        (1, _LARGE, -_LARGE),
        _add(1, -_LARGE, _LARGE),
    ),
    _out_of_order(
        "recursive_doubling",
        "neighbours are added first.",
        (1, -_LARGE, _LARGE, 1),
        _add(_add(1, -_LARGE), _add(_LARGE, 1)),
    ),
    _out_of_order(
        "rabenseifner",
        "the farthest are added first.",
        (1, -_LARGE, _LARGE, 1),
        _add(_add(1, _LARGE), _add(-_LARGE, 1)),
    ),
    Refutation(
        claim="dense.recursive_doubling.words_any_ranks",
        words="r of 2^m + r ranks, 0 < r < 2^m, send n words before m exchanges, and receive n words after.",
        whole={n: 1, _m: 1, _r: 1},
        measured=n * (_m + 2),
        values={P: 2**_m + _r, n: n},
        positive={"r < 2^m": 2**_m - _r},
    ),
    Refutation(
        claim="dense.ring.words_any_ranks",
        words="In each of 2 (P - 1) steps some rank sends the largest of the blocks, of ceil(n/P) words.",
        whole={P: 1, n: 1},
        measured=2 * (P - 1) * sp.ceiling(n / P),
        values={P: P, n: n},
    ),
    Refutation(
        claim="dense.rabenseifner.words_any_ranks",
        words="Two ranks exchange halves, and then sums of halves: the larger one has ceil(n/2) words.",
        whole={n: 1},
        measured=2 * sp.ceiling(n / 2),
        values={P: 2, n: n},
    ),
    Refutation(
        claim="dense.allgather.bruck_words_any_blocks",
        words="Two ranks exchange their blocks, the larger of which has ceil(n/2) words.",
        whole={n: 1},
        measured=sp.ceiling(n / 2),
        values={P: 2, n: n},
        met={"by_bruck": "Bruck's algorithm is run."},
    ),
    Refutation(
        claim="dense.allreduce.every_rank",
        words="Recursive doubling among three ranks: the second folds its vector into the first's, and gets the sum.",
        whole={n: 1},
        measured=n,
        values={P: 3, n: n},
    ),
)
