"""Ok-Topk against its naive twin: results, states and every phase's counts; edge cases; long vectors."""

import itertools
from dataclasses import replace

import numba
import numpy as np
import pytest

from commbounds.collectives import CONTROLLERS, OkTopkState, oktopk_allreduce, oktopk_boundaries
from commbounds.collectives.oktopk import regions, split, threshold_filter, winners
from commbounds.collectives.oktopk.split import split_and_reduce
from commbounds.collectives.oktopk.threshold_filter import least_keys, passing
from commbounds.compressors import _blocks
from commbounds.verify.definitions import oktopk as naive

pytestmark = pytest.mark.kernels

JIT = not numba.config.DISABLE_JIT
RULES = ("mean-of-quantiles", "global-count", "even")
BALANCE = ("always", "never", "4x-mean")
GATHERS = ("ring", "bruck", "recursive-doubling")


def plain(controller):
    """A controller as the twin takes it."""
    return controller and {
        "low": controller.low,
        "local_high": controller.local_high,
        "global_high": controller.global_high,
        "local_step": controller.local_step,
        "global_down": controller.global_down,
        "global_up": controller.global_up,
        "at_once_above": controller.at_once_above,
        "at_once_step": controller.at_once_step,
        "at_once_tries": controller.at_once_tries,
    }


def check(acc, k, state=None, *, boundaries="mean-of-quantiles", balance="always", threshold="inclusive", **options):
    """One iteration equals the twin's in everything; returns result and state."""
    P, n = acc.shape
    given = acc.copy()
    result, after, traffic = oktopk_allreduce(
        acc, k, state, boundaries=boundaries, balance=balance, threshold=threshold, **options
    )
    assert acc.tobytes() == given.tobytes()
    twin_state = state and {
        "t": state.t,
        "local": state.local_thresholds.tolist(),
        "global": state.global_threshold,
        "cuts": state.boundaries.tolist(),
    }
    twin_options = {**options, "controller": plain(options.get("controller"))}
    twin, twin_after, phases = naive.allreduce(
        acc.tolist(),
        k,
        twin_state,
        boundaries_rule=boundaries,
        balance_rule=balance,
        strict=threshold == "strict",
        rounded=lambda v: float(acc.dtype.type(v)),
        **twin_options,
    )
    assert result.update.dtype == acc.dtype
    assert result.update.shape == (n,)
    assert result.update.tolist() == twin["update"]
    assert result.indices.tolist() == twin["indices"]
    assert result.global_count == len(twin["indices"])
    assert [s.tolist() for s in result.selected] == twin["selected"]
    assert all(s.dtype == np.int64 for s in (*result.selected, result.indices, after.boundaries))
    for name in ("local_counts", "region_counts", "nonzero_sums", "winners"):
        assert getattr(result, name).tolist() == twin[name], name
        assert getattr(result, name).dtype == np.int64
    assert (after.t, after.k) == (twin_after["t"], k)
    assert after.local_thresholds.tolist() == twin_after["local"]
    assert after.global_threshold == twin_after["global"]
    assert after.boundaries.tolist() == twin_after["cuts"]
    assert list(traffic.phases) == list(naive.PHASES)
    for name, steps in phases.items():
        counted = traffic.phases[name].as_dict()
        assert counted == naive.counts(P, steps), name
    whole = naive.counts(P, list(itertools.chain(*phases.values())))
    assert {name: value for name, value in traffic.as_dict().items() if name != "phases"} == whole
    return result, after


def normal(rng, P, n):
    return rng.standard_normal((P, n))


