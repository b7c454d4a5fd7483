"""What laws of quantised entries say of the symbols of their models."""

import numpy as np
import sympy as sp
from model_runs import EPS, Run, between_levels, exact, law_of_entries

from commbounds.verify.experiments.feedback.runs import root
from commbounds.verify.experiments.quantizers.studies import _elias_lengths
from commbounds.verify.marginals import Marginals


def unbiased(run):
    """Magnitudes that become one of two levels."""
    magnitudes, law = zip(*law_of_entries(run), strict=True) if run.exact else ((), ())
    yield from between_levels(law, magnitudes)


def without_roots_below(number):
    """The number as a sum of rational multiples of roots, with no root in a denominator."""
    return sp.expand(sp.radsimp(sp.sympify(number)))


def shrunk(run, outcome, bound):
    """What is left of the variance factor omega by a compressor that is divided by 1 + omega, of which the bound is."""
    values, omega = outcome.values, exact(bound) / (1 - exact(bound))
    if not run.exact or isinstance(omega, float):
        return
    error = sum(p * sum((exact(o) - v) ** 2 for v, o in zip(run.x, output, strict=True)) for p, output in run.law())
    slack = without_roots_below(omega - error / sum(v * v for v in run.x))
    n, s = values["n"], values.get("s", 1)
    assert without_roots_below((omega - slack) / (1 + omega) ** 2 + (omega / (1 + omega)) ** 2 - outcome.measured) == 0
    names = {name: values[name] for name in ("n", "s", "b", "budget") if name in values}
    ratio = sp.sqrt(n) if run.c.__class__.__name__ == "TernGrad" else sp.sqrt(1 + sp.Rational(n - 1, s**2))
    yield {**names, "slack": slack, "w": sp.sqrt(n), "U": 2**s, "ratio": ratio}


def levels(run, outcome):
    """Entries in the norm over the number of levels, one after another: fraction and level, and the sums before."""
    norm, s = root(sum(v * v for v in run.x)) if run.exact else None, outcome.values["s"]
    if not norm:
        return
    known = {"w": sp.sqrt(len(run.x)), "s": s, "outcomes": 1}
    entries = squares = error = 0
    for value, pairs in law_of_entries(run):
        level, f = divmod(s * value / norm, 1)
        assert [(p, o * s / norm) for p, o in pairs] == [(p, o) for p, o in ((1 - f, level), (f, level + 1)) if p]
        before = {"entries": entries, "squares": squares, "error": error}
        yield {**known, **before, "f": f, "level": level - bool(level > 0)}
        entries, squares, error = entries + 1, squares + (level + f) ** 2, error + f * (1 - f)


def elias(run, outcome):
    """Of every entry the level's mean, and how many bits its Elias code takes in the mean."""
    law, s = run.kernel(), outcome.values["s"]
    x = np.asarray(run.x, np.float64)
    if not isinstance(law, Marginals) or not x.any() or x.dtype == np.float16:
        return
    upper, lower = (_elias_lengths(run.c.compress_with(run.x, np.full_like(run.x, u)).codes)
                    for u in (0, 1 - np.finfo(run.x.dtype).epsneg))  # fmt: skip
    w = float(x.size) ** 0.5
    bits = law.p * upper + (1 - law.p) * lower
    known = {"w": w, "s": s, "log2": float(np.log2(1 + s / w)), "slope": 1 / float(np.log(2))}
    for value, of in zip((s * np.abs(x) / np.linalg.norm(x)).tolist(), bits.tolist(), strict=True):
        yield Run({**known, "value": value, "bits": of}, int(64 * law.resolution / EPS) + 64)


def terngrad_error(run):
    """Entry by entry: sums before it, and the largest at the end."""
    if not run.exact:
        return
    norm1 = squares = error = 0
    for magnitude, pairs in law_of_entries(run):
        yield {"norm1": norm1, "squares": squares, "error": error, "outcomes": 1, "magnitude": magnitude,
               "norminf": max(map(abs, run.x))}  # fmt: skip
        norm1, squares = norm1 + magnitude, squares + magnitude**2
        error += sum(p * (o - magnitude) ** 2 for p, o in pairs)


def one_sparse(outcome):
    """The only entry that is not zero."""
    yield {"n": outcome.values["n"], "magnitude": outcome.values["norminf"]}


RUNS = {
    **{
        f"quantizers.{name}.unbiased": unbiased
        for name in ("qsgd", "maxdithering", "terngrad", "naturalcompression", "naturaldithering", "stochasticpower")
    },
    **{
        f"quantizers.{name}.shrunk_contraction": shrunk
        for name in ("qsgd", "maxdithering", "terngrad", "naturalcompression", "naturaldithering", "stochasticpower")
    },
    "quantizers.qsgd.elias": elias,
    "quantizers.qsgd.second_moment": levels,
    "quantizers.terngrad.error": terngrad_error,
    "quantizers.scaledsign.one_sparse": one_sparse,
}
