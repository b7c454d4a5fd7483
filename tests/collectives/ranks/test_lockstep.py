"""Every pairing in one thread: the bits and the traffic of the ranks in lockstep."""

import pytest
from samples import each_once

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.ranks import LockstepWorld
from commbounds.collectives.ranks.one_program import Collective
from commbounds.columns import Registry
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS
from commbounds.verify.space import SEED

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("name", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 8, 1]))
def test_bits_and_traffic_are_those_of_one_process(name, P):
    found = compared(PAIRINGS[name], P, LockstepWorld())
    if not found:  # an owner needs a receiver; and some collectives have no cases of so many ranks, with a reason
        lone = P == 1 and name in ("drift_trials", "staleness_trials")
        definition = Registry("DEFINITIONS", "verify.experiments", "definitions")[name]
        assert lone or not any(row["P"] == P for row in definition.space.covering())
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize("name", [name for name, pairing in PAIRINGS.items() if pairing.rows])
def test_ranks_of_one_caller_have_an_array_of_their_own_where_they_are_fused(name):
    rows = [case.settings for P in (3, 4) for case in PAIRINGS[name].rows(P)]  # some have no cases of three ranks
    collective = COLLECTIVES[name]
    fused = isinstance(collective, Collective) and collective.result is None
    assert {row[SEED] // 1000 for row in rows} == ({0, 1} if fused else {0})
