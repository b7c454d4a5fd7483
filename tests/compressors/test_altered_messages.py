"""What arrives over a network may be anything: an altered message is refused, or read as what it says; never a crash.

Alterations are generated from the fields of every class of messages. The kernels run with bounds checking in `.ci/run`.
"""

import random
from contextlib import nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace

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
    yield part.reshape(-1)[:1].reshape(()) if part.size else np.zeros((), part.dtype), "without dimensions"
    yield np.repeat(part, 2, axis=-1)[..., ::2], "not contiguous"
    yield np.broadcast_to(part.reshape(-1)[:1].reshape((1,) * part.ndim), part.shape) if part.size else part, "repeated"
    kind = np.finfo(part.dtype) if part.dtype.kind == "f" else np.iinfo(part.dtype)
    for value in (kind.min, kind.max, *([np.nan, np.inf] if part.dtype.kind == "f" else ())):
        for place in {0, part.size - 1} if part.size else ():
            altered = part.copy()
            altered.reshape(-1)[place] = value
            yield altered, f"{value} at {place}"
    if part.dtype.kind in "iu" and part.size:
        yield part + part.dtype.type(1), "every entry one more"
        yield part[::-1].copy(), "backwards"


class Subclass(np.ndarray):
    pass


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
            5,
            None,
        ):
            yield shape, f"{shape}"
    elif isinstance(value, np.dtype):
        for dtype in (np.dtype(np.float16), np.dtype(np.int64), np.float32, "float32", None):
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
