"""What every compressor promises besides its claims: checks that raise AssertionError where a promise is broken.

The same ones run on every compressor of the registry and on every mutant.
"""

import math
import random
from dataclasses import replace
from functools import cache

import numpy as np
from message_forms import check_form
from mutants.registry import EXAMPLES

from commbounds.compressors import COMPRESSORS, Coded, Sign, Signs
from commbounds.verify.joint_law import joint_log_e

VECTOR = np.array([0.75, -2.0, 0.0, 1.5, 1.5, -0.3, 5.0, -0.0, 2.0, -5.0, 0.1234])  # the last between any levels
MATRIX = np.array([[1.0, -2.0, 0.5, 0.0], [0.25, 3.0, -1.0, 1.0], [2.0, 0.0, -0.75, 1.5]])
FALSE_ALARM = 1e-9
"""Of `draws_follow_the_law`, for one compressor on one input."""
_DRAWS = 3000
_TILE, _PERIODS = 257, 800
"""A vector of 257 x 800 entries is cut into several blocks, none of them at a multiple of 257 but the first."""


@cache
def _admissible(name):
    """The columns' hyper-parameters for the compressor that suit the inputs here."""
    return [given for given in EXAMPLES[name] if _takes(COMPRESSORS[name](**given))]


def _takes(c):
    try:
        c.compress(input_for(c), generator(c))
    except ValueError:
        return False
    return True


def examples(name, cls):
    """The instances of `cls`, which stands for the compressor `name`, that the checks are run on."""
    return [cls(**given) for given in _admissible(name)]


def input_for(c, dtype=np.float64):
    return (MATRIX if c.ndim == 2 else VECTOR).astype(dtype)


def generator(c, seed=0):
    return np.random.default_rng(seed) if c.randomised else None


def same(a, b):
    """Equal entry by entry, with 0 and -0 equal."""
    return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())


def keeps_shape_and_dtype(c):
    for dtype in (np.float32, np.float64):
        x = input_for(c, dtype)
        message = c.compress(x, generator(c))
        y = c.decompress(message)
        assert y.shape == x.shape, f"shape {y.shape} for {x.shape}"
        assert y.dtype == dtype, f"dtype {y.dtype} for {x.dtype}"
        assert message.shape == x.shape, f"the message says shape {message.shape}"
        assert message.dtype == dtype, f"the message says dtype {message.dtype}"
        assert np.isfinite(y).all(), "output is not finite"


def leaves_the_input_alone(c):
    x = input_for(c)
    before = x.copy()
    c(x, generator(c))
    assert same(x, before), "the input was changed"
    x.setflags(write=False)
    c(x, generator(c))


def keeps_nothing_of_the_input(c):
    x = input_for(c)
    expected = c(x, generator(c))
    message = c.compress(x, generator(c))
    x[...] = 7.0
    y = c.decompress(message)
    assert same(y, expected), "the message changed with the input"
    y[...] = -7.0
    assert same(c.decompress(message), expected), "the message changed with the output"


def has_no_memory(c):
    x = input_for(c)
    expected = replace(c)(x, generator(c))
    c(-2.0 * x[::-1], generator(c, 1))
    assert same(c(x, generator(c)), expected), "the output depends on an earlier call"


def leaves_global_generators_alone(c):
    x = input_for(c)
    states, outputs = [], []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002  this is the generator that must not be used
        random.seed(seed)
        before = (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2])  # noqa: NPY002
        outputs.append(c(x, generator(c)))
        after = (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2])  # noqa: NPY002
        states.append(before == after)
    assert all(states), "a global generator was used"
    assert same(*outputs), "the output depends on a global generator"


def takes_any_layout(c):
    x = input_for(c, np.float32)
    expected = c(x, generator(c))
    spread = np.zeros(tuple(2 * s for s in x.shape), x.dtype)
    strided = spread[tuple(slice(None, None, 2) for _ in x.shape)]
    strided[...] = x
    swapped = x.astype(x.dtype.newbyteorder())
    for layout in (strided, np.asfortranarray(x), x[..., ::-1].copy()[..., ::-1], swapped):
        y = c(layout, generator(c))
        assert same(y, expected), "the output depends on the memory layout"


def refuses_other_dtypes(c):
    for dtype in (np.float16, np.int64, np.complex128, np.bool_):
        _refused(c, input_for(c).astype(dtype, casting="unsafe"), TypeError)


def refuses_what_is_no_finite_vector(c):
    for value in (np.nan, np.inf, -np.inf):
        x = input_for(c)
        x.flat[-1] = value
        _refused(c, x, ValueError)
    _refused(c, np.empty((0,) * c.ndim), ValueError)
    _refused(c, input_for(c)[None], ValueError)
    _refused(c, np.float64(1.0), ValueError)


