"""What arrives over a network may be anything: an altered message is refused, or read as what it says; never a crash.

Alterations are generated from the fields of every class of messages. The kernels run with bounds checking in `.ci/run`.
"""

import random
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest
from mutants.registry import EXAMPLES
from numba import config

from commbounds.compressors import COMPRESSORS, MECHANISMS, Message

pytestmark = pytest.mark.kernels

KINDS = {**COMPRESSORS, **{name: kind for name, kind in MECHANISMS.items() if hasattr(kind, "decompress")}}
BLOCKS = ("Microscaling", "StochasticMicroscaling", "NVFP4", "StochasticNVFP4", "FourOverSix", "StochasticFourOverSix",
          "SharedMicroexponents", "MSEden")  # fmt: skip
GROUPS = ({"width": 3, "group": 8}, {"width": 8, "spikes": True, "group": 4}, {"width": 4, "zero": "integer"})
"""Mechanisms that compress vectors: with their defaults, and group quantisers."""
SUBJECTS = [
    *(COMPRESSORS[name](**given) for name, examples in EXAMPLES.items() for given in examples if name in COMPRESSORS),
    *(MECHANISMS[name]() for name in BLOCKS),
    *(MECHANISMS["GroupQuantizer"](**given) for given in GROUPS),
    *(MECHANISMS["StochasticGroupQuantizer"](**given) for given in GROUPS[:2]),
]


def decompressed(c, message):
    """What the compressor reads; without the JIT, numpy's warnings of what kernels compute are none of its own."""
    with np.errstate(over="ignore") if config.DISABLE_JIT else nullcontext():
        return c.decompress(message)


def messages(c):
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        for n in (1, 20, 67):
            x = rng.standard_normal(n if c.ndim == 1 else (4, 5)).astype(dtype)
            try:
                yield c.compress(x, np.random.default_rng(1))
            except ValueError:  # k above n: refused before anything is sent
                continue


def arrays(part):
    """An array, altered in every way."""
    yield part[:-1], "an entry short"
    yield np.concatenate([part, part[-1:]]) if part.size else np.zeros(1, part.dtype), "an entry more"
    yield part[..., None], "another dimension"
    yield part[:0], "empty"
    yield part.tolist(), "a list"
    yield part.astype(np.complex128), "complex"
    yield part.astype(part.dtype.newbyteorder()), "the other byte order"
    yield part.astype(np.int64 if part.dtype.kind == "f" else np.float64), "another dtype"
    yield part.astype(object), "objects"
    yield np.ma.masked_array(part, np.arange(part.size).reshape(part.shape) % 2 == 0), "masked"
    yield part.view(Subclass), "of a subclass"
    yield part.view(Lying), "of another shape than it says"
    yield (part, part[:0]), "arrays of several shapes"
    yield part.reshape(-1)[:1].reshape(()) if part.size else np.zeros((), part.dtype), "without dimensions"
    yield np.repeat(part, 2, axis=-1)[..., ::2], "not contiguous"
    yield np.broadcast_to(part.reshape(-1)[:1].reshape((1,) * part.ndim), part.shape) if part.size else part, "repeated"
    kind = np.finfo(part.dtype) if part.dtype.kind == "f" else np.iinfo(part.dtype)
    for value in (kind.min, kind.max, *([np.nan, np.inf] if part.dtype.kind == "f" else ())):
        for place in {0, part.size - 1} if part.size else ():
            altered = part.copy()
            altered.reshape(-1)[place] = value
            yield altered, f"{value} at {place}"
    if part.dtype.kind in "iu":
        yield part + part.dtype.type(1), "every entry one more"
        yield part[::-1].copy(), "backwards"
        yield part // 2 * 2, "some twice"
        yield np.resize(part[::-1], part.shape), "not ascending"
        yield part.astype(bool), "truths"
        for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            if np.dtype(dtype) != part.dtype:
                yield part.astype(dtype), f"as {dtype}"
        yield part.view("m8[s]" if part.dtype.itemsize == 8 else f"V{part.dtype.itemsize}"), "of no number"
    else:
        for dtype in (np.float16, np.longdouble, f"V{part.dtype.itemsize}"):
            yield part.astype(dtype) if np.dtype(dtype).kind == "f" else part.view(dtype), f"as {dtype}"
        yield -np.abs(part), "all negative"
        yield np.full_like(part, np.finfo(part.dtype).smallest_subnormal), "all least"
        yield np.full_like(part, -0.0), "negative zeros"
        yield np.full_like(part, np.nan), "all NaN"
    yield np.full(part.shape, np.datetime64(1, "s")), "dates"
    yield np.full(part.shape, "1"), "texts"
    yield np.empty((0, *part.shape), part.dtype), "none of them"
    yield np.lib.stride_tricks.as_strided(part.copy(), part.shape, (0,) * part.ndim), "one entry of all"
    yield memoryview(part.tobytes()), "memory"
    yield part.tobytes(), "bytes"
    yield np.ma.masked_array(part), "with no mask"
    yield part.view(np.recarray), "a record array"


