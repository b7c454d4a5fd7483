"""Errors of quantised all-reduces: the claims bound to their implementations."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import plain_quantiser, stack_cases, stacks
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study

_EPS = float(np.finfo(np.float64).eps)


def _blocks(n: int, P: int) -> list[slice]:
    ends = np.concatenate([[0], np.cumsum([n // P + (j < n % P) for j in range(P)])])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def _ranges(x: Array, group: int, blocks: list[slice]) -> Array:
    """Range of the group of every entry; groups are counted from the start of a block."""
    out = np.zeros(x.size)
    for block in blocks:
        for start in range(block.start, block.stop, group):
            part = slice(start, min(start + group, block.stop))
            out[part] = np.ptp(x[part])
    return out


def _values(one_block: bool, case: Case) -> dict[str, Any]:
    """What the bounds are made of, entry by entry."""
    stack, (P, n), width = case.array, case.array.shape, case.settings["width"]
    q, blocks = GroupQuantizer(width, case.settings["group"], "float64"), [slice(0, n)] if one_block else _blocks(n, P)
    ranges = np.array([_ranges(row, q.group, blocks) for row in stack])
    read = np.zeros_like(stack[0])
    for block in blocks:
        for row in stack:
            if row[block].size:
                read[block] += q(row[block])
    ring = np.zeros(stack.shape[1])
    for j, block in enumerate(blocks):
        # block j starts at rank j; the h-th sum has the ranks j .. j + h - 1
        ring[block] = np.cumsum(ranges[[(j + h) % P for h in range(P)]][:, block], axis=0).sum(axis=0) / q.top
    return {
        "scales": ranges.sum(axis=0) / q.top,
        "ranges": ranges.sum(axis=0),
        "sum_scale": _ranges(read, q.group, blocks) / q.top,
        "ring_scales": ring,
        "first_width": q.width,
        "second_width": case.settings.get("second_width", width),
    }


def _errors(allreduce: Any, case: Case) -> Array:
    """The largest error of every entry of the sum."""
    widths = (case.settings[name] for name in ("width", "second_width") if name in case.settings)
    quantisers = (GroupQuantizer(width, case.settings["group"], "float64") for width in widths)
    result = allreduce(case.array, *quantisers)[0].values
    return np.asarray(np.abs(result - case.array.sum(axis=0)).max(axis=0))


def _sum_error(name: str) -> Callable[[Any, Case], Outcome]:
    """Error of the sum, at the entry where it comes closest to the claim's bound."""

    def trial(allreduce: Any, case: Case) -> Outcome:
        P, n = case.array.shape
        error, values = case.once(_errors, allreduce), case.once(_values, ".oneshot." in name)
        bound = np.broadcast_to(claims()[name].bound(**values), (n,))
        # every coding and reading rounds a difference, a quotient, a product and a sum, of sums of at most P entries
        slack = 8.0 * (P + 1) * P * _EPS * float(np.abs(case.array).max())
        share = np.where(bound > slack, error / np.maximum(bound, slack or 1.0), 2.0 * (error - bound > slack))
        at = int(np.argmax(share))
        chosen = {key: float(v[at]) if isinstance(v, np.ndarray) else v for key, v in values.items()}
        return Outcome(float(error[at]), chosen, slack)

    return trial


def _attaining(_budget: Budget, **options: Any) -> Iterator[Case]:
    """Two ranks whose errors of half a scale add up, and whose sum lies half-way between two of its levels."""
    for e in (2.0**-12, 2.0**-20):
        # the four entries are the first block; the second is zero
        half = np.array([[0.0, 3.0, 1.5, 0.0], [0.0, 3.0, 0.5 + e, 0.0]])
        family = f"(0, 3, 1.5, 0) and (0, 3, 0.5 + {e:g}, 0)"
        settings = {"P": 2, "n": 8, "width": 2, "group": 4, "family": family, **options}
        yield Case(settings, np.concatenate([half, np.zeros((2, 4))], axis=1))


def _attaining_mixed(budget: Budget) -> Iterator[Case]:
    yield from _attaining(budget, second_width=2)


def _mixed_stacks(budget: Budget) -> Iterator[Case]:
    for second in (1, 3, 8):
        yield from stacks(budget, second_width=second)


def _half_way(_budget: Budget) -> Iterator[Case]:
    for P in (1, 2, 5):
        stack = np.tile([0.0, 3.0, 0.5, 1.0], (P, 1))
        yield Case({"P": P, "n": 4, "width": 2, "group": 4, "family": "half-way"}, stack)


def _curves(name: str, hostile: Callable[[Budget], Iterator[Case]], **options: Any) -> Any:
    """Error over bound against the number of ranks."""
    trial, none = _sum_error(name), Budget(0, (), 0, 0, 0)

    def share(allreduce: Any, case: Case) -> float:
        outcome = trial(allreduce, case)
        bound = float(claims()[name].bound(**outcome.values))
        return float(outcome.measured) / bound if bound > 0 else 0.0

    def curves(allreduce: Any, seed: int) -> list[Series]:
        rng, ranks, rows, worst = np.random.default_rng(seed), [1, 2, 3, 4, 5, 8, 16], [], []
        for P in ranks:
            cases = [Case({"width": 4, "group": 32, **options}, rng.standard_normal((P, 512))) for _ in range(9)]
            rows.append([share(allreduce, case) for case in cases])
            other = [case for case in hostile(none) if case.settings["P"] == P]
            worst.append(max(*rows[-1], *(share(allreduce, case) for case in other)))
        low, middle, high = np.quantile(rows, (0.05, 0.5, 0.95), axis=1).tolist()
        label = "random: normal entries, four bits, groups of 32"
        x, ones = [float(P) for P in ranks], [1.0] * len(ranks)
        return [Series(label, "P", x, ones, worst, low, middle, high, relative=True)]

    return curves


