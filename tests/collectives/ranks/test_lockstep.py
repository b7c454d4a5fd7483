"""Every pairing in one thread: the bits and the traffic of the ranks in lockstep."""

import pytest
from samples import each_once

from commbounds.collectives.ranks import LockstepWorld
from commbounds.columns import Registry
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("name", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 8, 1]))
def test_bits_and_traffic_are_those_of_one_process(name, P):
    found = compared(PAIRINGS[name], P, LockstepWorld())
    if not found:  # an owner needs a receiver; and some collectives have no cases of so many ranks, with a reason
        lone = P == 1 and name in ("drift_trials", "staleness_trials")
        definition = Registry("DEFINITIONS", "verify.experiments", "definitions")[name]
        assert lone or not any(row["P"] == P for row in definition.space.covering())
    assert [agreement for agreement in found if agreement.difference] == []
