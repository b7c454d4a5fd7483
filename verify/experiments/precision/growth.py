"""How the error of an all-reduce in few digits grows with the number of ranks: figures, and fitted exponents."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives.precision.simulation import rounded, simulated_allreduce
from commbounds.theory import claims
from commbounds.theory.precision.bounds import sure
from commbounds.theory.precision.formats import FORMATS
from commbounds.theory.precision.roundings import roundings
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Line, Panel

WAYS: Mapping[str, tuple[str, str]] = {
    "ring, bf16 sums": ("ring", "bfloat16"),
    "ring, fp32 sums, bf16 wire": ("ring", "float32"),
    "all-to-all, bf16 sums": ("direct", "bfloat16"),
    "all-to-all, fp32 sums": ("direct", "float32"),
    "tree, bf16 sums": ("binomial", "bfloat16"),
}
"""Name -> schedule and accumulator's format; the wire's is bfloat16."""
_RANKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_ENTRIES = {"quick": 64, "standard": 512, "thorough": 2048}
_REPEATS = 5
_WIRE = FORMATS["bfloat16"]


def normal_stack(rng: np.random.Generator, P: int, entries: int) -> Floats:
    """Independent standard normal entries."""
    return rng.standard_normal((P, entries))


def gradient_stack(rng: np.random.Generator, P: int, entries: int) -> Floats:
    """Gradients of the recorded run, late in training, images dealt out at random: a worker's at a step for every rank.

    There are 32 of them; ranks beyond draw among them again. Entries are some that are zero for none of them.
    """
    recorded = gradients.vectors("iid", "late").reshape(-1, gradients.vectors("iid", "late").shape[-1])
    alive = np.flatnonzero(np.abs(recorded).min(axis=0) > 0)
    rows = rng.permutation(len(recorded))[:P] if len(recorded) >= P else rng.integers(0, len(recorded), P)
    chosen = rng.choice(alive, entries, replace=entries > alive.size)
    return np.asarray(recorded[rows][:, chosen], np.float64)


def lost_stack(P: int) -> Floats:
    """One from rank 1, and just less than half a gap from all others, or from those that meet it alone in a tree.

    In columns 0 and 1, which are blocks of their own, a running sum begins with the one: that of a ring, and that of an
    owner. Added to it one after another, all others are lost.
    """
    small = float(_WIRE.unit) * (1 - float(_WIRE.unit))
    x = np.full((P, 3), small)
    x[1, :2] = 1.0
    x[:, 2] = np.where(np.isin(np.arange(P), 2 ** np.arange(P.bit_length())), small, 0.0)
    x[0, 2] = 1.0
    return x


def relative_rms(x: Floats, schedule: str, accumulate: str) -> float:
    """Root mean square error over that of the sums, in units of bfloat16's unit roundoff."""
    exact = rounded(x, _WIRE.name)
    held = simulated_allreduce(exact, schedule, accumulate, _WIRE.name)[0]
    total = exact.sum(axis=0)  # of eight digits and 2^12 terms: float64 loses nothing that shows
    return math.sqrt(float(np.square(held - total).sum()) / float(np.square(total).sum())) / float(_WIRE.unit)


def worst_share(x: Floats, schedule: str, accumulate: str) -> float:
    """Largest error of an entry over the sum of its magnitudes, in the same units."""
    exact = rounded(x, _WIRE.name)
    held = simulated_allreduce(exact, schedule, accumulate, _WIRE.name)[0]
    return float((np.abs(held - exact.sum(axis=0)) / np.abs(exact).sum(axis=0)).max()) / float(_WIRE.unit)


