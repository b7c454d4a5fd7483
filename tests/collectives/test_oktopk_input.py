"""What Ok-Topk and its SGD refuse, and what they take."""

import numpy as np
import pytest

from commbounds.collectives import CONTROLLERS, Controller, OkTopkSGD, OkTopkState, oktopk_allreduce, oktopk_boundaries
from commbounds.collectives.oktopk import allreduce as oktopk

pytestmark = pytest.mark.kernels

GOOD = np.arange(12.0).reshape(3, 4)


def state(**changed):
    fields = {"t": 1, "k": 2, "local_thresholds": [1.0] * 3, "global_threshold": 1.0, "boundaries": [0, 1, 2, 4]}
    return OkTopkState(**{**fields, **changed})


@pytest.mark.parametrize(
    ("acc", "error", "says"),
    [
        (np.zeros((0, 4)), ValueError, r"at least one rank and one entry, got shape \(0, 4\)"),
        (np.zeros((3, 0)), ValueError, r"at least one rank and one entry, got shape \(3, 0\)"),
        (np.zeros(4), ValueError, r"acc must be \(P, n\), one row for every rank, got shape \(4,\)"),
        ([np.zeros(3), np.zeros(4)], TypeError, "rows of one length and dtype"),
        ([np.zeros(3), np.zeros(3, np.float32)], TypeError, "rows of one length and dtype"),
        (GOOD.astype(int), TypeError, "acc must be float32 or float64, got int64"),
        (GOOD.astype(np.float16), TypeError, "acc must be float32 or float64, got float16"),
        (GOOD.astype(complex), TypeError, "acc must be float32 or float64, got complex128"),
    ],
    ids=str,
)
def test_stacks(acc, error, says):
    with pytest.raises(error, match=says):
        oktopk_allreduce(acc, 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("given", [None, "state"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_that_are_not_finite(bad, given, dtype):
    acc = GOOD.astype(dtype)
    acc[1, 2] = bad
    with pytest.raises(ValueError, match="acc must be finite, got NaN or infinity"):
        oktopk_allreduce(acc, 2, given and state(local_thresholds=[1e300] * 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", [None, "state"])
def test_sums_that_overflow(dtype, given):
    acc = np.full((3, 4), np.finfo(dtype).max / 2, dtype)
    with pytest.raises(ValueError, match="acc must have finite sums over the ranks, got an overflow"):
        oktopk_allreduce(acc, 2, given and state(global_threshold=1e300))
    acc[0] = -acc[0]  # on the way there and back
    assert (oktopk_allreduce(acc, 2)[0].update == acc[1]).all()


@pytest.mark.parametrize("k", [0, -1, 5])
def test_k_out_of_range(k):
    with pytest.raises(ValueError, match=rf"k must be in \[1, 4\], got {k}"):
        oktopk_allreduce(GOOD, k)


@pytest.mark.parametrize("k", [1.0, True, "1", None])
def test_k_of_another_type(k):
    with pytest.raises(TypeError, match="k must be an integer"):
        oktopk_allreduce(GOOD, k)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"boundaries": "median"}, ValueError, "boundaries must be one of mean-of-quantiles, global-count, even"),
        ({"balance": "sometimes"}, ValueError, "balance must be one of always, never, 4x-mean, got 'sometimes'"),
        ({"allgather": "tree"}, ValueError, "allgather must be one of ring, bruck, recursive-doubling, got 'tree'"),
        ({"threshold": ">="}, ValueError, "threshold must be one of inclusive, strict, got '>='"),
        ({"tau": 0}, ValueError, "tau must be at least 1, got 0"),
        ({"tau_prime": 0}, ValueError, "tau_prime must be at least 1, got 0"),
        ({"tau": 1.5}, TypeError, "tau must be an integer, got 1.5"),
        ({"bucket": 0}, ValueError, "bucket must be at least 1, got 0"),
        ({"controller": "vgg"}, TypeError, "controller must be a Controller or None, got 'vgg'"),
    ],
    ids=str,
)
def test_options(options, error, says):
    with pytest.raises(error, match=says):
        oktopk_allreduce(GOOD, 1, **options)


def test_states_of_another_problem():
    for acc, k, says in (
        (GOOD[:2], 2, "state must be one of P = 2, got one of P = 3"),
        (GOOD[:, :3], 2, "state must be one of n = 3, got one of n = 4"),
        (GOOD, 3, "state must be one of k = 3, got one of k = 2"),
    ):
        with pytest.raises(ValueError, match=says):
            oktopk_allreduce(acc, k, state())


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"t": -1}, ValueError, "t must be at least 0, got -1"),
        ({"t": 0.5}, TypeError, "t must be an integer"),
        ({"k": 5}, ValueError, r"k must be in \[1, 4\], got 5"),
        ({"local_thresholds": [1.0]}, ValueError, r"got shapes \(1,\) and \(4,\)"),
        ({"local_thresholds": [1.0, -1.0, 1.0]}, ValueError, "local_thresholds must be finite and not negative"),
        ({"local_thresholds": [1.0, np.nan, 1.0]}, ValueError, "local_thresholds must be finite and not negative"),
        ({"global_threshold": np.inf}, ValueError, "global_threshold must be finite and not negative, got inf"),
        ({"boundaries": [0, 2, 1, 4]}, ValueError, "boundaries must go from 0 to n >= 1 and never descend"),
        ({"boundaries": [1, 1, 2, 4]}, ValueError, "boundaries must go from 0"),
        ({"boundaries": [0, 0, 0, 0]}, ValueError, "boundaries must go from 0"),
        ({"boundaries": [0.0, 1.0, 2.0, 4.0]}, TypeError, "boundaries must be integers, got float64"),
        ({"boundaries": [4], "local_thresholds": []}, ValueError, "with P >= 1"),
    ],
    ids=str,
)
def test_made_up_states(changed, error, says):
    with pytest.raises(error, match=says):
        state(**changed)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"low": 2}, "low must be in"),
        ({"low": -1}, "low must be in"),
        ({"local_step": 0.5}, "local_step must be finite and at least 1, got 0.5"),
        ({"global_up": np.nan}, "global_up must be finite"),
        ({"at_once_tries": -1}, "at_once_tries must be at least 0, got -1"),
    ],
    ids=str,
)
def test_controllers(changed, says):
    fields = {"low": 1, "local_high": 1, "global_high": 1, "local_step": 1, "global_down": 1, "global_up": 1}
    Controller(**fields)
    with pytest.raises(ValueError, match=says):
        Controller(**{**fields, **changed})


