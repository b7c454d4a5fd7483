"""Perm-K, Rand-K with one seed, and DGC: what they refuse, what they draw, their ranks, and single facts."""

import math

import numpy as np
import pytest

from commbounds.collectives.ranks import ThreadWorld
from commbounds.collectives.ranks.communicator import Parcel
from commbounds.collectives.ranks.lockstep import LockstepWorld
from commbounds.collectives.shipped import dgc_steps, permk_mean, shared_randk_mean
from commbounds.verify.experiments.shipped.workers import owner_maps
from commbounds.verify.joint_law import joint_log_e
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS

pytestmark = pytest.mark.kernels
PAIRED = tuple(PAIRINGS.of_column("shipped").values())
STACK = np.arange(1.0, 7.0).reshape(2, 3)
FALSE_ALARM = 1e-9


@pytest.mark.parametrize(
    ("owners", "error", "text"),
    [
        ([0, 1], ValueError, r"shape \(3,\)"),
        ([0, 1, 2], ValueError, r"in \[0, 1\]"),
        ([0, -1, 1], ValueError, r"in \[0, 1\]"),
        ([0.0, 1.0, 1.0], TypeError, "owners must be integers"),
    ],
)
def test_owners_that_are_refused(owners, error, text):
    with pytest.raises(error, match=text):
        permk_mean(STACK, owners=owners)


@pytest.mark.parametrize("places", [[0], [1, 0], [0, 0], [0, 3], [-1, 0]])
def test_places_that_are_refused(places):
    with pytest.raises(ValueError, match="places must be 2 ascending entries"):
        shared_randk_mean(STACK, 2, places=places)


def test_who_draws_needs_a_generator():
    with pytest.raises(TypeError, match="rng must be a numpy Generator"):
        permk_mean(STACK)
    with pytest.raises(TypeError, match="rng must be a numpy Generator"):
        shared_randk_mean(STACK, 1, 3)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"steps": 2, "k": 1}, ValueError, "steps must divide"),
        ({"steps": 0, "k": 1}, ValueError, "steps must be in"),
        ({"steps": 1, "k": 4}, ValueError, "k must be in"),
        ({"steps": 1, "k": 0}, ValueError, "k must be in"),
        ({"steps": 1, "k": 1, "factor": 1.0}, ValueError, "factor must be in"),
        ({"steps": 1, "k": 1, "factor": math.nan}, ValueError, "factor must be in"),
        ({"steps": 1, "k": 1, "masking": 1}, TypeError, "masking must be True or False"),
    ],
)
def test_what_dgc_refuses(given, error, text):
    with pytest.raises(error, match=text):
        dgc_steps(STACK, **given)


def test_what_accumulates_beyond_all_numbers_is_refused():
    with pytest.raises(ValueError, match="must stay finite"):
        dgc_steps(np.full((1, 4), 1.7e308), 2, 1)


@pytest.mark.parametrize(
    ("P", "n"), [(2, 3), pytest.param(3, 2, marks=pytest.mark.wide), pytest.param(3, 4, marks=pytest.mark.wide)]
)
def test_owners_are_drawn_by_the_law_that_is_enumerated(P, n):
    law = [(chance, owners) for owners, chance in owner_maps(P, n)]
    assert sum(chance for chance, _ in law) == 1
    # every worker owns every entry with probability 1/P, whether or not P divides n
    for j in range(n):
        assert all(sum(p for p, owners in law if owners[j] == r) * P == 1 for r in range(P))
    rng = np.random.default_rng(7)
    stack = np.repeat(np.arange(P, dtype=np.float64)[:, None], n, axis=1)
    draws = (permk_mean(stack, rng)[0][0] for _ in range(2000))
    assert joint_log_e(law, draws) < -math.log(FALSE_ALARM)


def test_sets_are_drawn_uniformly():
    rng, stack = np.random.default_rng(8), np.ones((2, 4))
    law = [(1 / 6, y) for y in ((2, 2, 0, 0), (2, 0, 2, 0), (2, 0, 0, 2), (0, 2, 2, 0), (0, 2, 0, 2), (0, 0, 2, 2))]
    draws = (shared_randk_mean(stack, 2, rng)[0][0] for _ in range(2000))
    assert joint_log_e(law, draws) < -math.log(FALSE_ALARM)


def test_masking_stops_the_momentum_of_what_is_sent():
    gradients = [[1.0, 0.0, 0.0]]
    assert dgc_steps(gradients, 3, 1, 0.5)[0].updates.ravel().tolist() == [1, 0, 0]
    assert dgc_steps(gradients, 3, 1, 0.5, masking=False)[0].updates.ravel().tolist() == [1, 0.5, 0.25]


@pytest.mark.parametrize("pairing", PAIRED, ids=lambda pairing: pairing.name)
@pytest.mark.parametrize("P", [1, 3])
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert len(found) >= 6
    assert not [agreement for agreement in found if agreement.bits or agreement.traffic]


def test_dgc_refuses_an_index_that_a_step_does_not_have():
    def altering(rank, arrived):
        sent = {source: Parcel((np.array([2]), *parcel.arrays[1:]), parcel.words) for source, parcel in arrived.items()}
        return sent if rank == 1 else arrived

    rows = np.array([[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]])  # two steps of two entries
    with pytest.raises(ValueError, match=r"rank 0 must send"):
        LockstepWorld(arriving=altering).run(lambda comm: dgc_steps.on_rank(comm, rows[comm.rank], 2, 1), 2)
