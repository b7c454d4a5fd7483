"""Results of an all-reduce held to what rounding explains of exact sums, and what is said of those beyond."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from commbounds._arrays import Rows, place
from commbounds._mistakes import Suspect, explanations
from commbounds._sums import RankSums
from commbounds.array_types import Array, Floats


def require_close(
    given: Rows,
    sums: RankSums,
    times: int,
    allowed: Floats,
    unit: float,
    how: str,
    coarser: Callable[[Suspect], Mapping[str, Floats]],
    previous: Array | None = None,
) -> None:
    """Raise an AssertionError unless ``times`` every result is within `allowed` of the sums.

    Parameters
    ----------
    given, sums
        Inputs and results, and the inputs' sums.
    times, allowed, unit, previous
        As of a `Suspect`.
    how : str
        Where the bound is from.
    coarser : callable
        What rounding explains in fewer digits, of `explanations`.
    """
    beyond = [np.flatnonzero(~(np.abs(sums.distance(row, times)) <= allowed)) for row in given.results]
    for rank, wrong in enumerate(beyond):
        if wrong.size:
            more = () if previous is None else (previous,)
            suspect = Suspect(given.inputs, sums, given.results[rank], times, allowed, wrong, unit, *more)
            fits = explanations(suspect, coarser(suspect))
            raise AssertionError(_message(suspect, how, given.shape, rank if given.of_all else None, beyond, fits))


def nothing_said(allowed: Floats, sums: RankSums) -> tuple[int, int]:
    """At how many entries a bound exceeds the sum, so that zeros would pass, and how many are not zeros alone."""
    brought = sums.sizes > 0.0
    return int(np.count_nonzero(brought & (allowed > np.abs(sums.wide())))), int(np.count_nonzero(brought))


def _message(
    suspect: Suspect,
    how: str,
    shape: tuple[int, ...],
    rank: int | None,
    beyond: list[NDArray[np.intp]],
    fits: Iterable[str],
) -> str:
    wrong, size = suspect.wrong, np.abs(suspect.distance[suspect.wrong])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(np.isfinite(size), size / suspect.allowed[wrong], np.inf)
    worst = int(np.argmax(ratio))
    entry = int(wrong[worst])
    asked = "mean" if suspect.times > 1 else "sum"
    exact = suspect.sums.wide()[entry] / suspect.times
    on, number = (
        ("", "")
        if rank is None
        else (f" on rank {rank}", f"{sum(w.size > 0 for w in beyond)} of {len(beyond)} ranks are wrong; ")
    )
    off = (
        f"off by {size[worst] / suspect.times:.3g}, where {suspect.allowed[entry] / suspect.times:.3g} is explained: "
        f"{ratio[worst]:.3g} times"
        if np.isfinite(size[worst])
        else "not finite"
    )
    explained = "; ".join(fits) or "none of the mistakes that are known here"
    return (
        f"all-reduce of {suspect.sums.ranks} ranks: {number}{wrong.size} of {len(suspect.y)} entries{on} are beyond "
        f"what rounding explains\n    worst: entry {place(entry, shape)}{on} is {float(suspect.y[entry])!r}, the "
        f"{asked} is {float(exact)!r}: {off}\n    {how}\n    what fits: {explained}"
    )
