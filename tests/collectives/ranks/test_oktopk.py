"""Ok-Topk rank by rank: the bits, the state and the traffic of one process, iteration by iteration."""

from dataclasses import replace
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from samples import each_once

from commbounds.collectives import CONTROLLERS, OkTopkSGD, oktopk_allreduce, oktopk_boundaries
from commbounds.collectives.oktopk.sgd_on_rank import OkTopkSGDRankState, oktopk_sgd_start, oktopk_sgd_step
from commbounds.collectives.oktopk.state import OkTopkRankState
from commbounds.collectives.ranks import LockstepWorld, Parcel, ThreadWorld
from commbounds.verify.experiments.oktopk.pairings import PAIRINGS
from commbounds.verify.pairing import compared

pytestmark = pytest.mark.kernels
OKTOPK, EXCHANGE = (import_module(f"commbounds.collectives.oktopk.{name}") for name in ("allreduce", "exchange"))
State, program = OkTopkRankState, oktopk_allreduce.on_rank
PAIRED = {pairing.name: pairing for pairing in PAIRINGS}
ALLREDUCE = PAIRED["oktopk_allreduce"]


def refused(program, P=3):
    """What all ranks say when they refuse it."""

    def said(comm):
        with pytest.raises((TypeError, ValueError)) as caught:
            program(comm)
        return f"{caught.type.__name__}: {caught.value}"

    (words,) = set(ThreadWorld().run(said, P)[0])
    return words


def differences(P=3):
    """What is said to differ."""
    return [agreement for agreement in compared(ALLREDUCE, P, LockstepWorld()) if agreement.difference]


EIGHT = pytest.param("oktopk_allreduce", 8, marks=pytest.mark.long)  # as many as the others take together
RUNS = [run for run in each_once(PAIRED, [3, 4, 5, 2, 8, 1]) if run.values != EIGHT.values]


@pytest.mark.parametrize(("name", "P"), [*RUNS, EIGHT])
def test_bits_state_and_traffic_are_those_of_one_process(name, P):
    found = compared(PAIRED[name], P, ThreadWorld())
    assert len(found) >= 10
    assert [agreement for agreement in found if agreement.difference] == []


def test_the_cases_reach_every_part_of_the_algorithm():
    moved, kept, changed = set(), set(), set()
    for case in (*ALLREDUCE.cases(5), *ALLREDUCE.rows(5)):
        outcomes, traffic = ALLREDUCE.collective(case)
        moved |= {name for name, phase in traffic.phases.items() if phase.sent.any()}
        if traffic.phases["balance"].sent.any():
            moved.add(case.settings.get("balance"))
        for before, after in pairwise(outcomes[0]["iterations"]):
            if before["t"] % (case.settings["tau_prime"] or 32):  # no re-evaluation
                same = before["local_threshold"] == after["local_threshold"]
                (kept if same else changed).add(case.settings.get("controller"))
    assert moved == {"repartition", "split", "reevaluation", "sizes", "balance", "allgather", "always", "4x-mean"}
    assert None in kept
    assert changed >= set(CONTROLLERS)


def test_the_input_stays_as_it_was():
    stack = np.random.default_rng(1).standard_normal((3, 20))
    frozen = stack.copy()
    frozen.flags.writeable = False
    ThreadWorld().run(lambda comm: program(comm, frozen[comm.rank], 4), 3)
    assert frozen.tobytes() == stack.tobytes()


def test_a_state_made_up_is_used():
    stack = np.random.default_rng(1).standard_normal((3, 20))
    _, state, _ = oktopk_allreduce(stack, 4)
    given = type(state)(7, 4, np.array([0.1, 0.9, 2.5]), 0.7, np.array([0, 2, 2, 20]))
    whole, after, _ = oktopk_allreduce(stack, 4, given)
    results, _ = ThreadWorld().run(lambda comm: program(comm, stack[comm.rank], 4, State.of(given, comm.rank)), 3)
    assert [result.local_count for result, _ in results] == whole.local_counts.tolist()
    for rank, (result, own) in enumerate(results):
        assert result.update.tobytes() == whole.update.tobytes()
        assert own.local_threshold == after.local_thresholds[rank]
        assert own.boundaries.tolist() == [0, 2, 2, 20]


# --- bad input on one rank only --------------------------------------------------------------------------------------