class Subclass(np.ndarray):
    pass


class Lying(np.ndarray):
    shape, size = (3,), 3

    def __array_function__(self, *_arguments, **_options):
        return np.ones(3)


class Lengthening(tuple):
    def __iter__(self):
        return iter((10**6,))


def laid_out(part):
    """An array of the same values in other memory: it says the same."""
    frozen = part.copy()
    frozen.flags.writeable = False
    yield frozen, "read-only"
    yield part[..., ::-1].copy()[..., ::-1], "negative strides"
    yield np.repeat(part, 3, axis=-1)[..., ::3], "not contiguous"
    yield np.asfortranarray(part), "in Fortran's order"
    memory = np.zeros(part.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(part.tobytes(), np.uint8)
    yield memory[1:].view(part.dtype).reshape(part.shape), "at an odd address"
    kind = np.dtype(part.dtype, metadata={"a": 1})
    yield part.astype(kind), "with metadata"


class Large(int):
    pass


class Odd(IntEnum):
    ONE = 1
    MANY = 2**40


def altered(value):
    """A value of a field, altered in every way, with words."""
    if isinstance(value, np.ndarray):
        yield from arrays(value)
    elif isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):  # bit planes
        yield value[:-1], "a plane short"
        for words, plane in ((w, p) for p, w in arrays(value[0])):
            yield (plane, *value[1:]), words
    elif isinstance(value, tuple):
        for shape in (
            (),
            (0,),
            (-1,),
            (10**12,),
            (2**31 - 1,),
            (value[0] + 1,),
            (value[0] - 1, *value[1:]),
            (*value, 1),
            (1.0,),
            (True,),
            (np.int64(value[0]), *value[1:]),
            (2**64,),
            (2**32 + value[0],),
            (1, 2**31 - 1),
            (2**16, 2**16),
            (1,) * 40,
            list(value),
            (value,),
            (None,),
            ("3",),
            np.array(value),
            Lengthening(value),
            5,
            None,
        ):
            yield shape, f"{shape}"
    elif isinstance(value, np.dtype):
        for dtype in (*map(np.dtype, ("f2", "i8", "c8", "O", "U3", "M8[s]", "V4", [("a", "f4")], (np.float32, 2))),
                      value.newbyteorder(), np.float32, "float32", None):  # fmt: skip
            yield dtype, f"{dtype}"
    elif is_dataclass(value):
        for field in fields(value):
            for part, words in altered(getattr(value, field.name)):
                yield replace(value, **{field.name: part}), f"{field.name}: {words}"
    elif isinstance(value, str):
        for other in ("float64", "", "no form", None, b"float32", 3):
            yield other, "another word"
    else:
        for other in (
            0,
            -1,
            2**40,
            10**400,
            1.5,
            1e308,
            np.nan,
            np.inf,
            "a",
            None,
            True,
            1j,
            np.zeros(3),
            np.float32(2),
            2**31,
            2**63,
            2**64,
            -(2**63) - 1,
            -(10**30),
            np.int64(2**62),
            np.uint64(2**64 - 1),
            np.array(2),
            np.array(2.0),
            np.array(np.nan),
            np.longdouble(1e300),
            np.float16(np.nan),
            np.float16(2),
            np.bool_(True),
            Large(2**40),
            Odd.ONE,
            Odd.MANY,
            Fraction(1, 3),
            Decimal("NaN"),
            5e-324,
            -0.0,
            -np.inf,
            b"1",
            [],
        ):
            yield other, f"{other!r}"


