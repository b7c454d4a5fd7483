"""What every compressor promises, whatever it does: one battery over the registry."""

import pickle
import sys
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction

import numba
import numpy as np
import pytest
from mutants.registry import EXAMPLES, LOSSLESS
from numba.core.dispatcher import Dispatcher

from commbounds.compressors import COMPRESSORS, Compressor, Message, _blocks
from commbounds.theory import claims

pytestmark = pytest.mark.kernels

DTYPES = [np.float32, np.float64]
INSTANCES = [COMPRESSORS[name](**given) for name, examples in EXAMPLES.items() for given in examples]

every = pytest.mark.parametrize("c", INSTANCES, ids=str)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def shaped(c, values, dtype):
    """The 20 values as what `c` compresses."""
    return np.array(values, dtype).reshape((20,) if c.ndim == 1 else (4, 5))


def inputs(c, dtype):
    """Name -> 20 entries of every kind."""
    rng = np.random.default_rng(20)
    normal = rng.standard_normal(20)
    vectors = {
        "normal": normal,
        "zeros": np.zeros(20),
        "negative zeros": -np.zeros(20),
        "all equal": np.full(20, -1.7),
        "ties": rng.integers(-2, 3, 20),
        "one entry": np.eye(20)[13] * -0.3,
        "two entries": np.eye(20)[13] + 1e-3 * np.eye(20)[2],
        "all negative": -1 - abs(normal),
        "one huge entry": normal + 1e20 * np.eye(20)[7],
        "large": normal * 1e30,
        "small": normal * 1e-36,
        "denormal": np.arange(20) * float(np.finfo(dtype).smallest_subnormal),
        "rank one": np.outer([1, -2, 0.5, 3], normal[:5]).ravel(),
    }
    return {name: shaped(c, values, dtype) for name, values in vectors.items()}


def rng(seed=0):
    return np.random.default_rng(seed)


def content(message):
    """Everything that a message holds, for comparison."""
    return [
        (v.dtype, v.shape, v.tobytes()) if isinstance(v, np.ndarray | np.generic) else v
        for v in (getattr(message, f.name) for f in fields(message))
    ]


def arrays(message):
    return [v for f in fields(message) if isinstance(v := getattr(message, f.name), np.ndarray)]


def test_the_battery_covers_the_registry():
    assert list(EXAMPLES) == list(COMPRESSORS)
    assert all(name == cls.__name__ and issubclass(cls, Compressor) for name, cls in COMPRESSORS.items())


@every
@every_dtype
def test_output_has_the_shape_and_dtype_of_the_input_and_is_finite(c, dtype):
    for x in inputs(c, dtype).values():
        message = c.compress(x, rng())
        assert isinstance(message, Message)
        assert (message.shape, message.dtype) == (x.shape, x.dtype)
        out = c.decompress(message)
        assert (type(out), out.shape, out.dtype) == (np.ndarray, x.shape, x.dtype)
        assert np.isfinite(out).all()
        assert c(x, rng()).tobytes() == out.tobytes()


@every
@every_dtype
def test_bits_is_a_count(c, dtype):
    for x in inputs(c, dtype).values():
        bits = c.compress(x, rng()).bits
        assert type(bits) is int
        assert bits >= 0


@every
@every_dtype
def test_the_input_is_neither_mutated_nor_kept(c, dtype):
    for x in inputs(c, dtype).values():
        before = x.tobytes()
        message = c.compress(x, rng())
        out = c.decompress(message)
        assert x.tobytes() == before
        kept = [content(message), out.tobytes()]
        assert not any(np.shares_memory(a, b) for a in (x, out) for b in (*arrays(message), x) if a is not b)
        x += 1
        assert [content(message), c.decompress(message).tobytes()] == kept


@every
@every_dtype
def test_the_memory_layout_of_the_input_does_not_matter(c, dtype):
    x = inputs(c, dtype)["normal"]
    expected = content(c.compress(x, rng()))
    spread = np.repeat(x, 2, axis=0)[::2]
    read_only = x.copy()
    read_only.flags.writeable = False
    reversed_twice = x[::-1].copy()[::-1]
    swapped = x.astype(x.dtype.newbyteorder())
    for variant in (spread, read_only, reversed_twice, np.asfortranarray(x), swapped):
        assert content(c.compress(variant, rng())) == expected


@every
@every_dtype
def test_the_same_seed_gives_the_same_message(c, dtype):
    for x in inputs(c, dtype).values():
        assert content(c.compress(x, rng(5))) == content(c.compress(x, rng(5)))


@every
def test_only_randomised_compressors_draw_and_never_from_the_global_generator(c):
    x, generator = inputs(c, np.float64)["normal"], rng()
    legacy = np.random.get_state()[1].tobytes()  # noqa: NPY002 - that it stays untouched is the point
    fresh = generator.bit_generator.state
    c(x, generator)
    assert (generator.bit_generator.state != fresh) == c.randomised
    assert np.random.get_state()[1].tobytes() == legacy  # noqa: NPY002


@every
def test_a_missing_generator_is_refused_exactly_where_it_is_needed(c):
    x = inputs(c, np.float64)["normal"]
    if not c.randomised:
        assert content(c.compress(x)) == content(c.compress(x, rng()))
        return
    for missing in (None, 0, np.random.PCG64(0)):
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
            c.compress(x, missing)


@every
@every_dtype
def test_zeros_stay_zeros(c, dtype):
    if COMPRESSORS["Sign"] is type(c) and c.zero == 1:
        assert (c(inputs(c, dtype)["zeros"]) == 1).all()
        return
    for name in ("zeros", "negative zeros"):
        assert not c(inputs(c, dtype)[name], rng()).any()