def hot_layers(rng, P, n):
    return rng.standard_normal((P, n)) * np.where(np.arange(n) // 3 == rng.integers(0, -(-n // 3), (P, 1)), 50.0, 1.0)


def disjoint(rng, P, n):
    return np.where(np.arange(n) * P // n == np.arange(P)[:, None], rng.standard_normal((P, n)), 0.0)


def identical(rng, P, n):
    return np.tile(rng.standard_normal(n), (P, 1))


def small_integers(rng, P, n):
    return rng.integers(-2, 3, (P, n)).astype(float)


def signed_zeros(rng, P, n):
    return np.where(rng.random((P, n)) < 0.8, -0.0, rng.standard_normal((P, n)))


def cancelling(rng, P, n):
    row = rng.integers(1, 5, n).astype(float)
    return row * np.where(np.arange(P) % 2, -1.0, 1.0)[:, None] + (rng.random((P, n)) < 0.1)


def scales(rng, P, n):
    return rng.choice([-1, 1], (P, n)) * 10.0 ** rng.integers(-44, 37, (P, n))


FAMILIES = (normal, hot_layers, disjoint, identical, small_integers, signed_zeros, cancelling, scales)


def stack(family, P, n, seed, dtype):
    return family(np.random.default_rng(seed), P, n).astype(dtype)


@pytest.mark.parametrize("P", range(1, 7))
def test_the_identity_where_everything_is_asked_for(P):
    acc = stack(small_integers, P, 9, P, np.float64)
    result, _ = check(acc, 9)
    assert result.update.tolist() == acc.sum(axis=0).tolist()


def ordinary(acc, k, boundaries, *, local=None, top=0.0, **options):
    """An iteration with the boundaries given, and thresholds that select k entries, or those given."""
    if local is None:
        local = np.sort(np.abs(acc), axis=1)[:, -k]
    state = OkTopkState(1, k, local, top, boundaries)
    check(acc, k, state, **options)
    return oktopk_allreduce(acc, k, state, **options)


def test_one_rank_has_no_traffic():
    acc = np.array([[3.0, -0.0, 1.0, -2.0]])
    result, _, traffic = oktopk_allreduce(acc, 2)
    assert result.update.tolist() == [3.0, 0.0, 0.0, -2.0]
    assert result.selected[0].tolist() == [0, 3]
    whole = traffic.as_dict()
    assert (whole["sent"], whole["received"], whole["messages"], whole["steps"], whole["critical_path"]) == (
        [0],
        [0],
        [0],
        0,
        0,
    )


def test_ties_pass_an_inclusive_threshold_and_no_strict_one():
    acc = np.array([[2.0, -2.0, 2.0, 1.0], [2.0, 1.0, 0.0, 0.0]])
    result, _ = check(acc, 1)
    assert result.local_counts.tolist() == [3, 1]
    strict, state = check(acc, 1, threshold="strict")
    assert strict.local_counts.tolist() == [0, 0]
    assert not strict.update.any()
    assert state.boundaries.tolist() == [0, 2, 4]  # nobody has a quantile to propose


def test_a_strict_threshold_selects_one_entry_less():
    acc = stack(normal, 3, 50, 0, np.float64)
    result, _ = check(acc, 10, threshold="strict")
    assert result.local_counts.tolist() == [9, 9, 9]


@pytest.mark.parametrize("threshold", ["inclusive", "strict"])
def test_zeros_are_never_selected(threshold):
    acc = np.array([[0.0, -0.0, 3.0, 0.0], [-0.0, 0.0, 0.0, 0.0]])
    result, state = check(acc, 3, threshold=threshold)
    assert result.local_counts.tolist() == [1, 0]
    assert state.local_thresholds.tolist() == [0.0, 0.0]
    assert state.global_threshold == 0.0
    assert result.indices.tolist() == [2]


def test_nothing_at_all():
    for rule in RULES:
        result, state = check(np.zeros((4, 10)), 2, boundaries=rule)
        assert result.global_count == 0
        assert state.boundaries.tolist() == [0, 3, 6, 8, 10]


def test_cancelled_sums_stay_with_the_ranks():
    acc = np.array([[4.0, 1.0, 0.0], [-4.0, 0.0, 0.5]])
    result, _ = check(acc, 1)
    assert result.global_count == 0
    assert [s.tolist() for s in result.selected] == [[], []]
    assert result.region_counts.sum() == 2  # they were sent all the same
    result, state = check(acc, 2)
    assert result.indices.tolist() == [1, 2]
    assert [s.tolist() for s in result.selected] == [[1], [2]]
    assert state.global_threshold == 0.5


def test_fewer_sums_than_asked_for():
    acc = np.tile([0.0, 5.0, 0.0, 6.0, 0.0], (3, 1))
    result, state = check(acc, 4)
    assert result.indices.tolist() == [1, 3]
    assert state.global_threshold == 0.0


def test_fewer_entries_than_ranks_all_go_to_the_last_region():
    acc = np.zeros((4, 40))
    acc[:, [5, 20, 35]] = [[3.0, 2.0, 1.0]] * 4
    _, state = check(acc, 3)
    assert state.boundaries.tolist() == [0, 5, 5, 5, 40]
    _, state = check(acc, 3, boundaries="global-count")
    assert state.boundaries.tolist() == [0, 6, 21, 36, 40]


def test_a_strict_threshold_leaves_a_chunk_of_entries_to_the_last_region():
    acc = np.tile(np.arange(64.0, 0.0, -1.0), (8, 1))
    result, state = check(acc, 16, threshold="strict")
    assert result.local_counts.tolist() == [15] * 8
    assert state.boundaries.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 64]
    assert result.region_counts[0].tolist() == [1] * 7 + [8]


def test_sums_and_not_means_are_compared_with_the_global_threshold():
    acc = np.array([[3.0, 1.0], [3.0, 1.0], [3.0, 1.0]])
    result, _, _ = ordinary(acc, 2, [0, 1, 2, 2], local=np.zeros(3), top=3.0)
    assert result.update.tolist() == [9.0, 3.0]
    result, _, _ = ordinary(acc, 2, [0, 1, 2, 2], local=np.zeros(3), top=3.0, threshold="strict")
    assert result.update.tolist() == [9.0, 0.0]


def test_thresholds_are_compared_exactly():
    tenth = np.float32(0.1)  # above 0.1
    acc = np.array([[tenth, np.nextafter(tenth, np.float32(0))]])
    for th, mode, count in ((0.1, "inclusive", 1), (0.1, "strict", 1), (float(tenth), "inclusive", 1)):
        state = OkTopkState(1, 1, [th], 0.0, [0, 2])
        assert check(acc, 1, state, threshold=mode)[0].local_counts.tolist() == [count]
    state = OkTopkState(1, 1, [float(tenth)], 0.0, [0, 2])
    assert check(acc, 1, state, threshold="strict")[0].local_counts.tolist() == [0]
    state = OkTopkState(1, 1, [1e300], 0.0, [0, 2])  # beyond float32
    assert check(np.array([[np.finfo(np.float32).max, 1]], np.float32), 1, state)[0].local_counts.tolist() == [0]


def test_denormal_entries_are_not_zero():
    least = np.finfo(np.float32).smallest_subnormal
    result, _ = check(np.array([[least, 0.0], [0.0, -least]], np.float32), 2)
    assert result.indices.tolist() == [0, 1]


def test_sums_are_made_in_rank_order():
    acc = np.array([[1e16], [1.0], [-1e16], [1.0]])
    for cuts in itertools.combinations_with_replacement((0, 1), 3):  # whoever owns the entry
        for rotation in (True, False):
            result, _, _ = ordinary(acc, 1, [0, *cuts, 1], rotation=rotation)
            assert result.update.tolist() == [1.0]
    assert ordinary(acc[[0, 2, 1, 3]], 1, [0, 0, 0, 1, 1])[0].update.tolist() == [2.0]


def test_periods():
    acc = stack(normal, 3, 30, 0, np.float64)
    state, seen = None, []
    for t in range(9):
        _, state, traffic = oktopk_allreduce(np.roll(acc, t, axis=1), 6, state, tau=4, tau_prime=3)
        seen.append([name for name in ("repartition", "reevaluation") if traffic.phases[name].steps])
    both = ["repartition", "reevaluation"]
    assert seen == [both, [], [], both[1:], both[:1], [], both[1:], [], both[:1]]


def test_without_a_controller_thresholds_are_used_again():
    _, first = check(stack(normal, 3, 30, 0, np.float64), 6)
    _, second = check(stack(normal, 3, 30, 1, np.float64), 6, first)
    assert second.local_thresholds.tolist() == first.local_thresholds.tolist()
    assert second.global_threshold == first.global_threshold


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_bring_back_the_count(name):
    rng, state, counts = np.random.default_rng(0), None, []
    for t in range(40):
        acc = rng.standard_normal((2, 400)) * (1.5 if t else 1.0)
        result, state, _ = oktopk_allreduce(acc, 40, state, tau_prime=1000, controller=CONTROLLERS[name])
        counts.append(result.local_counts.mean() / 40)
    assert counts[1] > 1.25
    assert np.mean(counts[-5:]) < 1.6 < max(counts[1:3]) + 0.4
    assert np.mean(counts[-5:]) < counts[1]


def test_controllers_do_as_the_official_code():
    vgg, lstm, bert = (CONTROLLERS[name] for name in ("vgg", "lstm", "bert"))
    k = 60
    # the least and the largest count that leaves the local threshold alone, then the global one
    for c, local, top in ((vgg, (40, 75), (40, 80)), (lstm, (45, 75), (45, 75)), (bert, (48, 75), (48, 75))):
        for move, (least, most) in ((c.next_local, local), (c.next_global, top)):
            assert move(1.0, least, k) == move(1.0, most, k) == 1.0
            assert move(1.0, least - 1, k) < 1.0 < move(1.0, most + 1, k)
    assert [c.next_local(1.0, 99, k) for c in (vgg, lstm, bert)] == [1.012, 1.012, 1.025]
    assert [c.next_local(1.0, 0, k) for c in (vgg, lstm, bert)] == [1 / 1.012, 1 / 1.012, 1 / 1.025]
    assert [c.next_global(1.0, 99, k) for c in (vgg, lstm, bert)] == [1.008, 1.008, 1.025]
    assert [c.next_global(1.0, 0, k) for c in (vgg, lstm, bert)] == [1 / 1.008, 1 / 1.01, 1 / 1.036]
    assert [(c.at_once_above * 6, c.at_once_tries) for c in (vgg, lstm)] == [(8, 5), (9, 5)]
    assert bert.at_once_tries == 0


def test_a_threshold_is_raised_at_once():
    acc = np.tile(1.03 ** np.arange(20.0), (2, 1))
    state = OkTopkState(1, 6, [1.0, 1.03**18], 0.0, [0, 10, 20])
    result, after = check(acc, 6, state, controller=CONTROLLERS["vgg"])
    assert result.local_counts[0] < 20
    assert after.local_thresholds[0] == pytest.approx(1.03**5 * 1.012, rel=8 * 2.0**-52)  # five times, and once more
    assert result.local_counts[1] == 2


def test_buckets_make_fewer_steps():
    acc = stack(normal, 8, 80, 0, np.float64)
    _, state = check(acc, 16)
    alone = oktopk_allreduce(acc, 16, state)[2].phases["split"]
    for bucket, steps in ((2, 4), (4, 2), (7, 1), (50, 1)):
        many = oktopk_allreduce(acc, 16, state, bucket=bucket)[2].phases["split"]
        assert many.steps == steps
        assert (many.sent == alone.sent).all()
        assert (many.messages == 7).all()
        assert many.critical_path <= alone.critical_path


def test_rotation_keeps_receivers_busy():
    acc = np.ones((4, 8))
    rotated = ordinary(acc, 8, [0, 2, 4, 6, 8])[2].phases["split"]
    crowded = ordinary(acc, 8, [0, 2, 4, 6, 8], rotation=False)[2].phases["split"]
    assert (rotated.steps, rotated.critical_path) == (3, 12)
    assert (crowded.steps, crowded.critical_path) == (4, 48)
    assert rotated.sent.tolist() == crowded.sent.tolist()


def test_empty_regions_and_empty_messages():
    acc = np.ones((3, 6))
    result, _, traffic = ordinary(acc, 6, [0, 0, 6, 6])
    assert result.region_counts.tolist() == [[0, 6, 0]] * 3
    assert traffic.phases["split"].messages.tolist() == [2, 2, 2]
    assert traffic.phases["balance"].messages.tolist() == [0, 2, 0]
    assert traffic.phases["balance"].received.tolist() == [4, 0, 4]


def test_balancing_needs_more_than_four_times_the_mean():
    # 8 winners on 8 ranks: 4 on one rank are four times the mean, 5 are more
    for most, balanced in ((4, False), (5, True)):
        result, _, traffic = ordinary(np.ones((8, 8)), 8, [0, most, *([8] * 7)], balance="4x-mean")
        assert result.winners.tolist() == [most, 8 - most, 0, 0, 0, 0, 0, 0]
        assert (traffic.phases["balance"].steps > 0) == balanced


def test_the_kernels_in_plain_python_agree(monkeypatch):
    acc = stack(hot_layers, 5, 200, 3, np.float32)
    compiled = _flat(oktopk_allreduce(acc, 30, boundaries="global-count"))
    for module in (regions, split, winners, threshold_filter):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)
    assert _flat(oktopk_allreduce(acc, 30, boundaries="global-count")) == compiled


