"""What Ok-Topk remembers from one iteration to the next, what it returns, and how it adapts its thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._peers import checked_count
from commbounds.compressors.base import as_numbers, checked_real, hold_python_numbers

State = TypeVar("State", "OkTopkState", "OkTopkRankState")


@dataclass(frozen=True, eq=False)
class OkTopkState:
    """What the ranks remember: their thresholds, and the regions that they agreed on.

    Parameters
    ----------
    t : int
        Iterations so far. In iteration t the thresholds are found anew if tau' divides t, the boundaries if tau does:
        a state with any other t sets up an iteration with thresholds and boundaries of one's own choice.
    k : int
        Entries aimed at; the next call must aim at as many.
    local_thresholds : (P,) array_like of float
        Of every rank; finite, not negative.
    global_threshold : float
        Of the sums; finite, not negative.
    boundaries : (P + 1,) array_like of int
        Region r is ``range(boundaries[r], boundaries[r + 1])``: from 0 to n, never descending. Regions may be empty.

    Raises
    ------
    TypeError
        `t`, `k` or `boundaries` are no integers.
    ValueError
        A shape does not fit, or a value is out of its range.

    Notes
    -----
    Arrays are copied and cannot be written to. Thresholds are float64, and compared exactly with entries of any dtype.
    """

    t: int
    k: int
    local_thresholds: Floats
    global_threshold: float
    boundaries: Integers

    def __post_init__(self) -> None:
        local = np.array(as_numbers(self.local_thresholds, "local_thresholds", np.float64))
        wide = checked_real("global_threshold", self.global_threshold)
        cuts = np.array(self.boundaries)
        if cuts.dtype.kind not in "iu":
            raise TypeError(f"boundaries must be integers, got {cuts.dtype}")
        if cuts.ndim != 1 or cuts.size < 2 or local.shape != (cuts.size - 1,):
            raise ValueError(
                "local_thresholds and boundaries must be (P,) and (P + 1,) with P >= 1, "
                f"got shapes {local.shape} and {cuts.shape}"
            )
        cuts = cuts.astype(np.int64)
        if cuts[0] != 0 or cuts[-1] < 1 or (cuts[1:] < cuts[:-1]).any():
            raise ValueError(f"boundaries must go from 0 to n >= 1 and never descend, got {cuts.tolist()}")
        for name, least, most in (("local_thresholds", local.min(), local.max()), ("global_threshold", wide, wide)):
            if not 0 <= least <= most < np.inf:  # no NaN is
                found = local.tolist() if name == "local_thresholds" else wide
                raise ValueError(f"{name} must be finite and not negative, got {found}")
        object.__setattr__(self, "t", checked_count(self.t, "t", 0))
        object.__setattr__(self, "k", checked_count(self.k, "k", 1, int(cuts[-1])))
        for name, array in (("local_thresholds", local), ("boundaries", cuts)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "global_threshold", wide)

    @property
    def P(self) -> int:
        """Number of ranks."""
        return self.boundaries.size - 1

    @property
    def n(self) -> int:
        """Entries of every rank's vector."""
        return int(self.boundaries[-1])

    def checked_for(self, P: int, n: int, k: int) -> OkTopkState:
        """The state itself, if it is one of `P` ranks, `n` entries and `k` of them aimed at."""
        _require_for(self, P, n, k)
        return self


@dataclass(frozen=True, eq=False)
class OkTopkRankState:
    """What one rank remembers: its own threshold, and what all have agreed on.

    Parameters
    ----------
    t, k : int
        As in `OkTopkState`; the same on all ranks.
    local_threshold : float
        This rank's; finite, not negative.
    global_threshold : float
        As in `OkTopkState`; the same on all ranks.
    boundaries : (P + 1,) array_like of int
        As in `OkTopkState`; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `OkTopkState` raises.
    """

    t: int
    k: int
    local_threshold: float
    global_threshold: float
    boundaries: Integers

    def __post_init__(self) -> None:
        alone = np.full(max(np.size(self.boundaries) - 1, 0), self.local_threshold)
        checked = OkTopkState(self.t, self.k, alone, self.global_threshold, self.boundaries)
        for name in ("t", "k", "global_threshold", "boundaries"):
            object.__setattr__(self, name, getattr(checked, name))
        object.__setattr__(self, "local_threshold", float(self.local_threshold))

    @classmethod
    def of(cls, state: OkTopkState, rank: int) -> OkTopkRankState:
        """What `rank` knows of the state of all ranks."""
        threshold = float(state.local_thresholds[rank])
        return cls(state.t, state.k, threshold, state.global_threshold, state.boundaries)

    def checked_for(self, P: int, n: int, k: int) -> OkTopkRankState:
        """The state itself, if it is one of `P` ranks, `n` entries and `k` of them aimed at."""
        _require_for(self, P, n, k)
        return self


def trusted(kind: type[State], *values: Any) -> State:
    """The state of these values, in the order of the fields, without a look at them; arrays are not copied."""
    made = object.__new__(kind)
    for name, value in zip(kind.__annotations__, values, strict=True):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(made, name, value)
    return made


def _require_for(state: OkTopkState | OkTopkRankState, P: int, n: int, k: int) -> None:
    of = {"P": state.boundaries.size - 1, "n": int(state.boundaries[-1]), "k": state.k}
    for (name, own), asked in zip(of.items(), (P, n, k), strict=True):
        if own != asked:
            raise ValueError(f"state must be one of {name} = {asked}, got one of {name} = {own}")


