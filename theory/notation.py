"""How the symbols of the book are written in LaTeX, where not by their names."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from commbounds.theory.quantities import (
    absdet,
    alpha,
    block,
    chunk,
    e,
    entries,
    itembits,
    levels,
    mu,
    norm1,
    norm2,
    norm2bar,
    norm3,
    norminf,
    sumsq,
    threshold,
)

__all__ = ["NOTATION", "latex"]

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
    # averaging among peers: theory/moshpit/terms.py
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
    # quantised all-reduce: theory/flashcomm/terms.py
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
    # Ok-Topk: theory/oktopk/terms.py
    sp.Symbol("winners", integer=True, nonnegative=True): r"\lvert T\rvert",
    sp.Symbol("selected", integer=True, nonnegative=True): r"\max_p\lvert S_p\rvert",
    sp.Symbol("inbound", integer=True, nonnegative=True): r"\max_r\mathrm{in}_r",
    sp.Symbol("scale", positive=True): "c",
    sp.Symbol("before", nonnegative=True): r"\lVert\bar\epsilon\rVert",
    sp.Symbol("move", nonnegative=True): r"\lVert\eta G\rVert",
    sp.Symbol("gap", nonnegative=True): r"(f_0-f^*)",
    sp.Symbol("moment", positive=True): r"\mathcal{M}",
    sp.Symbol("horizon", integer=True, positive=True): "t",
    # DropCompute: theory/dropcompute/terms.py
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
    # error feedback: theory/feedback/terms.py
    sp.Symbol("smoothness_apart", positive=True): r"\tilde L",
    sp.Symbol("reach", positive=True): "M",
    sp.Symbol("lag", nonnegative=True): "G",
    sp.Symbol("turn", nonnegative=True): r"\lVert\nabla^+-\nabla\rVert^2",
    sp.Symbol("shift", nonnegative=True): r"\lVert x^+-x\rVert^2",
    sp.Symbol("slope", nonnegative=True): r"\lVert\nabla f(x)\rVert^2",
    sp.Symbol("momentum_lag", nonnegative=True): r"\lVert\bar h-\nabla f\rVert^2",
    sp.Symbol("own_lag", nonnegative=True): r"H",
    sp.Symbol("mean_lag", nonnegative=True): r"\lVert\bar g-\bar h\rVert^2",
    sp.Symbol("variance", nonnegative=True): r"\sigma^2",
    sp.Symbol("potential", nonnegative=True): r"\Psi^0",
    # dense all-reduce and schedules: theory/dense/terms.py
    sp.Symbol("unit", positive=True): "u",
    # nodes: theory/dense/node_schedules.py
    sp.Symbol("nodes", integer=True, positive=True): "N",
    # sparse all-reduce: theory/sparse/terms.py, theory/sparse/schedules.py
    sp.Symbol("union", integer=True, nonnegative=True): "U",
    sp.Symbol("nonzeros", integer=True, nonnegative=True): r"\lvert T\rvert",
    sp.Symbol("fewest", integer=True, nonnegative=True): r"\min_p\lvert S_p\rvert",
    sp.Symbol("sd", positive=True): r"\sigma",
    sp.Symbol("teams", integer=True, positive=True): "d",
    sp.Symbol("kept", integer=True, positive=True): "h",
    # packet loss: theory/packetloss/terms.py
    sp.Symbol("elapsed", integer=True, positive=True): "t",
    sp.Symbol("arrived", integer=True, positive=True): "K",
    sp.Symbol("squares", nonnegative=True): r"\left(\sum_i g_i^2\right)",
    sp.Symbol("onefewer", nonnegative=True): r"A_{N-1}",
    sp.Symbol("stale", integer=True, nonnegative=True): r"\ell",
    sp.Symbol("apart", integer=True, positive=True): "m",
    sp.Symbol("age", integer=True, nonnegative=True): "a",
    sp.Symbol("older", integer=True, nonnegative=True): "b",
    sp.Symbol("receivers", integer=True, positive=True): "R",
    sp.Symbol("recovery", positive=True): "b",
    sp.Symbol("lossrate", nonnegative=True): r"\pi",
    sp.Symbol("fates", nonnegative=True): r"\left(\sum_s F(s)(1-F(s))\right)",
    sp.Symbol("lagged", nonnegative=True): r"\mathbb{E}\,\lVert x\rVert^2",
    sp.Symbol("discounted", nonnegative=True): r"\lVert\mathbb{E}\,x\rVert^2",
    sp.Symbol("autocov", nonnegative=True): r"\left(r(0)+2\sum_{h\geq 1}p^h r(h)\right)",
    sp.Symbol("driftbefore", nonnegative=True): r"\mathbb{E}D_{t-1}^2",
    sp.Symbol("onesided", nonnegative=True): r"V_t",
    sp.Symbol("smooth", positive=True): "L",
    sp.Symbol("meandistance", nonnegative=True): r"\frac1N\sum_i\lVert\theta_i-\theta\rVert",
    sp.Symbol("missednorms", nonnegative=True): r"\left(\sum_{s}\lVert u_s\rVert\right)",
    sp.Symbol("packets", integer=True, positive=True): "q",
    sp.Symbol("coordinates", integer=True, positive=True): "n",
}
"""LaTeX by symbol."""


class _Printer(LatexPrinter):  # type: ignore[misc]
    def _as_ordered_terms(self, expression: Any, order: Any = None) -> list[Any]:
        # no sum starts with a minus where it can be helped: 1 - k/n
        return sorted(super()._as_ordered_terms(expression, order), key=lambda term: term.could_extract_minus_sign())


def latex(expression: Any, symbol_names: dict[Any, str] | None = None) -> str:
    """`expression` as LaTeX in the book's notation; `symbol_names` adds to it."""
    return str(_Printer({"symbol_names": {**NOTATION, **(symbol_names or {})}}).doprint(expression))
