"""Timing contenders side by side: `Benchmark`, what is timed; `measured`, the `BenchmarkRow` that comes of it.

A case is timed in interleaved rounds in one process, so that a disturbance falls on all of its contenders. What counts
is the ratio, peer's time over ours, taken round by round: its median over the rounds.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_PAUSE = 0.05
"""Seconds before every run, in which the threads of the one before stop waiting for more work at full speed."""
Stopwatch = Callable[[], float]
"""Does something once and returns the seconds it took."""


@dataclass(frozen=True)
class Benchmark:
    """One thing that is timed.

    Parameters
    ----------
    name : str
        What it is.
    unit : str
        Of the times shown.
    scale : float
        Times in `unit` are seconds times this.
    ours : Stopwatch
        Times the project.
    peers : mapping
        Name -> stopwatch of who does the same.
    targets : mapping
        Peer's name -> (floor, goal) of the ratio; "" for the best peer.
    """

    name: str
    unit: str
    scale: float
    ours: Stopwatch
    peers: Mapping[str, Stopwatch]
    targets: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class BenchmarkRow:
    """A case against one of its peers.

    Parameters
    ----------
    case, unit : str
        As in `Benchmark`.
    ours, theirs : float
        Median times.
    peer : str
        Whose.
    ratio : float
        Median of theirs / ours.
    floor, goal : float or None
        What the ratio should reach.
    """

    case: str
    unit: str
    ours: float
    peer: str
    theirs: float
    ratio: float
    floor: float | None = None
    goal: float | None = None

    @property
    def standing(self) -> str:
        """``goal`` or ``floor`` if that is reached, ``missed`` if neither is, empty if there is none."""
        if self.floor is None or self.goal is None:
            return ""
        return "goal" if self.ratio >= self.goal else "floor" if self.ratio >= self.floor else "missed"


def timed(work: Callable[[], object]) -> Stopwatch:
    """A stopwatch for `work`."""

    def stopwatch() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return stopwatch


def measured(case: Benchmark, rounds: int) -> list[BenchmarkRow]:
    """The case against its best peer, and against every other peer that has targets.

    Parameters
    ----------
    case : Benchmark
        Every contender runs once before the rounds: what is compiled is compiled then.
    rounds : int
        At least 1; the order of the contenders turns by one from round to round.
    """
    contenders = [("", case.ours), *case.peers.items()]
    for _, stopwatch in contenders:
        stopwatch()
    seconds: dict[str, list[float]] = {name: [] for name, _ in contenders}
    for turn in range(rounds):
        first = turn % len(contenders)
        for name, stopwatch in contenders[first:] + contenders[:first]:
            time.sleep(_PAUSE)
            seconds[name].append(stopwatch())
    ours = seconds[""]
    ratios = {p: statistics.median(t / o for t, o in zip(seconds[p], ours, strict=True)) for p in case.peers}
    best = min(ratios, key=lambda peer: ratios[peer])

    def row(peer: str, targets: tuple[float, float] | tuple[None, None]) -> BenchmarkRow:
        mine, theirs = (statistics.median(seconds[p]) * case.scale for p in ("", peer))
        return BenchmarkRow(case.name, case.unit, mine, peer, theirs, ratios[peer], *targets)

    rows = [row(best, case.targets.get("", case.targets.get(best, (None, None))))]
    return rows + [row(p, t) for p, t in case.targets.items() if p in ratios and (p != best or "" in case.targets)]
