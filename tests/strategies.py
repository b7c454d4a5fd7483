"""What Hypothesis draws: vectors that shrink, admissible compressors, exact laws."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

__all__ = ["compressors_of", "dtypes", "exact_vectors", "finite_laws", "long_vectors", "stacks", "vectors"]

dtypes = st.sampled_from((np.float32, np.float64))

# Small integers tie and cancel; the others have every mantissa bit in use, or sit at the ends of a scale.
_ENTRIES = st.one_of(
    st.integers(-4, 4).map(float), st.floats(-100.0, 100.0, width=32), st.sampled_from((1e-30, -1e30, 0.1, -0.0))
)


@st.composite
def vectors(draw, dtype=None, largest=12):
    """A short vector, drawn entry by entry, so that it shrinks to few and small entries."""
    kind = draw(dtypes) if dtype is None else dtype
    return np.array(draw(st.lists(_ENTRIES, min_size=1, max_size=largest)), dtype=kind)


@st.composite
def long_vectors(draw, dtype=None, largest=5000):
    """A vector by size, seed and scale, with a few entries replaced: these shrink, the bulk does not."""
    kind = draw(dtypes) if dtype is None else dtype
    n = draw(st.integers(1, largest))
    x = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).standard_normal(n)
    x = (x * 10.0 ** draw(st.integers(-20, 20))).astype(kind)
    for place, value in draw(st.lists(st.tuples(st.integers(0, n - 1), _ENTRIES), max_size=3)):
        x[place] = value
    return x


@st.composite
def stacks(draw, workers=4, largest=6):
    """The vectors of a few workers, (P, n) float64, small integers and halves."""
    P, n = draw(st.integers(1, workers)), draw(st.integers(1, largest))
    entries = draw(st.lists(st.integers(-6, 6), min_size=P * n, max_size=P * n))
    return np.array(entries, dtype=np.float64).reshape(P, n) / 2


@st.composite
def exact_vectors(draw, largest=4):
    """A short vector of Fractions."""
    entries = st.fractions(min_value=-4, max_value=4, max_denominator=4)
    return tuple(draw(st.lists(entries, min_size=1, max_size=largest)))


@st.composite
def finite_laws(draw, low=-1, high=2):
    """A finite law on [low, high]: (probability, value) pairs of Fractions whose probabilities sum to one."""
    weights = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    values = st.fractions(min_value=Fraction(low), max_value=Fraction(high), max_denominator=6)
    return [(Fraction(w, sum(weights)), draw(values)) for w in weights]


def compressors_of(make, n):
    """The compressors of a class whose one integer parameter counts entries, all of them for `n` entries."""
    return st.integers(1, n).map(make)