GOOD = np.arange(1.0, 9.0)
STALE = {"t": 1, "k": 2, "local_threshold": 1.0, "global_threshold": 1.0, "boundaries": [0, 3, 6, 8]}


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (np.where(GOOD == 3, np.nan, GOOD), "ValueError: acc must be finite, got NaN or infinity"),
        (np.where(GOOD == 3, -np.inf, GOOD), "ValueError: acc must be finite, got NaN or infinity"),
        (GOOD.astype(int), "TypeError: acc must be float32 or float64, got int64: convert it first"),
        (GOOD.astype(np.float32), "TypeError: acc must have one length and dtype on all ranks, got (8,) float64, (8,)"),
        (GOOD[:4], "ValueError: state must be one of n = 4, got one of n = 8"),
        (GOOD[np.newaxis], "ValueError: acc must be (n,), the entries of one rank, got shape (1, 8)"),
    ],
)
def test_a_bad_vector_of_one_rank_is_refused_on_all(vector, words, t):
    state = State(**{**STALE, "t": t})
    assert refused(lambda comm: program(comm, vector if comm.rank == 1 else GOOD, 2, state)).startswith(words)


def test_lengths_must_agree_in_the_first_iteration():
    words = refused(lambda comm: program(comm, GOOD[: 8 - comm.rank], 2))
    assert (
        words
        == "TypeError: acc must have one length and dtype on all ranks, got (8,) float64, (7,) float64, (6,) float64"
    )


@pytest.mark.parametrize(
    ("name", "value"), [("t", 2), ("t", 32), ("global_threshold", 2.0), ("boundaries", [0, 3, 7, 8])]
)
def test_states_must_agree(name, value):
    states = [State(**STALE), State(**STALE), State(**{**STALE, name: value})]
    words = refused(lambda comm: program(comm, GOOD, 2, states[comm.rank]))
    assert words == f"ValueError: state.{name} must be the same on all ranks, got {STALE[name]}, {STALE[name]}, {value}"


def test_thresholds_of_the_ranks_may_differ():
    results, _ = ThreadWorld().run(
        lambda comm: program(comm, GOOD, 2, State(**{**STALE, "local_threshold": 3.0 * comm.rank})), 3
    )
    assert [result.local_count for result, _ in results] == [8, 6, 3]


def test_a_state_of_another_request_is_refused():
    assert refused(lambda comm: program(comm, GOOD, 3 if comm.rank else 2, State(**STALE))) == (
        "ValueError: state must be one of k = 3, got one of k = 2"
    )
    assert refused(lambda comm: program(comm, GOOD, 2, State(**STALE)), 2) == (
        "ValueError: state must be one of P = 2, got one of P = 3"
    )
    with pytest.raises(ValueError, match="local_threshold"):
        State(**{**STALE, "local_threshold": np.nan})
    with pytest.raises(ValueError, match="boundaries must go from 0"):
        State(**{**STALE, "boundaries": [0, 5, 3, 8]})
    with pytest.raises(ValueError, match="boundaries must be"):
        State(**{**STALE, "boundaries": np.zeros(0, int)})


@pytest.mark.parametrize(
    ("option", "one", "other"),
    [
        ("rotation", True, False),
        ("bucket", 1, 2),
        ("boundaries", "even", "global-count"),
        ("balance", "never", "always"),
    ],
)
def test_options_must_agree(option, one, other):
    words = refused(lambda comm: program(comm, GOOD, 2, **{option: other if comm.rank == 2 else one}))
    assert words == f"ValueError: {option} must be the same on all ranks, got {one!r}, {one!r}, {other!r}"


