"""What a peer does when groups are drawn at random: all draw them alike, and it averages with its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.moshpit.group_average_on_rank import group_average
from commbounds.collectives.moshpit.random_groups import drawn_groups, regrouped
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator

__all__ = ["averaged_in_rounds", "random_groups", "regrouping"]

Array = NDArray[Any]
Labels = NDArray[np.int64]


def averaged_in_rounds(
    comm: Communicator, vector: ArrayLike, groups: Sequence[Labels], gets: Sequence[NDArray[np.bool_]] | None = None
) -> Array:
    """The vector of this rank after a round in each of `groups`; each is a phase of its own.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    groups : sequence of (P,) integers
        The same on all ranks.
    gets : sequence of (P,) bool, one a round, or None
        Who gets the averages; the same on all ranks.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, on all ranks.
    """
    settings = {"rounds": len(groups), "the checksum of who meets whom": crc32(b"".join(g.tobytes() for g in groups))}
    own: Array = agreed_row(comm, vector, lambda _: settings)[0].copy()
    for t, labels in enumerate(groups):
        comm.phase(f"round {t + 1}")
        own = group_average(comm, own, labels, receives=None if gets is None else gets[t])
    return own


def random_groups(
    comm: Communicator,
    vector: ArrayLike,
    r: int,
    rounds: int = 1,
    rng: np.random.Generator | None = None,
    *,
    reading: str = "cut",
    sizes: Sequence[int] | None = None,
    choices: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
    rule: str = "skip",
    receives: ArrayLike | None = None,
) -> Array:
    """The vector of this rank after some rounds; the twin of `commbounds.collectives.moshpit.random_groups`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets a phase for every round.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    reading : str
        As for the twin, but not "slots": it takes what the twin does not count to fill the slots.
    r, rounds, rng, sizes, choices, alive, rule, receives
        As for the twin; the same on all ranks, generators of their own in the same state.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin; the reading is "slots". On all ranks.
    """

    def drawn() -> list[tuple[Labels, NDArray[np.bool_], Sequence[int]]]:
        if reading == "slots":
            raise ValueError("reading must not be 'slots' where ranks are apart: what fills the slots is not counted")
        return list(
            drawn_groups(
                comm.size,
                r,
                rounds,
                rng,
                reading=reading,
                sizes=sizes,
                choices=choices,
                alive=alive,
                rule=rule,
                receives=receives,
            )
        )

    made = comm.agreed(drawn)
    return averaged_in_rounds(comm, vector, [groups for groups, _, _ in made], [gets for _, gets, _ in made])


def regrouping(
    comm: Communicator,
    vector: ArrayLike,
    M: int,
    rounds: int = 1,
    rng: np.random.Generator | None = None,
    *,
    orders: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
) -> Array:
    """The vector of this rank after some rounds; the twin of `commbounds.collectives.regrouping`.

    Parameters
    ----------
    comm, vector
        As for `random_groups`.
    M, rounds, rng, orders, alive
        As for the twin; the same on all ranks, generators of their own in the same state.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    P = comm.size
    groups = comm.agreed(lambda: list(regrouped(P, M, rounds, rng, orders=orders, alive=alive)))
    return averaged_in_rounds(comm, vector, groups)
