"""What claims measure, and the symbols that their bounds are written in.

Every bound in the book uses these symbols, so that one dictionary of values serves every claim about an input.
"""

from __future__ import annotations

import sympy as sp

from commbounds.theory.claim import Quantity

__all__ = [
    "ABSOLUTE_ERROR",
    "BIAS",
    "BITS",
    "GLOBAL_ERROR",
    "IDEMPOTENCE_DEFECT",
    "LEVEL",
    "RELATIVE_ERROR",
    "SCALE_DEFECT",
    "SECOND_MOMENT",
    "SHRUNK_ERROR",
    "SIGN_DEFECT",
    "SUPPORT",
    "b",
    "block",
    "chunk",
    "index_bits",
    "itembits",
    "k",
    "m",
    "n",
    "norm1",
    "norm2",
    "norm3",
    "norminf",
    "r",
    "s",
    "threshold",
]

n = sp.Symbol("n", integer=True, positive=True)
"""Entries of the vector (the papers' d)."""
k = sp.Symbol("k", integer=True, positive=True)
"""Entries kept; blocks kept; entries kept per chunk."""
m = sp.Symbol("m", integer=True, positive=True)
"""Rows of a matrix; `n` is then its columns."""
r = sp.Symbol("r", integer=True, positive=True)
"""Rank."""
s = sp.Symbol("s", integer=True, positive=True)
"""Positive quantisation levels."""
b = sp.Symbol("b", positive=True)
"""Base of the powers that a compressor rounds to, b > 1."""
block = sp.Symbol("block", integer=True, positive=True)
"""Entries per block."""
chunk = sp.Symbol("chunk", integer=True, positive=True)
"""Entries per chunk."""
threshold = sp.Symbol("threshold", positive=True)
"""Hard threshold, in the unit of the vector's entries."""
itembits = sp.Symbol("itembits", integer=True, positive=True)
"""Bits of one value of the vector's dtype: 32 or 64."""
norm1 = sp.Symbol("norm1", positive=True)
"""Sum of |x_i|."""
norm2 = sp.Symbol("norm2", positive=True)
"""Euclidean norm of x (Frobenius for a matrix)."""
norm3 = sp.Symbol("norm3", positive=True)
"""Cube root of the sum of |x_i|^3."""
norminf = sp.Symbol("norminf", positive=True)
"""Largest |x_i|."""


def index_bits(count: sp.Expr) -> sp.Expr:
    """Bits that tell one of `count` things apart: ceil(log2(count))."""
    return sp.ceiling(sp.log(count, 2))


def _quantity(symbol: str, latex: str, meaning: str) -> Quantity:
    return Quantity(sp.Symbol(symbol, nonnegative=True), latex, meaning)


RELATIVE_ERROR = _quantity(
    "relative_error",
    r"\frac{\mathbb{E}\,\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of one compression over the squared norm of its input; expected over the compressor's randomness",
)
ABSOLUTE_ERROR = _quantity(
    "absolute_error",
    r"\mathbb{E}\,\lVert C(x)-x\rVert^2",
    "squared error of one compression, in the squared unit of the input",
)
SECOND_MOMENT = _quantity(
    "second_moment",
    r"\frac{\mathbb{E}\,\lVert C(x)\rVert^2}{\lVert x\rVert^2}",
    "squared norm of the output over that of the input, expected",
)
SHRUNK_ERROR = _quantity(
    "shrunk_error",
    r"\frac{\mathbb{E}\,\lVert C(x)/(1+\omega)-x\rVert^2}{\lVert x\rVert^2}",
    "relative error of the compressor divided by one plus its variance factor",
)
GLOBAL_ERROR = _quantity(
    "global_error",
    r"\frac{\mathbb{E}\,\lVert \frac1P\sum_i C(x_i)-\bar x\rVert^2}{\lVert\bar x\rVert^2}",
    "squared error of the average of the workers' compressed vectors over the squared norm of their average",
)
BIAS = _quantity(
    "bias",
    r"\frac{\lVert \mathbb{E}\,C(x)-x\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest difference between an entry of the expected output and of the input, over the largest entry",
)
BITS = _quantity("bits", r"\mathrm{bits}(C(x))", "size of the message on the wire, in bits")
SUPPORT = _quantity("support", r"\lVert C(x)\rVert_0", "number of nonzero entries of the output")
LEVEL = _quantity("level", r"\max_i \ell_i", "largest level of a quantised entry, sign left out")
SIGN_DEFECT = _quantity(
    "sign_defect",
    r"d_{\mathrm{TV}}\bigl(C(-x),\,-C(x)\bigr)",
    "total variation distance between the laws of C(-x) and of -C(x)",
)
SCALE_DEFECT = _quantity(
    "scale_defect",
    r"d_{\mathrm{TV}}\bigl(C(cx),\,c\,C(x)\bigr)",
    "total variation distance between the laws of C(c x) and of c C(x), for an admissible factor c > 0",
)
IDEMPOTENCE_DEFECT = _quantity(
    "idempotence_defect",
    r"\Pr\bigl[C(C(x))\neq C(x)\bigr]",
    "probability that compressing the output once more changes it",
)
