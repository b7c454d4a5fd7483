"""What one rank sends another is altered on its way: kernels stay in bounds, and refusals say whose it is.

What has another form, or indices out of range, is refused with the rank that sent it; other numbers may be believed, as
ranks of a job trust one another. The kernels run with bounds checking in `.ci/run`.
"""

import itertools
import linecache
import re
import traceback
import warnings
from functools import partial

import numpy as np
import pytest

from commbounds.collectives.ranks.lockstep import LockstepWorld
from commbounds.verify.own_callers import Altering
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


def altered_once(variant, made, array):
    """One of the arrays that it may become; all of them are put into `made`."""
    made += altered(array)
    return made[variant]


def other_form(altering, made, variant, name):
    """Whether what was heard must be refused for its form: what is lost arrives empty."""
    return altering.changed and not (name in LOSE and made[variant].size == 0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.wide if i % 6 else ()) for i, name in enumerate(PAIRINGS)]
)
def test_altered_messages_of_ranks_stay_in_bounds(name, record_property):
    pairing = PAIRINGS[name]
    tried, unclear, case = 0, [], next(iter(pairing.cases(P)), None)
    if case is not None:  # what is right is believed
        LockstepWorld().run(lambda comm: pairing.program(comm, case), P)
    for step, part in PLACES if case is not None else ():
        left, variant = 1, 0
        while left > 0:
            made = []
            altering = Altering((1, step, part), partial(altered_once, variant, made))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    LockstepWorld(arriving=altering).run(lambda comm: pairing.program(comm, case), P)
                if other_form(altering, made, variant, name) and name not in OF_ANY_SIZE:
                    unclear.append((step, part, variant, "another form was believed"))
            except (ValueError, TypeError) as refusal:
                last = traceback.extract_tb(refusal.__traceback__)[-1]
                ours = linecache.getline(last.filename, last.lineno).strip().startswith("raise ")
                wanted = SENTENCES if other_form(altering, made, variant, name) else f"{SENTENCES}|{LATER}"
                if not ours or not re.match(wanted, str(refusal), re.DOTALL):
                    unclear.append((step, part, variant, repr(refusal)))
            tried, left, variant = tried + 1, len(made) - variant - 1, variant + 1
    record_property("tried", tried)
    record_property("lost", len(unclear))
    assert not unclear