@pytest.mark.parametrize("c", LOSSLESS, ids=str)
@every_dtype
def test_keeping_everything_is_the_identity(c, dtype):
    for x in inputs(c, dtype).values():
        if not isinstance(c, COMPRESSORS["HardThreshold"]):
            assert c(x, rng()).tobytes() == x.tobytes()
        else:
            assert (c(x, rng()) == x).all()


@pytest.mark.parametrize(("name", "given"), [(name, examples[0]) for name, examples in EXAMPLES.items()])
@every_dtype
def test_one_entry(name, given, dtype):
    c = COMPRESSORS[name](**given)
    for value in (1.0, -3.25, 0.0, 1e-30):
        x = np.full((1,) * c.ndim, value, dtype)
        message = c.compress(x, rng())
        out = c.decompress(message)
        assert (out.shape, out.dtype) == (x.shape, x.dtype)
        assert np.isfinite(out).all()
        assert message.bits <= 3 * 8 * x.itemsize


@every
@every_dtype
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_entries_are_refused(c, dtype, bad):
    for at in (0, 7, 19):
        x = inputs(c, dtype)["normal"].copy()
        x.flat[at] = bad
        with pytest.raises(ValueError, match="finite"):
            c.compress(x, rng())


@every
@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.int8, np.complex64, bool, object])
def test_other_dtypes_are_refused_with_advice(c, dtype):
    with pytest.raises(TypeError, match=r"x must be float32 or float64, got .*astype\(np\.float32\)"):
        c.compress(np.ones((4, 5)[: c.ndim], dtype), rng())


@every
def test_other_shapes_are_refused(c):
    for shape in ((), (4, 5, 6), (20,) if c.ndim == 2 else (4, 5)):
        with pytest.raises(ValueError, match="x must have"):
            c.compress(np.ones(shape), rng())
    for shape in ((0,),) if c.ndim == 1 else ((0, 5), (4, 0)):
        with pytest.raises(ValueError, match="x must not be empty"):
            c.compress(np.ones(shape), rng())


@every
def test_compressors_are_frozen_equal_by_value_and_travel(c):
    again = pickle.loads(pickle.dumps(c))
    assert again == c
    assert hash(again) == hash(c)
    x = inputs(c, np.float32)["normal"]
    assert content(again.compress(x, rng())) == content(c.compress(x, rng()))
    message = pickle.loads(pickle.dumps(c.compress(x, rng())))
    assert c.decompress(message).tobytes() == c(x, rng()).tobytes()
    for f in fields(c):
        with pytest.raises(FrozenInstanceError):
            setattr(c, f.name, getattr(c, f.name))


@every
def test_its_claims_are_in_the_book(c):
    assert c.claims
    assert set(c.claims) <= set(claims())
    assert {claims()[name].subject for name in c.claims} == {type(c).__name__.lower()}


def takes(c, x):
    """Whether `c` can compress `x`: whether its hyper-parameters suit so few entries."""
    try:
        c.compress(np.array(x, np.float64), rng())
    except ValueError:
        return False
    return True


@every
def test_the_law_is_a_distribution(c):
    for x in ([1, -2, Fraction(1, 2), 1, -1], [0, 0, 0], [0.5, 0.5, -0.5], [3]):
        rows = [x] if c.ndim == 2 else x
        if isinstance(c, COMPRESSORS["PowerSGD"]):
            with pytest.raises(ValueError, match="Gaussian"):
                c.law(rows)
        elif not takes(c, rows):
            with pytest.raises(ValueError, match="must be in"):
                c.law(rows)
        else:
            law = c.law(rows)
            assert abs(sum(p for p, _ in law) - 1) == 0
            assert all(p > 0 for p, _ in law)
            assert len({output for _, output in law}) == len(law)
            assert all(len(output) == len(x) for _, output in law)
            assert len(law) == 1 or c.randomised


@every
@every_dtype
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is nothing to compare with")
def test_compiled_kernels_do_what_their_source_says(c, dtype, monkeypatch):
    compiled = {name: content(c.compress(x, rng())) for name, x in inputs(c, dtype).items()}
    outputs = {name: c(x, rng()).tobytes() for name, x in inputs(c, dtype).items()}
    monkeypatch.setattr(_blocks, "PLAIN", True)
    replaced = 0
    for module in [m for name, m in sys.modules.items() if name.startswith("commbounds.compressors.")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)
                replaced += 1
    assert replaced
    for name, x in inputs(c, dtype).items():
        assert content(c.compress(x, rng())) == compiled[name]
        assert c(x, rng()).tobytes() == outputs[name]


@every
@every_dtype
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="long vectors need compiled kernels")
def test_results_do_not_depend_on_the_number_of_threads(c, dtype, monkeypatch):
    n = 3 * _blocks.BLOCK + 77
    x = rng().standard_normal(n).astype(dtype) if c.ndim == 1 else rng().standard_normal((300, 70)).astype(dtype)
    monkeypatch.setattr(_blocks, "_SERIAL_BELOW", 1)
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(_blocks, "get_num_threads", lambda threads=threads: threads)
        message = c.compress(x, rng())
        results.append((content(message), c.decompress(message).tobytes()))
    assert results[0] == results[1] == results[2]


@every
@every_dtype
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="there is nothing compiled")
def test_no_kernel_is_compiled_once_more_for_a_read_only_array(c, dtype):
    modules = [m for name, m in sys.modules.items() if name.startswith("commbounds.compressors.")]
    kernels = list({id(v): v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}.values())

    def variants():
        return [(kernel.py_func.__qualname__, len(kernel.overloads)) for kernel in kernels]

    for x in inputs(c, dtype).values():
        expected = c(x, rng()).tobytes()
        before = variants()
        frozen = x.copy()
        frozen.flags.writeable = False
        assert c(frozen, rng()).tobytes() == expected
        assert variants() == before