def _flat(returned):
    """Everything that an iteration returned, as comparable bytes and numbers."""
    result, state, traffic = returned
    arrays = [getattr(result, name) for name in ("update", "indices", "local_counts", "region_counts", "winners")]
    arrays += [*result.selected, result.nonzero_sums, state.local_thresholds, state.boundaries]
    return [a.tobytes() for a in arrays], state.global_threshold, state.t, traffic.as_dict()


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
@pytest.mark.parametrize("family", FAMILIES)
def test_shares_of_threads_meet_without_gap(family, threads, monkeypatch):
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    monkeypatch.setattr(_blocks, "get_num_threads", lambda: threads)
    state = None
    for t in range(2):
        _, state = check(stack(family, 7, 90, t, np.float32), 14, state, boundaries="global-count", tau=1)


@pytest.mark.skipif(not JIT, reason="long vectors need compiled kernels")
@pytest.mark.parametrize("family", [normal, hot_layers, disjoint, small_integers])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_vectors_on_one_and_two_threads(family, dtype, monkeypatch):
    P, n, k = 5, 300_000, 3000
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1000)
    before, seen = numba.get_num_threads(), []
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            state, found = None, []
            for t in range(3):
                acc = stack(family, P, n, t, dtype)
                returned = oktopk_allreduce(acc, k, state, tau=2, boundaries="global-count")
                state = returned[1]
                found.append(_flat(returned))
            seen.append(found)
    finally:
        numba.set_num_threads(before)
    assert all(found == seen[0] for found in seen)