def _refused(c, x, error):
    try:
        with np.errstate(all="ignore"):
            c.compress(x, generator(c))
    except error:
        return
    raise AssertionError(f"took {x.dtype} {x.tolist()}")


def uses_its_generator(c):
    if not c.randomised:
        assert same(c(input_for(c), np.random.default_rng(1)), c(input_for(c))), "not randomised, but uses a generator"
        return
    for other in (None, 0, np.random.RandomState(0)):
        try:
            c.compress(input_for(c), other)
        except TypeError:
            continue
        raise AssertionError(f"took {other!r} for a generator")
    outputs = {c(input_for(c), np.random.default_rng(seed)).tobytes() for seed in range(64)}
    assert len(outputs) > 1, "64 seeds gave one output"


def takes_the_zero_vector(c):
    for dtype in (np.float32, np.float64):
        y = c(np.zeros_like(input_for(c, dtype)), generator(c))
        fill = c.zero if isinstance(c, Sign) else 0
        assert (y == fill).all(), f"zeros became {y.tolist()}"


def takes_minus_zero_for_zero(c):
    x = input_for(c)
    x[x == 0] = 0.0
    minus = np.where(x == 0, -0.0, x)
    assert same(c(x, generator(c)), c(minus, generator(c))), "-0 is not treated as 0"


def message_is_well_formed(c):
    for dtype in (np.float32, np.float64):
        x = input_for(c, dtype)
        message = c.compress(x, generator(c))
        check_form(message, x)


def draws_follow_the_law(c):
    """The whole joint law of what ``compress`` makes of a generator, not entry by entry."""
    if not c.randomised or c.ndim == 2:
        return
    x = (1, -4, 3, 7, 5)
    rng = np.random.default_rng(20)
    array = np.array(x, dtype=np.float32)
    draws = (c(array, rng) for _ in range(_DRAWS))
    log_e = joint_log_e(c.law(x), draws)
    assert log_e < -math.log(FALSE_ALARM), f"the draws are not from the law: e-value exp({log_e:.1f})"


def long_vectors_are_treated_alike(c):
    """A kernel that takes one uniform an entry does the same to equal entries, wherever they stand."""
    if not hasattr(c, "compress_with"):
        if c.ndim == 2 or not isinstance(c.compress(input_for(c)), Coded | Signs):
            return
        x = np.tile(np.linspace(-3.0, 3.0, _TILE, dtype=np.float32), _PERIODS)
        y = c(x)
    elif isinstance(c.compress(input_for(c), generator(c)), Coded):
        x = np.tile(np.linspace(-3.0, 3.0, _TILE, dtype=np.float32), _PERIODS)
        u = np.tile(np.random.default_rng(5).random(_TILE, dtype=np.float32), _PERIODS)
        y = c.decompress(c.compress_with(x, u))
    else:
        return
    rows = y.reshape(_PERIODS, _TILE)
    assert (rows == rows[0]).all(), f"entry {int(np.argmax((rows != rows[0]).ravel()))} was treated unlike its equals"


def stretches_do_not_repeat(c):
    """No stretch of a long vector uses the randomness of another one, at any distance that is a power of two."""
    if not c.randomised or c.ndim == 2 or not isinstance(c.compress(input_for(c), generator(c)), Coded):
        return
    x = np.full(1 << 18, 0.6, dtype=np.float32)
    x[1::2] *= -1  # so that they deviate from their mean
    x[0] = 1.0
    codes = np.abs(c.compress(x, generator(c)).codes[1:])
    for lag in (1 << j for j in range(18)):
        assert (codes[lag:] != codes[:-lag]).any(), f"entries {lag} apart are always rounded alike"


CHECKS = (
    keeps_shape_and_dtype,
    leaves_the_input_alone,
    keeps_nothing_of_the_input,
    has_no_memory,
    leaves_global_generators_alone,
    takes_any_layout,
    refuses_other_dtypes,
    refuses_what_is_no_finite_vector,
    uses_its_generator,
    takes_the_zero_vector,
    takes_minus_zero_for_zero,
    message_is_well_formed,
    draws_follow_the_law,
    long_vectors_are_treated_alike,
    stretches_do_not_repeat,
)
"""Every check: a function of one compressor."""


def run(check, name, cls):
    """Run one check on every example of `cls`, which stands for the compressor `name`."""
    for c in examples(name, cls):
        check(c)


def broken(name, cls):
    """Names of the checks that `cls`, standing for the compressor `name`, does not pass, in order."""
    failed = []
    for check in CHECKS:
        try:
            run(check, name, cls)
        except Exception:
            failed.append(check.__name__)
    return failed
