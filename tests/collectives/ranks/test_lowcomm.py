"""Rounds of the column lowcomm rank by rank: the bits and the traffic of one process; bad input is refused on all."""

import numpy as np
import pytest
from rank_refusals import differences_with, refused_by_all
from samples import each_once

from commbounds.collectives.lowcomm import COLLECTIVES
from commbounds.collectives.ranks import ThreadWorld, parcel
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("lowcomm").values())
ON_RANK = {pairing.name: COLLECTIVES[pairing.name].on_rank for pairing in PAIRED}


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRED, [3, 4, 2, 5, 6, 1], lambda p: p.name))
def test_bits_and_traffic_of_a_round_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 4
    assert [agreement for agreement in found if agreement.difference] == []


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda p: p.name)
def test_a_word_too_many_in_a_round_is_found(pairing):
    def chatty(comm, case):
        outcome = pairing.program(comm, case)
        comm.step({(comm.rank + 1) % 4: parcel(np.zeros(1))}, [(comm.rank - 1) % 4])
        return outcome

    assert all(differences_with(pairing, chatty))


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (lambda c: ON_RANK["diloco_round"](c, np.ones(2 + c.rank), np.zeros(2)), ValueError, "anchor must have shape"),
        (lambda c: ON_RANK["diloco_round"](c, np.ones(2), np.zeros(2) + c.rank), ValueError, "checksum of anchor"),
        (
            lambda c: ON_RANK["diloco_round"](c, np.ones(2), np.zeros(2), mu=c.rank / 4),
            ValueError,
            "mu must be the same",
        ),
        (lambda c: ON_RANK["noloco_round"](c, np.ones((3, 2)), [0, 1, 1]), ValueError, "order must hold every rank"),
        (
            lambda c: ON_RANK["noloco_round"](c, np.ones((2 + (c.rank < 2), 2)), [0, 1, 2]),
            ValueError,
            r"worker must be \(3, n\)",
        ),
        (
            lambda c: ON_RANK["quorum_merge"](c, [1.0], [1, 1, 1], [True, c.rank < 1, True]),
            ValueError,
            "arrived must be the",
        ),
        (
            lambda c: ON_RANK["sparseloco_round"](c, np.ones((2, 4)), 1 + c.rank, 4),
            ValueError,
            "k and chunk must be the same",
        ),
        (lambda c: ON_RANK["demo_round"](c, np.ones((2, 4)), 1, 3), ValueError, "chunk must divide n = 4"),
        (lambda c: ON_RANK["loco_round"](c, np.full((2, 4), np.nan), 1.0), ValueError, "worker must be finite"),
        (lambda c: ON_RANK["quantised_reduce_scatter"](c, np.ones(4), 1.0), ValueError, "multiple of 3 entries"),
    ],
)
def test_bad_rounds_are_refused_on_all_ranks(program, error, message):
    refused_by_all(program, error, message)
