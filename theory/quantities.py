"""What claims measure, and the symbols that their bounds are written in.

Every bound in the book uses these symbols, so that one dictionary of values serves every claim about an input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

__all__ = [
    "ABSOLUTE_ERROR",
    "BIAS",
    "BITS",
    "GLOBAL_ERROR",
    "IDEMPOTENCE_DEFECT",
    "LEVEL",
    "LOCAL_ERROR",
    "NOTATION",
    "RELATIVE_ERROR",
    "SCALE_DEFECT",
    "SECOND_MOMENT",
    "SHRUNK_ERROR",
    "SIGN_DEFECT",
    "SUPPORT",
    "P",
    "Quantity",
    "absdet",
    "alpha",
    "b",
    "block",
    "choose",
    "chunk",
    "e",
    "entries",
    "index_bits",
    "itembits",
    "k",
    "latex",
    "levels",
    "m",
    "mu",
    "n",
    "norm1",
    "norm2",
    "norm2bar",
    "norm3",
    "norminf",
    "r",
    "s",
    "sumsq",
    "threshold",
]


@dataclass(frozen=True)
class Quantity:
    """A measured quantity: the left-hand side of a claim.

    Parameters
    ----------
    symbol : sympy.Symbol
        Stands for the measured value in a claim's relation.
    latex : str
        Its definition, as LaTeX, shown in place of the symbol.
    meaning : str
        Its definition in words, with unit.
    """

    symbol: sp.Symbol
    latex: str
    meaning: str


n = sp.Symbol("n", integer=True, positive=True)
"""Entries of the vector (the papers' d); columns of a matrix."""
k = sp.Symbol("k", integer=True, positive=True)
"""Entries kept, k <= n; blocks kept; entries kept per chunk, k <= chunk."""
m = sp.Symbol("m", integer=True, positive=True)
"""Rows of a matrix; `n` is then its columns."""
r = sp.Symbol("r", integer=True, positive=True)
"""Rank, r <= min(m, n)."""
s = sp.Symbol("s", integer=True, positive=True)
"""Positive quantisation levels."""
b = sp.Symbol("b", positive=True)
"""Base of the powers that a compressor rounds to, b > 1."""
levels = sp.Symbol("levels", integer=True, positive=True)
"""Positive levels in the table of a compressor that rounds to the powers of a base."""
mu = sp.Symbol("mu", positive=True)
"""Density asked for, 0 < mu <= 1: the share of the entries to keep."""
alpha = sp.Symbol("alpha", positive=True)
"""A contraction factor that somebody hopes for, 0 < alpha < 1."""
block = sp.Symbol("block", integer=True, positive=True)
"""Entries per block."""
chunk = sp.Symbol("chunk", integer=True, positive=True)
"""Entries per chunk."""
threshold = sp.Symbol("threshold", positive=True)
"""Hard threshold, in the unit of the vector's entries."""
itembits = sp.Symbol("itembits", integer=True, positive=True)
"""Bits of one value of the vector's dtype: 32 or 64."""
entries = sp.Symbol("entries", integer=True, nonnegative=True)
"""Values that a message carries, where their number depends on the data."""
norm1 = sp.Symbol("norm1", positive=True)
"""Sum of |x_i|."""
norm2 = sp.Symbol("norm2", positive=True)
"""Euclidean norm of x (Frobenius for a matrix)."""
norm3 = sp.Symbol("norm3", positive=True)
"""Cube root of the sum of |x_i|^3."""
norminf = sp.Symbol("norminf", positive=True)
"""Largest |x_i|."""
absdet = sp.Symbol("absdet", nonnegative=True)
"""Product of the singular values of a matrix: |det M| where it is square."""
P = sp.Symbol("P", integer=True, positive=True)
"""Workers."""
norm2bar = sp.Symbol("norm2bar", positive=True)
"""Euclidean norm of the average of the workers' vectors."""
sumsq = sp.Symbol("sumsq", positive=True)
"""Sum over the workers of the squared Euclidean norm of their vectors."""
e = sp.Symbol("e", positive=True)
"""Parameter of the two workers (1 + e, -1) and (-1, 1 + e)."""

NOTATION = {
    levels: "L",
    mu: r"\mu",
    alpha: r"\alpha",
    block: r"\mathrm{block}",
    chunk: r"\mathrm{chunk}",
    threshold: r"\mathrm{threshold}",
    itembits: r"\mathrm{itembits}",
    entries: r"\mathrm{entries}",
    norm1: r"\lVert x\rVert_1",
    norm2: r"\lVert x\rVert_2",
    norm3: r"\lVert x\rVert_3",
    norminf: r"\lVert x\rVert_\infty",
    absdet: r"\sigma_1\sigma_2",
    norm2bar: r"\lVert\bar x\rVert_2",
    sumsq: r"\left(\sum_i\lVert x_i\rVert_2^2\right)",
    e: r"\varepsilon",
    # averaging among peers: theory/_moshpit_terms.py
    sp.Symbol("dims", integer=True, positive=True): "d",
    sp.Symbol("rounds", integer=True, nonnegative=True): "T",
    sp.Symbol("failure", nonnegative=True): "p",
    sp.Symbol("deaf", nonnegative=True): "q",
    sp.Symbol("blocks", positive=True): r"\mathbb{E}R",
    sp.Symbol("survivors", integer=True, positive=True): "n'",
    sp.Symbol("spread", nonnegative=True): "V",
    sp.Symbol("cap", integer=True, positive=True): "c",
    sp.Symbol("mixing", nonnegative=True): r"\rho",
    sp.Symbol("stepsize", positive=True): r"\gamma",
    sp.Symbol("noise", nonnegative=True): r"\sigma",
    sp.Symbol("smoothness", positive=True): "L",
    sp.Symbol("convexity", positive=True): r"\mu",
    sp.Symbol("curvature", nonnegative=True): "h",
    sp.Symbol("period", integer=True, positive=True): r"\tau",
    sp.Symbol("periods", integer=True, positive=True): "a",
    sp.Symbol("iterations", integer=True, positive=True): "K",
    sp.Symbol("quality", nonnegative=True): r"\delta",
    sp.Symbol("distance", nonnegative=True): r"\lVert\theta^0-\theta^*\rVert",
    sp.Symbol("excess", nonnegative=True): r"\Delta_f",
    sp.Symbol("square", nonnegative=True): r"\lVert\theta^k\rVert^2",
    # quantised all-reduce: theory/_flashcomm_terms.py
    sp.Symbol("width", integer=True, positive=True): "b",
    sp.Symbol("first_width", integer=True, positive=True): "b_1",
    sp.Symbol("second_width", integer=True, positive=True): "b_2",
    sp.Symbol("group", integer=True, positive=True): "g",
    sp.Symbol("groups", integer=True, positive=True): "G",
    sp.Symbol("metabits", integer=True, positive=True): "w",
    sp.Symbol("step", positive=True): r"\tilde s",
    sp.Symbol("offset", nonnegative=True): r"|\min|",
    sp.Symbol("span", positive=True): "R",
    sp.Symbol("roundoff", positive=True): "u",
    sp.Symbol("scales", nonnegative=True): r"\left(\sum_p s_p\right)",
    sp.Symbol("sum_scale", nonnegative=True): r"s'",
    sp.Symbol("ranges", nonnegative=True): r"\left(\sum_p R_p\right)",
    sp.Symbol("ring_scales", nonnegative=True): r"\left(\sum_{h=1}^P\sum_{p\leq h} s_p\right)",
    sp.Symbol("coded_bytes", integer=True, positive=True): "M",
    # Ok-Topk: theory/_oktopk_terms.py
    sp.Symbol("winners", integer=True, nonnegative=True): r"\lvert T\rvert",
    sp.Symbol("selected", integer=True, nonnegative=True): r"\max_p\lvert S_p\rvert",
    sp.Symbol("inbound", integer=True, nonnegative=True): r"\max_r\mathrm{in}_r",
    sp.Symbol("scale", positive=True): "c",
    sp.Symbol("before", nonnegative=True): r"\lVert\bar\epsilon\rVert",
    sp.Symbol("move", nonnegative=True): r"\lVert\eta G\rVert",
    sp.Symbol("gap", nonnegative=True): r"(f_0-f^*)",
    sp.Symbol("moment", positive=True): r"\mathcal{M}",
    sp.Symbol("horizon", integer=True, positive=True): "t",
    # DropCompute: theory/_dropcompute_terms.py
    sp.Symbol("logwidth", positive=True): "s",
    sp.Symbol("gammascale", positive=True): r"\theta",
    sp.Symbol("overhead", nonnegative=True): "T_c",
    sp.Symbol("latency", positive=True): r"\mu",
    sp.Symbol("jitter", nonnegative=True): r"\sigma",
    sp.Symbol("skewness", real=True): r"\gamma_3",
    sp.Symbol("slowest", nonnegative=True): "T",
    sp.Symbol("capped", nonnegative=True): r"\mathbb{E}\min(\tau,T)",
    sp.Symbol("late", nonnegative=True): r"\Pr[T_n\ge\tau]",
    sp.Symbol("below", nonnegative=True): r"\textstyle\sum_m\Pr[S_m<\tau]",
    sp.Symbol("evenness", nonnegative=True): "F^{-1}(1-e^{-H_N})",
    sp.Symbol("square_top", nonnegative=True): r"\mathbb{E}\,Z_{(N)}^2",
    sp.Symbol("top", real=True): r"\mathbb{E}\,Z_{(N)}",
    sp.Symbol("upper", nonnegative=True): r"F^{-1}(1-\frac1N)",
    sp.Symbol("outer", nonnegative=True): r"F^{-1}(1-\frac1{eN})",
    sp.Symbol("longest", nonnegative=True): "b",
    sp.Symbol("shortest", nonnegative=True): "a",
    sp.Symbol("location", real=True): "m",
    sp.Symbol("shape", positive=True): "k",
    sp.Symbol("largest_batch", integer=True, positive=True): "B",
    sp.Symbol("samples", positive=True): "K",
    sp.Symbol("odd_square", positive=True): "w",
}
"""How the symbols above are written in LaTeX, where not by their names."""


class _Printer(LatexPrinter):  # type: ignore[misc]
    def _as_ordered_terms(self, expression: Any, order: Any = None) -> list[Any]:
        # no sum starts with a minus where it can be helped: 1 - k/n
        return sorted(super()._as_ordered_terms(expression, order), key=lambda term: term.could_extract_minus_sign())


def latex(expression: Any, symbol_names: dict[Any, str] | None = None) -> str:
    """`expression` as LaTeX in the book's notation; `symbol_names` adds to it."""
    return str(_Printer({"symbol_names": {**NOTATION, **(symbol_names or {})}}).doprint(expression))


class index_bits(sp.Function):  # type: ignore[misc]
    """Bits that tell one of `count` >= 1 things apart: ceil(log2(count)), exactly, in integers and in floats."""

    nargs = 1
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, count: Any) -> Any:
        """The value where `count` is a number."""
        return sp.Integer((int(count) - 1).bit_length()) if count.is_Integer else None

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\left\lceil\log_2 {printer.parenthesize(self.args[0], 50)}\right\rceil"

    @staticmethod
    def _imp_(count: Any) -> Any:
        import numpy as np

        # x = f 2^e with 1/2 <= f < 1, so the exponent of the integer count - 1 is its bit length.
        return np.frexp(np.asarray(count, dtype=np.float64) - 1)[1]


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