@pytest.mark.parametrize("c", SUBJECTS, ids=str)
def test_altered_messages_are_refused_or_read(c):
    tried = refused = 0
    for message in messages(c):
        assert isinstance(message, Message)
        for field in fields(message):
            for part, words in altered(getattr(message, field.name)):
                sent = replace(message, **{field.name: part})
                tried += 1
                try:
                    found = decompressed(c, sent)
                except (TypeError, ValueError):
                    refused += 1
                    continue
                assert found.shape == sent.shape, (field.name, words)
                assert found.dtype == sent.dtype, (field.name, words)
                assert type(found) is np.ndarray, (field.name, words)
                assert found.size > 2**20 or np.isfinite(found).all(), (field.name, words)
    assert tried > 30
    assert refused > tried / 2


@pytest.mark.parametrize("c", SUBJECTS, ids=str)
def test_messages_without_one_of_their_parts_are_refused(c):
    for message in messages(c):
        for field in fields(message):
            if hasattr(type(message), field.name):  # which is what it says then
                continue
            sent = replace(message)
            object.__delattr__(sent, field.name)
            with pytest.raises(ValueError, match=f"not all but ..{field.name}"):
                c.decompress(sent)


@pytest.mark.parametrize("c", SUBJECTS, ids=str)
def test_what_lies_in_other_memory_says_the_same(c):
    for message in messages(c):
        expected = decompressed(c, message)
        for field in fields(message):
            part = getattr(message, field.name)
            if isinstance(part, np.ndarray):
                for other, words in laid_out(part):
                    found = decompressed(c, replace(message, **{field.name: other}))
                    assert found.tobytes() == expected.tobytes(), (field.name, words)


def mixed(message, others, rng):
    """A message with parts altered, or those of other messages, two or three at once."""
    pool = [getattr(other, field.name) for other in others for field in fields(other)]
    changed = {}
    for field in rng.sample(fields(message), min(len(fields(message)), rng.choice((2, 3)))):
        variants = [part for part, _ in altered(getattr(message, field.name))]
        changed[field.name] = rng.choice(rng.choice((variants, pool)))
    return replace(message, **changed)


@pytest.mark.wide
@pytest.mark.parametrize("c", SUBJECTS, ids=str)
def test_messages_with_several_parts_altered_or_swapped_are_refused_or_read(c):
    rng, sent = random.Random(5), list(messages(c))
    for _ in range(60):
        message = mixed(rng.choice(sent), sent, rng)
        try:
            found = decompressed(c, message)
        except (TypeError, ValueError):
            continue
        assert (type(found), found.shape, found.dtype) == (np.ndarray, message.shape, message.dtype)
        assert found.size > 2**20 or np.isfinite(found).all()


def test_every_class_of_messages_is_altered():
    made = {type(message) for c in SUBJECTS for message in messages(c)}

    def below(kind):
        return {kind}.union(*(below(sub) for sub in kind.__subclasses__()))

    rooms = ("commbounds.compressors.", "commbounds.collectives.")  # a definition's stand-in sends to nobody
    ours = {kind for kind in below(Message) - {Message} if kind.__module__.startswith(rooms)}
    assert {kind.__name__ for kind in ours} <= {kind.__name__ for kind in made}


@dataclass(frozen=True, eq=False)
class Foreign(Message):
    @property
    def bits(self):
        return 0


@pytest.mark.parametrize("c", SUBJECTS, ids=str)
def test_messages_of_another_class_are_refused(c):
    with pytest.raises(TypeError, match="message must be a"):
        c.decompress(Foreign((3,), np.dtype(np.float32)))
    with pytest.raises(TypeError, match="message must be a"):
        c.decompress(None)
