"""What bounds, replay and exact inputs notice of planted bugs: the tables of ``docs/tolerance-power.md``.

``python tests/oracle_power.py`` prints them.
"""

import ml_dtypes
import numpy as np

from commbounds._orders import SCHEDULES, replayed, schedule_order
from commbounds.testing import assert_allreduce_close, assert_exact, assert_replayed, exact_inputs

N = 2048
RANKS = (8, 64, 256, 1024)
FORMATS = ("bfloat16", "float16")


def ring(x):
    """What a right ring gives."""
    return replayed(x, schedule_order("ring", len(x), x.shape[1], x.dtype.name))


def with_row(change):
    def bug(x):
        rows = x.copy()
        rows[len(x) // 3] = change(x, len(x) // 3).astype(x.dtype)
        return ring(rows)

    return bug


def with_result(change):
    def bug(x):
        result = ring(x)
        at = slice(N // len(x), 2 * (N // len(x)))
        change(x, result, at)
        return result

    return bug


def _stale(x, result, at):
    result[at] = ring(np.roll(x, 7, axis=1))[at]


def _chunk_lost(x, result, at):
    rows = x.copy()
    rows[1, at] = 0
    result[at] = ring(rows)[at]


def _shifted(x, result, at):
    result[at] = result[at.start - 1 : at.stop - 1].copy()


def _neighbour(x, result, at):
    result[at] = result[at.stop : at.stop + at.stop - at.start]


def _not_reduced(x, result, at):
    result[at] = x[0, at]


def _zero(x, result, at):
    result[at] = 0


def _one_entry(x, result, at):
    result[at.start] = 2 * result[at.start] + 1


def _added_twice(x, result, at):
    result[at] = result[at] + x[1, at]


def _order(name, **options):
    def bug(x):
        return replayed(x, schedule_order(name, len(x), x.shape[1], x.dtype.name, **options))

    return bug


BUGS = {
    "a rank is lost": with_row(lambda x, r: 0 * x[r]),
    "a rank is counted twice": with_row(lambda x, r: 2 * x[r]),
    "a rank has the wrong sign": with_row(lambda x, r: -x[r]),
    "a rank in place of another": with_row(lambda x, r: x[r + 1]),
    "a rank is read one entry off": with_row(lambda x, r: np.roll(x[r], 1)),
    "a rank is halved": with_row(lambda x, r: x[r] / 2),
    "two ranks are lost": lambda x: ring(
        np.where((np.arange(len(x)) < 2)[:, None], 0, x.astype(float)).astype(x.dtype)
    ),
    "zeros": lambda x: np.zeros_like(x[0]),
    "the input of a rank": lambda x: x[1],
    "all signs are inverted": lambda x: -ring(x),
    "all is doubled": lambda x: (2 * ring(x)).astype(x.dtype),
    "a chunk is stale": with_result(_stale),
    "a chunk of a rank is lost": with_result(_chunk_lost),
    "a chunk of a rank is added twice": with_result(_added_twice),
    "a chunk is shifted by one entry": with_result(_shifted),
    "a chunk holds its neighbour's sums": with_result(_neighbour),
    "a chunk is not reduced": with_result(_not_reduced),
    "a chunk is left at zero": with_result(_zero),
    "one entry is wrong": with_result(_one_entry),
    "sums in float32, rounded once": _order("ring", accumulate="float32", per_hop=False),
}
RIGHT = {
    **{name: (name, {}) for name in SCHEDULES if name != "hierarchical"},
    "hierarchical": ("hierarchical", {"nodes": 2}),
    "ring, sums in float32, rounded once": ("ring", {"accumulate": "float32", "per_hop": False}),
}
"""Ten kinds of right runs: a schedule and its options."""


def refuses(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except AssertionError:
        return True
    return False


def noticed(P, dtype, runs=1):
    """Which bugs a bound, a replay and exact inputs notice, by name: three sets."""
    found = ([], [], [])
    for name, bug in BUGS.items():
        for run in range(runs):
            rng = np.random.default_rng([P, run])
            x = rng.standard_normal((P, N)).astype(np.float32).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
            exact = exact_inputs(P, N, dtype, seed=run)
            y = bug(x)
            found[0].append((name, refuses(assert_allreduce_close, y, x, schedule="ring", allow_vacuous=True)))
            found[1].append((name, refuses(assert_replayed, y, x, "ring")))
            found[2].append((name, refuses(assert_exact, bug(exact), exact)))
    return found


def row(dtype, P):
    """Numbers of bugs noticed, and which exact inputs do not notice."""
    columns = noticed(P, dtype)
    counts = " | ".join(f"{sum(seen for _, seen in column)} of {len(column)}" for column in columns)
    missed = ", ".join(name for name, seen in columns[2] if not seen)
    return f"| {dtype}, {P} | {counts} | {missed or 'none'} |"


def table():
    """All rows, by format and ranks."""
    head = "| format, ranks | bound | order replayed | exact inputs | not noticed by exact inputs |"
    return "\n".join([head, "|---|---|---|---|---|", *(row(dtype, P) for dtype in FORMATS for P in RANKS)])


def false_alarms(runs):
    """How often a right run is refused by a bound, by its replay and by exact inputs."""
    alarms = [0, 0, 0]
    for run in range(runs):
        rng = np.random.default_rng([9, run])
        name, options = list(RIGHT.values())[run % len(RIGHT)]
        P, dtype = 2 * int(rng.integers(1, 9)), FORMATS[run // len(RIGHT) % 2]
        order = schedule_order(name, P, 60, dtype, **options)
        x = rng.standard_normal((P, 60)).astype(np.float32).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
        exact = exact_inputs(P, 60, dtype, seed=run)
        alarms[0] += refuses(assert_allreduce_close, replayed(x, order), x, allow_vacuous=True)
        alarms[1] += refuses(assert_replayed, replayed(x, order), x, name, **options)
        alarms[2] += refuses(assert_exact, replayed(exact, order), exact)
    return alarms


if __name__ == "__main__":
    bound, order, exact = false_alarms(2000)
    print(
        table(),
        f"False alarms in 2000 right runs: {bound} by the bound, {order} by replay, {exact} by exact inputs.",
        sep="\n\n",
    )