def test_thresholds_stay_finite():
    largest = np.finfo(np.float64).max
    assert CONTROLLERS["bert"].next_local(largest, 10, 1) == largest
    assert CONTROLLERS["vgg"].raised(largest) == largest
    assert CONTROLLERS["bert"].next_local(0.0, 0, 1) == 0.0


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (([], 4), ValueError, "selected must have one array for every rank, got none"),
        (([[0], [4]], 4), ValueError, r"ascending indices in range\(4\), got \[4\]"),
        (([[1, 0]], 4), ValueError, "ascending"),
        (([[1, 1]], 4), ValueError, "ascending"),
        (([[-1]], 4), ValueError, "ascending"),
        (([[[0]]], 4), ValueError, "ascending"),
        (([[0.0]], 4), TypeError, "selected must hold integers, got float64"),
        (([[0]], 0), ValueError, "n must be in"),
        (([[0]], 2**31), ValueError, "n must be in"),
        (([[0]], 4, "median"), ValueError, "rule must be one of"),
    ],
    ids=str,
)
def test_boundaries(given, error, says):
    with pytest.raises(error, match=says):
        oktopk_boundaries(*given)


def test_algorithms_of_boundaries():
    with pytest.raises(ValueError, match="allgather must be one of"):
        oktopk_boundaries([[0]], 4, allgather="tree")


