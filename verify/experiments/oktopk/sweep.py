"""Words of Ok-Topk over the number of ranks, family by family, relative to the published bound."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds.collectives import Traffic, oktopk_allreduce
from commbounds.collectives.oktopk.state import OkTopkState
from commbounds.theory import claims
from commbounds.verify.experiments.oktopk.runs import DATA, even_cuts
from commbounds.verify.stack_families import FAMILIES, SWEPT, stack

RANKS = (4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Swept:
    """One iteration with fresh thresholds.

    Parameters
    ----------
    family : str
        One of the families.
    P, n, k : int
        Sizes.
    sent, received, path : float
        Words of the rank that sends most, of the one that receives most, and on the critical path, each over
        6k(P - 1)/P; sizes, re-evaluation and repartition left out.
    selected, winners : int
        Entries that the rank with most of them selected, and entries of the result.
    """

    family: str
    P: int
    n: int
    k: int
    sent: float
    received: float
    path: float
    selected: int
    winners: int


def published(P: int, k: int) -> float:
    """The published bound, 6k(P - 1)/P, from the book."""
    return float(claims()["oktopk.path.even_split"].bound(P=P, k=k))


def one_iteration(family: str, x: Any, k: int, **options: Any) -> tuple[Any, Traffic]:
    """Result and traffic of an iteration that finds its thresholds, and its boundaries unless the family has its own.

    Parameters
    ----------
    family : str
        Decides whether boundaries are found or given as regions of even length, stale.
    x : (P, n) float
        A stack of the family.
    k : int
        Entries aimed at.
    **options
        Of `oktopk_allreduce`.
    """
    P, n = x.shape
    state = None
    if FAMILIES[family].even:
        state = OkTopkState(32, k, np.zeros(P), 0.0, np.array(even_cuts(P, n), dtype=np.int64))
    result, _, traffic = oktopk_allreduce(x, k, state, **options)
    return result, traffic


def swept(
    n: int, k: int, ranks: Sequence[int] = RANKS, families: Sequence[str] = SWEPT, seed: int = 0, **options: Any
) -> Iterator[Swept]:
    """The iterations, family by family; sizes at which a family does not exist are left out.

    Examples
    --------
    >>> [(s.P, s.sent, round(s.received, 3)) for s in swept(256, 16, (2, 4), ("tight6k",))]
    [(2, 1.0, 1.0), (4, 1.0, 0.778)]
    """
    for family in families:
        for P in ranks:
            if not FAMILIES[family].fits(P, n, k):
                continue
            result, traffic = one_iteration(family, stack(family, P, n, k, seed), k, **options)
            words, unit = traffic.only(*DATA), published(P, k)
            yield Swept(
                family,
                P,
                n,
                k,
                int(words.sent.max()) / unit,
                int(words.received.max()) / unit,
                words.critical_path / unit,
                int(np.max(result.local_counts)),
                int(np.count_nonzero(result.update)),
            )
