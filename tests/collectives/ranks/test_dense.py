"""The classical collectives rank by rank: the bits and the traffic of one process, and what they are made of."""

from dataclasses import replace

import numpy as np
import pytest
from samples import each_once, first_of_each

from commbounds import collectives
from commbounds.collectives import COLLECTIVES, gather_blocks
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.message_by_message import ALLREDUCE, Part, carried_out
from commbounds.collectives.dense.messages import backwards, bruck
from commbounds.collectives.dense.on_rank import carried_out_on_rank, gathered
from commbounds.collectives.ranks import LockstepWorld, ThreadWorld
from commbounds.verify.experiments.dense.pairings import PAIRINGS
from commbounds.verify.pairing import compared
from commbounds.verify.pairings import PAIRINGS as ALL

pytestmark = pytest.mark.kernels

ALGORITHMS = ("ring", "recursive-doubling", "bruck")
ALLREDUCES = [pairing for pairing in PAIRINGS if pairing.name.endswith("allreduce")]
EACH = pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda p: p.name)


def run(program, P):
    return ThreadWorld().run(program, P)


@pytest.mark.parametrize(("pairing", "P"), each_once(PAIRINGS, [3, 4, 5, 2, 1], lambda p: p.name))
def test_bits_and_traffic_are_those_of_one_process(pairing, P):
    found = compared(pairing, P, ThreadWorld())
    assert found
    assert [f"{one.case}: {one.difference}" for one in found if one.difference] == []


@pytest.mark.parametrize("pairing", first_of_each(ALLREDUCES, lambda _: "any", lambda p: p.name))
def test_with_eight_ranks_too(pairing):
    assert not any(one.difference for one in compared(pairing, 8, ThreadWorld()))


@EACH
def test_a_pairing_has_the_name_of_its_collective(pairing):
    assert pairing.name in COLLECTIVES
    assert ALL[pairing.name] is pairing