def views(x):
    """Name -> the same numbers in another memory layout."""
    frozen = x.copy()
    frozen.flags.writeable = False
    return {
        "read-only": frozen,
        "columns first": np.asfortranarray(x),
        "every other": np.repeat(x, 2, axis=1)[:, ::2],
        "backwards": x[::-1, ::-1].copy()[::-1, ::-1],
        "other byte order": x.astype(x.dtype.newbyteorder()),
        "lists": x.tolist(),
        "rows": list(x),
    }


@pytest.mark.parametrize("name", views(GOOD))
def test_memory_layouts(name):
    acc = np.random.default_rng(0).standard_normal((3, 20))
    expected, given = oktopk_allreduce(acc, 5), views(acc)[name]
    kept = np.array(given)
    result, after, traffic = oktopk_allreduce(given, 5)
    assert result.update.tolist() == expected[0].update.tolist()
    assert after.boundaries.tolist() == expected[1].boundaries.tolist()
    assert traffic.as_dict() == expected[2].as_dict()
    assert np.array_equal(np.asarray(given), kept)


def test_returned_arrays_are_new():
    acc = np.random.default_rng(0).standard_normal((3, 20))
    result, after, _ = oktopk_allreduce(acc, 5)
    for array in (result.update, result.indices, *result.selected, after.boundaries, after.local_thresholds):
        assert not np.shares_memory(array, acc)
        assert array.base is None or array.base.size == array.size  # no hold on larger memory


def test_global_randomness_is_untouched():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002 - the global generator is what is looked at
    oktopk_allreduce(GOOD, 2)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_vectors_beyond_the_range_of_indices(monkeypatch):
    monkeypatch.setattr(oktopk, "MAX_ENTRIES", 3)
    with pytest.raises(ValueError, match=r"acc must have at most 2\*\*31 - 1 entries a rank, got 4"):
        oktopk_allreduce(GOOD, 2)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"k": 0}, ValueError, "k must be at least 1, got 0"),
        ({"step_size": 0}, ValueError, "step_size must be positive and finite, got 0"),
        ({"step_size": np.nan}, ValueError, "step_size must be positive and finite"),
        ({"accumulate": "momentum"}, ValueError, "accumulate must be one of scaled, raw"),
    ],
    ids=str,
)
def test_sgd(changed, error, says):
    with pytest.raises(error, match=says):
        OkTopkSGD(**{"k": 2, "step_size": 1.0, **changed})


def test_sgd_starts():
    sgd = OkTopkSGD(3, 1.0)
    for weights, P, error, says in (
        ([1.0, 2.0], 1, ValueError, r"k must be in \[1, 2\], got 3"),
        (np.ones(4), 0, ValueError, "P must be at least 1, got 0"),
        (np.ones(4, int), 1, TypeError, "weights must be float32 or float64"),
        (np.ones((2, 4)), 1, ValueError, "weights must be"),
        ([1.0, np.inf, 1.0], 1, ValueError, "weights must be finite"),
    ):
        with pytest.raises(error, match=says):
            sgd.start(weights, P)


def test_sgd_steps():
    sgd = OkTopkSGD(2, 1.0)
    start = sgd.start(np.ones(4), 3)
    for gradients, error, says in (
        (np.ones((2, 4)), ValueError, r"gradients must be \(P, n\) = \(3, 4\), as the state, got \(2, 4\)"),
        (np.ones((3, 5)), ValueError, r"gradients must be \(P, n\)"),
        (np.ones((3, 4), np.float32), TypeError, "gradients must be float64, as the weights, got float32"),
        (np.full((3, 4), np.nan), ValueError, "gradients must be finite"),
    ):
        with pytest.raises(error, match=says):
            sgd.step(gradients, start)
    with pytest.raises(ValueError, match="step_size must be positive"):
        sgd.step(np.ones((3, 4)), start, step_size=-1.0)
    with pytest.raises(ValueError, match="step_size times gradients must be finite"):
        sgd.step(np.full((3, 4), 1e308), start, step_size=10.0)
    with pytest.raises(ValueError, match="state must be one of k = 1, got one of k = 2"):
        OkTopkSGD(1, 1.0).step(np.ones((3, 4)), sgd.step(np.ones((3, 4)), start)[0])
