"""Sparse all-reduces before Ok-Topk, and SparDL: figures about more than one claim."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from commbounds.array_types import Array
from commbounds.collectives import (
    Traffic,
    gaussiank_allreduce,
    gtopk_allreduce,
    oktopk_allreduce,
    ring_allreduce,
    spardl_allreduce,
    topk_allgather,
    topk_dsa,
)
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, line
from commbounds.verify.stack_families import stack

# --- words against the number of ranks ---------------------------------------------------------------------------

_N, _K = 16384, 256
_ANNOUNCED = ("sizes", "repartition", "reevaluation")


def _data(traffic: Traffic) -> Traffic:
    """The words of entries, without announcements and, for Ok-Topk, without what is done now and then."""
    return traffic.only(*(set(traffic.phases) - set(_ANNOUNCED))) if traffic.phases else traffic


def _oktopk(x: Array, k: int) -> Traffic:
    """An ordinary step, with thresholds and boundaries of a step before on the same vectors."""
    _, state, _ = oktopk_allreduce(x, k)
    _, _, traffic = oktopk_allreduce(x, k, state)
    return traffic


_METHODS: dict[str, Callable[[Array, int], Traffic]] = {
    "TopkA": lambda x, k: topk_allgather(x, k)[1],
    "TopkDSA": lambda x, k: topk_dsa(x, k, allgather="bruck")[1],
    "gTopk": lambda x, k: gtopk_allreduce(x, k)[1],
    "Gaussiank": lambda x, k: gaussiank_allreduce(x, k)[1],
    "SparDL": lambda x, k: spardl_allreduce(x, k)[1],
    "Ok-Topk": _oktopk,
    "dense": lambda x, _k: ring_allreduce(x)[1],
}
_INPUTS = {
    "iid": "Independent normal entries",
    "common + noise": "A common vector and noise",
    "same hot layers": "The same hot layers on all ranks",
    "own hot layers": "Different hot layers on every rank",
}
_BOUNDS = {
    "lower bound 2k(P - 1)/P": ("lower_bound.mean", "lower"),
    "Ok-Topk's 6k(P - 1)/P": ("topka.above_oktopk", "bound"),
    "TopkDSA's upper end, as printed": ("topkdsa.upper_any_split", "printed"),
}


def _words(budget: str, seed: int) -> Exhibit:
    ranks = (2, 4, 8, 12, 16, 24, 32) if budget == "quick" else (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
    bounds = []
    for label, (claim, role) in _BOUNDS.items():
        values = [bound_of(f"sparse.{claim}", P=P, n=_N, k=_K, nonzeros=_K) / _K for P in ranks]
        bounds.append(line(label, ranks, values, role))
    panels = []
    for family, title in _INPUTS.items():
        stacks = [stack(family, P, _N, _K, seed) for P in ranks]
        lines = [
            line(name, ranks, [_data(run(x, _K)).critical_path / _K for x in stacks]) for name, run in _METHODS.items()
        ]
        panels.append(Panel(title, "ranks P", "words on the critical path / k", (*lines, *bounds), None, "log", "log"))
    return Exhibit(
        "sparse.words",
        "SparDL and gTopk move the same words for every input; hot layers take TopkDSA and Ok-Topk out of their range",
        f"Counted words of entries (an index and a value: two words) on the critical path, over k; n = {_N}, k = {_K}; "
        "announcements of sizes, and Ok-Topk's re-evaluations, are left out. Gaussiank selects as many entries as its "
        "normal-quantile threshold lets pass: far from k where entries are not normal. Dense is a ring.",
        tuple(panels),
    )


# --- what Gaussiank selects --------------------------------------------------------------------------------------


def _spike(rng: np.random.Generator, n: int) -> Array:
    """Normal entries, a thousandth of them a thousand times the others."""
    return rng.standard_normal(n) * np.where(rng.random(n) < 1e-3, 1.0, 1e-3)


_LAWS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "Student 3": lambda rng, n: rng.standard_t(3, n),
    "Student 2": lambda rng, n: rng.standard_t(2, n),
    "Student 1.5": lambda rng, n: rng.standard_t(1.5, n),
    "spike": _spike,
}
_LIMITS = {"normal": "normal_least", "Laplace": "laplace_least", "Student 3": "student_least"}
_DENSITIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


def _share_line(law: str, adapt: str, n: int, draws: int, rng: np.random.Generator) -> Line:
    """Selected / k of random vectors: the median, with the least and the most."""
    shares = np.empty((draws, len(_DENSITIES)))
    x = np.stack([_LAWS[law](rng, n) for _ in range(draws)])
    for j, density in enumerate(_DENSITIES):
        k = round(density * n)
        result, _ = gaussiank_allreduce(x, k, adapt=adapt)
        shares[:, j] = [s.size / k for s in result.selected]
    return line(law, _DENSITIES, np.median(shares, axis=0), "measured", shares.min(axis=0), shares.max(axis=0))


def _limit_line(law: str, n: int) -> Line:
    """The formula for long vectors."""
    claim = f"sparse.gaussiank.{_LIMITS[law]}"
    values = [bound_of(claim, mu=d, z=-float(ndtri(d / 2)), k=float(n) ** 2) for d in _DENSITIES]
    return line(f"{law}, limit", _DENSITIES, values, "exact")


def _selected(budget: str, seed: int) -> Exhibit:
    n, draws = (20_000, 5) if budget == "quick" else (200_000, 20)
    rngs = np.random.default_rng([seed, 0]).spawn(3 * len(_LAWS))
    titles = {
        "none": "One threshold",
        "vgg": "Changed by 1.02 up to 20 times, up or down",
        "lstm": "Lowered by 1.012 up to 50 times",
    }
    panels = []
    for a, (adapt, title) in enumerate(titles.items()):
        of_laws = rngs[a * len(_LAWS) :]
        lines = [_share_line(law, adapt, n, draws, rng) for law, rng in zip(_LAWS, of_laws, strict=False)]
        if adapt == "none":
            lines += [_limit_line(law, n) for law in _LIMITS]
        panels.append(Panel(title, "density k/n", "selected / k", tuple(lines), None, "log", "log"))
    return Exhibit(
        "sparse.gaussiank",
        "Gaussiank selects up to ten times k for mildly heavy tails, and a small part of k for a sharp peak",
        f"Entries selected over k, for independent entries of six laws; n = {n}, median of {draws} draws with the "
        "least and the most; limits are the claims' formulas for long vectors. Student's law with 2 or 1.5 degrees of "
        "freedom has no variance. Spike: a thousandth of the entries a thousand times as large as the others.",
        tuple(panels),
    )


EXHIBITS: dict[str, Maker] = {"sparse.words": _words, "sparse.gaussiank": _selected}
