"""Averaging in groups that are drawn at random, under every reading of "random groups"."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives._peers import checked_count, checked_entries, checked_mask, checked_rng
from commbounds.collectives.moshpit.group_average import _fused, averaged_at_once, averaged_in_rounds
from commbounds.collectives.moshpit.random_partitions import READINGS, checked_sizes, choices_of_round
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_numbers, checked_choice

Labels = Integers


def _random_groups(array: Array, r: int, rounds: int = 1, *rest: Any, **options: Any) -> tuple[Array, Traffic]:
    phases = {}
    result = array.copy()
    for t, (groups, gets, made) in enumerate(drawn_groups(len(array), r, rounds, *rest, **options)):
        if options.get("reading") == "slots":
            result = result[np.asarray(made)]
        result, phases[f"round {t + 1}"] = _fused(result, groups, gets)
    return result, Traffic.of_phases(phases) if phases else Traffic.none(len(array))


@fused_program(_random_groups)
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
    """The peers' vectors after some rounds of averaging in random groups.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    r : int
        Number of groups, 1 <= r <= N.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Required where groups are drawn.
    reading : str
        What random groups are: a name in `READINGS`; on a rank not "slots", as what fills the slots is not counted.
    sizes : sequence of r integers or None
        Sizes of the groups, where the reading prescribes them; None for sizes that differ by at most one.
    choices : sequence of sequences of int or None
        For every round the choices in place of random ones; see `PartitionReading.ranges`.
    alive : (rounds, N) bool or None
        Who takes part in which round.
    rule : "skip" or "abort"
        Whether a group goes on without its failed members, or does nothing in that round.
    receives : (rounds, N) bool or None
        Peers that get their group's average; the others only give.

    Returns
    -------
    result : (N, n) dtype of stack
        The vectors after the last round.
    traffic : Traffic
        With a phase for every round; under "slots" without what it takes to fill the slots.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; r outside [1, N]; sizes, choices, alive or receives that do not fit; unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = random_groups(np.eye(4), 2, 3, np.random.default_rng(0))
    >>> result.sum(axis=0).tolist(), traffic.steps
    ([1.0, 1.0, 1.0, 1.0], 6)
    """

    def drawn() -> list[tuple[Labels, Mask, Sequence[int]]]:
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


def drawn_groups(
    N: int,
    r: int,
    rounds: int,
    rng: np.random.Generator | None = None,
    *,
    reading: str = "cut",
    sizes: Sequence[int] | None = None,
    choices: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
    rule: str = "skip",
    receives: ArrayLike | None = None,
) -> Iterator[tuple[Labels, Mask, Sequence[int]]]:
    """For every round of `random_groups` the groups, who gets the average, and the choices that made the groups."""
    rounds, r = checked_count(rounds, "rounds", 0), checked_count(r, "r", 1, N)
    checked_choice("reading", reading, READINGS)
    checked_choice("rule", rule, ("skip", "abort"))
    if choices is not None:
        checked_entries(choices, "choices", rounds, "rounds")
    prescribed = checked_sizes(N, r, sizes)
    part, gets = checked_mask(alive, (rounds, N), "alive"), checked_mask(receives, (rounds, N), "receives")

    def of_round(t: int) -> tuple[Labels, Mask, Sequence[int]]:
        given = None if choices is None else choices[t]
        labels, made = choices_of_round(READINGS[reading], prescribed, given, rng)
        groups = np.where(part[t], labels, -1)
        if rule == "abort":
            groups[np.isin(labels, labels[~part[t]])] = -1
        return groups, gets[t], made

    return map(of_round, range(rounds))


def _regrouping(array: Array, M: int, rounds: int = 1, *rest: Any, **options: Any) -> tuple[Array, Traffic]:
    return averaged_at_once(array, list(regrouped(len(array), M, rounds, *rest, **options)))


@fused_program(_regrouping)
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
    """The peers' vectors after some rounds in which those that are there form random groups of M among themselves.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    M : int
        Members of a group, >= 1.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Required where orders are drawn.
    orders : sequence of sequences of int or None
        For every round an order of those that are there, in place of a random one.
    alive : (rounds, N) bool or None
        Who takes part in which round.

    Returns
    -------
    result : (N, n) dtype of stack
        The vectors after the last round.
    traffic : Traffic
        With a phase for every round.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; M < 1; orders or alive that do not fit.

    Notes
    -----
    The random-group baseline of the authors' notebook: of A peers that are there, the first M floor(A/M) in the order
    form groups of M consecutive ones, and the rest are dealt out to the groups in turn. With A < M nobody averages.

    Examples
    --------
    >>> regrouping([[1.0], [3.0], [5.0]], 2, orders=[[0, 1, 2]])[0].ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    P = comm.size
    groups = comm.agreed(lambda: list(regrouped(P, M, rounds, rng, orders=orders, alive=alive)))
    return averaged_in_rounds(comm, vector, groups)


def regrouped(
    N: int,
    M: int,
    rounds: int,
    rng: np.random.Generator | None = None,
    *,
    orders: Sequence[Sequence[int]] | None = None,
    alive: ArrayLike | None = None,
) -> Iterator[Labels]:
    """The groups of every round of `regrouping`."""
    M, rounds = checked_count(M, "M"), checked_count(rounds, "rounds", 0)
    part = checked_mask(alive, (rounds, N), "alive")
    if orders is not None:
        checked_entries(orders, "orders", rounds, "rounds")

    def of_round(t: int) -> Labels:
        there = np.flatnonzero(part[t])
        if orders is None:
            order = checked_rng(rng, "drawing orders").permutation(there)
        else:
            order = as_numbers(orders[t], "orders", kinds="iu")
            if not np.array_equal(np.sort(order), there):
                raise ValueError(f"orders of a round must be a permutation of {there.tolist()}, got {order.tolist()}")
        whole = order.size // M
        groups = np.full(N, -1)
        if whole:
            places = np.arange(order.size)
            groups[order] = np.where(places < whole * M, places // M, (places - whole * M) % whole)
        return groups

    return map(of_round, range(rounds))
