"""Figures of the majority vote: its error, and what it sends."""

import math
from fractions import Fraction
from typing import Any

from commbounds.collectives.majority import majority_vote
from commbounds.verify.exhibit import Exhibit, Maker, Panel, bound_of, line
from commbounds.verify.experiments.majority.studies import ERRORS


def _measured(axis: str, values: list[int], **fixed: Any) -> list[float]:
    """The error over an axis."""
    return [float(ERRORS.found(majority_vote, **{axis: value}, **fixed)) for value in values]


def _errors(_budget: str, _seed: int) -> Exhibit:
    """The vote's error by workers, and by adversaries."""
    S, odd = 0.5, [1, 3, 5, 9, 15, 25, 41, 65, 101]
    half = Fraction(1, 2)
    r = {"uniform": Fraction(S / math.sqrt(3)).limit_denominator(10**6), "normal": half, "laplace": half}
    lines = [
        line("printed: 1/(sqrt(P) S)", odd, lambda P: min(1.0, bound_of("majority.vote.bound", P=P, snr=S)), "bound"),
        *(line(f"{noise} noise", odd, _measured("P", odd, noise=noise, r=r[noise])) for noise in r),
        line("50 or -1, S = 0.27", odd, _measured("P", odd, noise="skewed", r=Fraction(1))),
    ]
    workers, most = 101, 50
    adversaries = list(range(0, most + 1, 2))
    shares = [A / workers for A in adversaries]
    known = {"P": workers, "snr": 2 / math.sqrt(3)}
    printed = [min(1.0, bound_of("majority.adversaries.inverting", inverting=A, **known)) for A in adversaries]
    against = [
        line("printed: 1/((1 - 2a) sqrt(P) S)", shares, printed, "bound"),
        line("they invert", shares, _measured("A", adversaries, P=workers, r=Fraction(2, 3))),
        line("they vote against g", shares, _measured("L", adversaries, P=workers, r=Fraction(2, 3))),
    ]
    return Exhibit(
        "majority.errors",
        "More workers improve the vote under unimodal noise; constant votes defeat it far below one half",
        "The exact law of the error. Left: no adversaries, S = 1/2; the skewed noise has mean 4.1, and most of its "
        "signs are wrong. Right: 101 workers, uniform noise with S = 2/sqrt(3), where one sign of six is wrong.",
        (
            Panel("Workers", "workers P", "probability of a wrong vote", tuple(lines), xscale="log", yscale="log"),
            Panel("Adversaries among 101", "fraction of adversaries", "probability of a wrong vote", tuple(against)),
        ),
    )


def _moved(_budget: str, _seed: int) -> Exhibit:
    """Bytes of the busiest rank, over n."""
    n = 8 * 27720
    ranks = [2, 3, 4, 6, 8, 11, 20, 33, 63, 126]
    ring = [32 * bound_of("majority.shards.thirty_two", P=P, n=n) / n for P in ranks]
    server, shards, gathered = (
        [bound_of(f"majority.{name}.busiest", P=P, n=n, votebits=1) / n for P in ranks]
        for name in ("server", "shards", "all_gather")
    )
    lines = (
        line("full precision, ring all-reduce", ranks, ring, "reference"),
        line("vote by one server, or all-gather", ranks, server, "exact"),
        line("vote by shards", ranks, shards, "exact"),
        line("1/32 of the ring", ranks, [value / 32 for value in ring], "printed"),
    )
    assert server == gathered
    return Exhibit(
        "majority.bytes",
        "A single server sends P/2 times the claimed bytes; a sharded server sends exactly these",
        "Bytes sent by the busiest rank, per entry; float32 on the ring.",
        (Panel("Bytes", "ranks P", "bytes sent per entry", lines, xscale="log", yscale="log"),),
    )


EXHIBITS: dict[str, Maker] = {"majority.errors": _errors, "majority.bytes": _moved}
