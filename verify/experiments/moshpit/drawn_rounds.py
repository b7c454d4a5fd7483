"""The draws of a trial of `group_trials`, made again: who meets whom, for the programs that a trial stands in for."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from commbounds import collectives
from commbounds.array_types import Integers, Mask
from commbounds.collectives.moshpit.group_trials import _GOLDEN, _fail, _mix, _shuffle
from commbounds.collectives.ranks import Collective


@dataclass(frozen=True, eq=False)
class DrawnRounds:
    """What a trial draws.

    Parameters
    ----------
    M : int
        As for `group_trials`.
    cells : (N, d) int64
        Where peers are on the grid; all digits but the last are their first keys.
    labels : (rounds, N) int64
        Random groups.
    slots : (rounds, M^(d-1), M) int64
        Chunk indices that the members of every key's group get.
    alive : (rounds, N) bool
        Who takes part.
    """

    M: int
    cells: Integers
    labels: Integers
    slots: Integers
    alive: Mask

    def call(
        self, kind: str, t: int, keys: Integers, rule: str
    ) -> tuple[Collective[Any, Any, Any], tuple[Any, ...], dict[str, Any]]:
        """What takes place in round `t` of a trial of that kind, with the arguments that follow the stack."""
        there = {"alive": self.alive[t : t + 1], "rule": rule}
        if kind == "fixed":
            return collectives.grid_average, (self.cells, self.M, 1), {"start": t, **there}
        if kind == "keys":
            return collectives.moshpit, (keys, self.M, 1), {"slots": self.slots[t : t + 1], **there}
        drawn = {"reading": "labels", "choices": self.labels[t : t + 1].tolist()}
        return collectives.random_groups, (self.M, 1), {**drawn, **there}


def drawn_rounds(N: int, kind: str, M: int, rounds: int, seed: int, *, d: int, p: float, first: int) -> DrawnRounds:
    """The draws of trial `first`; see `group_trials`."""
    width = M ** (d - 1)
    cells, groups = np.arange(width * M), np.arange(N) * M // N
    labels, alive = np.empty((rounds, N), np.int64), np.ones((rounds, N), np.bool_)
    slots = np.tile(np.arange(M), (rounds, width, 1))
    with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
        key = np.uint64(_mix(np.uint64(_mix(np.uint64(seed))) + np.uint64(first + 1) * _GOLDEN))
        counter = np.uint64(1)
        if kind != "random":
            counter = np.uint64(_shuffle(key, counter, cells))
        for t in range(rounds):
            if kind == "random":
                counter = np.uint64(_shuffle(key, counter, groups))
            labels[t] = groups
            if p > 0:
                counter = np.uint64(_fail(key, counter, p, alive[t]))
            for order in slots[t] if kind == "keys" else ():
                counter = np.uint64(_shuffle(key, counter, order))
    digits = [cells[:N] // M**j % M for j in reversed(range(d))]
    return DrawnRounds(M, np.stack(digits, axis=1), labels, slots, alive)
