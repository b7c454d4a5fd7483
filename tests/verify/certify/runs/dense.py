"""What dense collectives return says of the symbols of their models."""

import numpy as np
from model_runs import Run, goals_of

from commbounds.collectives.dense import COLLECTIVES, allgatherv, reduce_scatter
from commbounds.theory.dense.models_sums import ALLREDUCES, GATHERS, SCATTERS


def _held(goal, brought, result):
    """What is held after every message, of what was brought; after the last what the collective returns."""
    values = dict(brought)
    for number, condition in enumerate(goal.zero.values()):
        values[f"held{number}"] = sum(values[s.name] for s in condition.free_symbols if s.name != f"held{number}")
    if goal.zero:
        values[f"held{len(goal.zero) - 1}"] = result
    return values


def _entries(P, n):
    return np.random.default_rng(1000 * P + n).integers(-99, 99, (P, max(n, P))).astype(float)


def _runs(claim, P, brought, results):
    """A run for every order of additions and every result."""
    for goal in goals_of(claim, (("P", P),)):
        for result in results:
            yield Run(_held(goal, {f"x{r}": value for r, value in enumerate(brought)}, result), at={"P": P})


def sums(allreduce):
    def runs(P, n):
        x = _entries(P, n)
        result, _ = COLLECTIVES[f"{allreduce}_allreduce"](x)
        yield from _runs(f"dense.{allreduce}.sum", P, x[:, 0].tolist(), set(result[:, 0].tolist()))

    return runs


def blocks_of_sums(P, n):
    x = _entries(P, P)
    for algorithm in SCATTERS:
        blocks, _ = reduce_scatter(x, algorithm=algorithm)
        yield from _runs("dense.reduce_scatter.sum", P, x[:, 0].tolist(), {float(blocks[0][0])})


def contents(P, n):
    x = _entries(P, 1)
    for algorithm in GATHERS:
        gathered, _ = allgatherv([row[:1] for row in x], algorithm=algorithm)
        yield from _runs("dense.allgather.contents", P, x[:1, 0].tolist(), {float(row[0]) for row in gathered})


def doublings(P, n, measured):
    """How many ranks are folded into others, and how often the others exchange what they have."""
    count = P.bit_length() - 1
    extra = P - 2**count
    assert P * measured == n * (2**count * count + 2 * extra)
    yield {"P": P, "n": n, "extra": extra if count > 1 else P - 1 - count, **({"more": count - 2} if count > 1 else {})}


RUNS = {
    "dense.gather_blocks.mean_received": {"lengths": lambda P, n, measured: P * n - P * measured},
    "dense.recursive_doubling.lower_bound": doublings,
    **{f"dense.{name}.sum": sums(name) for name in ALLREDUCES},
    "dense.reduce_scatter.sum": blocks_of_sums,
    "dense.allgather.contents": contents,
}