def exponent(ranks: Sequence[int], errors: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The slope of log error over log P by least squares, and its standard error over the repetitions.

    Parameters
    ----------
    ranks : sequence of int
        At least two.
    errors : sequence of sequences of float
        For every repetition the errors at these ranks; at least two.
    """
    slopes = [float(np.polyfit(np.log(ranks), np.log(row), 1)[0]) for row in errors]
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / math.sqrt(len(slopes)))


def _measured(
    make: Callable[[np.random.Generator, int, int], Floats], seed: int, entries: int
) -> dict[str, list[list[float]]]:
    """Way -> repetition -> error at every number of ranks."""
    found: dict[str, list[list[float]]] = {name: [[] for _ in range(_REPEATS)] for name in WAYS}
    for P in _RANKS:
        for repeat in range(_REPEATS):
            x = make(np.random.default_rng([seed, P, repeat]), P, entries)
            for name, way in WAYS.items():
                found[name][repeat].append(relative_rms(x, *way))
    return found


def _lines(found: Mapping[str, list[list[float]]]) -> tuple[Line, ...]:
    axis, lines = [float(P) for P in _RANKS], []
    for name, rows in found.items():
        slope, error = exponent(_RANKS, rows)
        low, middle, high = (v.tolist() for v in (np.min(rows, axis=0), np.mean(rows, axis=0), np.max(rows, axis=0)))
        label = f"{name}: P^{slope:.2f} +- {max(2 * error, 0.01):.2f}"
        lines.append(Line(label, axis, middle, low=low, high=high))
    return tuple(lines)


def growth(budget: str, seed: int) -> Exhibit:
    """The error of a bfloat16 ring, all-to-all and tree: on normal entries, on gradients, and at worst."""
    entries, axis = _ENTRIES[budget], [float(P) for P in _RANKS]
    normal, real = (_measured(make, seed, entries) for make in (normal_stack, gradient_stack))
    law = claims()["precision.growth.ring"]
    printed = Line("law of the ring", axis, [float(law.bound(P=P)) for P in _RANKS], "exact")
    worst = []
    for name, (schedule, accumulate) in WAYS.items():
        shares = [worst_share(lost_stack(P), schedule, accumulate) for P in _RANKS]
        worst.append(Line(name, axis, shares))
    for schedule, label in (("ring", "bound of a ring, bf16 sums"), ("binomial", "bound of a tree, bf16 sums")):
        bounds = [float(sure(roundings(schedule), _WIRE, _WIRE, P).relative / _WIRE.unit) for P in _RANKS]
        worst.append(Line(label, axis, bounds, "bound"))
    of_sum = "rms error / rms of the sum, in u"
    return Exhibit(
        "precision.growth",
        "A bfloat16 ring's error grows as the root of P on normal entries, and faster on gradients; float32 sums at "
        "one rank end that, and an all-to-all with bfloat16 sums does not",
        f"{entries} entries, {_REPEATS} repetitions with bands from the least to the most, u = 2^-8; exponents are "
        "slopes over all ranks, with two standard errors over the repetitions. Gradients are those of the recorded "
        "run, 32 of them, so that ranks beyond draw among them again: sums grow as P there, not as its root, and what "
        "a running sum takes up falls below half a gap. At worst: one, and just less than half a gap from every other "
        "rank, or from those that meet the one alone in a tree; the largest error over the sum of the magnitudes, and "
        "what is sure. A ring with float32 sums and a bfloat16 wire is as a ring in bfloat16: it rounds what it sends.",
        (
            Panel("Normal entries", "ranks P", of_sum, (*_lines(normal), printed), None, "log", "log"),
            Panel("Gradients", "ranks P", of_sum, _lines(real), None, "log", "log"),
            Panel("At worst", "ranks P", "error / sum of magnitudes, in u", tuple(worst), None, "log", "log"),
        ),
    )


def stagnation(_budget: str, _seed: int) -> Exhibit:
    """What becomes of the sum of as many ones as there are ranks."""
    ranks = [2**j for j in range(13)]
    axis, panels = [float(P) for P in ranks], []
    for schedule, title in (("ring", "Ring"), ("binomial", "Tree")):
        lines = []
        for wire in ("float8_e5m2", "float8_e4m3fn", "bfloat16", "float16"):
            held = [float(simulated_allreduce(np.ones((P, 1)), schedule, wire)[0, 0]) for P in ranks]
            shown = [v / P if np.isfinite(v) else float("nan") for v, P in zip(held, ranks, strict=True)]
            lines.append(Line(wire, axis, shown))
        panels.append(
            Panel(f"{title}, sums in one format", "ranks P", "sum of ones / P", tuple(lines), None, "log", "log")
        )
    return Exhibit(
        "precision.stagnation",
        "A running sum of equal entries stays at 2^digits of them: a ring of 1024 ones in bfloat16 gives 256",
        "Ones from all ranks, added and sent in one format. A line ends where the sum is infinite or NaN. A ring of "
        "equal entries does not overflow where a tree does: it is wrong instead.",
        tuple(panels),
    )


def _changed(budget: str, seed: int) -> tuple[list[float], dict[str, list[float]]]:
    cuts = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128]
    P, n, found = 16, {"quick": 256, "standard": 1024, "thorough": 4096}[budget], {}
    x = np.random.default_rng(seed).standard_normal((P, n))
    whole = {
        name: simulated_allreduce(x, name, "bfloat16")[0] for name in ("ring", "direct", "rabenseifner", "binomial")
    }
    for name, fused in whole.items():
        shares = []
        for count in cuts:
            parts = [simulated_allreduce(part, name, "bfloat16")[0] for part in np.array_split(x, count, axis=1)]
            shares.append(float((np.concatenate(parts) != fused).mean()))
        found[name] = shares
    return [float(cut) for cut in cuts], found


def buckets(budget: str, seed: int) -> Exhibit:
    """How many entries change their bits when a buffer is split."""
    axis, found = _changed(budget, seed)
    titles = {
        "ring": "ring",
        "direct": "all-to-all",
        "rabenseifner": "Rabenseifner",
        "binomial": "tree, recursive doubling",
    }
    lines: list[Any] = [Line(titles[name], axis, shares) for name, shares in found.items()]
    return Exhibit(
        "precision.buckets",
        "Splitting a buffer changes the bits of a ring's and an all-to-all's sums, and of no tree's",
        "16 ranks, normal entries, bfloat16; the share of the entries whose bits differ between one all-reduce of all "
        "and one for each of the parts. An entry's sum begins at the rank of its block. Rabenseifner's order is one "
        "for all blocks, as that of a tree.",
        (Panel("Entries that change", "parts", "share of the entries", tuple(lines), xscale="log"),),
    )
