"""Numbers near the largest: results are finite, arguments are refused, or the docstring says what comes of them."""

import inspect
import re
import warnings

import numpy as np
import pytest
from hostile_calls import _numbers
from hostile_faces import FACES
from hypothesis import HealthCheck, given, seed, settings
from test_fuzz import PUBLIC, arguments

DTYPES = (np.float16, np.float32, np.float64)


def near_the_largest(good, dtype):
    """Arrays of the shape of `good` whose sums, squares or products leave the range of the dtype."""
    largest, rng = np.finfo(dtype).max, np.random.default_rng(0)
    signs = rng.choice([-1, 1], good.shape)
    one = np.ones(good.size)
    one[:1] = largest
    arrays = (
        np.full(good.shape, largest),
        signs * largest,
        np.full(good.shape, largest / 2),
        signs * rng.uniform(0.5, 1.0, good.shape) * largest,
        signs * 4.0 * np.sqrt(largest),
        one.reshape(good.shape),
    )
    return [array.astype(dtype) for array in arrays]


def given_to(value):
    """Values near the largest in the place of a good one."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return [array for dtype in DTYPES for array in near_the_largest(value, dtype)]
    return [1.79e308, -1.79e308, 1e200] if isinstance(value, float) else []


def finite(value):
    return all(np.isfinite(array).all() for array in _numbers(value))


def says_so(call):
    return bool(re.search(r"infini|overflow|leave the range", inspect.getdoc(call) or "", re.IGNORECASE))


def infinite_from_finite(call, given_to_it):
    """Whether a call with finite arguments answers with what is not finite."""
    if not all(finite(value) for value in given_to_it.values()):
        return False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return not finite(call(**given_to_it))
    except (TypeError, ValueError, KeyError):  # the last of names that are not there
        return False


def sample(faces):
    """One of four runs by default."""
    return [
        pytest.param(face, id=face.name, marks=() if i % 4 == 0 else pytest.mark.wide) for i, face in enumerate(faces)
    ]


@pytest.mark.parametrize("face", sample(FACES))
def test_numbers_near_the_largest_give_finite_results_or_are_spoken_of(face):
    if not finite(face.call(**face.good())) or says_so(face.call):
        return  # limits that are infinite if none is given
    for name, value in face.good().items():
        for kind in given_to(value):
            assert not infinite_from_finite(face.call, {**face.good(), name: kind}), (name, kind)


SILENT = sorted(
    # claims and subjects have limits of time that are infinite if none is given
    name
    for name, call in PUBLIC.items()
    if not says_so(call) and ".conformance." not in call.__module__
)


@pytest.mark.wide
@pytest.mark.parametrize("name", SILENT)
def test_whatever_signatures_allow_gives_finite_results(name):
    """As the calls of `test_fuzz`, whose arrays hold the largest numbers too."""

    @seed(3)
    @settings(max_examples=20, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(arguments(PUBLIC[name]))
    def call(given_to_it):
        assert not infinite_from_finite(PUBLIC[name], given_to_it)

    call()


def test_means_of_the_largest_numbers_are_means():
    from commbounds import collectives as co
    from commbounds.compressors import TopK

    largest = np.finfo(np.float64).max
    stack, off = np.full((3, 2), largest), 6 * 2.0**-53  # three scalings, two additions, and the scaling back
    assert co.mean_of_compressed(stack, TopK(2)).tolist() == pytest.approx([largest] * 2, rel=off)
    arrived = np.ones((3, 3, 1), bool)
    reduced = co.lossy_reduce_scatter(stack, arrived)[0]
    assert reduced.estimate.tolist() == pytest.approx([largest] * 2, rel=off)
    squares, small = np.array([1.0, 2.0, 3.0]), co.kept_of_orthogonal_rows([1.0, 2.0, 3.0], 2, 2)[0]
    assert co.kept_of_orthogonal_rows(squares * 2.0**1000, 2, 2)[0] == small * 2.0**1000


def test_the_test_hears_an_infinity():
    assert infinite_from_finite(lambda x: x * 2, {"x": 1.79e308})
    assert not infinite_from_finite(lambda x: x * 2, {"x": np.inf})
    assert says_so(np.isinf)
    assert not says_so(len)
