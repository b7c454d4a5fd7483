"""Compressors with bad manners: they mutate, remember, leak, hang, or answer with something else than an array."""

import numpy as np

from commbounds.verify import conformance as cf
from zoo.levels import EIGHT, eight_bits
from zoo.record import broken
from zoo.selection import TOPK, topk


def topk_in_place(x, seed):
    """Clears what it does not send in the caller's array, for error feedback to be quick."""
    y = topk(x, seed)
    x -= y
    return y


class Buffered:
    """Answers in one buffer a length."""

    def __init__(self):
        self._buffers = {}

    def __call__(self, x, seed):
        buffer = self._buffers.setdefault(x.size, np.empty_like(x))
        buffer[...] = topk(x, seed)
        return buffer


class Cached:
    """Remembers answers by id(x)."""

    def __init__(self):
        self._answers = {}

    def __call__(self, x, seed):
        key = id(x), x.shape
        if key not in self._answers:
            self._answers[key] = topk(x, seed)
        return self._answers[key].copy()


class Running:
    """Holds the largest magnitude so far."""

    def __init__(self):
        self._top = 0.0

    def __call__(self, x, seed):
        self._top = max(self._top, float(np.abs(x).max()))
        return (self._top * (np.rint(127 * x.astype(np.float64) / (self._top or 1.0)) / 127)).astype(x.dtype)


class Leaking:
    """Keeps every input."""

    def __init__(self):
        self._seen = []

    def __call__(self, x, seed):
        self._seen.append(x.copy())
        return topk(x, seed)


BUFFERED, CACHED, RUNNING, LEAKING = Buffered(), Cached(), Running(), Leaking()


def topk_in_one_buffer(x, seed):
    """Answers in a buffer that it uses again: the next call changes the answer."""
    return BUFFERED(x, seed)


def topk_remembered_by_id(x, seed):
    """Caches answers by id(x): a new array at the same address gets the old answer."""
    return CACHED(x, seed)


def levels_of_the_running_maximum(x, seed):
    """Scales by the largest magnitude of all calls so far: what it answers depends on what came before."""
    return RUNNING(x, seed)


def topk_that_leaks(x, seed):
    """Keeps every input in a list for later inspection."""
    return LEAKING(x, seed)


def topk_in_float64(x, seed):
    """Multiplies by a float64 mask: numpy answers in float64."""
    return x * (topk(x, seed) != 0).astype(np.float64)


def topk_as_pairs(x, seed):
    """Answers with the message, indices and values, not with an array."""
    y = topk(x, seed)
    return np.flatnonzero(y), y[y != 0]


def topk_of_rows_flat(x, seed):
    """Answers with the flat vector for a matrix."""
    return topk(x.ravel(), seed)


def topk_of_matrices(x, seed):
    """The three largest entries of a matrix."""
    return topk(x.ravel(), seed).reshape(x.shape)


def topk_packed_in_words(x, seed):
    """Packs 64 // ceil(log2 n) indices in a word: for a single entry that divides by zero."""
    in_a_word = 64 // int(np.ceil(np.log2(x.size)))
    places = np.flatnonzero(topk(x, seed))
    y = np.zeros_like(x)
    for word in range(0, places.size, in_a_word):
        y[places[word : word + in_a_word]] = x[places[word : word + in_a_word]]
    return y


def topk_by_bisection(x, seed):
    """Halves an interval until exactly three entries are above the threshold: on ties it never is."""
    low, high = 0.0, float(np.abs(x).max())
    k = min(3, int(np.count_nonzero(x)))
    threshold = low
    while np.count_nonzero(np.abs(x) > threshold) != k:
        threshold = (low + high) / 2
        low, high = (threshold, high) if np.count_nonzero(np.abs(x) > threshold) > k else (low, threshold)
    return np.where(np.abs(x) > threshold, x, x.dtype.type(0))


MATRIX = [cf.Support(3), cf.SignSymmetric(), cf.Idempotent()]

MANNERS = (
    broken(topk_in_place, topk, TOPK, "input not mutated"),
    broken(topk_in_one_buffer, topk, TOPK, "order of calls does not matter"),
    broken(topk_remembered_by_id, topk, TOPK, "Contraction", "order of calls does not matter"),
    broken(levels_of_the_running_maximum, eight_bits, EIGHT, "order of calls does not matter", "AbsoluteError"),
    broken(topk_that_leaks, topk, TOPK, "memory steady"),
    broken(topk_in_float64, topk, TOPK, "shape and dtype kept"),
    broken(topk_as_pairs, topk, TOPK, "shape and dtype kept"),
    broken(topk_of_rows_flat, topk_of_matrices, MATRIX, "shape and dtype kept", shape="matrix"),
    broken(topk_packed_in_words, topk, TOPK, "answers"),
    broken(topk_by_bisection, topk, TOPK, "answers", time_limit=0.2),
)
"""Compressors with bad manners, by what tells of them."""
