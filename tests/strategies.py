"""What Hypothesis draws: vectors that shrink, stacks of them, finite laws."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

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
def stacks(draw, workers=4, largest=6):
    """The vectors of a few workers, (P, n) float64, small integers and halves."""
    P, n = draw(st.integers(1, workers)), draw(st.integers(1, largest))
    entries = draw(st.lists(st.integers(-6, 6), min_size=P * n, max_size=P * n))
    return np.array(entries, dtype=np.float64).reshape(P, n) / 2


@st.composite
def finite_laws(draw, low=-1, high=2):
    """A finite law on [low, high]: (probability, value) pairs of Fractions whose probabilities sum to one."""
    weights = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    values = st.fractions(min_value=Fraction(low), max_value=Fraction(high), max_denominator=6)
    return [(Fraction(w, sum(weights)), draw(values)) for w in weights]
