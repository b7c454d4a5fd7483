"""Classical all-reduce, reduce-scatter and all-gather: figures about more than one claim."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Floats
from commbounds.collectives import COLLECTIVES
from commbounds.theory import claims
from commbounds.theory.cost import Machine, cost
from commbounds.theory.quantities import P, k, n
from commbounds.theory.schedules import DENSE_LOWER_BOUND, SCHEDULES, SPARSE_LOWER_BOUND
from commbounds.verify.exhibit import Exhibit, Heat, Maker, Panel, bound_of, line
from commbounds.verify.experiments.dense.cases import exact_error

_ALLREDUCES = {
    "ring": "ring",
    "recursive_doubling": "recursive doubling",
    "rabenseifner": "Rabenseifner",
    "butterfly": "direct",
}
_ALPHA, _BETA = sp.Rational(1, 10**6), sp.Rational(32, 10**11)
"""Seconds a step, and a word of four bytes at 100 Gbit/s: the defaults of ``commbounds cost``."""
_MACHINE = Machine(_ALPHA, _BETA)


@cache
def _function(expression: Any) -> Callable[..., Any]:
    """`expression` of P, n and k, for arrays."""
    return sp.lambdify([P, n, k], expression, ["scipy", "numpy"])  # type: ignore[no-any-return]


def _at(expression: Any, ranks: Any, words: Any, selected: Any = 1) -> Floats:
    """`expression` at every combination that broadcasts."""
    given = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (ranks, words, selected)))
    return np.broadcast_to(np.asarray(_function(expression)(*given), dtype=np.float64), given[0].shape)


# --- words and time of the dense all-reduces --------------------------------------------------------------------------


def _measured(name: str, ranks: Sequence[int], length: int) -> list[Any]:
    run = COLLECTIVES[f"{name}_allreduce"]
    return [run(np.ones((count, length), np.float32))[1] for count in ranks]


def _words(_budget: str, _seed: int) -> Exhibit:
    ranks, length = list(range(1, 34)), 1024
    traffic = {name: _measured(name, ranks, length) for name in _ALLREDUCES}
    bound = _at(DENSE_LOWER_BOUND, ranks, length) / length
    paths = [
        line(title, ranks, [t.critical_path / length for t in traffic[name]]) for name, title in _ALLREDUCES.items()
    ]
    printed = [
        line(f"{_ALLREDUCES[name]}, as printed", ranks, _at(cost(SCHEDULES[name]).words, ranks, length) / length,
             "printed")
        for name in ("recursive_doubling", "rabenseifner")
    ]  # fmt: skip
    spread = []
    for name, title in _ALLREDUCES.items():
        middle, low, high = (
            [float(of(t.received)) / length for t in traffic[name]] for of in (np.mean, np.min, np.max)
        )
        spread.append(line(title, ranks, middle, "measured", low, high))
    lower = line("lower bound 2(P - 1)/P on the mean", ranks, bound, "lower")
    return Exhibit(
        "dense.words",
        "Off powers of two, recursive doubling and Rabenseifner cost up to two vectors more than printed",
        f"Counted words, in vectors of {length} words. Left: critical path, with the printed formulas continued to "
        "every P; folding the ranks beyond a power of two costs two vectors. Ring and direct coincide, next to the "
        "lower bound. Right: words received, mean over the ranks, with a band from the least to the most of any rank. "
        "Ring, direct and Rabenseifner receive the lower bound on average for every P; single ranks may receive less.",
        (
            Panel("Critical path", "ranks P", "words / n", (*paths, *printed, lower)),
            Panel("Received by a rank", "ranks P", "words / n", (*spread, lower)),
        ),
    )


def _time(_budget: str, _seed: int) -> Exhibit:
    lengths = np.unique(np.round(np.geomspace(16, 2**24, 25)).astype(np.int64))
    panels = []
    for ranks in (16, 24):
        lines = []
        for name, title in _ALLREDUCES.items():
            # steps and words of the schedule that is exact for every P and n: claims hold it against counted traffic
            steps = claims()[f"dense.{name}.steps"].relation.rhs
            words = claims()[f"dense.{name}.critical_path"].relation.rhs
            seconds = _at(steps * _ALPHA + words * _BETA, ranks, lengths)
            lines.append(line(title, lengths, seconds * 1e6, "exact"))
        seconds = _at(DENSE_LOWER_BOUND * _BETA, ranks, lengths)
        lines.append(line("words of the lower bound", lengths, seconds * 1e6, "lower"))
        panels.append(Panel(f"{ranks} ranks", "words of a vector n", "time in us", tuple(lines), None, "log", "log"))
    return Exhibit(
        "dense.time",
        "Recursive doubling is the fastest for short vectors; for long ones Rabenseifner at powers of two, else ring",
        "Modelled time, 1 us a step and 0.32 ns a word (4 bytes at 100 Gbit/s), from steps and words that are exact "
        "for every P and n. Ring and direct coincide.",
        tuple(panels),
    )


def _rounding(budget: str, seed: int) -> Exhibit:
    ranks = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    columns = {"quick": 40, "standard": 200, "thorough": 1000}[budget]
    panels = []
    for shape, title in (("signed", "normal entries"), ("positive", "entries uniform in [1, 2]")):
        lines = []
        for name, label in _ALLREDUCES.items():
            worst = []
            for count in ranks:
                rng = np.random.default_rng([seed, count])
                drawn = (
                    rng.standard_normal((count, columns)) if shape == "signed" else rng.uniform(1, 2, (count, columns))
                )
                stack = drawn.astype(np.float32)
                result, _ = COLLECTIVES[f"{name}_allreduce"](stack)
                worst.append(float(exact_error(result[:1], stack)) * 2.0**24)
            lines.append(line(label, ranks, worst))
        for name, label in (("ring", "bound, ring and direct"), ("recursive_doubling", "bound, trees")):
            unit = 2.0**-24
            bound = [bound_of(f"dense.{name}.rounding", P=count, unit=unit) / unit for count in ranks]
            lines.append(line(label, ranks, bound, "bound"))
        panels.append(Panel(title, "ranks P", "error / sum of magnitudes, in u", tuple(lines), None, "log", "log"))
    return Exhibit(
        "dense.rounding",
        "Trees of additions have smaller rounding errors than chains: their bound grows with log2 P, not P",
        f"float32, the largest error of {columns} entries over the sum of the magnitudes added, in units of the unit "
        "roundoff u, computed exactly. Positive entries come closer to the bounds than entries that cancel.",
        tuple(panels),
    )


# --- sparse against dense ---------------------------------------------------------------------------------------------

_RIVALS = {
    "rabenseifner": "dense (Rabenseifner)",
    "topk_allgather": "TopkA",
    "gtopk": "gTopk",
    "oktopk": "Ok-Topk, upper end",
    "spardl": "SparDL, one team",
}
"""What is sure, or an upper end: TopkDSA has no sure bound below dense."""
_LENGTH = 2**20


def _cheapest(price: Callable[[str], Any], names: Sequence[str], densities: Any, ranks: Any, title: str) -> Heat:
    """For every density and number of ranks, the rival with the least `price`; of equal ones the first."""
    prices = np.stack([_at(price(name), ranks[:, None], _LENGTH, densities * _LENGTH) for name in names])
    # equal in exact arithmetic is equal up to rounding here: 1e-12 is 4 decades above it and 6 below any difference
    best = np.argmax(prices <= prices.min(axis=0) * (1 + 1e-12), axis=0)
    labels = [_RIVALS[name] for name in names]
    return Heat(densities.tolist(), ranks.tolist(), best.astype(float).tolist(), labels, title)


def _crossover(_budget: str, _seed: int) -> Exhibit:
    densities, ranks = np.geomspace(1e-5, 1.0, 61), 2.0 ** np.arange(1, 11)
    older = [name for name in _RIVALS if name != "spardl"]
    maps = (
        ("By words", lambda name: cost(SCHEDULES[name]).words, list(_RIVALS)),
        ("By words, without SparDL", lambda name: cost(SCHEDULES[name]).words, older),
        ("By time", lambda name: cost(SCHEDULES[name]).time(_MACHINE), list(_RIVALS)),
        ("By time, without SparDL", lambda name: cost(SCHEDULES[name]).time(_MACHINE), older),
    )
    panels = tuple(
        Panel(
            title,
            "density k/n",
            "ranks P",
            heat=_cheapest(price, names, densities, ranks, "cheapest all-reduce"),
            xscale="log",
            yscale="log",
        )
        for title, price, names in maps
    )
    return Exhibit(
        "dense.crossover",
        "By words SparDL wins below a density of one half; by time gTopk beats Ok-Topk on much of the map",
        "From the schedules, at n = 2^20 and powers of two P; time with 1 us a step and 0.32 ns a word. The costs "
        "compared are exact or upper ends of a range. For equal costs the first in the legend is shown: with two ranks "
        "TopkA and SparDL move the same words. Ok-Topk takes 2P steps, gTopk 2 log2 P.",
        panels,
    )


_DRAWN: Mapping[str, tuple[str, str]] = {
    "rabenseifner": ("dense", "printed"),
    "topk_allgather": ("TopkA, Gaussiank", "printed"),
    "gtopk": ("gTopk", "printed"),
    "topk_dsa_upper": ("TopkDSA, upper end", "bound"),
    "topk_dsa": ("TopkDSA, lower end", "reference"),
    "oktopk": ("Ok-Topk, upper end", "bound"),
    "oktopk_lower": ("Ok-Topk, lower end", "reference"),
    "spardl": ("SparDL, one team", "printed"),
}


def _schedules(_budget: str, _seed: int) -> Exhibit:
    ranks = 2.0 ** np.arange(1, 11)
    panels = []
    for share, text in ((100, "1 %"), (10, "10 %")):
        selected = _LENGTH // share
        drawn = [(label, cost(SCHEDULES[name]).words, role) for name, (label, role) in _DRAWN.items()]
        lines = [
            line(label, ranks, _at(words, ranks, _LENGTH, selected) / selected, role)
            for label, words, role in (*drawn, ("lower bound on the mean", SPARSE_LOWER_BOUND, "lower"))
        ]
        panels.append(Panel(f"density {text}", "ranks P", "words / k", tuple(lines), None, "log", "log"))
    return Exhibit(
        "dense.schedules",
        "TopkA's words grow with P, gTopk's with log2 P; SparDL's stay below 4k, Ok-Topk's upper end below 6k",
        "Words on the critical path by the schedules, n = 2^20, P powers of two. The ends are those of the printed "
        "ranges, which claims of the sparse columns test.",
        tuple(panels),
    )


EXHIBITS: dict[str, Maker] = {
    "dense.words": _words,
    "dense.time": _time,
    "dense.rounding": _rounding,
    "dense.crossover": _crossover,
    "dense.schedules": _schedules,
}
