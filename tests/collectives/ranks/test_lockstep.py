"""Every pairing in one thread: the bits and the traffic of the ranks in lockstep."""

import pytest
from samples import diagonal

from commbounds.collectives.ranks import LockstepWorld
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("name", "P"), diagonal(PAIRINGS, [1, 2, 3, 4, 5, 8]))
def test_bits_and_traffic_are_those_of_one_process(name, P):
    found = compared(PAIRINGS[name], P, LockstepWorld())
    assert found or (P == 1 and name in ("drift_trials", "staleness_trials"))  # an owner needs a receiver
    assert [agreement for agreement in found if agreement.difference] == []
