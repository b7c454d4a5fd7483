"""What bounds, replay and exact inputs notice of planted bugs: the tables of ``docs/tolerance-power.md``.

``python tests/oracle_power.py`` prints them; with names of formats, "codes" or "alarms" their rows alone.
"""

import sys

import ml_dtypes
import numpy as np
from coded_allreduces import allreduce

from commbounds._along import along
from commbounds._arrays import FLOATS, named
from commbounds._asked import Asked
from commbounds._orders import SCHEDULES, replayed, schedule_order
from commbounds._sums import rank_sums
from commbounds.testing import (
    _allowed,
    assert_allreduce_close,
    assert_exact,
    assert_quantised_close,
    assert_replayed,
    exact_inputs,
)
from commbounds.theory import tolerance
from commbounds.verify import gradients

N = 2048
ROWS = {"bfloat16": (8, 64, 256, 1024, 4096), "float16": (64, 256, 1024, 4096), "float32": (64,)}
CODES = {
    "two-step, 8 bits": {"codes": "asymmetric", "bits": 8, "group": 128, "scale": "float16"},
    "two-step, 4 bits": {"codes": "asymmetric", "bits": 4, "group": 32, "scale": "float16"},
    "two-step, e4m3 a row": {"codes": "float8_e4m3fn", "bits": 8, "group": None, "scale": "float32"},
}
CODED = [(name, P) for name in CODES for P in (8, 64, 256)]
COLUMNS = (
    "a ring, for all inputs",
    "along the data, surely",
    "along the data, probably",
    "order replayed",
    "the function, with its schedule",
    "the function alone",
    "exact inputs",
)


# --- data ----------------------------------------------------------------------------------------------------------


def recorded(rng, P, n):
    """Gradients of a training run, every further rank a turned one, times 1024 as float16 asks for."""
    vectors = np.concatenate([gradients.trace().vectors[kind].reshape(-1, 2410) for kind in gradients.KINDS])
    rows = [np.roll(vectors[p % len(vectors)], int(rng.integers(2410)) if p >= len(vectors) else 0) for p in range(P)]
    return 1024 * np.stack(rows)[:, np.arange(n) % 2410]


DATA = {
    "normal": lambda rng, P, n: rng.standard_normal((P, n)),
    "heavy-tailed": lambda rng, P, n: rng.standard_t(3, (P, n)),
    "recorded": recorded,
}


def data(kind, rng, P, n, dtype):
    return DATA[kind](rng, P, n).astype(np.float32).astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))


# --- bugs ----------------------------------------------------------------------------------------------------------


def ring(x):
    """What a right ring gives."""
    return replayed(x, schedule_order("ring", len(x), x.shape[1], x.dtype.name))


def two_step(how):
    def reduce(x):
        rng = np.random.default_rng(len(x))
        return allreduce(x, "two_step", x.dtype, rng, how["codes"], how["bits"], how["group"], how["scale"], True)

    return reduce


