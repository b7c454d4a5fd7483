"""Figures of the block formats: what the scale's rule changes, and what sums of real gradients lose."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.blockformats import homomorphic_allreduce, multihop_allreduce, requantised_allreduce
from commbounds.compressors.blockformats import (
    NVFP4,
    FourOverSix,
    Microscaling,
    SharedMicroexponents,
    StochasticMicroscaling,
)
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, line
from commbounds.verify.experiments.blockformats.hops import HOPS
from commbounds.verify.gradients import KINDS, trace

_SHARE = "squared error over squared norm"


def _worst(label: str, claim: str, lengths: Sequence[int], role: str = "measured") -> Line:
    given = {"peak": 16, "element_unit": 0.25, "overshoot": 0.5}
    return line(label, lengths, lambda n: bound_of(f"blockformats.{claim}", n=n, block=n, **given), role)


def _medians(label: str, workers: Sequence[int], allreduce: Callable[[Array], Any]) -> Line:
    """Squared error of the sum over its square by workers: medians over recorded gradients."""
    stacks = [trace().vectors[kind][step].astype(np.float64) for kind in KINDS for step in range(2)]

    def error(P: int) -> Any:
        sums = [(allreduce(stack[:P])[0][0], stack[:P].sum(axis=0)) for stack in stacks]
        return np.median([((found - exact) ** 2).sum() / (exact**2).sum() for found, exact in sums])

    return line(label, workers, error)


def _scales(_budget: str, _seed: int) -> Exhibit:
    """Worst cases by the length of a block, and by where in its binade a block's largest entry is."""
    lengths = [1, 2, 3, 4, 6, 8, 9, 12, 16, 24, 32, 48, 64]
    worst = (
        _worst("floor, the specification", "microscaling.contraction", lengths, "exact"),
        _worst("even", "microscaling.contraction_even", lengths),
        _worst("rceil: nothing is clipped", "microscaling.contraction_rceil", lengths),
        _worst("ceil, or doubled", "microscaling.contraction_wide", lengths),
        _worst("NVFP4, normal scales", "nvfp4.contraction", lengths[:9]),
    )
    places = np.linspace(1.0, 2.0, 257)[:-1]
    lines = []
    for label, element, scale in (("E2M1, floor", "e2m1", "floor"), ("E2M1, rceil", "e2m1", "rceil"),
                                  ("E4M3, floor", "e4m3", "floor"), ("E4M3, rceil", "e4m3", "rceil")):  # fmt: skip
        found = Microscaling(element, 1, scale)(places)
        lines.append(line(label, places, np.abs(found - places) / places))
    # a block that holds 2688 makes the tensor's scale one
    found = NVFP4(1)(np.concatenate([[2688.0], 768.0 * places]))[1:] / 768.0
    lines.append(line("NVFP4", places, np.abs(found - places) / places))
    return Exhibit(
        "blockformats.scales",
        "Scales without clipping improve a block's largest entries and worsen its smallest ones",
        "Left: the largest share of its squared norm that a block of E2M1 elements can lose, by the rule of its scale. "
        "Right: the error of a block's largest entry, measured, over its place in the binade.",
        (
            Panel("Worst case of a block", "entries of a block", _SHARE, worst, xscale="log"),
            Panel("Largest entry", "largest entry over its power of two", "relative error", tuple(lines)),
        ),
    )


