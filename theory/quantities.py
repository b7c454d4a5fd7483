"""What claims measure, and the symbols that their bounds are written in.

Every bound in the book uses these symbols, so that one dictionary of values serves every claim about an input.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import sympy as sp

from commbounds.theory.symbols import Symbol


class Quantity(sp.Symbol):  # type: ignore[misc]
    """A measured quantity: the symbol on the left-hand side of a claim, with its definition.

    Parameters
    ----------
    name : str
        Of the symbol.
    latex : str
        Its definition, as LaTeX, shown in place of the symbol.
    meaning : str
        Its definition in words, with unit.
    **assumptions : bool
        What sympy may assume; that it is not negative, if nothing is said.
    """

    __slots__ = ("latex", "meaning")

    def __new__(cls, name: str, latex: str, meaning: str, **assumptions: bool) -> Quantity:
        """A symbol with two more fields."""
        self = sp.Symbol.__xnew__(cls, name, **(assumptions or {"nonnegative": True}))
        self.latex, self.meaning = latex, meaning
        return self  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return partial(Quantity, **self._assumptions_orig), (self.name, self.latex, self.meaning)

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.latex, self.meaning)


n = Symbol("n", example=7, integer=True, positive=True)
"""Entries of the vector (the papers' d); columns of a matrix."""
k = Symbol("k", example=3, integer=True, positive=True)
"""Entries kept, k <= n; blocks kept; entries kept per chunk, k <= chunk."""
m = Symbol("m", example=5, integer=True, positive=True)
"""Rows of a matrix; `n` is then its columns."""
r = Symbol("r", example=2, integer=True, positive=True)
"""Rank, r <= min(m, n)."""
s = Symbol("s", example=2, integer=True, positive=True)
"""Positive quantisation levels."""
b = Symbol("b", example=Fraction(3, 2), positive=True)
"""Base of the powers that a compressor rounds to, b > 1."""
levels = Symbol("levels", "L", 255, integer=True, positive=True)
"""Positive levels in the table of a compressor that rounds to the powers of a base."""
mu = Symbol("mu", r"\mu", Fraction(1, 5), positive=True)
"""Density asked for, 0 < mu <= 1: the share of the entries to keep."""
alpha = Symbol("alpha", r"\alpha", Fraction(1, 10), positive=True)
"""A contraction factor that somebody hopes for, 0 < alpha < 1."""
block = Symbol("block", r"\mathrm{block}", 2, integer=True, positive=True)
"""Entries per block."""
chunk = Symbol("chunk", r"\mathrm{chunk}", 3, integer=True, positive=True)
"""Entries per chunk."""
threshold = Symbol("threshold", r"\mathrm{threshold}", Fraction(1, 2), positive=True)
"""Hard threshold, in the unit of the vector's entries."""
itembits = Symbol("itembits", r"\mathrm{itembits}", 32, integer=True, positive=True)
"""Bits of one value of the vector's dtype: 32 or 64."""
entries = Symbol("entries", r"\mathrm{entries}", 4, integer=True, nonnegative=True)
"""Values that a message carries, where their number depends on the data."""
norm1 = Symbol("norm1", r"\lVert x\rVert_1", Fraction(3), positive=True)
"""Sum of |x_i|."""
norm2 = Symbol("norm2", r"\lVert x\rVert_2", sp.sqrt(5), positive=True)
"""Euclidean norm of x (Frobenius for a matrix)."""
norm3 = Symbol("norm3", r"\lVert x\rVert_3", sp.cbrt(9), positive=True)
"""Cube root of the sum of |x_i|^3."""
norminf = Symbol("norminf", r"\lVert x\rVert_\infty", 2, positive=True)
"""Largest |x_i|."""
absdet = Symbol("absdet", r"\sigma_1\sigma_2", Fraction(2), nonnegative=True)
"""Product of the singular values of a matrix: |det M| where it is square."""
P = Symbol("P", example=3, integer=True, positive=True)
"""Workers."""
norm2bar = Symbol("norm2bar", r"\lVert\bar x\rVert_2", sp.sqrt(2), positive=True)
"""Euclidean norm of the average of the workers' vectors."""
sumsq = Symbol("sumsq", r"\left(\sum_i\lVert x_i\rVert_2^2\right)", Fraction(17), positive=True)
"""Sum over the workers of the squared Euclidean norm of their vectors."""
e = Symbol("e", r"\varepsilon", Fraction(1, 3), positive=True)
"""Parameter of the two workers (1 + e, -1) and (-1, 1 + e)."""


class index_bits(sp.Function):  # type: ignore[misc]
    """Bits that tell one of `count` >= 1 things apart: ceil(log2(count)), exactly, in integers and in floats."""

    nargs = 1
    is_integer = True
    is_nonnegative = True

    @classmethod
    def exact(cls, count: Any) -> int:
        """The value at an integer."""
        return (int(count) - 1).bit_length()

    @classmethod
    def eval(cls, count: Any) -> Any:
        """The value where `count` is a number."""
        return sp.Integer(cls.exact(count)) if count.is_Integer else None

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\left\lceil\log_2 {printer.parenthesize(self.args[0], 50)}\right\rceil"

    @staticmethod
    def _imp_(count: Any) -> Any:
        import numpy as np

        # x = f 2^e with 1/2 <= f < 1, so the exponent of the integer count - 1 is its bit length.
        return np.frexp(np.asarray(count, dtype=np.float64) - 1)[1].astype(np.float64)


class choose(sp.Function):  # type: ignore[misc]
    """Binomial coefficient; unlike sympy's own, its float form does not overflow through the gamma function."""

    nargs = 2
    is_positive = True

    @classmethod
    def eval(cls, size: Any, part: Any) -> Any:
        """The value where both are numbers."""
        return sp.binomial(size, part) if size.is_Integer and part.is_Integer else None

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\binom{{{printer.doprint(self.args[0])}}}{{{printer.doprint(self.args[1])}}}"

    @staticmethod
    def _imp_(size: Any, part: Any) -> Any:
        from scipy.special import binom

        return binom(size, part)


RELATIVE_ERROR = Quantity(
    "relative_error",
    r"\frac{\mathbb{E}\,\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of one compression over the squared norm of its input, expected over the compressor's randomness; "
    "x is not zero",
)
ABSOLUTE_ERROR = Quantity(
    "absolute_error",
    r"\mathbb{E}\,\lVert C(x)-x\rVert^2",
    "squared error of one compression, in the squared unit of the input",
)
SECOND_MOMENT = Quantity(
    "second_moment",
    r"\frac{\mathbb{E}\,\lVert C(x)\rVert^2}{\lVert x\rVert^2}",
    "squared norm of the output over that of the input, expected",
)
SHRUNK_ERROR = Quantity(
    "shrunk_error",
    r"\frac{\mathbb{E}\,\lVert C(x)/(1+\omega)-x\rVert^2}{\lVert x\rVert^2}",
    "relative error of the compressor divided by one plus its variance factor",
)
LOCAL_ERROR = Quantity(
    "local_error",
    r"\frac{\mathbb{E}\,\sum_i\lVert C(x_i)-x_i\rVert^2}{\sum_i\lVert x_i\rVert^2}",
    "squared errors summed over the workers, over their squared norms summed; not all vectors are zero",
)
GLOBAL_ERROR = Quantity(
    "global_error",
    r"\frac{\mathbb{E}\,\lVert \frac1P\sum_i C(x_i)-\bar x\rVert^2}{\lVert\bar x\rVert^2}",
    "squared error of the average of the workers' compressed vectors over the squared norm of their average, "
    "which is not zero",
)
BIAS = Quantity(
    "bias",
    r"\frac{\lVert \mathbb{E}\,C(x)-x\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest difference between an entry of the expected output and of the input, over the input's largest",
)
BITS = Quantity("bits", r"\mathrm{bits}(C(x))", "size of the message on the wire, in bits")
ELIAS_BITS = Quantity(
    "elias_bits",
    r"\mathbb{E}\,\mathrm{bits}_\gamma(C(x))",
    "size of the message with a sign bit and an Elias gamma code of its level plus one for every entry, expected",
)
CODE_ENTROPY = Quantity(
    "code_entropy",
    r"H(C(x))",
    "entropy of the output in bits: no uniquely decodable code has a smaller expected length",
)
SUPPORT = Quantity("support", r"\mathbb{E}\,\lVert C(x)\rVert_0", "number of nonzero entries of the output, expected")
LEVEL = Quantity("level", r"\max_i \ell_i", "largest level of a quantised entry, without the sign")
SIGN_DEFECT = Quantity(
    "sign_defect",
    r"d_{\mathrm{TV}}\bigl(C(-x),\,-C(x)\bigr)",
    "total variation distance between the laws of C(-x) and of -C(x)",
)
SCALE_DEFECT = Quantity(
    "scale_defect",
    r"d_{\mathrm{TV}}\bigl(C(cx),\,c\,C(x)\bigr)",
    "total variation distance between the laws of C(c x) and of c C(x), for an admissible factor c > 0",
)
IDEMPOTENCE_DEFECT = Quantity(
    "idempotence_defect", r"\Pr\bigl[C(C(x))\neq C(x)\bigr]", "probability that compressing the output again changes it"
)