def with_row(change):
    def bug(x, reduce):
        rows = x.copy()
        rows[len(x) // 3] = change(x, len(x) // 3).astype(x.dtype)
        return reduce(rows)

    return bug


def with_result(change):
    def bug(x, reduce):
        result, size = reduce(x), max(1, x.shape[1] // len(x))
        change(x, result, slice(size, 2 * size), reduce)
        return result

    return bug


def _stale(x, result, at, reduce):
    result[at] = reduce(np.roll(x, 7, axis=1))[at]


def _chunk_lost(x, result, at, reduce):
    rows = x.copy()
    rows[1, at] = 0
    result[at] = reduce(rows)[at]


def _shifted(x, result, at, reduce):
    result[at] = result[at.start - 1 : at.stop - 1].copy()


def _neighbour(x, result, at, reduce):
    result[at] = result[at.stop : at.stop + at.stop - at.start]


def _not_reduced(x, result, at, reduce):
    result[at] = x[0, at]


def _zero(x, result, at, reduce):
    result[at] = 0


def _one_entry(x, result, at, reduce):
    result[at.start] = 2 * result[at.start] + 1


def _added_twice(x, result, at, reduce):
    result[at] = result[at] + x[1, at]


def _two_lost(x, reduce):
    return reduce(np.where((np.arange(len(x)) < 2)[:, None], 0, x.astype(float)).astype(x.dtype))


def _fewer_digits(x, reduce):
    """Sums are made in another format than promised."""
    if reduce is not ring:
        return (reduce(x).astype(float) * (1 + 2.0**-4)).astype(x.dtype)
    if x.dtype == np.float32:
        return ring(x.astype(ml_dtypes.bfloat16)).astype(x.dtype)
    order = schedule_order("ring", *x.shape, x.dtype.name, accumulate="float32", per_hop=False)
    return replayed(x, order)


BUGS = {
    "a rank is lost": with_row(lambda x, r: 0 * x[r]),
    "a rank is counted twice": with_row(lambda x, r: 2 * x[r]),
    "a rank has the wrong sign": with_row(lambda x, r: -x[r]),
    "a rank in place of another": with_row(lambda x, r: x[r + 1]),
    "a rank is read one entry off": with_row(lambda x, r: np.roll(x[r], 1)),
    "a rank is halved": with_row(lambda x, r: x[r] / 2),
    "two ranks are lost": _two_lost,
    "zeros": lambda x, reduce: np.zeros_like(x[0]),
    "the input of a rank": lambda x, reduce: x[1],
    "all signs are inverted": lambda x, reduce: -reduce(x),
    "all is doubled": lambda x, reduce: (2 * reduce(x)).astype(x.dtype),
    "a chunk is stale": with_result(_stale),
    "a chunk of a rank is lost": with_result(_chunk_lost),
    "a chunk of a rank is added twice": with_result(_added_twice),
    "a chunk is shifted by one entry": with_result(_shifted),
    "a chunk holds its neighbour's sums": with_result(_neighbour),
    "a chunk is not reduced": with_result(_not_reduced),
    "a chunk is left at zero": with_result(_zero),
    "one entry is wrong": with_result(_one_entry),
    "other digits than promised": _fewer_digits,
}
RIGHT = {
    **{name: (name, {}) for name in SCHEDULES if name != "hierarchical"},
    "hierarchical": ("hierarchical", {"nodes": 2}),
    "ring, sums in float32, rounded once": ("ring", {"accumulate": "float32", "per_hop": False}),
    "two-step in codes": ("two_step", {}),
}
"""Kinds of right runs: a schedule and its options."""


# --- what notices ----------------------------------------------------------------------------------------------------


def refuses(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except AssertionError:
        return True
    return False


def refused(bug, x, **promised):
    """Whether the default refuses the bug, given the function that has it; what it cannot judge it does not notice."""
    try:
        return refuses(assert_allreduce_close, lambda given: bug(given, ring), x, **promised)
    except ValueError:
        return False


def refused_at_once(bug, P, dtype):
    """Whether what `assert_allreduce_close` asks a function first refuses it: that is the same for all data."""
    x = np.zeros((P, N), FLOATS[dtype])
    return refuses(Asked(lambda given: bug(given, ring), x, x[0], "sum").require_exact, named(dtype))


def checks(y, x, order):
    """Whether the four that take any data refuse a result."""
    close = {"allow_vacuous": True}
    return [
        refuses(assert_allreduce_close, y, x, schedule="ring", **close),
        refuses(assert_allreduce_close, y, x, order=order, **close),
        refuses(assert_allreduce_close, y, x, order=order, probability=1e-9, **close),
        refuses(assert_replayed, y, x, order),
    ]


class Checks:
    """The same of many results of the same inputs, without the messages."""

    def __init__(self, x, order):
        self.sums, self.wanted = rank_sums(x), replayed(x, order)
        bound = tolerance(P=len(x), n=x.shape[1], dtype=x.dtype.name, schedule="ring")
        self.allowed = [
            _allowed(bound, self.sums, 1, probably=False),
            along(x, order) + self.sums.slack,
            along(x, order, probability=1e-9) + self.sums.slack,
        ]

    def __call__(self, y):
        distance = np.abs(self.sums.distance(y))
        return [*(bool((~(distance <= allowed)).any()) for allowed in self.allowed), bool((y != self.wanted).any())]


def noticed(P, dtype):
    """Which bugs every column notices: (columns, data, bugs)."""
    order, found = schedule_order("ring", P, N, dtype), []
    exact = exact_inputs(P, N, dtype, seed=0)
    total = exact.astype(float).sum(axis=0).astype(exact.dtype)
    assert_exact(total, exact)
    of_exact = [bool((bug(exact, ring) != total).any()) for bug in BUGS.values()]
    at_once = [refused_at_once(bug, P, dtype) for bug in BUGS.values()]
    for kind in DATA:
        x = data(kind, np.random.default_rng([P, len(kind)]), P, N, dtype)
        check = Checks(x, order)
        of_function = [
            [first or refused(bug, x, **promised) for bug, first in zip(BUGS.values(), at_once, strict=True)]
            for promised in ({"schedule": "ring"}, {})
        ]
        found.append([*np.array([check(bug(x, ring)) for bug in BUGS.values()]).T, *of_function, of_exact])
    return np.array(found).swapaxes(0, 1)


def noticed_in_codes(P, how):
    """Which bugs are noticed by the book's bound for all inputs, and where the first coding is replayed."""
    found, reduce = [], two_step(how)
    for kind in DATA:
        x = data(kind, np.random.default_rng([P, len(kind)]), P, N, "bfloat16")
        wide = x.astype(float)
        exact, blocks = wide.sum(axis=0), wide.reshape(P, -1, how["group"] or N)
        spread = (blocks.max(axis=2) - blocks.min(axis=2)).sum(axis=0).repeat(how["group"] or N)
        bounded = how["codes"] == "asymmetric"
        most = float(tolerance(P=P, bits=how["bits"], schedule="two_step").sure) * spread if bounded else np.inf
        seen = []
        for bug in BUGS.values():
            y = bug(x, reduce)
            beyond = bool((np.abs(y.astype(float) - exact) > most + 2.0**-8 * np.abs(exact)).any())
            seen.append((beyond, refuses(assert_quantised_close, y, x, **how)))
        found.append(np.array(seen).T)
    return np.array(found).swapaxes(0, 1)


def _share(seen):
    return f"{seen.mean():.2f}".removeprefix("0").replace("1.00", "1")


def row(dtype, P):
    """Shares of bugs noticed, mean over data, and what exact inputs do not notice."""
    seen = noticed(P, dtype)
    missed = ", ".join(name for name, found in zip(BUGS, seen[-1][0], strict=True) if not found)
    return f"| {dtype}, {P} | {' | '.join(map(_share, seen))} | {missed or 'none'} |"


def row_of_codes(name, P):
    first, second = noticed_in_codes(P, CODES[name])
    return f"| {name}, {P} | {_share(first) if CODES[name]['codes'] == 'asymmetric' else 'none'} | {_share(second)} |"


def false_alarms(runs):
    """How often a right run is refused: by bounds for all inputs and along the data, surely and probably, by its
    replay, by exact inputs, where the first coding is replayed, and as a function, without a promise and with it."""
    alarms = np.zeros(8, int)
    for run in range(runs):
        rng = np.random.default_rng([9, run])
        name, options = list(RIGHT.values())[run % len(RIGHT)]
        P, turn = 2 * int(rng.integers(1, 9)), run // len(RIGHT)
        dtype, kind = ("bfloat16", "float16", "float32")[turn % 3], list(DATA)[turn // 3 % 3]
        x = data(kind, rng, P, 60, dtype)
        if name == "two_step":
            how = list(CODES.values())[turn % 3]
            alarms[5] += refuses(assert_quantised_close, two_step(how)(x), x, **how)
            continue
        if dtype == "float32":
            options = {key: "float64" if value == "float32" else value for key, value in options.items()}
        order = schedule_order(name, P, 60, dtype, **options)
        exact, y, close = exact_inputs(P, 60, dtype, seed=run), replayed(x, order), {"allow_vacuous": True}
        alarms[0] += refuses(assert_allreduce_close, y, x, **close)
        alarms[1] += refuses(assert_allreduce_close, y, x, order=order, **close)
        alarms[2] += refuses(assert_allreduce_close, y, x, order=order, probability=1e-9, **close)
        alarms[3] += refuses(assert_replayed, y, x, name, **options)
        alarms[4] += refuses(assert_exact, replayed(exact, order), exact)

        def function(given, order=order):
            return replayed(given, order)

        alarms[6] += refuses(assert_allreduce_close, function, x, **close)
        alarms[7] += refuses(assert_allreduce_close, function, x, schedule=name, **options)
    return alarms.tolist()


if __name__ == "__main__":
    asked = sys.argv[1:] or [*ROWS, "codes", "alarms"]
    for dtype in filter(asked.__contains__, ROWS):
        for P in ROWS[dtype]:
            print(row(dtype, P), flush=True)
    for name, P in CODED if "codes" in asked else ():
        print(row_of_codes(name, P), flush=True)
    if "alarms" in asked:
        print(f"False alarms in 20000 right runs: {false_alarms(20_000)}")
