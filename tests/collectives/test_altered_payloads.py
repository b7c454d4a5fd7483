"""What one rank sends another is altered on its way: no kernel reads or writes out of bounds.

Ranks of a job trust one another, as they exchange pickles; so a refusal may be any exception, and results may be wrong.
The kernels run with bounds checking in `.ci/run`.
"""

import itertools
import pickle
import warnings

import numpy as np
import pytest

from commbounds.collectives.ranks import lockstep
from commbounds.collectives.ranks.communicator import Parcel
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
P = 3
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, pickle.UnpicklingError, EOFError)
PLACES = list(itertools.product((0, 1, 2), (0, 1)))
"""The step, and the array of the first message, that is altered."""


def altered(array):
    """An array of a message, altered in every way."""
    flat = np.ravel(array)
    ends = (
        (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max, 1000) if array.dtype.kind in "iu" else (np.nan, np.inf)
    )
    for value in ends if flat.size else ():
        changed = flat.astype(array.dtype, copy=True)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed[-1:] = np.array([value]).astype(array.dtype)
        yield changed.reshape(array.shape)
    yield array[:-1] if array.ndim else array
    yield array[:0] if array.ndim else array
    yield np.concatenate([array, array[-1:]]) if array.ndim and len(array) else array
    yield array[::-1] if array.ndim else array
    yield np.zeros(array.shape, np.float64 if array.dtype.kind in "iub" else np.int64)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.wide if i % 6 else ()) for i, name in enumerate(PAIRINGS)]
)
def test_altered_messages_of_ranks_stay_in_bounds(name, monkeypatch, record_property):
    pairing, swap, now = PAIRINGS[name], lockstep._LockstepCommunicator._swap, {}

    def altering(comm, outgoing, sources):
        arrived = swap(comm, outgoing, sources)
        if comm.rank == 1 and arrived:
            first = next(iter(arrived))
            arrays = list(arrived[first].arrays)
            if now["steps"] == now["step"] and now["part"] < len(arrays):
                others = list(altered(arrays[now["part"]]))
                now["left"] = len(others) - now["variant"] - 1
                arrays[now["part"]] = others[now["variant"]]
                arrived[first] = Parcel(tuple(arrays), arrived[first].words)
            now["steps"] += 1
        return arrived

    monkeypatch.setattr(lockstep._LockstepCommunicator, "_swap", altering)
    tried, outside, case = 0, 0, next(iter(pairing.cases(P)), None)
    for step, part in PLACES if case is not None else ():
        left, variant = 1, 0
        while left > 0:
            now |= {"step": step, "part": part, "variant": variant, "steps": 0, "left": 0}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    lockstep.LockstepWorld().run(lambda comm: pairing.program(comm, case), P)
            except REFUSALS as refusal:
                outside += str(refusal) == "index is out of bounds"  # which is what a kernel says
            tried, left, variant = tried + 1, now["left"], variant + 1
    record_property("tried", tried)
    assert not outside
