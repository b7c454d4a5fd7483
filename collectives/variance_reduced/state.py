"""What one step is given of earlier ones, what it returns, and which entries a rank sends."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives._peers import checked_count, checked_rng
from commbounds.collectives.ranks._agreement import agreed_alike, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors.base import as_numbers, checked_choice, checked_real, shown

Indices = Integers

KEEP = ("random", "largest")
"""Which entries of a vector are sent: k random ones times n/k (Rand-K, unbiased), or the k largest (Top-K)."""


class Shifted(NamedTuple):
    """After a step of `diana_step`.

    Parameters
    ----------
    estimate : (P, n)
        Of the average gradient; the same on every rank.
    shifts : (P, n)
        In row p that of rank p.
    mean : (n,)
        The average shift, which every rank knows.
    """

    estimate: Array
    shifts: Array
    mean: Array


class Tracked(NamedTuple):
    """After a step of `dasha_step`.

    Parameters
    ----------
    estimate : (P, n)
        Of the average gradient; the same on every rank.
    own : (P, n)
        In row p what all would have as rank p's part of it.
    """

    estimate: Array
    own: Array


class Lagged(NamedTuple):
    """After a step of `lazy_step`.

    Parameters
    ----------
    estimate, own : (P, n)
        As in `Tracked`.
    sent : (P,) bool
        Who sent anything.
    """

    estimate: Array
    own: Array
    sent: Mask


class Primal(NamedTuple):
    """After a step of `primal_step`.

    Parameters
    ----------
    weights : (n,)
        What the server has.
    model : (P, n)
        What the ranks have; the same on every rank.
    """

    weights: Array
    model: Array


class OneBitMomentum(NamedTuple):
    """After a step of `onebit_momentum`.

    Parameters
    ----------
    momentum : (P, n)
        The same on every rank.
    worker_errors : (P, n)
        In row p what rank p left out.
    server_errors : (n,)
        What the owner of every block left out of it.
    """

    momentum: Array
    worker_errors: Array
    server_errors: Array


def agreed_states(comm: Communicator, **arrays: ArrayLike | None) -> None:
    """That what every rank was given of earlier steps, or drew, is the same on all."""
    if not comm.one_caller:
        agreed_alike(comm, {f"the checksum of {name}": checksum(array) for name, array in arrays.items()})


def checked_weight(value: Any, name: str) -> float:
    """`value` as a float in [0, 1]."""
    weight = checked_real(name, value)
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {shown(value)}")
    return weight


def checked_factor(value: Any, name: str) -> float:
    """`value` as a finite float, not negative."""
    factor = checked_real(name, value)
    if not 0.0 <= factor < float("inf"):
        raise ValueError(f"{name} must be finite and not negative, got {shown(value)}")
    return factor


def chosen_entries(
    P: int, n: int, k: Any, keep: str, rng: np.random.Generator | None, kept: ArrayLike | None
) -> Indices | None:
    """For every rank the entries that it sends, ascending, (P, k); None where they depend on the data.

    Raises
    ------
    TypeError, ValueError
        k is no integer in [1, n]; an unknown rule; no generator where one is needed; `kept` of another shape, out of
        range, or not ascending.
    """
    k = checked_count(k, "k", 1, n)
    checked_choice("keep", keep, KEEP)
    if keep == "largest":
        if kept is not None:
            raise ValueError("kept must be None where the largest entries are sent, got an array")
        return None
    if kept is None:
        drawn = checked_rng(rng, "choosing entries")
        return np.stack([np.sort(drawn.choice(n, k, replace=False)) for _ in range(P)]).astype(np.int64)
    given = as_numbers(kept, "kept", kinds="iu")
    if given.shape != (P, k):
        raise ValueError(f"kept must have shape ({P}, {k}), got {given.shape}")
    if (given < 0).any() or (given >= n).any() or (np.diff(given.astype(np.int64), axis=1) <= 0).any():
        raise ValueError(f"kept must hold ascending indices in [0, {n - 1}] in every row, got {shown(given.tolist())}")
    return given.astype(np.int64)


def stacked(kind: Any, results: Sequence[Any], shared: Sequence[str] = ()) -> Any:
    """What all ranks end with, of what each does: fields named in `shared` are the same on all."""
    columns = zip(*results, strict=True)
    named = zip(kind._fields, columns, strict=True)
    return kind(*(rows[0] if name in shared else np.stack(rows) for name, rows in named))
