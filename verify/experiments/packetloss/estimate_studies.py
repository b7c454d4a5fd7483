"""Packet loss: the studies of what the reduce-scatter estimates, and of words."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from commbounds.verify.experiments.packetloss.curves import LOSSES, over_losses
from commbounds.verify.experiments.packetloss.estimates import (
    EXACT_LOSSES,
    QUARTERS,
    empty,
    expected_bias,
    expected_variance,
    given_arrivals,
    iid_variance,
    known,
    mean_inverse,
    patterns,
    pull,
    recurrence,
    variance,
    weight_sum,
    zero_fill,
)
from commbounds.verify.experiments.packetloss.words import (
    bias_target,
    fill_target,
    means,
    received_streams,
    volume,
    volume_grid,
)
from commbounds.verify.study import Case, Curve, Study


def _grid(
    losses: tuple[Fraction, ...], varied: bool = True, **axes: Callable[[int], range]
) -> Callable[[int], Iterator[Case]]:
    """Every N, p, pattern and owner, small first, then N = 5 and 8 with some of them; further axes by name, by N."""

    def cases(level: int) -> Iterator[Case]:
        every = range(1, (4, 6, 7)[level])
        for workers in (*every, *(N for N in _LARGER if N not in every)):
            few = workers not in every
            shown = range(patterns(workers).shape[1]) if varied else (0,)
            # a unit vector, the ramp and the outlier
            chosen = (0, workers, workers + 2) if few and varied else shown
            extra = [range_of(workers) for range_of in axes.values()]
            for p, pattern, *rest in itertools.product(losses[:: 4 if few else 1], chosen, *extra):
                named = dict(zip(axes, rest, strict=True))
                # the owner of a unit vector's one, and another
                for owner in sorted({0, workers - 1}):
                    yield Case({"N": workers, "p": p, "pattern": pattern, "owner": owner, **named})

    return cases


_LARGER = (5, 8)
_BASE = {"pattern": 0, "owner": 0}
_RAMP: dict[str, Any] = {"N": 4, "pattern": 4, "owner": 3}


def _over_losses(losses: tuple[Fraction, ...] = LOSSES, **held: Any) -> list[Curve]:
    shown = ", ".join(f"{name} = {value}" for name, value in held.items() if name == "N")
    return over_losses(shown, {**_BASE, **held}, losses)


_SETS = "every set of workers that gets through, for N up to 3 (5, 6) workers, and for 5 and 8 with a few gradients"
_REDUCE = "lossy_reduce_scatter"
_no_p = (Fraction(1, 2),)


def _estimate(claim: str, trial: Any, grid: Any, **options: Any) -> Study:
    return Study(claim, _REDUCE, trial, grid, enumerated=_SETS, known=known, **options)


ESTIMATES = (
    _estimate(
        "packetloss.arrivals.unbiased",
        given_arrivals(1),
        _grid(_no_p, arrived=lambda workers: range(1, workers + 1)),
    ),
    _estimate(
        "packetloss.arrivals.conditional_variance",
        given_arrivals(2),
        _grid(_no_p, arrived=lambda workers: range(1, workers + 1)),
        curves=[
            Curve(
                "K",
                "N = 6, gradients 0 ... 5",
                [(k, Case({"N": 6, "pattern": 6, "owner": 0, "arrived": k, "p": Fraction(1, 2)})) for k in range(1, 7)],
            )
        ],
    ),
    _estimate(
        "packetloss.arrivals.variance",
        variance,
        _grid(EXACT_LOSSES),
        curves=_over_losses(**_RAMP),
    ),
    _estimate(
        "packetloss.arrivals.mean_inverse",
        mean_inverse,
        _grid(EXACT_LOSSES, varied=False),
        curves=_over_losses(N=4),
    ),
    _estimate("packetloss.arrivals.mean_inverse_recurrence", recurrence, _grid(EXACT_LOSSES, varied=False)),
    _estimate(
        "packetloss.arrivals.empty",
        empty,
        _grid(EXACT_LOSSES, varied=False),
        curves=_over_losses(N=4),
    ),
    _estimate(
        "packetloss.arrivals.zero_fill",
        zero_fill,
        _grid(EXACT_LOSSES),
        curves=_over_losses(**_RAMP),
        streams=means("arrivals", fill_target, (0.1, 0.4, 0.9)),
    ),
    _estimate(
        "packetloss.owner.unbiased",
        weight_sum,
        _grid(_no_p, varied=False, set=lambda workers: range(2**workers)),
    ),
    _estimate("packetloss.owner.unbiased_for_given_gradients", pull, _grid(EXACT_LOSSES)),
    _estimate(
        "packetloss.owner.bias",
        pull,
        _grid(EXACT_LOSSES),
        curves=_over_losses(**_RAMP),
        streams=means("owner", bias_target, (0.1, 0.4)),
    ),
    _estimate(
        "packetloss.owner.variance_iid",
        iid_variance,
        _grid(EXACT_LOSSES, varied=False),
        curves=_over_losses(N=4),
    ),
    _estimate(
        "packetloss.owner.inflation",
        iid_variance,
        _grid(EXACT_LOSSES, varied=False),
        extremal=lambda _budget: iter([Case({**_BASE, "N": workers, "p": Fraction(0)}) for workers in (1, 2, 4)]),
        curves=_over_losses(N=4),
    ),
    _estimate(
        "packetloss.expected.unbiased",
        expected_bias,
        _grid(QUARTERS),
        streams=means("expected", lambda _p, heights: float(heights.mean()), (0.1, 0.4)),
    ),
    _estimate(
        "packetloss.expected.variance",
        expected_variance,
        _grid(QUARTERS),
        curves=_over_losses(QUARTERS, **_RAMP),
    ),
    Study(
        "packetloss.volume.sent",
        "lossy_step",
        volume(False),
        volume_grid(False),
        enumerated="N up to 9 (25) workers, shards of 1, 2 and 5 words, two patterns of losses each",
    ),
    Study(
        "packetloss.volume.received",
        "lossy_step",
        volume(True),
        volume_grid(True),
        enumerated="every pattern of losses in both halves, for N up to 2 (3) workers",
        streams=received_streams,
        curves=over_losses("N = 2, n = 10", {"N": 2, "n": 10, "seed": 0}),
    ),
)