def _error_study(name: str, subject: str, extremal: Any = None, mixed: bool = False) -> Study:
    options = {"second_width": 5} if mixed else {}
    return Study(
        name,
        subject,
        _sum_error(name),
        known=plain_quantiser,
        corpus=_mixed_stacks if mixed else stacks,
        cases=stack_cases(**options),
        extremal=extremal,
        curves=_curves(name, extremal or stacks, **options),
    )


# --- both stages stochastic ------------------------------------------------------------------------------------------


def _sum_bias(allreduce: Any, case: Case) -> Outcome:
    """Bias of the two-step sum, all pairs of uniforms injected: enough to meet every outcome with its probability."""
    stack, width, grid = case.array, case.settings["width"], case.settings["uniforms"]
    P, n = stack.shape
    q, total = StochasticGroupQuantizer(width, n, "float64"), [Fraction(0)] * n
    points = [(2 * i + 1) / (2 * grid) for i in range(grid)]
    outcomes = list(itertools.product(points, repeat=P + 1))
    for draws in outcomes:
        values = allreduce(stack, q, draw=lambda stage, rank, u=draws: np.full(n, u[rank] if stage == 0 else u[-1]))
        total = [a + Fraction(float(v)) for a, v in zip(total, values[0].values[0], strict=True)]
    exact = [sum((Fraction(float(v)) for v in column), Fraction(0)) for column in stack.T]
    bias = max(abs(a / len(outcomes) - b) for a, b in zip(total, exact, strict=True))
    return Outcome(bias / max(max(abs(v) for v in exact), Fraction(1)), {})


def _dyadic(level: int) -> Iterator[Case]:
    """Stacks at one bit, where scales are ranges, with all sums and levels multiples of 1/`uniforms`.

    A step of one and entries at multiples of a quarter make every upper code's probability a multiple of 1/4; what is
    read are whole numbers, whose sums, of range two, have upper codes of probability 0, 1/2 or 1. Four uniforms in the
    middles of their cells meet all of them exactly.
    """
    quarters = [0.25 * i for i in range(5)]
    for first, second in itertools.product(quarters, repeat=2):
        # each rank's block is its only entry but for the ends 0 and 1, so that groups are known
        stack = np.array([[0.0, 1.0, first, 0.0, 0.0, 0.0], [0.0, 1.0, second, 0.0, 0.0, 0.0]])
        yield Case({"P": 2, "n": 6, "width": 1, "group": 6, "uniforms": 4}, stack)
    for entry in quarters[: 2 + level]:
        yield Case({"P": 1, "n": 3, "width": 2, "group": 3, "uniforms": 4}, np.array([[0.0, 3.0, entry]]))


def _sum_streams(allreduce: Any) -> list[Stream]:
    """Draws of the two-step sum at every entry, less the exact sum, over what it can be off at most."""
    streams = []
    for P in (2, 5):
        stack = np.array([inputs.family("normal", 64, P + i, 1.0, np.float32) for i in range(P)])
        streams.append(_stream(allreduce, stack))
    return streams


def _stream(allreduce: Any, stack: Array) -> Stream:
    P, q = len(stack), StochasticGroupQuantizer(3, 16)
    exact = stack.astype(np.float64).sum(axis=0)
    # every term and the sum err by less than a scale: the ranges of the whole rows are on the safe side
    reach = 2.0 * float(np.ptp(stack, axis=1).sum()) / q.top
    sign = np.sign(exact)

    def draw(rng: np.random.Generator, count: int) -> Floats:
        drawn = []
        for _ in range(-(-count // exact.size)):
            value = allreduce(stack, q, rng=rng)[0].values[0].astype(np.float64)
            drawn.append(sign * (value - exact) / reach)
        return np.concatenate(drawn)[:count]

    return Stream(f"P = {P}", draw, -1.001, 1.001, unit=float(np.abs(exact).mean()) / reach, cost=8)


_T, _R, _O = "twostep_quantised_allreduce", "ring_quantised_allreduce", "oneshot_quantised_allreduce"

ERRORS = (
    _error_study("flashcomm.twostep.error", _T, _attaining),
    _error_study("flashcomm.twostep.error_by_scales", _T, _attaining),
    _error_study("flashcomm.twostep.error_mixed", _T, _attaining_mixed, mixed=True),
    _error_study("flashcomm.ring.error", _R),
    _error_study("flashcomm.oneshot.error", _O, _half_way),
    Study(
        "flashcomm.twostep.unbiased",
        _T,
        _sum_bias,
        known=plain_quantiser,
        grid=_dyadic,
        enumerated="small stacks at one and two bits, every combination of uniforms; rational arithmetic",
        streams=_sum_streams,
    ),
)
"""In the order of the book."""
