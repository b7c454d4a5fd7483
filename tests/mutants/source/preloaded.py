"""What no mutant touches, imported once for all of them: libraries, and the book of claims."""

import gc

import hypothesis.strategies
import numba
import scipy.optimize
import scipy.special
import scipy.stats

from commbounds.theory import claims

len(claims())
gc.freeze()
gc.set_threshold(10_000, 20, 20)
LIBRARIES = (hypothesis, numba, scipy)
