"""What one rank sends another is altered on its way: kernels stay in bounds, and refusals say whose it is.

What has another form, or indices out of range, is refused with the rank that sent it; other numbers may be believed, as
ranks of a job trust one another. The kernels run with bounds checking in `.ci/run`.
"""

import itertools
import linecache
import re
import traceback
import warnings

import numpy as np
import pytest

from commbounds.collectives.ranks.communicator import Parcel
from commbounds.collectives.ranks.lockstep import LockstepWorld
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
P = 3
SENTENCES = r"rank [02] must send .*, got|rank [02] must send a message|(.* of )?the message must|sent must have shape"
"""Of those who read what arrives, and of those who decompress it."""
OF_ANY_SIZE = {
    **dict.fromkeys(("allgatherv", "gather_blocks"), "no rank knows the sizes of others"),
    "FeedbackSGD": "a record may end with more than it needs",
}
"""What may be believed though it has another size -> why."""
LOSE = ("drift_trials", "staleness_trials", "lossy_reduce_scatter", "lossy_broadcast", "lossy_step", "lossy_training")
"""Of whom messages may be believed that are empty: so arrives what is lost."""
LATER = (
    r"(stack|replica|parameters|owned) must (be small enough|be finite|have sums and ranges)|"
    r"rank 0 waits for \[1\]|rank 1 must send"
)
"""What is said later, after a number that was altered and believed: of sums, and of a rank that was to send or sent."""
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
def test_altered_messages_of_ranks_stay_in_bounds(name, record_property):
    pairing, now = PAIRINGS[name], {}

    def altering(rank, arrived):
        if rank == 1 and arrived:
            first = next(iter(arrived))
            arrays = list(arrived[first].arrays)
            if now["steps"] == now["step"] and now["part"] < len(arrays):
                others = list(altered(arrays[now["part"]]))
                now["left"], other = len(others) - now["variant"] - 1, others[now["variant"]]
                right = arrays[now["part"]]
                other_form = right.size > 0 and (other.dtype, other.shape) != (right.dtype, right.shape)
                now["form"] = other_form and not (name in LOSE and other.size == 0)
                arrays[now["part"]] = other
                arrived = {**arrived, first: Parcel(tuple(arrays), arrived[first].words)}
            now["steps"] += 1
        return arrived

    tried, unclear, case = 0, [], next(iter(pairing.cases(P)), None)
    if case is not None:  # what is right is believed
        LockstepWorld().run(lambda comm: pairing.program(comm, case), P)
    for step, part in PLACES if case is not None else ():
        left, variant = 1, 0
        while left > 0:
            now |= {"step": step, "part": part, "variant": variant, "steps": 0, "left": 0, "form": False}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    LockstepWorld(arriving=altering).run(lambda comm: pairing.program(comm, case), P)
                if now["form"] and name not in OF_ANY_SIZE:
                    unclear.append((step, part, variant, "another form was believed"))
            except (ValueError, TypeError) as refusal:
                last = traceback.extract_tb(refusal.__traceback__)[-1]
                ours = linecache.getline(last.filename, last.lineno).strip().startswith("raise ")
                wanted = SENTENCES if now["form"] else f"{SENTENCES}|{LATER}"
                if not ours or not re.match(wanted, str(refusal), re.DOTALL):
                    unclear.append((step, part, variant, repr(refusal)))
            tried, left, variant = tried + 1, now["left"], variant + 1
    record_property("tried", tried)
    record_property("lost", len(unclear))
    assert not unclear