def _sums(_budget: str, seed: int) -> Exhibit:
    """Error of sums of real gradients by workers."""
    workers = [2, 3, 4, 6, 8]
    ways: dict[str, tuple[Microscaling | NVFP4, str]] = {
        "MXFP4, ring, nearest": (Microscaling(), "ring"),
        "MXFP4, ring, stochastic": (StochasticMicroscaling(scale="rceil"), "ring"),
        "MXFP4, two steps, nearest": (Microscaling(), "direct"),
        "NVFP4, two steps, nearest": (NVFP4(), "direct"),
        "MXFP8, ring, nearest": (Microscaling("e4m3"), "ring"),
    }

    def rounded(way: tuple[Microscaling | NVFP4, str], stack: Array) -> Any:
        return requantised_allreduce(stack, *way, np.random.default_rng(seed))

    def coded(rounding: str, stack: Array) -> Any:
        return homomorphic_allreduce(stack, 4, 32, rounding, np.random.default_rng(seed))

    lines = [_medians(label, workers, partial(rounded, way)) for label, way in ways.items()]
    drawn = [
        _medians(f"four-bit codes, {rounding}", workers, partial(coded, rounding))
        for rounding in ("independent", "correlated")
    ]
    return Exhibit(
        "blockformats.sums",
        "A ring rounds P times, two steps round twice, and shared scales round once",
        "Gradients of workers that train on digits, for both splits of the images, early and late: medians of the "
        "squared error of the sum over its square.",
        (
            Panel("Rounded at every hop", "workers P", _SHARE, tuple(lines), yscale="log"),
            Panel("Codes of a shared scale", "workers P", _SHARE, tuple(drawn), yscale="log"),
        ),
    )


def _hops(_budget: str, _seed: int) -> Exhibit:
    """Variance by the number of ranks, round a ring and by halves; and blocks that choose where they end."""
    ranks, few = [1, 2, 4, 8, 16, 32, 64, 128, 256], [1, 2, 4, 8]
    lines, ways = [], (("ring", "ring"), ("butterfly", "halves"))
    for size, w in (("1", 1.0), ("1/7", 1 / 7)):
        for way, label in ways:
            law = f"blockformats.multihop.{way}_law"
            exact = [bound_of(law, P=P, hopnoise=w, halvings=P.bit_length() - 1) / P**2 for P in ranks]
            shown = [v if v <= 100 else float("nan") for v in exact]
            lines.append(line(f"{label}, w = {size}", ranks, shown, "exact"))
    for way, label in ways:
        found = [float(max(HOPS.found(multihop_allreduce, P=P, topology=way)[1])) / P**2 for P in few]
        lines.append(line(f"{label}, enumerated, w = 1", few, found))
    limit = bound_of("blockformats.multihop.butterfly_bounded", hopnoise=1.0)
    lines.append(line("limit of halves, w = 1", [1, 256], limit, "bound"))
    blocks = [2, 4, 8, 16, 32, 64]
    vectors = [trace().vectors[kind][0][0].astype(np.float64) for kind in KINDS]
    formats = []
    for label, made in (
        ("MXFP4, a power of two a block", lambda block: Microscaling("e2m1", block)),
        ("NVFP4, blocks end at 6", lambda block: NVFP4(block)),
        ("Four Over Six, at 4 or 6", lambda block: FourOverSix(block)),
        ("MX4, two digits and shifts", lambda block: SharedMicroexponents(2, block)),
        ("MX6, four digits and shifts", lambda block: SharedMicroexponents(4, block)),
    ):
        errors = []
        for block in blocks:
            shares = [float(((made(block)(v) - v) ** 2).sum() / (v**2).sum()) for v in vectors]
            errors.append(float(np.median(shares)))
        formats.append(line(label, blocks, errors))
    return Exhibit(
        "blockformats.hops",
        "Recursive halving keeps the relative variance of a sum bounded; on a ring it grows with the ranks",
        "Left: variance of the sum over its square, where all ranks hold the same entry and every message multiplies "
        "it with a random number of mean 1 and variance w. Right: squared error over the squared norm, of recorded "
        "gradients of one worker, median over both splits of the images. Choosing 4 or 6 as the end of a block pays "
        "for blocks of any length.",
        (
            Panel("Hops", "ranks P", "variance over the square", tuple(lines), xscale="log", yscale="log"),
            Panel("Formats", "entries of a block", _SHARE, tuple(formats), xscale="log", yscale="log"),
        ),
    )


EXHIBITS: dict[str, Maker] = {"blockformats.scales": _scales, "blockformats.sums": _sums, "blockformats.hops": _hops}