def _quantity(symbol: str, latex: str, meaning: str) -> Quantity:
    return Quantity(sp.Symbol(symbol, nonnegative=True), latex, meaning)


RELATIVE_ERROR = _quantity(
    "relative_error",
    r"\frac{\mathbb{E}\,\lVert C(x)-x\rVert^2}{\lVert x\rVert^2}",
    "squared error of one compression over the squared norm of its input, expected over the compressor's randomness; "
    "x is not zero",
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
LOCAL_ERROR = _quantity(
    "local_error",
    r"\frac{\mathbb{E}\,\sum_i\lVert C(x_i)-x_i\rVert^2}{\sum_i\lVert x_i\rVert^2}",
    "squared errors summed over the workers, over their squared norms summed; not all vectors are zero",
)
GLOBAL_ERROR = _quantity(
    "global_error",
    r"\frac{\mathbb{E}\,\lVert \frac1P\sum_i C(x_i)-\bar x\rVert^2}{\lVert\bar x\rVert^2}",
    "squared error of the average of the workers' compressed vectors over the squared norm of their average, "
    "which is not zero",
)
BIAS = _quantity(
    "bias",
    r"\frac{\lVert \mathbb{E}\,C(x)-x\rVert_\infty}{\lVert x\rVert_\infty}",
    "largest difference between an entry of the expected output and of the input, over the input's largest",
)
BITS = _quantity("bits", r"\mathrm{bits}(C(x))", "size of the message on the wire, in bits")
SUPPORT = _quantity("support", r"\mathbb{E}\,\lVert C(x)\rVert_0", "number of nonzero entries of the output, expected")
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
