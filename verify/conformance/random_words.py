"""Random numbers of a subject's call, given by the caller: numpy's generators, old and new, and Python's, replaced.

numpy's own algorithms turn words into what a subject asks for: a bit generator whose words are given stands in for
the real ones, so that `Generator.random`, `RandomState.rand`, `np.random.rand` and compiled code take what they would.
"""

import contextlib
import ctypes
import random
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numba import carray, cfunc, config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.random import mtrand
from numpy.typing import NDArray

from commbounds import _kernel_cache as _kernel_cache  # first: it is for the kernels that are defined after it

Words = NDArray[np.uint64]

DOUBLE, SINGLE, WHOLE = 1, 2, 4
"""Kinds of draws, as bits of `Pool.kinds`: 53 bits, 32 bits or fewer, 64 bits."""

_CURSOR, _GIVEN, _SPARE, _KINDS, _HEAD = range(5)
_ROOM = 4096
"""Words beyond the given ones that a stream remembers, should a generator begin again."""


# --- compiled: the next word of a stream ---------------------------------------------------------------------------
# A pool is [cursor, how many are given, state of the spare ones, kinds seen, words...]; a stream's record is
# [length, room, address of the pool, words...]; what a bit generator points to is [position, address of the record].


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """What numpy calls back has to be compiled where kernels are plain Python (NUMBA_DISABLE_JIT) as well."""
    disabled = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = disabled