@pytest.mark.skipif(not JIT, reason="long vectors need compiled kernels")
def test_a_long_vector_against_numpy():
    P, n, k = 4, (1 << 20) + 77, 9000
    acc = stack(normal, P, n, 0, np.float32)
    result, state, _ = oktopk_allreduce(acc, k)
    kept = np.abs(acc) >= state.local_thresholds[:, None].astype(np.float32)
    assert result.local_counts.tolist() == kept.sum(axis=1).tolist() == [k] * P
    total = np.zeros(n, np.float32)
    for row, keep in zip(acc, kept, strict=True):
        total += np.where(keep, row, np.float32(0))
    order = np.sort(np.abs(total))
    assert state.global_threshold == order[-k]
    assert (result.update == np.where(np.abs(total) >= order[-k], total, 0)).all()
    for keep, selected in zip(kept, result.selected, strict=True):
        assert selected.tolist() == np.flatnonzero(keep & (result.update != 0)).tolist()


def test_filter_makes_room_where_the_guess_is_too_low():
    acc = stack(normal, 3, 10_000 if JIT else 300, 0, np.float64)
    acc[1] = 0
    keys = least_keys(np.array([0.0, 1.0, 2.0]), acc.dtype, True)
    small, large = (passing(acc, keys, room) for room in (1, 10**9))
    assert small.counts.tolist() == large.counts.tolist() == [acc.shape[1], 0, (np.abs(acc[2]) >= 2).sum()]
    for p in range(3):
        for a, b in zip(small.entries(p), large.entries(p), strict=True):
            assert a.tolist() == b.tolist()