@EACH
def test_cases_are_the_same_each_time(pairing):
    first, second = (list(pairing.cases(3)) for _ in range(2))
    assert [str(case) for case in first] == [str(case) for case in second]
    assert all(repr(a.stack) == repr(b.stack) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("one", ALLREDUCES, ids=lambda p: p.name)
@pytest.mark.parametrize("other", ALLREDUCES, ids=lambda p: p.name)
def test_cases_tell_the_orders_of_adding_apart(one, other):
    differ = any(found.bits for found in compared(replace(one, program=other.program), 4, LockstepWorld()))
    assert differ == (one is not other)


@pytest.mark.parametrize("P", [1, 2, 5])
def test_input_is_left_alone(P):
    stack = np.random.default_rng(P).standard_normal((P, 7))
    before = stack.copy()

    def program(comm):
        for twin in ("ring", "recursive_doubling", "rabenseifner", "butterfly"):
            result = COLLECTIVES[f"{twin}_allreduce"].on_rank(comm, stack[comm.rank])
            result[:] = 0
        collectives.reduce_scatter.on_rank(comm, stack[comm.rank])[:] = 0
        collectives.allgather.on_rank(comm, stack[comm.rank])[:] = 0
        collectives.allgatherv.on_rank(comm, stack[comm.rank])[:] = 0

    run(program, P)
    assert stack.tobytes() == before.tobytes()


def test_any_array_that_holds_the_numbers_will_do():
    stack = np.arange(24.0).reshape(3, 8)
    frozen = stack[:, ::2].astype(">f8")
    frozen.setflags(write=False)
    for twin in (collectives.ring_allreduce.on_rank, collectives.butterfly_allreduce.on_rank):
        results, _ = run(lambda comm, twin=twin: twin(comm, frozen[comm.rank]), 3)
        assert all(result.tolist() == stack[:, ::2].sum(axis=0).tolist() for result in results)
        assert results[0].dtype == np.float64
        assert results[0].dtype.isnative


# --- bad input is an error on all ranks -------------------------------------------------------------------------------

GOOD = np.ones(3)


@pytest.mark.parametrize(
    ("kind", "part", "vectors"),
    [
        (ValueError, "finite", [GOOD, np.array([1, np.nan, 1]), GOOD]),
        (TypeError, "float32 or float64", [GOOD, GOOD, np.ones(3, np.int64)]),
        (ValueError, "got shape", [GOOD, np.ones((1, 3)), GOOD]),
    ],
    ids=["nan", "integers", "matrix"],
)
@pytest.mark.parametrize("name", ["ring_allreduce", "reduce_scatter", "allgather", "allgatherv"])
def test_a_bad_vector_on_one_rank_is_an_error_on_all(name, kind, part, vectors):
    errors = []

    def program(comm):
        try:
            COLLECTIVES[name].on_rank(comm, vectors[comm.rank])
        except (TypeError, ValueError) as error:
            errors.append(error)

    run(program, 3)
    assert len(errors) == 3
    for error in errors:
        assert type(error) is kind
        assert part in str(error)


@pytest.mark.parametrize("name", ["ring_allreduce", "reduce_scatter", "allgather"])
@pytest.mark.parametrize("other", [np.ones(2), np.ones(3, np.float32)], ids=["length", "dtype"])
def test_vectors_must_be_of_one_length_and_dtype(name, other):
    with pytest.raises(TypeError, match="one length and dtype on all ranks"):
        run(lambda comm: COLLECTIVES[name].on_rank(comm, other if comm.rank == 1 else GOOD), 3)


def test_ragged_blocks_must_be_of_one_dtype():
    blocks = [GOOD, np.ones(2), np.ones(0, np.float32)]
    with pytest.raises(ValueError, match="dtype of block must be the same on all ranks"):
        run(lambda comm: collectives.allgatherv.on_rank(comm, blocks[comm.rank]), 3)


@pytest.mark.parametrize("name", ["reduce_scatter", "allgather", "allgatherv"])
def test_the_algorithm_must_be_known_and_the_same(name):
    twin = COLLECTIVES[name].on_rank
    with pytest.raises(ValueError, match="algorithm must be one of ring, recursive-doubling, bruck, got 'tree'"):
        run(lambda comm: twin(comm, GOOD, "tree"), 3)
    with pytest.raises(ValueError, match="algorithm must be the same on all ranks"):
        run(lambda comm: twin(comm, GOOD, ALGORITHMS[comm.rank]), 3)


# --- what they are made of --------------------------------------------------------------------------------------------


def block_of(rank):
    """Three arrays of lengths, dtypes and shapes that nobody else knows."""
    return (
        np.arange(rank % 3, dtype=np.int64) - rank,
        np.full((rank, 2), rank + 0.5, np.float32 if rank % 2 else np.float64),
        np.array([rank], np.uint8),
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("P", range(1, 10))
def test_blocks_of_any_arrays_are_gathered(algorithm, P):
    results, traffic = run(lambda comm: gathered(comm, block_of(comm.rank), algorithm), P)
    for result in results:
        assert len(result) == P
        for rank, block in enumerate(result):
            for got, own in zip(block, block_of(rank), strict=True):
                assert (got.dtype, got.shape, got.tobytes()) == (own.dtype, own.shape, own.tobytes())
    sizes = [sum(array.size for array in block_of(rank)) for rank in range(P)]
    assert traffic.as_dict() == gather_blocks(sizes, algorithm).as_dict()


def test_blocks_may_count_other_words():
    def size(block):
        return sum(array.nbytes for array in block)

    _, traffic = run(lambda comm: gathered(comm, block_of(comm.rank), "bruck", size), 5)
    sizes = [size(block_of(rank)) for rank in range(5)]
    assert traffic.as_dict() == gather_blocks(sizes, "bruck").as_dict()


def test_gathering_belongs_to_the_phase_of_the_caller():
    def program(comm):
        comm.phase("sizes")
        gathered(comm, (np.ones(1),))

    _, traffic = run(program, 3)
    assert {name: phase.steps for name, phase in traffic.phases.items()} == {"sizes": 2}


def test_the_own_block_is_handed_back_as_it_is():
    own = (np.ones(2), np.zeros(1))
    results, _ = run(lambda comm: gathered(comm, own), 1)
    assert results[0][0][0] is own[0]


@pytest.mark.parametrize("algorithm", ["tree", "", "Ring"])
def test_there_are_three_ways_to_gather(algorithm):
    with pytest.raises(ValueError, match="algorithm must be one of"):
        run(lambda comm: gathered(comm, (GOOD,), algorithm), 2)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("P", [1, 2, 3, 6, 8])
def test_schedules_are_carried_out_as_in_one_process(P, dtype):
    stack = np.random.default_rng(P).integers(-99, 99, (P, 2 * P + 1)).astype(dtype)
    schedules = [(ALLREDUCE[name][0](P), ALLREDUCE[name][1](P)) for name in ALLREDUCE]
    # messages that go over the end of the vector
    schedules.append(([Part("scatter", backwards(bruck(P)), True), Part("gather", bruck(P), False)], P))
    for parts, blocks in schedules:
        edges = even_cuts(stack.shape[1], blocks)
        expected = stack.copy()
        counted = carried_out(expected, edges, parts)

        def program(comm, parts=parts, edges=edges):
            held = stack[comm.rank].copy()
            carried_out_on_rank(comm, held, edges, parts)
            return held

        results, traffic = run(program, P)
        assert np.array(results).tobytes() == expected.tobytes()
        assert traffic.as_dict() == counted.as_dict()