with _compiling():

    @intrinsic
    def _at(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(types.uint64), codegen

    @njit(cache=True)
    def _next(pointer, kind):  # type: ignore[no-untyped-def]
        place = carray(pointer, 2, np.uint64)
        record = carray(_at(place[1]), 3, np.uint64)
        position, length, capacity = place[0], record[0], record[1]
        place[0] = position + np.uint64(1)
        if position < length:
            return carray(_at(place[1]), 3 + int(length), np.uint64)[3 + int(position)]
        pool = carray(_at(record[2]), 4, np.uint64)
        cursor, given = pool[0], pool[1]
        pool[0] = cursor + np.uint64(1)
        pool[3] |= np.uint64(kind)
        if cursor < given:
            word = carray(_at(record[2]), 4 + int(given), np.uint64)[4 + int(cursor)]
        else:  # splitmix64
            pool[2] += np.uint64(0x9E3779B97F4A7C15)
            word = pool[2]
            word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            word = word ^ (word >> np.uint64(31))
        if length < capacity:
            carray(_at(place[1]), 4 + int(length), np.uint64)[3 + int(length)] = word
            record[0] = length + np.uint64(1)
        return word

    @cfunc(types.uint64(types.voidptr), cache=True)
    def _next_uint64(pointer):  # type: ignore[no-untyped-def]
        return _next(pointer, 4)

    @cfunc(types.uint32(types.voidptr), cache=True)
    def _next_uint32(pointer):  # type: ignore[no-untyped-def]
        return np.uint32(_next(pointer, 2) >> np.uint64(32))

    @cfunc(types.float64(types.voidptr), cache=True)
    def _next_double(pointer):  # type: ignore[no-untyped-def]
        return np.float64(_next(pointer, 1) >> np.uint64(11)) * 2.0**-53


class _Interface(ctypes.Structure):
    """What numpy asks of a bit generator: ``bitgen_t`` of ``numpy/random/bitgen.h``."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", ctypes.c_void_p),
        ("next_uint32", ctypes.c_void_p),
        ("next_double", ctypes.c_void_p),
        ("next_raw", ctypes.c_void_p),
    )


_Bound = namedtuple("_Bound", "state_address state next_uint64 next_uint32 next_double bit_generator")
_CAPSULE = b"BitGenerator"
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


# --- the pool ------------------------------------------------------------------------------------------------------


class Pool:
    """Words for one call, in the order in which fresh ones are drawn.

    Parameters
    ----------
    words : (m,) uint64
        The first m; uniform ones follow.
    spare : int
        Seed of those that follow.

    Attributes
    ----------
    refused : str
        What was drawn that does not come from here; empty if nothing was.
    """

    def __init__(self, words: Words, spare: int) -> None:
        self._array = np.empty(_HEAD + len(words), np.uint64)
        self._array[:_HEAD] = 0, len(words), spare % 2**64, 0
        self._array[_HEAD:] = words
        self._records: dict[Any, Words] = {}
        self._unkeyed = 0
        self.python: random.Random | None = None
        """What stands for Python's global generator, once it is used."""
        self.refused = ""

    @property
    def drawn(self) -> int:
        """Fresh words that were drawn."""
        return int(self._array[_CURSOR])

    @property
    def kinds(self) -> int:
        """What they were drawn as."""
        return int(self._array[_KINDS])

    def record(self, key: Any) -> Words:
        """What a generator made with `key` has given so far: another one made so begins again. None: never again."""
        if key is None:
            self._unkeyed += 1
            key = "unkeyed", self._unkeyed
        if key not in self._records:
            record = np.empty(3 + int(self._array[_GIVEN]) + _ROOM, np.uint64)
            record[:3] = 0, len(record) - 3, self._array.ctypes.data
            self._records[key] = record
        return self._records[key]

    def taken(self, key: Any, count: int, kind: int) -> Words:
        """The first `count` words of a record, fresh where it has not so many."""
        record = self.record(key)
        have = int(record[0])
        if count > have:
            fresh = self.fresh(count - have, kind)
            if count > len(record) - 3:
                self._records[key] = grown = np.zeros(3 + count, np.uint64)
                grown[: 3 + have] = record[: 3 + have]
                grown[1], record = count, grown
            record[3 + have : 3 + count] = fresh
            record[0] = count
        return record[3 : 3 + count]

    def fresh(self, count: int, kind: int) -> Words:
        """The next words that nothing has drawn yet."""
        cursor, given = int(self._array[_CURSOR]), int(self._array[_GIVEN])
        self._array[_CURSOR] += np.uint64(count)
        self._array[_KINDS] |= np.uint64(kind)
        words = self._array[_HEAD + cursor : _HEAD + min(given, cursor + count)]
        more = count - len(words)
        if more:
            state = self._array[_SPARE] + np.arange(1, more + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            self._array[_SPARE] = state[-1]
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            words = np.concatenate([words, state ^ (state >> np.uint64(31))])
        return words


def given() -> bool:
    """Whether this thread is in a call that is given words."""
    return _now.pool is not None


class _Now(threading.local):
    """The pool of the call that this thread is in; None in all others, whose generators stay what they are."""

    pool: Pool | None = None


_now = _Now()


# --- numpy ---------------------------------------------------------------------------------------------------------


def _required() -> Pool:
    if _now.pool is None:
        raise RuntimeError("there is no call to draw words for")
    return _now.pool


def _key(kind: str, seed: Any) -> Any:
    """What two generators that give the same have in common; None where nothing else gives the same."""
    if seed is None:
        return None
    if isinstance(seed, np.random.SeedSequence):
        return kind, repr(seed.state)
    return kind, repr(np.asarray(seed).tolist())


_SEQUENCE = np.random.SeedSequence(0)
"""What numpy wants a bit generator to be seeded by; nothing comes of it but the keys of spawned ones."""


class GivenBits(np.random.BitGenerator):
    """A bit generator whose words are those of the pool."""

    def __init__(self, seed: Any = None, kind: str = "default") -> None:
        super().__init__(_SEQUENCE)
        self._pool = _required()  # lives as long as this
        self._begin(_key(kind, seed), 0)
        state = self._place.ctypes.data
        self._interface = _Interface(
            state, _next_uint64.address, _next_uint32.address, _next_double.address, _next_uint64.address
        )
        self._address = ctypes.addressof(self._interface)
        self._held = _capsule(self._address, _CAPSULE, None)

    def _begin(self, key: Any, position: int) -> None:
        self._record, self._name = self._pool.record(key), key
        if not hasattr(self, "_place"):
            self._place = np.zeros(2, np.uint64)
        self._place[:] = position, self._record.ctypes.data

    @property
    def capsule(self) -> Any:
        """What numpy draws from."""
        return self._held

    @property
    def ctypes(self) -> Any:
        """What compiled code draws from."""
        return _Bound(
            self._place.ctypes.data,
            ctypes.c_void_p(self._place.ctypes.data),
            _next_uint64.ctypes,
            _next_uint32.ctypes,
            _next_double.ctypes,
            ctypes.c_void_p(self._address),
        )

    @property
    def state(self) -> Mapping[str, Any]:
        """Where it is; `np.random.seed` hands on that of a new one."""
        return {"bit_generator": type(self).__name__, "state": (self._name, int(self._place[0]))}

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        key, position = value["state"]
        self._begin(key and ("global", key), position)

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Whole words."""
        drawn = np.random.Generator(self).integers(2**64, size=size, dtype=np.uint64)
        return drawn if output else None


_NARROW = 2**32
"""How far apart integers are whose draw is a uniform number, cut into equal parts: numpy takes several from a word, or
draws again."""


def _cut(uniforms: Callable[[Any], Any], first: Any, behind: Any, size: Any, dtype: Any) -> Any:
    """Integers in [first, behind), one for every uniform number."""
    shape = np.broadcast_shapes(np.shape(first), np.shape(behind)) if size is None else size
    width = np.asarray(behind).astype(np.float64) - first
    return (first + np.floor(width * uniforms(shape))).astype(dtype)[()]


class _GivenGenerator(np.random.Generator):
    """A generator that takes one word for every integer."""

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):  # type: ignore[no-untyped-def]
        first, last = (0, low) if high is None else (low, high)
        behind = np.asarray(last) + 1 if endpoint else last
        if not np.all((np.asarray(behind) > first) & (np.asarray(behind) - first <= _NARROW)):
            return super().integers(low, high, size, dtype, endpoint)
        return _cut(self.random, first, behind, size, dtype)


_default_rng_of_numpy = np.random.default_rng


def _default_rng(seed: Any = None) -> np.random.Generator:
    if _now.pool is None:
        return _default_rng_of_numpy(seed)
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, np.random.RandomState):
        seed = seed._bit_generator
    return _GivenGenerator(seed if isinstance(seed, np.random.BitGenerator) else GivenBits(seed))


def _bits_of(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def made(seed: Any = None, **options: Any) -> Any:
        return original(seed, **options) if _now.pool is None or options else GivenBits(seed, name)

    return made


class _OldState(np.random.RandomState):
    def __init__(self, seed: Any = None) -> None:
        whole = _now.pool is None or isinstance(seed, np.random.BitGenerator)
        super().__init__(seed if whole else GivenBits(seed, "MT19937"))
        self._given = not whole

    def randint(self, low, high=None, size=None, dtype=int):  # type: ignore[no-untyped-def]
        first, behind = (0, low) if high is None else (low, high)
        if not (self._given and np.all((np.asarray(behind) > first) & (np.asarray(behind) - first <= _NARROW))):
            return super().randint(low, high, size, dtype)
        return _cut(self.random_sample, first, behind, size, dtype)


# --- Python --------------------------------------------------------------------------------------------------------


class _GivenRandom(random.Random):
    """Python's generator with the pool's words, if it is made during a call."""

    def seed(self, a: Any = None, version: int = 2) -> None:
        self._pool = _now.pool
        if self._pool is None:
            super().seed(a, version)
            return
        self._name = None if a is None else ("random", repr(a))
        self._record = self._pool.record(self._name)
        self._position = 0
        self.gauss_next = None

    def _word(self, pool: Pool, kind: int) -> int:
        self._position += 1
        if self._position > int(self._record[0]):
            word = pool.fresh(1, kind)[0]
            if self._position > len(self._record) - 3:
                return int(word)
            self._record[2 + self._position] = word
            self._record[0] = self._position
        return int(self._record[2 + self._position])

    def random(self) -> float:
        return super().random() if self._pool is None else (self._word(self._pool, DOUBLE) >> 11) * 2.0**-53

    def _randbelow(self, n: int) -> int:
        if self._pool is None or not 0 < n < 2**32:
            return super()._randbelow(n)  # type: ignore[misc,no-any-return]
        return self._word(self._pool, DOUBLE) * n >> 64

    def getrandbits(self, k: int) -> int:
        if self._pool is None or k <= 0:
            return super().getrandbits(k)
        if k > 64:
            return self.getrandbits(64) | self.getrandbits(k - 64) << 64
        return self._word(self._pool, WHOLE if k > 32 else SINGLE) >> (64 - k)

    def getstate(self) -> Any:
        return super().getstate() if self._pool is None else (self._name, self._record, self._position)

    def setstate(self, state: Any) -> None:
        if self._pool is None:
            super().setstate(state)
        else:
            self._name, self._record, self._position = state


def _of_python(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's global generator."""

    def called(*arguments: Any, **options: Any) -> Any:
        pool = _now.pool
        if pool is None:
            return original(*arguments, **options)
        if pool.python is None:
            pool.python = _GivenRandom("global")
        return getattr(pool.python, name)(*arguments, **options)

    return called


# --- while a call lasts --------------------------------------------------------------------------------------------

_OURS = {"numpy", "numba", "scipy", "hypothesis", "torch", *sys.stdlib_module_names}
"""Packages whose own references to generators stay: these serve other ends, such as names of files."""


def _replacements() -> dict[int, tuple[Any, Any]]:
    """Originals and what takes their places, by the originals' identities."""
    pairs: list[tuple[Any, Any]] = [(np.random.default_rng, _default_rng), (np.random.RandomState, _OldState)]
    for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        pairs.append((getattr(np.random, name), _bits_of(name, getattr(np.random, name))))
    owner = random.random.__self__  # type: ignore[attr-defined]
    for name, value in vars(random).items():
        if getattr(value, "__self__", None) is owner:
            pairs.append((value, _of_python(name, value)))
    pairs.append((random.Random, _GivenRandom))
    return {id(original): (original, ours) for original, ours in pairs}


_BY_IDENTITY = _replacements()
_found: tuple[int, list[tuple[dict[str, Any], str, Any, Any]]] = (0, [])


def _places() -> list[tuple[dict[str, Any], str, Any, Any]]:
    """Where modules hold a generator's maker: namespace, name, original, and ours."""
    global _found
    if _found[0] != len(sys.modules):
        places = [
            (vars(module), name, *_BY_IDENTITY[id(value)])
            for module in (np.random, random)
            for name, value in vars(module).items()
            if id(value) in _BY_IDENTITY
        ]
        for name, module in list(sys.modules.items()):
            space = getattr(module, "__dict__", None)
            if type(space) is dict and name.partition(".")[0] not in _OURS:
                places += [
                    (space, key, *_BY_IDENTITY[id(value)])
                    for key, value in list(space.items())
                    if id(value) in _BY_IDENTITY and _BY_IDENTITY[id(value)][0] is value
                ]
        own = globals()
        _found = len(sys.modules), [place for place in places if place[0] is not own]
    return _found[1]


@contextlib.contextmanager
def intercepted() -> Iterator[None]:
    """While it is open, generators of numpy and Python that are made, or are global, draw from the pool of `within`."""
    places = _places()
    bits, state = mtrand.get_bit_generator(), mtrand.get_state(legacy=False)
    try:
        for space, name, _, ours in places:
            space[name] = ours
        yield
    finally:
        for space, name, original, _ in places:
            space[name] = original
        mtrand.set_bit_generator(bits)
        mtrand.set_state(state)  # normal numbers come in pairs, of which one may be left


def within(pool: Pool, function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function` returns if it draws from `pool`; in the thread that it is to run in, inside `intercepted`."""
    _now.pool = pool
    try:
        mtrand.set_bit_generator(GivenBits(0, "global"))
        return function(*arguments)
    finally:
        _now.pool = None
