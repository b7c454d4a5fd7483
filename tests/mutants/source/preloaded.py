"""What no mutant touches, imported once for all of them: libraries, and the book of claims."""

import hypothesis.strategies
import numba
import scipy.optimize
import scipy.special
import scipy.stats

from commbounds.theory import claims

claims()
LIBRARIES = (hypothesis, numba, scipy)
