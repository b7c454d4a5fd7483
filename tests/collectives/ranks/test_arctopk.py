"""ARC-Top-K rank by rank: the bits and words of one process; bad input is refused on all ranks."""

import numpy as np
import pytest
from rank_refusals import differences_with
from samples import first_of_each

from commbounds.collectives import arctopk_allreduce, ring_allreduce, row_count
from commbounds.collectives.ranks import ThreadWorld, one_program, parcel
from commbounds.verify.experiments.arctopk.definitions import DEFINITIONS, UNDECIDED
from commbounds.verify.experiments.arctopk.pairings import PAIRINGS
from commbounds.verify.own_callers import call_of
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
(PAIRING,) = PAIRINGS
ONES = np.ones((4, 2))


def differences(program, P=3):
    return differences_with(PAIRING, program, P)


def refused(arguments, error, message):
    """All three ranks raise the same."""

    def refusal(comm):
        given = {"gradient": ONES, "K": 2, "rank": 1, "sketch": [[1.0], [2.0]], **arguments(comm.rank)}
        with pytest.raises(error, match=message) as raised:
            arctopk_allreduce.on_rank(comm, **given)
        return str(raised.value)

    texts, _ = ThreadWorld().run(refusal, 3)
    assert len(set(texts)) == 1


@pytest.mark.parametrize("P", first_of_each((3, 4, 5, 2, 1), lambda _: "any number"))
def test_bits_and_words_are_those_of_one_process(P):
    found = compared(PAIRING, P, ThreadWorld())
    assert len(found) >= 21
    assert [agreement for agreement in found if agreement.difference] == []


def test_some_case_has_ranks_that_disagree():
    masks = []
    for case in PAIRING.rows(3):
        outcomes, _ = PAIRING.collective(case)
        masks.append(len({outcome["rows"].tobytes() for outcome in outcomes}))
    assert max(masks) > 1


def test_words_are_those_of_the_sketch_and_of_the_rows():
    P, m, n, rank = 3, 9, 6, 2
    K = row_count(m, 0.3)
    stack = np.random.default_rng(0).standard_normal((P, m, n))
    _, traffic = ThreadWorld().run(
        lambda comm: arctopk_allreduce.on_rank(comm, stack[comm.rank], K, rank, np.random.default_rng(1)), P
    )
    assert list(traffic.phases) == ["sketch", "rows"]
    assert [list(phase.phases) for phase in traffic.phases.values()] == [["reduce-scatter", "all-gather"]] * 2
    assert traffic.phases["sketch"].sent.tolist() == [2 * (P - 1) * m * rank // P] * P
    assert traffic.phases["rows"].sent.tolist() == [2 * (P - 1) * K * n // P] * P


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"gradient": np.full((4, 2), np.nan)}, ValueError, "gradient must be finite"),
        ({"gradient": np.ones((4, 2), int)}, TypeError, "gradient must be float32 or float64, got int64"),
        ({"gradient": np.ones(4)}, ValueError, r"gradient must be \(m, n\)"),
        ({"gradient": np.ones((0, 2))}, ValueError, "at least one row and column"),
        ({"gradient": np.ones((5, 2))}, ValueError, "the shape of gradients must be the same on all ranks"),
        ({"gradient": np.ones((4, 2), np.float32)}, ValueError, "the dtype of gradients must be the same"),
        ({"gradient": np.full((4, 2), 1e308)}, ValueError, "must be finite"),  # its sketch overflows
        ({"K": 5}, ValueError, r"K must be in \[1, 4\], got 5"),
        ({"K": 1}, ValueError, "K must be the same on all ranks"),
        ({"agree": False}, ValueError, "agree must be the same on all ranks"),
        ({"sketch": [[1.0], [3.0]]}, ValueError, "the checksum of the sketch matrix must be the same"),
        ({"sketch": [[1.0]]}, ValueError, r"sketch must have shape \(2, 1\)"),
        ({"sketch": None}, TypeError, "rng must be"),
        ({"sketch_format": "float8"}, ValueError, "sketch_format must be empty or one of"),
    ],
)
def test_what_is_bad_on_one_rank_is_refused_on_all(bad, changed, error, message):
    with np.errstate(over="ignore"):
        refused(lambda rank: changed if rank == bad else {}, error, message)


def test_seeds_must_be_shared():
    refused(
        lambda rank: {"sketch": None, "rng": np.random.default_rng(rank)},
        ValueError,
        "the checksum of the sketch matrix must be the same on all ranks",
    )


def test_a_program_that_scores_by_its_own_sketch_is_found():
    @one_program(np.stack)
    def selfish(comm, vector):
        ring_allreduce.on_rank(comm, vector)
        return comm.size * vector

    def with_selfish_sums(comm, case):
        given = dict(call_of(DEFINITIONS["arctopk_allreduce"], UNDECIDED.make(**case.settings)))
        own = given.pop("gradients")[comm.rank]
        return vars(arctopk_allreduce.on_rank(comm, own, **{**given, "allreduce": selfish}))

    assert any("mean" in difference or "rows" in difference for difference in differences(with_selfish_sums))


def test_indices_that_are_sent_are_found():
    def with_indices(comm, case):
        outcome = PAIRING.program(comm, case)
        comm.phase("rows")
        comm.step({(comm.rank + 1) % 3: parcel(outcome["rows"])}, [(comm.rank - 1) % 3])
        return outcome

    with pytest.raises(ValueError, match="every step must be of a phase, once there are phases, got 1 of rows"):
        list(differences(with_indices))

    def in_a_part(comm, case):
        outcome = PAIRING.program(comm, case)
        with comm.within("rows"):
            comm.phase("all-gather")
            comm.step({(comm.rank + 1) % 3: parcel(outcome["rows"])}, [(comm.rank - 1) % 3])
        return outcome

    assert all("traffic" in difference for difference in differences(in_a_part))


def test_a_mean_that_is_a_sum_is_found():
    def total(comm, case):
        outcome = PAIRING.program(comm, case)
        return {**outcome, "mean": comm.size * outcome["mean"]}

    assert any("mean" in difference for difference in differences(total))


def test_a_step_outside_of_all_phases_is_refused():
    def program(comm):
        comm.step()
        comm.phase("later")

    with pytest.raises(ValueError, match="every step must be of a phase, once there are phases, got 1 of none"):
        ThreadWorld().run(program, 2)