def test_an_option_that_does_not_exist_on_one_rank_is_refused_on_all():
    assert refused(lambda comm: program(comm, GOOD, 2, bucket=0 if comm.rank == 2 else 1)) == (
        "ValueError: bucket must be at least 1, got 0"
    )
    assert (
        refused(lambda comm: program(comm, GOOD, 9 if comm.rank == 2 else 2))
        == "ValueError: k must be in [1, 8], got 9"
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sum_that_overflows_at_one_owner_is_refused_on_all(dtype):
    vector = np.full(8, 1.0, dtype)
    vector[7] = np.finfo(dtype).max  # in the last region alone
    words = refused(lambda comm: program(comm, vector, 8))
    assert words == "ValueError: acc must have finite sums over the ranks, got an overflow"


def test_boundaries_of_bad_indices_are_refused_on_all():
    boundaries = oktopk_boundaries.on_rank
    assert refused(lambda comm: boundaries(comm, [3, 1] if comm.rank == 1 else [1, 3], 8)) == (
        "ValueError: selected must hold ascending indices in range(8), got [3, 1]"
    )
    assert refused(lambda comm: boundaries(comm, [1, 3], 8 + comm.rank)) == (
        "ValueError: n must be the same on all ranks, got 8, 9, 10"
    )


# --- the descent -----------------------------------------------------------------------------------------------------

SGD = OkTopkSGD(2, 0.5)


def started(weights=GOOD):
    return OkTopkSGDRankState(weights, np.zeros_like(weights))


def test_a_descent_starts_from_the_same_weights():
    results, _ = ThreadWorld().run(lambda comm: oktopk_sgd_start(comm, SGD, GOOD), 3)
    for state in results:
        assert state.weights.tolist() == GOOD.tolist()
        assert state.residual.tolist() == [0] * 8
        assert state.allreduce is None
    words = refused(lambda comm: oktopk_sgd_start(comm, SGD, GOOD + (comm.rank == 2)))
    assert words.startswith("ValueError: weights (by their digest) must be the same on all ranks, got")
    assert (
        refused(lambda comm: oktopk_sgd_start(comm, OkTopkSGD(9, 0.5), GOOD))
        == "ValueError: k must be in [1, 8], got 9"
    )


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        (GOOD * np.nan, "ValueError: gradient must be finite, got NaN or infinity"),
        (GOOD.astype(np.float32), "TypeError: gradient must be float64, as the weights, got float32"),
        (GOOD[:3], "ValueError: gradient must be (n,) = (8,), as the weights, got (3,)"),
    ],
)
def test_a_bad_gradient_of_one_rank_is_refused_on_all(gradient, words):
    given = [GOOD, GOOD, gradient]
    assert refused(lambda comm: oktopk_sgd_step(comm, SGD, given[comm.rank], started())) == words
    held, words = [np.zeros(8), np.zeros(8), gradient], words.replace("gradient", "residual")
    assert (
        refused(lambda comm: oktopk_sgd_step(comm, SGD, GOOD, OkTopkSGDRankState(GOOD, held[comm.rank], None))) == words
    )


def test_a_step_size_of_one_rank_is_refused_on_all():
    assert refused(lambda comm: oktopk_sgd_step(comm, SGD, GOOD, started(), 0.25 if comm.rank else None)) == (
        "ValueError: step_size must be the same on all ranks, got 0.5, 0.25, 0.25"
    )
    assert refused(lambda comm: oktopk_sgd_step(comm, SGD, GOOD, started(), 0.0 if comm.rank else None)) == (
        "ValueError: step_size must be positive and finite, got 0.0"
    )


# --- programs with a defect ------------------------------------------------------------------------------------------


def test_a_program_that_forgets_the_rotation(monkeypatch):
    kept = EXCHANGE.split_on_rank
    monkeypatch.setattr(OKTOPK, "split_on_rank", lambda comm, pieces, _, *rest: kept(comm, pieces, False, *rest))
    found = differences()
    assert found
    assert all(agreement.traffic and not agreement.bits for agreement in found)
    assert not any("rotation=False" in agreement.case for agreement in found)


def test_a_program_that_counts_indices_only(monkeypatch):
    monkeypatch.setattr(EXCHANGE, "parcel", lambda *arrays: Parcel(arrays, arrays[0].size))
    found = differences()
    assert found
    assert all(agreement.traffic and not agreement.bits for agreement in found)


def test_a_program_that_adds_in_order_of_arrival(monkeypatch):
    def by_arrival(comm, *given):
        parts = kept(comm, *given)
        return [parts[(comm.rank - s) % comm.size] for s in range(comm.size)]

    kept = EXCHANGE.split_on_rank
    monkeypatch.setattr(OKTOPK, "split_on_rank", by_arrival)
    found = differences()
    assert found
    assert all(agreement.bits for agreement in found)
    assert differences(2) == []  # the sum of two is the same either way


def test_a_program_that_finds_the_global_threshold_in_its_own_region(monkeypatch):
    def alone(comm, sums, start, n, k, allgather):
        everything = np.zeros(n, sums.dtype)
        everything[start : start + sums.size] = sums
        return OKTOPK._kth_largest(everything, k)

    monkeypatch.setattr(OKTOPK, "_reevaluated", alone)
    with pytest.raises(ValueError, match=r"state\.global_threshold must be the same on all ranks, got"):
        differences()


def test_a_program_that_never_raises_its_threshold_at_once(monkeypatch):
    def late(rows, k, thresholds, options, fresh):
        alone = replace(options, controller=None) if len(rows) == 1 else options  # all ranks at once select as before
        return kept(rows, k, thresholds, alone, fresh)

    kept = OKTOPK._selection
    monkeypatch.setattr(OKTOPK, "_selection", late)
    found = differences()
    assert found
    assert not any("controller=None" in agreement.case for agreement in found)


def test_a_program_that_balances_whatever_the_rule(monkeypatch):
    monkeypatch.setattr(OKTOPK, "evened_out", lambda winners, balance: True)
    found = differences()
    assert found
    assert all("balance=" in agreement.case and agreement.traffic and not agreement.bits for agreement in found)
