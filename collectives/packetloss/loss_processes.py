"""Which packets get lost: independently (`Bernoulli`), or in bursts (`GilbertElliott`).

Every draw is a function of (seed, trial, stream, step, link): splitmix64 at a counter. Nothing depends on the order of
calls or on threads, and a run resumes anywhere.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import njit

from commbounds.array_types import Mask
from commbounds.compressors.base import MAX_ENTRIES, checked_flag, checked_real, shown

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * MIX1
    z = (z ^ (z >> _S27)) * MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _stream_key(seed, trial, stream):  # type: ignore[no-untyped-def]
    return _mix(_mix(_mix(seed) + (trial + _ONE) * GOLDEN) + (stream + _ONE) * GOLDEN)


@njit(cache=True, nogil=True)
def _below(address, first, threshold, out):  # type: ignore[no-untyped-def]
    # out[i] = draw first + i is below the threshold; address = (seed, trial, stream)
    key = _stream_key(address[0], address[1], address[2])
    for i in range(out.size):
        out[i] = _mix(key + (first + np.uint64(i + 1)) * GOLDEN) < threshold


def checked_probability(p: float, name: str = "p") -> float:
    """`p` as a float in [0, 1].

    Raises
    ------
    TypeError
        It is no real number.
    ValueError
        It lies outside [0, 1], or is NaN.
    """
    value = checked_real(name, p)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {shown(p)}")
    return value


def checked_count(value: int, name: str, least: int = 1, most: int = MAX_ENTRIES) -> int:
    """`value` as an int in [`least`, `most`], `most` being one less than a power of two."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(value)}")
    if value > most:
        raise ValueError(f"{name} must be below 2^{most.bit_length()}, got {shown(value)}")
    return int(value)


def checked_draws(address: Any, step: Any, links: Any) -> None:
    """See that a draw has an address of three numbers below 2^64, a step and a number of links."""
    if not isinstance(address, tuple) or len(address) != 3:
        raise TypeError(f"address must be a tuple of seed, trial and stream, got {shown(address)}")
    for number in address:
        checked_count(number, "address", 0, 2**64 - 1)
    checked_count(step, "step", 0)
    checked_count(links, "links", 0)


def threshold(p: float) -> np.uint64:
    """The number below which a 64-bit draw falls with probability `p` < 1, to within 2^-64."""
    return np.uint64(int(p * 2.0**64))


def _events(address: tuple[int, int, int], first: int, p: float, size: int) -> Mask:
    """`size` independent events of probability `p`: those at the counters from `first`."""
    out = np.empty(size, np.bool_)
    if p == 1.0:
        out[:] = True
    else:
        with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
            _below(np.array(address, np.uint64), np.uint64(first), threshold(p), out)
    return out


class Loss(Protocol):
    """A loss process: which of a number of links lose their packet, step by step."""

    @property
    def shared(self) -> bool:
        """Whether all receivers of a broadcast packet share its fate."""

    @property
    def rate(self) -> float:
        """Probability that a packet gets lost."""

    def lost(self, address: tuple[int, int, int], step: int, links: int, state: Mask | None) -> tuple[Mask, Any]:
        """Which of the links lose their packet in `step`, and the state for the next one."""


@dataclass(frozen=True)
class Bernoulli:
    """Every packet gets lost with probability `p`, independently of all others.

    Parameters
    ----------
    p : float
        In [0, 1].
    shared : bool
        Whether all receivers of a broadcast packet share its fate.

    Examples
    --------
    >>> lost, _ = Bernoulli(0.25).lost((7, 0, 0), 0, 8, None)
    >>> lost.astype(int)
    array([0, 1, 1, 0, 0, 0, 0, 0])
    """

    p: float
    shared: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", checked_probability(self.p))
        checked_flag("shared", self.shared)

    @property
    def rate(self) -> float:
        """Probability that a packet gets lost."""
        return self.p

    def lost(
        self, address: tuple[int, int, int], step: int, links: int, state: Mask | None = None
    ) -> tuple[Mask, Mask | None]:
        """Which links lose their packet.

        Parameters
        ----------
        address : tuple of int
            Seed, trial and stream; >= 0.
        step : int
            Counted from 0.
        links : int
            How many.
        state : None
            There is none.

        Returns
        -------
        (links,) bool, None
        """
        checked_draws(address, step, links)
        return _events(address, step * links, self.p, links), None


@dataclass(frozen=True)
class GilbertElliott:
    """Losses in bursts: a link is good or bad, and loses every packet while it is bad.

    Parameters
    ----------
    fail : float
        Probability that a good link is bad in the next step; in [0, 1].
    recover : float
        Probability that a bad link is good in the next step; in [0, 1]. Bursts last 1 / recover steps on average.
    shared : bool
        Whether all receivers of a broadcast packet share its fate.

    Raises
    ------
    ValueError
        A parameter is no probability, or both are 0: no link would ever change, and no share of bad ones would follow.

    Notes
    -----
    Links start in the stationary law: bad with probability fail / (fail + recover).

    Examples
    --------
    >>> GilbertElliott(fail=1 / 90, recover=0.1).rate
    0.09999999999999999
    """

    fail: float
    recover: float
    shared: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "fail", checked_probability(self.fail, "fail"))
        object.__setattr__(self, "recover", checked_probability(self.recover, "recover"))
        checked_flag("shared", self.shared)
        if self.fail == self.recover == 0.0:
            raise ValueError("fail and recover must not both be 0: the share of bad links would be undetermined")

    @property
    def rate(self) -> float:
        """Probability that a packet gets lost: the stationary share of bad links."""
        return self.fail / (self.fail + self.recover)

    def lost(
        self, address: tuple[int, int, int], step: int, links: int, state: Mask | None = None
    ) -> tuple[Mask, Mask]:
        """Which links lose their packet.

        Parameters
        ----------
        address : tuple of int
            Seed, trial and stream; >= 0.
        step : int
            Counted from 0.
        links : int
            How many.
        state : (links,) bool or None
            Which links were bad in the step before; None starts from the stationary law.

        Returns
        -------
        (links,) bool, (links,) bool
            Lost packets, and bad links: the same.
        """
        checked_draws(address, step, links)
        if state is None:
            bad = _events(address, step * 2 * links, self.rate, links)
        else:
            if not isinstance(state, np.ndarray) or state.dtype != np.bool_:
                raise TypeError(f"state must be an array of bool, or None, got {shown(state)}")
            if state.shape != (links,):
                raise ValueError(f"state must hold one flag for each of {links} links, got shape {state.shape}")
            fails = _events(address, step * 2 * links, self.fail, links)
            recovers = _events(address, (step * 2 + 1) * links, self.recover, links)
            bad = np.where(state, ~recovers, fails)
        return bad, bad


def checked_loss(loss: Any) -> None:
    """See that `loss` is a loss process.

    Raises
    ------
    TypeError
        It has no `rate`, no `lost` or no `shared`.
    """
    if isinstance(loss, type) or not all(hasattr(loss, name) for name in ("rate", "lost", "shared")):
        raise TypeError(f"loss must be a loss process, such as Bernoulli(0.1), got {shown(loss)}")