def test_boundaries_past_the_range_of_32_bits():
    n = 2**31 - 1
    high = [n - 40, n - 30, n - 20, n - 10]
    cuts, _ = oktopk_boundaries([high] * 4, n)
    assert cuts.tolist() == [0, n - 30, n - 20, n - 10, n]
    cuts, traffic = oktopk_boundaries([high] * 4, n, "global-count")
    assert cuts.tolist() == [0, n - 39, n - 29, n - 19, n]
    assert traffic.steps == 2 + 31 * (3 + 2)


def test_the_split_alone():
    acc = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 3.0, -2.0, 0.0]])
    chosen = passing(acc, least_keys(np.zeros(2), acc.dtype, True), 4)
    sums, counts, nonzero, traffic = split_and_reduce(chosen, np.array([0, 2, 4]), True, 1)
    assert sums.tolist() == [1.0, 3.0, 0.0, 0.0]
    assert counts.tolist() == [[1, 1], [1, 1]]
    assert nonzero.tolist() == [2, 0]
    assert traffic.sent.tolist() == traffic.received.tolist() == [2, 2]


@pytest.mark.parametrize("window", [1, 2, 7, 16, 64, 90])
@pytest.mark.parametrize("edges", [[0, 90], [0, 0, 0, 3, 4, 4, 80, 90, 90], [0, 15, 30, 45, 60, 75, 90], [0, 90, 90]])
@pytest.mark.parametrize("threads", [1, 3])
def test_regions_larger_and_smaller_than_what_is_summed_at_once(window, edges, threads, monkeypatch):
    monkeypatch.setattr(split, "_WINDOW", window)
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    monkeypatch.setattr(_blocks, "get_num_threads", lambda: threads)
    acc = stack(normal, 5, 90, window, np.float32)
    acc[1], acc[2, 40:] = 0, 0  # nothing of one rank, nothing in some regions of another
    chosen = passing(acc, least_keys(np.full(5, 0.5), acc.dtype, True), 90)
    total = np.zeros(90, np.float32)
    for row in acc:
        total += np.where(np.abs(row) >= 0.5, row, np.float32(0))
    sums, cuts, nonzero = split.summed_regions(chosen, np.array(edges))
    assert sums.tobytes() == total.tobytes()
    assert nonzero.tolist() == [np.count_nonzero(total[lo:hi]) for lo, hi in itertools.pairwise(edges)]
    assert cuts.tolist() == [[int((row < edge).sum()) for edge in edges] for row in chosen.rows()]


def test_states_are_values():
    local, cuts = np.ones(2), np.array([0, 1, 3])
    state = OkTopkState(1, 1, local, 1.0, cuts)
    local[0], cuts[1] = 5, 2
    assert state.local_thresholds.tolist() == [1.0, 1.0]
    assert state.boundaries.tolist() == [0, 1, 3]
    with pytest.raises(ValueError, match="read-only"):
        state.boundaries[1] = 0
    assert (state.P, state.n) == (2, 3)
    acc = np.ones((2, 3))
    again = [oktopk_allreduce(acc, 1, state) for _ in range(2)]
    assert _flat(again[0]) == _flat(again[1])
    assert replace(state, t=4).t == 4
