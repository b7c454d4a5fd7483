"""What share of a printed rate the worst function and compressor come to in few steps: the settings, and the shares.

A semidefinite programme (performance estimation) gave the shares, and they were rounded up. Certificates prove that
none is exceeded; runs on quadratics and on Huber's functions show how near one comes.
"""

from dataclasses import dataclass, replace
from fractions import Fraction


@dataclass(frozen=True)
class LargestShare:
    """One setting, with the largest share of the printed rate that its workers can come to.

    Parameters
    ----------
    q : Fraction
        In (0, 1): what compression may leave out, ||C(x) - x|| <= q ||x||.
    weight : Fraction
        In (0, 1]: the step size as a part of the largest that the rate admits; for EF21M eta, the weight of a new
        gradient, at the largest step size.
    horizon : int
        Steps, at least two.
    share : Fraction
        Of the printed rate; in (0, 1].
    workers : int
        How many there are.
    """

    q: Fraction
    weight: Fraction
    horizon: int
    share: Fraction
    workers: int = 1


def _table(*rows: tuple[str, ...]) -> tuple[LargestShare, ...]:
    """Of q, the weight, and the shares of two, three and four steps."""
    return tuple(
        LargestShare(Fraction(q), Fraction(weight), steps, Fraction(share))
        for q, weight, *shares in rows
        for steps, share in enumerate(shares, 2)
    )


def _of_workers(*rows: LargestShare) -> tuple[LargestShare, ...]:
    """The same for two and for three workers."""
    return tuple(replace(row, workers=workers) for workers in (2, 3) for row in rows)


WORST_EF14: tuple[LargestShare, ...] = _table(
    ("1/4", "1/2", "0.2069", "0.2533", "0.2778"),
    ("1/4", "1", "0.3383", "0.355", "0.3529"),
    ("1/2", "1/2", "0.2141", "0.2699", "0.2989"),
    ("1/2", "1", "0.3126", "0.3246", "0.3279"),
    ("3/4", "1/2", "0.1834", "0.2262", "0.2493"),
    ("3/4", "1", "0.1433", "0.1525", "0.1652"),
    ("9/10", "1/2", "0.0699", "0.076", "0.0791"),
    ("9/10", "1", "0.0235", "0.0239", "0.0241"),
)
"""Of `feedback.ef14.rate`."""

WORST_EF21: tuple[LargestShare, ...] = _table(
    ("1/4", "1/2", "0.557", "0.653", "0.698"),
    ("1/4", "1", "0.845", "0.862", "0.867"),
    ("1/2", "1/2", "0.403", "0.504", "0.567"),
    ("1/2", "1", "0.655", "0.714", "0.736"),
    ("3/4", "1/2", "0.223", "0.301", "0.363"),
    ("3/4", "1", "0.397", "0.488", "0.542"),
    ("9/10", "1/2", "0.096", "0.137", "0.174"),
    ("9/10", "1", "0.182", "0.249", "0.304"),
)
"""Of `feedback.ef21.rate`."""

WORST_EF21M: tuple[LargestShare, ...] = _table(
    ("1/2", "1/4", "0.0692", "0.1005", "0.1299"),
    ("1/2", "1", "0.0725", "0.1051", "0.1354"),
    ("9/10", "1/4", "0.0189", "0.0281", "0.037"),
    ("9/10", "1", "0.0189", "0.0281", "0.037"),
)
"""Of `feedback.ef21m.bound`, without noise."""

WORST_EF14_WORKERS: tuple[LargestShare, ...] = _of_workers(
    *_table(("1/4", "1/2", "0.2709", "0.3348"), ("1/4", "1", "0.3541", "0.3694"), ("1/2", "1/2", "0.2229", "0.2859")),
    *(row for row in WORST_EF14 if row.horizon < 4 and row.q + row.weight / 2 >= 1),
)
"""The same for two and three workers: more than for one where q and the step size are small, the same where not."""

WORST_EF21_WORKERS: tuple[LargestShare, ...] = _of_workers(*(row for row in WORST_EF21 if row.horizon < 4))
"""The same for two and three workers: what it is for one."""