@dataclass(frozen=True, eq=False)
class OkTopkResult:
    """What an iteration leaves on the ranks.

    Parameters
    ----------
    update : (n,) dtype of the vectors
        The sum (not the mean) over the ranks of what they selected, where it passes the global threshold; else 0.
    indices : (T,) int64
        Where it does, ascending.
    selected : tuple of P arrays of int64
        For every rank the indices, ascending, that it selected and that are in the update: what its residual loses.
    local_counts : (P,) int64
        Entries that every rank's local threshold selected.
    region_counts : (P, P) int64
        Entries that rank p selected in region r.
    nonzero_sums : (P,) int64
        Sums in every region that are not zero.
    winners : (P,) int64
        Sums in every region that pass the global threshold, before balancing.
    """

    update: Array
    indices: Integers
    selected: tuple[Integers, ...]
    local_counts: Integers
    region_counts: Integers
    nonzero_sums: Integers
    winners: Integers

    @property
    def global_count(self) -> int:
        """Entries of the update."""
        return self.indices.size


@dataclass(frozen=True, eq=False)
class OkTopkRankResult:
    """What an iteration leaves on one rank: its part of an `OkTopkResult`.

    Parameters
    ----------
    update : (n,) dtype of the vector
        The sum over the ranks, in the same bits on all of them.
    indices : (T,) int64
        Where the sum passes the global threshold, ascending.
    selected : (s,) int64
        The indices, ascending, that this rank selected and that are in the update: what its residual loses.
    local_count : int
        Entries that its threshold selected.
    region_counts : (P,) int64
        Those in every region.
    nonzero_sums : int
        Sums in its own region that are not zero.
    winners : (P,) int64
        Sums in every region that pass the global threshold, before balancing: all ranks know them.
    """

    update: Array
    indices: Integers
    selected: Integers
    local_count: int
    region_counts: Integers
    nonzero_sums: int
    winners: Integers


@dataclass(frozen=True)
class Controller:
    """How thresholds follow the counts between two re-evaluations.

    A local threshold that selected fewer than ``low k`` entries is divided by ``local_step`` for the next iteration,
    and multiplied by it if it selected more than ``local_high k``; the global one likewise, by ``global_down`` and
    ``global_up``. A local threshold that selects more than ``at_once_above k`` is also raised at once, by
    ``at_once_step``, up to ``at_once_tries`` times; what it is raised to is kept, and the count after it decides on
    the next iteration.

    Parameters
    ----------
    low, local_high, global_high, at_once_above : Fraction or int
        Counts, in units of k; compared exactly; 0 <= low <= the others.
    local_step, global_down, global_up, at_once_step : float
        Factors, at least 1.
    at_once_tries : int
        Not negative.

    Notes
    -----
    `CONTROLLERS` holds the sets in the official code. In iterations that re-evaluate, nothing is adapted. A threshold
    that is zero stays zero until it is found anew.
    """

    low: Fraction
    local_high: Fraction
    global_high: Fraction
    local_step: float
    global_down: float
    global_up: float
    at_once_above: Fraction = field(default=Fraction(4, 3))
    at_once_step: float = 1.03
    at_once_tries: int = 0

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        for name in ("low", "local_high", "global_high", "at_once_above"):
            checked_real(name, getattr(self, name))
        if not 0 <= self.low <= min(self.local_high, self.global_high, self.at_once_above):
            raise ValueError(f"low must be in [0, the upper counts], got {self.low}")
        for name in ("local_step", "global_down", "global_up", "at_once_step"):
            factor = checked_real(name, getattr(self, name))
            if not (np.isfinite(factor) and factor >= 1):
                raise ValueError(f"{name} must be finite and at least 1, got {factor}")
        checked_count(self.at_once_tries, "at_once_tries", 0)

    def raised(self, threshold: float) -> float:
        """A local threshold, raised once at once."""
        return _times(threshold, self.at_once_step)

    def next_local(self, threshold: float, count: int, k: int) -> float:
        """The local threshold of the next iteration, after this one selected `count` entries."""
        return _moved(threshold, count, k, (self.low, self.local_high), (self.local_step, self.local_step))

    def next_global(self, threshold: float, count: int, k: int) -> float:
        """The global threshold of the next iteration, after this one selected `count` entries."""
        return _moved(threshold, count, k, (self.low, self.global_high), (self.global_down, self.global_up))

    def after(self, state: OkTopkState, local_counts: Integers, global_count: int) -> OkTopkState:
        """`state` with the thresholds of the next iteration."""
        local = [
            self.next_local(float(th), int(count), state.k)
            for th, count in zip(state.local_thresholds, local_counts, strict=True)
        ]
        return replace(
            state,
            local_thresholds=np.array(local),
            global_threshold=self.next_global(state.global_threshold, global_count, state.k),
        )


def _times(threshold: float, factor: float) -> float:
    """The product, or the largest finite number below it."""
    return min(float(threshold) * factor, float(np.finfo(np.float64).max))


def _moved(
    threshold: float, count: int, k: int, cuts: tuple[Fraction, Fraction], factors: tuple[float, float]
) -> float:
    if count < cuts[0] * k:
        return threshold / factors[0]
    if count > cuts[1] * k:
        return _times(threshold, factors[1])
    return threshold


CONTROLLERS = MappingProxyType(
    {
        "vgg": Controller(Fraction(2, 3), Fraction(5, 4), Fraction(4, 3), 1.012, 1.008, 1.008, Fraction(4, 3), 1.03, 5),
        "lstm": Controller(Fraction(3, 4), Fraction(5, 4), Fraction(5, 4), 1.012, 1.01, 1.008, Fraction(3, 2), 1.03, 5),
        "bert": Controller(Fraction(4, 5), Fraction(5, 4), Fraction(5, 4), 1.025, 1.036, 1.025),
    }
)
"""The parameter sets of the official code, by the model that they were used for."""
